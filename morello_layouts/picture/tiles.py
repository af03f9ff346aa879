"""The tiles of a layout, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from morello_layouts.recipe import Recipe, Split, Transpose, delinearize, known, logical_coordinates
from morello_layouts.recipe.digits import axes_of, has_digits
from morello_layouts.recipe.views import Column, filled

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Level:
    """One level of tiles: cells whose leading axes agree after some steps are one tile.

    >>> print(Level(2, 3, 2, (2, 4)))
    2x4
    """

    split: int  #: the number of steps after which the tiles are split off.
    stage: int  #: the number of steps after which they are in the order of memory.
    cut: int  #: the number of leading axes that number the tiles then.
    sizes: tuple[int, ...]  #: sizes of a tile, along the axes that were tiled.

    def __str__(self) -> str:
        return "x".join(map(str, self.sizes))


def levels_of(recipe: Recipe) -> tuple[Level, ...]:
    """Return the levels, outermost first.

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
        Level(split, end, cut, sizes)
        for _, split, end, axes in _tilings(recipe)
        for cut in _cuts(axes)
        if prod(sizes := _sizes(axes, cut)) > 1
    )


_Parts: TypeAlias = list[tuple[int, int]]
"""The parts of one axis, from the largest unit on: the place of each in memory, and its size."""


def _tilings(recipe: Recipe) -> Iterator[tuple[int, int, int, list[_Parts]]]:
    """Yield runs of splits and the transpose after them, with the parts of each axis before them.

    A run is given by three numbers of steps: before it, up to its last split, and to its end.
    Scattered elements have no tiles.
    """
    steps, end = recipe.steps, 0
    if not has_digits(recipe):
        return
    for is_split, group in groupby(steps, lambda step: isinstance(step, Split)):
        start, end = end, end + len(list(group))
        if is_split:
            last = end + (end < len(steps) and isinstance(steps[end], Transpose))
            yield start, end, last, _parts(Recipe(recipe.shapes[start], steps[start:last]))


def _parts(recipe: Recipe) -> list[_Parts]:
    """The parts of each axis after splits and a transpose."""
    digits = [(place, digit) for place, (digit,) in enumerate(axes_of(recipe))]
    digits.sort(key=lambda pair: (-pair[1].unit, pair[1].is_zero))
    sizes = known(recipe.physical_shape)
    return [
        [(place, sizes[place]) for place, digit in digits if digit.dim == axis]
        for axis in range(len(recipe.shape))
    ]


def _cuts(axes: Sequence[_Parts]) -> list[int]:
    """The number of leading axes in memory that number the tiles, for each level of one tiling."""
    cuts: list[int] = []
    places = [[place for place, _ in parts] for parts in axes]
    for j in range(max(map(len, places), default=1) - 1):
        heads = [at[j] for at in places if len(at) > j + 1 and at[: j + 1] == sorted(at)[: j + 1]]
        if heads and (not cuts or max(heads) + 1 > cuts[-1]):
            cuts.append(max(heads) + 1)
    # The innermost parts of an axis that is split twice are one more level, such as words.
    inner = {place: len(parts) for parts in axes for place, size in parts if size > 1}
    innermost = max(inner, default=0)
    if cuts and cuts[-1] < innermost and inner[innermost] > 2:
        cuts.append(innermost)
    return cuts


def _sizes(axes: Sequence[_Parts], cut: int) -> tuple[int, ...]:
    """Sizes of a tile, of the parts from the cut on, along the axes that were tiled."""
    return tuple(
        prod(size for place, size in parts if place >= cut)
        for parts in axes
        if len(parts) > 1 or parts[0][0] >= cut
    )


def within_axes(recipe: Recipe, offsets: Sequence[int]) -> list[int]:
    """Return the offsets that are not in the padding before or behind the axes."""
    start, tail, size = known((recipe.offset, recipe.tail_padding, recipe.size))
    return [p for p in offsets if start <= p < size - tail]


def tile_numbers(recipe: Recipe, level: Level, offsets: list[int]) -> list[tuple[int, ...]]:
    """Return the number of the tile of each offset; all are within the axes."""
    rest = Recipe(recipe.shapes[level.stage], recipe.steps[level.stage :])
    (start,) = known((recipe.offset,))
    at, _ = logical_coordinates(rest, delinearize(Column(offsets) - start, recipe.physical_shape))
    columns = [filled(x, len(offsets)) for x in at[: level.cut]]
    return list(zip(*columns, strict=True)) if columns else [()] * len(offsets)


@dataclass(frozen=True, slots=True)
class OutermostTiles:
    """The blocks that a recipe's first splits make.

    A dimension that is joined with another before them has no blocks of its own.

    >>> from morello_layouts.recipe import Pad
    >>> recipe = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> OutermostTiles.of(recipe)
    OutermostTiles(extents=(4, 6), sizes=(2, 2))
    """

    #: sizes of the array with the padding that completes its outermost tiles.
    extents: tuple[int, ...]
    #: sizes of the outermost tiles along each logical dimension, None if it is whole.
    sizes: tuple[int | None, ...]

    @staticmethod
    def of(recipe: Recipe) -> OutermostTiles:
        """Return the outermost tiles of a recipe of known sizes."""
        extents: list[int] = list(known(recipe.shape))
        sizes: list[int | None] = [None] * len(extents)
        (tail,) = known((recipe.tail_padding,))
        for start, _, _, axes in islice(() if tail < 0 else _tilings(recipe), 1):
            before = Recipe(recipe.shape, recipe.steps[:start])
            for digits, parts in zip(axes_of(before), axes, strict=True):
                dims = {dim for digit in digits for dim in digit.dims}
                if len(dims) == 1:
                    dim, (outermost, *inner) = dims.pop(), parts
                    extents[dim] = prod(size for _, size in parts)
                    if inner and outermost < min(inner):
                        sizes[dim] = prod(size for _, size in inner)
        return OutermostTiles(tuple(extents), tuple(sizes))
