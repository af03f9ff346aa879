"""Decide whether two maps are equal, and find where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from itertools import product as every
from math import prod
from time import process_time
from typing import Any, Final

import islpy as isl

from morello_layouts.errors import ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.sizes import Int, Quotient, SizeAtom, SizeExpr
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof.ask import AnyMap, ask_isl, by_sampling, parametric, shape_of
from morello_layouts.proof.bijective import parameters_of, pieces
from morello_layouts.proof.conditions import Condition
from morello_layouts.proof.isl import (
    NotAffineError,
    Parameters,
    Space,
    Value,
    at_least,
    differ,
    first_point,
    offset_of_recipe,
    physical_coordinates,
    row_major,
    union,
    value_of_form,
)
from morello_layouts.proof.proof import Proof
from morello_layouts.recipe import Merge, Recipe

_MOST_CASES: Final = 128
"""Kinds of sizes that are told apart."""

_MOST_SECONDS: Final = 1.5
"""Processor time for all of them; ISL's budget does not bound operations on sets."""

Axes = Sequence[tuple[Value, Int]]
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


def _size(axes: Axes) -> Int:
    return prod(size for _, size in axes)


def _position(axes: Axes, space: Space) -> Value:
    return row_major([x for x, _ in axes], [n for _, n in axes], space)


def _factors(groups: Sequence[Value]) -> list[SizeAtom]:
    """The symbolic factors in some values, so that each precedes what it bounds."""
    names = {name for g in groups for monomial in g.parts for name, _ in monomial}
    return sorted(names, key=lambda name: (_base(name), -_divisor(name)))


def _base(name: SizeAtom) -> str:
    """What a factor rounds: ⌈N/8⌉ and ⌈N/128⌉ round N."""
    return str(name.numerator) if isinstance(name, Quotient) and not name.exact else str(name)


def _divisor(name: SizeAtom) -> int:
    return name.divisor if isinstance(name, Quotient) and not name.exact else 1


@dataclass(frozen=True)
class _Case:
    """Sizes of one kind, and every symbolic factor in numbers that are at least 0 then."""

    sizes: isl.Set
    factors: Mapping[SizeAtom, Int]

    def in_place(self, value: Value) -> Value:
        """A value as a polynomial in these numbers."""
        total = Value({}, value.space)
        for monomial, function in value.parts.items():
            factor = prod(self.factors[name] ** power for name, power in monomial)
            total = total + Value({(): function}, value.space) * factor
        return total


def _by_base(factors: Sequence[SizeAtom]) -> list[list[SizeAtom]]:
    """The factors of each size together."""
    return [list(group) for _, group in groupby(factors, key=_base)]


def _cases(kinds: Sequence[Sequence[_Case]], space: Space) -> Iterator[_Case]:
    """Kinds of sizes that cover all of them, those of each size in every combination."""
    for together in every(*kinds):
        sizes, values = space.sizes, dict[SizeAtom, Int]()
        for kind in together:
            sizes = sizes.intersect(kind.sizes)
            values.update(kind.factors)
        if not sizes.is_empty():
            yield _Case(sizes, values)


def _kinds(group: Sequence[SizeAtom], space: Space) -> Iterator[_Case]:
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
    """The least value of a size that is a parameter."""
    if ((name, 1),) not in space.parameters.monomials:
        return None
    assumed = {one.name: one.lo for one in space.parameters.assumptions}
    return assumed.get(name, 1)


def _number(name: SizeAtom, space: Space) -> isl.Aff:
    return space.number(SizeExpr(((((name, 1),), 1),)))


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


def linear_offset(recipe: Recipe, parameters: Parameters, context: Any) -> Value:
    """The offset in the buffer, as a value over the recipe's own coordinates.

    Raises:
        NotAffineError: where what follows a merge of symbolic sizes is no such sum.
    """
    strides: Sequence[Int] | None = None
    value: Value | None = None
    for piece, merge in reversed(list(pieces(recipe))):
        space = Space.of(piece.shape, context, parameters)
        at = physical_coordinates(piece, space)
        if merge is None or strides is None:
            value = row_major(at, piece.physical_shape, space)
        else:
            value = _joined(at, piece, merge, strides, space)
        if piece.shape != recipe.shape or piece.steps != recipe.steps[: len(piece.steps)]:
            strides = _strides(value, space)
    assert value is not None
    return value


def _joined(
    at: Sequence[Value], piece: Recipe, merge: Merge, strides: Sequence[Int], space: Space
) -> Value:
    """The sum of the positions that a merge makes, times strides."""
    total = Value.of(space.number(0), space)
    sizes = piece.physical_shape
    for run, stride in zip(merge.groups(range(len(at))), strides, strict=True):
        position = row_major([at[k] for k in run], [sizes[k] for k in run], space)
        total = total + position * stride
    return total


def _strides(value: Value, space: Space) -> list[Int]:
    """The factors of the coordinates, where the value is their sum."""
    strides = [_at_unit(value, k, space) for k in range(len(space.coordinates))]
    total = Value.of(space.number(0), space)
    for x, stride in zip(space.coordinates, strides, strict=True):
        total = total + Value.of(x, space) * stride
    equal, _ = Difference((value - total,), space).for_sizes()
    if not space.sizes.is_subset(equal):
        raise NotAffineError(
            "a floor of a product of symbolic sizes",
            "products of symbols are outside of Presburger arithmetic",
            "ask at given sizes, or assume what divides them",
        )
    return strides


def _at_unit(value: Value, k: int, space: Space) -> Int:
    """The value where one coordinate is 1 and all others are 0."""
    point = isl.Point.zero(space.domain.get_space())
    point = point.set_coordinate_val(isl.dim_type.set, k, space.val(1))
    total: Int = 0
    for monomial, function in value.parts.items():
        factor: int = function.eval(point).to_python()
        total = total + (SizeExpr(((monomial, factor),)) if monomial and factor else factor)
    return total


EQUAL: Final = "do both expressions have the same value everywhere?"
SAME: Final = "do both maps give every coordinate the same offset?"


def are_equivalent(a: AnyMap, b: AnyMap, *, budget: int | None = None) -> Proof:
    """Whether two maps over one shape give each coordinate the same offset.

    Raises:
        ShapeError: where the shapes differ.
    """
    answer = _decided(a, b, budget=budget)
    return answer if answer.holds is not None else by_sampling(answer, (a, b), _decided)


@ask_isl(SAME)
def _decided(a: AnyMap, b: AnyMap, *, context: Any) -> Proof:
    if shape_of(a) != shape_of(b):
        raise ShapeError(
            f"the maps have the shapes {a.shape} and {b.shape}",
            "maps are compared coordinate by coordinate, so over one shape",
            "give both at the same shape",
        )
    sizes = _spans(a, b)
    if prod(shape_of(a)) == 0:
        return Proof(SAME, True, f"the array has no elements{sizes}")
    difference = _difference(a, b, context)
    if not difference.space.parameters.monomials:
        at = difference.concrete
        if at.is_empty():
            return Proof(SAME, True, f"ISL: there is no coordinate at which they differ{sizes}")
        first = first_point(at)
        values = [_value_at(m, first, other) for m, other in ((a, b), (b, a))]
        reason = f"at {first} the offsets are {values[0]} and {values[1]}{sizes}"
        return Proof(SAME, False, reason, first)
    equal, left = difference.for_sizes()
    found = Condition(equal, difference.space)
    if not left.is_empty() and found.is_never and left.is_equal(difference.space.sizes):
        return Proof(SAME, None, "too many kinds of sizes, or a difference without one sign")
    return parametric(SAME, found, (a, b), _decided, more=sizes, open_for=left)


@ask_isl(EQUAL)
def are_equal(a: AffineExpr, b: AffineExpr, *, context: Any) -> Proof:
    """Whether two expressions have the same value wherever their variables may be.

    A counterexample gives the variables' values by name.

    Raises:
        UnsupportedError: where a size is symbolic.
    """
    bounds = {v.name: v.interval for form in (a, b) for v in form.variables()}
    space = Space.within(bounds, context)
    wrong = differ(value_of_form(a, space).function, value_of_form(b, space).function, space.domain)
    if wrong.is_empty():
        return Proof(EQUAL, True, "ISL: there are no values at which they differ")
    values = dict(zip(bounds, first_point(wrong), strict=True))
    reason = f"at {values} they are {a.evaluate(values)} and {b.evaluate(values)}"
    return Proof(EQUAL, False, reason, values)


def _spans(a: AnyMap, b: AnyMap) -> str:
    if isinstance(a, IndexMap) and isinstance(b, IndexMap) and a.size != b.size:
        return f"; the buffers span {a.size} and {b.size} elements"
    return ""


def _value_at(m: AnyMap, coordinate: tuple[int, ...], other: AnyMap) -> Any:
    """What a map gives at a coordinate, in the terms in which it is compared with another."""
    if isinstance(m, IndexMap) and isinstance(other, AffineMap) and len(other.given) > 1:
        return m.physical_coordinates(*coordinate)
    return m(*coordinate)


def _difference(a: AnyMap, b: AnyMap, context: Any) -> Difference:
    assumptions = meet_all((*a.assumptions, *b.assumptions))
    if isinstance(a, AffineMap) or isinstance(b, AffineMap):
        return _difference_of_values(a, b, assumptions, context)
    try:
        return _difference_of(a.recipe, b.recipe, assumptions, context)
    except NotAffineError:
        shared = _without_common_start(a.recipe, b.recipe)
        if shared is not None:
            with suppress(NotAffineError):
                return _difference_of(*shared, assumptions, context)
        parameters = parameters_of([a.recipe, b.recipe], assumptions)
        one, other = (linear_offset(m.recipe, parameters, context) for m in (a, b))
        return Difference((one - other,), Space.of(a.recipe.shape, context, parameters))


def _difference_of_values(
    a: AnyMap, b: AnyMap, assumptions: Sequence[Assumption], context: Any
) -> Difference:
    """The differences of numbers that two maps give, of which one at least is but a formula."""
    recipes = [m.recipe for m in (a, b) if isinstance(m, IndexMap)]
    shape = shape_of(a)
    space = Space.of(shape, context, parameters_of([*recipes, Recipe(shape)], assumptions))
    several = any(isinstance(m, AffineMap) and len(m.given) > 1 for m in (a, b))
    one, other = (_values(m, space, several) for m in (a, b))
    if len(one) != len(other):
        raise ShapeError(
            f"one map gives {len(one)} numbers, the other {len(other)}",
            "several formulas are compared with as many, or with coordinates over axes in memory",
            "give as many formulas",
        )
    return Difference(tuple(x - y for x, y in zip(one, other, strict=True)), space)


def _values(m: AnyMap, space: Space, several: bool) -> list[Value]:
    if isinstance(m, AffineMap):
        return [value_of_form(form, space) for form in m.given]
    return physical_coordinates(m.recipe, space) if several else [offset_of_recipe(m.recipe, space)]


def _difference_of(
    a: Recipe, b: Recipe, assumptions: Sequence[Assumption], context: Any
) -> Difference:
    space = Space.of(a.shape, context, parameters_of([a, b], assumptions))
    one, other = (
        list(zip(physical_coordinates(r, space), r.physical_shape, strict=True)) for r in (a, b)
    )
    return Difference.of(one, other, space)


def _without_common_start(a: Recipe, b: Recipe) -> tuple[Recipe, Recipe] | None:
    """Both without the steps that they begin with alike, up to the first that pads.

    What is left out is one-to-one and onto, so the rest differs where the whole does.
    """
    count = 0
    for one, other in zip(a.steps, b.steps, strict=False):
        if one != other or one.name == "pad":
            break
        count += 1
    if count == 0:
        return None
    shape: tuple[Int, ...] = a.shapes[count]
    return Recipe(shape, a.steps[count:]), Recipe(shape, b.steps[count:])
