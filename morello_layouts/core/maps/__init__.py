"""From a recipe and a reference formula to an index map."""

from morello_layouts.core.maps.affine_map import AffineMap, Inverse
from morello_layouts.core.maps.index_map import IndexMap
from morello_layouts.core.maps.modes import Decomposition, Mode, Modes, Strided
from morello_layouts.core.maps.places import Place

__all__ = ["AffineMap", "Decomposition", "IndexMap", "Inverse", "Mode", "Modes", "Place", "Strided"]
