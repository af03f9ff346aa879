"""Bytes that XLA reserves for an array.

XLA's rule pads to whole *first* tiles, rounds up to L elements, then to whole bytes. Where a later
tile does not divide the block before it, that is less than the tiles span.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from morello_layouts.xla.layout import COMBINE, XlaLayout

__all__ = ["bytes_of", "reserved_bytes"]


def reserved_bytes(shape: Sequence[int], layout: XlaLayout, bits: int) -> int:
    """Bytes that XLA reserves for an array of ``shape`` with elements of ``bits`` bits."""
    sizes = list(layout.physical_sizes(shape))
    for config in layout.split_configs:
        cuts = (0, *config.split_indices, sizes[config.dimension])
        sizes[config.dimension] = max(
            end - start for start, end in zip(cuts, cuts[1:], strict=False)
        )
    if not layout.tiles:
        return bytes_of(prod(sizes), bits)
    elements = _padded_elements(sizes, layout.tiles[0])
    return bytes_of(_round_up(elements, layout.tail_padding_alignment_in_elements), bits)


def bytes_of(elements: int, bits: int) -> int:
    """Whole bytes that hold so many elements.

    >>> bytes_of(3, 4)
    2
    """
    return -(-elements * bits // 8)


def _padded_elements(sizes: Sequence[int], tile: Sequence[int]) -> int:
    missing = max(0, len(tile) - len(sizes))
    padded = [1] * missing + list(sizes)
    first = len(padded) - len(tile)
    carried, elements = 1, prod(padded[:first])
    for n, t in zip(padded[first:], tile, strict=True):
        carried *= n
        if t != COMBINE:
            elements *= _round_up(carried, t)
            carried = 1
    return elements


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple
