"""XLA's shapes and tiled layouts."""

from morello_layouts.notations.xla.functions import (
    linear_index,
    linear_index_with_tile,
    tile_index,
    within_tile_index,
)
from morello_layouts.notations.xla.layout import SplitConfig, XlaLayout, rank_error
from morello_layouts.notations.xla.shape import XlaBuffer, XlaShape, XlaTuple
from morello_layouts.notations.xla.types import COMBINE, ELEMENT_BITS, bits_of, numpy_type

__all__ = [
    "COMBINE",
    "ELEMENT_BITS",
    "SplitConfig",
    "XlaBuffer",
    "XlaLayout",
    "XlaShape",
    "XlaTuple",
    "bits_of",
    "linear_index",
    "linear_index_with_tile",
    "numpy_type",
    "rank_error",
    "tile_index",
    "within_tile_index",
]
