"""Questions about index maps, decided by ISL on relations made from the recipe.

They are decided on physical coordinates: row-major order of a box is one-to-one and onto, so what
holds there holds of offsets. With symbolic sizes the answer says for which of them it is yes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from math import prod
from typing import Any

import islpy as isl

from morello_layouts.errors import ShapeError
from morello_layouts.expr import Linear
from morello_layouts.expr.assumption import Assumption, merged
from morello_layouts.expr.size import Number
from morello_layouts.formula import IndexMap
from morello_layouts.proof.condition import Condition
from morello_layouts.proof.difference import Difference
from morello_layouts.proof.proof import AtSizes, Proof
from morello_layouts.proof.relation import offset_of_form, physical_coordinates
from morello_layouts.proof.space import Space, at_least
from morello_layouts.proof.stages import Stage, parameters_of, stages
from morello_layouts.proof.value import NotAffineError, differ, first_point, union
from morello_layouts.recipe import Recipe, Split, known, linear_index

__all__ = [
    "BUDGET",
    "are_equal",
    "are_equivalent",
    "is_bijective",
    "is_injective",
    "is_surjective",
    "within_budget",
]

BUDGET = 2_000_000
"""ISL operations that one question may take before it is called undecided; about a second."""

_MOST_AXES = 200  # logical and physical; the budget does not count the making of relations
_MOST_SPLITS = 40  # of axes, where places in memory are compared; popular layouts have up to 8


def _splits(m: IndexMap) -> int:
    """How many axes the recipe splits into more than one piece."""
    return sum(
        t not in (None, 1) for step in m.recipe.steps if isinstance(step, Split) for t in step.tiles
    )


def within_budget(question: str) -> Callable[[Callable[..., Proof]], Callable[..., Proof]]:
    """Ask in an ISL context of its own, with a budget; past it the answer is undecided."""

    def decorate(decide: Callable[..., Proof]) -> Callable[..., Proof]:
        @wraps(decide)
        def ask(*about: Any, budget: int | None = None) -> Proof:
            allowed = BUDGET if budget is None else budget
            maps = [m for m in about if isinstance(m, IndexMap)]
            if any(len(m.recipe.shape) + len(m.recipe.physical_shape) > _MOST_AXES for m in maps):
                return Proof(question, None, f"more than {_MOST_AXES} axes to relate")
            if question != ONE_TO_ONE and any(_splits(m) > _MOST_SPLITS for m in maps):
                return Proof(question, None, f"more than {_MOST_SPLITS} splits to compare")
            context = isl.Context()
            context.set_max_operations(allowed)
            try:
                answer = decide(*about, context=context)
            except isl.Error as error:
                if "maximal number of operations" not in str(error):
                    raise
                return Proof(question, None, f"ISL spent its budget of {allowed} operations")
            except NotAffineError as error:
                return Proof(question, None, f"{error.what}: {error.why}")
            assumed = merged(one for m in maps for one in m.assumptions)
            return replace(answer, assumptions=tuple(map(str, assumed)))

        return ask

    return decorate


ONE_TO_ONE = "do different coordinates have different offsets?"
ONTO = "does every offset hold an element?"
BOTH = "is the map one-to-one and onto its buffer?"
EQUAL = "do both expressions have the same value everywhere?"
SAME = "do both maps give every coordinate the same offset?"


@within_budget(ONE_TO_ONE)
def is_injective(m: IndexMap, *, context: Any) -> Proof:
    """Whether no two coordinates share an offset."""
    return _one_to_one(m, _stages(m, context))


@within_budget(ONTO)
def is_surjective(m: IndexMap, *, context: Any) -> Proof:
    """Whether every offset of the buffer holds an element: there is no padding."""
    pieces = _stages(m, context)
    injective = _one_to_one(m, pieces)
    if not injective.holds:
        return Proof(ONTO, None, f"not counted: {injective.reason}")
    return _onto(m, pieces)


@within_budget(BOTH)
def is_bijective(m: IndexMap, *, context: Any) -> Proof:
    """Whether coordinates and offsets of the buffer correspond one to one.

    Where they do not because of padding, the proof still says that no two coordinates share an
    offset, counts the padding, and gives its smallest offset.
    """
    pieces = _stages(m, context)
    injective = _one_to_one(m, pieces)
    if not injective.holds:
        return Proof(BOTH, False, injective.reason, injective.counterexample)
    onto = _onto(m, pieces)
    return replace(onto, question=BOTH, reason=f"{injective.reason}; {onto.reason}")


@within_budget(SAME)
def are_equivalent(a: IndexMap, b: IndexMap, *, context: Any) -> Proof:
    """Whether two maps over one shape give each coordinate the same offset.

    Raises:
        ShapeError: where the shapes differ.
    """
    if a.recipe.shape != b.recipe.shape:
        raise ShapeError(
            f"the maps have the shapes {a.shape} and {b.shape}",
            "maps are compared coordinate by coordinate, so over one shape",
            "give both at the same shape",
        )
    sizes = "" if a.size == b.size else f"; the buffers span {a.size} and {b.size} elements"
    difference = _difference(a, b, context)
    if not difference.space.parameters.monomials:
        at = difference.concrete
        if at.is_empty():
            return Proof(SAME, True, f"ISL: there is no coordinate at which they differ{sizes}")
        first = first_point(at)
        reason = f"at {first} the offsets are {a(*first)} and {b(*first)}{sizes}"
        return Proof(SAME, False, reason, first)
    equal, left = difference.for_sizes()
    found = Condition(equal, difference.space)
    if not left.is_empty() and found.is_never and left.is_equal(difference.space.sizes):
        return Proof(SAME, None, "the difference is a polynomial in sizes without one sign")
    return _for_sizes(SAME, found, (a, b), are_equivalent, more=sizes, open_for=left)


@within_budget(EQUAL)
def are_equal(a: Linear, b: Linear, *, context: Any) -> Proof:
    """Whether two expressions have the same value wherever their variables may be.

    A counterexample gives the variables' values by name.

    Raises:
        UnsupportedError: where a size is symbolic.
    """
    bounds = {v.name: v.interval for form in (a, b) for v in form.variables()}
    space = Space.within(bounds, context)
    wrong = differ(offset_of_form(a, space), offset_of_form(b, space), space.domain)
    if wrong.is_empty():
        return Proof(EQUAL, True, "ISL: there are no values at which they differ")
    values = dict(zip(bounds, first_point(wrong), strict=True))
    reason = f"at {values} they are {a.evaluate(values)} and {b.evaluate(values)}"
    return Proof(EQUAL, False, reason, values)


def _stages(m: IndexMap, context: Any) -> list[Stage]:
    return stages(m.recipe, parameters_of([m.recipe], m.assumptions), context)


def _one_to_one(m: IndexMap, pieces: Sequence[Stage]) -> Proof:
    """Injectivity: by a left inverse that ISL holds against the coordinates, else by ISL alone."""
    if prod(m.recipe.shape) == 0:
        return Proof(ONE_TO_ONE, True, "the array has no elements")
    for piece in pieces:
        if piece.collisions is not None:
            if m.recipe.names:
                return Proof(ONE_TO_ONE, False, "ISL: coordinates share a physical coordinate")
            point, rank = first_point(piece.collisions), len(m.recipe.shape)
            both = (point[:rank], point[rank:])
            return Proof(ONE_TO_ONE, False, f"{both[0]} and {both[1]} share an offset", both)
    reason = "ISL: no two coordinates share a physical coordinate"
    if m.recipe.names:
        always = Condition(pieces[0].space.sizes, pieces[0].space)
        return _always(Proof(ONE_TO_ONE, True, reason), always)
    return Proof(ONE_TO_ONE, True, reason)


def _always(proof: Proof, condition: Condition) -> Proof:
    return replace(proof, condition=condition.sympy({}), when=condition.words())


def _onto(m: IndexMap, pieces: Sequence[Stage]) -> Proof:
    """Onto-ness of a map that is injective."""
    if prod(m.recipe.shape) == 0:
        padding = m.padding
        reason = f"the array has no elements, the buffer has {padding}"
        return Proof(ONTO, padding == 0, reason, 0 if padding else None, padding=padding)
    for piece in pieces:
        if not piece.outside.is_empty():
            at = first_point(piece.outside) if not m.recipe.names else None
            reason = f"the element at {at} lies outside of the buffer"
            return Proof(ONTO, False, reason, at)
        if piece.misjudged:
            return Proof(ONTO, None, "an element lies where the recipe, read back, finds padding")
    if m.recipe.names:
        return _onto_for_sizes(m, pieces)
    size, elements = known((m.recipe.size, prod(m.recipe.shape)))
    if size == elements:
        return Proof(ONTO, True, "as many offsets as elements", padding=0)
    (piece,) = pieces
    first = size - m.recipe.tail_padding
    if not piece.padding.is_empty():
        first = linear_index(first_point(piece.padding), m.recipe.physical_shape, 0)
    reason = f"{size - elements} of {size} offsets hold padding, the first is {first}"
    return Proof(ONTO, False, reason, first, padding=size - elements)


def _onto_for_sizes(m: IndexMap, pieces: Sequence[Stage]) -> Proof:
    space = pieces[0].space
    failing = [piece.padding.params() for piece in pieces]
    failing.append(at_least(space.number(m.recipe.tail_padding), 1).params())
    holds = space.sizes.subtract(union(failing, space.sizes.get_space()))
    answer = _for_sizes(ONTO, Condition(holds, space), (m,), is_surjective)
    return replace(answer, padding=m.padding)


def _for_sizes(
    question: str,
    condition: Condition,
    maps: tuple[IndexMap, ...],
    ask: Callable[..., Proof],
    *,
    more: str = "",
    open_for: isl.Set | None = None,
) -> Proof:
    """The answer where the sizes decide, with the smallest sizes for which it is no."""
    named = {name: s for m in maps for name, s in m.size_symbols.items()}
    undecided = open_for is not None and not open_for.is_empty()
    words = condition.words()
    if condition.is_always:
        reason = f"ISL: {words}{more}"
        return Proof(question, True, reason, condition=condition.sympy(named), when=words)
    names = tuple(dict.fromkeys(name for m in maps for name in _names_in_order(m)))
    excluded = (
        condition if open_for is None else replace(condition, holds=condition.holds.union(open_for))
    )
    sizes = excluded.first_failure(names)
    counterexample = None
    if sizes is not None:
        concrete = ask(*(m.at(**{n: sizes[n] for n in m.recipe.names}) for m in maps))
        counterexample = AtSizes(sizes, concrete.counterexample)
        more = f"; at {_equations(sizes)}: {concrete.reason}"
    if undecided:
        return Proof(
            question,
            False if sizes is not None else None,
            f"ISL: {words.replace('exactly ', 'certainly ')}, other sizes are open{more}",
            counterexample,
        )
    return Proof(
        question,
        False,
        f"ISL: {words}{more}",
        counterexample,
        condition=condition.sympy(named),
        when=words,
    )


def _names_in_order(m: IndexMap) -> list[str]:
    """The names of sizes as they stand in the shape."""
    found = [name for n in m.recipe.shape if not isinstance(n, int) for name in sorted(n.names())]
    return list(dict.fromkeys((*found, *m.recipe.names)))


def _equations(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in sizes.items())


def _difference(a: IndexMap, b: IndexMap, context: Any) -> Difference:
    assumptions = merged((*a.assumptions, *b.assumptions))
    try:
        return _difference_of(a.recipe, b.recipe, assumptions, context)
    except NotAffineError:
        shared = _without_common_start(a.recipe, b.recipe)
        if shared is None:
            raise
        return _difference_of(*shared, assumptions, context)


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
