"""Domains of indexing maps: bounds and constraints, and the cheapest equal expression within."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd, lcm
from typing import Any, Final, NamedTuple

from morello_layouts.core.expr import AffineExpr, Digit, Interval, Var, canonicalize, cheapest
from morello_layouts.core.limits import INDEXING_ROUNDS
from morello_layouts.programs.indexing.expressions import (
    Expr,
    Forms,
    IndexOperation,
    cost_of,
    text_of,
    weight_of,
)

_INT64: Final = 1 << 63


class Constraint(NamedTuple):
    """``expression in [lo, hi]``, both ends included."""

    expr: Expr
    lo: int
    hi: int


class EmptyDomainError(Exception):
    """No point satisfies the constraints. It does not leave this package."""


class IndexDomain:
    """Bounds of variables, and constraints, while they are made tighter."""

    def __init__(
        self, bounds: Mapping[str, tuple[int, int]], constraints: Iterable[Constraint] = ()
    ) -> None:
        self.bounds = dict(bounds)  #: the smallest and largest value of each variable.
        #: an interval for each constrained expression.
        self.constraints: dict[Expr, tuple[int, int]] = {}
        self.is_changed = False
        if any(hi < lo for lo, hi in bounds.values()):
            raise EmptyDomainError
        for each in constraints:
            self.require(*each)

    def require(self, x: Expr, lo: int, hi: int) -> None:
        """Add a constraint; one on a variable is a bound."""
        if isinstance(x, int):
            lo, hi = max(lo, x), min(hi, x)
        else:
            known: Any = self.bounds if isinstance(x, str) else self.constraints
            before = known.get(x, (lo, hi))
            lo, hi = max(lo, before[0]), min(hi, before[1])
            known[x] = lo, hi
            self.is_changed |= (lo, hi) != before
        if hi < lo:
            raise EmptyDomainError

    def listed(self) -> tuple[Constraint, ...]:
        """Return the constraints that are not bounds, in the order of their texts."""
        found = [Constraint(x, *ends) for x, ends in self.constraints.items()]
        return tuple(sorted(found, key=lambda each: text_of(each.expr)))

    def simplify(self) -> None:
        """Make the bounds tighter, drop what always holds, and join those on one expression."""
        for _ in range(INDEXING_ROUNDS):
            self.is_changed = False
            given, self.constraints = self.listed(), {}
            forms = Forms(self.bounds)
            remainders: dict[AffineExpr, tuple[int, int]] = {}
            known: dict[AffineExpr, Expr] = {}
            for each in given:
                self._read(each, forms, remainders, known)
            for operand, (modulus, rest) in remainders.items():
                self.require(forms.expr(operand % modulus), rest, rest)
            if not self.is_changed and self.listed() == given:
                return

    def _read(
        self,
        given: Constraint,
        forms: Forms,
        remainders: dict[AffineExpr, tuple[int, int]],
        known: dict[AffineExpr, Expr],
    ) -> None:
        """Keep what a constraint says, in its simplest form."""
        before = canonicalize(forms.form(given.expr))
        form, lo, hi = _reduced(before, given.lo, given.hi)
        least, most = ends_of(form.interval)
        if most < lo or hi < least:
            raise EmptyDomainError
        self._tighten(form, lo, hi)
        if lo <= least and most <= hi:
            return
        found = _remainder(form, lo, hi)
        if found is not None:
            operand, modulus, rest = found
            remainders[operand] = _joined(remainders.get(operand, (1, 0)), (modulus, rest))
            return
        expr = forms.expr(form)
        is_same = form == before and cost_of(given.expr) <= cost_of(expr)
        self.require(known.setdefault(form, given.expr if is_same else expr), lo, hi)

    def _tighten(self, form: AffineExpr, lo: int, hi: int) -> None:
        """Bound each variable by what the other terms leave it."""
        for atom, factor in form.terms:
            assert isinstance(factor, int)
            rest = ends_of((form - AffineExpr(((atom, factor),), 0)).interval)
            ends = _divided(lo - rest[1], hi - rest[0], factor)
            least, most = ends_of(atom.interval)
            inner = atom
            if isinstance(atom, Digit):
                found = atom.operand.as_atom()
                if not isinstance(found, Var):
                    continue
                inner = found
                least, most = ends_of(found.interval)
                if atom.modulus is None:
                    ends = _times(ends, atom.divisor)  # type: ignore[arg-type]
                elif atom.divisor == 1 and len(form.terms) == 1:
                    ends = _on_the_circle((least, most), ends, atom.modulus)  # type: ignore[arg-type]
                else:
                    continue
            if isinstance(inner, Var) and inner.name in self.bounds:
                self.require(inner.name, max(least, ends[0]), min(most, ends[1]))


def ends_of(interval: Interval) -> tuple[int, int]:
    """Return the ends of an interval of numbers; a missing one is beyond 64 bits."""
    lo = interval.lo if isinstance(interval.lo, int) else -_INT64
    return lo, interval.hi if isinstance(interval.hi, int) else _INT64


def _divided(lo: int, hi: int, factor: int) -> tuple[int, int]:
    """Return the bounds of x if factor·x is in lo..hi."""
    if factor < 0:
        lo, hi, factor = -hi, -lo, -factor
    return -(-lo // factor), hi // factor


def _times(ends: tuple[int, int], divisor: int) -> tuple[int, int]:
    """Return the bounds of x if x // divisor has these."""
    return ends[0] * divisor, (ends[1] + 1) * divisor - 1


def _on_the_circle(ends: tuple[int, int], rests: tuple[int, int], modulus: int) -> tuple[int, int]:
    """Return the first and the last x within ends whose remainder is within rests."""
    first, last = max(rests[0], 0), min(rests[1], modulus - 1)
    room, low, high = last - first, (ends[0] - first) % modulus, (last - ends[1]) % modulus
    lo = ends[0] + (0 if low <= room else modulus - low)
    return lo, ends[1] - (0 if high <= room else modulus - high)


def _reduced(form: AffineExpr, lo: int, hi: int) -> tuple[AffineExpr, int, int]:
    """Return a constraint without constant, common factor, quotient, or parts that do not matter.

    >>> from morello_layouts.core.expr import variable
    >>> d0, s0 = variable("d0", 0, 99), variable("s0", 0, 2)
    >>> form, lo, hi = _reduced((6 * d0 + 2 * s0 + 9) // 3, 3, 16)
    >>> print(form, lo, hi)
    d0 0 6
    """
    while True:
        shift, numbers = form.const, _factors(form)
        assert isinstance(shift, int)
        if shift:
            form, lo, hi = form - shift, lo - shift, hi - shift
        elif numbers and (by := gcd(*numbers) * (-1 if max(numbers) < 0 else 1)) != 1:
            lo, hi = _divided(lo, hi, by)
            form = AffineExpr.from_terms([(a, c // by) for a, c in form.terms])
        elif isinstance(d := form.as_atom(), Digit) and d.modulus is None:
            assert isinstance(d.divisor, int)
            lo, hi = _times((lo, hi), d.divisor)
            form = d.operand
        elif (found := _without_rest(form, lo, hi)) is not None:
            form, lo, hi = found
        else:
            return form, lo, hi
        form = canonicalize(form)


def _factors(form: AffineExpr) -> list[int]:
    return [c for _, c in form.terms if isinstance(c, int)]


def _without_rest(form: AffineExpr, lo: int, hi: int) -> tuple[AffineExpr, int, int] | None:
    """Return a constraint without small terms whose value does not matter; None without such."""
    terms = sorted(form.terms, key=lambda term: -abs(term[1]))  # type: ignore[arg-type]
    least, most = ends_of(form.interval)
    for k in range(1, len(terms)):
        by = gcd(*_factors(AffineExpr.from_terms(terms[:k])))
        small, large = ends_of(AffineExpr.from_terms(terms[k:]).interval)
        above, below = (
            ((hi - r) // by for r in (small, large)),
            (-(-(lo - r) // by) for r in (small, large)),
        )
        top, bottom = set(above), set(below)
        if (len(top) == 1 or most <= hi) and (len(bottom) == 1 or lo <= least):
            whole = AffineExpr.from_terms(terms[:k])
            first, last = ends_of(whole.interval)
            low = bottom.pop() * by if len(bottom) == 1 else first
            return whole, low, top.pop() * by if len(top) == 1 else last
    return None


def _remainder(form: AffineExpr, lo: int, hi: int) -> tuple[AffineExpr, int, int] | None:
    """Return operand, modulus and rest of a constraint on one remainder; None for another one."""
    d = form.as_atom()
    if lo != hi or not isinstance(d, Digit) or d.divisor != 1 or not isinstance(d.modulus, int):
        return None
    assert isinstance(d.operand.const, int)
    return d.operand - d.operand.const, d.modulus, (lo - d.operand.const) % d.modulus


def _joined(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return modulus and rest of the numbers with two given remainders.

    >>> _joined((6, 3), (7, 5))
    (42, 33)
    """
    (m, r), (n, s) = one, other
    common = gcd(m, n)
    if (s - r) % common:
        raise EmptyDomainError
    step = (s - r) // common * pow(m // common, -1, n // common)
    modulus = lcm(m, n)
    return modulus, (r + m * step) % modulus


def simplest(
    x: Expr, bounds: Mapping[str, tuple[int, int]], constraints: Sequence[Constraint]
) -> Expr:
    """Return the equal expression of fewest operations, the given one if none is better."""
    if not isinstance(x, IndexOperation):
        lo, hi = (x, x) if isinstance(x, int) else bounds[x]
        return lo if lo == hi else x
    found: list[int | str | IndexOperation] = [x]
    for known in ((), constraints) if constraints else ((),):
        forms = Forms(bounds)
        form = canonicalize(forms.form(hidden(x, known, forms)))
        if not form.terms:
            return forms.expr(form)
        found += [forms.expr(one) for one in (form, cheapest(form)) if not _rotates(one)]
    return min(found, key=lambda y: (cost_of(y), weight_of(y)))


def _rotates(form: AffineExpr) -> bool:
    """Return whether a form swaps digits by c·x mod (n - 1), which overflows and says little."""
    return any(
        isinstance(c, int) and c > 1 and (atom.modulus + 1) % c == 0
        for atom in form.atoms()
        if isinstance(atom, Digit) and atom.modulus is not None
        for _, c in atom.operand.terms
    )


def hidden(x: Expr, constraints: Iterable[Constraint], forms: Forms) -> Expr:
    """Return an expression with a variable in place of each constrained part."""
    for constrained, lo, hi in constraints:
        found = _replaced(x, constrained, f"x{len(forms.hidden)}")
        if found != x:
            forms.name(constrained, Interval(lo, hi))
            x = found
    return x


def _replaced(x: Expr, part: Expr, name: str) -> Expr:
    if x == part:
        return name
    if not isinstance(x, IndexOperation):
        return x
    return IndexOperation(x.kind, tuple(_replaced(each, part, name) for each in x.parts))


def always(constraint: tuple[Expr, int, int], bounds: Mapping[str, tuple[int, int]]) -> bool:
    """Return whether a constraint holds for all values within bounds."""
    x, lo, hi = constraint
    forms = Forms(bounds)
    return canonicalize(forms.form(x)).interval.within(lo, hi)
