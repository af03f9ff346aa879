"""Random index expressions as layouts make them: tilings, reshapes, permutations and relayouts.

Each expression is written down as a compiler lowers it, without any simplification: a coordinate
is split with ``//`` and ``%``, a shape is linearised with ``*`` and ``+``. The inputs are the
coordinates of an array, or the offset in a buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Final, NamedTuple

from peers.tree import Case, Tree, size

__all__ = ["KINDS", "Axis", "Tiling", "cases"]

SIZES: Final = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 20, 24, 30, 32, 48, 60, 64, 96, 100)
SIZES_OF_ONE: Final = (*SIZES, 120, 128, 200, 240, 256, 360, 500, 512, 1000, 1024, 4096, 6000)
TILES: Final = (2, 2, 2, 3, 4, 4, 5, 6, 8, 8, 16, 32, 128)
LARGEST: Final = 400
"""Nodes of the largest tree; larger ones are drawn again."""


class Axis(NamedTuple):
    """A coordinate and its size."""

    at: Tree
    size: int


Axes = list[Axis]


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many cases, the same ones for the same seed."""
    random = Random(seed)
    for k in range(count):
        kind = random.choice(list(KINDS))
        yield _case(f"{seed}.{k}", kind, random)


def _case(name: str, kind: str, random: Random) -> Case:
    while True:
        axes, tree = KINDS[kind](random)
        if size(tree) <= LARGEST:
            bounds = {str(a.at): (0, a.size - 1) for a in axes}
            return Case(name, kind, tree, bounds)


def _times(tree: Tree, n: int) -> Tree:
    return tree if n == 1 or tree == 0 else ("*", tree, n)


def _plus(a: Tree, b: Tree) -> Tree:
    return b if a == 0 else ("+", a, b)


def split(axis: Axis, tile: int) -> tuple[Axis, Axis]:
    """The number of the tile, and the place in it; the last tile may be padded."""
    tiles = -(-axis.size // tile)
    return Axis(("//", axis.at, tile), tiles), Axis(("%", axis.at, tile), tile)


def merge(axes: Sequence[Axis]) -> Axis:
    """Row-major linearisation."""
    total = axes[0].at
    for axis in axes[1:]:
        total = _plus(_times(total, axis.size), axis.at)
    return Axis(total, prod(a.size for a in axes))


def unmerge(axis: Axis, sizes: Sequence[int]) -> Axes:
    """Row-major coordinates of an offset."""
    found, rest = [], axis.at
    for n in reversed(sizes[1:]):
        found.append(Axis(("%", rest, n) if n > 1 else 0, n))
        rest = ("//", rest, n) if n > 1 else rest
    return [Axis(rest, sizes[0]), *reversed(found)]


def shuffled(axes: Sequence[Axis], random: Random) -> Axes:
    """The axes in another order."""
    return random.sample(list(axes), len(axes))


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tiled layout of an array, in the manner of XLA.

    Attributes:
        shape: logical sizes.
        order: the dimensions, most major first.
        tiles: each tile cuts the last axes that there are; what it does not divide is padded.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...]

    @staticmethod
    def draw(shape: Sequence[int], random: Random) -> Tiling:
        """Zero to three levels of tiles over one or two axes."""
        rank = len(shape)
        levels = []
        for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3))):
            cut = random.randint(1, min(2, rank))
            levels.append(tuple(random.choice(TILES) for _ in range(cut)))
        order = tuple(random.sample(range(rank), rank))
        if random.random() < 0.5:
            order = tuple(range(rank))
        return Tiling(tuple(shape), order, tuple(levels))

    @property
    def sizes(self) -> list[list[int]]:
        """Physical sizes before each tile, and after the last."""
        found = [[self.shape[k] for k in self.order]]
        for tile in self.tiles:
            kept, cut = found[-1][: -len(tile)], found[-1][-len(tile) :]
            found.append([*kept, *(-(-n // t) for n, t in zip(cut, tile, strict=True)), *tile])
        return found

    @property
    def buffer(self) -> int:
        """Slots of the buffer, padding included."""
        return prod(self.sizes[-1])

    def offset(self, axes: Sequence[Axis]) -> Tree:
        """The offset of the element at logical coordinates."""
        found = [axes[k] for k in self.order]
        for tile in self.tiles:
            kept, cut = found[: -len(tile)], found[-len(tile) :]
            pairs = [split(axis, t) for axis, t in zip(cut, tile, strict=True)]
            found = [*kept, *(high for high, _ in pairs), *(low for _, low in pairs)]
        return merge(found).at

    def coordinates(self, offset: Tree) -> Axes:
        """The logical coordinates of what lies at an offset; they run over into the padding."""
        found = [a.at for a in unmerge(Axis(offset, self.buffer), self.sizes[-1])]
        for tile in reversed(self.tiles):
            k = len(tile)
            high, low = found[-2 * k : -k], found[-k:]
            joined = [_plus(_times(h, t), x) for h, t, x in zip(high, tile, low, strict=True)]
            found = [*found[: -2 * k], *joined]
        logical: dict[int, Tree] = dict(zip(self.order, found, strict=True))
        return [Axis(logical[k], n) for k, n in enumerate(self.shape)]


def odd_even(axis: Axis, n: int) -> Axes:
    """Blocks of n, in each the even places first; n is even."""
    block, place = split(axis, n)
    high, low = split(place, 2)
    return [block, low, high]


def _shape(random: Random) -> list[int]:
    rank = random.choice((1, 1, 2, 2, 2, 3, 3, 4))
    return [random.choice(SIZES_OF_ONE if rank == 1 else SIZES) for _ in range(rank)]


def _arrays(shape: Sequence[int]) -> Axes:
    return [Axis(name, n) for name, n in zip("ijkl", shape, strict=False)]


def _factors(n: int, parts: int, random: Random) -> list[int]:
    """A random way to write n as a product."""
    found, p = [1] * parts, 2
    while n > 1:
        while n % p:
            p += 1
        found[random.randrange(parts)] *= p
        n //= p
    return [f for f in found if f > 1] or [1]


def _walk(axes: Axes, random: Random) -> Axes:
    """One to four steps: tile, reshape, permute, odd-even, or linearise and split again."""
    for _ in range(random.choice((1, 1, 2, 2, 3, 4))):
        match random.choice(("tile", "tile", "reshape", "permute", "odd-even", "again")):
            case "tile":
                high, low = split(axes[-1], random.choice(TILES))
                axes = [*axes[:-1], high, low]
            case "reshape":
                whole = merge(axes)
                axes = unmerge(whole, _factors(whole.size, random.choice((1, 2, 3)), random))
            case "permute":
                axes = shuffled(axes, random)
            case "odd-even":
                k = random.randrange(len(axes))
                axes = [*axes[:k], *odd_even(axes[k], random.choice((4, 8, 16))), *axes[k + 1 :]]
            case _:
                axes = unmerge(merge(axes), [a.size for a in axes])
    return shuffled(axes, random) if random.random() < 0.5 else axes


def _tiled(random: Random) -> tuple[Axes, Tree]:
    axes = _arrays(_shape(random))
    return axes, Tiling.draw([a.size for a in axes], random).offset(axes)


def _walk_of_coordinates(random: Random) -> tuple[Axes, Tree]:
    axes = _arrays(_shape(random))
    return axes, merge(_walk(axes, random)).at


def _walk_of_offset(random: Random) -> tuple[Axes, Tree]:
    shape = _shape(random)
    p = Axis("p", prod(shape))
    return [p], merge(_walk(unmerge(p, shape), random)).at


def _relayout(random: Random) -> tuple[Axes, Tree]:
    shape = _shape(random)
    a, b = Tiling.draw(shape, random), Tiling.draw(shape, random)
    return [Axis("p", a.buffer)], b.offset(a.coordinates("p"))


def _coordinate(random: Random) -> tuple[Axes, Tree]:
    a = Tiling.draw(_shape(random), random)
    return [Axis("p", a.buffer)], random.choice(a.coordinates("p")).at


def _reshaped(random: Random) -> tuple[Axes, Tree]:
    """Coordinates, to those of another shape, to the offset in a tiled layout of that one."""
    axes = _arrays(_shape(random))
    whole = merge(axes)
    sizes = _factors(whole.size, random.choice((1, 2, 3, 4)), random)
    return axes, Tiling.draw(sizes, random).offset(unmerge(whole, sizes))


def _there_and_back(random: Random) -> tuple[Axes, Tree]:
    """A coordinate, through the offset in a tiled layout."""
    axes = _arrays(_shape(random))
    a = Tiling.draw([x.size for x in axes], random)
    return axes, random.choice(a.coordinates(a.offset(axes))).at


KINDS: Final[dict[str, Callable[[Random], tuple[Axes, Tree]]]] = {
    "tiled": _tiled,
    "walk of coordinates": _walk_of_coordinates,
    "walk of an offset": _walk_of_offset,
    "relayout": _relayout,
    "coordinate of an offset": _coordinate,
    "reshaped and tiled": _reshaped,
    "there and back": _there_and_back,
}
