"""TPU generations, and the tile formats that XLA names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from morello_layouts.checks import as_tuple
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.notations.xla import XlaLayout, XlaShape, bits_of
from morello_layouts.notations.xla.words import FORMATS, Format

GENERATIONS: Final = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x")
"""The known generations of TPUs, oldest first."""

LANES: Final = 128
"""Columns of a vector register: the minor dimension lies along them."""

SUBLANES: Final = 8
"""Rows of a vector register, each of one 32-bit word in every lane."""

WORD: Final = 32
"""Bits of one lane in one sublane."""

_OLD: Final = ("v2", "v3")

# Other names of the generations.
_ALIASES: Final = {"v5e": " (v5litepod)", "v6e": " (Trillium)", "tpu7x": " (Ironwood)"}

# Bits that a value needs; on v2 and v3 those of less than a byte take a whole one.
_NARROW: Final = {"s2": 2, "u2": 2, "s4": 4, "u4": 4, "f4e2m1fn": 4}

TYPES: Final = (
    "pred",
    *("s2", "u2", "s4", "u4", "f4e2m1fn"),
    *("s8", "u8", "f8e3m4", "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz"),
    *("f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"),
    *("s16", "u16", "f16", "bf16"),
    *("s32", "u32", "f32"),
    *("s64", "u64", "f64", "c64", "c128"),
)
"""The element types whose layouts were measured."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How a generation stores one element type.

    Attributes:
        bits: bits that a value needs, such as 4 of s4.
        stored: bits that it takes in memory: on v2 and v3 a byte at least.
        is_old: whether the generation is v2 or v3.
    """

    bits: int
    stored: int
    is_old: bool

    @property
    def per_word(self) -> int:
        """Elements in a 32-bit word; 1 for wider types, which use the tiles of 32-bit ones."""
        return max(1, WORD // self.stored)

    @property
    def element_size_in_bits(self) -> int:
        """The layout's ``E(bits)``; 0 without one."""
        return self.stored if self.stored < 8 else 0

    @property
    def least_rows(self) -> int:
        """Rows of the smallest tile."""
        if not self.is_old:
            return self.per_word
        return {2: 16, 4: 8, 8: 8, 16: 4}.get(self.bits, 2)

    @property
    def register_rows(self) -> int:
        """Rows that fill the sublanes of a vector register."""
        return SUBLANES * self.per_word


def sizes_of(element_type: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of an array.

    Raises:
        LayoutError: if the type is unknown, or a size is not a size.
        UnsupportedError: if a size is not a number.

    >>> sizes_of("f32", [3, 5])
    (3, 5)
    """
    dims = as_tuple(shape, "shape", "give a tuple of sizes, such as (3, 5)", ("shape",))
    return XlaShape(element_type, dims).shape


def packing(element_type: str, generation: str) -> Packing:
    """Return how a generation stores an element type.

    Raises:
        LayoutError: if the generation or the type is unknown.
        UnsupportedError: if the type's layouts were not measured.

    >>> packing("s4", "v5e").per_word, packing("s4", "v3").per_word
    (8, 4)
    """
    if not isinstance(generation, str) or generation not in GENERATIONS:
        raise LayoutError(
            f"{generation!r} is not a known generation of TPUs",
            "tiles and packing differ from one to the next",
            f"give one of {', '.join(g + _ALIASES.get(g, '') for g in GENERATIONS)}",
        )
    own = bits_of(element_type)
    if element_type not in TYPES:
        raise UnsupportedError(
            f"the default layout of {element_type} was not measured",
            "its elements may be packed in another way than those of other types",
            f"give one of {', '.join(TYPES)}",
        )
    bits = _NARROW.get(element_type, own)
    is_old = generation in _OLD
    return Packing(bits, max(bits, 8) if is_old else bits, is_old)


COMPACT: Final = "compact second minor"

# The second-minor sizes for which the document has a smaller tile, and the rows of that tile.
_COMPACT_ROWS: Final = {1: 2, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 9: 6, 10: 6, 11: 6, 12: 6}


def format_layout(
    name: str, element_type: str, shape: Sequence[int], minor_to_major: Sequence[int] | None = None
) -> XlaShape:
    """Return an array in one of the document's formats, by default in row-major order.

    The format ``compact second minor`` takes the tile by the second-minor size: 2x128 for 1 and 2,
    4x128 for 3 and 4, 6x128 for 5, 6 and 9 to 12 as the document proposes, 8x128 for others.

    Raises:
        LayoutError: if the format, the type, a size or the order is unknown.
        UnsupportedError: if the format is for types of another width.

    >>> print(format_layout("16 bit", "bf16", (10, 200)))
    bf16[10,200]{1,0:T(8,128)(2,1)}
    >>> print(format_layout("compact second minor", "f32", (16, 3, 128)))
    f32[16,3,128]{2,1,0:T(4,128)}
    """
    sizes = sizes_of(element_type, shape)
    layout = XlaLayout.descending(len(sizes))
    if minor_to_major is not None:
        layout = XlaLayout(minor_to_major)  # type: ignore[arg-type]
    chosen = _compact(layout, sizes) if name == COMPACT else FORMATS.get(str(name))
    if chosen is None:
        raise LayoutError(
            f"{name!r} is not a format of XLA's document",
            "the document names tile formats of TPUs",
            f"give one of {', '.join([*FORMATS, COMPACT])}",
        )
    bits = bits_of(element_type)
    only_pred = chosen.element_size_in_bits == 1
    if chosen.bits not in (None, bits) or (only_pred and element_type != "pred"):
        kind = "pred" if only_pred else f"elements of {chosen.bits} bits"
        raise UnsupportedError(
            f"the format {chosen.name!r} is not for {element_type}",
            f"its tiles fill 32-bit words with {kind}",
            "give another type, or the format 8x128, which does not pack elements",
        )
    layout = XlaLayout(
        layout.minor_to_major,
        chosen.tiles,
        element_size_in_bits=chosen.element_size_in_bits,
    )
    return XlaShape(element_type, sizes, layout)


def _compact(layout: XlaLayout, sizes: Sequence[int]) -> Format:
    physical = layout.physical_sizes(sizes)
    rows = _COMPACT_ROWS.get(physical[-2], 8) if len(physical) > 1 else 8
    return FORMATS[f"{rows}x128"]
