"""Exercises about XLA's document, and about formulas in SymPy and relations in ISL."""

from __future__ import annotations

from operator import index
from typing import Any

from morello_layouts.exercises.exercise import Exercise, Feedback, number_of

position_of_any_element = Exercise(
    "An array has `A` by `B` by `C` elements, without tiles, in major to minor order. At which "
    "position is element `(i, j, k)`?",
    ("A", "B", "C"),
    "B*C*i + C*j + k",
    names=("i", "j", "k"),
    hint="How many elements does a step of `i` pass, and how many a step of `j`?",
)

tile_and_place_in_it = Exercise(
    "An array `f32[3,5]` lies in tiles of 2 by 2, three tiles beside each other. Write the "
    "position of element `(i, j)` as the number of its tile times 4, and its place in the tile.",
    (3, 5),
    "4*(3*(i//2) + j//2) + 2*(i%2) + j%2",
    names=("i", "j"),
    hint="The tile is `(i//2, j//2)`, of 2 by 3 tiles. The place in it is `(i%2, j%2)`.",
)

bit_of_a_boolean = Exercise(
    "The document proposes the tiles `(32,128)(32,1)` for arrays of one bit: the 32 elements of a "
    "column of a tile share a word. Which bit of the buffer has element `(i, j)` of 64 rows and "
    "128 columns?",
    (64, 128),
    "4096*(i//32) + 32*j + i%32",
    names=("i", "j"),
    value="bit",
    hint="A tile has 32 by 128 bits. In it, how far apart are two columns?",
)


def _length(answer: Any) -> Feedback:
    """Check for the length of a buffer that ends at a multiple of 16."""
    given = number_of(answer)
    comment = "whole tiles take 24 elements, and 32 is the next multiple of 16"
    return Feedback(given == 32, comment if given == 32 else f"not {given}: {comment[:28]}", given)


length_of_a_buffer = Exercise(
    "An array `f32[3,5]` lies in tiles of 2 by 2, and `tail_padding_alignment_in_elements` is 16, "
    "written `f32[3,5]{1,0:T(2,2)L(16)}`. How many elements does the buffer have?",
    (3, 5),
    "32",
    check=_length,
    hint="First complete the tiles. Then append elements up to a multiple of 16.",
)

operand_in_fast_memory = Exercise(
    "In `%fusion.3 = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)} fusion(…)`, where does element "
    "`(i, j, k)` of the result lie, in elements from the start of its buffer in VMEM?",
    (32, 32, 4096),
    "131072*i + 32768*(j//8) + 1024*(k//128) + 256*(j//2%4) + 2*(k%128) + j%2",
    names=("i", "j", "k"),
    hint="The memory space does not change the order. Each `i` has 4 by 32 tiles of 8 by 128.",
)

without_division = Exercise(
    "Within its bounds, `(8*(i//8) + i%8)//64` of `i` from 0 to 63 is a number. Which one? SymPy "
    "alone does not know the bounds.",
    (64,),
    "0",
    names=("i",),
    value="value",
    most=0,
    hint="What is `8*(i//8) + i%8`?",
)


def _rounded(answer: Any) -> Feedback:
    """Check for a quotient that is wrong if it is computed as a product with a rounded number."""
    try:
        p, d = map(index, answer)
    except (TypeError, ValueError):
        p = d = -1
    if not (0 <= p < 1000 and 1 < d < 100 and d != 49):
        return Feedback(False, "give (p, d): p from 0 to 999, d from 2 to 99, not 49")
    rounded, exact = int((1 / d) * p), p // d
    comment = f"floor((1/{d})*{p}) is {rounded} in floats, and {p}//{d} is {exact}"
    return Feedback(rounded != exact, comment, (p, d))


rounded_quotient = Exercise(
    "`floor((1/49)*p)` in floats is wrong at `p = 49`. It is not alone: give another `(p, d)`, "
    "with `p` below 1000 and `d` below 100, at which `floor((1/d)*p)` is not `p//d`.",
    (1000, 100),
    (98, 98),
    check=_rounded,
    hint="Only a multiple of `d` can fail, and twice a number is rounded as the number itself is.",
)


def _rows(answer: Any) -> Feedback:
    """Check for the largest row length at which rows of stride 8 do not meet."""
    given = number_of(answer)
    if given == 8:
        return Feedback(True, "rows of 8 fill their stride, and the first of 9 meets the next row")
    if given > 8:
        comment = f"(0, 8) and (1, 0) share offset 8 if rows have {given}"
        return Feedback(False, comment, ((0, 8), (1, 0)))
    return Feedback(False, f"rows of {given + 1} do not meet either")


longest_row = Exercise(
    "A matrix of 4 rows of `N` elements is stored by `8*i + j`. ISL gives the set of all `N` for "
    "which two elements share an offset. Which is the largest `N` outside of it?",
    (4, 8),
    "8",
    check=_rows,
    hint="Which element of row 0 would lie where row 1 begins?",
)
