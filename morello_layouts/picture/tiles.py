"""The tiles of a layout, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from morello_layouts.recipe import (
    Merge,
    Recipe,
    Split,
    Transpose,
    delinearize,
    known,
    logical_coordinates,
)


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

    Splits in a row, and the transpose after them, are one tiling; it has several levels where an
    axis is split several times. A part of an axis makes tiles only if it varies slower than what
    is left of the axis: to bring the even indices before the odd ones is a split too, but no tile
    lies in one piece after it.

    >>> from morello_layouts.recipe import Pad
    >>> once = (Pad((4, 8)), Split((2, 4)), Transpose((0, 2, 1, 3)))
    >>> twice = (Split((None, None, 2, 1)), Transpose((0, 1, 2, 4, 3, 5)))
    >>> [str(level) for level in levels_of(Recipe((4, 8), once + twice))]
    ['2x4', '2x1']
    """
    return tuple(_levels(recipe))


def _levels(recipe: Recipe) -> Iterator[Level]:
    steps, k = recipe.steps, 0
    while k < len(steps):
        if not isinstance(steps[k], Split):
            k += 1
            continue
        spans = [[n] for n in known(recipe.shapes[k])]
        while k < len(steps) and isinstance(step := steps[k], Split):
            tiles = iter(step.tiles)
            spans = [[m for n in span for m in _parts(n, next(tiles))] for span in spans]
            k += 1
        split, count = k, sum(map(len, spans))
        order: Sequence[int] = range(count)
        if k < len(steps) and isinstance(step := steps[k], Transpose):
            order, k = step.order, k + 1
        places = _by_span([order.index(axis) for axis in range(count)], spans)
        for cut in _cuts(spans, places):
            sizes = tuple(
                prod(n for n, place in zip(span, at, strict=True) if place >= cut)
                for span, at in zip(spans, places, strict=True)
                if len(span) > 1 or at[0] >= cut
            )
            if prod(sizes) > 1:
                yield Level(split, k, cut, sizes)


def _parts(n: int, tile: int | None) -> tuple[int, ...]:
    return (n,) if tile is None else (n // tile, tile)


def _by_span(places: list[int], spans: list[list[int]]) -> list[list[int]]:
    left = iter(places)
    return [[next(left) for _ in span] for span in spans]


def _cuts(spans: list[list[int]], places: list[list[int]]) -> list[int]:
    """After how many axes in memory tiles are told apart, for each level of one tiling."""
    cuts: list[int] = []
    for j in range(max(map(len, spans), default=1) - 1):
        heads = [at[j] for at in places if len(at) > j + 1 and at[: j + 1] == sorted(at)[: j + 1]]
        if heads and (not cuts or max(heads) + 1 > cuts[-1]):
            cuts.append(max(heads) + 1)
    # Of what is split twice the parts that lie innermost are one more level, such as words.
    inner = {at[k]: len(at) for n, at in zip(spans, places, strict=True) for k in _large(n)}
    innermost = max(inner, default=0)
    if cuts and cuts[-1] < innermost and inner[innermost] > 2:
        cuts.append(innermost)
    return cuts


def _large(span: list[int]) -> list[int]:
    """The parts of an axis that have more than one index."""
    return [k for k, n in enumerate(span) if n > 1]


def tile_numbers(recipe: Recipe, level: Level, offsets: NDArray[Any]) -> list[tuple[int, ...]]:
    """The number of the tile that each offset lies in; offsets in the tail padding have none."""
    rest = Recipe(recipe.shapes[level.stage], recipe.steps[level.stage :])
    at, _ = logical_coordinates(rest, delinearize(offsets, recipe.physical_shape))
    columns = [np.broadcast_to(x, offsets.shape).tolist() for x in at[: level.cut]]
    return list(zip(*columns, strict=True)) if columns else [()] * len(offsets)


@dataclass(frozen=True)
class OutermostTiles:
    """The blocks that a recipe's first splits make.

    >>> from morello_layouts.recipe import Pad
    >>> recipe = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> tiles = OutermostTiles(recipe)
    >>> tiles.extents, tiles.sizes
    ((4, 6), (2, 2))
    """

    recipe: Recipe

    @cached_property
    def first(self) -> int | None:
        """The position of the first split, None where nothing is split."""
        splits = (k for k, step in enumerate(self.recipe.steps) if isinstance(step, Split))
        return next(splits, None)

    @cached_property
    def _before(self) -> Recipe:
        """What happens before the first split."""
        return Recipe(self.recipe.shape, self.recipe.steps[: self.first or 0])

    @cached_property
    def _blocks(self) -> tuple[int | None, ...]:
        """For each axis before the first split the size of its outermost block, None if whole.

        Splits in a row are one level: what leads after the last of them is the outermost index.
        It makes tiles only if it varies slower than what is left: to bring the even indices
        before the odd ones is a split too, but no tile lies in one piece after it.
        """
        if self.first is None:
            return ()
        spans = [[n] for n in known(self._before.physical_shape)]
        end = self.first
        while end < len(self.recipe.steps) and isinstance(step := self.recipe.steps[end], Split):
            tiles = iter(step.tiles)
            spans = [[m for n in span for m in _parts(n, next(tiles))] for span in spans]
            end += 1
        after = self.recipe.steps[end : end + 1]
        count = sum(map(len, spans))
        order = after[0].order if after and isinstance(after[0], Transpose) else range(count)
        axes = iter(range(count))
        return tuple(_block(span, [order.index(next(axes)) for _ in span]) for span in spans)

    @cached_property
    def _axis_of_dim(self) -> tuple[int | None, ...]:
        """Each logical dimension's axis before the first split, None where it is joined."""
        axes: list[tuple[int, ...]] = [(dim,) for dim in range(len(self.recipe.shape))]
        for step in self._before.steps:
            if isinstance(step, Transpose):
                axes = [axes[axis] for axis in step.order]
            elif isinstance(step, Merge):
                groups = step.groups(range(len(axes)))
                axes = [tuple(dim for axis in group for dim in axes[axis]) for group in groups]
        alone = {dims[0]: axis for axis, dims in enumerate(axes) if len(dims) == 1}
        return tuple(alone.get(dim) for dim in range(len(self.recipe.shape)))

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """Sizes of the array with the padding that completes its outermost tiles."""
        padded = known(self._before.physical_shape)
        return tuple(
            n if axis is None or self.first is None else padded[axis]
            for n, axis in zip(known(self.recipe.shape), self._axis_of_dim, strict=True)
        )

    @cached_property
    def sizes(self) -> tuple[int | None, ...]:
        """Sizes of the outermost tiles along each logical dimension, None where it is whole."""
        blocks = self._blocks or (None,) * len(self._before.physical_shape)
        return tuple(None if axis is None else blocks[axis] for axis in self._axis_of_dim)


def _block(span: Sequence[int], places: Sequence[int]) -> int | None:
    """The block of an axis split into ``span``, whose parts lie at these places in memory."""
    return prod(span[1:]) if len(span) > 1 and places[0] == min(places) else None
