"""Tiles in words, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello_layouts.words.axes import Axis
from morello_layouts.words.names import count, listed, times
from morello_layouts.xla import COMBINE

__all__ = ["TileLevel", "tile_levels"]


@dataclass(frozen=True, slots=True)
class TileLevel:
    """One tile of a list, and the axes that it acts on.

    Attributes:
        sizes: the tile's sizes without its stars.
        acted: the axes that it splits, joined where a star says so; one for each size.
        joined: the groups of axes that stars join.
        added: axes of size 1 that it adds, having more sizes than there are axes.
        previous: sizes of the tile before it; () for the first.
        after: all axes after it.
    """

    sizes: tuple[int, ...]
    acted: tuple[Axis, ...]
    joined: tuple[tuple[Axis, ...], ...]
    added: int
    previous: tuple[int, ...]
    after: tuple[Axis, ...]

    @property
    def is_inside(self) -> bool:
        """Whether it only rearranges elements within the tiles before it."""
        return 0 < len(self.sizes) <= len(self.previous) and not self.joined

    @property
    def counts(self) -> tuple[int | None, ...]:
        """Tiles along each axis."""
        return tuple(
            None if axis.size is None else -(-axis.size // t)
            for axis, t in zip(self.acted, self.sizes, strict=True)
        )

    def in_words(self) -> str:
        """What the tile does, one line."""
        sentences = [*self._joining(), self._tiling(), *self._padding()]
        return "; ".join(sentences)

    def _joining(self) -> list[str]:
        words = [
            f"takes {listed([axis.label for axis in group])} as one dimension"
            + ("" if (size := Axis.joined(group).size) is None else f" of {size:,}")
            for group in self.joined
        ]
        if self.added:
            words.insert(0, f"adds {count(self.added, 'leading dimension')} of 1")
        return words

    def _tiling(self) -> str:
        where = (
            f"({', '.join(map(_name, self.acted))})"
            if len(self.acted) > 1
            else _name(self.acted[0])
        )
        if all(t == 1 for t in self.sizes):
            return "blocks of one element: the order stays as it is"
        if not self.previous:
            tiles = "" if None in self.counts else f": {_tiles(self.counts)}"
            return f"{_blocks(self.sizes, 'tiles')} over {where}{tiles}"
        blocks = _blocks(self.sizes, "blocks")
        if self.is_inside:
            tile = times(self.previous)
            return f"within each tile of {tile}: {blocks} of {where}, each in one piece"
        across = self._across()
        if across is not None:
            axis, t = across
            return f"across tiles: {t} neighbours along {axis.label} interleaved element by element"
        return f"{blocks} over {where}"

    def _across(self) -> tuple[Axis, int] | None:
        """The one axis of whole tiles that it splits, and by how much; None if it does more."""
        split = [k for k, t in enumerate(self.sizes) if t > 1]
        if len(split) != 1 or split[0] >= len(self.sizes) - len(self.previous):
            return None
        return self.acted[split[0]], self.sizes[split[0]]

    def _padding(self) -> list[str]:
        words = [
            f"{_name(axis)} from {axis.size:,} to {-(-axis.size // t) * t:,}"
            for axis, t in zip(self.acted, self.sizes, strict=True)
            if axis.size is not None and axis.size % t
        ]
        return [f"pads {listed(words)}"] if words else []


def tile_levels(axes: Sequence[Axis], tiles: Sequence[Sequence[int]]) -> tuple[TileLevel, ...]:
    """What each tile of a list acts on, in order.

    >>> axes = (Axis("y", 32, (0,)), Axis("x", 256, (1,)))
    >>> for level in tile_levels(axes, ((8, 128), (2, 1))):
    ...     print(level.in_words())
    8 × 128 tiles over (y, x): 4 × 2 of them
    within each tile of 8 × 128: 2 × 1 blocks of (y%8, x%128), each in one piece
    """
    levels: list[TileLevel] = []
    current = tuple(axes)
    previous: tuple[int, ...] = ()
    for tile in tiles:
        level = _level(current, tile, previous)
        levels.append(level)
        current, previous = level.after, level.sizes
    return tuple(levels)


def _level(axes: tuple[Axis, ...], tile: Sequence[int], previous: tuple[int, ...]) -> TileLevel:
    added = max(0, len(tile) - len(axes))
    axes = (Axis("1", 1, ()),) * added + axes
    first = len(axes) - len(tile)
    groups: list[tuple[Axis, ...]] = []
    group: tuple[Axis, ...] = ()
    for axis, t in zip(axes[first:], tile, strict=True):
        group = (*group, axis)
        if t != COMBINE:
            groups.append(group)
            group = ()
    acted = tuple(map(Axis.joined, groups))
    sizes = tuple(t for t in tile if t != COMBINE)
    outer, inner = zip(*(a.split(t) for a, t in zip(acted, sizes, strict=True)), strict=True)
    joined = tuple(group for group in groups if len(group) > 1)
    return TileLevel(sizes, acted, joined, added, previous, (*axes[:first], *outer, *inner))


def _tiles(counts: Sequence[int | None]) -> str:
    if all(n == 1 for n in counts):
        return "one of them"
    return f"{times(counts)} of them"


def _blocks(sizes: Sequence[int], noun: str) -> str:
    return f"{noun} of {sizes[0]}" if len(sizes) == 1 else f"{times(sizes)} {noun}"


def _name(axis: Axis) -> str:
    return axis.label if axis.dims else "an added one"
