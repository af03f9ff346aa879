"""Questions about layouts with exclusive ors and replicas, against every element and slot."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import morello_layouts as ml
from morello_layouts.check import check
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Replicate,
    Split,
    Transpose,
    Xor,
    known,
    offset_of,
)
from tests.support.certificate_judge import is_true
from tests.support.recipes import places, recipes
from tests.support.steps import steps
from tests.support.tables import each_row

ROWS = SizeExpr.named("M")


def map_of(recipe: Recipe) -> IndexMap:
    """The map of a recipe, whose reference formula is the recipe's own."""
    return IndexMap.of(recipe, lambda at, _: offset_of(recipe, at, AffineExpr((), 0)), "recipe")


def elements(recipe: Recipe) -> dict[int, tuple[int, ...]]:
    """The element in each slot that holds one, place by place."""
    shape, (start,) = known(recipe.physical_shape), known((recipe.offset,))
    return {
        start + int(np.ravel_multi_index(at, shape)): element
        for element, holders in places(recipe)
        for at in holders
    }


def has_new_steps(recipe: Recipe) -> bool:
    return any(isinstance(step, Xor | Replicate) for step in recipe.steps)


@settings(max_examples=20)
@given(recipes())
def test_random_layouts(recipe: Recipe) -> None:
    assume(has_new_steps(recipe))
    m, held = map_of(recipe), elements(recipe)
    (size,) = known((recipe.size,))
    assert ml.is_injective(m).holds is True
    onto = ml.is_surjective(m)
    assert onto.holds == (len(held) == size)
    assert onto.padding == size - len(held)
    if not onto.holds:
        assert onto.counterexample == min(set(range(size)) - set(held))
    assert ml.is_bijective(m).holds == (len(held) == size and recipe.replicas == 1)
    assert ml.is_injective(m, confirm=True).judged == "formulas"
    assert ml.verify(m).holds is True


def test_isl_leaves_open_what_it_does_not_read() -> None:
    answer = ml.is_surjective("f32[M], mesh={'x': 3, 'y': 4}, spec=P('y')", confirm=True)
    assert str(answer.condition) == "4 | M"
    assert answer.decider == "digits; ISL leaves it open"


@settings(max_examples=20)
@given(recipes(), recipes(), st.booleans())
def test_random_pairs(one: Recipe, other: Recipe, same: bool) -> None:
    if same:
        other = one
    assume(has_new_steps(one) and one.shape == other.shape)
    proof = ml.are_equivalent(map_of(one), map_of(other))
    shared = [{(x, p) for p, x in elements(r).items()} for r in (one, other)]
    assert proof.holds == (shared[0] == shared[1])


def swizzled(rows: Any, columns: int = 64, **changed: Any) -> IndexMap:
    """Chunks of 8 columns, exchanged by the row; the formula is CuTe's flat one."""
    recipe = Recipe((rows, columns), (Split((None, 8)), Xor(1, 0), Merge((3,))))
    m = IndexMap.of(recipe, lambda at, _: flat(columns * at[0] + at[1], columns), "swizzled")
    return replace(m, **changed)


def flat(offset: Any, pitch: int) -> Any:
    return offset ^ (((offset // pitch) % (pitch // 8)) * 8)


@pytest.mark.parametrize("rows", [1, 7, 10, 1 << 24, ROWS])
def test_a_flat_formula_is_the_steps(rows: Any) -> None:
    m = swizzled(rows)
    assert str(m) == "(d0, d1) -> 64*d0 + (d1 ^ 8*(d0%8))" or rows in (1, 7)
    assert ml.verify(m).holds
    answer = ml.is_bijective(m)
    assert (answer.holds, answer.judged) == (True, "formulas")
    assert str(answer.condition) == ("all sizes" if rows is ROWS else "None")


@pytest.mark.parametrize("rows", [3, 10, ROWS])
def test_a_swizzle_of_offsets_that_are_no_power_of_two(rows: Any) -> None:
    padded = 512 if rows == 10 else 64 * rows
    cut = (Merge((2,)), Pad((padded,)), Split((64,)), Split((None, 8)))
    recipe = Recipe((rows, 50), (*cut, Xor(1, 0), Merge((3,))))
    m = IndexMap.of(recipe, lambda at, _: flat(50 * at[0] + at[1], 64), "flat")
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds


def test_two_swizzles_are_told_apart() -> None:
    one = swizzled(64)
    assert ml.are_equivalent(one, swizzled(64)).holds
    shifted = Recipe((64, 64), (Split((None, 8)), Xor(1, 0, 1), Merge((3,))))
    proof = ml.are_equivalent(one, map_of(shifted))
    assert (proof.holds, proof.counterexample) == (False, (1, 0))
    plain = ml.are_equivalent(one, "f32[64,64]{1,0}")
    assert (plain.holds, plain.counterexample) == (False, (1, 0))
    half = Recipe((64, 64), (Split((None, 8)), Xor(1, 0), Xor(1, 0), Merge((3,))))
    assert ml.are_equivalent(map_of(half), "f32[64,64]{1,0}").holds


def test_at_2_to_the_30_and_for_all_rows_nothing_is_enumerated() -> None:
    """The same work whatever the size: no element is looked at."""
    counts = []
    for rows in (1 << 10, 1 << 20):
        m, other = swizzled(rows, 1024), swizzled(rows, 1024)
        assert ml.is_bijective(m).holds
        assert ml.are_equivalent(m, other).holds
        counts.append(steps(lambda m=m, other=other: ml.are_equivalent(m, other)))  # type: ignore[misc]
    assert counts[1] < counts[0] * 1.2


def test_a_wrong_formula_is_refuted() -> None:
    wrong = swizzled(10, reference_form=flat(*ml_coordinates()))
    proof = ml.verify(wrong)
    assert (proof.holds, proof.counterexample) == (False, (1, 0))


def ml_coordinates() -> tuple[Any, int]:
    """A flat offset in which rows are one element too long."""
    from morello_layouts.core.expr import variable

    return variable("d0", 0, 9) * 65 + variable("d1", 0, 63), 64


def test_symbolic_padding_has_a_condition() -> None:
    recipe = Recipe((ROWS, 60), (Pad((ROWS, 64)), Split((None, 8)), Xor(1, 0), Merge((3,))))
    proof = ml.is_surjective(map_of(recipe))
    assert proof.holds is False
    assert (dict(proof.counterexample.sizes), proof.counterexample.at) == ({"M": 1}, 60)
    assert str(proof.padding) == "4*M"


QUESTIONS = {"injective": ml.is_injective, "surjective": ml.is_surjective, "verified": ml.verify}


@pytest.mark.parametrize(
    "rows",
    [8, pytest.param(10, marks=pytest.mark.slow), pytest.param(ROWS, marks=pytest.mark.slow)],
)
def test_swizzles_have_certificates(rows: Any) -> None:
    assert check(ml.certificate(swizzled(rows), claim="verified")) == "verified"


@settings(max_examples=8)
@given(recipes())
def test_certificates_of_random_layouts_are_true(recipe: Recipe) -> None:
    m = map_of(recipe)
    for claim, question in QUESTIONS.items():
        with suppress(ml.UnsupportedError):  # there is none
            found = ml.certificate(m, claim=claim)
            assert question(m).holds
            assert check(found) == claim
            assert is_true(found)


def test_shardings_of_sizes_by_name_have_certificates() -> None:
    """Slot 1 holds another replica of the first element, at small sizes too."""
    text = "f32[M,N], mesh={'x': 2, 'y': 4}, spec=P('x')"
    assert ml.verify(text).holds
    found = ml.certificate(text, claim="injective")
    assert (check(found), is_true(found), found["shape"]) == ("injective", True, ["M", "N", "4"])


def test_certificates_with_replicas_are_about_all_places() -> None:
    m = map_of(Recipe((3, 4), (Replicate((2,)), Transpose((2, 0, 1)), Xor(2, 0, 0))))
    found = ml.certificate(m, claim="verified")
    assert check(found) == "verified"
    assert (found["shape"], m.recipe.replicas) == (["3", "4", "2"], 2)
    assert check(ml.certificate(m, m)) == "equivalent"


SHARDED = "f32[8]{{0}}, mesh={}, spec=P('x')".format
PLACES = [
    (SHARDED({"y": 2, "x": 2}), SHARDED({"y": 3, "x": 2}), "on several places"),
    (SHARDED({"y": 2, "x": 2}), "f32[8]", "on several places"),
    (SHARDED({"x": 2}), SHARDED({"x": 4}), "equal axes"),
]


@each_row(("one", "other", "rule"), PLACES)
def test_equal_formulas_of_other_places_have_no_certificate(
    one: str, other: str, rule: str
) -> None:
    for pair in ((one, other), (other, one)):
        assert ml.are_equivalent(*pair).holds is False
        assert ml.is_bitcast(*pair).holds is False
        for claim in ("equivalent", "bitcast"):
            with pytest.raises(ml.UnsupportedError, match=rule):
                ml.certificate(*pair, claim=claim)


def test_parts_of_sizes_by_name_are_on_other_devices() -> None:
    cut, whole = ("f32[2,M], mesh={'x': 2}, spec=P('x')", "f32[2,M], mesh={'x': 1}, spec=P()")
    proof = ml.are_equivalent(cut, whole)
    assert (proof.holds, dict(proof.counterexample.sizes)) == (False, {"M": 1})
    assert str(proof.counterexample) == "M = 1 puts (1, 0) at device 1 and at offset 1"
    assert ml.agree(cut, whole).offsets.holds


BASES = "#ttg.linear<{{register = {}, lane = {}, warp = {}}}>".format


def test_equal_offsets_on_other_axes_are_other_places() -> None:
    """Lanes of two registers, and twice as many lanes of one, count the same offsets."""
    pairs = [
        (BASES([[1]], [[2], [4]], []), BASES([], [[1], [2], [4]], []), (8,), (1,)),
        (BASES([[1]], [[2], [0]], []), BASES([], [[1], [2], [0]], []), (4,), None),
        (BASES([], [[1], [2]], [[0]]), BASES([], [[1], [2], [0]], []), (4,), None),
    ]
    for one, other, shape, where in pairs:
        proof = ml.are_equivalent(one, other, shape)
        assert proof.holds is False
        a, b = (ml.index_map(text, shape) for text in (one, other))
        at = proof.counterexample
        assert where in (None, at)
        assert set(map(str, a.place(*at).holders)) != set(map(str, b.place(*at).holders))
        for claim in ("equivalent", "bitcast"):
            with pytest.raises(ml.UnsupportedError, match=r"on equal axes|on several places"):
                ml.certificate(one, other, shape=shape, claim=claim)
    one, other, shape, _ = pairs[0]
    assert ml.agree(one, other, shape).offsets.holds  # memory has no lanes
    named = [map_of(Recipe((4, 4), axis_names=axes)) for axes in (("x", "y"), ("y", "x"))]
    assert ml.are_equivalent(*named).counterexample == (0, 1)
    alone = ml.index_map(BASES([], [[1]], []), (2,))
    unnamed = replace(alone, recipe=replace(alone.recipe, steps=(), axis_names=("lane",)))
    assert ml.are_equivalent(alone, unnamed).holds
