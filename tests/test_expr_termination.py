"""Each rule lowers the measure that the engine's docstring names, so simplifying ends."""

from __future__ import annotations

import random
from math import log

import pytest

from morello_layouts.expr import Digit, Linear, Var, digit, rewrite, trace, variable


def occurrences(form: Linear) -> int:
    """Variables in a form, each time they stand in it."""
    return sum(1 if isinstance(a, Var) else occurrences(a.of) for a, _ in form.terms)


def digits(form: Linear) -> list[Digit]:
    return [a for a in form.atoms() if isinstance(a, Digit)]


def weight(form: Linear) -> int:
    outside = sum(isinstance(a, Var) for a, _ in form.terms)
    under = [max(3 * occurrences(d.of) - 1, 0) + (d.modulus is not None) for d in digits(form)]
    return 2 * outside + sum(under)


def periods(form: Linear) -> int:
    """How many periods the constant under each digit is away from 0..period - 1."""
    return sum(abs(d.of.const // (d.divisor * (d.modulus or 1))) for d in digits(form))


def factors(form: Linear) -> int:
    """The sizes of the factors under digits."""
    return sum(abs(c) for d in digits(form) for _, c in d.of.terms)


def measure(form: Linear) -> tuple[int, int, float, int, int]:
    logarithms = sum(log(d.divisor * (d.modulus or 1)) for d in digits(form))
    return weight(form), len(digits(form)), round(logarithms, 9), periods(form), factors(form)


def random_form(rng: random.Random) -> Linear:
    names = [variable(n, lo, lo + rng.randint(0, 70)) for n in "ijk" for lo in [rng.randint(-9, 9)]]
    pool = list(names)
    for _ in range(rng.randint(1, 6)):
        parts = rng.sample(pool, min(len(pool), rng.randint(1, 3)))
        total = Linear((), rng.randint(-20, 20) * rng.randint(0, 1))
        for part in parts:
            total = total + rng.choice([-3, -1, 1, 2, 4, 6, 8, 12, 16, 32]) * part
        modulus = rng.choice([None, 2, 3, 4, 8, 12, 16])
        pool.append(digit(total, rng.choice([1, 2, 3, 4, 8, 16, 24]), modulus))
    total = Linear((), 0)
    for part in rng.sample(pool, min(len(pool), 4)):
        total = total + rng.choice([-8, -1, 1, 2, 3, 8, 16]) * part
    return total


@pytest.mark.parametrize("seed", range(20))
def test_every_step_lowers_the_measure(seed: int) -> None:
    rng = random.Random(seed)
    fired = 0
    for _ in range(40):
        _, steps = trace(random_form(rng))
        for step in steps:
            assert measure(step.after) < measure(step.before), step
        fired += len(steps)
    assert fired > 100


@pytest.mark.parametrize("seed", range(5))
def test_a_simplified_form_is_left_alone(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        simple = rewrite(random_form(rng))
        assert rewrite(simple) == simple
