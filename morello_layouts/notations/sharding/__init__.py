"""Shardings: which device holds which part of an array, as layouts with an axis ``device``."""

from morello_layouts.notations.sharding.hlo import HloSharding
from morello_layouts.notations.sharding.layout import Placement, ShardedLayout, ShardedTuple
from morello_layouts.notations.sharding.sharding import Digit, Level, Mesh, Sharding
from morello_layouts.notations.sharding.systems import (
    AxisSharding,
    BlockCyclic,
    ColumnMajor,
    Cyclic,
    DTensorSharding,
    Ref,
)

__all__ = [
    "AxisSharding",
    "BlockCyclic",
    "ColumnMajor",
    "Cyclic",
    "DTensorSharding",
    "Digit",
    "HloSharding",
    "Level",
    "Mesh",
    "Placement",
    "Ref",
    "ShardedLayout",
    "ShardedTuple",
    "Sharding",
]
