"""Questions about GPUs and caches: banks, sectors, lines and vectors of an access.

>>> import morello_layouts as ml
>>> print(ml.bank_conflicts("f32[32,32]", "column").verdict)
32-way conflict
"""

from morello_layouts.machines.gpu.access import (
    Access,
    Copy,
    Fragment,
    LaneRequests,
    Lanes,
    Ldmatrix,
)
from morello_layouts.machines.gpu.banks import BankConflicts, BankFormula, Collision
from morello_layouts.machines.gpu.phases import CacheLines, Coalescing, Touched
from morello_layouts.machines.gpu.placements import PlacedTile
from morello_layouts.machines.gpu.relayouts import RegisterRelayout
from morello_layouts.machines.gpu.swizzle import BestSwizzle

__all__ = [
    "Access",
    "BankConflicts",
    "BankFormula",
    "BestSwizzle",
    "CacheLines",
    "Coalescing",
    "Collision",
    "Copy",
    "Fragment",
    "LaneRequests",
    "Lanes",
    "Ldmatrix",
    "PlacedTile",
    "RegisterRelayout",
    "Touched",
]
