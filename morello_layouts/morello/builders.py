"""Morello's named layouts. Each takes a shape and leaves dimensions of size 1 out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from morello_layouts.errors import ShapeError
from morello_layouts.morello.dims import Dynamic
from morello_layouts.morello.expand import check_shape
from morello_layouts.morello.layout import MorelloLayout

__all__ = ["batched_col_major", "col_major", "nhwc", "row_major"]


def row_major(shape: Sequence[int]) -> MorelloLayout:
    """Dimensions in order, the last one fastest.

    >>> print(row_major((6, 1, 8)))
    [0, 2]
    """
    return _in_order(shape, range(len(shape)))


def col_major(shape: Sequence[int]) -> MorelloLayout:
    """Dimensions in reverse, the first one fastest.

    >>> print(col_major((6, 8)))
    [1, 0]
    """
    return _in_order(shape, range(len(shape) - 1, -1, -1))


def batched_col_major(shape: Sequence[int]) -> MorelloLayout:
    """A batch, dimension 0, of column-major arrays.

    >>> print(batched_col_major((2, 6, 8)))
    [0, 2, 1]
    """
    return _in_order(shape, (*range(1), *range(len(shape) - 1, 0, -1))[: len(shape)])


def nhwc(shape: Sequence[int]) -> MorelloLayout:
    """Channels last, of a shape given as batch, channels, height, width.

    >>> print(nhwc((2, 32, 14, 14)))
    NHWC
    """
    if len(shape) != 4:
        raise ShapeError(
            f"NHWC takes 4 sizes, not {len(shape)}",
            "they are batch, channels, height and width, in this order",
            "give a shape such as (2, 32, 14, 14)",
        )
    return _in_order(shape, (0, 2, 3, 1))


def _in_order(shape: Sequence[int], order: Iterable[int]) -> MorelloLayout:
    check_shape(tuple(shape))
    return MorelloLayout([(dim, Dynamic()) for dim in order if shape[dim] != 1])
