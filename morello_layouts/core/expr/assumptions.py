"""Assumptions about symbolic sizes: a divisor and a range."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import lcm
from typing import Any

from morello_layouts.core.checks import as_index
from morello_layouts.core.expr.sizes import (
    Int,
    Quotient,
    SizeAtom,
    SizeExpr,
    ceil_quotient,
    evaluated,
    exact_quotient,
)
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.errors import ShapeError


@frozen
class Assumption(Displayed):
    """A symbolic size lies between two numbers and is a multiple of a third.

    >>> print(Assumption("N", divisor=8, hi=128))
    8 divides N, N <= 128
    """

    name: str  #: the size's name.
    divisor: int = 1  #: a number that divides the size; 1 if none is known.
    lo: int = 1  #: the smallest value: at least 1, but 0 for the place at which a slice starts.
    hi: int | None = None  #: the largest value; None if there is no bound.

    def __post_init__(self) -> None:
        if self.hi is not None and self.hi // self.divisor * self.divisor < self.lo:
            raise ShapeError(
                f"the assumptions about {self.name} exclude every size",
                f"no multiple of {self.divisor} lies in {self.lo}..{self.hi}",
                "assume less",
            )
        # The ends become multiples of the divisor.
        object.__setattr__(self, "lo", -(-self.lo // self.divisor) * self.divisor)
        if self.hi is not None:
            object.__setattr__(self, "hi", self.hi // self.divisor * self.divisor)

    def meet(self, other: Assumption) -> Assumption:
        """Return the weakest assumption about the name that implies both."""
        ends = [end for end in (self.hi, other.hi) if end is not None]
        return Assumption(
            self.name, lcm(self.divisor, other.divisor), self._least(other), min(ends, default=None)
        )

    def _least(self, other: Assumption) -> int:
        """Return the smallest value of both; a start may be 0 if nothing but a divisor is known."""
        start, stated = sorted((self.lo, other.lo))
        divisor = max(self.divisor, other.divisor)
        return start if start == 0 and stated <= divisor else stated

    def holds_for(self, value: int) -> bool:
        """Whether a number is one of the sizes assumed."""
        in_range = self.lo <= value and (self.hi is None or value <= self.hi)
        return in_range and value % self.divisor == 0

    def __str__(self) -> str:
        if self.lo == self.hi:
            return f"{self.name} = {self.lo}"
        parts = [f"{self.divisor} divides {self.name}"] if self.divisor > 1 else []
        if self.lo > self.divisor or self.lo == 0:
            parts.append(f"{self.name} >= {self.lo}")
        if self.hi is not None:
            parts.append(f"{self.name} <= {self.hi}")
        return ", ".join(parts) or f"{self.name} >= 1"


def meet_all(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Return one assumption for each name, by name.

    >>> [str(one) for one in meet_all([Assumption("N", divisor=4), Assumption("N", divisor=6)])]
    ['12 divides N']
    """
    by_name: dict[str, Assumption] = {}
    for one in assumptions:
        known = by_name.get(one.name)
        by_name[one.name] = one if known is None else known.meet(one)
    return tuple(by_name[name] for name in sorted(by_name))


def apply_divisibility(assumptions: Iterable[Assumption], value: Int) -> Int:
    """Return a size with its assumed divisors written out: 8·(N/8) for N if 8 divides N.

    A size with a single possible value becomes that number.

    >>> print(apply_divisibility([Assumption("N", divisor=8)], SizeExpr.named("N")) % 8)
    0
    """
    if isinstance(value, int):
        return value
    values: dict[str, Int] = {}
    for one in assumptions:
        if one.lo == one.hi:
            values[one.name] = one.lo
        elif one.divisor > 1:
            named = SizeExpr.named(one.name)
            values[one.name] = exact_quotient(named, one.divisor) * one.divisor
    changed: Int = value.evaluate(values)
    return changed


def apply_range(assumptions: Iterable[Assumption], value: Int) -> Int:
    """Return a size without the quotients that ranges decide: 1 for ⌈N/128⌉ if N ≤ 128.

    >>> n = SizeExpr.named("N")
    >>> print(apply_range([Assumption("N", hi=128)], 8 * ceil_quotient(n, 128)))
    8
    """
    if isinstance(value, int):
        return value
    smallest = {one.name: one.lo for one in assumptions if one.hi is not None}
    largest = {one.name: one.hi for one in assumptions if one.hi is not None}

    def decided(atom: SizeAtom) -> Int | None:
        # A quotient grows with its names, so the ends of their ranges decide.
        if isinstance(atom, Quotient) and _grows(atom, largest):
            least, most = (
                ceil_quotient(evaluated(atom.numerator, values), atom.divisor)
                for values in (smallest, largest)
            )
            if least == most:
                return least
        return None

    changed: Int = value.fold(decided)
    return changed


def _grows(quotient: Quotient, bounded: Collection[str]) -> bool:
    """Return whether a quotient is largest if all its names are, and these are bounded."""
    size = quotient.numerator
    if isinstance(size, int) or not isinstance(quotient.divisor, int):
        return False
    return size.names() <= set(bounded) and all(c > 0 for _, c in size.terms)


def apply_assumptions(assumptions: Iterable[Assumption], value: Int) -> Int:
    """Return a size after :func:`apply_divisibility` and :func:`apply_range`."""
    assumptions = tuple(assumptions)
    return apply_range(assumptions, apply_divisibility(assumptions, value))


def checked_sizes(
    given: Mapping[str, Any], names: Sequence[str], assumptions: Sequence[Assumption]
) -> dict[str, int]:
    """Return sizes for names, each given once and as assumed.

    >>> checked_sizes({"N": 5}, ["N"], [])
    {'N': 5}
    """
    values = {name: as_index(value) for name, value in given.items()}
    fixed = {one.name for one in assumptions} - set(names)
    if values.keys() - fixed != set(names):
        raise ShapeError(
            f"sizes: expected {', '.join(names) or 'none'}, "
            f"got {', '.join(sorted(values)) or 'none'}",
            "every symbolic size takes one value",
            f"give each of them once: at({', '.join(f'{name}=…' for name in names)})"
            if names
            else "leave the numbers out: all sizes are numbers already",
        )
    starts = {one.name for one in assumptions if one.lo == 0}
    for one in (*map(Assumption, values.keys() - starts), *assumptions):
        if one.name in values and not one.holds_for(values[one.name]):
            raise ShapeError(
                f"{one.name} = {values[one.name]} is not as assumed",
                f"it is assumed that {one}",
                "give another size, or assume less",
            )
    return values
