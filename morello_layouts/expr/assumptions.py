"""What is assumed of a symbolic size: a divisor and a range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

from morello_layouts.checks import as_index
from morello_layouts.errors import ShapeError
from morello_layouts.expr.sizes import Int, Quotient, SizeAtom, SizeExpr, exact_quotient


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
        # The ends themselves are as assumed.
        object.__setattr__(self, "lo", -(-self.lo // self.divisor) * self.divisor)
        if self.hi is not None:
            object.__setattr__(self, "hi", self.hi // self.divisor * self.divisor)

    def meet(self, other: Assumption) -> Assumption:
        """What both say of the size."""
        ends = [end for end in (self.hi, other.hi) if end is not None]
        return Assumption(
            self.name,
            lcm(self.divisor, other.divisor),
            max(self.lo, other.lo),
            min(ends, default=None),
        )

    def holds_for(self, value: int) -> bool:
        """Whether a number is as assumed."""
        below = self.hi is None or value <= self.hi
        return self.lo <= value and below and value % self.divisor == 0

    def __str__(self) -> str:
        if self.lo == self.hi:
            return f"{self.name} = {self.lo}"
        parts = [f"{self.divisor} divides {self.name}"] if self.divisor > 1 else []
        if self.lo > self.divisor:
            parts.append(f"{self.name} >= {self.lo}")
        if self.hi is not None:
            parts.append(f"{self.name} <= {self.hi}")
        return ", ".join(parts) or f"{self.name} >= 1"


def meet_all(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """One assumption for each name, by name."""
    by_name: dict[str, Assumption] = {}
    for one in assumptions:
        known = by_name.get(one.name)
        by_name[one.name] = one if known is None else known.meet(one)
    return tuple(by_name[name] for name in sorted(by_name))


def apply_divisibility(assumptions: Iterable[Assumption], value: Int) -> Int:
    """A size that says what is assumed to divide it: N is 8·(N/8) where 8 divides N.

    A size that can have one value only is that number.

    >>> print(apply_divisibility([Assumption("N", divisor=8)], SizeExpr.named("N")) % 8)
    0
    """
    if isinstance(value, int):
        return value
    by_name = {one.name: one for one in assumptions}

    def multiple(name: str) -> Int:
        one = by_name.get(name, Assumption(name))
        if one.lo == one.hi:
            return one.lo
        named = SizeExpr.named(name)
        return named if one.divisor == 1 else exact_quotient(named, one.divisor) * one.divisor

    changed: Int = value.evaluate({name: multiple(name) for name in value.names()})
    return changed


def apply_range(assumptions: Iterable[Assumption], value: Int) -> Int:
    """A size without what its range decides: ⌈N/128⌉ is 1 where N ≤ 128.

    >>> from morello_layouts.expr.sizes import ceil_quotient
    >>> n = SizeExpr.named("N")
    >>> print(apply_range([Assumption("N", hi=128)], 8 * ceil_quotient(n, 128)))
    8
    """
    if isinstance(value, int):
        return value
    ranges = {one.name: one for one in assumptions if one.hi is not None}

    smallest = {name: one.lo for name, one in ranges.items()}
    greatest = {name: one.hi for name, one in ranges.items()}

    def known(atom: SizeAtom) -> Int:
        if isinstance(atom, Quotient) and _grows(atom.numerator, ranges):
            least, largest = (
                -(-atom.numerator.evaluate(values) // atom.divisor)
                for values in (smallest, greatest)
            )
            if least == largest:
                return int(least)
        return SizeExpr(((((atom, 1),), 1),))

    changed: Int = value.fold(known)
    return changed


def _grows(size: SizeExpr, ranges: Mapping[str, Assumption]) -> bool:
    """Whether a size is largest where all its names are, and these are bounded."""
    return size.names() <= ranges.keys() and all(c > 0 for _, c in size.terms)


def checked_sizes(
    given: Mapping[str, Any], names: Sequence[str], assumptions: Sequence[Assumption]
) -> dict[str, int]:
    """Sizes for names, each given once and as assumed.

    Raises:
        ShapeError: where one is missing, unknown, below 1, or not as assumed.

    >>> checked_sizes({"N": 5}, ["N"], [])
    {'N': 5}
    """
    values = {name: as_index(value) for name, value in given.items()}
    fixed = {one.name for one in assumptions} - set(names)
    if values.keys() - fixed != set(names):
        raise ShapeError(
            f"sizes are given for {', '.join(sorted(values)) or 'no names'}",
            f"the symbolic sizes are {', '.join(names) or 'none'}",
            f"give each of them once: at({', '.join(f'{name}=…' for name in names)})",
        )
    for one in (*map(Assumption, values), *assumptions):
        if one.name in values and not one.holds_for(values[one.name]):
            raise ShapeError(
                f"{one.name} = {values[one.name]} is not as assumed",
                f"it is assumed that {one}",
                "give another size, or assume less",
            )
    return values
