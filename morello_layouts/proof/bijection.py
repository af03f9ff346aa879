"""Whether a map is one-to-one and onto, decided by ISL on relations made from the recipe.

It is decided on physical coordinates: row-major order of a box is one-to-one and onto, so what
holds there holds of offsets. With symbolic sizes the answer says for which of them it is yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

from morello_layouts.formula import FormulaMap, IndexMap
from morello_layouts.proof import given
from morello_layouts.proof.asking import AnyMap, for_sizes, within_budget
from morello_layouts.proof.condition import Condition
from morello_layouts.proof.proof import Proof
from morello_layouts.proof.space import at_least
from morello_layouts.proof.stages import Stage, parameters_of, stages
from morello_layouts.proof.value import first_point, union
from morello_layouts.recipe import known, linear_index

__all__ = ["is_bijective", "is_injective", "is_surjective"]

ONE_TO_ONE: Final = "do different coordinates have different offsets?"
ONTO: Final = "does every offset hold an element?"
BOTH: Final = "is the map one-to-one and onto its buffer?"


@within_budget(ONE_TO_ONE, bounded_by_splits=False)
def is_injective(m: AnyMap, *, context: Any) -> Proof:
    """Whether no two coordinates share an offset."""
    if isinstance(m, FormulaMap):
        return given.is_injective(m, ONE_TO_ONE, context)
    return _one_to_one(m, _stages(m, context))


@within_budget(ONTO)
def is_surjective(m: AnyMap, *, context: Any) -> Proof:
    """Whether every offset of the buffer holds an element: there is no padding."""
    if isinstance(m, FormulaMap):
        return given.is_surjective(m, ONTO)
    pieces = _stages(m, context)
    injective = _one_to_one(m, pieces)
    if not injective.holds:
        return Proof(ONTO, None, f"not counted: {injective.reason}")
    return _onto(m, pieces)


@within_budget(BOTH)
def is_bijective(m: AnyMap, *, context: Any) -> Proof:
    """Whether coordinates and offsets of the buffer correspond one to one.

    Where they do not because of padding, the proof still says that no two coordinates share an
    offset, counts the padding, and gives its smallest offset.
    """
    if isinstance(m, FormulaMap):
        one_to_one = given.is_injective(m, BOTH, context)
        return given.is_surjective(m, BOTH) if one_to_one.holds else one_to_one
    pieces = _stages(m, context)
    injective = _one_to_one(m, pieces)
    if not injective.holds:
        return Proof(BOTH, False, injective.reason, injective.counterexample)
    onto = _onto(m, pieces)
    return replace(onto, question=BOTH, reason=f"{injective.reason}; {onto.reason}")


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
    answer = for_sizes(ONTO, Condition(holds, space), (m,), is_surjective)
    return replace(answer, padding=m.padding)
