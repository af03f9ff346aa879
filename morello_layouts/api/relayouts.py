"""Relayouts with what needs a printer or a compiler: kernels as text, and kernels that run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from morello_layouts import formula, notation
from morello_layouts.errors import LayoutError
from morello_layouts.xla import ELEMENT_BITS, XlaShape, numpy_type

if TYPE_CHECKING:
    from morello_layouts.codegen.kernel import CompiledRelayout, SizedRelayout

__all__ = ["Relayout", "fill_bytes", "item_type", "named_type"]


@dataclass(frozen=True)
class Relayout(formula.Relayout):
    """From one buffer to another that holds the same array in another layout.

    Attributes:
        source: the index map of the buffer that is read.
        target: the index map of the buffer that is written.
        element_type: XLA's name of the element type, where a layout's text names it.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}")
    >>> print(r, r.element_type)
    p -> 16*(p//16) + 8*((p//4)%2) + 4*((p//8)%2) + p%4 f32
    """

    element_type: str | None = None

    def kernel(
        self, target: str = "c", dtype: Any = None, *, fill: Any = 0, name: str = "relayout"
    ) -> str:
        """A whole source file that moves a buffer of the one layout to one of the other.

        Args:
            target: ``"c"``, ``"cuda"`` or ``"python"``.
            dtype: the type of an item: NumPy's, or XLA's name of it; left out, the type that the
                layouts' text names.
            fill: what padding holds; None leaves it as it is.
            name: the function's name.

        Symbolic sizes are arguments of the function, after the buffers and in the order of their
        names: one kernel serves all of them. It takes for granted what is assumed of them.

        Raises:
            LayoutError: where the type is missing, or the fill is none of its values.
            UnsupportedError: where there is no such target, or none for symbolic sizes.

        >>> from morello_layouts import relayout
        >>> text = relayout("[0, 1]", "[1, 0]", (4, 8)).kernel("c", "float32", name="transpose")
        >>> print(text.splitlines()[-4])
        void transpose(void *restrict target, const void *restrict source)
        >>> text = relayout("f32[M,N]{1,0}", "{1,0:T(8,128)}").kernel("c")
        >>> print(text[text.rindex("void relayout(") :].splitlines()[0])
        void relayout(void *restrict target, const void *restrict source, size_t M, size_t N)
        """
        from morello_layouts.codegen.kernel import Kernel, kernel_text

        items = self._items(dtype)
        layouts = f"{self.source.source or self.source}\nto {self.target.source or self.target}"
        padding = fill_bytes(fill, items)
        recipes = self.source.recipe, self.target.recipe
        facts = self.target.assumptions
        return kernel_text(Kernel(*recipes, items.itemsize, padding, name, layouts, facts), target)

    def compile(self, dtype: Any = None, *, fill: Any = 0) -> CompiledRelayout | SizedRelayout:
        """The kernel as a function on NumPy buffers, built by the system's C compiler.

        What is built is kept in a cache folder. Without a compiler the function works by NumPy,
        and a warning says so. Where sizes are symbolic, the function takes them at each call,
        ``f(buffer, M=3, N=5)``.

        Args:
            dtype: as of :meth:`kernel`.
            fill: what padding holds; None leaves it as it is.

        >>> from morello_layouts import relayout
        >>> f = relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int16")
        >>> f([1, 2, 3, 4, 5, 6])
        array([1, 4, 2, 5, 3, 6], dtype=int16)
        >>> f = relayout("s16[M,N]{1,0}", "{0,1}").compile()
        >>> f([1, 2, 3, 4, 5, 6], M=2, N=3), f([[1, 2], [3, 4]])
        (array([1, 4, 2, 5, 3, 6], dtype=int16), array([1, 3, 2, 4], dtype=int16))
        """
        from morello_layouts.codegen.kernel import compiled_relayout, sized_relayout

        items = self._items(dtype)
        source, target, padding = self.source.recipe, self.target.recipe, fill_bytes(fill, items)
        if source.names or target.names:
            return sized_relayout(source, target, items, padding, self.target.assumptions)
        return compiled_relayout(source, target, items, padding)

    def _items(self, dtype: Any) -> np.dtype[Any]:
        given = self.element_type if dtype is None else dtype
        if given is None:
            raise LayoutError(
                "the type of an item is not known",
                "only XLA shapes name their element type",
                "give it, such as dtype='float32'",
            )
        return item_type(given)


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


def fill_bytes(fill: Any, dtype: np.dtype[Any]) -> bytes | None:
    r"""The bytes of an item of padding; None for None.

    >>> fill_bytes(-1, np.dtype("int16"))
    b'\xff\xff'
    """
    if fill is None:
        return None
    if isinstance(fill, int) and fill == 0:
        return bytes(dtype.itemsize)
    try:
        given = np.asarray(fill)
        held = given.astype(dtype)
        rounds = dtype.kind in "fc" and given.dtype.kind in "biufc"
        fits = given.ndim == 0 and (rounds or bool(held == given))
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise LayoutError(
            f"padding cannot hold {fill!r}",
            f"it is of the items' type, {dtype}",
            "give one value of that type, or None to leave padding as it is",
        )
    return held.tobytes()


def named_type(*layouts: object) -> str | None:
    """The element type that the first of the layouts with one names.

    >>> named_type("[0, 1]", "bf16[4,8]{1,0}")
    'bf16'
    """
    for layout in layouts:
        parsed = notation.parse(layout) if isinstance(layout, str) else layout
        if isinstance(parsed, XlaShape):
            return parsed.element_type
    return None
