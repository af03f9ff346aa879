"""Questions about index maps, decided by ISL on relations made from the recipe.

Injectivity is decided on physical coordinates: row-major order of a box is one-to-one, so what
holds there holds of offsets. Onto-ness then is a count: an injective map of N coordinates into a
buffer of N elements reaches each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import islpy as isl

from morello_layouts.errors import ShapeError
from morello_layouts.expr import Linear
from morello_layouts.formula import IndexMap
from morello_layouts.proof.padding import first_padding, outside, reaches, read_back
from morello_layouts.proof.proof import Proof
from morello_layouts.proof.relation import (
    Space,
    offset_of_expr,
    offset_of_form,
    offset_of_recipe,
    physical_coordinates,
    physical_map,
)
from morello_layouts.recipe import Recipe, Split, linear_index

__all__ = [
    "BUDGET",
    "are_equal",
    "are_equivalent",
    "is_bijective",
    "is_injective",
    "is_surjective",
    "verify",
]

BUDGET = 2_000_000
"""ISL operations that one question may take before it is called undecided; about a second."""


_MOST_AXES = 200  # logical and physical; the budget does not count the making of relations


_MOST_SPLITS = 24  # of axes, in questions about offsets; popular layouts have up to 8


def _splits(m: IndexMap) -> int:
    """How many axes the recipe splits into more than one piece."""
    return sum(
        t not in (None, 1) for step in m.recipe.steps if isinstance(step, Split) for t in step.tiles
    )


def _within_budget(
    question: str,
) -> Callable[[Callable[..., Proof]], Callable[..., Proof]]:
    """Ask in an ISL context of its own, with a budget; past it the answer is undecided."""

    def decorate(decide: Callable[..., Proof]) -> Callable[..., Proof]:
        @wraps(decide)
        def ask(*about: Any, budget: int = BUDGET) -> Proof:
            for m in about:
                if isinstance(m, IndexMap) and len(m.shape) + len(m.physical_shape) > _MOST_AXES:
                    return Proof(question, None, f"more than {_MOST_AXES} axes to relate")
                if isinstance(m, IndexMap) and question in _FLAT and _splits(m) > _MOST_SPLITS:
                    return Proof(question, None, f"more than {_MOST_SPLITS} splits to compare")
            context = isl.Context()
            context.set_max_operations(budget)
            try:
                return decide(*about, context=context)
            except isl.Error as error:
                if "maximal number of operations" not in str(error):
                    raise
                return Proof(question, None, f"ISL spent its budget of {budget} operations")

        return ask

    return decorate


ONE_TO_ONE = "do different coordinates have different offsets?"
ONTO = "does every offset hold an element?"
BOTH = "is the map one-to-one and onto its buffer?"
EQUAL = "do both expressions have the same value everywhere?"
SAME = "do both maps give every coordinate the same offset?"
AGREE = "do the formula, the textbook formula and the recipe agree everywhere?"
_FLAT = (SAME, AGREE, ONTO, BOTH)
"""Questions whose time ISL's budget does not bound where many floors nest."""


@_within_budget(ONE_TO_ONE)
def is_injective(m: IndexMap, *, context: Any) -> Proof:
    """Whether no two coordinates share an offset."""
    return _one_to_one(m.recipe, Space.of(m.shape, context))


@_within_budget(ONTO)
def is_surjective(m: IndexMap, *, context: Any) -> Proof:
    """Whether every offset of the buffer holds an element: there is no padding."""
    space = Space.of(m.shape, context)
    injective = _one_to_one(m.recipe, space)
    if not injective.holds:
        return Proof(ONTO, None, f"not counted: {injective.reason}")
    return _onto(m.recipe, space)


@_within_budget(BOTH)
def is_bijective(m: IndexMap, *, context: Any) -> Proof:
    """Whether coordinates and offsets of the buffer correspond one to one.

    Where they do not because of padding, the proof still says that no two coordinates share an
    offset, counts the padding, and gives its smallest offset.
    """
    space = Space.of(m.shape, context)
    injective = _one_to_one(m.recipe, space)
    if not injective.holds:
        return Proof(BOTH, False, injective.reason, injective.counterexample)
    onto = _onto(m.recipe, space)
    return Proof(
        BOTH,
        onto.holds,
        f"{injective.reason}; {onto.reason}",
        onto.counterexample,
        padding=onto.padding,
    )


@_within_budget(SAME)
def are_equivalent(a: IndexMap, b: IndexMap, *, context: Any) -> Proof:
    """Whether two maps over one shape give each coordinate the same offset.

    Raises:
        ShapeError: where the shapes differ.
    """
    if a.shape != b.shape:
        raise ShapeError(
            f"the maps have the shapes {a.shape} and {b.shape}",
            "maps are compared coordinate by coordinate, so over one shape",
            "give both at the same shape",
        )
    space = Space.of(a.shape, context)
    sizes = "" if a.size == b.size else f"; the buffers span {a.size} and {b.size} elements"
    at = _first_difference(
        space, offset_of_recipe(a.recipe, space), offset_of_recipe(b.recipe, space)
    )
    if at is None:
        return Proof(SAME, True, f"ISL: there is no coordinate at which they differ{sizes}")
    reason = f"at {at} the offsets are {a(*at)} and {b(*at)}{sizes}"
    return Proof(SAME, False, reason, at)


@_within_budget(AGREE)
def verify(m: IndexMap, *, context: Any) -> Proof:
    """Whether ``m.expr`` and ``m.textbook``, as SymPy holds them, equal the recipe everywhere."""
    space = Space.of(m.shape, context)
    for name, expr in (("expr", m.expr), ("textbook", m.textbook)):
        at = _first_difference(
            space, offset_of_expr(expr, space), offset_of_recipe(m.recipe, space)
        )
        if at is not None:
            return Proof(AGREE, False, f"{name} differs from the recipe at {at}", at)
    return Proof(AGREE, True, "ISL: there is no coordinate at which any two of them differ")


@_within_budget(EQUAL)
def are_equal(a: Linear, b: Linear, *, context: Any) -> Proof:
    """Whether two expressions have the same value wherever their variables may be.

    A counterexample gives the variables' values by name.

    Raises:
        UnsupportedError: where a size is symbolic.
    """
    bounds = {v.name: v.interval for form in (a, b) for v in form.variables()}
    space = Space.within(bounds, context)
    at = _first_difference(space, offset_of_form(a, space), offset_of_form(b, space))
    if at is None:
        return Proof(EQUAL, True, "ISL: there are no values at which they differ")
    values = dict(zip(bounds, at, strict=True))
    reason = f"at {values} they are {a.evaluate(values)} and {b.evaluate(values)}"
    return Proof(EQUAL, False, reason, values)


def _one_to_one(recipe: Recipe, space: Space) -> Proof:
    """Injectivity: by a left inverse that ISL holds against the coordinates, else by ISL alone."""
    apart = "ISL: no two coordinates share a physical coordinate"
    axes = physical_coordinates(recipe, space)
    back = read_back(recipe, axes, space)
    if all(
        _first_difference(space, found, x) is None
        for found, x in zip(back, space.coordinates, strict=True)
    ):
        return Proof(ONE_TO_ONE, True, apart)
    relation = physical_map(recipe, space)
    if relation.is_injective():
        return Proof(ONE_TO_ONE, True, apart)
    pairs = relation.apply_range(relation.reverse())
    pairs = pairs.intersect(isl.Map.lex_lt(pairs.get_space().domain()))
    point, rank = _point(pairs.wrap().lexmin()), len(space.variables)
    both = (point[:rank], point[rank:])
    return Proof(ONE_TO_ONE, False, f"{both[0]} and {both[1]} share an offset", both)


def _onto(recipe: Recipe, space: Space) -> Proof:
    """Onto-ness of a map that is injective, by counting, once its image is in the box."""
    axes = physical_coordinates(recipe, space)
    wrong = outside(axes, recipe.physical_shape, space)
    if wrong is not None:
        at = _point(wrong.lexmin())
        return Proof(ONTO, False, f"the element at {at} lies outside of the buffer", at)
    padding = recipe.size - prod(recipe.shape)
    if padding == 0:
        return Proof(ONTO, True, "as many offsets as elements", padding=0)
    first = recipe.size - recipe.tail_padding
    found = first_padding(recipe, space.context)
    if found is not None:
        point = _point(found)
        if reaches(recipe, point, space.context):
            return Proof(ONTO, None, f"an element lies at {point}, taken for padding")
        first = linear_index(point, recipe.physical_shape, 0)
    reason = f"{padding} of {recipe.size} offsets hold padding, the first is {first}"
    return Proof(ONTO, False, reason, first, padding=padding)


def _first_difference(space: Space, one: isl.Aff, other: isl.Aff) -> tuple[int, ...] | None:
    """Where in the space two functions differ: the lexicographically first point, if there is one.

    Of an unbounded space it is some point.
    """
    difference = one.sub(other).to_pw_aff().intersect_domain(space.domain.to_set())
    wrong = difference.non_zero_set()
    if wrong.is_empty():
        return None
    return _point(wrong.lexmin() if wrong.is_bounded() else wrong)


def _point(single: isl.Set) -> tuple[int, ...]:
    """The coordinates of a set that holds one point."""
    point = single.sample_point()
    return tuple(
        point.get_coordinate_val(isl.dim_type.set, k).to_python()
        for k in range(single.dim(isl.dim_type.set))
    )
