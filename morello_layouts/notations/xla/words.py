"""The parts of XLA's shapes, layouts and tiles in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from morello_layouts.core.description import (
    Description,
    Dimension,
    MemoryAxis,
    Part,
    count,
    dimensions,
    listed,
    memory_axes,
    named_axes,
    sizes_in,
    times,
)
from morello_layouts.core.expr.sizes import round_up
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import bits_of
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import NESTED_TILES
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split
from morello_layouts.core.recipe.digits import stages_of
from morello_layouts.notations.xla.layout import XlaLayout, tile_text
from morello_layouts.notations.xla.shape import XlaShape, dim_text

Tiles = tuple[tuple[int, ...], ...]


@frozen
class Format:
    """A format of the document.

    >>> FORMATS["16 bit"].title, FORMATS["16 bit"].tiles
    ('TPU 16 bit tile format', ((8, 128), (2, 1)))
    """

    name: str  #: the short name by which :func:`morello_layouts.tpu.format_layout` knows it.
    title: str  #: the document's name.
    tiles: Tiles  #: its tiles.
    #: the width in bits of the types that it is for; None if it is for any.
    bits: int | None = None
    element_size_in_bits: int = 0  #: what its ``E(bits)`` says; 0 if it has none.


_COMPACT: Final = "TPU small tile format (compact second minor)"

FORMATS: Final[dict[str, Format]] = {
    each.name: each
    for each in (
        Format("untiled", "untiled", ()),
        Format("8x128", "TPU tile format", ((8, 128),)),
        Format("2x128", _COMPACT, ((2, 128),)),
        Format("4x128", _COMPACT, ((4, 128),)),
        Format("6x128", f"{_COMPACT}, proposed", ((6, 128),)),
        Format("16 bit", "TPU 16 bit tile format", ((8, 128), (2, 1)), 16),
        Format("16 bit alternative", "alternative TPU 16 bit tile format",
               ((8, 128), (2, 1, 1, 1)), 16),
        Format("8 bit", "TPU 8 bit tile format", ((8, 128), (4, 1)), 8),
        Format("1 bit", "TPU 1 bit tile format", ((32, 128), (32, 1)), 8, 1),
    )
}  # fmt: skip
"""The document's formats by name. "1 bit" is for ``pred``."""

# The names that XLA's document "Tiled layout" gives them.
_FORMATS: Final[dict[Tiles, str]] = {each.tiles: each.title for each in FORMATS.values()}


def format_name(tiles: Tiles) -> str:
    """Return the document's name of a list of tiles, or its kind if it has none.

    >>> format_name(((8, 128), (2, 1))), format_name(((2, 2),))
    ('TPU 16 bit tile format', 'tiled')
    """
    return _FORMATS.get(tiles, "tiled" if len(tiles) == 1 else "tiled repeatedly")


def order_name(major_to_minor: Sequence[int], sizes: Sequence[object], *, tiled: int = 0) -> str:
    """Row-major, column-major, or neither; what dimensions of size 1 leave open is ignored.

    Args:
        major_to_minor: logical dimensions in memory order, the slowest first.
        sizes: the logical sizes.
        tiled: how many of the most minor dimensions a tile acts on; there size 1 matters too.

    >>> order_name((1, 0, 2), (8, 1, 128)), order_name((1, 0), (6, 8))
    ('row-major but for dimensions of size 1', 'column-major')
    """
    order = list(major_to_minor)
    if len(order) < 2:
        return "one dimension" if order else "scalar"
    if order == sorted(order):
        return "row-major"
    if order == sorted(order, reverse=True):
        return "column-major"
    free = len(order) - tiled
    counted = [dim for k, dim in enumerate(order) if k >= free or sizes[dim] != 1]
    if counted == sorted(counted):
        return "row-major but for dimensions of size 1"
    return "neither row- nor column-major"


_FLOAT = regex(r"f(\d+)e(\d+)m(\d+)(b11)?(fn)?(uz|u)?")
_WHOLE = {
    "pred": "truth values",
    "bf16": "brain floating point of 16 bits",
    "c64": "complex numbers of two f32",
    "c128": "complex numbers of two f64",
    "token": "a token: it orders side effects and holds no data",
    "opaque": "an opaque value: it has no elements and no layout",
}
_KINDS = {"s": "signed integers", "u": "unsigned integers", "f": "floating point"}


def type_in_words(name: str) -> str:
    """Return an element type in words.

    >>> type_in_words("f8e4m3fn")
    'floating point of 8 bits (4 exponent, 3 mantissa; no infinities)'
    """
    if name in _WHOLE:
        return _WHOLE[name]
    small = _FLOAT.fullmatch(name)
    if small is None:
        return f"{_KINDS[name[0]]} of {name[1:]} bits"
    bits, exponent, mantissa, bias, finite, unsigned = small.groups()
    notes = [f"{exponent} exponent, {mantissa} mantissa"]
    if bias:
        notes.append("bias 11")
    if finite:
        notes.append("no infinities")
    if unsigned == "uz":
        notes.append("no negative zero")
    elif unsigned:
        notes.append("no sign")
    return f"floating point of {bits} bits ({'; '.join(notes)})"


def own_bits(name: str) -> int:
    """Bits that a value of the type needs, whatever it is stored in; 8 for pred."""
    digits = re.search(r"\d+", name)
    return int(digits[0]) if digits else 8


def width_in_words(name: str, stored: int) -> str:
    """Say how an element of the type is stored without an ``E(bits)``.

    >>> width_in_words("s4", 8)
    'a whole byte each'
    """
    if stored == 8:
        return "1 byte each" if own_bits(name) == 8 else "a whole byte each"
    return f"{stored // 8} bytes each"


@frozen
class TileLevel:
    """One tile of a list, and the axes that it acts on."""

    sizes: tuple[int, ...]  #: the tile's sizes without its stars.
    #: the axes that it splits, joined if a star says so; one for each size.
    acted: tuple[MemoryAxis, ...]
    #: the groups of axes that stars join, each with the axis that results.
    joined: tuple[tuple[tuple[MemoryAxis, ...], MemoryAxis], ...]
    added: int  #: the number of axes of size 1 that it adds, having more sizes than there are axes.
    previous: tuple[int, ...]  #: sizes of the tile before it; () for the first.

    @property
    def is_inside(self) -> bool:
        """Whether it only rearranges elements within the tiles before it."""
        return 0 < len(self.sizes) <= len(self.previous) and not self.joined

    @property
    def counts(self) -> tuple[int | None, ...]:
        return tuple(
            None if axis.size is None else -(-axis.size // t)
            for axis, t in zip(self.acted, self.sizes, strict=True)
        )

    def in_words(self) -> str:
        sentences = [*self._joining(), self._tiling(), *self._padding()]
        return "; ".join(sentences)

    def _joining(self) -> list[str]:
        words = [
            f"takes {listed([axis.label for axis in group])} as one dimension"
            + ("" if joined.size is None else f" of {joined.size:,}")
            for group, joined in self.joined
        ]
        if self.added:
            words.insert(0, f"adds {count(self.added, 'leading dimension')} of 1")
        return words

    def _tiling(self) -> str:
        where = (
            f"({', '.join(map(_name, self.acted))})"
            if len(self.acted) > 1
            else _name(self.acted[0])
        )
        if all(t == 1 for t in self.sizes):
            return "blocks of one element: the order stays as it is"
        if not self.previous:
            tiles = "" if None in self.counts else f": {_tiles(self.counts)}"
            return f"{_blocks(self.sizes, 'tiles')} over {where}{tiles}"
        blocks = _blocks(self.sizes, "blocks")
        if self.is_inside:
            tile = times(self.previous)
            return f"within each tile of {tile}: {blocks} of {where}, each in one piece"
        across = self._across()
        if across is not None:
            axis, t = across
            return f"across tiles: {t} neighbours along {axis.label} interleaved element by element"
        return f"{blocks} over {where}"

    def _across(self) -> tuple[MemoryAxis, int] | None:
        """The one axis of whole tiles that it splits, and by how much; None if it does more."""
        split = [k for k, t in enumerate(self.sizes) if t > 1]
        if len(split) != 1 or split[0] >= len(self.sizes) - len(self.previous):
            return None
        return self.acted[split[0]], self.sizes[split[0]]

    def _padding(self) -> list[str]:
        words = [
            f"{_name(axis)} from {axis.size:,} to {round_up(axis.size, t):,}"
            for axis, t in zip(self.acted, self.sizes, strict=True)
            if axis.size is not None and axis.size % t
        ]
        return [f"pads {listed(words)}"] if words else []


def tile_levels(layout: XlaLayout, dims: Sequence[Dimension]) -> tuple[TileLevel, ...]:
    """Return the axes that each tile of a layout acts on, in order."""
    recipe = _recipe(layout, dims)
    stages = [
        named_axes(axes, shape, dims)
        for axes, shape in zip(stages_of(recipe), recipe.shapes, strict=True)
    ]
    levels: list[TileLevel] = []
    for k, step in enumerate(recipe.steps):
        if not isinstance(step, Split):
            continue
        start = k - isinstance(recipe.steps[k - 1], Pad) if k else 0
        merge = recipe.steps[start - 1] if start else None
        runs = merge.groups(stages[start - 1]) if isinstance(merge, Merge) else []
        sizes = tuple(t for t in step.numbers if t is not None)
        levels.append(
            TileLevel(
                sizes,
                stages[start][len(step.tiles) - len(sizes) :],
                tuple(pair for pair in zip(runs, stages[start], strict=False) if len(pair[0]) > 1),
                sum(not run for run in runs),
                levels[-1].sizes if levels else (),
            )
        )
    return tuple(levels)


def _recipe(layout: XlaLayout, dims: Sequence[Dimension]) -> Recipe:
    tiles = XlaLayout(layout.minor_to_major, layout.tiles[:NESTED_TILES])
    return tiles.recipe(sizes_in(dims))


def _tiles(counts: Sequence[int | None]) -> str:
    if all(n == 1 for n in counts):
        return "one of them"
    return f"{times(counts)} of them"


def _blocks(sizes: Sequence[int], noun: str) -> str:
    return f"{noun} of {sizes[0]}" if len(sizes) == 1 else f"{times(sizes)} {noun}"


def _name(axis: MemoryAxis) -> str:
    return axis.label if any(digit.dims for digit in axis.digits) else "an added one"


_TPU_LANES: Final = 128  # a tile of so many elements along a dimension is one of a TPU
_MEMORY_SPACES: Final = {
    0: "HBM, the device's main memory",
    1: "VMEM, the vector memory on the chip",
    2: "SMEM, the scalar memory on the chip",
    4: "host memory, as the TPU compiler labels it",
    5: "host memory, as XLA's source has it",
}


def type_part(element_type: str, layout: XlaLayout) -> Part:
    what = type_in_words(element_type)
    if element_type in ("token", "opaque") or layout.element_size_in_bits:
        return Part(element_type, what)
    return Part(element_type, f"{what}, {width_in_words(element_type, bits_of(element_type))}")


def shape_part(dims: Sequence[Dimension]) -> Part:
    text = f"[{','.join(dim_text(dim.size, dim.is_dynamic) for dim in dims)}]"
    if not dims:
        return Part(text, "a scalar: one element")
    words = [f"{dim.name} {_size_words(dim)}" for dim in dims]
    ones = sum(dim.size == 1 for dim in dims)
    true = f"; the true number of dimensions is {len(dims) - ones}" if ones else ""
    empty = "; no elements" if any(dim.size == 0 for dim in dims) else ""
    return Part(text, f"{', '.join(words)}{true if len(dims) > 1 else ''}{empty}")


def _size_words(dim: Dimension) -> str:
    if dim.size is None:
        return "unbounded"
    if isinstance(dim.size, str):
        return f"{dim.size} (symbolic)"
    return f"at most {dim.size:,} (dynamic)" if dim.is_dynamic else f"{dim.size:,}"


def layout_parts(layout: XlaLayout, dims: Sequence[Dimension], element_type: str) -> list[Part]:
    """Every field of the layout, in the order of its text; ``element_type`` '' where unknown."""
    parts: list[Part] = []
    order = layout.minor_to_major
    if order:
        parts.append(Part(f"{{{','.join(map(str, order))}}}", _order(layout, dims)))
    levels = tile_levels(layout, dims)
    for k, tile in enumerate(layout.tiles):
        words = levels[k].in_words() if k < len(levels) else "not explained: one tile of very many"
        parts.append(Part(f"{'' if k else 'T'}{tile_text(tile)}", words))
    parts += _tail(layout)
    for sign, name in layout.sparse_types:
        what = "indices" if sign == "#" else "pointers"
        is_type = "have no integer type" if name == "invalid" else f"are {name}"
        parts.append(Part(f"{sign}({name})", f"{what} of a sparse array {is_type}"))
    parts += _element_size(layout, element_type)
    space, tile_sizes = layout.memory_space, next(iter(layout.tile_numbers), ())
    words = _MEMORY_SPACES.get(space, "a memory space that is specific to the device")
    if space or any(size % _TPU_LANES == 0 for size in tile_sizes):
        parts.append(Part(f"S({space})", words, is_implied=space == 0))
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
        return [Part(f"L({n})", "tail padding; XLA ignores it if there are no tiles")]
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


def _split(
    dimension: int, cuts: Sequence[int], layout: XlaLayout, dims: Sequence[Dimension]
) -> str:
    name = dims[layout.major_to_minor[dimension]].name
    return f"cut along {name} at {listed([str(cut) for cut in cuts])}, each piece a buffer"


def describe(
    value: XlaShape | XlaLayout, sizes: Sequence[int | str | None] | None = None
) -> Description:
    if isinstance(value, XlaLayout):
        if sizes is not None:
            value.physical_sizes(sizes)  # raises if the ranks differ
        kind, layout = "XLA layout", value
        dims = dimensions(sizes or (None,) * len(layout.minor_to_major))
        parts = layout_parts(layout, dims, "")
    elif value.layout is None:  # a token, or an opaque value
        part = type_part(value.element_type, XlaLayout(()))
        return Description(str(value), "no array", part.meaning, (), (part,))
    else:
        kind, layout, name = "XLA array", value.layout, value.element_type
        dims = dimensions(value.dims, value.dynamic_dimensions)
        parts = [type_part(name, layout), shape_part(dims), *layout_parts(layout, dims, name)]
    headline = f"{order_in_words(layout, dims)}, {format_name(layout.tile_numbers)}"
    axes = memory_axes(_recipe(layout, dims), dims)
    return Description(str(value), kind, headline, dims, tuple(parts), axes)
