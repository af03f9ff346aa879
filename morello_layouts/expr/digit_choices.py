"""The equivalent ways to write the digits of a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import gcd
from typing import NamedTuple

from morello_layouts.expr.affine import AffineExpr, Digit, Var, digit
from morello_layouts.expr.bounds import Interval
from morello_layouts.expr.cost import CostModel
from morello_layouts.expr.sizes import Int, SizeExpr, sign

_DEEP_LEVELS = 4  # up to so many levels all ways of two moves are tried
_WORSE = 2  # how much a move may cost and still pay off, by a later move or a shared factor
_KEPT = 16  # digit_choices kept of one operand
_ROUNDS = 16  # moves in a row beyond that many levels
_PAIRS = 256  # about so many pairs of levels are looked at


class Term(NamedTuple):
    """``factor · (x // divisor) mod modulus`` of one operand x.

    With a window, ``factor · ((scale · ((x // divisor) mod modulus) + shift) mod window)``.
    """

    factor: Int
    divisor: Int
    modulus: Int | None = None
    scale: int = 1
    shift: int = 0
    window: int | None = None

    @property
    def is_operand(self) -> bool:
        """Whether the term is the operand itself, up to its factor."""
        return self.divisor == 1 and self.modulus is None and self.window is None

    def place(self) -> tuple[Int, Int]:
        """What orders the terms of one operand."""
        return self.divisor, self.modulus or 0

    def cost(self, model: CostModel) -> int:
        """What it adds to a sum, without its factor and its operand."""
        total = model.add + model.digit(self.divisor, self.modulus)
        if self.window is not None:
            total += model.times(self.scale) + model.digit(1, self.window)
            total += model.add if self.shift else 0
        return total

    def atom(self, x: AffineExpr) -> Var | Digit:
        """What the factor multiplies, of an operand x."""
        value = x
        if self.divisor != 1 or self.modulus is not None:
            value = digit(x, self.divisor, self.modulus)
        if self.window is not None:
            value = digit(value * self.scale + self.shift, 1, self.window)
        atom = value.as_atom()
        assert atom is not None
        return atom


def digit_choices(
    levels: Mapping[Int, Int], model: CostModel, operand: int
) -> dict[tuple[Term, ...], int]:
    """Ways to write Σ c·(x // s), each with its cost by itself.

    From the plain floors a move puts a digit in the place of one floor of a pair, which changes
    the other's factor. Moves that cost too much to pay off are not followed. Up to a few levels all
    ways of two moves are tried, beyond it each best move in turn.

    Args:
        levels: for each divisor s the factor c.
        model: what operations cost.
        operand: the cost of computing x.
    """
    moves = _Moves(sorted(levels), model, model.add + operand)
    plain = moves.plain(levels)
    found, layer = [plain], [plain]
    for _ in range(2 if len(levels) <= _DEEP_LEVELS else _ROUNDS):
        layer = [later for earlier in layer for later in moves.after(earlier)]
        if len(levels) > _DEEP_LEVELS:
            layer = sorted(layer, key=_Writing.by_cost)[:_KEPT]
            found += layer[1:]
            layer = [w for w in layer[:1] if w.cost < min(v.cost for v in found)]
        found += layer
    least = min(w.cost for w in found)
    near = sorted((w for w in found if w.cost <= least + _WORSE), key=_Writing.by_cost)
    distinct: dict[tuple[Term, ...], int] = {}
    for writing in near:
        if len(distinct) < _KEPT:
            distinct.setdefault(writing.terms(), writing.cost)
    return distinct


class _Writing(NamedTuple):
    """Digits, and the factors of the floors that are left."""

    digits: tuple[Term, ...]
    factors: dict[Int, Int]
    cost: int

    def terms(self) -> tuple[Term, ...]:
        floors = [Term(c, s) for s, c in self.factors.items() if c != 0]
        return tuple(sorted([*self.digits, *floors], key=Term.place))

    def by_cost(self) -> int:
        return self.cost


class _Moves:
    """The moves between digit_choices of one operand, with what each changes of the cost."""

    def __init__(self, order: Sequence[Int], model: CostModel, each: int) -> None:
        self.times = model.times
        self.floors = {s: each + model.digit(s, None) for s in order}
        # Of very many levels only neighbours are paired.
        reach = max(1, _PAIRS // len(order))
        self.pairs = [
            (s, t, t // s, each + model.digit(s, t // s))
            for k, s in enumerate(order)
            for t in order[k + 1 : k + 1 + reach]
            if t % s == 0
        ]

    def floor(self, s: Int, c: Int) -> int:
        return self.floors[s] + self.times(c) if c != 0 else 0

    def plain(self, levels: Mapping[Int, Int]) -> _Writing:
        factors = {s: levels[s] for s in self.floors}
        return _Writing((), factors, sum(self.floor(s, c) for s, c in factors.items()))

    def after(self, w: _Writing) -> Iterator[_Writing]:
        """The digit_choices one move away that do not cost much more."""
        for s, t, n, own in self.pairs:
            low, high = w.factors[s], w.factors[t]
            without = w.cost - self.floor(s, low) - self.floor(t, high) + own
            ways: list[tuple[Int, Int, Int]] = []
            if low != 0:
                ways.append((low, 0, high + low * n))
            if high != 0 and high % n == 0:
                ways.append((-(high // n), low + high // n, 0))
            for c, at_s, at_t in ways:
                cost = without + self.times(c) + self.floor(s, at_s) + self.floor(t, at_t)
                if cost <= w.cost + _WORSE:
                    factors = {**w.factors, s: at_s, t: at_t}
                    yield _Writing((*w.digits, Term(c, s, n)), factors, cost)


def fuse_digits(x: AffineExpr, terms: Sequence[Term]) -> tuple[list[Term], int] | None:
    """Write c·(a·w - m·(w // k)) as c·((a·w - lo) mod m) + c·lo, for a digit w.

    Where the values of a·w - m·(w // k) lie in a window lo..lo + m - 1. Gives the terms, and the
    constant to add to them; None where nothing collapses.
    """
    result, const = list(terms), 0
    if len(result) < 2:
        return None
    for low, high in combinations(terms, 2):  # terms stand in the order of their divisors
        if sign(low.factor) == sign(high.factor):
            continue
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


def _collapsed(x: AffineExpr, low: Term, high: Term, k: int) -> Term | None:
    f, g = low.factor, high.factor
    if isinstance(f, SizeExpr) or isinstance(g, SizeExpr):
        return None
    c = gcd(f, g) * (1 if g < 0 else -1)
    a, m = f // c, -g // c
    least = _window(_values(x, low), a, m, k)
    return None if least is None else Term(c, low.divisor, low.modulus, a, -least, m)


def _values(x: AffineExpr, term: Term) -> Interval:
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
