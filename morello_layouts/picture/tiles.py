"""What a picture needs of a recipe: outermost tiles, and how far tiles reach past the array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from morello_layouts.recipe import (
    Merge,
    Recipe,
    Split,
    Transpose,
    known,
)

__all__ = ["OutermostTiles"]


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


def _parts(n: int, tile: int | None) -> tuple[int, ...]:
    return (n,) if tile is None else (n // tile, tile)


def _block(span: Sequence[int], places: Sequence[int]) -> int | None:
    """The block of an axis split into ``span``, whose parts lie at these places in memory."""
    return prod(span[1:]) if len(span) > 1 and places[0] == min(places) else None
