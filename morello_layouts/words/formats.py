"""Names of popular XLA formats, and of dimension orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from morello_layouts.tpu import FORMATS

__all__ = ["format_name", "order_name"]

Tiles = tuple[tuple[int, ...], ...]

# The names that XLA's document "Tiled layout" gives them.
_FORMATS: Final[dict[Tiles, str]] = {each.tiles: each.title for each in FORMATS.values()}


def format_name(tiles: Tiles) -> str:
    """The document's name of a list of tiles; what kind it is where it has none.

    >>> format_name(((8, 128), (2, 1))), format_name(((2, 2),))
    ('TPU 16 bit tile format', 'tiled')
    """
    return _FORMATS.get(tiles, "tiled" if len(tiles) == 1 else "tiled repeatedly")


def order_name(major_to_minor: Sequence[int], sizes: Sequence[object], *, tiled: int = 0) -> str:
    """Row-major, column-major, or neither; what dimensions of size 1 leave open is ignored.

    Args:
        major_to_minor: logical dimensions in memory order, the slowest first.
        sizes: the logical sizes.
        tiled: how many of the most minor dimensions a tile acts on; there size 1 matters too.

    >>> order_name((1, 0, 2), (8, 1, 128)), order_name((1, 0), (6, 8))
    ('row-major but for dimensions of size 1', 'column-major')
    """
    order = list(major_to_minor)
    if len(order) < 2:
        return "one dimension" if order else "scalar"
    if order == sorted(order):
        return "row-major"
    if order == sorted(order, reverse=True):
        return "column-major"
    free = len(order) - tiled
    counted = [dim for k, dim in enumerate(order) if k >= free or sizes[dim] != 1]
    if counted == sorted(counted):
        return "row-major but for dimensions of size 1"
    return "neither row- nor column-major"
