"""Proofs about recipes of formulas for all sizes; tests/fuzz judges those for numbers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import Merge, Recipe, Scatter, offset_of, recipe_of_formula
from morello_layouts.proof import are_equivalent, is_bijective, is_injective, is_surjective, verify
from tests.fuzz.judgements import of_each
from tests.fuzz.layouts import Drawn, Places, Sizes, flat
from tests.support.tables import each_row

M, N, LD = map(SizeExpr.named, ("M", "N", "LD"))


def map_of(shape: tuple[int | SizeExpr, ...], form: AffineExpr) -> IndexMap:
    return IndexMap.of(recipe_of_formula(shape, form), lambda *_: form)


ROW, COL = coordinate_variables((M, N))
VERDICTS = {
    "row-major": (ROW * N + COL, "all sizes", "all sizes", "all sizes"),
    "pitch": (ROW * LD + COL, "all sizes", "LD = N, or M = 1", "LD = N, or M = 1"),
    "start": (ROW * N + COL + 5, "all sizes", "no sizes", "no sizes"),
    "pitch and start": (ROW * LD + COL + 5, "all sizes", "no sizes", "no sizes"),
    "rows backwards": ((M - 1 - ROW) * N + COL, "all sizes", "all sizes", "M = 1"),
    "columns backwards": (ROW * N + N - 1 - COL, "all sizes", "all sizes", "N = 1"),
    "every other": (ROW * N * 2 + COL * 2, "all sizes", "M = 1 and N = 1", "M = 1 and N = 1"),
    "broadcast": (COL, "M = 1", None, "M = 1"),
    "overlap": (ROW + COL, "M = 1, or N = 1", None, "M = 1, or N = 1"),
}


@each_row("name", VERDICTS)
def test_verdicts_for_all_sizes(name: str) -> None:
    form, injective, surjective, row_major = VERDICTS[name]
    m = map_of((M, N), form)
    assert str(is_injective(m).condition) == injective
    if surjective is not None:
        assert str(is_surjective(m).condition) == surjective
    assert verify(m).holds
    same = are_equivalent(m, map_of((M, N), ROW * N + COL))
    assert same.condition is None or str(same.condition) == row_major


def test_a_pitch_is_assumed_to_hold_a_row() -> None:
    m = map_of((M, N), ROW * LD + COL)
    assert is_injective(m).assumptions == ("LD >= N",)
    with pytest.raises(Exception, match=r"expected LD >= N, got 4 and 5"):
        m.at(M=3, N=5, LD=4)


def test_a_broadcast_array_fills_its_row() -> None:
    proof = is_surjective(map_of((M, N), COL))
    assert proof.holds
    assert proof.padding == 0


def test_a_wrong_formula_is_refuted() -> None:
    i, j = coordinate_variables((3, 4))
    for wrong in (4 * i - j + 4, 4 * i + j):
        m = IndexMap.of(recipe_of_formula((3, 4), 4 * i - j + 3), lambda *_, form=wrong: form)
        assert verify(m).holds is False
    form = i * 3 + j
    scattered = recipe_of_formula((3, 4), form)
    assert isinstance(scattered.steps[0], Scatter)
    assert verify(IndexMap.of(scattered, lambda *_: i * 4 + j)).holds is False


def merged(axis: Callable[[AffineExpr], AffineExpr]) -> IndexMap:
    """Twelve dimensions of 4, merged into one that a formula then places, beyond enumeration."""
    shape = (4,) * 12
    recipe = Recipe(
        shape, (Merge((12,)), Scatter((axis(coordinate_variables((4**12,))[0]),), (4**12,)))
    )
    return IndexMap.of(recipe, lambda at, _: offset_of(recipe, at, AffineExpr((), 0)))


def test_counterexamples_behind_a_merge_have_all_coordinates() -> None:
    zeros, threes = (0,) * 11, (3,) * 11
    injective = is_injective(merged(lambda x: x - x % 3))
    assert (injective.holds, injective.counterexample) == (False, ((*zeros, 0), (*zeros, 1)))
    bijective = is_bijective(merged(lambda x: x + 3))
    assert (bijective.holds, bijective.counterexample) == (False, (*threes, 1))


# Formulas of strides and offsets that may overlap, leave gaps, or run backwards; assumptions.
OVERLAPPING = [
    *((text, None) for text in (
        "2*i + j", "3*i + j", "i + 2*j", "5*i + j", "i + j", "0*i + j", "2*i + 3*j", "4*i + 2*j",
        "2*i + j + 3", "2*i + j + k", "4*i + 2*j + k", "i + 2*j + 6*k", "i//2 + j", "i%3 + 3*j",
    )),
    ("2*i + j", "N >= 2"), ("3*i + j", "N % 3 == 0"), ("3*i + j", "M <= 2"),
    ("2*i + j", "N >= 3"), ("2*i + j", "N % 5 == 0"), ("7*i + 2*j", None),
]  # fmt: skip


@each_row("text, assuming", OVERLAPPING)
def test_each_condition_at_a_grid_of_sizes(text: str, assuming: str | None) -> None:
    rank = 3 if "k" in text else 2
    names, source = ("M", "N", "K")[:rank], f"lambda {', '.join('ijk'[:rank])}: {text}"
    function = eval(source)  # a row of our own file
    if text.startswith(tuple("0123456789")) or text == "i + j":
        start, *ends = (function(*at) for at in ((0,) * rank, *np.eye(rank, dtype=int).tolist()))
        source = f"strided<{[end - start for end in ends]}, offset: {start}>"

    def places(sizes: Sizes) -> tuple[Places, int]:
        there = tuple(sizes[name] for name in names)
        size = ml.index_map(source, names).at(**sizes).size
        return flat(function(*np.indices(there)), there), int(size)

    given = () if assuming is None else (assuming,)
    for judged in of_each(Random(0), "", Drawn(source, names, places, names, assuming=given)):
        wanted = ("right", "undecided") if "surjective" in judged.text else ("right",)
        assert judged.state in wanted, judged.text
        assert judged.points > 5


# What ISL says in products of sizes: they are split, fixed sizes are put in, others are left out.
BOTH_HALVES = [
    ("strided<[2, 1]>", ("M", "N"), None, "M = 1, or N = 2"),
    ("strided<[2, 1]>", ("M", "N"), "N >= 3", "M = 1"),
    ("strided<[2, 1]>", ("M", "N"), "M >= 2 and N >= 3", "no sizes"),
    ("strided<[4, 1]>", ("M", "N"), "N % 2 == 0", "M = 1, or N = 4"),
    ("strided<[12, 1]>", (21, "N"), None, "N = 12"),
    ("strided<[12, 1]>", (20, "N"), "N % 5 == 0", "no sizes"),
    ("strided<[12, 5]>", ("M", 20), None, "no sizes"),
    ("strided<[4, 2, 1]>", ("M", "N", "K"), None,
     "K = 2 and M = 1, or K = 2 and N = 2, or K = 4 and N = 1, or M = 1 and N = 1"),
]  # fmt: skip


@each_row("text, shape, assuming, condition", BOTH_HALVES)
def test_the_condition_of_both_halves(
    text: str, shape: tuple[int | str, ...], assuming: str | None, condition: str
) -> None:
    m = ml.index_map(text, shape, assuming=assuming)
    found = is_bijective(m)
    assert str(found.condition) == condition
    assert is_bijective(m.at(**found.counterexample.sizes)).holds is False


def test_a_half_that_is_open_leaves_no_condition() -> None:
    backwards = is_bijective(ml.index_map("strided<[-1, 2], offset: 10>", ("M", "N")))
    assert (backwards.holds, backwards.condition) == (False, None)


# Strides by name, and without an inverse formula: ISL reads none, and small sizes refute them.
SAMPLED = [
    ("strided<[8, 3]>", ("M", 5), (True, False, False), {"M": 1}),
    ("strided<[2, 0]>", ("M", "N"), (False, False, False), {"M": 1, "N": 2}),
    ("strided<[M, 1]>", ("M", 2), (None, False, False), {"M": 3}),
    ("strided<[P, 8, 1]>", (7, 3, "M"), (False, False, False), {"M": 1, "P": 2}),
    ("(M,5):(LD,3)", ("M", 5), (False, False, False), {"M": 2, "LD": 3}),
]


@each_row("text, shape, holds, sizes", SAMPLED)
def test_small_sizes_refute_strides_by_name(
    text: str, shape: tuple[int | str, ...], holds: tuple[bool | None, ...], sizes: dict[str, int]
) -> None:
    m = ml.index_map(text, shape)
    questions = (is_injective, is_surjective, is_bijective)
    answers = [ask(m) for ask in questions]
    assert tuple(x.holds for x in answers) == holds
    assert answers[2].counterexample.sizes == sizes
    for ask, answer in zip(questions, answers, strict=True):
        if answer.holds is False:
            assert ask(m.at(**answer.counterexample.sizes)).holds is False


# Maps of many kinds, and what refutes that they fill their buffers.
NOT_ONTO: dict[str, tuple[Any, str]] = {
    "a formula with xor": (
        ml.from_sympy({"shape": (5000, 16), "size": 100000}, "(d0 ^ 37)*16 + (d1 ^ 5)"),
        "20000 of 100000 slots are padding (first: 79872)"),
    "a formula with xor of many elements": (
        ml.from_sympy({"shape": (5000000,), "size": 10**7}, "d0 ^ (d0//2) ^ (d0//8)"),
        "5000000 elements do not fill 10000000 slots"),
    "a layout": (ml.index_map("f32[3,5]{1,0:T(2,2)}"), "9 of 24 slots are padding (first: 9)"),
    "strides": (ml.index_map("strided<[2, 1]>", (2, 1)), "1 of 3 slots are padding (first: 1)"),
}  # fmt: skip


@each_row("name", NOT_ONTO)
def test_what_is_not_onto_is_not_bijective(name: str) -> None:
    m, why = NOT_ONTO[name]
    onto, both = ml.is_surjective(m), ml.is_bijective(m)
    assert (onto.holds, onto.reason) == (False, why)
    assert (both.holds, both.claim, both.counterexample) == (
        False,
        "bijective",
        onto.counterexample,
    )
    assert both.reason.endswith(why)


TILES_OF_TILES = ["f32[M,N]{0,1:T(5)(3,8)(3)}", "f32[M,N]{0,1:T(4)(2,2)(8)}"]


@each_row("text", TILES_OF_TILES)
def test_random_questions_that_ended_in_an_error_have_a_verdict(text: str) -> None:
    m = ml.index_map(text)
    for ask in (is_surjective, is_bijective):
        found = ask(m)
        assert found.holds is False
        assert ask(m.at(**found.counterexample.sizes)).holds is False


def test_quotients_of_names_that_share_offsets_do_not_hang() -> None:
    """ISL's last operations of a budget took more than 25 s."""
    text = "affine_map<(d0, d1) -> (3*((12*d0 + d1) mod 4) + (6*d0 + d1) floordiv 4)>"
    found = ml.is_injective(text, ("M", "N"))
    assert (found.holds, found.decider) == (False, "sampling")
    assert found.counterexample.sizes == {"M": 3, "N": 2}
