"""Fits on boxes: equal at every point, found when they exist, and no work without end."""

from __future__ import annotations

import operator
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

from morello_layouts.core.expr import OPERATIONS, AffineExpr, cheapest, digit, variable
from morello_layouts.core.expr.boxes import Fits, affine_on, two_slopes
from morello_layouts.core.expr.cheapest import expand_digits
from tests.support.expr_judges import agree
from tests.support.fuzz_simplify import questions


def fits() -> Fits:
    return Fits(OPERATIONS.cost, 0)


def random_form(rng: Random) -> AffineExpr:
    """Return a sum of digits, nested up to twice, over one to three small variables."""
    names = ["i", "j", "k"][: rng.choice([1, 1, 2, 3])]
    lows = [rng.choice([0, 0, rng.randint(-9, 9)]) for _ in names]
    xs = [
        variable(n, lo, lo + rng.choice([1, 1, 2, 3, 6])) for n, lo in zip(names, lows, strict=True)
    ]

    def linear() -> AffineExpr:
        return sum((x * rng.randint(-17, 17) for x in xs), AffineExpr((), rng.randint(-9, 17)))

    def nested() -> AffineExpr:
        inner = digit(linear(), rng.randint(1, 16), rng.choice([None, rng.randint(2, 9)]))
        rest = linear() * rng.randint(0, 1)
        return digit(inner * rng.randint(1, 9) + rest, rng.randint(1, 9), rng.choice([None, 3, 8]))

    return sum(((linear() % 16 if rng.random() < 0.5 else nested()) * c for c in (1, -3)), linear())


def check_fits(seed: int, count: int) -> int:
    """Compare each fit with the form at every point; return how many forms became cheaper."""
    cheaper = 0
    for k in range(count):
        form = random_form(Random(f"{seed}/{k}"))
        found = fits().form(form)
        assert agree(form, found), f"{form} is not {found}"
        cheaper += OPERATIONS.cost(found) < OPERATIONS.cost(form)
    return cheaper


def test_fits_of_random_forms_are_equal() -> None:
    assert check_fits(1, 150) > 40


@pytest.mark.slow
def test_fits_of_many_random_forms_are_equal() -> None:
    check_fits(2, 5_000)


def test_every_affine_function_of_a_box_is_found() -> None:
    rng = Random(3)
    for _ in range(200):
        names = "ijk"[: rng.randint(1, 3)]
        box = {}
        for name in names:
            lo = rng.randint(-5, 5)
            ((v, _),) = variable(name, lo, lo + rng.randint(0, 5)).terms
            box[v] = range(lo, int(v.interval.hi) + 1)
        factors = {v: rng.randint(-9, 9) for v in box}

        def value(at: Any, factors: Any = factors) -> Any:
            points = zip(*at.values(), strict=True)
            return [4 + sum(map(operator.mul, factors.values(), point)) for point in points]

        (found,) = affine_on(box, value)
        first = {v: values[:1] for v, values in box.items()}
        kept = {v: c for v, c in factors.items() if len(box[v]) > 1}
        assert dict(found.terms) == {v: c for v, c in kept.items() if c}
        assert [found.evaluate({v.name: x[0] for v, x in first.items()})] == value(first)


def test_one_value_off_is_not_affine() -> None:
    i, j = (variable(name, 0, 3).terms[0][0] for name in "ij")
    box = {i: range(4), j: range(4)}
    for a in range(4):
        for b in range(4):

            def value(at: Any, a: int = a, b: int = b) -> Any:
                return [x + (x == a and y == b) for x, y in zip(at[i], at[j], strict=True)]

            assert not list(affine_on(box, value)), (a, b)


def test_every_floor_beside_a_multiple_is_found() -> None:
    for lo in (-3, 0, 2):
        v = variable("v", lo, lo + 9)
        for s in range(2, 10):
            for q in range(s):
                for a, e in ((0, 1), (3, -2), (-1, 4)):
                    form = v * a + (v + q) // s * e + 5
                    box = fits().box(form)
                    assert box is not None
                    values = np.arange(lo, lo + 10)
                    found = list(two_slopes(box, partial(at_value, form)))
                    assert found, form
                    for one in found:
                        same = one.evaluate({"v": values}) == form.evaluate({"v": values})
                        assert np.all(same), (form, one)


def at_value(form: AffineExpr, at: Any) -> Any:
    return form.evaluate({v.name: np.array(x) for v, x in at.items()}).tolist()


def test_uneven_jumps_are_no_floor() -> None:
    v = variable("v", 0, 9)
    box = fits().box(v // 2)
    assert box is not None
    for jumps in ({1, 3, 6}, {4, 6}, {5, 7}, {2, 3}):
        steps = [sum(k <= x for k in jumps) for x in range(10)]

        def value(at: Any, steps: list[int] = steps) -> Any:
            return [steps[x] for x in next(iter(at.values()))]

        assert not list(two_slopes(box, value)), jumps


def test_boxes_of_many_points_and_names_are_left_alone() -> None:
    i, j = variable("i", 0, 99), variable("j", 0, 99)
    for form in ((7 * i + j) % 8 + (i + j) // 3, variable("p", 0) // 3 + variable("p", 0) % 2):
        assert fits().form(form) is form


@pytest.mark.parametrize("nearest", [False, True])
@pytest.mark.parametrize("mods", [False, True])
def test_expanded_digits_are_equal(nearest: bool, mods: bool) -> None:
    for question in questions(8, 60):
        form = question.form()
        expanded = expand_digits(form, nearest=nearest, mods=mods)
        values = question.values()
        assert np.all(form.evaluate(values) == expanded.evaluate(values)), str(question)


def test_issue_examples() -> None:
    i, j = variable("i", 0, 1), variable("j", 0, 2)
    for form, cost in (
        (4 * ((13 * i + 8) // 16), 1),
        ((11 * j + 12) % 16, 2),
        ((7 * j + 1) // 4 - (5 * j + 4) // 12, 4),
        ((7 * variable("x", 0, 99)) % 8, 2),
        ((3 * variable("x", 0, 99)) // 4, 3),
        (variable("x", 0, 99) % 8 - 4 * digit(variable("x", 0, 99), 4, 2), 2),
    ):
        found = cheapest(form)
        assert agree(form, found)
        assert OPERATIONS.cost(found) <= cost, f"{form} became {found}"
