"""Shardings: which device holds which part of an array, as layouts with an axis ``device``."""

from morello_layouts.notations.sharding.layout import (
    Placement as Placement,
    ShardedLayout as ShardedLayout,
    ShardedTuple as ShardedTuple,
)
from morello_layouts.notations.sharding.sharding import (
    Level as Level,
    Mesh as Mesh,
    MeshDigit as MeshDigit,
    Sharding as Sharding,
)
from morello_layouts.notations.sharding.systems import (
    AxisSharding as AxisSharding,
    BlockCyclic as BlockCyclic,
    ColumnMajor as ColumnMajor,
    Cyclic as Cyclic,
    DTensorSharding as DTensorSharding,
    HloSharding as HloSharding,
    Ref as Ref,
)
