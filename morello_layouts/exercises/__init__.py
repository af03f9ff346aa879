"""Questions about layouts with checkers that answer a wrong try with a counterexample.

The notebooks ask them. Each is a value, to be called with an answer.

>>> import morello_layouts as ml
>>> ml.exercises.row_by_row("4*i + j")
Right: the same offset at every coordinate
>>> ml.exercises.row_by_row("i + 3*j")
Not yet: at i = 0, j = 1 the offset is 1, yours is 3
"""

from morello_layouts.exercises.bijection import (
    every_slot_once,
    find_a_collision,
    free_reshape,
    odd_even_of_pairs,
    pads_odd_heights,
)
from morello_layouts.exercises.exercise import Exercise, Feedback
from morello_layouts.exercises.packing import (
    bytes_of_words,
    channels_last,
    each_term_once,
    evens_first,
    strips,
)
from morello_layouts.exercises.program import (
    no_padding,
    result_offset,
    slot_of_a_column,
    slot_of_a_row,
    transpose_without_copy,
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
    "every_slot_once",
    "fewer_mods",
    "find_a_collision",
    "four_bytes",
    "four_tiles",
    "free_reshape",
    "joined_rows",
    "middle_first",
    "minutes",
    "no_padding",
    "odd_even_of_pairs",
    "pads_odd_heights",
    "ragged_tiles",
    "result_offset",
    "row_by_row",
    "slot_of_a_column",
    "slot_of_a_row",
    "strips",
    "transpose_without_copy",
]
