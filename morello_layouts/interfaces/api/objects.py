"""Index maps as objects of other libraries, which are imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from morello_layouts.core.lazy import missing
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import UnsupportedError
from morello_layouts.interfaces.api.conversions import convert
from morello_layouts.notations.strided import MemoryFormat, StridedLayout
from morello_layouts.notations.xla import XlaLayout, XlaShape


def to_jax(m: IndexMap) -> Any:
    """Return an index map as JAX's ``Layout``; errors as of ``IndexMap.to_jax``."""
    found: Any = None if m.origin is None else m.origin.layout
    if not isinstance(found, XlaLayout | XlaShape):
        found = convert(m, "xla")
    own: Any = found.layout if isinstance(found, XlaShape) else found
    bits = own.element_size_in_bits
    if own != XlaLayout(own.minor_to_major, own.tiles, element_size_in_bits=bits) or any(
        n < 0 for tile in own.tile_numbers for n in tile
    ):
        raise UnsupportedError(
            f"JAX has no layout {own}",
            "its Layout has the order of dimensions, and tiles of sizes",
            "leave out what stands beside them",
        )
    try:
        module = import_module("jax.experimental.layout")
    except ImportError:
        raise missing("JAX", "the layout is a value of it", "jax") from None
    kind = getattr(module, "Layout", None) or module.DeviceLocalLayout
    more = {"sub_byte_element_size_in_bits": bits} if bits else {}
    return kind(own.major_to_minor, own.tile_numbers, **more)


def to_torch(m: IndexMap) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return an index map as ``torch.as_strided`` takes it; errors as of ``IndexMap.to_torch``."""
    sizes, found = known(m.recipe.shape), None if m.origin is None else m.origin.layout
    if isinstance(found, MemoryFormat):
        return sizes, known(found.strides(sizes)), 0
    own: Any = found if isinstance(found, StridedLayout) else convert(m, "strided")
    return sizes, known(own.strides), known((own.offset,))[0]
