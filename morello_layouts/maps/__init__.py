"""From a recipe and a reference formula to an index map."""

from morello_layouts.maps.affine_map import AffineMap
from morello_layouts.maps.index_map import IndexMap, Inverse
from morello_layouts.maps.modes import Decomposition, Mode, Modes

__all__ = ["AffineMap", "Decomposition", "IndexMap", "Inverse", "Mode", "Modes"]
