"""Morello's layouts: lists of physical dimensions, outermost first."""

from morello_layouts.notations.morello.dims import (
    Dynamic as Dynamic,
    OddEven as OddEven,
    Packed as Packed,
    PhysDim as PhysDim,
)
from morello_layouts.notations.morello.layout import (
    MorelloLayout as MorelloLayout,
    batched_col_major as batched_col_major,
    col_major as col_major,
    nhwc as nhwc,
    row_major as row_major,
)
