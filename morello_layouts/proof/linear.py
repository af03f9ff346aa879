"""Offsets of recipes that merge symbolic sizes, where what follows a merge changes nothing.

Tiles of one joined dimension, ``T(*,7)``, pad it at its end and leave every offset as it is. ISL
shows, in the coordinates after the merge, that the rest of the recipe is a sum of them times
strides; then the offset is that sum of the joined positions, and these are polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import islpy as isl

from morello_layouts.expr.size import Number, Size
from morello_layouts.proof.difference import Difference
from morello_layouts.proof.relation import physical_coordinates, row_major
from morello_layouts.proof.space import Parameters, Space
from morello_layouts.proof.stages import pieces
from morello_layouts.proof.value import NotAffineError, Value
from morello_layouts.recipe import Merge, Recipe

__all__ = ["linear_offset"]


def linear_offset(recipe: Recipe, parameters: Parameters, context: Any) -> Value:
    """The offset in the buffer, as a value over the recipe's own coordinates.

    Raises:
        NotAffineError: where what follows a merge of symbolic sizes is no such sum.
    """
    strides: Sequence[Number] | None = None
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
    at: Sequence[Value], piece: Recipe, merge: Merge, strides: Sequence[Number], space: Space
) -> Value:
    """The sum of the positions that a merge makes, times strides."""
    total = Value.of(space.number(0), space)
    sizes = piece.physical_shape
    for run, stride in zip(merge.groups(range(len(at))), strides, strict=True):
        position = row_major([at[k] for k in run], [sizes[k] for k in run], space)
        total = total + position * stride
    return total


def _strides(value: Value, space: Space) -> list[Number]:
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


def _at_unit(value: Value, k: int, space: Space) -> Number:
    """The value where one coordinate is 1 and all others are 0."""
    point = isl.Point.zero(space.domain.get_space())
    point = point.set_coordinate_val(isl.dim_type.set, k, space.val(1))
    total: Number = 0
    for monomial, function in value.parts.items():
        factor: int = function.eval(point).to_python()
        total = total + (Size(((monomial, factor),)) if monomial and factor else factor)
    return total
