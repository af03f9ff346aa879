"""oneDNN's own formula of an offset."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int, ceil_quotient
from morello_layouts.notations.blocks import Blocks, blocks_of


def strides(shape: Sequence[Int], order: Sequence[int], blocks: Blocks) -> tuple[Int, ...]:
    """Return the elements from one block of each dimension to the next."""
    found: dict[int, Int] = {}
    stride: Int = prod(size for _, size in blocks)
    for dim in reversed(order):
        found[dim] = stride
        stride *= ceil_quotient(shape[dim], prod(blocks_of(dim, blocks)))
    return tuple(found[dim] for dim in range(len(shape)))


def reference(
    coordinates: Sequence[AffineExpr], shape: Sequence[Int], order: Sequence[int], blocks: Blocks
) -> AffineExpr:
    """Return the sum of each block's remainder, then of each quotient times its stride."""
    left, offset = list(coordinates), AffineExpr((), 0)
    stride: Int = 1
    for dim, size in reversed(blocks):
        offset += left[dim] % size * stride
        left[dim] //= size
        stride *= size
    for x, step in zip(left, strides(shape, order, blocks), strict=True):
        offset += x * step
    return offset
