"""The second opinion finds what disagrees with the document; proof/faults.txt says which part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.proof import second_opinion
from morello_layouts.proof.second_opinion import first_disagreement, value_of
from tests.support.spoiled import TILED, M, N, d0, off_by, p, padded_if
from tests.support.tables import each_row


@each_row(
    ("layout", "shape", "replicas"),
    [
        *((text, (), 1) for text in ("f32[]", "[]", "memref<f32>")),
        ("{devices=[2,2]<=[4] last_tile_dim_replicate}", (8,), 2),
        ("{devices=[2,3]<=[6] last_tile_dim_replicate}", (8,), 3),
    ],
)
def test_arrays_of_one_element_and_copies(layout: str, shape: tuple[int], replicas: int) -> None:
    """Without dimensions the one offset is 0; of several copies the document names the first."""
    m = ml.index_map(layout, shape)
    assert (m.recipe.replicas, first_disagreement(m)) == (replicas, None)


@each_row("text", ["lambda i: (i ^ 4)", "lambda i: ((i ^ 3)//2, i%2)"])
def test_a_box_of_bits_has_no_document(text: str) -> None:
    assert ml.parse(text).by_document((1,), (8,)) is None
    assert ml.verify(text, (8,)).holds


def test_a_large_array_is_asked_between_its_corners() -> None:
    m = ml.index_map("f32[300,300]{1,0:T(8,128)}")
    inside = sympy.floor((d0 + 298) / 299) - sympy.floor(d0 / 299)  # 1 in rows 1 to 298
    found = first_disagreement(off_by(m, inside))
    assert found is not None
    assert 0 < found[1][0] < 299


def test_padding_of_an_array_too_large_to_list_is_still_asked() -> None:
    m = ml.index_map("f32[17,100]{1,0:T(8,128)}")
    found = first_disagreement(padded_if(m, sympy.Ge(p, 10**6)))
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
    found = first_disagreement(off_by(m, wrong))
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
    assert first_disagreement(off_by(silent, d0 + 1 - silent.expr)) is None


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
