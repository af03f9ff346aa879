"""Questions about layouts with checkers that answer a wrong try with a counterexample.

The notebooks ask them. Each is a value, to be called with an answer.

>>> import morello_layouts as ml
>>> ml.exercises.row_by_row("4*i + j")
Right: the same offset at every coordinate
>>> ml.exercises.row_by_row("i + 3*j")
Not yet: at i = 0, j = 1 the offset is 1, yours is 3
"""

from morello_layouts.exercises.chapters import (
    blocks,
    bytes_of_words,
    channels_last,
    cheapest_order,
    each_term_once,
    evens_first,
    every_slot_once,
    fewer_mods,
    find_a_collision,
    four_bytes,
    four_tiles,
    free_reshape,
    joined_rows,
    middle_first,
    minutes,
    no_padding,
    odd_even_of_pairs,
    pads_odd_heights,
    ragged_tiles,
    result_offset,
    row_by_row,
    slot_of_a_column,
    slot_of_a_row,
    strips,
    transpose_without_copy,
)
from morello_layouts.exercises.exercise import Exercise, Feedback

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
