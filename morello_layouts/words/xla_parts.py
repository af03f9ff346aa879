"""The parts of an XLA shape's and layout's text in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from morello_layouts.words.axes import Axis
from morello_layouts.words.formats import order_name
from morello_layouts.words.names import count, listed
from morello_layouts.words.tiles import tile_levels
from morello_layouts.words.types import own_bits, type_in_words, width_in_words
from morello_layouts.words.values import Dimension, Part
from morello_layouts.xla import COMBINE, XlaLayout, bits_of

__all__ = ["layout_parts", "memory_axes", "order_in_words", "shape_part", "type_part"]

_MEMORY_SPACES: Final = {
    0: "HBM, the device's main memory",
    1: "VMEM, the vector memory on the chip",
    2: "SMEM, the scalar memory on the chip",
    4: "host memory, as the TPU compiler labels it",
    5: "host memory, as XLA's source has it",
}


def type_part(element_type: str, layout: XlaLayout) -> Part:
    """What the elements are."""
    what = type_in_words(element_type)
    if element_type in ("token", "opaque"):
        return Part(element_type, what)
    if layout.element_size_in_bits:
        return Part(element_type, what)
    return Part(element_type, f"{what}, {width_in_words(element_type, bits_of(element_type))}")


def shape_part(dims: Sequence[Dimension]) -> Part:
    """The sizes, each with its dimension's name."""
    text = f"[{','.join(_size_text(dim) for dim in dims)}]"
    if not dims:
        return Part(text, "a scalar: one element")
    words = [f"{dim.name} {_size_words(dim)}" for dim in dims]
    ones = sum(dim.size == 1 for dim in dims)
    true = f"; the true number of dimensions is {len(dims) - ones}" if ones else ""
    empty = "; no elements" if any(dim.size == 0 for dim in dims) else ""
    return Part(text, f"{', '.join(words)}{true if len(dims) > 1 else ''}{empty}")


def _size_text(dim: Dimension) -> str:
    if dim.size is None:
        return "?"
    return f"<={dim.size}" if dim.is_dynamic else str(dim.size)


def _size_words(dim: Dimension) -> str:
    if dim.size is None:
        return "unbounded"
    if isinstance(dim.size, str):
        return f"{dim.size} (symbolic)"
    return f"at most {dim.size:,} (dynamic)" if dim.is_dynamic else f"{dim.size:,}"


def memory_axes(layout: XlaLayout, dims: Sequence[Dimension]) -> tuple[Axis, ...]:
    """The axes in memory, most major first."""
    levels = tile_levels(_untiled_axes(layout, dims), layout.tiles)
    return levels[-1].after if levels else _untiled_axes(layout, dims)


def _untiled_axes(layout: XlaLayout, dims: Sequence[Dimension]) -> tuple[Axis, ...]:
    return tuple(
        Axis(dims[k].name, n if isinstance(n := dims[k].size, int) else None, (k,))
        for k in layout.major_to_minor
    )


def layout_parts(layout: XlaLayout, dims: Sequence[Dimension], element_type: str) -> list[Part]:
    """Every field of the layout, in the order of its text; ``element_type`` '' where unknown."""
    parts: list[Part] = []
    order = layout.minor_to_major
    if order:
        parts.append(Part(f"{{{','.join(map(str, order))}}}", _order(layout, dims)))
    for k, level in enumerate(tile_levels(_untiled_axes(layout, dims), layout.tiles)):
        sizes = ",".join("*" if t == COMBINE else str(t) for t in layout.tiles[k])
        parts.append(Part(f"{'' if k else 'T'}({sizes})", level.in_words()))
    parts += _tail(layout)
    for letter, name, what in (
        ("#", layout.index_primitive_type, "indices of a sparse array"),
        ("*", layout.pointer_primitive_type, "pointers of a sparse array"),
    ):
        if name:
            parts.append(Part(f"{letter}({name})", f"{what} are {name}"))
    parts += _element_size(layout, element_type)
    parts.append(_memory_space(layout.memory_space))
    for config in layout.split_configs:
        parts.append(
            Part(f"SC{config}", _split(config.dimension, config.split_indices, layout, dims))
        )
    prefix = layout.dynamic_shape_metadata_prefix_bytes
    if prefix:
        parts.append(
            Part(
                f"M({prefix})",
                f"{count(prefix, 'byte')} of metadata about dynamic sizes before the data",
            )
        )
    return parts


def _order(layout: XlaLayout, dims: Sequence[Dimension]) -> str:
    fastest, *others = (dims[k].name for k in layout.minor_to_major)
    if not others:
        return f"{fastest} is the only dimension"
    then = ", ".join(f"then {other}" for other in others)
    return f"{order_in_words(layout, dims)}: {fastest} varies fastest, {then}"


def order_in_words(layout: XlaLayout, dims: Sequence[Dimension]) -> str:
    """Row-major, column-major or neither."""
    tiled = max((len(tile) for tile in layout.tiles), default=0)
    return order_name(layout.major_to_minor, [dim.size for dim in dims], tiled=tiled)


def _tail(layout: XlaLayout) -> list[Part]:
    n = layout.tail_padding_alignment_in_elements
    if n == 1:
        return []
    if not layout.tiles:
        return [Part(f"L({n})", "tail padding; XLA ignores it where there are no tiles")]
    return [Part(f"L({n})", f"the buffer's end is padded to a multiple of {count(n, 'element')}")]


def _element_size(layout: XlaLayout, element_type: str) -> list[Part]:
    bits = layout.element_size_in_bits
    if not bits:
        return []
    words = f"each element is stored in {count(bits, 'bit')}"
    if bits < 8 and 8 % bits == 0:
        words += f": {8 // bits} to a byte, the first in the lowest bits"
    elif element_type and bits > own_bits(element_type):
        words += f", wider than {element_type} itself"
    return [Part(f"E({bits})", words)]


def _memory_space(space: int) -> Part:
    words = _MEMORY_SPACES.get(space, "a memory space that is specific to the device")
    return Part(f"S({space})", words, is_implied=space == 0)


def _split(
    dimension: int, cuts: Sequence[int], layout: XlaLayout, dims: Sequence[Dimension]
) -> str:
    name = dims[layout.major_to_minor[dimension]].name
    return f"cut along {name} at {listed([str(cut) for cut in cuts])}, each piece a buffer"
