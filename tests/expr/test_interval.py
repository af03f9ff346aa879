"""Intervals: the exact hulls of sums, multiples, floors and remainders; ends that are absent."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from morello_layouts.core.expr import Interval, digit, variable
from morello_layouts.core.expr.bounds import range_of_floors, range_of_xor
from morello_layouts.core.expr.sizes import SizeExpr
from tests.support.expr_interval_cases import CHECKS, check_levels, check_xors

N = SizeExpr.named("N")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_interval(check: Any) -> None:
    check()


def test_symbolic_ends() -> None:
    i = variable("i", 0, N - 1)
    assert (i * 4 + 3).interval == (3, 4 * N - 1)
    assert digit(i * 4 + 3, 4 * N, None).interval == (0, 0)
    assert digit(i + N, 1, N).interval == (0, N - 1)
    assert digit(i + N, N, None).interval == (1, 1)
    assert digit(i + 1, N, None).interval != (0, 0)
    assert (i * (N - 2)).interval == (None, None)  # N - 2 has no sign that is known


def test_digits_of_one_variable_are_bounded_each_by_itself() -> None:
    lows = product(range(-6, 7), range(9), range(1, 5), range(1, 5))
    for lo, width, s, n in lows:
        values = [x // s % n for x in range(lo, lo + width + 1)]
        found = digit(variable("x", lo, lo + width), s, n).interval
        assert found == Interval(min(values), max(values))


def test_exclusive_ors_are_bounded_by_bits_and_sums() -> None:
    check_xors(range_of_xor)


def test_sums_of_digits_of_one_number_are_bounded_exactly() -> None:
    check_levels(range_of_floors)
    x = variable("x", 0, 63)
    assert (digit(x, 8, None) - digit(x, 1, 8)).interval == (-7, 7)
    assert (x - 8 * digit(x, 8, None)).interval == (0, 7)
    assert (3 * digit(x, 4, 4) - digit(x, 4, None)).interval == (-12, 6)
    y = digit(x * 5 + 3, 2, None)
    assert (digit(y, 1, 4) + 4 * digit(y, 4, None)).interval == y.interval
