"""What a layout reserves beyond the data, and for which of its dimensions.

Bytes are counted as in the compiler's out-of-memory reports: "Unpadded size" is the elements
alone, each at its own width (``pred`` in a byte, whatever ``E(32)`` says), and "Size" is what is
reserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from morello_layouts.errors import LayoutError
from morello_layouts.xla import COMBINE, XlaLayout, XlaShape, bits_of
from morello_layouts.xla.size import largest_piece, reserved_bytes

__all__ = ["Padding", "Waste", "data_bytes", "waste"]

_PLACES = ("minor", "second-minor", "third-minor", "fourth-minor", "fifth-minor", "sixth-minor")


@dataclass(frozen=True, slots=True)
class Padding:
    """One reason why an array takes more than its data.

    Attributes:
        dimensions: the logical dimensions that are padded, several where a tile's ``*`` joins
            them; none where the padding is not along a dimension.
        size: what there is: elements along the dimension, elements of the buffer, or bits.
        padded: what it takes.
        text: the reason in words.

    >>> from morello_layouts.xla import XlaLayout
    >>> x = XlaShape("f32", (7, 3, 128), XlaLayout((2, 1, 0), ((8, 128),)))
    >>> waste(x).reasons[0].size, waste(x).reasons[0].padded
    (3, 8)
    """

    dimensions: tuple[int, ...]
    size: int
    padded: int
    text: str


@dataclass(frozen=True, slots=True)
class Waste:
    """Bytes of an array's data and of its buffer.

    Attributes:
        shape: the array and its layout.
        data_bytes: bytes of the elements alone.
        reserved_bytes: bytes that XLA reserves.
        reasons: why it reserves more, minor dimension first; together they account for all of it,
            but for bits that fill up the last byte.

    >>> from morello_layouts.xla import XlaLayout
    >>> x = XlaShape("f32", (7, 3, 128), XlaLayout((2, 1, 0), ((8, 128),)))
    >>> w = waste(x)
    >>> w.data_bytes, w.reserved_bytes, w.padding_bytes, round(w.factor, 2)
    (10752, 28672, 17920, 2.67)
    """

    shape: XlaShape
    data_bytes: int
    reserved_bytes: int
    reasons: tuple[Padding, ...]

    @property
    def padding_bytes(self) -> int:
        """Bytes that hold no data.

        >>> waste(XlaShape("f32", (3, 5))).padding_bytes
        0
        """
        return self.reserved_bytes - self.data_bytes

    @property
    def factor(self) -> float:
        """The buffer's bytes over the data's; 1 where there are neither, infinity past a float.

        >>> waste(XlaShape("f32", (3, 5))).factor
        1.0
        """
        if self.data_bytes == self.reserved_bytes:
            return 1.0
        try:
            return self.reserved_bytes / self.data_bytes
        except (OverflowError, ZeroDivisionError):
            return float("inf")

    def __str__(self) -> str:
        amounts = f"{self.data_bytes:,} bytes of data in {self.reserved_bytes:,}"
        reasons = (f"  {reason.text}" for reason in self.reasons)
        return "\n".join([f"{self.shape}: {amounts}, {self.factor:.2f}x", *reasons])


def waste(shape: XlaShape) -> Waste:
    """What an array's layout costs, exactly, and why.

    Raises:
        LayoutError: where it is given anything but an :class:`XlaShape`.
        UnsupportedError: for a token or opaque value, and where a size is no number.

    >>> from morello_layouts.xla import XlaLayout
    >>> print(waste(XlaShape("f32", (7, 3, 128), XlaLayout((2, 1, 0), ((8, 128),)))))
    f32[7,3,128]{2,1,0:T(8,128)}: 10,752 bytes of data in 28,672, 2.67x
      second-minor dimension 1 of size 3 is padded to 8: tiles (8,128) have 8 rows
    """
    if not isinstance(shape, XlaShape):
        raise LayoutError(
            f"{shape!r} is no array",
            "bytes are counted for an XlaShape",
            "give one; ml.parse reads it from text",
        )
    data, reserved = data_bytes(shape), shape.byte_size
    assert shape.layout is not None  # byte_size raises where there is none
    reasons = () if data == 0 == reserved else tuple(_reasons(shape, shape.layout))
    return Waste(shape, data, reserved, reasons)


def data_bytes(shape: XlaShape) -> int:
    """Bytes of the elements alone, at the width of the type or of a narrower ``E(bits)``.

    Where SC cuts the array into pieces, those of the largest, as in ``byte_size``.

    >>> from morello_layouts.xla import XlaLayout
    >>> data_bytes(XlaShape("pred", (5,), XlaLayout((0,), ((8,),), element_size_in_bits=32)))
    5
    """
    bits, sizes = shape.bits, shape.shape
    assert shape.layout is not None
    bare = replace(shape.layout, tiles=(), tail_padding_alignment_in_elements=1)
    return reserved_bytes(sizes, bare, min(bits, bits_of(shape.element_type)))


def _reasons(shape: XlaShape, layout: XlaLayout) -> list[Padding]:
    """By XLA's own rule of sizes, in which only the first tile pads."""
    sizes = largest_piece(layout.physical_sizes(shape.shape), layout.split_configs)
    found: list[Padding] = []
    elements = prod(sizes)
    if layout.tiles:
        found, elements = _tile_padding(sizes, layout, layout.tiles[0])
        tail = layout.tail_padding_alignment_in_elements
        if elements % tail:
            whole = -(-elements // tail) * tail
            words = f"the buffer's {elements:,} elements are padded to {whole:,}, "
            found.append(Padding((), elements, whole, f"{words}a multiple of L({tail})"))
    own = bits_of(shape.element_type)
    if shape.bits > own:
        words = f"each element takes {shape.bits} bits by E({shape.bits}), and needs {own}"
        found.append(Padding((), own, shape.bits, words))
    return found


def _tile_padding(
    sizes: Sequence[int], layout: XlaLayout, tile: Sequence[int]
) -> tuple[list[Padding], int]:
    """The dimensions that a tile pads, the minor one first, and the elements with that padding."""
    missing = max(0, len(tile) - len(sizes))
    dims = [None] * missing + list(layout.major_to_minor)
    padded = [1] * missing + list(sizes)
    first = len(padded) - len(tile)
    text = f"tiles ({','.join('*' if t == COMBINE else str(t) for t in tile)})"
    found: list[Padding] = []
    elements, joined, size = prod(padded[:first]), [], 1
    for k, t in enumerate(tile, first):
        joined.append(dims[k])
        size *= padded[k]
        if t == COMBINE:
            continue
        whole = -(-size // t) * t
        if whole != size:
            place = len(padded) - 1 - k
            logical = tuple(dim for dim in joined if dim is not None)
            words = f"{_subject(place, logical, size)} padded to {whole:,}: {text} have "
            words += _extent(place, t, len(tile), joined=len(logical) > 1)
            found.append(Padding(logical, size, whole, words))
        elements *= whole
        joined, size = [], 1
    return found[::-1], elements


def _subject(place: int, dims: Sequence[int], size: int) -> str:
    name = _PLACES[place] if place < len(_PLACES) else f"{place + 1}th-minor"
    if not dims:
        return f"the {name} dimension of {size} that the tile adds is"
    if len(dims) == 1:
        return f"{name} dimension {dims[0]} of size {size:,} is"
    numbers = f"{', '.join(map(str, dims[:-1]))} and {dims[-1]}"
    return f"{name} dimensions {numbers}, together of size {size:,}, are"


def _extent(place: int, t: int, rank: int, *, joined: bool) -> str:
    """What a tile's size in one place is called."""
    if rank == 1:
        return f"{t:,} element{'' if t == 1 else 's'}"
    if rank > 2:
        return f"{t:,} along {'them' if joined else 'it'}"
    noun = "row" if place else "column"
    return f"{t:,} {noun}{'' if t == 1 else 's'}"
