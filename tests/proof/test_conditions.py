"""Constraints on sizes: as text, as SymPy's relations, and by their values."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
import sympy

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.affine import digit
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, exact_quotient
from morello_layouts.proof.ask import isl_budget
from morello_layouts.proof.conditions import Fact, _quotient, factors
from morello_layouts.proof.isl import Parameters, Space

M, N = (SizeExpr.named(name) for name in "MN")
SYMBOLS = {name: sympy.Symbol(name, integer=True, positive=True) for name in "MN"}


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (N - 4, "nonnegative", "N >= 4"),
        (2 * N - 5, "nonnegative", "N >= 3"),
        (9 - 2 * N, "nonnegative", "N <= 4"),
        (N - 4, "zero", "N = 4"),
        (6 - 3 * N, "zero", "N = 2"),
        (2 * N - 5, "zero", "2*N = 5"),
        (M - N, "zero", "M = N"),
        (M * N - 7, "nonnegative", "M*N >= 7"),
        (N + 1, "divisible", "3 | (N + 1)"),
        (M * N, "divisible", "3 | M*N"),
    ],
)
def test_facts(number: Int, kind: Literal["nonnegative", "zero", "divisible"], text: str) -> None:
    fact = Fact(AffineExpr((), number), kind, 3)
    assert str(fact) == text
    relation = fact.sympy(SYMBOLS)
    for m in range(1, 8):
        for n in range(1, 8):
            value = number if isinstance(number, int) else number.evaluate({"M": m, "N": n})
            truth = {"nonnegative": value >= 0, "zero": value == 0, "divisible": value % 3 == 0}
            found = relation.subs({SYMBOLS["M"]: m, SYMBOLS["N"]: n})
            assert bool(found) is truth[kind], (text, m, n)


def test_a_quotient_that_is_exact_is_multiplied_out_but_in_a_divisor_of_it() -> None:
    half = exact_quotient(N, 2)
    assert str(Fact(AffineExpr((), M * half - 3), "zero").whole) == "M*N = 6"
    divided = Fact(AffineExpr((), half + 1), "divisible", 2)
    assert divided.whole is divided


def test_facts_about_numbers_are_known() -> None:
    for number in range(-4, 5):
        truth = {"nonnegative": number >= 0, "zero": number == 0, "divisible": number % 3 == 0}
        for kind, holds in truth.items():
            assert Fact(AffineExpr((), number), kind, 3).is_true is holds


def test_a_fact_at_one_size() -> None:
    fact = Fact(AffineExpr((), M * N - 6), "zero")
    assert str(fact.at("N", 2)) == "M = 3"
    assert Fact(AffineExpr((), N - 2), "zero").at("N", 2).is_true
    floors = replace(fact, form=fact.form + digit(AffineExpr((), M), 2, None))
    assert floors.at("N", 2) is floors


def test_a_polynomial_in_rounded_sizes_stays_whole() -> None:
    number = (M - 1) * (ceil_quotient(N, 2) - 1)
    assert factors(number) == [number]


def test_a_quotient_of_a_quotient_is_no_fact() -> None:
    """The fraction before the inner one ended in a traceback."""
    with isl_budget() as context:
        space = Space.of((), context, Parameters.of([M]))
        inner = space.number(M).scale_down_val(space.val(5)).floor()
        outer = space.number(M).sub(inner).scale_down_val(space.val(3))
        assert _quotient(outer, space.parameters) is None
        whole = space.number(M).scale_down_val(space.val(3))
        assert str(_quotient(whole, space.parameters)) == "M//3"
