"""Work against size, in steps: no worse than about the square, and bounded for 500 terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count, pairwise
from typing import TypeAlias

import pytest
from simplify_growth import floors_that_do_not_divide, nests_of_mods, tilings_that_do_not_join

from morello_layouts.core.expr import OPERATIONS, AffineExpr, cheapest, digit, readable, variable
from tests.support.steps import steps

TARGETS = {"readable": readable, "cheapest": cheapest}
SIZES = (8, 16, 32, 64)
SLACK = 3
"""How many times the square may be exceeded: small forms have a share that does not grow."""

Family: TypeAlias = "Callable[[int], AffineExpr]"

numbers = count()


def total(forms: Iterable[AffineExpr]) -> AffineExpr:
    return sum(forms, AffineExpr((), 0))


def fresh(lo: int, hi: int) -> AffineExpr:
    return variable(f"v{next(numbers)}", lo, hi)


def nested_tilings(k: int) -> AffineExpr:
    """Return a padded tiling of a tiling of a tiling …: blocks of 4 in the room of 8."""
    form = fresh(0, 10**6)
    for _ in range(k):
        form = (form // 4) * 8 + form % 4
    return form


def nested_floors(k: int) -> AffineExpr:
    form = fresh(0, 10**6)
    for _ in range(k):
        form = (form + fresh(0, 9)) // 3
    return form


def digits_of_one_variable(k: int) -> AffineExpr:
    """Return the bits of a number, in reverse order."""
    x = fresh(0, 2**k - 1)
    return total(digit(x, 2**n, 2) * 2 ** (k - 1 - n) for n in range(k))


def digits_of_one_offset(k: int) -> AffineExpr:
    """Return all coordinates of an offset, put together again."""
    offset = total(fresh(0, 3) * 4**n for n in range(k))
    return total(digit(offset, 4**n, 4) * 4**n for n in range(k))


def digits_of_many_variables(k: int) -> AffineExpr:
    variables = [fresh(0, 63) for _ in range(k)]
    return total((x // 8) * (24 + n) + x % 8 for n, x in enumerate(variables))


def digits_of_many_sums(k: int) -> AffineExpr:
    variables = [fresh(0, 63) for _ in range(k + 1)]
    pairs = pairwise(variables)
    return total(((x + y) // 8) * 24 + (x + y) % 8 for x, y in pairs)


def one_sum(k: int) -> AffineExpr:
    offset = total(fresh(0, 3) * (n % 7 + 1) for n in range(k))
    return offset // 8 + offset % 8


FAMILIES = [
    nested_tilings,
    nested_floors,
    digits_of_one_variable,
    digits_of_one_offset,
    digits_of_many_variables,
    digits_of_many_sums,
    one_sum,
]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
each_target = pytest.mark.parametrize("target", TARGETS)


def work(target: str, form: AffineExpr) -> int:
    return steps(lambda: TARGETS[target](form))


@pytest.mark.slow
@each_target
@each_family
def test_work_grows_no_worse_than_the_square(family: Family, target: str) -> None:
    work(target, family(SIZES[0]))  # imports at the first use do not count
    least = work(target, family(SIZES[0]))
    for k in SIZES[1:]:
        assert work(target, family(k)) <= SLACK * (k / SIZES[0]) ** 2 * least, f"k = {k}"


@pytest.mark.slow
@each_target
@pytest.mark.parametrize(
    "family", [digits_of_many_variables, digits_of_many_sums, one_sum], ids=lambda f: f.__name__
)
def test_500_terms_are_bounded_work(family: Family, target: str) -> None:
    k = 500 if family is one_sum else 250  # two terms for each variable
    assert work(target, family(k)) <= {"readable": 400_000, "cheapest": 3_000_000}[target]


@each_target
def test_many_digit_boundaries_of_one_variable_do_not_multiply(target: str) -> None:
    x = variable("x", 0, 10**6)
    form = total(digit(x, 3 * 2**n, 2) * (5 * n + 3) for n in range(12))
    assert work(target, form) <= 15_000


@pytest.mark.slow
@pytest.mark.parametrize("k", [16, 32, 64])
@pytest.mark.parametrize(
    "family", [floors_that_do_not_divide, nests_of_mods, tilings_that_do_not_join]
)
def test_the_search_ends_on_nests(family: Callable[[int, str], AffineExpr], k: int) -> None:
    form = family(k, f"n{next(numbers)}")
    simple = readable(form)[0]
    assert OPERATIONS.cost(cheapest(form)) <= OPERATIONS.cost(simple)
    assert work("cheapest", form) <= 3 * work("readable", form) + 900_000


def test_tilings_that_do_not_recombine_share_their_operands() -> None:
    form = fresh(0, 10**5)
    for n in range(12):
        form = (form // (2 + n % 3)) * (5 + n % 2) + form % (2 + n % 3)
    assert work("cheapest", form) <= 1_500_000  # as a tree, the work would double at each level
