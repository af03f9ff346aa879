"""Intervals, and the exact range of a sum of floors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, is_nonnegative


class Interval(NamedTuple):
    """The integers from ``lo`` to ``hi``, both included; None means no bound on that side.

    An interval with ``hi < lo`` is empty: a coordinate along a dimension of size 0.

    >>> print(Interval(0, 31).floordiv(8), Interval(8, 15).mod(8), Interval(6, 9).mod(8))
    0..3 0..7 0..7
    """

    lo: Int | None
    hi: Int | None

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]
        return Interval(
            None if self.lo is None or other.lo is None else self.lo + other.lo,
            None if self.hi is None or other.hi is None else self.hi + other.hi,
        )

    def scale(self, factor: Int) -> Interval:
        """Return the interval of ``factor · x``."""
        if factor == 0:
            return Interval(0, 0)
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        if is_nonnegative(factor):
            return Interval(lo, hi)
        return Interval(hi, lo) if is_nonnegative(-factor) else UNBOUNDED

    def floordiv(self, divisor: Int) -> Interval:
        """Return the interval of ``x // divisor``, divisor positive."""
        return Interval(_floor(self.lo, divisor), _floor(self.hi, divisor))

    def constant_quotient(self, size: Int) -> Int | None:
        """Return the quotient by ``size`` that all values share, or None."""
        lo, hi = self
        if type(lo) is int and type(hi) is int and type(size) is int:
            return lo // size if hi // size == lo // size else None
        q = _floor(lo, size)
        if q is None or hi is None:
            return None
        return q if is_nonnegative((q + 1) * size - 1 - hi) else None

    def mod(self, modulus: Int) -> Interval:
        """Return the tightest interval of ``x mod modulus``, modulus positive."""
        q = self.constant_quotient(modulus)
        if q is None:
            return Interval(0, modulus - 1)
        assert self.lo is not None
        assert self.hi is not None
        return Interval(self.lo - q * modulus, self.hi - q * modulus)

    def within(self, lo: Int, hi: Int) -> bool:
        """Return whether every value is proved to lie in lo..hi."""
        if self.lo is None or self.hi is None:
            return False
        return is_nonnegative(self.lo - lo) and is_nonnegative(hi - self.hi)

    def __str__(self) -> str:
        lo = "-∞" if self.lo is None else str(self.lo)
        hi = "∞" if self.hi is None else str(self.hi)
        return f"{lo}..{hi}"


UNBOUNDED = Interval(None, None)


def _floor(value: Int | None, divisor: Int) -> Int | None:
    """Return ``value // divisor``, or None if it is not known; of integers it always is."""
    if value is None:
        return None
    if type(value) is int and type(divisor) is int:
        return value // divisor
    quotient, rest = divmod(value, divisor)
    if is_nonnegative(rest) and is_nonnegative(divisor - 1 - rest):
        return quotient
    if is_nonnegative(-1 - rest) and is_nonnegative(divisor + rest):
        return quotient - 1
    if isinstance(divisor, SizeExpr) and len(divisor.terms) == 1:
        ((monomial, factor),) = divisor.terms
        if factor > 1:  # x // (8·N) is (x // N) // 8
            return _floor(_floor(value, SizeExpr(((monomial, 1),))), factor)
    if is_nonnegative(value):
        return ceil_quotient(value + 1, divisor) - 1
    return None


def hull(intervals: Sequence[Interval]) -> Interval:
    """Return an interval that holds all of these; an undecided end is absent."""
    lo, hi = intervals[0]
    for other in intervals[1:]:
        lo = _smaller(lo, other.lo)
        hi = None if hi is None or other.hi is None else _larger(hi, other.hi)
    return Interval(lo, hi)


def _smaller(a: Int | None, b: Int | None) -> Int | None:
    if a is None or b is None:
        return None
    if is_nonnegative(b - a):
        return a
    if is_nonnegative(a - b):
        return b
    return 0 if is_nonnegative(a) and is_nonnegative(b) else None


def _larger(a: Int, b: Int) -> Int | None:
    if is_nonnegative(a - b):
        return a
    return b if is_nonnegative(b - a) else None


def range_of_floors(floors: Mapping[Int, Int], values: Interval) -> Interval | None:
    """Return the range of Σ c·(x // s), for divisors s with factors c, over all x of an interval.

    Return None if a divisor does not divide the next one, or if something is symbolic or unbounded.

    >>> range_of_floors({8: 1 - 8, 1: 1}, Interval(0, 9))  # x // 8 + x mod 8
    Interval(lo=0, hi=7)
    """
    lo, hi = values
    chain = [s for s in floors if isinstance(s, int)]
    factors = [c for c in floors.values() if isinstance(c, int)]
    if not isinstance(lo, int) or not isinstance(hi, int) or lo > hi:
        return None
    if len(chain) < len(floors) or len(factors) < len(floors):
        return None
    chain = sorted({1, *chain})
    radices = [t // s for s, t in pairwise(chain)]
    if any(t % s for s, t in pairwise(chain)):
        return None
    weights, weight = [], 0
    for s, radix in zip(chain, [1, *radices], strict=True):
        factor = floors.get(s, 0)
        assert isinstance(factor, int)
        weight = weight * radix + factor
        weights.append(weight)
    ends = (_digits(lo, radices), _digits(hi, radices))
    least = -_largest([-w for w in weights], radices, *ends)
    return Interval(least, _largest(weights, radices, *ends))


def range_of_xor(parts: Sequence[Interval]) -> Interval:
    """Return an interval of ``x ^ y ^ …``: within the bits of the parts, and at most their sum.

    >>> print(range_of_xor([Interval(0, 4), Interval(0, 1)]), range_of_xor([Interval(0, 4)] * 2))
    0..5 0..7
    """
    numbers = [(x.lo, x.hi) for x in parts if isinstance(x.lo, int) and isinstance(x.hi, int)]
    if len(numbers) < len(parts):
        return _range_of_sizes(parts)
    bits = max(max(hi, ~lo).bit_length() for lo, hi in numbers)
    if min(lo for lo, _ in numbers) < 0:
        return Interval(-(1 << bits), (1 << bits) - 1)
    total = sum(hi for _, hi in numbers)
    # The bits of the others lower a part by their sum at most.
    lowest = max(lo - (total - hi) for lo, hi in numbers)
    return Interval(max(lowest, 0), min((1 << bits) - 1, total))


def _range_of_sizes(parts: Sequence[Interval]) -> Interval:
    if not all(x.lo is not None and is_nonnegative(x.lo) for x in parts):
        return UNBOUNDED
    total: Int | None = 0
    for _, hi in parts:
        total = None if total is None or hi is None else total + hi
    return Interval(0, total)


def _digits(x: int, radices: list[int]) -> list[int]:
    """Return mixed-radix digits, lowest first; the last one has no upper bound."""
    digits = []
    for radix in radices:
        digits.append(x % radix)
        x //= radix
    return [*digits, x]


def _largest(weights: list[int], radices: list[int], lo: list[int], hi: list[int]) -> int:
    """Return the largest Σ weight·digit over the numbers between two, given by their digits."""
    # The largest sums of the digits so far: of any value, from lo's up, up to hi's, between both.
    free = low = high = both = 0
    for weight, radix, first, last in zip(weights, [*radices, 0], lo, hi, strict=True):
        if first == last:
            both += weight * first
        else:
            both = max(weight * first + low, weight * last + high)
            if first + 1 < last:
                both = max(both, weight * (first + 1) + free, weight * (last - 1) + free)
        low += weight * first
        if first + 1 < radix:
            low = max(low, weight * (first + 1) + free, weight * (radix - 1) + free)
        high += weight * last
        if last > 0:
            high = max(high, free, weight * (last - 1) + free)
        free += max(0, weight * (radix - 1))
    return both
