"""The ways to write the digits of one operand.

The digits ``(x // s) mod n = x // s - n·(x // (s·n))`` of an operand x are a vector of factors over
the **levels** x // s. A level can stand as a floor, or two levels together as a digit: the ways to
write a vector correspond to the trees over the levels and a root, where a floor is an edge to the
root and a digit an edge between two levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import gcd
from typing import NamedTuple

from morello_layouts.expr.cost import CostModel
from morello_layouts.expr.form import Digit, Linear, Var, digit
from morello_layouts.expr.interval import Interval
from morello_layouts.expr.size import Number, Size

__all__ = ["Term", "collapse", "writings"]

_DEEP_LEVELS = 4  # up to so many levels two digits are tried in place of floors, beyond it one


class Term(NamedTuple):
    """``factor · (x // divisor) mod modulus`` of one operand x.

    With a window, ``factor · ((scale · ((x // divisor) mod modulus) + shift) mod window)``.
    """

    factor: Number
    divisor: Number
    modulus: Number | None = None
    scale: int = 1
    shift: int = 0
    window: int | None = None

    @property
    def is_operand(self) -> bool:
        """Whether the term is the operand itself, up to its factor."""
        return self.divisor == 1 and self.modulus is None and self.window is None

    def place(self) -> tuple[Number, Number]:
        """What orders the terms of one operand."""
        return self.divisor, self.modulus or 0

    def cost(self, model: CostModel) -> int:
        """What it adds to a sum, without its factor and its operand."""
        total = model.add + model.digit(self.divisor, self.modulus)
        if self.window is not None:
            total += model.times(self.scale) + model.digit(1, self.window)
            total += model.add if self.shift else 0
        return total

    def atom(self, x: Linear) -> Var | Digit:
        """What the factor multiplies, of an operand x."""
        value = x
        if self.divisor != 1 or self.modulus is not None:
            value = digit(x, self.divisor, self.modulus)
        if self.window is not None:
            value = digit(value * self.scale + self.shift, 1, self.window)
        atom = value.as_atom()
        assert atom is not None
        return atom


def writings(levels: dict[Number, Number]) -> Iterator[list[Term]]:
    """Ways to write Σ c·(x // s) with up to two digits in place of floors."""
    order = sorted(levels)
    pairs = [(s, t) for s in order for t in order if s < t and t % s == 0]
    depth = 2 if len(order) <= _DEEP_LEVELS else 1

    def write(
        factors: dict[Number, Number], digits: tuple[Term, ...], depth: int
    ) -> Iterator[list[Term]]:
        yield [*digits, *(Term(c, s) for s, c in factors.items() if c)]
        if depth == 0:
            return
        for s, t in pairs:
            n = t // s
            low, high = factors[s], factors[t]
            if low:
                left = {**factors, s: 0, t: high + low * n}
                yield from write(left, (*digits, Term(low, s, n)), depth - 1)
            if high and high % n == 0:
                left = {**factors, s: low + high // n, t: 0}
                yield from write(left, (*digits, Term(-high // n, s, n)), depth - 1)

    yield from write({s: levels[s] for s in order}, (), depth)


def collapse(x: Linear, terms: Sequence[Term]) -> tuple[list[Term], int] | None:
    """Write c·(a·w - m·(w // k)) as c·((a·w - lo) mod m) + c·lo, for a digit w.

    Where the values of a·w - m·(w // k) lie in a window lo..lo + m - 1. Gives the terms, and the
    constant to add to them; None where nothing collapses.
    """
    result, const = list(terms), 0
    if len(result) < 2:
        return None
    for low, high in permutations(terms, 2):
        k = _ratio(low, high)
        if k is None or low not in result or high not in result:
            continue
        found = _collapsed(x, low, high, k)
        if found is not None:
            result = [t for t in result if t not in (low, high)] + [found]
            assert isinstance(found.factor, int)
            const -= found.factor * found.shift
    return (result, const) if len(result) < len(terms) else None


def _ratio(low: Term, high: Term) -> int | None:
    """The k for which the digit of ``high`` is that of ``low``, divided by k."""
    if not isinstance(low.divisor, int) or not isinstance(high.divisor, int):
        return None
    k, inexact = divmod(high.divisor, low.divisor)
    if inexact or k < 2:
        return None
    return k if (low.modulus or 0) == (high.modulus or 0) * k else None


def _collapsed(x: Linear, low: Term, high: Term, k: int) -> Term | None:
    f, g = low.factor, high.factor
    if isinstance(f, Size) or isinstance(g, Size):
        return None
    c = gcd(f, g) * (1 if g < 0 else -1)
    a, m = f // c, -g // c
    least = _window(_values(x, low), a, m, k)
    return None if least is None else Term(c, low.divisor, low.modulus, a, -least, m)


def _values(x: Linear, term: Term) -> Interval:
    if term.modulus is not None:
        return Interval(0, term.modulus - 1)
    return x.interval.floordiv(term.divisor)


def _window(values: Interval, a: int, m: int, k: int) -> int | None:
    """The least value of a·w - m·(w // k), if the values span fewer than m numbers."""
    lo, hi = values
    if not isinstance(lo, int) or not isinstance(hi, int):
        return None
    first, last = lo // k, hi // k
    # Within a block of k the value is linear in w, and so are the blocks' ends in w // k.
    ends = {lo, hi}
    if first < last:
        ends |= {(first + 1) * k, last * k, first * k + k - 1, last * k - 1}
    found = [a * w - m * (w // k) for w in ends]
    return min(found) if max(found) - min(found) < m else None
