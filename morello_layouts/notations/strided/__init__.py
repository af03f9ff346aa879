"""Arrays with strides: NumPy's and PyTorch's, their views, and ``strided<[5, 1], offset: 2>``."""

from morello_layouts.notations.strided.arrays import of
from morello_layouts.notations.strided.layout import MemoryFormat, StridedLayout
from morello_layouts.notations.strided.views import expand, permute, slice_dim, unsqueeze, view

__all__ = [
    "MemoryFormat",
    "StridedLayout",
    "expand",
    "of",
    "permute",
    "slice_dim",
    "unsqueeze",
    "view",
]
