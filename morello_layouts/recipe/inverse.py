"""The reading of a recipe backwards: from a physical coordinate to the logical one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from morello_layouts.expr.size import Number
from morello_layouts.recipe.steps import Merge, Pad, Recipe, Shape, Split, Transpose

__all__ = ["delinearize", "logical_coordinates"]


def logical_coordinates(
    recipe: Recipe, physical: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[tuple[Any, Number], ...]]:
    """The logical coordinate at a physical one, and what makes that an element, not padding.

    Returns:
        The coordinate, and pairs (x, n): the place holds an element where every x < n. Like
        :func:`physical_coordinates` it works on ints, arrays and forms.

    >>> from morello_layouts.recipe.steps import Pad, Split, Transpose
    >>> tiled = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> logical_coordinates(tiled, (1, 1, 0, 1))
    ((2, 3), ((2, 3), (3, 5)))
    """
    at = list(physical)
    limits: list[tuple[Any, Number]] = []
    for step, before in reversed(list(zip(recipe.steps, recipe.shapes, strict=False))):
        match step:
            case Pad(sizes):
                axes = zip(at, before, sizes, strict=True)
                limits += [(x, n) for x, n, padded in axes if n != padded]
            case Split(tiles):
                parts = iter(at)
                at = [next(parts) if t is None else next(parts) * t + next(parts) for t in tiles]
            case Transpose(order):
                at = [at[order.index(axis)] for axis in range(len(order))]
            case Merge():
                groups = zip(at, step.groups(before), strict=True)
                at = [digit for x, sizes in groups for digit in delinearize(x, sizes)]
    return tuple(at), tuple(limits)


def delinearize(position: Any, sizes: Shape) -> tuple[Any, ...]:
    """The coordinate at a row-major position in a box: the inverse of ``linear_index``.

    >>> delinearize(17, (2, 3, 2, 2))
    (1, 1, 0, 1)
    """
    digits: list[Any] = []
    for size in reversed(sizes[1:]):
        digits.append(position % size)
        position = position // size
    return (position, *reversed(digits)) if sizes else ()
