"""The exact range of a sum of digits of one operand.

Such a sum is Σ c·(x // s) over a chain of divisors. In the mixed-radix digits of x along the chain
it is linear, with one weight for each digit, so its extremes over lo..hi are found digit by digit
from the top: follow the digits of an end, or leave it and take the best of what is then free.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from morello_layouts.expr.interval import Interval
from morello_layouts.expr.size import Number

__all__ = ["range_of_levels"]


def range_of_levels(levels: Mapping[Number, Number], values: Interval) -> Interval | None:
    """The smallest and largest Σ c·(x // s), for levels s to c, over all x of an interval.

    None where the divisors are no chain, or something is symbolic or unbounded.

    >>> range_of_levels({8: 1 - 8, 1: 1}, Interval(0, 9))  # x // 8 + x mod 8
    Interval(lo=0, hi=7)
    """
    lo, hi = values
    chain = [s for s in levels if isinstance(s, int)]
    factors = [c for c in levels.values() if isinstance(c, int)]
    if not isinstance(lo, int) or not isinstance(hi, int) or lo > hi:
        return None
    if len(chain) < len(levels) or len(factors) < len(levels):
        return None
    chain = sorted({1, *chain})
    radices = [t // s for s, t in pairwise(chain)]
    if any(t % s for s, t in pairwise(chain)):
        return None
    weights, weight = [], 0
    for s, radix in zip(chain, [1, *radices], strict=True):
        factor = levels.get(s, 0)
        assert isinstance(factor, int)
        weight = weight * radix + factor
        weights.append(weight)
    ends = (_digits(lo, radices), _digits(hi, radices))
    least = -_largest([-w for w in weights], radices, *ends)
    return Interval(least, _largest(weights, radices, *ends))


def _digits(x: int, radices: list[int]) -> list[int]:
    """Mixed-radix digits, lowest first; the last takes all that is left."""
    digits = []
    for radix in radices:
        digits.append(x % radix)
        x //= radix
    return [*digits, x]


def _largest(weights: list[int], radices: list[int], lo: list[int], hi: list[int]) -> int:
    """The largest Σ weight·digit over the numbers between two, given by their digits."""
    free = [0]  # free[k]: the best of the lowest k digits when nothing binds them
    for weight, radix in zip(weights, radices, strict=False):
        free.append(free[-1] + max(0, weight * (radix - 1)))

    def best(k: int, at_lo: bool, at_hi: bool) -> int:
        if k < 0:
            return 0
        if not at_lo and not at_hi:
            return free[k + 1]
        weight = weights[k]
        first = lo[k] if at_lo else 0
        last = hi[k] if at_hi else radices[k] - 1
        found = []
        for digit in {first, last}:
            low, high = at_lo and digit == lo[k], at_hi and digit == hi[k]
            found.append(weight * digit + best(k - 1, low, high))
        inner = (first + at_lo, last - at_hi)  # digits that leave the ends
        if inner[0] <= inner[1]:
            found.append(max(weight * inner[0], weight * inner[1]) + free[k])
        return max(found)

    return best(len(radices), True, True)
