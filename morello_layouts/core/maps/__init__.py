"""From a recipe and a reference formula to an index map."""

from morello_layouts.core.maps.index_map import IndexMap
from morello_layouts.core.maps.map import AffineMap, CoordinateMap, Inverse, Map
from morello_layouts.core.maps.modes import Decomposition, Mode, Modes, Strided
from morello_layouts.core.maps.places import Place

__all__ = [
    "AffineMap", "CoordinateMap", "Decomposition", "IndexMap", "Inverse", "Map", "Mode", "Modes",
    "Place", "Strided",
]  # fmt: skip
