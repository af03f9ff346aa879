"""What a layout reserves beyond the data, and for which of its dimensions.

Bytes are counted as in the compiler's out-of-memory reports: "Unpadded size" is the elements
alone, each at its own width (``pred`` in a byte, whatever ``E(32)`` says), and "Size" is what is
reserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import overload

from morello_layouts.errors import LayoutError
from morello_layouts.expr.size import Number
from morello_layouts.xla import COMBINE, XlaLayout, XlaShape, bits_of
from morello_layouts.xla.size import largest_piece, reserved_bytes, round_up

__all__ = ["Padding", "Waste", "bytes_of_data", "data_bytes", "reasons_of", "waste"]

_PLACES = ("minor", "second-minor", "third-minor", "fourth-minor", "fifth-minor", "sixth-minor")


@dataclass(frozen=True, slots=True)
class Padding:
    """One reason why an array takes more than its data.

    Attributes:
        dimensions: the logical dimensions that are padded, several where a tile's ``*`` joins
            them; none where the padding is not along a dimension.
        size: what there is: elements along the dimension, elements of the buffer, or bits; a
            polynomial where sizes are symbolic.
        padded: what it takes.
        text: the reason in words.

    >>> from morello_layouts.xla import XlaLayout
    >>> x = XlaShape("f32", (7, 3, 128), XlaLayout((2, 1, 0), ((8, 128),)))
    >>> waste(x).reasons[0].size, waste(x).reasons[0].padded
    (3, 8)
    """

    dimensions: tuple[int, ...]
    size: Number
    padded: Number
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
        LayoutError: where it is given anything but an XlaShape.
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
    layout = shape.layout
    assert layout is not None  # byte_size raises where there is none
    sizes = largest_piece(layout.physical_sizes(shape.shape), layout.split_configs)
    reasons = reasons_of(shape, sizes) if reserved else ()
    return Waste(shape, data, reserved, tuple(reasons))


def data_bytes(shape: XlaShape) -> int:
    """Bytes of the elements alone, at the width of the type or of a narrower ``E(bits)``.

    Where SC cuts the array into pieces, those of the largest, as in ``byte_size``.

    >>> from morello_layouts.xla import XlaLayout
    >>> data_bytes(XlaShape("pred", (5,), XlaLayout((0,), ((8,),), element_size_in_bits=32)))
    5
    """
    return bytes_of_data(shape, shape.shape)


@overload
def bytes_of_data(shape: XlaShape, sizes: Sequence[int]) -> int: ...


@overload
def bytes_of_data(shape: XlaShape, sizes: Sequence[Number]) -> Number: ...


def bytes_of_data(shape: XlaShape, sizes: Sequence[Number]) -> Number:
    """The bytes of :func:`data_bytes` for other sizes than the array's own."""
    bits = min(shape.bits, bits_of(shape.element_type))
    assert shape.layout is not None  # bits raises where there is none
    bare = replace(shape.layout, tiles=(), tail_padding_alignment_in_elements=1)
    return reserved_bytes(sizes, bare, bits)


def reasons_of(shape: XlaShape, sizes: Sequence[Number]) -> list[Padding]:
    """Why an array takes more than its data, by XLA's own rule, in which only the first tile pads.

    Args:
        shape: the array.
        sizes: the sizes to count with, in physical order, most major first.
    """
    assert shape.layout is not None
    layout = shape.layout
    found: list[Padding] = []
    if layout.tiles:
        found, elements = _tile_padding(sizes, layout, layout.tiles[0])
        tail = layout.tail_padding_alignment_in_elements
        whole = round_up(elements, tail)
        if whole != elements:
            words = f"the buffer's {_shown(elements)} elements are padded to {_shown(whole)}, "
            found.append(Padding((), elements, whole, f"{words}a multiple of L({tail})"))
    own = bits_of(shape.element_type)
    if shape.bits > own:
        words = f"each element takes {shape.bits} bits by E({shape.bits}), and needs {own}"
        found.append(Padding((), own, shape.bits, words))
    return found


def _tile_padding(
    sizes: Sequence[Number], layout: XlaLayout, tile: Sequence[int]
) -> tuple[list[Padding], Number]:
    """The dimensions that a tile pads, the minor one first, and the elements with that padding."""
    missing = max(0, len(tile) - len(sizes))
    dims = [None] * missing + list(layout.major_to_minor)
    every = [*(1,) * missing, *sizes]
    first = len(every) - len(tile)
    text = f"tiles ({','.join('*' if t == COMBINE else str(t) for t in tile)})"
    found: list[Padding] = []
    elements: Number = prod(every[:first])
    size: Number = 1
    joined: list[int | None] = []
    for k, t in enumerate(tile, first):
        joined.append(dims[k])
        size *= every[k]
        if t == COMBINE:
            continue
        whole = round_up(size, t)
        if whole != size:
            place = len(every) - 1 - k
            logical = tuple(dim for dim in joined if dim is not None)
            words = f"{_subject(place, logical, size)} padded to {_shown(whole)}: {text} have "
            words += _extent(place, t, len(tile), joined=len(logical) > 1)
            found.append(Padding(logical, size, whole, words))
        elements *= whole
        joined, size = [], 1
    return found[::-1], elements


def _shown(n: Number) -> str:
    return f"{n:,}" if isinstance(n, int) else str(n)


def _subject(place: int, dims: Sequence[int], size: Number) -> str:
    name = _PLACES[place] if place < len(_PLACES) else f"{place + 1}th-minor"
    if not dims:
        return f"the {name} dimension of {size} that the tile adds is"
    if len(dims) == 1:
        return f"{name} dimension {dims[0]} of size {_shown(size)} is"
    numbers = f"{', '.join(map(str, dims[:-1]))} and {dims[-1]}"
    return f"{name} dimensions {numbers}, together of size {_shown(size)}, are"


def _extent(place: int, t: int, rank: int, *, joined: bool) -> str:
    """What a tile's size in one place is called."""
    if rank == 1:
        return f"{t:,} element{'' if t == 1 else 's'}"
    if rank > 2:
        return f"{t:,} along {'them' if joined else 'it'}"
    noun = "row" if place else "column"
    return f"{t:,} {noun}{'' if t == 1 else 's'}"
