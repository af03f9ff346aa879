"""A relayout: from one buffer to another that holds the same array in another layout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from morello_layouts import notations
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import AffineExpr, canonicalize
from morello_layouts.expr.affine import substitute
from morello_layouts.expr.conversions import latex_map, to_sympy
from morello_layouts.maps.index_map import IndexMap, Inverse
from morello_layouts.notations.xla import ELEMENT_BITS, XlaLayout, XlaShape, numpy_type

if TYPE_CHECKING:
    import sympy

    from morello_layouts.kernels.compiled import CompiledRelayout, SizedRelayout


@dataclass(frozen=True)
class Relayout:
    """From one buffer to another that holds the same array in another layout.

    Attributes:
        source: the index map of the buffer that is read.
        target: the index map of the buffer that is written.
        element_type: XLA's name of the element type, where a layout's text names it.
        element_bits: how wide elements are, by each layout whose text says so.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}")
    >>> print(r, r.element_type)
    p -> 16*(p//16) + 8*((p//4)%2) + 4*((p//8)%2) + p%4 f32
    """

    source: IndexMap
    target: IndexMap
    element_type: str | None = None
    element_bits: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.source.shape != self.target.shape:
            raise ShapeError(
                f"the layouts are of arrays of shapes {self.source.shape} and {self.target.shape}",
                "a relayout moves each element of one array",
                "give both layouts at the same shape",
            )

    @property
    def inverse(self) -> Inverse:
        """From the target's offsets to coordinates."""
        return self.target.inverse

    @cached_property
    def form(self) -> AffineExpr:
        """The offset in the source's buffer, in the simplifier's own form."""
        at = {f"d{k}": form for k, form in enumerate(self.inverse.forms)}
        return canonicalize(substitute(self.source.reference_form, at))

    @cached_property
    def expr(self) -> sympy.Expr:
        """The offset in the source's buffer, as a SymPy expression in ``p``."""
        symbols = {**self.source.size_symbols, **self.target.size_symbols}
        return to_sympy(self.form, symbols)

    @property
    def padding(self) -> sympy.Basic:
        """The condition that ``p`` is padding of the target, as a SymPy Boolean in ``p``."""
        return self.inverse.padding

    def __call__(self, offset: int) -> int | None:
        """The offset in the source's buffer of what lies at an offset of the target's.

        Returns:
            The offset in elements; None where the target holds padding.

        Raises:
            ShapeError: where the offset is outside of the target's buffer.
        """
        if self.target.coordinates(offset) is None:
            return None
        found: Any = self.form.evaluate({"p": offset})
        return int(found)

    def __str__(self) -> str:
        return f"p -> {self.form}"

    def _repr_latex_(self) -> str:
        return latex_map(["p"], [self.form])

    def kernel(
        self, target: str = "c", dtype: Any = None, *, fill: Any = 0, name: str = "relayout"
    ) -> str:
        """A whole source file that moves a buffer of the one layout to one of the other.

        Args:
            target: ``"c"``, ``"cuda"`` or ``"python"``.
            dtype: the type of an item: NumPy's, or XLA's name of it; left out, the type that the
                layouts' text names. Buffers have an item for each slot, in whole bytes, so a type
                that is given here also serves layouts of ``E(4)`` or another element type.
            fill: what padding holds; None leaves it as it is. For types that NumPy lacks, such as
                bf16 and those of 8 bits, it is the bits of an item: 0x3f80 is 1 in bf16.
            name: the function's name.

        Symbolic sizes are arguments of the function, after the buffers and in the order of their
        names: one kernel serves all of them. It takes for granted what is assumed of them.

        Raises:
            LayoutError: where the type is missing or not the one width of both layouts' elements,
                or the fill is none of its values.
            UnsupportedError: where there is no such target, or none for symbolic sizes.

        >>> from morello_layouts import relayout
        >>> text = relayout("[0, 1]", "[1, 0]", (4, 8)).kernel("c", "float32", name="transpose")
        >>> print(text.splitlines()[-4])
        void transpose(void *restrict target, const void *restrict source)
        >>> text = relayout("f32[M,N]{1,0}", "{1,0:T(8,128)}").kernel("c")
        >>> print(text[text.rindex("void relayout(") :].splitlines()[0])
        void relayout(void *restrict target, const void *restrict source, size_t M, size_t N)
        """
        from morello_layouts.kernels.emit import kernel_text
        from morello_layouts.kernels.plan import Kernel

        items = self._items(dtype)
        layouts = f"{self.source.source or self.source}\nto {self.target.source or self.target}"
        padding = fill_bytes(fill, items, self._bits_of(dtype))
        recipes = self.source.recipe, self.target.recipe
        facts = self.target.assumptions
        return kernel_text(Kernel(*recipes, items.itemsize, padding, name, layouts, facts), target)

    def compile(
        self, dtype: Any = None, *, fill: Any = 0, threads: int | None = None
    ) -> CompiledRelayout | SizedRelayout:
        """The kernel as a function on NumPy buffers, built by the system's C compiler.

        What is built is kept in a cache folder. Without a compiler the function works by NumPy,
        and a warning says so. Where sizes are symbolic, the function takes them at each call,
        ``f(buffer, M=3, N=5)``.

        Args:
            dtype: as of :meth:`kernel`.
            fill: as of :meth:`kernel`; another fill costs no other build.
            threads: how many share the work of a call at most; left out, the caller's alone. What
                comes out is the same. NumPy works on one.

        Raises:
            LayoutError: as :meth:`kernel` does; where there is no such number of threads; where
                the compiler fails.

        >>> from morello_layouts import relayout
        >>> f = relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int16")
        >>> f([1, 2, 3, 4, 5, 6])
        array([1, 4, 2, 5, 3, 6], dtype=int16)
        >>> f = relayout("s16[M,N]{1,0}", "{0,1}").compile()
        >>> f([1, 2, 3, 4, 5, 6], M=2, N=3), f([[1, 2], [3, 4]])
        (array([1, 4, 2, 5, 3, 6], dtype=int16), array([1, 3, 2, 4], dtype=int16))
        """
        from morello_layouts.kernels.compiled import compiled_relayout, sized_relayout, thread_count

        count = thread_count(threads)
        items = self._items(dtype)
        source, target = self.source.recipe, self.target.recipe
        padding = fill_bytes(fill, items, self._bits_of(dtype))
        if source.names or target.names:
            facts = self.target.assumptions
            return sized_relayout(source, target, items, padding, facts, threads=count)
        return compiled_relayout(source, target, items, padding, threads=count)

    def _items(self, dtype: Any) -> np.dtype[Any]:
        given = self.element_type if dtype is None else dtype
        if given is None:
            raise LayoutError(
                "the type of an item is not known",
                "only XLA shapes name their element type",
                "give it, such as dtype='float32'",
            )
        items = item_type(given)
        if dtype is None and any(bits != 8 * items.itemsize for bits in self.element_bits):
            widths = " and ".join(map(str, dict.fromkeys(self.element_bits)))
            raise LayoutError(
                f"the layouts' elements take {widths} bits",
                f"a kernel moves items of one width, whole bytes, here {8 * items.itemsize} bits",
                "name one type in both layouts without E(n), or give dtype, the items' in both",
            )
        return items

    def _bits_of(self, dtype: Any) -> str | None:
        """The type of an item where NumPy lacks it, and items are its bits."""
        given = self.element_type if dtype is None else dtype
        return given if isinstance(given, str) and held_as_bits(given) else None


def item_type(given: Any) -> np.dtype[Any]:
    """The NumPy type of an item, from XLA's name or whatever NumPy takes.

    Where a name means different types in XLA and NumPy, as ``u8`` does, it is XLA's.

    >>> item_type("bf16"), item_type("u8"), item_type("float32")
    (dtype('uint16'), dtype('uint8'), dtype('float32'))
    """
    try:
        known = isinstance(given, str) and given in ELEMENT_BITS
        dtype = np.dtype(numpy_type(given) if known else given)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.hasobject or dtype.itemsize == 0:
        raise LayoutError(
            f"{given!r} is no type of items",
            "an item is a number or a record of fixed size",
            "give for example 'float32' or 'bf16'",
        )
    return dtype


def held_as_bits(element_type: str) -> bool:
    """Whether NumPy lacks one of XLA's types, and items are its bits.

    >>> held_as_bits("bf16"), held_as_bits("f32")
    (True, False)
    """
    if element_type not in ELEMENT_BITS:
        return False
    return element_type[0] in "fb" and numpy_type(element_type)[0] == "u"


def fill_bytes(fill: Any, dtype: np.dtype[Any], bits_of: str | None = None) -> bytes | None:
    r"""The bytes of an item of padding; None for None.

    Where items are the bits of a type that NumPy lacks, ``bits_of``, so is the fill.

    >>> fill_bytes(-1, np.dtype("int16"))
    b'\xff\xff'
    """
    return None if fill is None else padding_item(fill, dtype, bits_of).tobytes()


def padding_item(fill: Any, dtype: np.dtype[Any], bits_of: str | None = None) -> NDArray[Any]:
    """The item that padding holds, as an array without axes; floats are rounded to the type.

    Where items are the bits of a type that NumPy lacks, ``bits_of``, so is the fill.

    Raises:
        LayoutError: where it is no value of the type.

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
    if not fits:
        raise LayoutError(
            f"padding cannot hold {fill!r}",
            f"NumPy has no {bits_of}: padding holds the bits that are given, {dtype}"
            if bits_of
            else f"it is of the items' type, {dtype}",
            "give the bits as an integer, such as 0x3f80 for 1 in bf16"
            if bits_of
            else "give one value of that type",
        )
    return held


def _takes(dtype: np.dtype[Any], given: np.dtype[Any], bits_of: str | None) -> bool:
    """Whether items may be made of what is given, as far as its kind says."""
    if bits_of:
        return given.kind in "biu"
    if dtype.kind == "c":
        return given.kind in "biufc"
    return given.kind in "biuf" if dtype.kind in "biuf" else True


def named_type(*layouts: object) -> str | None:
    """The element type that the first of the layouts with one names.

    >>> named_type("[0, 1]", "bf16[4,8]{1,0}")
    'bf16'
    """
    for layout in layouts:
        parsed = notations.parse(layout) if isinstance(layout, str) else layout
        if isinstance(parsed, XlaShape):
            return parsed.element_type
    return None


def named_bits(*layouts: object) -> tuple[int, ...]:
    """Bits of an element, in each of the layouts that says so.

    >>> named_bits("[0, 1]", "bf16[4,8]{1,0}", "{1,0:E(4)}")
    (16, 4)
    """
    found = []
    for layout in layouts:
        parsed = notations.parse(layout) if isinstance(layout, str) else layout
        if isinstance(parsed, XlaShape) and parsed.element_type in ELEMENT_BITS:
            found.append(parsed.bits)
        elif isinstance(parsed, XlaLayout) and parsed.element_size_in_bits:
            found.append(parsed.element_size_in_bits)
    return tuple(found)
