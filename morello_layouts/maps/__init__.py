"""From a recipe and a reference formula to an index map."""

from morello_layouts.expr.derivation import Derivation
from morello_layouts.layout import Layout
from morello_layouts.maps.affine_map import AffineMap
from morello_layouts.maps.index_map import IndexMap, Inverse

__all__ = ["AffineMap", "Derivation", "IndexMap", "Inverse", "Layout"]
