"""XLA's shapes and tiled layouts."""

from morello_layouts.xla.layout import COMBINE, SplitConfig, XlaLayout, rank_error
from morello_layouts.xla.shape import XlaBuffer, XlaShape, XlaTuple
from morello_layouts.xla.types import ELEMENT_BITS, bits_of, numpy_type

__all__ = [
    "COMBINE",
    "ELEMENT_BITS",
    "SplitConfig",
    "XlaBuffer",
    "XlaLayout",
    "XlaShape",
    "XlaTuple",
    "bits_of",
    "numpy_type",
    "rank_error",
]
