"""The cost of operations, and the equivalent ways to write the digits of one operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import gcd
from typing import Final, NamedTuple

from morello_layouts.core.expr.affine import AffineExpr, Atom, Call, Digit, comparison, digit
from morello_layouts.core.expr.bounds import Interval
from morello_layouts.core.expr.sizes import Int, SizeExpr, sign
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import SEARCH_CHOICES, SEARCH_FLOORS, SEARCH_MOVES, SEARCH_PAIRS


@frozen
class CostModel:
    """The cost of each operation, in any unit.

    An expression costs the sum over its tree, without sharing. A sum of k terms takes k - 1
    additions; a factor of -1 in a sum is free. An exclusive or, min, max,
    a comparison or a choice costs as much as an addition.

    >>> from morello_layouts.core.expr.affine import variable
    >>> CostModel().cost(24 * (variable("d1") // 4) + variable("d1") % 4)
    6
    """

    add: int = 1  #: an addition or subtraction.
    multiply: int = 1  #: a multiplication by a constant.
    divide: int = 2  #: a floor division by a constant.
    modulo: int = 2  #: a remainder by a constant.
    #: a multiplication, division or remainder by a power of two, if it is cheaper (a shift or a
    #: mask); otherwise None.
    power_of_two: int | None = None

    def cost(self, form: AffineExpr, known: dict[int, tuple[AffineExpr, int]] | None = None) -> int:
        """Return the cost of computing a form as written; ``known`` keeps those of parts, by id."""
        # Forms share parts: a form may be exponentially longer in print than in memory.
        known = {} if known is None else known
        found = known.get(id(form))
        if found is not None:
            return found[1]
        total = self.add * max(len(form.terms) + (form.const != 0) - 1, 0)
        for atom, factor in form.terms:
            if factor not in (1, -1):
                total += self._by(factor, self.multiply)
            if isinstance(atom, Digit):
                total += self.cost(atom.operand, known) + self.digit(atom.divisor, atom.modulus)
            elif isinstance(atom, Call):
                parts = atom.parts
                if len(parts) == 1:
                    left, _, right = comparison(atom)
                    parts = (left, right)
                total += sum([self.cost(part, known) for part in parts])
                total += self.add if atom.kind == "select" else self.add * (len(parts) - 1)
        known[id(form)] = form, total  # the form stays, so that its id is not used again
        return total

    def times(self, factor: Int) -> int:
        """Return the cost of a product with a number; 1 and -1 cost nothing."""
        return 0 if factor in (1, -1) else self._by(factor, self.multiply)

    def digit(self, divisor: Int, modulus: Int | None) -> int:
        """Return the cost of a division and a remainder, either of which may be absent."""
        total = 0 if divisor == 1 else self._by(divisor, self.divide)
        return total if modulus is None else total + self._by(modulus, self.modulo)

    def _by(self, number: Int, cost: int) -> int:
        if self.power_of_two is None or isinstance(number, SizeExpr):
            return cost
        return self.power_of_two if abs(number).bit_count() == 1 else cost


OPERATIONS: Final = CostModel()
"""Operations, with each division and remainder counted twice."""

SHIFTS: Final = CostModel(multiply=3, divide=12, modulo=12, power_of_two=1)
"""A machine with shifts and masks for powers of two, and slow other divisions."""

_TOLERANCE: Final = 2
"""The most that a move may cost: a later move or a shared factor may save it again."""


class DigitTerm(NamedTuple):
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
        """Return the sort key of the terms of one operand."""
        return self.divisor, self.modulus or 0

    def cost(self, model: CostModel) -> int:
        """Return the term's cost in a sum, without its factor and its operand."""
        total = model.add + model.digit(self.divisor, self.modulus)
        if self.window is not None:
            total += model.times(self.scale) + model.digit(1, self.window)
            total += model.add if self.shift else 0
        return total

    def atom(self, x: AffineExpr) -> Atom:
        """Return the atom for an operand x, without the factor."""
        value = x
        if self.divisor != 1 or self.modulus is not None:
            value = digit(x, self.divisor, self.modulus)
        if self.window is not None:
            value = digit(value * self.scale + self.shift, 1, self.window)
        atom = value.as_atom()
        assert atom is not None
        return atom


def digit_choices(
    floors: Mapping[Int, Int], model: CostModel, operand: int
) -> dict[tuple[DigitTerm, ...], int]:
    """Return ways to write Σ c·(x // s), each with its cost by itself.

    The search starts from the plain floors. A move replaces one floor of a pair by a digit, which
    changes the other floor's factor; moves that cost too much are not followed. For few floors,
    all sequences of two moves are tried; for more floors, the best move again and again.

    Args:
        floors: for each divisor s the factor c.
        model: the cost of operations.
        operand: the cost of computing x.

    >>> from morello_layouts.core.expr.affine import variable
    >>> for terms, cost in digit_choices({1: 1, 8: 24}, CostModel(), 0).items():
    ...     print(*(f"{t.factor}*({t.atom(variable('x'))})" for t in terms), "costs", cost)
    1*(x) 24*(x//8) costs 5
    4*(x) -3*(x%8) costs 6
    1*(x%8) 32*(x//8) costs 7
    """
    moves = _Moves(sorted(floors), model, model.add + operand)
    start = moves.start(floors)
    is_small = len(floors) <= SEARCH_FLOORS
    found, layer = [start], [start]
    for _ in range(2 if is_small else SEARCH_MOVES):
        layer = [later for earlier in layer for later in moves.after(earlier)]
        if not is_small:
            layer = sorted(layer, key=_Candidate.by_cost)[:SEARCH_CHOICES]
            found += layer[1:]
            layer = [w for w in layer[:1] if w.cost < min(v.cost for v in found)]
        found += layer
    least = min(w.cost for w in found)
    near = sorted((w for w in found if w.cost <= least + _TOLERANCE), key=_Candidate.by_cost)
    distinct: dict[tuple[DigitTerm, ...], int] = {}
    for candidate in near:
        if len(distinct) < SEARCH_CHOICES:
            distinct.setdefault(candidate.terms(), candidate.cost)
    return distinct


class _Candidate(NamedTuple):
    """Digits, the factors of the floors that are left, and the cost of both."""

    digits: tuple[DigitTerm, ...]
    factors: dict[Int, Int]
    cost: int

    def terms(self) -> tuple[DigitTerm, ...]:
        floors = [DigitTerm(c, s) for s, c in self.factors.items() if c != 0]
        return tuple(sorted([*self.digits, *floors], key=DigitTerm.place))

    def by_cost(self) -> int:
        return self.cost


class _Moves:
    """The moves between candidates of one operand, with the change of the cost by each."""

    def __init__(self, order: Sequence[Int], model: CostModel, each: int) -> None:
        self.times = model.times
        self.floors = {s: each + model.digit(s, None) for s in order}
        reach = max(1, SEARCH_PAIRS // len(order))
        self.pairs = [
            (s, t, t // s, each + model.digit(s, t // s))
            for k, s in enumerate(order)
            for t in order[k + 1 : k + 1 + reach]
            if t % s == 0
        ]

    def floor(self, s: Int, c: Int) -> int:
        return self.floors[s] + self.times(c) if c != 0 else 0

    def start(self, floors: Mapping[Int, Int]) -> _Candidate:
        factors = {s: floors[s] for s in self.floors}
        return _Candidate((), factors, sum(self.floor(s, c) for s, c in factors.items()))

    def after(self, w: _Candidate) -> Iterator[_Candidate]:
        """Yield the candidates one move away that do not cost much more."""
        used = [(d.divisor, d.modulus) for d in w.digits]
        for s, t, n, own in self.pairs:
            if (s, n) in used:
                continue  # the digit has its factor
            low, high = w.factors[s], w.factors[t]
            without = w.cost - self.floor(s, low) - self.floor(t, high) + own
            options: list[tuple[Int, Int, Int]] = []
            if low != 0:
                options.append((low, 0, high + low * n))
            if high != 0 and high % n == 0:
                options.append((-(high // n), low + high // n, 0))
            for c, at_s, at_t in options:
                cost = without + self.times(c) + self.floor(s, at_s) + self.floor(t, at_t)
                if cost <= w.cost + _TOLERANCE:
                    factors = {**w.factors, s: at_s, t: at_t}
                    yield _Candidate((*w.digits, DigitTerm(c, s, n)), factors, cost)


def fuse_digits(x: AffineExpr, terms: Sequence[DigitTerm]) -> tuple[list[DigitTerm], int] | None:
    """Write c·(a·w - m·(w // k)) as c·((a·w - lo) mod m) + c·lo, for a digit w.

    This holds if the values of a·w - m·(w // k) lie in a window lo..lo + m - 1. Return the terms
    and the constant to add to them, or None if no two terms fuse.

    >>> from morello_layouts.core.expr.affine import variable
    >>> from morello_layouts.core.expr.affine import variable
    >>> x = variable("x", 0, 9)
    >>> terms, const = fuse_digits(x, [DigitTerm(1, 1), DigitTerm(-7, 5)])
    >>> print(terms[0].atom(x), const)
    (x + 2)%7 -2
    """
    result, const = list(terms), 0
    if len({sign(term.factor) for term in terms}) < 2:
        return None
    for low, high in combinations(terms, 2):  # terms are in the order of their divisors
        if sign(low.factor) == sign(high.factor) or low not in result or high not in result:
            continue
        k = _ratio(low, high)
        fused = None if k is None else _fused(x, low, high, k)
        if fused is not None:
            result = [t for t in result if t not in (low, high)] + [fused]
            assert isinstance(fused.factor, int)
            const -= fused.factor * fused.shift
    return (result, const) if len(result) < len(terms) else None


def _ratio(low: DigitTerm, high: DigitTerm) -> int | None:
    """Return the k for which the digit of ``high`` is that of ``low``, divided by k."""
    if not isinstance(low.divisor, int) or not isinstance(high.divisor, int):
        return None
    k, inexact = divmod(high.divisor, low.divisor)
    if inexact or k < 2:
        return None
    return k if (low.modulus or 0) == (high.modulus or 0) * k else None


def _fused(x: AffineExpr, low: DigitTerm, high: DigitTerm, k: int) -> DigitTerm | None:
    f, g = low.factor, high.factor
    if isinstance(f, SizeExpr) or isinstance(g, SizeExpr):
        return None
    c = gcd(f, g) * (1 if g < 0 else -1)
    a, m = f // c, -g // c
    values = x.interval.floordiv(low.divisor)
    if low.modulus is not None:
        values = Interval(0, low.modulus - 1)
    least = _window_start(values, a, m, k)
    return None if least is None else DigitTerm(c, low.divisor, low.modulus, a, -least, m)


def _window_start(values: Interval, a: int, m: int, k: int) -> int | None:
    """Return the least value of a·w - m·(w // k) if the values span fewer than m numbers."""
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
