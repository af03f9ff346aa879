"""Questions about layouts with checkers that answer a wrong try with a counterexample.

The notebooks ask them. Each is a value, to be called with an answer.

>>> import morello_layouts as ml
>>> ml.exercises.row_by_row("4*i + j")
Right: the same offset at every coordinate
>>> ml.exercises.row_by_row("i + 3*j")
Not yet: at i = 0, j = 1 the offset is 1, yours is 3
"""

from morello_layouts.exercises.exercise import Exercise, Feedback
from morello_layouts.exercises.packing import (
    bytes_of_words,
    channels_last,
    each_term_once,
    evens_first,
    strips,
)
from morello_layouts.exercises.tiles import (
    cheapest_order,
    four_bytes,
    four_tiles,
    joined_rows,
    ragged_tiles,
)
from morello_layouts.exercises.where import (
    blocks,
    fewer_mods,
    middle_first,
    minutes,
    row_by_row,
)

__all__ = [
    "Exercise",
    "Feedback",
    "blocks",
    "bytes_of_words",
    "channels_last",
    "cheapest_order",
    "each_term_once",
    "evens_first",
    "fewer_mods",
    "four_bytes",
    "four_tiles",
    "joined_rows",
    "middle_first",
    "minutes",
    "ragged_tiles",
    "row_by_row",
    "strips",
]
