"""Sizes of an array and of its buffer."""

from __future__ import annotations

from math import prod

from morello_layouts.formula import IndexMap
from morello_layouts.tpu.waste import data_bytes
from morello_layouts.words.values import Sizes
from morello_layouts.xla import XlaShape

__all__ = ["sizes_of"]


def sizes_of(m: IndexMap, shape: XlaShape | None = None) -> Sizes:
    """Elements of an index map and, for an XLA shape, bytes.

    Data that is stored narrower than its type is counted as stored; data that ``E(bits)`` widens
    is counted at the type's own width, so that widening counts as padding.

    >>> from morello_layouts.recipe import Recipe
    >>> sizes_of(IndexMap.of(Recipe((3, 5)), lambda d, shape: d[0])).elements
    15
    """
    elements = prod(m.shape)
    if shape is None:
        return Sizes(elements, m.size)
    stored = shape.bits
    spanned = m.size * stored
    return Sizes(elements, m.size, stored, data_bytes(shape), -(-spanned // 8), shape.byte_size)
