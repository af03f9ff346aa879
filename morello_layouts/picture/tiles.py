"""The tiles of a layout, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from morello_layouts.recipe import (
    Recipe,
    Split,
    Transpose,
    delinearize,
    known,
    logical_coordinates,
)
from morello_layouts.recipe.digits import axes_of


@dataclass(frozen=True, slots=True)
class Level:
    """One level of tiles: cells whose leading axes agree after some steps are one tile.

    Attributes:
        split: after how many steps the tiles are split off.
        stage: after how many steps they are in the order of memory.
        cut: how many leading axes number the tiles then.
        sizes: of a tile, along the axes that were tiled.

    >>> print(Level(2, 3, 2, (2, 4)))
    2x4
    """

    split: int
    stage: int
    cut: int
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return "x".join(map(str, self.sizes))


def levels_of(recipe: Recipe) -> tuple[Level, ...]:
    """The levels, outermost first.

    One tiling has several levels if it splits an axis several times. A part of an axis makes tiles
    only if it varies slower than the rest of the axis: to bring the even indices before the odd
    ones is a split too, but no tile lies in one piece after it.

    >>> from morello_layouts.recipe import Pad
    >>> once = (Pad((4, 8)), Split((2, 4)), Transpose((0, 2, 1, 3)))
    >>> twice = (Split((None, None, 2, 1)), Transpose((0, 1, 2, 4, 3, 5)))
    >>> [str(level) for level in levels_of(Recipe((4, 8), once + twice))]
    ['2x4', '2x1']
    """
    return tuple(
        Level(tiling.split, tiling.end, cut, sizes)
        for tiling in _tilings(recipe)
        for cut in _cuts(tiling.spans)
        if prod(sizes := _sizes(tiling.spans, cut)) > 1
    )


class _Part(NamedTuple):
    """One part of a split axis: its place in memory, and its size."""

    place: int
    size: int


_Span = list[_Part]  # the parts of one axis, the one of the largest unit first


class _Tiling(NamedTuple):
    """Splits in a row, and the transpose after them.

    Attributes:
        start: the number of steps before the first split.
        split: the number of steps up to the last split.
        end: the number of steps with the transpose.
        spans: of each axis before the splits its parts.
    """

    start: int
    split: int
    end: int
    spans: list[_Span]


def _tilings(recipe: Recipe) -> Iterator[_Tiling]:
    steps, k = recipe.steps, 0
    while k < len(steps):
        start = k
        while k < len(steps) and isinstance(steps[k], Split):
            k += 1
        split = k
        if split == start:
            k += 1
            continue
        k += k < len(steps) and isinstance(steps[k], Transpose)
        yield _Tiling(start, split, k, _spans(Recipe(recipe.shapes[start], steps[start:k])))


def _spans(recipe: Recipe) -> list[_Span]:
    """The parts of each axis after splits and a transpose."""
    digits = [(place, digit) for place, (digit,) in enumerate(axes_of(recipe))]
    digits.sort(key=lambda pair: (-pair[1].unit, pair[1].is_zero))
    sizes = known(recipe.physical_shape)
    return [
        [_Part(place, sizes[place]) for place, digit in digits if digit.dim == axis]
        for axis in range(len(recipe.shape))
    ]


def _cuts(spans: Sequence[_Span]) -> list[int]:
    """The number of leading axes in memory that number the tiles, for each level of one tiling."""
    cuts: list[int] = []
    places = [[part.place for part in span] for span in spans]
    for j in range(max(map(len, spans), default=1) - 1):
        heads = [at[j] for at in places if len(at) > j + 1 and at[: j + 1] == sorted(at)[: j + 1]]
        if heads and (not cuts or max(heads) + 1 > cuts[-1]):
            cuts.append(max(heads) + 1)
    # Of what is split twice the parts that lie innermost are one more level, such as words.
    inner = {part.place: len(span) for span in spans for part in span if part.size > 1}
    innermost = max(inner, default=0)
    if cuts and cuts[-1] < innermost and inner[innermost] > 2:
        cuts.append(innermost)
    return cuts


def _sizes(spans: Sequence[_Span], cut: int) -> tuple[int, ...]:
    """Sizes of a tile, of the parts from the cut on, along the axes that were tiled."""
    return tuple(
        prod(part.size for part in span if part.place >= cut)
        for span in spans
        if len(span) > 1 or span[0].place >= cut
    )


def tile_numbers(recipe: Recipe, level: Level, offsets: NDArray[Any]) -> list[tuple[int, ...]]:
    """The number of the tile that each offset lies in; offsets in the tail padding have none."""
    rest = Recipe(recipe.shapes[level.stage], recipe.steps[level.stage :])
    at, _ = logical_coordinates(rest, delinearize(offsets, recipe.physical_shape))
    return coordinates_of(at[: level.cut], len(offsets))


def coordinates_of(axes: Sequence[Any], count: int) -> list[tuple[int, ...]]:
    """Return the coordinate of each of ``count`` places, from one array or int for each axis.

    >>> coordinates_of([np.array([0, 1]), 5], 2)
    [(0, 5), (1, 5)]
    """
    columns = [np.broadcast_to(x, (count,)).tolist() for x in axes]
    return list(zip(*columns, strict=True)) if columns else [()] * count


@dataclass(frozen=True)
class OutermostTiles:
    """The blocks that a recipe's first splits make.

    A dimension that is joined with another before them has no blocks of its own.

    >>> from morello_layouts.recipe import Pad
    >>> recipe = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> tiles = OutermostTiles(recipe)
    >>> tiles.extents, tiles.sizes
    ((4, 6), (2, 2))
    """

    recipe: Recipe

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """Sizes of the array with the padding that completes its outermost tiles."""
        return tuple(extent for extent, _ in self._dimensions)

    @cached_property
    def sizes(self) -> tuple[int | None, ...]:
        """Sizes of the outermost tiles along each logical dimension, None if it is whole."""
        return tuple(size for _, size in self._dimensions)

    @cached_property
    def _dimensions(self) -> list[tuple[int, int | None]]:
        found: list[tuple[int, int | None]] = [(n, None) for n in known(self.recipe.shape)]
        tiling = next(_tilings(self.recipe), None)
        if tiling is None:
            return found
        before = Recipe(self.recipe.shape, self.recipe.steps[: tiling.start])
        sizes = known(before.physical_shape)
        for axis, digits in enumerate(axes_of(before)):
            dims = {dim for digit in digits for dim in digit.dims}
            if len(dims) == 1:
                found[dims.pop()] = sizes[axis], _block(tiling.spans[axis])
        return found


def _block(span: _Span) -> int | None:
    """The size of an axis's outermost block; None if the axis is whole, or its blocks are not."""
    is_outermost = span[0].place == min(part.place for part in span)
    return prod(part.size for part in span[1:]) if len(span) > 1 and is_outermost else None
