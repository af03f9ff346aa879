"""A tile of an array that grows from its lowest bits on, as Triton's rules describe layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Vector: TypeAlias = tuple[int, ...]
"""A coordinate in an array."""

Vectors: TypeAlias = Sequence[Vector]


class Tile:
    """Bases of registers, lanes, warps and blocks, or of offsets, and the tile that they cover.

    >>> tile = Tile(2).spread("register", 2, dim=1)
    >>> tile = tile.spread("lane", 4, dim=1).spread("lane", 2, dim=0)
    >>> tile.bases["lane"], tile.sizes
    ([(0, 2), (0, 4), (1, 0)], [2, 8])
    """

    def __init__(self, rank: int, order: Sequence[int] = (), inner: str = "register") -> None:
        self.sizes = [1] * rank
        self.order = list(order) or list(range(rank))[::-1]
        """The dimensions in the order in which a small tile is repeated, the first one first."""
        self.inner = inner
        self.bases: dict[str, list[Vector]] = {inner: []}

    def spread(self, name: str, count: int, dim: int) -> Tile:
        """Put so many tiles side by side along a dimension: one each for another ``name``."""
        for _ in range(count.bit_length() - 1):
            self._add(name, _unit(len(self.sizes), dim, self.sizes[dim]))
            self.sizes[dim] *= 2
        return self

    def spread_all(self, name: str, counts: Sequence[int], order: Iterable[int]) -> Tile:
        """Spread along each dimension, in an order of them."""
        for dim in order:
            self.spread(name, counts[dim], dim)
        return self

    def repeat(self, name: str, count: int) -> Tile:
        """Give the tile to so many of a kind: they hold the same."""
        for _ in range(count.bit_length() - 1):
            self._add(name, (0,) * len(self.sizes))
        return self

    def times(self, bases: Mapping[str, Vectors]) -> Tile:
        """Arrange copies of the tile: bases count them along each dimension."""
        for name, vectors in bases.items():
            self.bases.setdefault(name, [])
            for vector in vectors:
                self._add(name, tuple(x * n for x, n in zip(vector, self.sizes, strict=True)))
        every = [vector for vectors in bases.values() for vector in vectors]
        counts = extents(every, len(self.sizes))
        self.sizes = [n * count for n, count in zip(self.sizes, counts, strict=True)]
        return self

    def fit(self, shape: Sequence[int]) -> Tile:
        """Repeat the tile up to a shape; where it is larger, several places hold one element."""
        for dim in self.order:
            self.spread(self.inner, max(shape[dim] // self.sizes[dim], 1), dim)
        for dim, n in enumerate(shape):
            while self.sizes[dim] > n:
                self.sizes[dim] //= 2
                for vectors in self.bases.values():
                    vectors[:] = [_without(v, dim, self.sizes[dim]) for v in vectors]
        return self

    def _add(self, name: str, vector: Vector) -> None:
        self.bases.setdefault(name, []).append(vector)


def extents(vectors: Iterable[Vector], rank: int) -> list[int]:
    """The sizes of the least box of powers of two that has the sums of all vectors.

    >>> extents([(1, 0), (4, 0)], 2)
    [8, 1]
    """
    return [1 << max((v[dim].bit_length() for v in vectors), default=0) for dim in range(rank)]


def reshaped(vector: Vector, shape: Sequence[int]) -> Vector:
    """The coordinate in a shape of a number counted in row-major order, then a last coordinate."""
    number, last = vector
    found = [last]
    for n in reversed(shape[:-1]):
        found.append(number % n)
        number //= n
    return tuple(reversed(found))


def _unit(rank: int, dim: int, value: int) -> Vector:
    return tuple(value if k == dim else 0 for k in range(rank))


def _without(vector: Vector, dim: int, value: int) -> Vector:
    return tuple(0 if k == dim and x == value else x for k, x in enumerate(vector))
