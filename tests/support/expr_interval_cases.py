"""Checks of intervals by the values in them; what has no end is checked by what it must say."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

from morello_layouts.core.expr import Interval
from morello_layouts.core.expr.sizes import SizeExpr, ceil_quotient, evaluated

SMALL = [Interval(lo, hi) for lo in range(-6, 7) for hi in range(lo, 9)]
OPEN = [Interval(None, 3), Interval(-2, None), Interval(None, None)]
M, N = SizeExpr.named("M"), SizeExpr.named("N")


def hull(values: Any) -> Any:
    found = list(values)
    return (min(found), max(found))


def members(x: Any) -> Any:
    return range(x.lo, x.hi + 1)


def check_sums() -> None:
    some = SMALL[::7]
    for a, b in product(some, some):
        assert a + b == hull(x + y for x in members(a) for y in members(b))
    for a in OPEN:
        lo = None if a.lo is None else a.lo + 1
        hi = None if a.hi is None else a.hi + 2
        assert a + Interval(1, 2) == Interval(1, 2) + a == (lo, hi)
    assert Interval(0, N - 1) + Interval(N, N) == (N, 2 * N - 1)


def check_multiples() -> None:
    for a, c in product(SMALL, range(-3, 4)):
        assert a.scale(c) == hull(c * x for x in members(a))
    assert Interval(None, 3).scale(2) == (None, 6)
    assert Interval(None, 3).scale(-2) == (-6, None)
    assert Interval(-2, None).scale(-1) == (None, 2)
    assert [a.scale(0) for a in OPEN] == [(0, 0)] * 3
    assert Interval(-1, 3).scale(N) == (-N, 3 * N)
    assert Interval(-1, 3).scale(-N) == (-3 * N, N)
    assert Interval(0, 3).scale(N - 2) == (None, None)


def check_floors() -> None:
    for a, n in product(SMALL, range(1, 6)):
        assert a.floordiv(n) == hull(x // n for x in members(a))
    assert [a.floordiv(2) for a in OPEN] == [(None, 1), (-1, None), (None, None)]
    assert Interval(0, N - 1).floordiv(N) == (0, 0)
    assert Interval(0, N).floordiv(N) == (0, 1)
    assert Interval(-N, -1).floordiv(N) == (-1, -1)
    assert Interval(-N - 1, 8 * N - 1).floordiv(N) == (-2, 7)
    assert Interval(-3, -1).floordiv(N) == (None, -1)  # -3 // N is -3 at N = 1
    assert Interval(N - 1, N + 1).floordiv(N) == (0, ceil_quotient(2, N))  # 2 at N = 1
    assert Interval(0, N - 1).floordiv(4) == (0, ceil_quotient(N, 4) - 1)
    assert Interval(0, 8 * N).floordiv(4) == (0, 2 * N)
    assert Interval(0, N - 2).floordiv(4) == (0, None)  # N - 2 may be negative
    assert Interval(0, M * N - 1).floordiv(2 * N) == (0, ceil_quotient(M, 2) - 1)
    assert Interval(0, M * N - 1).floordiv(8 * N) == (0, ceil_quotient(M, 8) - 1)
    for top, divisor in product((M, N + 1, M + N, M * N - 1, M * N), (2, N, 2 * N, 2 * N + 2)):
        hi: Any = Interval(0, top).floordiv(divisor).hi
        for m, n in product(range(1, 8), repeat=2):
            at = {"M": m, "N": n}
            assert evaluated(hi, at) == evaluated(top, at) // evaluated(divisor, at), (top, divisor)


def check_remainders() -> None:
    for a, n in product(SMALL, range(1, 6)):
        assert a.mod(n) == hull(x % n for x in members(a))
    assert [a.mod(4) for a in OPEN] == [(0, 3)] * 3
    assert Interval(N, 2 * N - 1).mod(N) == (0, N - 1)
    assert Interval(N, 2 * N - 2).mod(2 * N) == (N, 2 * N - 2)
    assert Interval(1, N).mod(N) == (0, N - 1)


def check_blocks() -> None:
    for a, n in product(SMALL, range(1, 6)):
        inside = {x // n for x in members(a)}
        assert a.constant_quotient(n) == (inside.pop() if len(inside) == 1 else None)
    assert [a.constant_quotient(4) for a in OPEN] == [None] * 3
    for lo, hi in ((0, N - 1), (N, 2 * N - 1), (-N, -1), (0, N), (-1, N - 1), (N - 1, N)):
        q = Interval(lo, hi).constant_quotient(N)
        expected = {(0, N - 1): 0, (N, 2 * N - 1): 1, (-N, -1): -1}.get((lo, hi))
        assert q == expected
    assert Interval(0, N - 1).constant_quotient(4) is None
    assert Interval(0, 3).constant_quotient(N) is None
    assert Interval(0, 3).constant_quotient(4 * N) == 0


def check_within() -> None:
    for a, lo, hi in product(SMALL[::5], range(-3, 2), range(5)):
        assert a.within(lo, hi) == all(lo <= x <= hi for x in members(a))
    assert not any(a.within(-99, 99) for a in OPEN)
    assert not Interval(0, N).within(0, 9)


def check_printing() -> None:
    assert [str(a) for a in OPEN] == ["-∞..3", "-2..∞", "-∞..∞"]
    assert str(Interval(0, N - 1)) == "0..N - 1"


CHECKS = (
    check_sums,
    check_multiples,
    check_floors,
    check_remainders,
    check_blocks,
    check_within,
    check_printing,
)


def check_xors(range_of_xor: Any) -> None:
    """Exclusive ors: a table of bounds, and every value of small parts."""
    table: list[tuple[list[tuple[Any, Any]], tuple[Any, Any]]] = [
        ([(0, 0), (0, 0)], (0, 0)),
        ([(0, 4), (0, 1)], (0, 5)),
        ([(0, 4), (0, 4)], (0, 7)),
        ([(0, 8), (0, 8), (0, 1)], (0, 15)),
        ([(3, 3), (3, 3)], (0, 3)),
        ([(16, 19), (0, 7)], (9, 26)),
        ([(4, 5), (0, 3)], (1, 7)),
        ([(-1, 0), (0, 0)], (-1, 0)),
        ([(-5, 3), (0, 3)], (-8, 7)),
        ([(0, 8), (-1, 3)], (-16, 15)),
        ([(0, N - 1), (0, 7)], (0, N + 6)),
        ([(1, 7), (2, N)], (0, N + 7)),
        ([(N, 2 * N), (0, 7)], (0, 2 * N + 7)),
        ([(0, None), (0, N)], (0, None)),
        ([(0, N), (0, None)], (0, None)),
        ([(0, None), (0, 3)], (0, None)),
        ([(None, 3), (0, 7)], (None, None)),
        ([(-1, N), (0, 7)], (None, None)),
        ([(0, N), (-1, 7)], (None, None)),
    ]
    for ends, wanted in table:
        assert range_of_xor([Interval(*one) for one in ends]) == wanted
    for a, b in product(SMALL[::3], SMALL[::2]):
        lo, hi = range_of_xor([a, b])
        values = {x ^ y for x in members(a) for y in members(b)}
        assert lo <= min(values)
        assert max(values) <= hi


def check_levels(range_of_floors: Any) -> None:
    """Sums of floors of one number, over chains of divisors: the exact range."""
    rng = Random(4)
    for _ in range(600):
        chain = [1, 2, 4, 20, 40][rng.randint(0, 3) :]
        levels = {s: rng.randint(-30, 30) for s in rng.sample(chain, rng.randint(1, len(chain)))}
        if rng.randint(0, 1):  # small factors of digits: their ends differ by little
            weights = [rng.randint(-3, 3) for _ in chain]
            steps = [0, *(w * t // s for w, s, t in zip(weights, chain, chain[1:], strict=False))]
            levels = {s: w - step for s, w, step in zip(chain, weights, steps, strict=True)}
        lo = rng.randint(-40, 20)
        values = range(lo, lo + rng.choice([1, 2, 3, 5, 11, 30, 70]))
        found = range_of_floors(levels, Interval(values[0], values[-1]))
        assert found == hull(sum(c * (x // s) for s, c in levels.items()) for x in values)
    # The difference of two digits, and one of digits of which some raise the sum and some lower it.
    for levels in ({1: 1, 2: -3, 4: 2}, {1: -3, 2: 7, 4: -3, 20: 4}):
        for lo, hi in product(range(-9, 9), range(-9, 33)):
            if lo <= hi:
                found = range_of_floors(levels, Interval(lo, hi))
                values = range(lo, hi + 1)
                assert found == hull(sum(c * (x // s) for s, c in levels.items()) for x in values)
    one = {1: 1, 2: -2}
    assert range_of_floors(one, Interval(0, 0)) == (0, 0)
    assert [range_of_floors(one, a) for a in OPEN] == [None] * 3
    assert range_of_floors(one, Interval(3, 2)) is None
    assert range_of_floors({2: 1, 3: 1}, Interval(0, 9)) is None
    for symbolic in ({N: 1, 1: 1}, {1: N, 2: 1}):
        assert range_of_floors(symbolic, Interval(0, 9)) is None
    for ends in (Interval(0, N), Interval(-N, 0)):
        assert range_of_floors(one, ends) is None


def check_hull(hull: Callable[..., Interval]) -> None:
    """Assert that a hull holds its intervals, and no more where the ends can be compared."""
    n = SizeExpr.named("N")
    cases: list[Any] = [
        ([(4, 7)], (4, 7)),
        ([(0, 3), (-2, 9)], (-2, 9)),
        ([(-2, 9), (0, 3)], (-2, 9)),
        ([(1, 2), (4, 8), (0, 1)], (0, 8)),
        ([(None, 3), (0, None)], (None, None)),
        ([(0, None), (None, 3)], (None, None)),
        ([(0, None), (1, 2)], (0, None)),
        ([(1, 2), (0, None)], (0, None)),
        ([(1, 2), (None, 5)], (None, 5)),
        ([(0, n), (0, 2 * n)], (0, 2 * n)),
        ([(0, 2 * n), (0, n)], (0, 2 * n)),
        ([(n, 9), (2 * n, 9)], (n, 9)),
        ([(2 * n, 9), (n, 9)], (n, 9)),
        ([(n, n), (5, 5)], (0, None)),
        ([(5, 5), (n, n)], (0, None)),
        ([(n, n), (5 - n, 5)], (None, None)),
        ([(5 - n, 5), (n, n)], (None, None)),
        ([(3 - n, 0), (2 * n - 7, 0)], (None, 0)),
    ]
    for some, expected in cases:
        assert hull([Interval(*ends) for ends in some]) == Interval(*expected), some
