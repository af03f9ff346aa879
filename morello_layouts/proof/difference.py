"""Where two recipes over one shape give different offsets, for concrete and symbolic sizes.

Both end in row-major order over their axes in memory. Where products of the innermost sizes agree,
the axes are cut: the offsets are equal where every group of axes between two cuts has one position
on both sides. Cuts keep the functions small that ISL compares, and symbolic strides apart.

Within a group the difference is ``Σ monomial · function``. It is 0 for all sizes where every
function is. To find the sizes where it is 0 by chance, the symbolic factors are distinguished:
``ceil(N/128)`` may be 1 or more, and ``128·ceil(N/128) - N`` may be 0 or more. In each of these
cases the difference is a polynomial in numbers that are at least 0, and it is not 0 where all its
functions have one sign and the constant one is not 0. What is left is undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from itertools import product as every
from math import prod
from time import process_time
from typing import Final

import islpy as isl

from morello_layouts.expr.quotient import Quotient
from morello_layouts.expr.size import Name, Number, Size
from morello_layouts.proof.relation import row_major
from morello_layouts.proof.space import Space, at_least
from morello_layouts.proof.value import Value, differ, union

__all__ = ["Difference"]

_MOST_CASES: Final = 128
"""Kinds of sizes that are told apart."""

_MOST_SECONDS: Final = 1.5
"""Processor time for all of them; ISL's budget does not bound operations on sets."""

Axes = Sequence[tuple[Value, Number]]
"""Coordinates in memory with the sizes of their axes, most major first."""


@dataclass(frozen=True)
class Difference:
    """The differences of two values of the same coordinates, group by group.

    Attributes:
        groups: differences, of which all must be 0.
        space: the coordinates, and the sizes that are assumed.
    """

    groups: tuple[Value, ...]
    space: Space

    @staticmethod
    def of(one: Axes, other: Axes, space: Space) -> Difference:
        """Of two row-major positions."""
        pairs = list(_groups(one, other))
        return Difference(tuple(_position(a, space) - _position(b, space) for a, b in pairs), space)

    @property
    def concrete(self) -> isl.Set:
        """Where they differ, of sizes that are numbers."""
        zero, domain = self.space.number(0), self.space.domain
        differences = (differ(group.function, zero, domain) for group in self.groups)
        return union(differences, domain.get_space())

    def for_sizes(self) -> tuple[isl.Set, isl.Set]:
        """The sizes for which they are equal everywhere, and those for which that is open."""
        assumed = self.space.sizes
        none = isl.Set.empty(assumed.get_space())
        kinds = [list(_kinds(g, self.space)) for g in _by_base(_factors(self.groups))]
        if prod(map(len, kinds)) > _MOST_CASES:
            return none, assumed
        equal = left = none
        everywhere = True
        until = process_time() + _MOST_SECONDS
        for case in _cases(kinds, self.space):
            if process_time() > until:
                return none, assumed
            groups = [case.in_place(group) for group in self.groups]
            different = union(map(_nonzero, groups), none.get_space()).intersect(case.sizes)
            if different.is_empty():
                equal = equal.union(case.sizes)
                continue
            everywhere = False
            # Sets are kept small: each case is decided by itself.
            apart = union(map(_signed, groups), none.get_space()).intersect(case.sizes)
            if case.sizes.is_subset(apart):
                continue
            equal = equal.union(case.sizes.subtract(different.coalesce()))
            left = left.union(different.coalesce().subtract(apart.coalesce()))
        return (assumed if everywhere else equal.coalesce()), left.coalesce()


def _groups(one: Axes, other: Axes) -> Iterator[tuple[Axes, Axes]]:
    """Axes between common products of sizes, from the innermost."""
    left, right = ([axis for axis in axes if axis[1] != 1] for axes in (one, other))
    while left or right:
        a, b = [left.pop()] if left else [], [right.pop()] if right else []
        while left and right and (m := _size(a)) != (n := _size(b)):
            grow_left = isinstance(m, int) and isinstance(n, int) and m < n
            if grow_left or (n % m == 0 and m % n != 0):
                a.insert(0, left.pop())
            elif (isinstance(m, int) and isinstance(n, int)) or m % n == 0:
                b.insert(0, right.pop())
            else:
                a.insert(0, left.pop())
                b.insert(0, right.pop())
        if _size(a) != _size(b):
            a, b, left, right = [*left, *a], [*right, *b], [], []
        yield a, b


def _size(axes: Axes) -> Number:
    return prod(size for _, size in axes)


def _position(axes: Axes, space: Space) -> Value:
    return row_major([x for x, _ in axes], [n for _, n in axes], space)


def _factors(groups: Sequence[Value]) -> list[Name]:
    """The symbolic factors in some values, so that each precedes what it bounds."""
    names = {name for g in groups for monomial in g.parts for name, _ in monomial}
    return sorted(names, key=lambda name: (_base(name), -_divisor(name)))


def _base(name: Name) -> str:
    """What a factor rounds: ⌈N/8⌉ and ⌈N/128⌉ round N."""
    return str(name.numerator) if isinstance(name, Quotient) and not name.exact else str(name)


def _divisor(name: Name) -> int:
    return name.divisor if isinstance(name, Quotient) and not name.exact else 1


@dataclass(frozen=True)
class _Case:
    """Sizes of one kind, and every symbolic factor in numbers that are at least 0 then."""

    sizes: isl.Set
    factors: Mapping[Name, Number]

    def in_place(self, value: Value) -> Value:
        """A value as a polynomial in these numbers."""
        total = Value({}, value.space)
        for monomial, function in value.parts.items():
            factor = prod(self.factors[name] ** power for name, power in monomial)
            total = total + Value({(): function}, value.space) * factor
        return total


def _by_base(factors: Sequence[Name]) -> list[list[Name]]:
    """The factors of each size together."""
    return [list(group) for _, group in groupby(factors, key=_base)]


def _cases(kinds: Sequence[Sequence[_Case]], space: Space) -> Iterator[_Case]:
    """Kinds of sizes that cover all of them, those of each size in every combination."""
    for together in every(*kinds):
        sizes, values = space.sizes, dict[Name, Number]()
        for kind in together:
            sizes = sizes.intersect(kind.sizes)
            values.update(kind.factors)
        if not sizes.is_empty():
            yield _Case(sizes, values)


def _kinds(group: Sequence[Name], space: Space) -> Iterator[_Case]:
    """What a size and its quotients may be.

    The size is its least value, or larger. Then of each quotient: 16·⌈N/128⌉ is ⌈N/8⌉, or more by 1
    and more; the first, which has none before it, is 1 or more.
    """
    name = _base(group[0])
    least = _least(name, space)
    others = space.sizes
    if least is not None:
        alone = _at(_number(name, space), least, at_minimum=True)
        yield _Case(alone, {one: -(-least // _divisor(one)) for one in group})
        others = _at(_number(name, space), least, at_minimum=False)
    for choice in every((False, True), repeat=len(group)):
        sizes, values = others, dict[Name, Number]()
        for k, (one, at_minimum) in enumerate(zip(group, choice, strict=True)):
            more = Size.named(f"_{one}")
            ratio, rest = divmod(_divisor(group[k - 1]), _divisor(one)) if k else (0, 1)
            if rest == 0:
                before = group[k - 1]
                values[one] = values[before] * ratio - (0 if at_minimum else more + 1)
                gap = _number(before, space).scale_val(space.val(ratio))
                sizes = sizes.intersect(_at(gap.sub(_number(one, space)), 0, at_minimum))
            else:
                values[one] = 1 if at_minimum else more + 2
                sizes = sizes.intersect(_at(_number(one, space), 1, at_minimum))
        if not sizes.is_empty():
            yield _Case(sizes, values)


def _least(name: str, space: Space) -> int | None:
    """The least value of a size that is a parameter."""
    if ((name, 1),) not in space.parameters.monomials:
        return None
    assumed = {one.name: one.lo for one in space.parameters.assumptions}
    return assumed.get(name, 1)


def _number(name: Name, space: Space) -> isl.Aff:
    return space.number(Size(((((name, 1),), 1),)))


def _at(function: isl.Aff, least: int, at_minimum: bool) -> isl.Set:
    """The sizes for which a function is a number, or above it."""
    if not at_minimum:
        return at_least(function, least + 1).params()
    return at_least(function, least).subtract(at_least(function, least + 1)).params()


def _nonzero(value: Value) -> isl.Set:
    """The sizes for which a function of a value is not 0 everywhere."""
    domain = value.space.domain
    zero = value.space.number(0)
    return union(
        (differ(f, zero, domain) for f in value.parts.values()), domain.get_space()
    ).params()


def _signed(value: Value) -> isl.Set:
    """The sizes for which a value is certainly not 0 somewhere.

    It is so where no function of it is negative and the constant one is positive, or the reverse.
    """
    domain = value.space.domain
    constant = value.parts.get(())
    found = isl.Set.empty(domain.get_space())
    if constant is None:
        return found.params()
    for sign in (1, -1):
        there = domain
        for monomial, function in value.parts.items():
            signed = function if sign == 1 else function.neg()
            there = there.intersect(at_least(signed, 0 if monomial else 1))
        found = found.union(there)
    return found.params()
