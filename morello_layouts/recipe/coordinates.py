"""The reading of a recipe that maps a logical coordinate to a physical one.

It asks of a coordinate only ``//``, ``%``, ``*`` and ``+``, so the same lines serve Python ints,
NumPy arrays and symbolic linear forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from morello_layouts.expr.size import Number
from morello_layouts.recipe.steps import Merge, Pad, Recipe, Split, Transpose

__all__ = ["linear_index", "physical_coordinates"]


class Arithmetic(Protocol):
    """What a coordinate must be able to do."""

    def __add__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Arithmetic)


def physical_coordinates(recipe: Recipe, coordinate: Sequence[T], zero: T) -> tuple[T, ...]:
    """The coordinate over the physical axes of the element at a logical coordinate.

    Args:
        recipe: the layout at its shape.
        coordinate: one value for each logical dimension.
        zero: the zero of the coordinate's kind (the coordinate of an axis that a merge makes).

    >>> from morello_layouts.recipe.steps import Pad, Split, Transpose
    >>> tiled = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> physical_coordinates(tiled, (2, 3), 0)
    (1, 1, 0, 1)
    """
    at = list(coordinate)
    for step, shape in zip(recipe.steps, recipe.shapes, strict=False):
        match step:
            case Pad():
                pass
            case Split(tiles):
                at = [
                    part
                    for x, t in zip(at, tiles, strict=True)
                    for part in ((x,) if t is None else (x // t, x % t))
                ]
            case Transpose(order):
                at = [at[axis] for axis in order]
            case Merge():
                runs = step.groups(range(len(at)))
                at = [linear_index([at[i] for i in r], [shape[i] for i in r], zero) for r in runs]
    return tuple(at)


def linear_index(coordinate: Sequence[T], sizes: Sequence[Number], zero: T) -> T:
    """The row-major position of a coordinate in a box: ``(…(c0·n1 + c1)·n2 + …)``.

    >>> linear_index((1, 1, 0, 1), (2, 3, 2, 2), 0)
    17
    """
    total: Any = None
    for x, n in zip(coordinate, sizes, strict=True):
        total = x if total is None else total * n + x
    return zero if total is None else total
