"""The notebooks' exercises: questions about layouts that check an answer.

Call an exercise with an answer; a wrong answer gets a counterexample.

>>> import morello_layouts as ml
>>> ml.exercises.row_by_row("4*i + j")
Right: the same offset at every coordinate
>>> ml.exercises.row_by_row("i + 3*j")
Not yet: at i = 0, j = 1 the offset is 1, yours is 3
"""

from __future__ import annotations

from itertools import permutations
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

from morello_layouts.api import are_equivalent, index_map, is_bijective, is_bitcast, is_surjective
from morello_layouts.exercises.exercise import Exercise as Exercise, Feedback as Feedback
from morello_layouts.exercises.machines import (
    bit_of_a_boolean as bit_of_a_boolean,
    device_of_a_row as device_of_a_row,
    empty_device as empty_device,
    half_rows as half_rows,
    holder_of_an_element as holder_of_an_element,
    least_moved as least_moved,
    length_of_a_buffer as length_of_a_buffer,
    longest_row as longest_row,
    operand_in_fast_memory as operand_in_fast_memory,
    position_of_any_element as position_of_any_element,
    rounded_quotient as rounded_quotient,
    row_on_its_process as row_on_its_process,
    smallest_pitch as smallest_pitch,
    swizzle_by_hand as swizzle_by_hand,
    swizzle_of_bytes as swizzle_of_bytes,
    tile_and_place_in_it as tile_and_place_in_it,
    two_way_pitch as two_way_pitch,
    without_division as without_division,
)
from morello_layouts.exercises.programs import (
    loops_row_by_row as loops_row_by_row,
    nobody_wrote as nobody_wrote,
    offset_in_panels as offset_in_panels,
    offset_of_a_loop as offset_of_a_loop,
    right_by_luck as right_by_luck,
    rows_of_the_last_tile as rows_of_the_last_tile,
    sizes_that_hide_it as sizes_that_hide_it,
    slot_of_the_writer as slot_of_the_writer,
    token_of_a_slot as token_of_a_slot,
)
from morello_layouts.lazy import numpy as np
from morello_layouts.maps import AffineMap, IndexMap

if TYPE_CHECKING:
    from morello_layouts.proof import Proof


def _middle_is_fastest(given: IndexMap | AffineMap) -> Proof | Feedback:
    """Check for a bijection with stride 1 along the middle dimension."""
    offsets = given(*np.indices((2, 3, 4)))
    wrong = np.argwhere(offsets[:, 1:] - offsets[:, :-1] != 1)
    if len(wrong):
        i, j, k = map(int, wrong[0])
        here, there = given(i, j, k), given(i, j + 1, k)
        comment = (
            f"({i}, {j}, {k}) lies at {here}, and its neighbour ({i}, {j + 1}, {k}) at {there}"
        )
        return Feedback(False, comment, ((i, j, k), (i, j + 1, k)))
    return is_bijective(given)


every_slot_once = Exercise(
    "An array has 2 by 3 by 4 elements, and its buffer 24 slots. A step along the middle "
    "dimension, `j`, is a step to the next slot. Choose strides for `i` and `k` without collisions "
    "and gaps. More than one formula is right.",
    (2, 3, 4),
    "12*i + j + 3*k",
    names=("i", "j", "k"),
    size=24,
    judge=_middle_is_fastest,
    hint="One run along `j` takes three slots. Which stride begins the next run, and after how "
    "many runs does the other dimension step?",
)


def _slots(answer: Any) -> Feedback:
    """Check that two elements lie in one slot of ``63*i + j``."""
    try:
        (i, j), (k, m) = (map(index, element) for element in answer)
    except (TypeError, ValueError):
        i = j = k = m = -1
    if not all(0 <= x < 64 for x in (i, j, k, m)):
        comment = "give two elements, such as ((0, 1), (2, 3)), of rows and columns 0 to 63"
        return Feedback(False, comment)
    if (i, j) == (k, m):
        return Feedback(False, f"expected two elements, got ({i}, {j}) twice")
    slots = 63 * i + j, 63 * k + m
    comment = f"({i}, {j}) lies in slot {slots[0]}, ({k}, {m}) in slot {slots[1]}"
    return Feedback(slots[0] == slots[1], comment, slots)


find_a_collision = Exercise(
    "A program stores a matrix of 64 rows and 64 columns by `63*i + j`. Of its 8,386,560 pairs of "
    "elements, 63 collide. Find one: give two elements, each as `(i, j)`.",
    (64, 64),
    ((0, 63), (1, 0)),
    names=("i", "j"),
    check=_slots,
    hint="Where does row 1 begin, and which element of row 0 lies there?",
)

odd_even_of_pairs = Exercise(
    "Eight elements lie in `[0, 0 oe(4), 0 p(2)]`: neighbours stay in pairs, and of the four pairs "
    "those with even numbers come first. Morello takes OddEven of the element's number, "
    "`2*((2*(i%2) + (i%4)//2)//2) + i%2`, which puts eight elements in two slots. Write a formula "
    "that takes it of the number of the pair.",
    (8,),
    "4*((i//2)%2) + 2*(i//4) + i%2",
    names=("i",),
    hint="The pair of element `i` is `q = i//2`. OddEven puts pair `q` at place `2*(q%2) + q//2`.",
)


def _even_heights(given: IndexMap | AffineMap) -> Feedback:
    """Check that a layout has no padding if and only if 2 divides M."""
    if isinstance(given, AffineMap):
        return Feedback(False, "give a layout, such as {1,0:T(8,128)}")
    proof = is_surjective(given)
    # A Morello layout exists only for sizes that meet its assumptions, so these are the condition.
    found = "; ".join(proof.assumptions) or str(proof.condition)
    right = found in {"2 | M", "2 divides M"}
    comment = f"your layout has no padding if and only if {found}"
    return Feedback(right, comment, None if right else proof.counterexample)


pads_odd_heights = Exercise(
    "Find a layout of `M` by `N` elements that has no padding if and only if 2 divides `M`, for "
    "every `N`.",
    ("M", "N"),
    "{1,0:T(2,1)}",
    judge=_even_heights,
    hint="A tile pads its dimensions up to multiples of its own sizes. Which size pads nothing?",
)

free_reshape = Exercise(
    "A matrix `f32[4,6]{1,0:T(2,3)}` lies in four tiles. A reshape to `f32[2,2,2,3]`, which keeps "
    "row-major order, is to need no copy. Which layout does the result have? Write the order of "
    "its dimensions, as in `{3,2,1,0}`.",
    (2, 2, 2, 3),
    "{3,1,2,0}",
    hint="The reshape cuts row `i` into `(i//2, i%2)` and column `j` into `(j//3, j%3)`. In which "
    "order do these four digits come in the tiles, from fast to slow?",
)

strips = Exercise(
    "A matrix of 6 rows and 8 columns lies in two strips of 3 rows, one after the other. Inside "
    "a strip one column follows the other. Which layout is that?",
    (6, 8),
    "[0, 1, 0 p(3)]",
    names=("i", "j"),
    hint="Which dimension is cut? The last entry of the list is the fastest: two neighbours in "
    "memory are neighbours in a column.",
)

each_term_once = Exercise(
    "A matrix of 6 rows and 8 columns has, from slow to fast, the physical dimensions "
    "`(0, Dynamic), (1, Dynamic), (0, Packed(2))`. Write the offset of element `(i, j)` as three "
    "terms, one for each.",
    (6, 8),
    "16*(i//2) + 2*j + i%2",
    names=("i", "j"),
    hint="Begin with the packed one. How many elements does it take, and what is the next stride?",
)

channels_last = Exercise(
    "An image of 1 by 8 channels by 2 rows by 3 columns, `(n, c, h, w)`, is to have all channels "
    "of a pixel next to each other, and its pixels row by row. Which layout is that?",
    (1, 8, 2, 3),
    "[0, 2, 3, 1]",
    names=("n", "c", "h", "w"),
    hint="List the dimensions from slow to fast. No dimension is cut.",
)

evens_first = Exercise(
    "Sixteen elements lie in two groups of eight, and each group has its even elements before its "
    "odd ones. Where does element `d` lie? Write a formula.",
    (16,),
    "8*(d//8) + 4*(d%2) + (d//2)%4",
    names=("d",),
    hint="Three digits: the group, even or odd, and the position among the four.",
)

bytes_of_words = Exercise(
    "A word of 32 bits holds four elements of 8 bits. A register holds eight words, so elements "
    "0 to 31. Shifts and masks give four registers: the first has element 0 of each word, the "
    "second element 1 of each, and so on. They are stored one after the other. "
    "Where does element `d` lie?",
    (32,),
    "8*(d%4) + d//4",
    names=("d",),
    hint="Which element of its word is `d`, and which word is that?",
)

ragged_tiles = Exercise(
    "`np.pad(a, [(0, 1), (0, 1)]).reshape(3, 2, 2, 4).transpose(0, 2, 1, 3).ravel()` packs an "
    "array `a` of 5 rows and 7 columns. Where does element `(i, j)` lie? Give a layout or "
    "a formula.",
    (5, 7),
    "{1,0:T(2,4)}",
    names=("i", "j"),
    hint="Which two numbers of the reshape are the tile's sizes? How many tiles are in a row?",
)

four_bytes = Exercise(
    "Elements of 8 bits, in 8 rows and 8 columns, lie in tiles of 4 by 8. In a tile, the four "
    "elements of a column are to share a word of 32 bits. Which layout is that?",
    (8, 8),
    "{1,0:T(4,8)(4,1)}",
    names=("i", "j"),
    hint="The second tile holds neighbours in memory: how many rows of how many columns?",
)

four_tiles = Exercise(
    "Elements of 8 bits, in 16 rows and 8 columns, lie in tiles of 2 by 4. Four elements are to "
    "share a word: those at the same place of four tiles, one below the other. "
    "Which layout is that?",
    (16, 8),
    "{1,0:T(2,4)(4,1,1,1)}",
    names=("i", "j"),
    hint="After the first tile the axes count rows of tiles, columns of tiles, rows in a tile, and "
    "columns in a tile. Of which of them does a word hold four?",
)

joined_rows = Exercise(
    "Three matrices of 3 rows and 4 columns, an array of 3 by 3 by 4, form nine rows, one below "
    "the other, which lie in tiles of 2 by 2. Where does `(i, j, k)` lie? Give a layout or a "
    "formula.",
    (3, 3, 4),
    "{2,1,0:T(*,2,2)}",
    names=("i", "j", "k"),
    hint="Which number has the row among the nine?",
)

_ORDERED = (6, 200, 5)
_FEWEST = 10240  # in tiles of 8 by 128: 5 times 8 times 256


OTHER_TILES = Feedback(False, "give an XLA layout with tiles T(8,128), such as {2,1,0:T(8,128)}")


def slots_in_tiles(given: IndexMap | AffineMap) -> int | None:
    """Return the slots of a layout in tiles of 8 by 128, in any order; None for other layouts."""
    if isinstance(given, AffineMap):
        return None
    for order in permutations(range(len(given.shape))):
        layout = index_map(f"{{{','.join(map(str, order))}:T(8,128)}}", given.shape)
        if given.size == layout.size and are_equivalent(given, layout).holds:
            return int(layout.size)
    return None


def _pads_least(given: IndexMap | AffineMap) -> Feedback:
    """Check that a layout in tiles of 8 by 128 takes the fewest slots of any order."""
    slots = slots_in_tiles(given)
    if slots is None:
        return OTHER_TILES
    comment = f"{slots:,} slots for {prod(_ORDERED):,} elements"
    if slots == _FEWEST:
        return Feedback(True, f"{comment}, and no order takes fewer")
    return Feedback(False, f"{comment}; {_FEWEST:,} are enough", slots)


cheapest_order = Exercise(
    "An array of 6 by 200 by 5 elements lies in tiles of 8 by 128, `T(8,128)`. "
    "Which order of its dimensions takes the fewest slots?",
    _ORDERED,
    "{1,0,2:T(8,128)}",
    judge=_pads_least,
    hint="The first number in the braces is the dimension along the 128 columns of a tile, the "
    "second the one along its 8 rows. What does each become when it is rounded up?",
)

result_offset = Exercise(
    "One result of the program is `f32[130,10,6,24]{0,3,2,1:T(8,128)}`. At which offset lies its "
    "element `(a, b, i, j)`? Write a formula.",
    (130, 10, 6, 24),
    "36864*b + 6144*i + 2048*(j//8) + 1024*(a//128) + 128*(j%8) + a%128",
    names=("a", "b", "i", "j"),
    hint="`a` runs along the columns of a tile and `j` along its rows. A tile has 1024 slots. How "
    "many tiles hold one pair of `b` and `i`, with their padding?",
)


def _is_full(given: IndexMap | AffineMap) -> Feedback:
    """Check that a layout in tiles of 8 by 128 has no padding."""
    slots = slots_in_tiles(given)
    if slots is None:
        return OTHER_TILES
    data = 4 * prod(given.shape)
    comment = f"it reserves {4 * slots:,} bytes for {data:,} bytes of data"
    return Feedback(4 * slots == data, comment, 4 * slots)


no_padding = Exercise(
    "`s32[1024,8,4]{2,1,0:T(8,128)}` reserves 32 times the bytes of its data. Keep the tiles, and "
    "choose another order of the dimensions, without padding.",
    (1024, 8, 4),
    "{0,1,2:T(8,128)}",
    judge=_is_full,
    hint="The first number in the braces is the dimension along the 128 columns of a tile, the "
    "second the one along its 8 rows. Which sizes are multiples of these?",
)


def _is_free(given: IndexMap | AffineMap) -> Proof | Feedback:
    """Check that the transpose of the program's parameter is a bitcast."""
    if isinstance(given, AffineMap):
        return Feedback(False, "give a layout, such as {1,0:T(32,128)(4,1)}")
    return is_bitcast("s8[128,256]{1,0:T(32,128)(4,1)}", given, correspondence=(1, 0))


transpose_without_copy = Exercise(
    "The program's parameter is `s8[128,256]{1,0:T(32,128)(4,1)}`, and the program copies its "
    "transpose, of 256 by 128 elements. In which layout would the transpose need no copy?",
    (256, 128),
    "{0,1:T(32,128)(4,1)}",
    judge=_is_free,
    hint="The bytes stay. Rows and columns change names: dimension 1 becomes dimension 0.",
)

slot_of_a_column = Exercise(
    "A matrix of 4 rows and 6 columns lies row by row and is to be moved so that it lies column by "
    "column. Which slot of the old buffer goes to slot `p` of the new one?",
    (24,),
    "6*(p%4) + p//4",
    names=("p",),
    value="old slot",
    hint="First the element: of which row and column is slot `p` of the new buffer? Then the slot "
    "that this element had.",
)

slot_of_a_row = Exercise(
    "Back again: a matrix of 4 rows and 12 columns lies in tiles of 2 by 4, `{1,0:T(2,4)}`, and is "
    "to lie row by row. Which slot of the old buffer goes to slot `p` of the new one?",
    (48,),
    "24*(p//24) + 8*((p//4)%3) + 4*((p//12)%2) + p%4",
    names=("p",),
    value="old slot",
    hint="Row by row, slot `p` holds row `p//12`, column `p%12`. A row of tiles has 3 tiles of 8 "
    "slots each.",
)

row_by_row = Exercise(
    "A matrix of 3 rows and 4 columns lies in memory row by row. "
    "At which offset lies the element in row `i`, column `j`?",
    (3, 4),
    "4*i + j",
    names=("i", "j"),
    hint="How many elements lie before the first one of row `i`?",
)

middle_first = Exercise(
    "An array has 2 by 3 by 4 elements. Along its middle dimension neighbours lie next to each "
    "other in memory; the last dimension comes next, and the first is the slowest. "
    "Where does element `(i, j, k)` lie? Give a layout in any notation, or a formula.",
    (2, 3, 4),
    "{1,2,0}",
    names=("i", "j", "k"),
    hint="XLA names the fastest dimension first, Morello the slowest. For a formula, multiply up "
    "the sizes, beginning at the fastest dimension.",
)

minutes = Exercise(
    "A clock shows the second `s` of a day, from 0 to 86399, as hours, minutes and seconds. "
    "Which minute does it show?",
    (86400,),
    "(s//60)%60",
    names=("s",),
    value="minute",
    hint="A minute has 60 seconds, so `v` is 60. After how many minutes does the "
    "number begin again at 0?",
)

blocks = Exercise(
    "A matrix of 4 rows and 6 columns lies in blocks of 2 rows and 3 columns. The blocks follow "
    "each other row by row, and so do the elements inside a block. "
    "Where does element `(i, j)` lie? Write a formula, or a layout.",
    (4, 6),
    "12*(i//2) + 6*(j//3) + 3*(i%2) + j%3",
    names=("i", "j"),
    hint="There are four axes: row of blocks, block in this row, row in the block, column in the "
    "block. What are their strides?",
)

fewer_mods = Exercise(
    "A matrix of 4 rows and 8 columns lies in blocks of 4 by 4. Its terms are "
    "`32*((i//4)%1) + 16*((j//4)%2) + 4*(i%4) + j%4`. "
    "Give the same offsets with at most two floors and mods.",
    (4, 8),
    "16*(j//4) + 4*i + j%4",
    names=("i", "j"),
    most=2,
    hint="`i` runs from 0 to 3, and `j` from 0 to 7. Which floors and mods change nothing?",
)

__all__ = [
    name
    for name, value in list(globals().items())
    if name in ("Exercise", "Feedback") or isinstance(value, Exercise)
]
