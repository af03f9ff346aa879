"""What divides all values of a form, against the greatest common divisor of the values."""

from __future__ import annotations

import random
from math import gcd

import numpy as np

from morello_layouts.core.expr import AffineExpr, canonicalize, variable
from morello_layouts.core.expr.boxes import divisor_of, greatest_number
from morello_layouts.core.expr.sizes import SizeExpr

SIDES = {"i": 24, "j": 30}


def random_form(r: random.Random) -> AffineExpr:
    """Digits of one variable, of a sum of both, and exclusive ors, with a common factor."""
    i, j = (variable(name, 0, n - 1) for name, n in SIDES.items())
    total = AffineExpr((), r.choice([0, 0, 6, 16]))
    for _ in range(r.randint(1, 4)):
        operand = r.choice([i, j, i, j, 4 * i + 6 * j, 8 * i + 16 * j + 8, (6 * i) ^ (12 * j)])
        part = operand // r.choice([1, 1, 2, 3, 4, 6, 23, 32])
        part = part if r.random() < 0.5 else part % r.choice([2, 3, 4, 6, 16])
        total = total + part * r.choice([1, 2, 4, 6, 10, 12, 15])
    return total * r.choice([1, 4, 6])


def test_no_claim_is_too_large_and_greatest_ones_are_exact() -> None:
    r = random.Random(5)
    rows, columns = np.indices(tuple(SIDES.values()))
    exact = 0
    for _ in range(1500):
        form = canonicalize(random_form(r))
        values = np.asarray(form.evaluate({"i": rows, "j": columns}))
        greatest = int(np.gcd.reduce(values, axis=None))
        found = divisor_of(form)
        exact += found.is_greatest
        if found.is_greatest:
            assert found.number == greatest, form
        else:
            assert gcd(greatest_number(found.number), greatest) == found.number, form
    assert exact > 400


def test_sizes_are_factors() -> None:
    n, m = SizeExpr.named("N"), SizeExpr.named("M")
    i, j = variable("i", 0, m - 1), variable("j", 0, n - 1)
    assert str(divisor_of(12 * n * i + 8 * n).number) == "4*N"
    assert divisor_of(12 * n * i + 8 * j).number == 4
    assert divisor_of(8 * (i // n) + 12 * n * j).number == 4
    assert not divisor_of(8 * i).is_greatest  # M may be 1
