"""What is assumed of a symbolic size: a range, and a number that divides it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

from morello_layouts.errors import ShapeError
from morello_layouts.expr.quotient import Quotient
from morello_layouts.expr.size import Name, Number, Size, exact_quotient

__all__ = ["Assumption", "merged", "narrowed", "under"]


@dataclass(frozen=True, slots=True)
class Assumption:
    """That a symbolic size lies between two numbers and is a multiple of a third.

    Attributes:
        name: the size's name.
        divisor: what divides it; 1 if that is not known.
        lo: the smallest value, at least 1.
        hi: the largest value; None where there is none.

    >>> print(Assumption("N", divisor=8, hi=128))
    8 divides N, N <= 128
    """

    name: str
    divisor: int = 1
    lo: int = 1
    hi: int | None = None

    def __post_init__(self) -> None:
        if self.hi is not None and self.hi // self.divisor * self.divisor < self.lo:
            raise ShapeError(
                f"no size {self.name} is as assumed",
                f"no multiple of {self.divisor} lies in {self.lo}..{self.hi}",
                "assume less",
            )

    def and_also(self, other: Assumption) -> Assumption:
        """What both say of the size."""
        ends = [end for end in (self.hi, other.hi) if end is not None]
        return Assumption(
            self.name,
            lcm(self.divisor, other.divisor),
            max(self.lo, other.lo),
            min(ends, default=None),
        )

    def holds_of(self, value: int) -> bool:
        """Whether a number is as assumed."""
        below = self.hi is None or value <= self.hi
        return self.lo <= value and below and value % self.divisor == 0

    def __str__(self) -> str:
        parts = [f"{self.divisor} divides {self.name}"] if self.divisor > 1 else []
        if self.lo > 1:
            parts.append(f"{self.name} >= {self.lo}")
        if self.hi is not None:
            parts.append(f"{self.name} <= {self.hi}")
        return ", ".join(parts) or f"{self.name} >= 1"


def merged(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """One assumption for each name, by name."""
    by_name: dict[str, Assumption] = {}
    for one in assumptions:
        known = by_name.get(one.name)
        by_name[one.name] = one if known is None else known.and_also(one)
    return tuple(by_name[name] for name in sorted(by_name))


def under(assumptions: Iterable[Assumption], value: Number) -> Number:
    """A size that says what is assumed to divide it: N is 8·(N/8) where 8 divides N.

    >>> print(under([Assumption("N", divisor=8)], Size.named("N")) % 8)
    0
    """
    if isinstance(value, int):
        return value
    divisors = {one.name: one.divisor for one in assumptions}

    def multiple(name: str) -> Number:
        divisor = divisors.get(name, 1)
        named = Size.named(name)
        return named if divisor == 1 else exact_quotient(named, divisor) * divisor

    changed: Number = value.evaluate({name: multiple(name) for name in value.names()})
    return changed


def narrowed(assumptions: Iterable[Assumption], value: Number) -> Number:
    """A size without what its range decides: ⌈N/128⌉ is 1 where N ≤ 128.

    >>> from morello_layouts.expr.size import ceil_quotient
    >>> n = Size.named("N")
    >>> print(narrowed([Assumption("N", hi=128)], 8 * ceil_quotient(n, 128)))
    8
    """
    if isinstance(value, int):
        return value
    ranges = {one.name: one for one in assumptions}

    def known(atom: Name) -> Number:
        size = atom.numerator.as_atom() if isinstance(atom, Quotient) else atom
        one = ranges.get(size) if isinstance(size, str) else None
        divisor = atom.divisor if isinstance(atom, Quotient) else 1
        if one is not None and one.hi is not None:
            least, largest = -(-one.lo // divisor), -(-one.hi // divisor)
            if least == largest:
                return least
        return Size(((((atom, 1),), 1),))

    changed: Number = value.fold(known)
    return changed
