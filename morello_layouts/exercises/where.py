"""Exercises of the first notebook: where an element lives."""

from __future__ import annotations

from morello_layouts.exercises.exercise import Exercise

__all__ = ["blocks", "fewer_mods", "middle_first", "minutes", "row_by_row"]

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
    "Where does element `(i, j, k)` lie? A layout in either notation will do, or a formula.",
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
    hint="A minute is worth 60 seconds, so `v` is 60. How many minutes are there before they "
    "begin again?",
)

blocks = Exercise(
    "A matrix of 4 rows and 6 columns lies in blocks of 2 rows and 3 columns. The blocks follow "
    "each other row by row, and so do the elements inside of a block. "
    "Where does element `(i, j)` lie? Write a formula, or a layout.",
    (4, 6),
    "12*(i//2) + 6*(j//3) + 3*(i%2) + j%3",
    names=("i", "j"),
    hint="There are four axes: which row of blocks, which block in it, which row in the block, "
    "which column in it. What are their strides?",
)

fewer_mods = Exercise(
    "A matrix of 4 rows and 8 columns lies in blocks of 4 by 4. Its terms are "
    "`32*((i//4)%1) + 16*((j//4)%2) + 4*(i%4) + j%4`. "
    "Give the same offsets with at most two floors and mods.",
    (4, 8),
    "16*(j//4) + 4*i + j%4",
    names=("i", "j"),
    most=2,
    hint="`i` runs from 0 to 3, and `j` from 0 to 7. Which digits have nothing to cut off?",
)
