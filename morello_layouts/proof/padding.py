"""Where a buffer holds padding: the first slot that no element reaches.

The recipe read backwards says at which physical coordinates there is padding; ISL finds the first
of them, and judges by the relation itself that nothing reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from morello_layouts.proof.relation import Space, physical_coordinates
from morello_layouts.recipe import Recipe, logical_coordinates

__all__ = ["first_padding", "outside", "reaches", "read_back"]


@dataclass(frozen=True, slots=True)
class _Value:
    """A quasi-affine function with the operators that the reading of a recipe asks for."""

    function: isl.Aff
    space: Space

    def __add__(self, other: _Value) -> _Value:
        return _Value(self.function.add(other.function), self.space)

    def __mul__(self, factor: int) -> _Value:
        return _Value(self.function.scale_val(self.space.val(factor)), self.space)

    def __floordiv__(self, divisor: int) -> _Value:
        return _Value(self.function.scale_down_val(self.space.val(divisor)).floor(), self.space)

    def __mod__(self, modulus: int) -> _Value:
        return _Value(self.function.mod_val(self.space.val(modulus)), self.space)


def read_back(recipe: Recipe, axes: Sequence[isl.Aff], space: Space) -> list[isl.Aff]:
    """The logical coordinates that the recipe, read backwards, finds at physical ones."""
    values = [_Value(axis, space) for axis in axes]
    at, _ = logical_coordinates(recipe, values)
    return [x.function for x in at]


def outside(axes: Sequence[isl.Aff], sizes: Sequence[int], space: Space) -> isl.Set | None:
    """Coordinates at which a physical coordinate is not within its axis; None if there are none."""
    domain = space.domain.to_set()
    for axis, size in zip(axes, sizes, strict=True):
        value = axis.to_pw_aff().intersect_domain(domain)
        below = value.lt_set(space.number(0).to_pw_aff())
        beyond = value.ge_set(space.number(size).to_pw_aff())
        for wrong in (below, beyond):
            if not wrong.is_empty():
                return wrong
    return None


def first_padding(recipe: Recipe, context: Any) -> isl.Set | None:
    """The lexicographically first physical coordinate that holds padding; None where none does."""
    physical = Space.of(recipe.physical_shape, context)
    values = [_Value(function, physical) for function in physical.coordinates]
    _, limits = logical_coordinates(recipe, values)
    padding = isl.Set.empty(physical.domain.get_space())
    for value, size in limits:
        beyond = value.function.to_pw_aff().ge_set(physical.number(size).to_pw_aff())
        padding = padding.union(beyond.intersect(physical.domain.to_set()))
    return None if padding.is_empty() else padding.lexmin()


def reaches(recipe: Recipe, point: Sequence[int], context: Any) -> bool:
    """Whether an element lies at a physical coordinate, by the relation itself."""
    space = Space.of(recipe.shape, context)
    there = space.domain.to_set()
    for axis, at in zip(physical_coordinates(recipe, space), point, strict=True):
        there = there.intersect(axis.to_pw_aff().eq_set(space.number(at).to_pw_aff()))
    return not there.is_empty()
