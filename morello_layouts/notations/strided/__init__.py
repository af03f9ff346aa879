"""Arrays with strides: NumPy's and PyTorch's, their views, and ``strided<[5, 1], offset: 2>``."""

from morello_layouts.notations.strided.layout import (
    MemoryFormat as MemoryFormat,
    StridedLayout as StridedLayout,
)
from morello_layouts.notations.strided.views import (
    expand as expand,
    of as of,
    permute as permute,
    slice_dim as slice_dim,
    unsqueeze as unsqueeze,
    view as view,
)
