"""Exercises of the fifth notebook: reading a program, its waste, and relayouts."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from morello_layouts.api import is_bitcast
from morello_layouts.exercises.exercise import Exercise, Feedback
from morello_layouts.exercises.tiles import OTHER_TILES, slots_in_tiles
from morello_layouts.formula import FormulaMap, IndexMap

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = [
    "no_padding",
    "result_offset",
    "slot_of_a_column",
    "slot_of_a_row",
    "transpose_without_copy",
]

result_offset = Exercise(
    "One result of the program is `f32[130,10,6,24]{0,3,2,1:T(8,128)}`. At which offset lies its "
    "element `(a, b, i, j)`? Write a formula.",
    (130, 10, 6, 24),
    "36864*b + 6144*i + 2048*(j//8) + 1024*(a//128) + 128*(j%8) + a%128",
    names=("a", "b", "i", "j"),
    hint="`a` runs along the columns of a tile and `j` along its rows. A tile has 1024 slots. How "
    "many tiles hold one pair of `b` and `i`, with their padding?",
)


def _is_full(given: IndexMap | FormulaMap) -> Feedback:
    """Whether a layout of tiles of 8 by 128 reserves no more than the data."""
    slots = slots_in_tiles(given)
    if slots is None:
        return OTHER_TILES
    data = 4 * prod(given.shape)
    said = f"it reserves {4 * slots:,} bytes for {data:,} bytes of data"
    return Feedback(4 * slots == data, said, 4 * slots)


no_padding = Exercise(
    "`s32[1024,8,4]{2,1,0:T(8,128)}` reserves 32 times the bytes of its data. Keep the tiles, and "
    "choose another order of the dimensions, such that nothing is padded.",
    (1024, 8, 4),
    "{0,1,2:T(8,128)}",
    judge=_is_full,
    hint="The first number in the braces is the dimension along the 128 columns of a tile, the "
    "second the one along its 8 rows. Which sizes are multiples of these?",
)


def _is_free(given: IndexMap | FormulaMap) -> Proof | Feedback:
    """Whether the transpose of the program's parameter costs nothing."""
    if isinstance(given, FormulaMap):
        return Feedback(False, "give a layout, such as {1,0:T(32,128)(4,1)}")
    return is_bitcast("s8[128,256]{1,0:T(32,128)(4,1)}", given, correspondence=(1, 0))


transpose_without_copy = Exercise(
    "The program's parameter is `s8[128,256]{1,0:T(32,128)(4,1)}`, and somebody wrote its "
    "transpose. In which layout would that, of 256 by 128 elements, have needed no copy?",
    (256, 128),
    "{0,1:T(32,128)(4,1)}",
    judge=_is_free,
    hint="The bytes stay. Row and column change names: what was dimension 1 is now dimension 0.",
)

slot_of_a_column = Exercise(
    "A matrix of 4 rows and 6 columns lies row by row and is to be moved so that it lies column by "
    "column. Slot `p` of the new buffer gets what lies in which slot of the old one?",
    (24,),
    "6*(p%4) + p//4",
    names=("p",),
    value="old slot",
    hint="First the element: of which row and column is slot `p` of the new buffer? Then the slot "
    "that this element had.",
)

slot_of_a_row = Exercise(
    "Back again: a matrix of 4 rows and 12 columns lies in tiles of 2 by 4, `{1,0:T(2,4)}`, and is "
    "to lie row by row. Slot `p` of the new buffer gets what lies in which slot of the old one?",
    (48,),
    "24*(p//24) + 8*((p//4)%3) + 4*((p//12)%2) + p%4",
    names=("p",),
    value="old slot",
    hint="Row by row, slot `p` holds row `p//12`, column `p%12`. A row of tiles has 3 tiles of 8 "
    "slots each.",
)
