"""XLA's shapes: arrays with a layout, tuples of shapes, and buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from morello_layouts.checks import as_int, as_tuple, require_type, shown
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.layout import Arrays, ElementType, Layout
from morello_layouts.notations.xla.layout import XlaLayout, rank_error
from morello_layouts.notations.xla.lowering import bytes_of
from morello_layouts.notations.xla.types import OPAQUE_TYPES, bits_of, check_type
from morello_layouts.recipe import Recipe

Dim: TypeAlias = int | str | None
"""A size: a number, a name (symbolic), or None for XLA's ``?`` (unbounded)."""

_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class XlaShape(Layout):
    """An array: element type, sizes and layout; text such as ``bf16[10,200]{1,0:T(8,128)(2,1)}``.

    Attributes:
        element_type: XLA's name of it, such as ``bf16``.
        dims: sizes in elements, dimension 0 first; the bound if the size is dynamic (``<=8``).
        layout: the layout; an array that gives none gets descending minor-to-major, as in XLA.
            A token or opaque value has None.
        dynamic_dimensions: which sizes are dynamic; if left out, those that are None.

    Raises:
        LayoutError: if a part has a wrong value, or the layout orders another number of dimensions.

    >>> x = XlaShape("f32", (3, 5), XlaLayout((1, 0), tiles=((2, 2),)))
    >>> print(x, x.byte_size)
    f32[3,5]{1,0:T(2,2)} 96
    """

    element_type: str
    dims: tuple[Dim, ...]
    layout: XlaLayout | None = None
    dynamic_dimensions: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        check_type(self.element_type, ("element_type",))
        set_field(self, "dims", _dims(self.dims))
        set_field(self, "dynamic_dimensions", _flags(self.dynamic_dimensions, self.dims))
        if self.layout is not None:
            require_type(self.layout, XlaLayout, "layout", "give an XlaLayout; ml.parse reads text")
        if self.element_type in OPAQUE_TYPES:
            self._require_bare()
        elif self.layout is None:
            set_field(self, "layout", XlaLayout.descending(len(self.dims)))
        elif len(self.layout.minor_to_major) != len(self.dims):
            raise rank_error(len(self.dims), len(self.layout.minor_to_major))

    def _require_bare(self) -> None:
        if self.dims or self.layout is not None:
            raise LayoutError(
                f"{self.element_type} has no dimensions and no layout",
                "it is not an array",
                f"write {self.element_type}[]",
                part=("dims", 0) if self.dims else ("layout",),
            )

    @property
    def _array_layout(self) -> XlaLayout:
        if self.layout is None:
            raise UnsupportedError(
                f"{self.element_type}[] is not an array",
                "it has no elements, no layout and no size",
                "ask about an array shape",
            )
        return self.layout

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, if every one is a number (a bound if dynamic).

        Raises:
            UnsupportedError: if a size is a name or unbounded.
        """
        numbers = tuple(n for n in self.dims if isinstance(n, int))
        if len(numbers) != len(self.dims):
            names = ", ".join("?" if n is None else n for n in self.dims if not isinstance(n, int))
            raise UnsupportedError(
                f"{self} has sizes that are not numbers: {names}",
                "offsets and sizes are computed for sizes that are known",
                "write a number for each",
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
        """Bits that an element takes in the buffer.

        Raises:
            UnsupportedError: if the shape is a token or an opaque value, which has no size.
        """
        return self._array_layout.element_size_in_bits or bits_of(self.element_type)

    @property
    def byte_size(self) -> int:
        """Bytes that XLA reserves. In XLA's rule only the first tile pads.

        Raises:
            UnsupportedError: if a size is a name or unbounded.

        >>> XlaShape("bf16", (10, 200), XlaLayout((1, 0), ((8, 128), (2, 1)))).byte_size
        8192
        """
        return bytes_of(self._array_layout.reserved_elements(self.shape), self.bits)

    @property
    def data_bytes(self) -> int:
        """Bytes of the elements alone, at the width of the type or of a narrower ``E(bits)``.

        Of an array that SC cuts into pieces, those of the largest, as in ``byte_size``.

        >>> XlaShape("pred", (5,), XlaLayout((0,), ((8,),), element_size_in_bits=32)).data_bytes
        5
        """
        bare = replace(self._array_layout, tiles=(), tail_padding_alignment_in_elements=1)
        bits = min(self.bits, bits_of(self.element_type))
        return bytes_of(bare.reserved_elements(self.shape), bits)

    def byte_counts(self, shape: Sequence[int], /) -> tuple[int, int]:
        """Return the bytes of the elements alone, and those that XLA reserves."""
        return self.data_bytes, self.byte_size

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the sizes."""
        numbers = tuple(n for n in self.dims if isinstance(n, int))
        if self.layout is None or len(numbers) < len(self.dims):
            return ()
        return self.layout.size_notes(numbers, self.bits)

    def with_numbers(self, values: Mapping[str, int], /) -> XlaShape:
        """The shape with numbers in place of names in its layout's tiles."""
        return replace(self, layout=self._array_layout.with_numbers(values))

    def recipe(self, shape: Sequence[Int] | None = None) -> Recipe:
        """The layout at the shape as pad, split, transpose, merge steps.

        Args:
            shape: sizes that replace the shape's own; they may be symbolic.

        Raises:
            UnsupportedError: if a size is not a number, or SC splits the array.
        """
        return self._array_layout.recipe(self.shape if shape is None else shape)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int]) -> AffineExpr:
        """The offset by the document's formula, level by level, unsimplified."""
        return self._array_layout.reference(coordinates, shape)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return an element's offset and the buffer's size, by the document "Tiled layout"."""
        return self._array_layout.by_document(coordinate, shape)

    @property
    def sizes(self) -> tuple[Int | None, ...]:
        """The sizes; a name is a symbolic size, None an unbounded one."""
        return tuple(SizeExpr.named(n) if isinstance(n, str) else n for n in self.dims)

    @property
    def element(self) -> ElementType | None:
        """The element type, with the width at which an element is stored."""
        return None if self.layout is None else ElementType(self.element_type, self.bits)

    def arrays(self) -> Iterator[tuple[tuple[int, ...], XlaShape]]:
        """Yield the array itself."""
        yield (), self

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        """Return warnings about the sizes."""
        return self.warnings

    def __str__(self) -> str:
        dims = ",".join(map(dim_text, self.dims, self.dynamic_dimensions))
        text = f"{self.element_type}[{dims}]"
        if self.layout is None:
            return text
        layout = str(self.layout)
        return text if layout == "{}" else text + layout


@dataclass(frozen=True, slots=True, repr=False)
class XlaTuple(Arrays):
    """A tuple of shapes.

    Attributes:
        shapes: its elements.

    Raises:
        LayoutError: if an element is not a shape.

    >>> print(XlaTuple((XlaShape("f32", (2,)), XlaShape("token", ()))))
    (f32[2]{0}, token[])
    """

    shapes: tuple[XlaShape | XlaTuple | XlaBuffer, ...]

    def __post_init__(self) -> None:
        fix = "give a tuple of shapes; ml.parse reads text"
        shapes = as_tuple(self.shapes, "shapes", fix, ("shapes",))
        for k, shape in enumerate(shapes):
            require_type(shape, (XlaShape, XlaTuple, XlaBuffer), f"shapes[{k}]", fix)
        object.__setattr__(self, "shapes", shapes)

    def arrays(self) -> Iterator[tuple[tuple[int, ...], XlaShape]]:
        """Yield every array with its positions in the tuples around it.

        >>> s = XlaShape("s32", ())
        >>> [path for path, _ in XlaTuple((s, XlaTuple((s, s)))).arrays()]
        [(0,), (1, 0), (1, 1)]
        """
        for k, inner in enumerate(self.shapes):
            for path, array in inner.arrays():
                yield (k, *path), array

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.shapes))})"


@dataclass(frozen=True, slots=True, repr=False)
class XlaBuffer(Arrays):
    """A buffer that holds an array: ``b(f32[8,128])``.

    Attributes:
        shape: that of the array.

    Raises:
        LayoutError: if it holds something else.

    >>> print(XlaBuffer(XlaShape("f32", (8, 128))))
    b(f32[8,128]{1,0})
    """

    shape: XlaShape

    def __post_init__(self) -> None:
        require_type(self.shape, XlaShape, "shape", "give an XlaShape; ml.parse reads text")

    def arrays(self) -> Iterator[tuple[tuple[int, ...], XlaShape]]:
        """Yield the array that the buffer holds."""
        yield (), self.shape

    def __str__(self) -> str:
        return f"b({self.shape})"


def _dims(given: Any) -> tuple[Dim, ...]:
    sizes = as_tuple(given, "dims", "give a tuple of sizes, such as (3, 5)", ("dims",))
    return tuple(_dim(k, n) for k, n in enumerate(sizes))


def _dim(k: int, n: Any) -> Dim:
    part, fix = ("dims", k), "give an int from 0, a name, or None for an unbounded size"
    if n is None:
        return None
    if not isinstance(n, str):
        return as_int(n, f"the size of dimension {k}", part=part, fix=fix)
    if not _NAME.fullmatch(n):
        why = "a symbolic size is a name: letters, digits and '_'"
        raise LayoutError(
            f"the size of dimension {k}: expected a name, got {shown(n)}", why, fix, part=part
        )
    return str(n)


def _flags(given: Any, dims: tuple[Dim, ...]) -> tuple[bool, ...]:
    """Which sizes are dynamic: those said to be, and those that are unbounded."""
    part, fix = ("dynamic_dimensions",), "give one bool for each dimension, or leave them out"
    flags = as_tuple(given, "dynamic_dimensions", fix, part) or (False,) * len(dims)
    if len(flags) != len(dims):
        what = f"dynamic_dimensions: expected {len(dims)} flags, got {len(flags)}"
        raise LayoutError(what, "there is one flag for each dimension", fix, part=part)
    for k, (flag, n) in enumerate(zip(flags, dims, strict=True)):
        if not isinstance(flag, bool) and type(flag).__name__ not in ("bool", "bool_"):  # NumPy's
            what = f"dynamic_dimensions[{k}]: expected a bool, got {shown(flag)}"
            raise LayoutError(what, fix=fix, part=part)
        if flag and isinstance(n, str):
            what = f"dimension {k} is dynamic and has the symbolic size {n}"
            raise LayoutError(what, "a dynamic size has a number as its bound", fix, part=part)
    return tuple(bool(flag) or n is None for flag, n in zip(flags, dims, strict=True))


def dim_text(n: Dim, dynamic: bool) -> str:
    """Return a size as XLA writes it."""
    if n is None:
        return "?"
    return f"<={n}" if dynamic else str(n)
