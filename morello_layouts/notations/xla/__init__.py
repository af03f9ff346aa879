"""XLA's shapes and tiled layouts."""

from morello_layouts.core.layout import (
    ELEMENT_BITS as ELEMENT_BITS,
    bits_of as bits_of,
    numpy_type as numpy_type,
)
from morello_layouts.notations.documents import COMBINE as COMBINE
from morello_layouts.notations.xla.layout import (
    SplitConfig as SplitConfig,
    XlaLayout as XlaLayout,
    parse_xla_layout as parse_xla_layout,
    rank_error as rank_error,
)
from morello_layouts.notations.xla.shape import (
    XlaBuffer as XlaBuffer,
    XlaShape as XlaShape,
    XlaTuple as XlaTuple,
    XlaValue as XlaValue,
    linear_index as linear_index,
    linear_index_with_tile as linear_index_with_tile,
    parse_xla as parse_xla,
    tile_index as tile_index,
    within_tile_index as within_tile_index,
)
