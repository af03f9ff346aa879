"""Layouts as objects of other libraries, which are imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from morello_layouts.core.lazy import missing
from morello_layouts.core.recipe import known
from morello_layouts.errors import UnsupportedError
from morello_layouts.interfaces.api.conversions import convert
from morello_layouts.interfaces.api.layouts import LayoutLike, Shape, subject
from morello_layouts.notations.strided import MemoryFormat, StridedLayout
from morello_layouts.notations.xla import XlaLayout, XlaShape


def to_jax(layout: LayoutLike, shape: Shape | None = None) -> Any:
    """Return a layout as JAX's ``Layout``, with the order of dimensions and the tiles of XLA.

    Args:
        layout: text in any notation; or a layout, an array, or an index map.
        shape: the sizes, if the layout does not carry them.

    Raises:
        NoTranslationError: if XLA has no such layout.
        UnsupportedError: if JAX cannot say what XLA can: a memory space, pieces.

    >>> print(to_jax("[1, 0, 1 p(4)]", (6, 8)))  # doctest: +SKIP
    Layout(major_to_minor=(1, 0), tiling=((4, 1),), sub_byte_element_size_in_bits=0)
    """
    found: Any = subject(layout, shape).value
    if not isinstance(found, XlaLayout | XlaShape):
        found = convert(layout, "xla", shape)
    own: XlaLayout = found.layout if isinstance(found, XlaShape) else found
    plain = XlaLayout(own.minor_to_major, own.tiles, element_size_in_bits=own.element_size_in_bits)
    tiles = own.tile_numbers
    if own != plain or any(n < 0 for tile in tiles for n in tile):
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
    bits = {"sub_byte_element_size_in_bits": own.element_size_in_bits}
    return kind(own.major_to_minor, tiles, **(bits if own.element_size_in_bits else {}))


def to_torch(
    layout: LayoutLike, shape: Shape | None = None
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return sizes, strides and storage offset, as ``torch.as_strided`` takes them.

    Args:
        layout: text in any notation; or a layout, an array, or an index map.
        shape: the sizes, if the layout does not carry them; numbers.

    Raises:
        NoTranslationError: if the layout has no strides.

    >>> to_torch("f32[3,5]{1,0:T(1,8)}")
    ((3, 5), (8, 1), 0)
    >>> to_torch("channels_last", (2, 3, 4, 5))
    ((2, 3, 4, 5), (60, 1, 15, 3), 0)
    """
    one = subject(layout, shape)
    sizes, found = known(one.sizes), one.value
    if isinstance(found, MemoryFormat):
        return sizes, known(found.strides(sizes)), 0
    if not isinstance(found, StridedLayout):
        found = convert(layout, "strided", shape)
    if not isinstance(found, StridedLayout):  # pragma: no cover
        raise UnsupportedError(f"{found} has no strides", "", "give another layout")
    return sizes, known(found.strides), known((found.offset,))[0]
