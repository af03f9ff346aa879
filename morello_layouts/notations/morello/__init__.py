"""Morello's layouts: lists of physical dimensions, outermost first."""

from morello_layouts.notations.morello.dims import Dynamic, OddEven, Packed, PhysDim
from morello_layouts.notations.morello.layout import (
    MorelloLayout,
    batched_col_major,
    col_major,
    nhwc,
    row_major,
)

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
