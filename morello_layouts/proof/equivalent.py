"""Decide whether two maps are equal, and find the first difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product as every
from math import prod
from typing import Any, Final, TypeAlias

import islpy as isl

from morello_layouts.errors import ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.sizes import Int, Quotient, SizeAtom, SizeExpr
from morello_layouts.limits import ISL_OPERATIONS, PROOF_KINDS
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof.ask import (
    AnyMap,
    SymbolicQuestion,
    ask_isl,
    isl_budget,
    sizes_of,
)
from morello_layouts.proof.bijective import parameters_of
from morello_layouts.proof.conditions import SizeSet
from morello_layouts.proof.isl import (
    NotAffineError,
    Space,
    Value,
    at_least,
    axis_values,
    differ,
    first_point,
    offset_value,
    row_major,
    union,
    value_of_form,
)
from morello_layouts.proof.verdict import Proof
from morello_layouts.recipe import Recipe, Scatter
from morello_layouts.recipe.digits import digits_of, fused, index_of

Axes: TypeAlias = Sequence[tuple[Value, Int]]
"""Coordinates over axes in memory with the sizes of the axes, most major first."""


@dataclass(frozen=True)
class OffsetDifference:
    """The differences of two offsets, one for each group of axes.

    Attributes:
        groups: values that are all 0 if the offsets are equal.
        space: the coordinates, and the assumed sizes.
    """

    groups: tuple[Value, ...]
    space: Space

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

    def by_sizes(self) -> tuple[isl.Set, isl.Set]:
        """Return the sizes for which the offsets are equal, and the undecided sizes."""
        return decide_by_sizes(self.groups, self.space, _nonzero, _signed)


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
    assumed = space.sizes
    none = isl.Set.empty(assumed.get_space())
    kinds = [list(_kinds(list(g), space)) for _, g in groupby(_factors(values), _base)]
    if prod(map(len, kinds)) > PROOF_KINDS:
        return none, assumed
    proved = left = none
    everywhere = True
    for case in _cases(kinds, space):
        cases = [case.substitute(value) for value in values]
        wrong = union((fails(value).params() for value in cases), none.get_space())
        wrong = wrong.intersect(case.sizes)
        if wrong.is_empty():
            proved = proved.union(case.sizes)
            continue
        everywhere = False
        # Each case is decided by itself, so that sets stay small.
        refuted = union(map(surely_fails, cases), none.get_space()).intersect(case.sizes)
        if case.sizes.is_subset(refuted):
            continue
        proved = proved.union(case.sizes.subtract(wrong.coalesce()))
        left = left.union(wrong.coalesce().subtract(refuted.coalesce()))
    return (assumed if everywhere else proved.coalesce()), left.coalesce()


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


def _factors(groups: Sequence[Value]) -> list[SizeAtom]:
    """Return the symbolic factors in some values; each precedes the factors that it bounds."""
    names = {name for g in groups for monomial in g.parts for name, _ in monomial}
    return sorted(names, key=lambda name: (_base(name), -_divisor(name)))


def _base(name: SizeAtom) -> str:
    """Return the size that a factor rounds: ⌈N/8⌉ and ⌈N/128⌉ round N."""
    return str(name.numerator) if isinstance(name, Quotient) and not name.exact else str(name)


def _divisor(name: SizeAtom) -> int:
    return name.divisor if isinstance(name, Quotient) and not name.exact else 1


@dataclass(frozen=True)
class _Case:
    """Sizes of one kind, and each symbolic factor as a polynomial in numbers of at least 0."""

    sizes: isl.Set
    factors: Mapping[SizeAtom, Int]

    def substitute(self, value: Value) -> Value:
        """Return a value as a polynomial in these numbers."""
        total = Value({}, value.space)
        for monomial, function in value.parts.items():
            factor = prod(self.factors[name] ** power for name, power in monomial)
            total = total + Value({(): function}, value.space) * factor
        return total


def _cases(kinds: Sequence[Sequence[_Case]], space: Space) -> Iterator[_Case]:
    """Yield all combinations of the kinds of each size; together they cover all sizes."""
    for combination in every(*kinds):
        sizes, values = space.sizes, dict[SizeAtom, Int]()
        for kind in combination:
            sizes = sizes.intersect(kind.sizes)
            values.update(kind.factors)
        if not sizes.is_empty():
            yield _Case(sizes, values)


def _kinds(group: Sequence[SizeAtom], space: Space) -> Iterator[_Case]:
    """Yield the kinds of a size and its quotients.

    The size has its least value, or a larger one. Each quotient then has its least value, or a
    larger one: 16·⌈N/128⌉ is at least ⌈N/8⌉; the first quotient, with none before it, at least 1.
    """
    name = _base(group[0])
    least = _least(name, space)
    others = space.sizes
    if least is not None:
        alone = _at(_number(name, space), least, at_minimum=True)
        yield _Case(alone, {one: -(-least // _divisor(one)) for one in group})
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
            yield _Case(sizes, values)


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


def linear_offset(recipe: Recipe, space: Space) -> Value:
    """Return the offset in the buffer as a sum of digits times strides.

    Digits that are split and come together again count as one, so that merges of symbolic sizes
    stay linear.

    Raises:
        NotAffineError: if a digit is a floor of a product of symbolic sizes.
    """
    coordinates = [Value.of(x, space) for x in space.coordinates]
    if any(isinstance(step, Scatter) for step in recipe.steps):
        return offset_value(recipe, space)
    start = Value.constant(recipe.offset, space)
    offset: Value = start + index_of(fused(digits_of(recipe)), coordinates)
    return offset


EQUAL: Final = "equal"
EQUIVALENT: Final = "equivalent"


def are_equivalent(a: AnyMap, b: AnyMap, *, budget: int | None = None) -> Proof:
    """Decide whether two maps over one shape give each coordinate the same offset.

    Raises:
        ShapeError: if the shapes differ.
    """
    answer = _decided(a, b, budget=budget)
    if answer.holds is not None:
        return answer
    with isl_budget(-(-(budget or ISL_OPERATIONS) // 4)):
        return SymbolicQuestion(EQUIVALENT, (a, b), _decided, _effect).sample(answer)


@ask_isl(EQUIVALENT)
def _decided(a: AnyMap, b: AnyMap, *, context: isl.Context) -> Proof:
    if sizes_of(a) != sizes_of(b):
        raise ShapeError(
            f"shapes to compare: expected the same, got {a.shape} and {b.shape}",
            "maps are compared coordinate by coordinate",
            "give both at the same shape",
        )
    spans = ""
    if isinstance(a, IndexMap) and isinstance(b, IndexMap) and a.size != b.size:
        spans = f"; the buffers have {a.size} and {b.size} slots"
    if prod(sizes_of(a)) == 0:
        return Proof(EQUIVALENT, True, f"the arrays are empty{spans}", decider="")
    reason = f"every coordinate has the same offset{spans}"
    difference = _difference(a, b, context)
    if not difference.space.parameters.monomials:
        at = difference.concrete
        if at.is_empty():
            return Proof(EQUIVALENT, True, reason)
        first = first_point(at)
        one, other = _values_at((a, b), first)
        reason = f"{first} has offsets {one} and {other}{spans}"
        return Proof(EQUIVALENT, False, reason, counterexample=first)
    equal, undecided = difference.by_sizes()
    proved = SizeSet(equal, difference.space)
    if not undecided.is_empty() and proved.is_never and undecided.is_equal(proved.space.sizes):
        reason = "too many kinds of sizes, or a difference whose sign varies"
        return Proof(EQUIVALENT, None, reason)
    question = SymbolicQuestion(EQUIVALENT, (a, b), _decided, _effect)
    return question.answer(proved, reason, undecided)


def _effect(maps: Sequence[AnyMap], proof: Proof) -> str:
    one, other = _values_at(maps, proof.counterexample)
    return f"puts {proof.counterexample} at offsets {one} and {other}"


@ask_isl(EQUAL)
def are_equal(a: AffineExpr, b: AffineExpr, *, context: isl.Context) -> Proof:
    """Decide whether two expressions have the same value for all values of their variables.

    A counterexample gives the variables' values by name.
    """
    bounds = {v.name: v.interval for form in (a, b) for v in form.variables()}
    space = Space.within(bounds, context)
    wrong = differ(value_of_form(a, space).function, value_of_form(b, space).function, space.domain)
    if wrong.is_empty():
        return Proof(EQUAL, True, "both have the same value everywhere")
    values = dict(zip(bounds, first_point(wrong), strict=True))
    reason = f"at {values} they are {a.evaluate(values)} and {b.evaluate(values)}"
    return Proof(EQUAL, False, reason, counterexample=values)


def _values_at(maps: Sequence[AnyMap], coordinate: tuple[int, ...]) -> list[Any]:
    """Return what each map gives at a coordinate, in the terms in which they are compared."""
    several = any(isinstance(m, AffineMap) and len(m.given) > 1 for m in maps)
    return [
        m.physical_coordinates(*coordinate)
        if several and isinstance(m, IndexMap)
        else m(*coordinate)
        for m in maps
    ]


def _difference(a: AnyMap, b: AnyMap, context: isl.Context) -> OffsetDifference:
    assumptions = meet_all((*a.assumptions, *b.assumptions))
    if isinstance(a, AffineMap) or isinstance(b, AffineMap):
        return _difference_of_values(a, b, assumptions, context)
    recipes = [a.recipe, b.recipe]
    space = Space.of(a.recipe.shape, context, parameters_of(recipes, assumptions))
    try:
        axes = [list(zip(axis_values(r, space), r.physical_shape, strict=True)) for r in recipes]
        if recipes[0].offset != recipes[1].offset:
            one, other = (offset_value(r, space) for r in recipes)
            return OffsetDifference((one - other,), space)
        return OffsetDifference.of(axes[0], axes[1], space)
    except NotAffineError:
        one, other = (linear_offset(r, space) for r in recipes)
        return OffsetDifference((one - other,), space)


def _difference_of_values(
    a: AnyMap, b: AnyMap, assumptions: Sequence[Assumption], context: isl.Context
) -> OffsetDifference:
    """Return the differences of two maps, of which at least one has no recipe."""
    recipes = [m.recipe for m in (a, b) if isinstance(m, IndexMap)]
    shape = sizes_of(a)
    space = Space.of(shape, context, parameters_of([*recipes, Recipe(shape)], assumptions))
    several = any(isinstance(m, AffineMap) and len(m.given) > 1 for m in (a, b))
    one, other = (_values(m, space, several) for m in (a, b))
    if len(one) != len(other):
        raise ShapeError(
            f"formulas of two maps: expected equally many, got {len(one)} and {len(other)}",
            "several formulas are compared one by one, or with physical coordinates",
            "give equally many formulas",
        )
    return OffsetDifference(tuple(x - y for x, y in zip(one, other, strict=True)), space)


def _values(m: AnyMap, space: Space, several: bool) -> list[Value]:
    if isinstance(m, AffineMap):
        return [value_of_form(form, space) for form in m.given]
    return axis_values(m.recipe, space) if several else [offset_value(m.recipe, space)]
