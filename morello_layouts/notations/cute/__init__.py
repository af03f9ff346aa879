"""CuTe's layouts and their algebra."""

from morello_layouts.notations.cute.algebra import (
    coalesce,
    complement,
    composition,
    domain_distribute,
    filter,  # noqa: A004
    filter_zeros,
    left_inverse,
    nullspace,
    right_inverse,
)
from morello_layouts.notations.cute.integers import ScaledBasis, Static
from morello_layouts.notations.cute.layout import CuteLayout
from morello_layouts.notations.cute.swizzle import ComposedLayout, Swizzle
from morello_layouts.notations.cute.tiling import (
    LeftOver,
    blocked_product,
    flat_divide,
    flat_product,
    left_over,
    logical_divide,
    logical_product,
    raked_product,
    tiled_divide,
    tiled_product,
    zipped_divide,
    zipped_product,
)

__all__ = [
    "ComposedLayout",
    "CuteLayout",
    "LeftOver",
    "ScaledBasis",
    "Static",
    "Swizzle",
    "blocked_product",
    "coalesce",
    "complement",
    "composition",
    "domain_distribute",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "left_inverse",
    "left_over",
    "logical_divide",
    "logical_product",
    "nullspace",
    "raked_product",
    "right_inverse",
    "tiled_divide",
    "tiled_product",
    "zipped_divide",
    "zipped_product",
]
