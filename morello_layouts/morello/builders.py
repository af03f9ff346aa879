"""Morello's named layouts. Each takes a shape and leaves dimensions of size 1 out.

NCHWc has no builder, as its pack has a size: write ``[0, 1, 2, 3, 1 p(16)]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from morello_layouts.errors import ShapeError
from morello_layouts.morello.dims import Dynamic
from morello_layouts.morello.expand import as_shape, check_shape
from morello_layouts.morello.layout import MorelloLayout

__all__ = ["batched_col_major", "col_major", "nhwc", "row_major"]


def row_major(shape: Sequence[int]) -> MorelloLayout:
    """Dimensions in order, the last one fastest.

    Args:
        shape: the logical sizes, in elements, each at least 1.

    Raises:
        ShapeError: where a size is below 1.

    >>> print(row_major((6, 1, 8)))
    [0, 2]
    """
    sizes = as_shape(shape)
    return _in_order(sizes, range(len(sizes)))


def col_major(shape: Sequence[int]) -> MorelloLayout:
    """Dimensions in reverse, the first one fastest.

    Args:
        shape: the logical sizes, in elements, each at least 1.

    Raises:
        ShapeError: where a size is below 1.

    >>> print(col_major((6, 8)))
    [1, 0]
    """
    sizes = as_shape(shape)
    return _in_order(sizes, reversed(range(len(sizes))))


def batched_col_major(shape: Sequence[int]) -> MorelloLayout:
    """A batch, dimension 0, of column-major arrays.

    Args:
        shape: the logical sizes, in elements, each at least 1, the batch first.

    Raises:
        ShapeError: where a size is below 1.

    >>> print(batched_col_major((2, 6, 8)))
    [0, 2, 1]
    """
    sizes = as_shape(shape)
    return _in_order(sizes, (*range(len(sizes[:1])), *reversed(range(1, len(sizes)))))


def nhwc(shape: Sequence[int]) -> MorelloLayout:
    """Channels last, of a shape given as batch, channels, height, width.

    Args:
        shape: the four logical sizes, in elements, each at least 1.

    Raises:
        ShapeError: where there are not four sizes, or one is below 1.

    >>> print(nhwc((2, 32, 14, 14)))
    NHWC
    """
    sizes = as_shape(shape)
    if len(sizes) != 4:
        raise ShapeError(
            f"NHWC takes 4 sizes, not {len(sizes)}",
            "they are batch, channels, height and width, in this order",
            "give a shape such as (2, 32, 14, 14)",
        )
    return _in_order(sizes, (0, 2, 3, 1))


def _in_order(sizes: tuple[int, ...], order: Iterable[int]) -> MorelloLayout:
    check_shape(sizes)
    return MorelloLayout([(dim, Dynamic()) for dim in order if sizes[dim] != 1])
