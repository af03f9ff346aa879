"""verify without the document names what differs from the recipe, its decider, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import sympy

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import Pad, Recipe, Xor, offset_of, recipe_of_formula
from tests.proof.test_second_opinion import (
    LAST,
    TILED,
    M,
    N,
    d0,
    d1,
    inverse_off_by,
    p,
    with_inverse,
    with_parts,
)
from tests.support.tables import each_row

AGREE = "simplified formula, reference and inverse agree everywhere"
SYMBOLIC = "f32[M,N]{1,0:T(2,4)}"
OPEN = "f32[A,B,C,D]{3,2,1,0:T(*,2,*,3)}"
Spoil: TypeAlias = Callable[[IndexMap], IndexMap]


def map_of(layout: str) -> IndexMap:
    """Return a map that no document judges."""
    return replace(ml.index_map(layout), origin=None)


def rows(start: int, pitch: int, size: int) -> IndexMap:
    """Return the map of rows of 5 that begin behind the start of a buffer, and do not fill it."""
    i, j = coordinate_variables((3, 5))
    form = pitch * i + j + start
    return IndexMap.of(recipe_of_formula((3, 5), form, size), lambda *_: form)


def or_padding(condition: Any) -> Spoil:
    return lambda m: with_inverse(m, padding=sympy.Or(m.inverse.padding, condition))


def padding(condition: Any) -> Spoil:
    return lambda m: with_inverse(m, padding=condition)


def without_limit(text: str) -> Spoil:
    """Leave out the part of the condition for padding that reads so."""

    def spoil(m: IndexMap) -> IndexMap:
        parts = {str(part): part for part in m.inverse.padding.args}
        del parts[text]
        return with_inverse(m, padding=sympy.Or(*parts.values()))

    return spoil


FAULTS: dict[str, list[tuple[Spoil, str, str, Any]]] = {
    TILED: [
        (
            lambda m: with_parts(m, expr=m.expr + sympy.floor(d0 / 2)),
            "the SymPy expression differs from the recipe at (2, 0)",
            "evaluation",
            (2, 0),
        ),
        (
            lambda m: with_parts(m, reference=m.reference + sympy.floor(d1 / 4)),
            "the reference formula differs from the recipe at (0, 4)",
            "evaluation",
            (0, 4),
        ),
        (
            lambda m: with_parts(m, expr=m.expr + LAST),
            "the SymPy expression differs from the recipe at (2, 4)",
            "sampling",
            (2, 4),
        ),
        (
            lambda m: inverse_off_by(m, -sympy.floor(p / 20)),
            "coordinate 1 of the inverse differs from the recipe at physical (1, 2, 0, 0)",
            "ISL",
            (1, 2, 0, 0),
        ),
        (
            or_padding(sympy.Ge(p, 20)),
            "the padding of the inverse differs from the recipe at slot 20",
            "ISL",
            20,
        ),
        (
            or_padding(sympy.Gt(p, 19)),
            "the padding of the inverse differs from the recipe at slot 20",
            "ISL",
            20,
        ),
        (
            or_padding(sympy.Le(p, 0)),
            "the padding of the inverse differs from the recipe at slot 0",
            "ISL",
            0,
        ),
        (
            or_padding(sympy.Ge(30 * sympy.Mod(p, 2), 30)),
            "the padding of the inverse differs from the recipe at slot 1",
            "ISL",
            1,
        ),
        (
            padding(sympy.false),
            "the padding of the inverse differs from the recipe at slot 9",
            "ISL",
            9,
        ),
        (
            padding(sympy.true),
            "the padding of the inverse differs from the recipe at slot 0",
            "ISL",
            0,
        ),
    ],
    SYMBOLIC: [
        (
            lambda m: with_parts(m, expr=m.expr + M - 1),
            "if M = 2, N = 1, the SymPy expression differs from the recipe at (0, 0)",
            "digits and ISL",
            {"M": 2, "N": 1},
        ),
        (
            lambda m: with_parts(m, reference=m.reference + M * d0 * d1 * (d0 - 1)),
            "if M = 3, N = 2, the reference formula differs from the recipe at (2, 1)",
            "sampling",
            {"M": 3, "N": 2},
        ),
        (
            lambda m: inverse_off_by(m, sympy.floor(p / 20)),
            "if M = 3, N = 5, the inverse differs from the recipe at slot 24",
            "sampling",
            {"M": 3, "N": 5},
        ),
        (
            or_padding(sympy.Ge(p, 20)),
            "if M = 3, N = 5, the padding of the inverse differs from the recipe at slot 24",
            "sampling",
            {"M": 3, "N": 5},
        ),
        (padding(sympy.false), "the padding of the inverse differs from the recipe", "ISL", None),
    ],
    OPEN: [
        (
            lambda m: inverse_off_by(m, sympy.floor(p / 2)),
            "if A = B = C = D = 1, the inverse differs from the recipe at slot 0",
            "sampling",
            dict.fromkeys("ABCD", 1),
        )
    ],
}


@each_row("layout", FAULTS)
def test_what_differs_is_named(layout: str) -> None:
    m = map_of(layout)
    for spoil, reason, decider, at in FAULTS[layout]:
        answer = ml.verify(spoil(m))
        assert answer.claim == "verified"
        assert answer.holds is False
        assert answer.reason.startswith(reason)
        assert (answer.decider, answer.counterexample) == (decider, at)


@each_row(
    ("layout", "decider"),
    [(TILED, "digits and ISL"), (SYMBOLIC, "digits and ISL"), (OPEN, "a certificate")],
)
def test_what_agrees_is_verified(layout: str, decider: str) -> None:
    answer = ml.verify(map_of(layout))
    assert (answer.claim, answer.holds, answer.reason) == ("verified", True, AGREE)
    assert (answer.decider, answer.counterexample) == (decider, None)


@each_row("layout", [TILED, SYMBOLIC])
def test_a_condition_that_says_nothing_new_is_right(layout: str) -> None:
    m = map_of(layout)
    for needless in (sympy.Ge(p, m.size), sympy.Gt(p, m.size - 1)):
        assert ml.verify(or_padding(needless)(m)).holds is True


LIMITS = {"p >= 28": "misses an end", "3 - p >= 0": "misses an end", "Mod(p + 4, 8) >= 5": "slot 9"}


def test_both_ends_of_a_buffer_are_padding() -> None:
    m = rows(4, 8, 30)
    assert {str(part) for part in m.inverse.padding.args} == LIMITS.keys()
    assert ml.verify(m).holds
    for text, words in LIMITS.items():
        answer = ml.verify(without_limit(text)(m))
        assert answer.holds is False
        assert words in answer.reason
    for start, end in ((4, 28), (0, 24), (0, 26), (1, 25)):
        assert ml.verify(rows(start, 8, end)).holds
    assert ml.verify(without_limit("Mod(p + 7, 8) >= 5")(rows(1, 8, 25))).holds is False


def test_elements_that_share_slots_have_no_inverse_to_verify() -> None:
    i, j = coordinate_variables((3, 4))
    m = IndexMap.of(recipe_of_formula((3, 4), i + j), lambda *_: i + j)
    assert ml.verify(m).reason == "simplified formula, reference and recipe agree everywhere"
    assert ml.verify(with_parts(m, expr=m.expr + d0)).holds is False


def test_a_certificate_is_about_the_padding_that_users_get() -> None:
    """ISL leaves it open, small sizes do not reach it, and a certificate must not pass it by."""
    assert ml.verify(or_padding(sympy.Gt(p, 10**6))(map_of(OPEN))).holds is None


def test_a_budget_for_isl_asks_no_other() -> None:
    assert ml.verify(map_of(OPEN), budget=10**7).holds is None


def swizzled() -> IndexMap:
    """Return the map of 3 rows of 4, padded to 4 rows, whose columns are xored with the row."""
    recipe = Recipe((3, 4), (Pad((4, 4)), Xor(1, 0)))
    return IndexMap.of(recipe, lambda at, _: offset_of(recipe, at, AffineExpr((), 0)))


SWIZZLED: list[tuple[Spoil, str, Any]] = [
    (lambda m: with_parts(m, expr=m.expr + sympy.floor(d0 / 2)), "the SymPy expression", (2, 0)),
    (lambda m: with_parts(m, reference=m.reference + d1), "the reference formula", (0, 1)),
    (lambda m: inverse_off_by(m, sympy.floor(p / 11)), "the inverse", 11),
    (or_padding(sympy.Ge(p, 11)), "the inverse", 11),
    (padding(sympy.false), "the inverse", 12),
    (padding(sympy.true), "the inverse", 0),
]


@each_row(("spoil", "part", "at"), SWIZZLED)
def test_a_fault_in_a_swizzle_is_found(spoil: Spoil, part: str, at: Any) -> None:
    assert ml.verify(swizzled()).decider == "digits and bits, and ISL"
    assert ml.verify(or_padding(sympy.Ge(p, 16))(swizzled())).holds is True
    answer = ml.verify(spoil(swizzled()))
    assert answer.holds is False
    assert answer.reason.startswith(f"{part} differs from the recipe at")
    assert answer.counterexample == at


NAMED: list[tuple[Spoil, str]] = [
    (lambda m: with_parts(m, expr=m.expr + N - 1), "the SymPy expression"),
    (lambda m: with_parts(m, reference=m.reference * 1 + M - 1), "the reference formula"),
    (lambda m: inverse_off_by(m, sympy.floor(p / 2)), "the inverse"),
    (or_padding(sympy.Ge(p, 2)), "the padding of the inverse"),
    (padding(sympy.false), "the padding of the inverse"),
    (padding(sympy.true), "the padding of the inverse"),
]


@each_row(("spoil", "part"), NAMED)
def test_a_fault_in_tiles_of_named_sizes_is_found(spoil: Spoil, part: str) -> None:
    answer = ml.verify(spoil(map_of("f32[M,N]{1,0:T(A,B)}")))
    assert answer.holds is False
    assert f", {part} differs from the recipe at" in answer.reason


def test_verdicts_on_tiles_of_named_sizes_say_what_they_judged() -> None:
    m = map_of("f32[M,N]{1,0:T(A,B)}")
    assert ml.is_injective(m).judged == "formulas"
    answer = ml.is_injective(with_parts(m, expr=m.expr + N - 1))
    assert answer.judged.startswith("the recipe only")


def test_a_size_that_cannot_be_read_decides_nothing() -> None:
    m = map_of(SYMBOLIC)
    answer = ml.verify(with_parts(m, expr=m.expr + sympy.floor(M / 99)))
    assert answer.holds is not True
