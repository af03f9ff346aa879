"""The difference of two offsets: where it is not 0, and for which symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, product as every
from math import prod
from typing import TypeAlias

from morello_layouts.core.expr.sizes import (
    Int,
    Quotient,
    SizeAtom,
    SizeExpr,
    absolute,
    is_nonnegative,
)
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import PROOF_KINDS
from morello_layouts.proof.conditions import factors, primitive
from morello_layouts.proof.isl import (
    NotAffineError,
    Space,
    Value,
    at_least,
    differ,
    row_major,
    union,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.separable import Increment

Axes: TypeAlias = Sequence[tuple[Value, Int]]
"""Coordinates over axes in memory with the sizes of the axes, most major first."""


def sizes_of_equality(difference: OffsetDifference) -> tuple[isl.Set, isl.Set]:
    """Return the sizes for which a difference is 0 everywhere, and the undecided sizes."""
    space = difference.space
    return _by_cases(difference.factors, space, space.sizes, difference.judged)


def sizes_without_changes(
    changes: Iterable[Increment], shape: Sequence[Int], space: Space
) -> tuple[isl.Set, isl.Set]:
    """Return the sizes for which an array reaches no increment of a difference but by 0.

    The second set has the undecided sizes: those at which the sign of some increment varies with
    products of sizes that ISL does not know.
    """
    first: dict[tuple[Int, Int], Int] = {}  # of increments that are 0 together the first place
    for one in changes:
        size = 1 if one.dim is None else shape[one.dim]
        is_certain = is_nonnegative(one.by - 1) or is_nonnegative(-one.by - 1)
        key = size, 1 if is_certain else absolute(primitive(one.by))
        first[key] = min(one.at, first.get(key, one.at))
    equal = space.sizes
    left = isl.Set.empty(equal.get_space())
    hard: list[tuple[SizeExpr, isl.Set]] = []
    for (size, by), at in first.items():
        unreached = at_least(space.number(at - size), 0).params()
        if isinstance(by, int):
            equal = equal.intersect(unreached)
            continue
        zero = _zeros(by, space)
        if zero is None:
            hard.append((by, unreached))
        elif any(isinstance(atom, Quotient) for atom in _atoms(by)):
            # The rest, in inequalities: ISL's equations of quotients are nested.
            equal = equal.subtract(space.sizes.subtract(unreached).subtract(zero).coalesce())
        else:
            equal = equal.intersect(unreached.union(zero))
    for by, unreached in sorted(hard, key=lambda pair: len(pair[0].atoms())):
        names = set(map(_base, by.atoms()))  # a size is known better by all of its quotients
        atoms = {atom for _, n in first for atom in _atoms(n) if _base(atom) in names}
        open_sizes = equal if left.is_empty() else equal.union(left)
        same, unknown = _by_cases(atoms, space, open_sizes, partial(_judged, by, unreached))
        if left.is_empty():
            equal, left = same, unknown
        else:
            equal = equal.intersect(same)
            left = same.union(unknown).subtract(equal)
    return equal, left


def _judged(by: SizeExpr, unreached: isl.Set, case: Case) -> tuple[isl.Set, isl.Set]:
    """Return the sizes of a case at which an increment may be there, and at which it is."""
    value, none = case.polynomial(by), isl.Set.empty(case.sizes.get_space())
    there = none if value == 0 else case.sizes.subtract(unreached)
    return there, there if _is_signed(value) else none


def _atoms(number: Int) -> Iterable[SizeAtom]:
    return number.atoms() if isinstance(number, SizeExpr) else ()


def _zeros(number: SizeExpr, space: Space) -> isl.Set | None:
    """Return the sizes for which a number is 0; None if ISL does not see them."""
    found = isl.Set.empty(space.sizes.get_space())
    for factor in factors(number):
        try:
            value = space.number(factor)
        except NotAffineError:
            return None
        found = found.union(value.to_pw_aff().zero_set().params())
    return found


def decide_by_sizes(
    values: Sequence[Value],
    space: Space,
    fails: Callable[[Value], isl.Set],
    surely_fails: Callable[[Value], isl.Set],
) -> tuple[isl.Set, isl.Set]:
    """Return the sizes for which a property of values holds everywhere, and the undecided sizes.

    Args:
        values: the values, which may have symbolic factors.
        space: their space.
        fails: points outside of which the property holds, whatever its factors of at least 0 are.
        surely_fails: sizes for which it fails somewhere, whatever these factors are.
    """

    def judged(case: Case) -> tuple[isl.Set, isl.Set]:
        cases = [case.substitute(value) for value in values]
        none = case.sizes.get_space()
        wrong = union((fails(value).params() for value in cases), none)
        refuted = union(map(surely_fails, cases), none)
        return wrong.intersect(case.sizes), refuted.intersect(case.sizes)

    return _by_cases(_factors(values), space, space.sizes, judged)


def _by_cases(
    factors: Iterable[SizeAtom],
    space: Space,
    assumed: isl.Set,
    judged: Callable[[Case], tuple[isl.Set, isl.Set]],
) -> tuple[isl.Set, isl.Set]:
    """Return the assumed sizes for which no case is wrong, and the undecided ones."""
    none = isl.Set.empty(assumed.get_space())
    # Each factor precedes the factors that it bounds.
    ordered = sorted(factors, key=lambda name: (_base(name), -_divisor(name)))
    kinds: list[list[Case]] = []
    for _, group in groupby(ordered, _base):
        kinds.append(list(_kinds(list(group), space, assumed)))
        if prod(map(len, kinds)) > PROOF_KINDS:
            return none, assumed
    proved = left = none
    everywhere = True
    for case in _cases(kinds, assumed):
        wrong, refuted = judged(case)
        if wrong.is_empty():
            proved = proved.union(case.sizes)
            continue
        everywhere = False
        # Each case is decided by itself, so that sets stay small.
        if case.sizes.is_subset(refuted):
            continue
        proved = proved.union(case.sizes.subtract(wrong.coalesce()))
        left = left.union(wrong.coalesce().subtract(refuted.coalesce()))
    return (assumed if everywhere else proved.coalesce()), left.coalesce()


def _factors(values: Iterable[Value]) -> frozenset[SizeAtom]:
    return frozenset(name for g in values for monomial in g.parts for name, _ in monomial)


@frozen(slots=False)
class OffsetDifference:
    """The differences of two offsets as ISL's functions, one for each group of axes."""

    groups: tuple[Value, ...]  #: values that are all 0 if the offsets are equal.
    space: Space  #: the coordinates, and the assumed sizes.

    @staticmethod
    def of(one: Axes, other: Axes, space: Space) -> OffsetDifference:
        """Return the difference of two row-major positions."""
        pairs = list(_groups(one, other))
        return OffsetDifference(
            tuple(_position(a, space) - _position(b, space) for a, b in pairs), space
        )

    @property
    def concrete(self) -> isl.Set:
        """The coordinates at which the offsets differ; the sizes must be numbers."""
        return union(map(_nonzero, self.groups), self.space.domain.get_space())

    @property
    def factors(self) -> frozenset[SizeAtom]:
        """The symbolic factors in the values."""
        return _factors(self.groups)

    def judged(self, case: Case) -> tuple[isl.Set, isl.Set]:
        """Return the sizes of a case at which it may not be 0, and at which it certainly is not."""
        groups = [case.substitute(group) for group in self.groups]
        none = case.sizes.get_space()
        different = union((_nonzero(group).params() for group in groups), none)
        unequal = union(map(_signed, groups), none)
        return different.intersect(case.sizes), unequal.intersect(case.sizes)


def _is_signed(polynomial: Int) -> bool:
    """Return whether a polynomial in numbers of at least 0 is certainly not 0."""
    if isinstance(polynomial, int):
        return polynomial != 0
    terms = dict(polynomial.terms)
    signs = {c > 0 for c in terms.values()}
    return () in terms and len(signs) == 1


def _groups(one: Axes, other: Axes) -> Iterator[tuple[Axes, Axes]]:
    """Yield the axes between common products of sizes, from the innermost."""
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


def _size(axes: Axes) -> Int:
    return prod(size for _, size in axes)


def _position(axes: Axes, space: Space) -> Value:
    return row_major([x for x, _ in axes], [n for _, n in axes], space)


def _base(name: SizeAtom) -> str:
    """Return the size that a factor rounds: ⌈N/8⌉ and ⌈N/128⌉ round N."""
    return str(name.numerator) if isinstance(name, Quotient) and _divisor(name) > 1 else str(name)


def _divisor(name: SizeAtom) -> int:
    if isinstance(name, Quotient) and isinstance(name.divisor, int) and not name.exact:
        return name.divisor
    return 1


@frozen(slots=False)
class Case:
    """Sizes of one kind, and each symbolic factor as a polynomial in numbers of at least 0."""

    sizes: isl.Set
    factors: Mapping[SizeAtom, Int]

    def polynomial(self, number: Int) -> Int:
        """Return a number as a polynomial in these numbers."""
        if isinstance(number, int):
            return number
        found: Int = number.fold(self.factors.__getitem__)
        return found

    def substitute(self, value: Value) -> Value:
        """Return a value as a polynomial in these numbers."""
        total = Value({}, value.space)
        for monomial, function in value.parts.items():
            factor = prod(self.factors[name] ** power for name, power in monomial)
            total = total + Value({(): function}, value.space) * factor
        return total


def _cases(kinds: Sequence[Sequence[Case]], assumed: isl.Set) -> Iterator[Case]:
    """Yield all combinations of the kinds of each size; together they cover all sizes."""
    for combination in every(*kinds):
        sizes, values = assumed, dict[SizeAtom, Int]()
        for kind in combination:
            sizes = sizes.intersect(kind.sizes)
            values.update(kind.factors)
        if not sizes.is_empty():
            yield Case(sizes, values)


def _kinds(group: Sequence[SizeAtom], space: Space, assumed: isl.Set) -> Iterator[Case]:
    """Yield the kinds of a size and its quotients.

    The size has its least value, or a larger one. Each quotient then has its least value, or a
    larger one: 16·⌈N/128⌉ is at least ⌈N/8⌉; the first quotient, with none before it, at least 1.
    """
    name = _base(group[0])
    least = _least(name, space)
    others = assumed
    if least is not None:
        alone = _at(_number(name, space), least, at_minimum=True)
        yield Case(alone, {one: -(-least // _divisor(one)) for one in group})
        others = _at(_number(name, space), least, at_minimum=False)
    for choice in every((False, True), repeat=len(group)):
        sizes, values = others, dict[SizeAtom, Int]()
        for k, (one, at_minimum) in enumerate(zip(group, choice, strict=True)):
            more = SizeExpr.named(f"_{one}")
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
            yield Case(sizes, values)


def _least(name: str, space: Space) -> int | None:
    """Return the least value of a size; None if it is not a parameter."""
    if ((name, 1),) not in space.parameters.monomials:
        return None
    assumed = {one.name: one.lo for one in space.parameters.assumptions}
    return assumed.get(name, 1)


def _number(name: SizeAtom, space: Space) -> isl.Aff:
    return space.number(SizeExpr.named(name))


def _at(function: isl.Aff, least: int, at_minimum: bool) -> isl.Set:
    """Return the sizes for which a function is equal to a number, or above it."""
    if not at_minimum:
        return at_least(function, least + 1).params()
    return at_least(function, least).subtract(at_least(function, least + 1)).params()


def _nonzero(value: Value) -> isl.Set:
    """Return the points at which some function of a value is not 0."""
    domain, zero = value.space.domain, value.space.number(0)
    return union((differ(f, zero, domain) for f in value.parts.values()), domain.get_space())


def _signed(value: Value) -> isl.Set:
    """Return sizes for which a value is certainly not 0 everywhere."""
    return surely_negative(value).union(surely_negative(value * -1))


def negative(value: Value) -> isl.Set:
    """Return the points at which some function of a value is negative."""
    parts = (at_least(f.neg(), 1) for f in value.parts.values())
    return union(parts, value.space.domain.get_space()).intersect(value.space.domain)


def surely_negative(value: Value) -> isl.Set:
    """Return sizes for which a value is certainly negative somewhere.

    At some point its constant function is negative, and none of the others is positive.
    """
    there = value.space.domain
    if () not in value.parts:
        return isl.Set.empty(there.get_space()).params()
    for monomial, function in value.parts.items():
        there = there.intersect(at_least(function.neg(), 0 if monomial else 1))
    return there.params()
