"""Bytes that XLA reserves for an array.

XLA's rule pads to whole *first* tiles, rounds up to L elements, then to whole bytes. Where a later
tile does not divide the block before it, that is less than the tiles span. Of symbolic sizes the
same lines give a polynomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import overload

from morello_layouts.expr.size import Number, ceil_quotient
from morello_layouts.xla.layout import COMBINE, SplitConfig, Tile, XlaLayout

__all__ = ["bytes_of", "largest_piece", "reserved_bytes", "round_up"]


@overload
def reserved_bytes(shape: Sequence[int], layout: XlaLayout, bits: int) -> int: ...


@overload
def reserved_bytes(shape: Sequence[Number], layout: XlaLayout, bits: int) -> Number: ...


def reserved_bytes(shape: Sequence[Number], layout: XlaLayout, bits: int) -> Number:
    """Bytes that XLA reserves for an array of ``shape`` with elements of ``bits`` bits.

    >>> reserved_bytes((10, 200), XlaLayout((1, 0), ((8, 128), (2, 1))), 16)
    8192
    """
    sizes = largest_piece(layout.physical_sizes(shape), layout.split_configs)
    if not layout.tiles:
        return bytes_of(prod(sizes), bits)
    elements = _padded_elements(sizes, layout.tiles[0])
    return bytes_of(round_up(elements, layout.tail_padding_alignment_in_elements), bits)


@overload
def bytes_of(elements: int, bits: int) -> int: ...


@overload
def bytes_of(elements: Number, bits: int) -> Number: ...


def bytes_of(elements: Number, bits: int) -> Number:
    """Whole bytes that hold so many elements.

    >>> bytes_of(3, 4)
    2
    """
    return ceil_quotient(elements * bits, 8)


@overload
def largest_piece(sizes: Sequence[int], configs: Sequence[SplitConfig]) -> tuple[int, ...]: ...


@overload
def largest_piece(
    sizes: Sequence[Number], configs: Sequence[SplitConfig]
) -> tuple[Number, ...]: ...


def largest_piece(sizes: Sequence[Number], configs: Sequence[SplitConfig]) -> tuple[Number, ...]:
    """Sizes of the largest piece, by ``LayoutUtil::MaxSplitSize``.

    XLA takes cuts in the order in which they are written, and of two configs for one dimension
    the first.

    >>> largest_piece((8, 10), (SplitConfig(1, (3,)),))
    (8, 7)
    """
    largest = list(sizes)
    for config in reversed(configs):
        cuts = (0, *config.split_indices, sizes[config.dimension])
        largest[config.dimension] = max(end - start for start, end in pairwise(cuts))
    return tuple(largest)


def _padded_elements(sizes: Sequence[Number], tile: Tile) -> Number:
    missing = max(0, len(tile) - len(sizes))
    padded = [*(1,) * missing, *sizes]
    first = len(padded) - len(tile)
    carried: Number = 1
    elements: Number = prod(padded[:first])
    for n, t in zip(padded[first:], tile, strict=True):
        carried *= n
        if t != COMBINE:
            elements *= round_up(carried, t)
            carried = 1
    return elements


@overload
def round_up(n: int, multiple: int) -> int: ...


@overload
def round_up(n: Number, multiple: int) -> Number: ...


def round_up(n: Number, multiple: int) -> Number:
    """The smallest multiple that is not below a number.

    >>> round_up(10, 8)
    16
    """
    return ceil_quotient(n, multiple) * multiple
