"""XLA's document "Tiled layout" in integers, read apart from the rest of the package.

``verify`` compares everything with it, so it imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

COMBINE: Final = -1
"""A tile's ``*``: combine this dimension with the next more minor one."""


def by_tiles(
    coordinate: Sequence[int],
    shape: Sequence[int],
    minor_to_major: Sequence[int],
    tiles: Sequence[Sequence[int]],
    tail: int,
) -> tuple[int, int]:
    """Return an element's offset and the buffer's size.

    >>> by_tiles((2, 3), (3, 5), (1, 0), [(2, 2)], 32)
    (17, 32)
    """
    axes = [(coordinate[k], shape[k]) for k in reversed(minor_to_major)]
    for tile in tiles:
        axes = [(0, 1)] * (len(tile) - len(axes)) + axes
        first = len(axes) - len(tile)
        at, size = 0, 1
        tiled, within = axes[:first], []
        for (x, n), t in zip(axes[first:], tile, strict=True):
            at, size = at * n + x, size * n
            if t != COMBINE:
                tiled.append((at // t, (size + t - 1) // t))
                within.append((at % t, t))
                at, size = 0, 1
        axes = tiled + within
    offset, size = 0, 1
    for x, n in axes:
        offset, size = offset * n + x, size * n
    if tiles and size % tail:
        size += tail - size % tail
    return offset, size
