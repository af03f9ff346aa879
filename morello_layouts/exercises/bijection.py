"""Exercises of the fourth notebook: collisions, gaps, and what a proof says."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from morello_layouts.api import is_bijective, is_surjective
from morello_layouts.exercises.exercise import Exercise, Feedback
from morello_layouts.formula import FormulaMap, IndexMap

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = [
    "every_slot_once",
    "find_a_collision",
    "free_reshape",
    "odd_even_of_pairs",
    "pads_odd_heights",
]


def _middle_is_fastest(given: IndexMap | FormulaMap) -> Proof | Feedback:
    """A bijection in which a step along the middle dimension is a step in memory."""
    offsets = given(*np.indices((2, 3, 4)))
    wrong = np.argwhere(offsets[:, 1:] - offsets[:, :-1] != 1)
    if len(wrong):
        i, j, k = map(int, wrong[0])
        here, there = given(i, j, k), given(i, j + 1, k)
        said = f"({i}, {j}, {k}) lies at {here}, and its neighbour ({i}, {j + 1}, {k}) at {there}"
        return Feedback(False, said, ((i, j, k), (i, j + 1, k)))
    return is_bijective(given)


every_slot_once = Exercise(
    "An array has 2 by 3 by 4 elements, and its buffer 24 slots. A step along the middle "
    "dimension, `j`, is a step to the next slot. Choose strides for `i` and `k` such that there is "
    "no collision and no gap. More than one formula is right.",
    (2, 3, 4),
    "12*i + j + 3*k",
    names=("i", "j", "k"),
    size=24,
    judge=_middle_is_fastest,
    hint="Three slots are taken by one run along `j`. Which stride begins the next run, and how "
    "many runs go by before the other dimension steps?",
)


def _slots(answer: Any) -> Feedback:
    """Whether two elements lie in one slot of ``63*i + j``."""
    try:
        (i, j), (k, m) = (map(index, element) for element in answer)
    except (TypeError, ValueError):
        i = j = k = m = -1
    if not all(0 <= x < 64 for x in (i, j, k, m)):
        said = "give two elements, such as ((0, 1), (2, 3)), of rows and columns 0 to 63"
        return Feedback(False, said)
    if (i, j) == (k, m):
        return Feedback(False, f"({i}, {j}) is one element, and two are wanted")
    slots = 63 * i + j, 63 * k + m
    said = f"({i}, {j}) lies in slot {slots[0]}, ({k}, {m}) in slot {slots[1]}"
    return Feedback(slots[0] == slots[1], said, slots)


find_a_collision = Exercise(
    "Somebody stores a matrix of 64 rows and 64 columns by `63*i + j`. Of its 8,386,560 pairs of "
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


def _even_heights(given: IndexMap | FormulaMap) -> Feedback:
    """Whether a layout is without padding exactly when 2 divides M."""
    if isinstance(given, FormulaMap):
        return Feedback(False, "give a layout, such as {1,0:T(8,128)}")
    proof = is_surjective(given)
    # A Morello layout exists for no other sizes, so that its assumptions are its condition.
    found = f"exactly when {'; '.join(proof.assumptions)}" if proof.assumptions else proof.when
    right = found == "exactly when 2 divides M"
    said = f"yours is without padding {found}"
    return Feedback(right, said, None if right else proof.counterexample)


pads_odd_heights = Exercise(
    "Find a layout of `M` by `N` elements that is without padding exactly when 2 divides `M`, "
    "whatever `N` is.",
    ("M", "N"),
    "{1,0:T(2,1)}",
    judge=_even_heights,
    hint="A tile pads its dimensions up to multiples of its own sizes. Which size pads nothing?",
)

free_reshape = Exercise(
    "A matrix `f32[4,6]{1,0:T(2,3)}` lies in four tiles. Seen as `f32[2,2,2,3]`, the reshape that "
    "keeps row-major order, it shall cost no copy. Which layout has the result? Write the order of "
    "its dimensions, as in `{3,2,1,0}`.",
    (2, 2, 2, 3),
    "{3,1,2,0}",
    hint="The reshape cuts row `i` into `(i//2, i%2)` and column `j` into `(j//3, j%3)`. In which "
    "order do these four digits come in the tiles, from fast to slow?",
)
