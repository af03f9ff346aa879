"""Morello's layouts: lists of physical dimensions, outermost first."""

from morello_layouts.morello.builders import batched_col_major, col_major, nhwc, row_major
from morello_layouts.morello.dims import Dynamic, OddEven, Packed, PhysDim
from morello_layouts.morello.layout import MorelloLayout

__all__ = [
    "Dynamic",
    "MorelloLayout",
    "OddEven",
    "Packed",
    "PhysDim",
    "batched_col_major",
    "col_major",
    "nhwc",
    "row_major",
]
