"""CuTe's layouts and their algebra."""

from morello_layouts.notations.cute.algebra import (
    coalesce as coalesce,
    complement as complement,
    composition as composition,
    domain_distribute as domain_distribute,
    filter as filter,  # noqa: A004
    filter_zeros as filter_zeros,
    left_inverse as left_inverse,
    nullspace as nullspace,
    right_inverse as right_inverse,
)
from morello_layouts.notations.cute.layout import (
    CuteLayout as CuteLayout,
    ScaledBasis as ScaledBasis,
    Static as Static,
)
from morello_layouts.notations.cute.swizzle import (
    ComposedLayout as ComposedLayout,
    Swizzle as Swizzle,
)
from morello_layouts.notations.cute.tiling import (
    LeftOver as LeftOver,
    blocked_product as blocked_product,
    flat_divide as flat_divide,
    flat_product as flat_product,
    left_over as left_over,
    logical_divide as logical_divide,
    logical_product as logical_product,
    raked_product as raked_product,
    tiled_divide as tiled_divide,
    tiled_product as tiled_product,
    zipped_divide as zipped_divide,
    zipped_product as zipped_product,
)
