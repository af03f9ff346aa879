"""Relayouts: from one buffer to another that holds the same array in another layout."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from morello_layouts.core.checks import as_index, as_int, shown
from morello_layouts.core.expr import AffineExpr, canonicalize
from morello_layouts.core.expr.conversions import latex_map, to_sympy
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType
from morello_layouts.core.lazy import importing, numpy as np
from morello_layouts.core.maps import IndexMap, Inverse
from morello_layouts.core.recipe import has_inverse
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.xla import ELEMENT_BITS, numpy_type

if TYPE_CHECKING:
    import sympy
    from numpy.typing import NDArray

    from morello_layouts.outputs.kernels.compiled import CompiledRelayout, SizedRelayout
    from morello_layouts.outputs.kernels.gather import Gather, NarrowFunction
    from morello_layouts.outputs.kernels.narrow import NarrowRelayout

BitOrder: TypeAlias = Literal["little", "big"]
"""Which end of a byte comes first, as NumPy's ``bitorder``."""


@frozen(slots=False)
class Relayout:
    """A map from each offset of a target buffer to the source's offset of the same element.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}")
    >>> print(r, r.element_type)
    p -> 16*(p//16) + 8*((p//4)%2) + 4*((p//8)%2) + p%4 f32
    """

    source: IndexMap  #: the index map of the buffer that is read.
    target: IndexMap  #: the index map of the buffer that is written.

    def __post_init__(self) -> None:
        if self.source.shape != self.target.shape:
            raise ShapeError(
                f"relayout: the source has the shape {self.source.shape}, the target "
                f"{self.target.shape}",
                "a relayout moves each element of one array",
                "give both layouts at the same shape",
            )

    @property
    def element_type(self) -> ElementType | None:
        """The element type, from the first layout that names one; None if neither does."""
        named = (one for one in self._element_types if one.name is not None)
        return next(named, None)

    @property
    def bits(self) -> int | None:
        """The bits of an element if both layouts say that it is narrower than a byte, else None.

        >>> from morello_layouts import relayout
        >>> relayout("u4[8,N]{1,0:E(4)}", "{0,1:E(4)}").bits
        4
        """
        both = {one.bits for one in self._element_types}
        is_narrow = len(self._element_types) == 2 and len(both) == 1 and min(both) < 8
        return both.pop() if is_narrow else None

    @property
    def _element_types(self) -> list[ElementType]:
        found = (self.source.element_type, self.target.element_type)
        return [one for one in found if one is not None]

    @property
    def inverse(self) -> Inverse:
        """The map from the target's offsets to coordinates."""
        return self.target.inverse

    @cached_property
    def form(self) -> AffineExpr:
        """The offset in the source's buffer, as a simplified affine expression."""
        at = {f"d{k}": form for k, form in enumerate(self.inverse.forms)}
        return canonicalize(substitute(self.source.reference_form, at))

    @cached_property
    def expr(self) -> sympy.Expr:
        """The offset in the source's buffer, as a SymPy expression in ``p``."""
        symbols = {**self.source.size_symbols, **self.target.size_symbols}
        return to_sympy(self.form, symbols)

    @property
    def padding(self) -> sympy.Basic:
        """The condition that the target's offset ``p`` is padding, as a SymPy Boolean."""
        return self.inverse.padding

    def __call__(self, offset: int) -> int | None:
        """Return the source's offset of the element at an offset of the target.

        Returns:
            The offset in elements; None if the target's offset is padding.

        Raises:
            LayoutError: if the offset is not an integer.
            ShapeError: if it is outside of the target's buffer.
        """
        at = as_index(offset)
        if self.target.coordinates(at) is None:
            return None
        found: Any = self.form.evaluate({"p": at})
        return int(found)

    def __str__(self) -> str:
        if not has_inverse(self.target.recipe):
            return f"{self.source.source} to {self.target.source}"
        return f"p -> {self.form}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.source.source} to {self.target.source}: {self}>"

    def _repr_latex_(self) -> str:
        return latex_map(["p"], [self.form])

    def kernel(
        self,
        target: str = "c",
        dtype: Any = None,
        *,
        fill: Any = ...,
        name: str = "relayout",
        bits: int | None = None,
        bitorder: BitOrder | tuple[BitOrder, BitOrder] = "little",
    ) -> str:
        """Return a whole source file that moves a buffer of one layout to one of the other.

        Symbolic sizes are arguments of the function, after the buffers and in the order of their
        names: one kernel serves all of them. It relies on the assumptions on them.

        Args:
            target: ``"c"``, ``"cuda"``, ``"python"`` or ``"triton"``.
            dtype: the type of an item: NumPy's, or XLA's name of it; by default the type that the
                layouts name. Buffers have an item for each slot, in whole bytes, so a given type
                also serves layouts of ``E(4)`` or another element type. Without one, buffers of
                ``E(1)`` to ``E(7)`` are bytes; the kernel, also in ``"rust"``, moves bits. In C it
                has scratch memory of their size as third argument if sizes are numbers.
            fill: the value of all slots of the target without an element; None leaves them as they
                are. By default 0 for the padding of a layout, and None if the target is a view of
                a part of an array: beside it may lie other elements. For types that NumPy lacks,
                such as bf16 and those of 8 bits, give the bits of an item: 0x3f80 is 1 in bf16.
            name: the function's name.
            bits: the bits of an element, 1 to 7, if elements lie side by side in bytes; 4 for int4
                in any notation. As ``dtype``, it stands in place of a type that a layout names.
            bitorder: of elements narrower than a byte, whether the first begins at the lowest or
                the highest bit, as in NumPy's ``packbits``; of both buffers, or of each.

        Raises:
            LayoutError: if the type is missing or does not have the width of both layouts'
                elements, or if the fill is not a value of it.
            UnsupportedError: if there is no such target, or none for symbolic sizes.

        >>> from morello_layouts import relayout
        >>> text = relayout("[0, 1]", "[1, 0]", (4, 8)).kernel("c", "float32", name="transpose")
        >>> print(text[text.rindex("void transpose(") :].splitlines()[0])
        void transpose(void *restrict target, const void *restrict source)
        >>> text = relayout("f32[M,N]{1,0}", "{1,0:T(8,128)}").kernel("c")
        >>> print(text[text.rindex("void relayout(") :].splitlines()[0])
        void relayout(void *restrict target, const void *restrict source, size_t M, size_t N)
        """
        with importing:
            from morello_layouts.outputs.kernels.emit_c import kernel_text
            from morello_layouts.outputs.kernels.plan import Kernel

        if (narrow := self._narrow(dtype, fill, bits, bitorder, target)) is not None:
            return narrow.text(name, target)
        items = self._items(dtype)
        layouts = f"{self.source.source or self.source}\nto {self.target.source or self.target}"
        padding = self._padding(fill, items, dtype)
        recipes = self.source.recipe, self.target.recipe
        assumptions = self.target.assumptions
        kernel = Kernel(*recipes, items.itemsize, padding, name, layouts, assumptions)
        return kernel_text(kernel, target)

    def compile(
        self,
        dtype: Any = None,
        *,
        fill: Any = ...,
        threads: int | None = None,
        bits: int | None = None,
        bitorder: BitOrder | tuple[BitOrder, BitOrder] = "little",
    ) -> CompiledRelayout | SizedRelayout | NarrowFunction:
        """Return the kernel as a function on NumPy buffers, built by the system's C compiler.

        A cache folder keeps what was built. Without a compiler the function works in NumPy, and a
        warning says so. If sizes are symbolic, each call gives them: ``f(buffer, M=3, N=5)``.

        Args:
            dtype: as of :meth:`kernel`.
            fill: as of :meth:`kernel`; another fill needs no other build.
            bits: as of :meth:`kernel`.
            bitorder: as of :meth:`kernel`.
            threads: the most threads that share the work of a call; by default only the caller's.
                The result does not depend on it. NumPy works on one thread.

        Raises:
            LayoutError: as of :meth:`kernel`; if ``threads`` is not a number of threads; if the
                compiler fails.

        >>> from morello_layouts import relayout
        >>> f = relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int16")
        >>> f([1, 2, 3, 4, 5, 6])
        array([1, 4, 2, 5, 3, 6], dtype=int16)
        >>> f = relayout("s16[M,N]{1,0}", "{0,1}").compile()
        >>> f([1, 2, 3, 4, 5, 6], M=2, N=3), f([[1, 2], [3, 4]])
        (array([1, 4, 2, 5, 3, 6], dtype=int16), array([1, 3, 2, 4], dtype=int16))
        >>> f = relayout("u4[2,4]{1,0:E(4)}", "{0,1:E(4)}").compile()    # bytes
        >>> f(bytes.fromhex("21436587")).tobytes().hex()
        '51627384'
        """
        with importing:
            from morello_layouts.outputs.kernels.compiled import (
                compiled_relayout,
                sized_relayout,
                thread_count,
            )

        count = thread_count(threads)
        if (narrow := self._narrow(dtype, fill, bits, bitorder, "c")) is not None:
            return narrow.compile()
        items = self._items(dtype)
        source, target = self.source.recipe, self.target.recipe
        padding = self._padding(fill, items, dtype)
        if source.names or target.names:
            known = self.target.assumptions
            return sized_relayout(source, target, items, padding, known, threads=count)
        return compiled_relayout(source, target, items, padding, threads=count)

    def _narrow(
        self,
        dtype: Any,
        fill: Any,
        bits: int | None,
        bitorder: BitOrder | tuple[BitOrder, BitOrder],
        target: str,
    ) -> NarrowRelayout | Gather | None:
        """Return the relayout of bits, if elements have less than 8."""
        orders = (bitorder, bitorder) if isinstance(bitorder, str) else bitorder
        if not isinstance(orders, tuple) or len(orders) != 2 or not {*orders} <= {"little", "big"}:
            raise LayoutError(
                f"bitorder: expected little or big, got {shown(bitorder)}",
                "the first element of a byte begins at its lowest or at its highest bit",
                "give one word, or two: of the source and of the target",
            )
        if bits is not None:
            fix = "leave it out, and give dtype='float32'"
            bits = as_int(bits, "bits", 1, 7, why="wider elements are items, of a type", fix=fix)
        elif dtype is None:
            bits = self.bits
        if bits is None or dtype is not None:
            if bits is not None or "big" in orders:
                raise LayoutError(
                    f"{'bits' if bits else 'bitorder'}: expected none of items of whole bytes",
                    "it is a matter of elements which share a byte",
                    "leave it out, or leave the argument dtype out and give bits=4",
                )
            return None
        if fill is ...:
            fill = None if self.target.is_part else 0
        elif fill is not None:
            fill = as_int(fill, "fill", -(1 << bits - 1), (1 << bits) - 1) & (1 << bits) - 1
        with importing:
            from morello_layouts.outputs.kernels.gather import Gather
            from morello_layouts.outputs.kernels.narrow import narrow_relayout

        found = Gather(self.source, self.target, lambda: self.form, bits, fill, orders)
        return narrow_relayout(found) if target == "c" else found

    def _padding(self, fill: Any, items: np.dtype[Any], dtype: Any) -> bytes | None:
        """Return the bytes of an item of padding; None to leave it as it is."""
        if fill is ...:
            fill = None if self.target.is_part else 0
        return fill_bytes(fill, items, self._bits_of(dtype))

    def _items(self, dtype: Any) -> np.dtype[Any]:
        given = self._type_name if dtype is None else dtype
        if given is None:
            raise LayoutError(
                "dtype: expected the type of an item, got none",
                "neither layout names its element type, as XLA shapes do",
                "give it, such as dtype='float32'",
            )
        if isinstance(dtype, str) and dtype in ("u2", "u4") and dtype != self._type_name:
            count = int(dtype[1:])
            raise LayoutError(
                f"dtype: {dtype} has {count} bits in XLA, {count} bytes in NumPy",
                "a name must say how many bytes an item has",
                f"give dtype='uint8' for XLA's {dtype}, one byte in a buffer, or 'uint{8 * count}'",
            )
        items = item_type(given)
        widths = [one.bits for one in self._element_types]
        if dtype is None and any(bits != 8 * items.itemsize for bits in widths):
            raise LayoutError(
                f"the layouts' elements take {' and '.join(map(str, dict.fromkeys(widths)))} bits",
                f"a kernel moves items of one width, whole bytes, here {8 * items.itemsize} bits, "
                "or elements of 1 to 7 bits in both layouts",
                "name one type in both layouts without E(n), or give the argument dtype, the "
                "items' in both, or the argument bits, those of an element that shares its bytes",
            )
        return items

    @property
    def _type_name(self) -> str | None:
        return None if self.element_type is None else self.element_type.name

    def _bits_of(self, dtype: Any) -> str | None:
        """Return the type of an item if NumPy lacks it, so that items are its bits."""
        given = self._type_name if dtype is None else dtype
        return given if isinstance(given, str) and held_as_bits(given) else None


def item_type(given: Any) -> np.dtype[Any]:
    """Return the NumPy type of an item, from XLA's name or anything that NumPy takes.

    If a name means different types in XLA and NumPy, as ``u8`` does, XLA's meaning counts.

    >>> item_type("bf16"), item_type("u8"), item_type("b32"), item_type("float32")
    (dtype('uint16'), dtype('uint8'), dtype('uint32'), dtype('float32'))
    """
    if isinstance(given, str) and given in ("b8", "b16", "b32", "b64"):  # fragments of any type
        given = f"u{given[1:]}"
    try:
        known = isinstance(given, str) and given in ELEMENT_BITS
        dtype = np.dtype(numpy_type(given) if known else given)
    except (TypeError, ValueError, SyntaxError):  # the last two of texts with commas
        dtype = np.dtype(object)
    if dtype.hasobject or dtype.itemsize == 0:
        raise LayoutError(
            f"dtype: expected a type of items, got {shown(given)}",
            "an item is a number or a record of fixed size",
            "give for example 'float32' or 'bf16'",
        )
    return dtype


def held_as_bits(element_type: str) -> bool:
    """Whether NumPy lacks one of XLA's types, so that items are its bits.

    >>> held_as_bits("bf16"), held_as_bits("f32")
    (True, False)
    """
    if element_type not in ELEMENT_BITS:
        return False
    return element_type[0] in "fb" and numpy_type(element_type)[0] == "u"


def fill_bytes(fill: Any, dtype: np.dtype[Any], bits_of: str | None = None) -> bytes | None:
    r"""Return the bytes of an item of padding, as of :func:`padding_item`; None for None.

    >>> fill_bytes(-1, np.dtype("int16"))
    b'\xff\xff'
    """
    return None if fill is None else padding_item(fill, dtype, bits_of).tobytes()


def padding_item(fill: Any, dtype: np.dtype[Any], bits_of: str | None = None) -> NDArray[Any]:
    """Return the item of padding as an array without axes; floats are rounded to the type.

    Args:
        fill: the value of padding.
        dtype: the type of an item.
        bits_of: the type that NumPy lacks, if items are its bits; the fill is its bits then.

    >>> padding_item(1, np.dtype("float32"))
    array(1., dtype=float32)
    """
    if isinstance(fill, int) and fill == 0:
        return np.zeros((), dtype)
    try:
        given = np.asarray(fill)
        fits = given.ndim == 0 and _takes(dtype, given.dtype, bits_of)
        if fits:
            held = given.astype(dtype)
            fits = dtype.kind in "fc" or bool(held == given)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if fits:
        return held
    if bits_of:
        raise LayoutError(
            f"fill: expected the bits of a {bits_of}, got {fill!r}",
            f"NumPy has no {bits_of}: padding holds the given bits, {dtype}",
            "give the bits as an integer, such as 0x3f80 for 1 in bf16",
        )
    raise LayoutError(
        f"fill: expected a value of {dtype}, got {fill!r}",
        "padding has the items' type",
        "give one value of that type",
    )


def _takes(dtype: np.dtype[Any], given: np.dtype[Any], bits_of: str | None) -> bool:
    """Whether a type takes values of another one, as far as their kinds decide."""
    if bits_of:
        return given.kind in "biu"
    if dtype.kind == "c":
        return given.kind in "biufc"
    return given.kind in "biuf" if dtype.kind in "biuf" else True
