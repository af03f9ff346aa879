"""XLA's shapes: arrays with a layout, tuples, and buffers; their text. Its document's functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

from morello_layouts.core.checks import Part, as_int, as_tuple, checked_coordinate, shown, whole
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import checked, frozen, instance, optional, settle, several
from morello_layouts.core.layout import (
    OPAQUE_TYPES,
    Arrays,
    ElementType,
    Layout,
    bits_of,
    type_name,
)
from morello_layouts.core.lazy import importing, regex, sympy
from morello_layouts.core.limits import NESTED_TUPLES
from morello_layouts.core.recipe import Recipe
from morello_layouts.errors import LayoutError, ParseError, ShapeError, UnsupportedError
from morello_layouts.notations.documents import COMBINE
from morello_layouts.notations.grammar import INT, NAME, Source, Syntax, Terminal, integer
from morello_layouts.notations.text import Note, Rule, field, made, many, word
from morello_layouts.notations.xla.layout import (
    FORM,
    HINTS,
    PIECES,
    SKIPPED,
    TYPE,
    Division,
    XlaLayout,
    bytes_of,
    largest_piece,
    rank_error,
    tiled,
)  # fmt: skip

Dim: TypeAlias = int | str | None
"""A size: a number, a name (symbolic), or None for XLA's ``?`` (unbounded)."""

_NAME: Final = regex(r"[A-Za-z_]\w*", re.ASCII)
_SIZES: Final = "give a tuple of sizes, such as (3, 5)"


def _dim(n: Any, name: str, part: Part) -> Dim:
    fix = "give an int from 0, a name, or None for an unbounded size"
    if n is None:
        return None
    if not isinstance(n, str):
        return as_int(n, name, part=part, fix=fix)
    if not _NAME.fullmatch(n):
        why = "a symbolic size is a name: letters, digits and '_'"
        raise LayoutError(f"{name}: expected a name, got {shown(n)}", why, fix, part=part)
    return str(n)


@frozen
class XlaShape(Layout):
    """An array: element type, sizes and layout; text such as ``bf16[10,200]{1,0:T(8,128)(2,1)}``.

    >>> x = XlaShape("f32", (3, 5), XlaLayout((1, 0), tiles=((2, 2),)))
    >>> print(x, x.byte_size)
    f32[3,5]{1,0:T(2,2)} 96
    """

    #: XLA's name of it, such as ``bf16``.
    element_type: str = checked(type_name)
    #: sizes in elements, dimension 0 first; the bound if the size is dynamic (``<=8``).
    dims: tuple[Dim, ...] = checked(several(_dim, _SIZES, "the size of dimension {1}"))
    #: an array that gives none gets descending minor-to-major, as in XLA; None for a token or an
    #: opaque value.
    layout: XlaLayout | None = checked(
        optional(instance(XlaLayout, "give an XlaLayout; ml.parse reads text")), default=None
    )
    #: which sizes are dynamic; if left out, those that are None.
    dynamic_dimensions: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        settle(self, dynamic_dimensions=_flags(self.dynamic_dimensions, self.dims))
        if self.element_type in OPAQUE_TYPES:
            if self.dims or self.layout is not None:
                raise LayoutError(
                    f"{self.element_type} has no dimensions and no layout",
                    "it is not an array",
                    f"write {self.element_type}[]",
                    part=("dims", 0) if self.dims else ("layout",),
                )
        elif self.layout is None:
            settle(self, layout=XlaLayout.descending(len(self.dims)))
        elif len(self.layout.minor_to_major) != len(self.dims):
            raise rank_error(len(self.dims), len(self.layout.minor_to_major))

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
        layout = self._array_layout
        sizes = largest_piece(layout.physical_sizes(self.shape), layout.split_configs)
        return bytes_of(prod(sizes), min(self.bits, bits_of(self.element_type)))

    def byte_counts(self, shape: Sequence[int], /) -> tuple[int, int]:
        return self.data_bytes, self.byte_size

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the sizes."""
        numbers = tuple(n for n in self.dims if isinstance(n, int))
        if self.layout is None or len(numbers) < len(self.dims):
            return ()
        return self.layout.size_notes(numbers, self.bits)

    def with_numbers(self, values: Mapping[str, int], /) -> XlaShape:
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
        return self._array_layout.reference(coordinates, shape)

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        return self._array_layout.by_document(coordinate, shape)

    @property
    def sizes(self) -> tuple[Int | None, ...]:
        return tuple(SizeExpr.named(n) if isinstance(n, str) else n for n in self.dims)

    def bound(self, shape: Sequence[Int], /) -> XlaShape | None:
        own = self.sizes
        if (
            None not in own
            or len(own) != len(shape)
            or any(n not in (None, given) for n, given in zip(own, shape, strict=True))
        ):
            return None
        dims = tuple(n if isinstance(n, int) else str(n) for n in shape)
        return replace(self, dims=dims, dynamic_dimensions=())

    @property
    def element(self) -> ElementType | None:
        return None if self.layout is None else ElementType(self.element_type, self.bits)

    def arrays(self) -> Iterator[tuple[tuple[int, ...], XlaShape]]:
        yield (), self

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        return self.warnings

    def __str__(self) -> str:
        dims = ",".join(map(dim_text, self.dims, self.dynamic_dimensions))
        layout = "" if self.layout is None else str(self.layout)
        return f"{self.element_type}[{dims}]{'' if layout == '{}' else layout}"


@frozen
class XlaTuple(Arrays):
    """A tuple of shapes.

    >>> print(XlaTuple((XlaShape("f32", (2,)), XlaShape("token", ()))))
    (f32[2]{0}, token[])
    """

    shapes: tuple[XlaShape | XlaTuple | XlaBuffer, ...]  #: its elements.

    def __post_init__(self) -> None:
        kinds, fix = (XlaShape, XlaTuple, XlaBuffer), "give a tuple of shapes; ml.parse reads text"
        settle(self, shapes=several(instance(kinds, fix), fix)(self.shapes, "shapes", ("shapes",)))

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


@frozen
class XlaBuffer(Arrays):
    """A buffer that holds an array: ``b(f32[8,128])``."""

    #: that of the array.
    shape: XlaShape = checked(instance(XlaShape, "give an XlaShape; ml.parse reads text"))

    def arrays(self) -> Iterator[tuple[tuple[int, ...], XlaShape]]:
        yield (), self.shape

    def __str__(self) -> str:
        return f"b({self.shape})"


XlaValue: TypeAlias = XlaShape | XlaTuple | XlaBuffer


def _flags(given: Any, dims: tuple[Dim, ...]) -> tuple[bool, ...]:
    """Which sizes are dynamic: those said to be, and those that are unbounded."""
    if type(given) is tuple and not given:
        return tuple([n is None for n in dims])
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


# ---- the text

_SYNTAX: Final = Syntax(
    f"an XLA shape is type[sizes]{FORM}", "write for example bf16[10,200]{1,0:T(8,128)(2,1)}", HINTS
)


def _size(source: Source, note: Note | None, _: bool) -> tuple[Dim, bool]:
    """Read a size, and whether it is only a bound: ``8``, ``<=8``, ``?``, ``N``."""
    first = source.need(INT, "<=", "?", NAME)
    token = source.need(INT) if first == "<=" else first
    if note is not None:
        note.mark(token.start)
    if token.kind is INT:
        return integer(token, source.text), first == "<="
    return (None, True) if token == "?" else (str(token), False)


def _array(
    element_type: str, dims: Sequence[tuple[Dim, bool]], layout: dict[str, Any] | None = None
) -> XlaShape:
    sizes, flags = zip(*dims, strict=True) if dims else ((), ())
    if layout is None:
        return XlaShape(element_type, sizes, None, flags)
    if len(layout["minor_to_major"]) != len(sizes):  # told before what is wrong with the order
        raise rank_error(len(sizes), len(layout["minor_to_major"]))
    try:
        ordered = XlaLayout(**layout)
    except LayoutError as error:
        error.part = ("layout", *error.part)
        raise
    return XlaShape(element_type, sizes, ordered, flags)


_ARRAY: Final = made(
    _array,
    field("element_type", word(TYPE, lambda t, _: t.lower() if t.isupper() else str(t))),  # F32
    "[",
    field("dims", many(Rule(_size), ",", "]")),
    field("layout", made(dict, *PIECES), default=None),
)


def parse_xla(text: str) -> XlaValue:
    source = Source(text, _SYNTAX, SKIPPED)
    found = _value(source)
    source.end()
    return found


_BUFFER: Final = Terminal("'b('", r"b\s*\(")


def _value(source: Source, depth: int = 0) -> XlaValue:
    if source.take(_BUFFER):
        inner = _ARRAY.read(source, None, True)
        source.need(")")
        return XlaBuffer(inner)
    opening = source.take("(")
    if opening is None:
        array: XlaShape = _ARRAY.read(source, None, True)
        return array
    if depth == NESTED_TUPLES:
        raise ParseError(
            f"tuples nest deeper than {NESTED_TUPLES}",
            "no program does that, and reading it would take long",
            "read the inner shapes by themselves",
            text=source.text,
            position=opening.start,
        )
    return XlaTuple(tuple(source.series(lambda: _value(source, depth + 1), ")")))


_FIX: Final = "give a tuple of ints, integer arrays or SymPy symbols"

Values: TypeAlias = Sequence[Any]
"""Integers, arrays of integers, or SymPy expressions, the most major dimension first."""


def linear_index(e: Values, d: Values) -> Any:
    """Return the document's ``linear_index(e, d)``: the row-major offset of an element.

    ``e[n] d[n-1]…d[1] + e[n-1] d[n-2]…d[1] + … + e[1]``.

    Args:
        e: the element's index in each dimension.
        d: the array's bounds.

    Returns:
        An int, an array for arrays of indices, or a SymPy expression.

    Raises:
        ShapeError: if there are not as many bounds as indices, or an index is out of bounds.
        LayoutError: if a value is of another type.

    >>> import sympy
    >>> linear_index((1, 1, 0, 1), (2, 3, 2, 2))
    17
    >>> linear_index(sympy.symbols("e2 e1"), sympy.symbols("d2 d1"))
    d1*e2 + e1
    """
    of = _checked(e, d)
    return _sum(of.e, of.d)


def linear_index_with_tile(e: Values, d: Values, t: Values) -> Any:
    """Return the document's ``linear_index((⌊e/t⌋, e mod t), (⌈d/t⌉, t))``: a tiled offset.

    Args:
        e: the element's index in each dimension.
        d: the array's bounds.
        t: the tile; -1 combines a dimension with the next more minor one. A tile of fewer
            dimensions tiles the most minor ones.

    Returns:
        An int, an array for arrays of indices, or a SymPy expression.

    Raises:
        ShapeError: if the arguments do not fit each other, or an index is out of bounds.
        LayoutError: if a value is of another type, or a tile has no elements.

    >>> linear_index_with_tile((2, 3), (3, 5), (2, 2))
    17
    >>> import sympy
    >>> e, d, t = sympy.symbols("e d t", integer=True, positive=True)
    >>> linear_index_with_tile([e], [d], [t])
    t*floor(e/t) + Mod(e, t)
    """
    return _sum(*_checked(e, d, t).tiled())


def tile_index(e: Values, d: Values, t: Values) -> tuple[Any, ...]:
    """Return ``⌊e/t⌋``: which tile holds an element; arguments as ``linear_index_with_tile``.

    >>> tile_index((2, 3), (3, 5), (2, 2))
    (1, 1)
    """
    return _checked(e, d, t).parts()[0]


def within_tile_index(e: Values, d: Values, t: Values) -> tuple[Any, ...]:
    """Return ``e mod t``: where an element is in its tile; arguments as ``linear_index_with_tile``.

    >>> within_tile_index((2, 3), (3, 5), (2, 2))
    (0, 1)
    """
    return _checked(e, d, t).parts()[1]


def _sum(e: Values, d: Values) -> Any:
    offset, volume = 0, 1
    for index, bound in zip(reversed(e), reversed(d), strict=True):
        offset, volume = index * volume + offset, volume * bound
    return offset


class _Indexed(NamedTuple):
    """Checked arguments, all of one kind."""

    e: Values
    d: Values
    t: Values
    arithmetic: Division

    def tiled(self) -> tuple[list[Any], list[Any]]:
        """Return the index in the array of tiles and in the tile, and the bounds of both."""
        return tiled(self.e, self.d, self.t, 0, self.arithmetic)

    def parts(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the index in the array of tiles, and the index in the tile."""
        index, _ = self.tiled()
        cut = len(index) - sum(n != COMBINE for n in self.t)
        return tuple(index[:cut]), tuple(index[cut:])


def _checked(e: Values, d: Values, t: Values = ()) -> _Indexed:
    e, d, t = (as_tuple(v, name, _FIX) for v, name in ((e, "e"), (d, "d"), (t, "t")))
    if len(e) != len(d):
        what = f"e and d: expected as many indices as bounds, got {len(e)} and {len(d)}"
        raise ShapeError(what, "an element has an index in each dimension", "give one for each")
    if t and whole(t[-1]) == COMBINE:
        what, why = "t: expected a tile that ends in a size", "-1 combines with the next dimension"
        raise LayoutError(what, why, "end the tile in a size from 1")
    d = tuple(n if _is_symbolic(n) else as_int(n, f"d[{k}]") for k, n in enumerate(d))
    t = tuple(
        n if _is_symbolic(n) or n == COMBINE else as_int(n, f"t[{k}]", 1) for k, n in enumerate(t)
    )
    if any(map(_is_symbolic, (*e, *d, *t))):
        return _Indexed(tuple(map(_symbolic, e)), d, t, _symbolic_arithmetic())
    bounds = _Indexed((0,) * len(d), d, t, Division()).tiled()[1]
    return _Indexed(checked_coordinate(e, d, prod(bounds)), d, t, Division())


def _is_symbolic(value: object) -> bool:
    return hasattr(value, "free_symbols")


def _symbolic(value: Any) -> Any:
    """Return an index among symbols: a SymPy expression, or an int."""
    number = value if _is_symbolic(value) else whole(value)
    if number is None:
        what = f"expected an int or a SymPy expression beside symbols, got {shown(value)}"
        raise LayoutError(what, "a formula of symbols has no arrays in it", _FIX)
    return number


def _symbolic_arithmetic() -> Division:
    with importing:
        from morello_layouts.core.expr.sympy_functions import Mod, ceiling, floor

    def ratio(x: Any, n: Any) -> Any:
        return sympy.Integer(1) * x / n

    return Division(lambda x, n: floor(ratio(x, n)), Mod, lambda x, n: ceiling(ratio(x, n)))
