"""The padding of a layout on a TPU, in bytes and as a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from morello_layouts.core.checks import require_type
from morello_layouts.core.description import amount, count, listed
from morello_layouts.core.expr.sizes import Int, SizeExpr, round_up
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import importing
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.notations import parse
from morello_layouts.notations.xla import COMBINE, XlaLayout, XlaShape, bits_of
from morello_layouts.notations.xla.layout import bytes_of, largest_piece, padded_elements, tile_text

if TYPE_CHECKING:
    import sympy

_PLACES = ("minor", "second-minor", "third-minor", "fourth-minor", "fifth-minor", "sixth-minor")


@frozen
class Padding:
    """One reason why an array takes more than its data.

    >>> from morello_layouts.notations.xla import XlaLayout
    >>> x = XlaShape("f32", (7, 3, 128), XlaLayout((2, 1, 0), ((8, 128),)))
    >>> waste(x).reasons[0].size, waste(x).reasons[0].padded
    (3, 8)
    """

    #: the logical dimensions that are padded: several if a tile's ``*`` joins them; none if the
    #: padding is not along a dimension.
    dimensions: tuple[int, ...]
    #: before padding: elements along the dimension, elements of the buffer, or bits; a polynomial
    #: if sizes are symbolic.
    size: Int
    padded: Int  #: the same after padding.
    text: str  #: the reason in words.


@frozen
class Waste(Displayed):
    """Bytes of an array's data and of its buffer.

    >>> from morello_layouts.notations.xla import XlaLayout
    >>> x = XlaShape("f32", (7, 3, 128), XlaLayout((2, 1, 0), ((8, 128),)))
    >>> w = waste(x)
    >>> w.data_bytes, w.reserved_bytes, w.padding_bytes, round(w.factor, 2)
    (10752, 28672, 17920, 2.67)
    """

    json_keys: ClassVar = (
        *("shape", "data_bytes", "reserved_bytes", "padding_bytes", "factor"),
        "reasons=reason_texts",
    )

    shape: XlaShape  #: the array and its layout.
    data_bytes: int  #: bytes of the elements alone.
    reserved_bytes: int  #: bytes that XLA reserves.
    #: the reasons for padding, minor dimension first; together they account for all of it, except
    #: for bits that fill the last byte.
    reasons: tuple[Padding, ...]

    @property
    def reason_texts(self) -> tuple[str, ...]:
        """The reasons in words."""
        return tuple(reason.text for reason in self.reasons)

    @property
    def padding_bytes(self) -> int:
        """Bytes that hold no data."""
        return self.reserved_bytes - self.data_bytes

    @property
    def factor(self) -> float:
        """Reserved bytes over data bytes; 1 if both are 0, infinity past a float."""
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


def _shape_of(shape: XlaShape | str) -> XlaShape:
    """Return an array, read from text if it is text."""
    found = parse(shape) if isinstance(shape, str) else shape
    require_type(found, XlaShape, "shape", "write it as f32[8,128]{1,0:T(8,128)}")
    assert isinstance(found, XlaShape)
    return found


def waste(shape: XlaShape | str) -> Waste:
    """Return the exact bytes of an array, and the reasons for its padding.

    Raises:
        LayoutError: if the array is not an XlaShape.
        UnsupportedError: if it is a token or opaque value, or a size is not a number.

    >>> print(waste("f32[7,3,128]{2,1,0:T(8,128)}"))
    f32[7,3,128]{2,1,0:T(8,128)}: 10,752 bytes of data in 28,672, 2.67x
      second-minor dimension d1 of size 3 is padded to 8: tiles (8,128) have 8 rows
    """
    shape = _shape_of(shape)
    data, reserved = shape.data_bytes, shape.byte_size
    layout = shape.layout
    assert layout is not None  # byte_size raises without one
    sizes = largest_piece(layout.physical_sizes(shape.shape), layout.split_configs)
    return Waste(shape, data, reserved, _reasons(shape, layout, sizes) if reserved else ())


_WORDS_OF_TILE = 1024  # elements of a tile of 8 rows and 128 columns

# Memory spaces in which a scalar takes a tile; SMEM and those of a SparseCore have words.
_TILED_SPACES = (0, 1, 6)
_SYNC_FLAGS = 4


def buffer_waste(shape: XlaShape | str) -> Waste:
    """Return the bytes that an array takes in a TPU program's buffer assignment.

    They are those of :func:`waste`, but for arrays without tiles that are small: a scalar, and an
    array of sync flags, take a whole tile of 8 x 128 elements; a token takes nothing.

    Raises:
        LayoutError: as :func:`waste`.
        UnsupportedError: as :func:`waste`, but for a token.

    >>> buffer_waste(XlaShape("f32", ())).reserved_bytes
    4096
    """
    shape = _shape_of(shape)
    if shape.element_type == "token":
        return Waste(shape, 0, 0, ())
    found, layout = waste(shape), shape.layout
    space = 0 if layout is None else layout.memory_space
    is_small = space == _SYNC_FLAGS or (not shape.dims and space in _TILED_SPACES)
    if layout is None or layout.tiles or not is_small:
        return found
    size = round_up(prod(shape.shape), _WORDS_OF_TILE)
    words = f"an array without tiles takes {amount(size)} elements: tiles of 8 rows and 128 columns"
    reserved = bytes_of(size, shape.bits)
    return replace(found, reserved_bytes=reserved, reasons=(Padding((), 1, size, words),))


def _reasons(shape: XlaShape, layout: XlaLayout, sizes: Sequence[Int]) -> tuple[Padding, ...]:
    """Return the reasons for padding by XLA's own rule: only the first tile pads."""
    found: list[Padding] = []
    if layout.tiles:
        found = _tile_padding(sizes, layout, layout.tile_numbers[0])
        elements = padded_elements(sizes, layout.tiles[0])
        tail = layout.tail_padding_alignment_in_elements
        whole = round_up(elements, tail)
        if whole != elements:
            words = f"the buffer's {amount(elements)} elements are padded to {amount(whole)}, "
            found.append(Padding((), elements, whole, f"{words}a multiple of L({tail})"))
    own = bits_of(shape.element_type)
    if shape.bits > own:
        words = f"each element takes {shape.bits} bits by E({shape.bits}), and needs {own}"
        found.append(Padding((), own, shape.bits, words))
    return tuple(found)


def _tile_padding(sizes: Sequence[Int], layout: XlaLayout, tile: Sequence[int]) -> list[Padding]:
    """Return the dimensions that a tile pads, minor first."""
    missing = max(0, len(tile) - len(sizes))
    dims = [None] * missing + list(layout.major_to_minor)
    every = [*(1,) * missing, *sizes]
    text = f"tiles {tile_text(tile)}"
    found: list[Padding] = []
    size: Int = 1
    joined: list[int | None] = []
    for k, t in enumerate(tile, len(every) - len(tile)):
        joined.append(dims[k])
        size *= every[k]
        if t == COMBINE:
            continue
        whole = round_up(size, t)
        if whole != size:
            place = len(every) - 1 - k
            logical = tuple(dim for dim in joined if dim is not None)
            words = f"{_subject(place, logical, size)} padded to {amount(whole)}: {text} have "
            words += _extent(place, t, len(tile), joined=len(logical) > 1)
            found.append(Padding(logical, size, whole, words))
        joined, size = [], 1
    return found[::-1]


def _subject(place: int, dims: Sequence[int], size: Int) -> str:
    name = _PLACES[place] if place < len(_PLACES) else f"{place + 1}th-minor"
    if not dims:
        return f"the {name} dimension of {size} that the tile adds is"
    if len(dims) == 1:
        return f"{name} dimension d{dims[0]} of size {amount(size)} is"
    several = listed([f"d{dim}" for dim in dims])
    return f"{name} dimensions {several}, together of size {amount(size)}, are"


def _extent(place: int, t: int, rank: int, *, joined: bool) -> str:
    """Return a tile's size in one place in words."""
    if rank > 2:
        return f"{t:,} along {'them' if joined else 'it'}"
    return count(t, "element" if rank == 1 else "row" if place else "column")


@frozen
class WasteFormula(Displayed):
    """Bytes of an array's data and of its buffer, for every value of its symbolic sizes.

    >>> from morello_layouts.notations.xla import XlaLayout
    >>> f = waste_formula(XlaShape("bf16", ("M", "N"), XlaLayout((1, 0), ((8, 128), (2, 1)))))
    >>> f.data_bytes, f.reserved_bytes
    (2*M*N, 2048*ceiling(M/8)*ceiling(N/128))
    >>> f.at(M=10, N=200).reserved_bytes
    8192
    """

    shape: XlaShape  #: the array and its layout.
    data: Int  #: bytes of the elements alone: a polynomial in the names of sizes.
    reserved: Int  #: bytes that XLA reserves: a polynomial in names and quotients rounded up.
    #: the reasons for padding; a reason applies unless the size is a multiple.
    reasons: tuple[Padding, ...]

    @property
    def data_bytes(self) -> sympy.Expr:
        """Bytes of the elements, in SymPy."""
        return _sympy(self.data)

    @property
    def reserved_bytes(self) -> sympy.Expr:
        """Bytes that XLA reserves, in SymPy."""
        return _sympy(self.reserved)

    @property
    def padding_bytes(self) -> sympy.Expr:
        """Bytes that hold no data, in SymPy."""
        return _sympy(self.reserved - self.data)

    @property
    def factor(self) -> sympy.Expr:
        """Reserved bytes over data bytes, in SymPy; 1 if both are equal."""
        if self.data == self.reserved:
            return _sympy(1)
        return self.reserved_bytes / self.data_bytes

    def at(self, /, **sizes: int) -> Waste:
        """Return the bytes and reasons for values of the sizes.

        Raises:
            ShapeError: unless each symbolic size of the array has a value, and no other name.

        >>> waste_formula(XlaShape("s32", ("M", 3))).at(M=5).data_bytes
        60
        """
        names = {n for n in self.shape.dims if isinstance(n, str)}
        if names != sizes.keys():
            given = ", ".join(sorted(sizes)) or "none"
            raise ShapeError(
                f"sizes: expected {', '.join(sorted(names)) or 'none'}, got {given}",
                f"these are the symbolic sizes of {self.shape}",
                "give one value for each of them",
            )
        dims = tuple(sizes[n] if isinstance(n, str) else n for n in self.shape.dims)
        return waste(replace(self.shape, dims=dims))

    def __str__(self) -> str:
        reasons = (f"  {reason.text}" for reason in self.reasons)
        bytes_ = f"{self.data} bytes of data in {self.reserved}"
        return "\n".join([f"{self.shape}: {bytes_}", *reasons])


def waste_formula(shape: XlaShape | str) -> WasteFormula:
    """Return the bytes of an array as formulas in its symbolic sizes, each at least 1.

    Raises:
        LayoutError: if the array is not an XlaShape.
        UnsupportedError: if it is a token or opaque value, a size is unbounded, or SC splits an
            array of symbolic sizes.

    >>> from morello_layouts.notations.xla import XlaLayout
    >>> print(waste_formula(XlaShape("f32", ("N", 200), XlaLayout((1, 0), ((8, 128),)))))
    f32[N,200]{1,0:T(8,128)}: 800*N bytes of data in 8192*ceil(N/8)
      minor dimension d1 of size 200 is padded to 256: tiles (8,128) have 128 columns
      second-minor dimension d0 of size N is padded to 8*ceil(N/8): tiles (8,128) have 8 rows
    """
    shape = _shape_of(shape)
    bits = shape.bits  # raises without a layout
    layout = shape.layout
    assert layout is not None
    if all(isinstance(n, int) for n in shape.dims):
        known = waste(shape)
        return WasteFormula(shape, known.data_bytes, known.reserved_bytes, known.reasons)
    if layout.splits_array:
        raise UnsupportedError(
            f"{shape} splits the array at fixed places",
            "the symbolic sizes decide which piece is the largest",
            "write numbers for the sizes, or leave SC out",
        )
    sizes = tuple(_size(shape, n) for n in shape.dims)
    data = bytes_of(prod(sizes), min(bits, bits_of(shape.element_type)))
    reserved = bytes_of(layout.reserved_elements(sizes), bits)
    reasons = _reasons(shape, layout, layout.physical_sizes(sizes)) if reserved else ()
    return WasteFormula(shape, data, reserved, reasons)


def _size(shape: XlaShape, n: int | str | None) -> Int:
    if n is None:
        raise UnsupportedError(
            f"{shape} has an unbounded size",
            "'?' has no name that a formula could use",
            "write a name, such as N, for each '?'",
        )
    return SizeExpr.named(n) if isinstance(n, str) else int(n)


def _sympy(value: Int) -> Any:
    with importing:
        from morello_layouts.core.expr.conversions import size_to_sympy

    return size_to_sympy(value, {})
