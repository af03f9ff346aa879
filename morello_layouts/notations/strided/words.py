"""Strided layouts in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from morello_layouts.description import Description, Part, dimensions, memory_axes, sizes_in
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.notations.strided.layout import MemoryFormat, StridedLayout
from morello_layouts.recipe import known


def describe(
    layout: StridedLayout | MemoryFormat, shape: Sequence[int] | None = None
) -> Description:
    """Say what each stride means."""
    if isinstance(layout, MemoryFormat):
        rank = {"channels_last": 4, "channels_last_3d": 5}.get(layout.name, 2)
        kind, words = "memory format of PyTorch", f"{layout} of an array"
    else:
        rank, kind, words = len(layout.strides), "strided layout", "strides times coordinates"
        shape = known(layout.shape) if shape is None and layout.shape is not None else shape
    dims = dimensions((None,) * rank if shape is None else tuple(shape))
    sizes = sizes_in(dims)
    # Without sizes, larger strides are taken to leave room for the smaller ones.
    nested = layout if shape is not None else _with_room(layout)
    axes = memory_axes(nested.recipe(sizes), dims)
    strides = layout.strides(sizes) if isinstance(layout, MemoryFormat) else layout.strides
    parts = [Part(str(n), _meaning(n, dim.name)) for n, dim in zip(strides, dims, strict=True)]
    if isinstance(layout, StridedLayout) and layout.offset != 0:
        parts.append(Part(f"offset: {layout.offset}", "elements before the first one"))
    return Description(str(layout), kind, words, dims, tuple(parts), axes)


def _with_room(layout: StridedLayout | MemoryFormat) -> StridedLayout | MemoryFormat:
    """The layout with names for strides above 1, if no two dimensions share a stride."""
    if isinstance(layout, MemoryFormat) or len({*layout.strides}) < len(layout.strides):
        return layout
    names = (f"S{k}" for k in range(len(layout.strides)))
    pairs = zip(layout.strides, names, strict=True)
    return replace(layout, strides=tuple(1 if n == 1 else SizeExpr.named(x) for n, x in pairs))


def _meaning(stride: object, dim: str) -> str:
    if stride == 0:
        return f"all along {dim} share their elements"
    if isinstance(stride, int) and stride < 0:
        return f"elements back from one {dim} to the next"
    return f"{'element' if stride == 1 else 'elements'} from one {dim} to the next"
