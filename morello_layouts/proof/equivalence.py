"""Whether two maps, or two expressions, have the same values everywhere, decided by ISL."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any, Final

from morello_layouts.errors import ShapeError
from morello_layouts.expr import Linear
from morello_layouts.expr.assumption import Assumption, merged
from morello_layouts.expr.size import Number
from morello_layouts.formula import FormulaMap, IndexMap
from morello_layouts.proof.asking import AnyMap, for_sizes, shape_of, within_budget
from morello_layouts.proof.condition import Condition
from morello_layouts.proof.difference import Difference
from morello_layouts.proof.linear import linear_offset
from morello_layouts.proof.proof import Proof
from morello_layouts.proof.relation import offset_of_recipe, physical_coordinates, value_of_form
from morello_layouts.proof.space import Space
from morello_layouts.proof.stages import parameters_of
from morello_layouts.proof.trial import by_trial
from morello_layouts.proof.value import NotAffineError, Value, differ, first_point
from morello_layouts.recipe import Recipe

__all__ = ["are_equal", "are_equivalent"]

EQUAL: Final = "do both expressions have the same value everywhere?"
SAME: Final = "do both maps give every coordinate the same offset?"


def are_equivalent(a: AnyMap, b: AnyMap, *, budget: int | None = None) -> Proof:
    """Whether two maps over one shape give each coordinate the same offset.

    Raises:
        ShapeError: where the shapes differ.
    """
    answer = _decided(a, b, budget=budget)
    return answer if answer.holds is not None else by_trial(answer, (a, b), _decided)


@within_budget(SAME)
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
    return for_sizes(SAME, found, (a, b), _decided, more=sizes, open_for=left)


@within_budget(EQUAL)
def are_equal(a: Linear, b: Linear, *, context: Any) -> Proof:
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
    if isinstance(m, IndexMap) and isinstance(other, FormulaMap) and len(other.given) > 1:
        return m.physical_coordinates(*coordinate)
    return m(*coordinate)


def _difference(a: AnyMap, b: AnyMap, context: Any) -> Difference:
    assumptions = merged((*a.assumptions, *b.assumptions))
    if isinstance(a, FormulaMap) or isinstance(b, FormulaMap):
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
    several = any(isinstance(m, FormulaMap) and len(m.given) > 1 for m in (a, b))
    one, other = (_values(m, space, several) for m in (a, b))
    if len(one) != len(other):
        raise ShapeError(
            f"one map gives {len(one)} numbers, the other {len(other)}",
            "several formulas are compared with as many, or with coordinates over axes in memory",
            "give as many formulas",
        )
    return Difference(tuple(x - y for x, y in zip(one, other, strict=True)), space)


def _values(m: AnyMap, space: Space, several: bool) -> list[Value]:
    if isinstance(m, FormulaMap):
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
    shape: tuple[Number, ...] = a.shapes[count]
    return Recipe(shape, a.steps[count:]), Recipe(shape, b.steps[count:])
