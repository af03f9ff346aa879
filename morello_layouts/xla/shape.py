"""XLA's shapes: arrays with a layout, tuples of shapes, and buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr import Linear
from morello_layouts.recipe import Recipe
from morello_layouts.xla import lowering, size
from morello_layouts.xla.layout import XlaLayout
from morello_layouts.xla.types import ELEMENT_BITS, OPAQUE_TYPES, bits_of

__all__ = ["Dim", "XlaBuffer", "XlaShape", "XlaTuple"]

Dim: TypeAlias = int | str | None
"""A size: a number, a name (symbolic), or None for XLA's ``?`` (unbounded)."""

LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class XlaShape:
    """An array: element type, sizes and layout; text such as ``bf16[10,200]{1,0:T(8,128)(2,1)}``.

    Attributes:
        element_type: XLA's name of it, such as ``bf16``.
        dims: sizes, dimension 0 first; the bound where the size is dynamic (``<=8``).
        layout: the layout; None for a scalar, token or opaque value without one. An array that
            writes none gets descending minor-to-major, as in XLA.
        dynamic_dimensions: which sizes are dynamic; all False if left out.

    >>> x = XlaShape("f32", (3, 5), XlaLayout((1, 0), tiles=((2, 2),)))
    >>> print(x, x.byte_size)
    f32[3,5]{1,0:T(2,2)} 96
    """

    element_type: str
    dims: tuple[Dim, ...]
    layout: XlaLayout | None = None
    dynamic_dimensions: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", tuple(self.dims))
        dynamic = tuple(self.dynamic_dimensions) or (False,) * len(self.dims)
        object.__setattr__(self, "dynamic_dimensions", dynamic)
        self._check()
        if self.layout is None and self.dims:
            object.__setattr__(self, "layout", XlaLayout.descending(len(self.dims)))

    def _check(self) -> None:
        if self.element_type in OPAQUE_TYPES:
            if self.dims or self.layout is not None:
                raise LayoutError(
                    f"{self.element_type} has no dimensions and no layout",
                    "it is not an array",
                    f"write {self.element_type}[]",
                    part=("dims",),
                )
        elif self.element_type not in ELEMENT_BITS:
            raise LayoutError(
                f"{self.element_type!r} is no element type of XLA",
                "XLA names types in lower case: pred, s8, u32, bf16, f32, …",
                f"write one of {', '.join(ELEMENT_BITS)}",
                part=("element_type",),
            )
        for k, n in enumerate(self.dims):
            if isinstance(n, int) and not 0 <= n <= LARGEST:
                raise LayoutError(
                    f"dimension {k} has size {n}",
                    "a size is an integer from 0 to 2^63 - 1",
                    "write a size in that range",
                    part=("dims", k),
                )
        if len(self.dynamic_dimensions) != len(self.dims):
            raise LayoutError(
                f"{len(self.dynamic_dimensions)} dynamic flags for {len(self.dims)} dimensions",
                "there is one flag for each dimension",
                "leave them out, or give one each",
                part=("dims",),
            )
        if self.layout is not None and len(self.layout.minor_to_major) != len(self.dims):
            order = self.layout.minor_to_major
            raise LayoutError(
                f"the shape has {len(self.dims)} dimensions, its layout orders {len(order)}",
                "minor_to_major names every dimension once",
                f"order the dimensions 0 to {len(self.dims) - 1}, the fastest varying first"
                if self.dims
                else "a scalar's layout begins with ':' or is left out",
                part=("minor_to_major", max(0, len(order) - 1)),
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, where every one is a number (a bound, where dynamic).

        Raises:
            UnsupportedError: where a size is a name or unbounded.
        """
        numbers = tuple(n for n in self.dims if isinstance(n, int))
        if len(numbers) != len(self.dims):
            names = ", ".join("?" if n is None else n for n in self.dims if not isinstance(n, int))
            raise UnsupportedError(
                f"the shape {self} has sizes that are no numbers: {names}",
                "this question is answered for sizes that are given",
                "write numbers in their places",
            )
        return numbers

    @property
    def true_rank(self) -> int:
        """XLA's true number of dimensions: how many have a size above 1.

        >>> XlaShape("bf16", (8, 1, 1280, 16384)).true_rank
        3
        """
        return sum(not isinstance(n, int) or n > 1 for n in self.dims)

    @property
    def bits(self) -> int:
        """Bits that an element takes in the buffer."""
        own = self.layout.element_size_in_bits if self.layout is not None else 0
        self._require_array()
        return own or bits_of(self.element_type)

    @property
    def byte_size(self) -> int:
        """Bytes that XLA reserves. In XLA's rule only the first tile pads.

        >>> XlaShape("bf16", (10, 200), XlaLayout((1, 0), ((8, 128), (2, 1)))).byte_size
        8192
        """
        self._require_array()
        return size.reserved_bytes(self.shape, self.layout or XlaLayout(()), self.bits)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before he relies on the sizes."""
        if self.element_type in OPAQUE_TYPES or any(not isinstance(n, int) for n in self.dims):
            return ()
        layout = self.layout or XlaLayout(())
        if layout.split_configs:
            return ("SC splits the array over several buffers; byte_size is that of the largest",)
        spanned = size.bytes_of(self.recipe(self.shape).size, self.bits)
        if spanned == self.byte_size:
            return ()
        return (
            f"XLA reserves {self.byte_size} bytes, the tiles span {spanned}: a later tile does not "
            "divide the block before it, and XLA's size counts the padding of the first tile only",
        )

    def recipe(self, shape: Sequence[int] | None = None) -> Recipe:
        """The layout at the shape as pad, split, transpose, merge steps."""
        self._require_array()
        return lowering.recipe(
            self.layout or XlaLayout(()), self.shape if shape is None else shape
        )

    def textbook(self, coordinates: Sequence[Linear], shape: Sequence[int]) -> Linear:
        """The offset by the document's formula, level by level, unsimplified."""
        return lowering.textbook(self.layout or XlaLayout(()), coordinates, shape)

    def _require_array(self) -> None:
        if self.element_type in OPAQUE_TYPES:
            raise UnsupportedError(
                f"{self.element_type}[] is not an array",
                "it has no elements, no layout and no size",
                "ask about an array shape",
            )

    def __str__(self) -> str:
        dims = ",".join(map(_dim_text, self.dims, self.dynamic_dimensions))
        text = f"{self.element_type}[{dims}]"
        if self.layout is None:
            return text
        layout = str(self.layout)
        return text if layout == "{}" else text + layout


@dataclass(frozen=True, slots=True)
class XlaTuple:
    """A tuple of shapes."""

    shapes: tuple[XlaShape | XlaTuple | XlaBuffer, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.shapes))})"


@dataclass(frozen=True, slots=True)
class XlaBuffer:
    """A buffer that holds an array: ``b(f32[8,128])``."""

    shape: XlaShape

    def __str__(self) -> str:
        return f"b({self.shape})"


def _dim_text(n: Dim, dynamic: bool) -> str:
    if n is None:
        return "?"
    return f"<={n}" if dynamic else str(n)


def shape_error_for(value: object) -> ShapeError:
    """The error for a tuple or buffer where one array is wanted."""
    return ShapeError(
        f"{value} is not one array",
        "an index map belongs to one array",
        "ask about each array of it by itself",
    )
