"""What judges translations: the offsets of all elements, read out of arrays."""

from __future__ import annotations

from math import prod

import numpy as np

import morello_layouts as ml
from morello_layouts.errors import NoTranslationError

Offsets = tuple[int, ...]

MOST_AXES = 32  # of arrays, in older NumPy; past these the formula is asked


def offsets(layout: ml.Layout, shape: tuple[int, ...]) -> Offsets:
    """The offset of each element, elements in row-major order, read out of a packed array."""
    if 0 in shape:
        return ()
    m = ml.index_map(layout, shape)
    if len(m.physical_shape) > MOST_AXES:
        return tuple(np.broadcast_to(m(*np.indices(shape)), shape).ravel().tolist())
    packed = ml.pack(m, np.arange(1, prod(shape) + 1).reshape(shape))
    places = np.empty(prod(shape), dtype=np.int64)
    filled = np.flatnonzero(packed)
    places[packed[filled] - 1] = filled
    return tuple(places.tolist())


def morello_or_none(layout: ml.XlaLayout, shape: tuple[int, ...]) -> ml.Layout | None:
    try:
        return ml.convert(layout, "morello", shape)
    except NoTranslationError:
        return None
