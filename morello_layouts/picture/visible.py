"""Which indices of a long axis a picture shows."""

from __future__ import annotations

__all__ = ["GAP", "visible_in_tiles", "visible_indices"]

GAP = None
"""Stands among indices where some are left out."""


def visible_indices(size: int, extent: int, tile: int | None, limit: int) -> tuple[int | None, ...]:
    """At most about ``limit`` indices of an axis, with GAP where some are left out.

    Args:
        size: elements along the axis.
        extent: the same with padding; of more than 3 the first and the last index are shown.
        tile: the size of the outermost tiles; the first border between two is shown.
        limit: how many entries there is room for, GAPs included; at least 5 are used.

    >>> visible_indices(200, 256, 128, 12)
    (0, 1, 2, 3, None, 127, 128, None, 199, 200, None, 255)
    >>> visible_indices(5, 128, 128, 12)
    (0, 1, 2, 3, 4, 5, None, 127)
    """
    limit = max(limit, 5)
    padding = _padding(size, extent, limit)
    room = limit - len(padding) - (len(padding) == 2 and extent - size > 2)
    if size <= room:
        return _with_gaps([*range(size), *padding], extent)
    ends = {size - 1, *padding}
    border = {tile - 1, tile} if tile is not None and tile < size and room >= 7 else set()
    # A gap stands after the head, and one after the border.
    head = room - 2 - len(border) - bool(border)
    return _with_gaps(sorted({*range(max(head, 1)), *border, *ends}), extent)


def visible_in_tiles(
    size: int, extent: int, tile: int | None, limit: int
) -> tuple[int | None, ...]:
    """The same, but with the ends of every tile where tiles are few, and whole where it fits.

    >>> visible_in_tiles(16, 16, 8, 12)
    (0, 1, 2, 3, None, 7, 8, 9, 10, 11, None, 15)
    >>> visible_in_tiles(10, 16, 8, 16)
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    """
    if extent <= limit:
        return tuple(range(extent))
    count = 0 if tile is None else -(-extent // tile)
    each = limit // count if count else 0
    if tile is None or each < 5 or tile <= each:
        return visible_indices(size, extent, tile, limit)
    head = min(each - 2, 4)
    starts = range(0, count * tile, tile)
    ends = {start + tile - 1 for start in starts}
    heads = {start + k for start in starts for k in range(head)}
    edge = {size - 1, size} if size < extent else {size - 1}
    return _with_gaps(sorted(k for k in heads | ends | edge if k < extent), extent)


def _padding(size: int, extent: int, limit: int) -> list[int]:
    if extent - size <= 3 and limit > 8:
        return list(range(size, extent))
    return sorted({size, extent - 1}) if extent > size and limit > 8 else [size][: extent - size]


def _with_gaps(indices: list[int], extent: int) -> tuple[int | None, ...]:
    shown: list[int | None] = []
    for before, index in zip([-1, *indices], indices, strict=False):
        if index > before + 1:
            shown.append(GAP)
        shown.append(index)
    if indices and indices[-1] < extent - 1:
        shown.append(GAP)
    return tuple(shown)
