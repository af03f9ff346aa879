"""The second opinion finds each part of a map that disagrees with the document, and says which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.proof import second_opinion
from morello_layouts.proof.second_opinion import first_disagreement, value_of
from tests.support.tables import each_row

d0, d1, p, M, N = sympy.symbols("d0 d1 p M N")
TILED = "f32[3,5]{1,0:T(2,2)}"  # slots 0 to 23; 6 is the first of padding in rows, 9 in columns
OTHER = "f32[3,5]{1,0:T(2,4)}"
LAST = sympy.floor(d0 / 2) * sympy.floor(d1 / 4)
"""1 at the last element, which lies in slot 20, and 0 at all others."""


def with_parts(m: ml.IndexMap, **parts: Any) -> ml.IndexMap:
    """Return a map of which some parts were computed wrongly."""
    found = replace(m)
    vars(found).update(parts)
    return found


def with_inverse(m: ml.IndexMap, **parts: Any) -> ml.IndexMap:
    inverse = copy(m.inverse)
    vars(inverse).update(parts)
    return with_parts(m, inverse=inverse)


class OfAnotherSize(ml.IndexMap):
    """A map that says a wrong size."""

    @property
    def size(self) -> Any:
        return 25


def inverse_off_by(m: ml.IndexMap, wrong: sympy.Expr) -> ml.IndexMap:
    return with_inverse(m, exprs=(m.inverse.exprs[0], m.inverse.exprs[1] + wrong))


def other_recipe(m: ml.IndexMap, offset: int, tail: int) -> ml.IndexMap:
    return replace(m, recipe=replace(m.recipe, offset=offset, tail_padding=tail))


FAULTS: list[tuple[str, Callable[[ml.IndexMap], ml.IndexMap], str, Any]] = [
    (TILED, lambda m: with_parts(m, expr=m.expr + LAST), "SymPy expression gives (2, 4)", (2, 4)),
    (TILED, lambda m: with_parts(m, reference=m.reference - LAST), "reference formula", (2, 4)),
    (
        TILED,
        lambda m: with_parts(m, affine_map=ml.index_map(OTHER).affine_map, expr=m.expr),
        "simplified formula gives (0, 2) offset 2, the document 4",
        (0, 2),
    ),
    (TILED, lambda m: other_recipe(m, 1, -1), "the recipe gives (0, 0) offset 1", (0, 0)),
    (TILED, lambda m: other_recipe(m, 0, 1), "recipe spans 25 elements, the document 24", (3, 5)),
    (TILED, lambda m: OfAnotherSize(**fields(m)), "public size spans 25 elements", (3, 5)),
    (
        TILED,
        lambda m: replace(m, origin=ml.index_map("f32[3,6]{1,0:T(2,2)}").origin),
        "the shape is (3, 5), and (3, 6) is meant",
        (3, 6),
    ),
    (
        TILED,
        lambda m: inverse_off_by(m, -sympy.floor(p / 20)),
        "the inverse gives offset 20 (2, 3), the document (2, 4)",
        (2, 4),
    ),
    (
        TILED,
        lambda m: with_inverse(m, padding=sympy.Ge(p, 20)),
        "the inverse gives offset 20 padding, the document (2, 4)",
        (2, 4),
    ),
    (
        TILED,
        lambda m: with_inverse(m, padding=sympy.Ge(sympy.Mod(p, 23), 23)),
        "the inverse finds (3, 5) in slot 23",
        23,
    ),
    (
        "f32[300,300]{1,0:T(8,128)}",
        lambda m: with_parts(m, expr=m.expr + sympy.floor(d0 / 299) * sympy.floor(d1 / 299)),
        "SymPy expression gives (299, 299)",
        (299, 299),
    ),
]


def fields(m: ml.IndexMap) -> dict[str, Any]:
    return {name: getattr(m, name) for name in m.__dataclass_fields__}


@each_row(("layout", "spoil", "words", "at"), FAULTS)
def test_each_part_that_is_wrong_is_named(layout: Any, spoil: Any, words: str, at: Any) -> None:
    m = ml.index_map(layout)
    assert first_disagreement(m) is None
    found = first_disagreement(spoil(m))
    assert found is not None
    assert words in found[0]
    assert found[1] == at


def test_verify_says_that_the_document_disagrees() -> None:
    other = ml.index_map("f32[3,5]{0,1:T(2,2)}")
    answer = ml.verify(replace(ml.index_map(TILED), origin=other.origin))
    assert answer.holds is False
    assert answer.decider == "the document"
    assert answer.reason == "the simplified formula gives (0, 1) offset 1, the document 2"
    assert answer.counterexample == (0, 1)


def test_a_large_array_is_asked_between_its_corners() -> None:
    m = ml.index_map("f32[300,300]{1,0:T(8,128)}")
    inside = sympy.floor((d0 + 298) / 299) - sympy.floor(d0 / 299)  # 1 in rows 1 to 298
    found = first_disagreement(with_parts(m, expr=m.expr + inside))
    assert found is not None
    assert 0 < found[1][0] < 299


def test_padding_of_an_array_too_large_to_list_is_still_asked() -> None:
    m = ml.index_map("f32[17,100]{1,0:T(8,128)}")
    found = first_disagreement(with_inverse(m, padding=sympy.Ge(p, 10**6)))
    assert found is not None
    assert "the inverse finds" in found[0]


ROWS = "f32[M,N]{1,0:T(8,128)}"
SYMBOLIC: list[tuple[Any, Any, Any, Any]] = [
    (None, M - 1, "if M = 2, N = 1, the SymPy", {"M": 2, "N": 1}),
    ("M % 8 == 0", M - 8, "if M = 16, N = 1, the SymPy", {"M": 16, "N": 1}),
    ("M % 8 == 0", sympy.Mod(M, 8), None, None),
    ("M <= 4", sympy.floor(M / 5), None, None),
    (None, sympy.floor(M / 700) * sympy.floor(N / 500), "if M = ", None),
]


@each_row(("assuming", "wrong", "words", "at"), SYMBOLIC)
def test_sizes_are_those_that_assumptions_allow(
    assuming: Any, wrong: Any, words: str | None, at: Any
) -> None:
    m = ml.index_map(ROWS, assuming=assuming)
    assert first_disagreement(m) is None
    found = first_disagreement(with_parts(m, expr=m.expr + wrong))
    assert (found is None) == (words is None)
    if found is not None and words is not None:
        assert found[0].startswith(words)
        assert at in (None, found[1])


def test_a_map_that_refuses_allowed_sizes_is_refuted() -> None:
    m = ml.index_map(ROWS, assuming="M >= 3")
    found = first_disagreement(replace(m, origin=ml.index_map(ROWS).origin))
    assert found is not None
    assert "is allowed, and the map refuses it" in found[0]


def test_without_a_document_nothing_disagrees() -> None:
    m = ml.index_map(TILED)
    assert first_disagreement(replace(m, origin=None)) is None

    @dataclass(frozen=True)
    class Silent(ml.Layout):
        def recipe(self, shape: Any) -> ml.Recipe:
            return ml.Recipe(shape)

        def reference(self, coordinates: Any, _: Any) -> Any:
            return coordinates[0]

    silent = ml.index_map(Silent(), (4,))
    assert first_disagreement(with_parts(silent, expr=d0 + 1)) is None


def trees() -> Iterator[tuple[Any, Any]]:
    """Yield expressions of x with the value that Python gives at a number."""
    x = sympy.Symbol("x")
    yield x - 3, lambda n: n - 3
    yield 2 * x**2, lambda n: 2 * n * n
    yield x / 7, lambda n: Fraction(n, 7)
    yield sympy.floor(x / 7), lambda n: n // 7
    yield sympy.ceiling(x / 7), lambda n: -(-n // 7)
    yield sympy.Mod(x, 7), lambda n: n % 7
    yield 7 * sympy.floor(x / 7) - 47 * sympy.Mod(x, 4), lambda n: n // 7 * 7 - 47 * (n % 4)
    yield sympy.floor(1 / (x**2 + 1) * 9), lambda n: 9 // (n * n + 1)
    yield sympy.Ge(x, 3), lambda n: n >= 3
    yield sympy.Gt(x, 3), lambda n: n > 3
    yield sympy.Le(x, 3), lambda n: n <= 3
    yield sympy.Lt(x, 3), lambda n: n < 3
    yield sympy.Eq(x, 3), lambda n: n == 3
    yield sympy.Ne(x, 3), lambda n: n != 3
    yield sympy.Or(sympy.Lt(x, -3), sympy.Gt(x, 3)), lambda n: n < -3 or n > 3
    yield sympy.And(sympy.Gt(x, -3), sympy.Lt(x, 3)), lambda n: -3 < n < 3
    yield sympy.true, lambda n: True  # noqa: ARG005
    yield sympy.false, lambda n: False  # noqa: ARG005
    yield 5, lambda n: 5  # noqa: ARG005


@given(st.one_of(st.integers(-9, 9), st.integers(-(10**30), 10**30)))
def test_values_of_sympy_are_exact(n: int) -> None:
    for expr, value in trees():
        found = value_of(expr, {"x": n})
        assert found == value(n), expr
        assert isinstance(found, int) == (found == int(found))


def test_what_has_no_value_is_refused() -> None:
    with pytest.raises(TypeError, match="no value of sin"):
        value_of(sympy.sin(p), {"p": 1})


def test_small_arrays_are_asked_everywhere_and_large_ones_at_corners_too() -> None:
    assert sorted(second_opinion._coordinates((2, 3), 6)) == [
        (i, j) for i in range(2) for j in range(3)
    ]
    few = list(second_opinion._coordinates((2, 4), 6))
    assert len(few) == 6
    assert {(0, 0), (0, 3), (1, 0)} <= set(few)
    assert all(i < 2 and j < 4 for i, j in few)
