"""The formats that XLA's document "Tiled layout" names.

These are not what the compiler chooses today (see :func:`default_layout`): it takes T(1,128) for
one row of f32 on v4 and later, for example, and has no tile of 6 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.tpu.generations import sizes_of
from morello_layouts.xla import XlaLayout, XlaShape, bits_of

__all__ = ["FORMATS", "Format", "format_layout"]

Tiles = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of the document.

    Attributes:
        name: the short name by which :func:`format_layout` knows it.
        title: the document's name.
        tiles: its tiles.
        bits: the width in bits of the types that it is for; None where it is for any.
        element_size_in_bits: what its ``E(bits)`` says; 0 where it has none.

    >>> FORMATS["16 bit"].title, FORMATS["16 bit"].tiles
    ('TPU 16 bit tile format', ((8, 128), (2, 1)))
    """

    name: str
    title: str
    tiles: Tiles
    bits: int | None = None
    element_size_in_bits: int = 0


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

COMPACT: Final = "compact second minor"

# The second-minor sizes for which the document has a smaller tile, and the rows of that tile.
_COMPACT_ROWS: Final = {1: 2, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 9: 6, 10: 6, 11: 6, 12: 6}


def format_layout(
    name: str, element_type: str, shape: Sequence[int], minor_to_major: Sequence[int] | None = None
) -> XlaShape:
    """An array in one of the document's formats, row-major where no order is given.

    The name ``compact second minor`` takes the tile by the second-minor size: 2x128 for 1 and 2,
    4x128 for 3 and 4, 6x128 for 5, 6 and 9 to 12 as the document proposes, 8x128 for others.

    Raises:
        LayoutError: where there is no such format, or a part means nothing.
        UnsupportedError: where the format is for types of another width.

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
            f"{name!r} is no format of XLA's document",
            "it names those for one tile or two of a TPU",
            f"give one of {', '.join([*FORMATS, COMPACT])}",
        )
    bits = bits_of(element_type)
    only_pred = chosen.element_size_in_bits == 1
    if chosen.bits not in (None, bits) or (only_pred and element_type != "pred"):
        kind = "pred" if only_pred else f"elements of {chosen.bits} bits"
        raise UnsupportedError(
            f"the format {chosen.name!r} is not for {element_type}",
            f"its tiles fill 32-bit words with {kind}",
            "give another type, or take the format 8x128, which packs nothing",
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
