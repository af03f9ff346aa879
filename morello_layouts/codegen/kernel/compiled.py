"""Relayouts as functions on NumPy buffers: compiled, or by NumPy where there is no compiler."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_void_p
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from morello_layouts.codegen.kernel.calls import build_of, found_compiler
from morello_layouts.codegen.kernel.moves import Kernel
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.recipe import Recipe, known, pack_array, unpack_array

__all__ = ["BuiltRelayout", "CompiledRelayout", "as_items", "compiled_relayout"]

_LINE = 64


@dataclass(frozen=True, slots=True)
class BuiltRelayout:
    """What every relayout that runs knows.

    Attributes:
        source: the recipe of the buffer that is read.
        target: the recipe of the buffer that is written.
        dtype: the type of an item.
        fill: the bytes of an item that padding holds; None leaves padding as it is.
        threads: how many threads share the work at most; a small target is one thread's.
        text: the kernel in C, as Python calls it: the bytes of padding are an argument.
        by: the compiler's command, or ``"NumPy"`` where none was found.
        function: what was built, of the addresses of target and source; None without a compiler.
    """

    source: Recipe
    target: Recipe
    dtype: np.dtype[Any]
    fill: bytes | None
    threads: int
    text: str
    by: str
    function: Callable[..., object] | None


@dataclass(frozen=True, slots=True)
class CompiledRelayout(BuiltRelayout):
    """A relayout that runs: it takes one buffer, and gives the other.

    Its attributes are those of :class:`BuiltRelayout`.

    >>> from morello_layouts import relayout
    >>> f = relayout("u8[2,3]{1,0}", "u8[2,3]{1,0:T(2,2)}").compile()
    >>> f([1, 2, 3, 4, 5, 6])
    array([1, 2, 4, 5, 3, 0, 6, 0], dtype=uint8)
    """

    _spans: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Both buffers' sizes, once: they are asked for at each call."""
        have, want = known((self.source.size, self.target.size))
        object.__setattr__(self, "_spans", (have, want))

    def __call__(self, buffer: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The other buffer.

        Args:
            buffer: one item for each slot of the source layout, 1-D; NumPy items of the type's
                size, whatever their kind: padding holds the same bytes beside all of them.
            out: where to write, one item for each slot of the target layout, of the buffer's
                type, in one piece, and no part of the buffer. Left out, a new array.

        Raises:
            ShapeError: where a buffer is not of its layout's size.
            LayoutError: where it holds no items of the type, or ``out`` cannot take them.
        """
        buffer = as_items(buffer, self.dtype)
        have, want = self._spans
        _check("buffer", buffer, have, self.dtype)
        buffer = np.ascontiguousarray(buffer)
        if out is None:
            out = _aligned(want, buffer.dtype, np.zeros if self.fill is None else np.empty)
        elif not isinstance(out, np.ndarray):
            raise LayoutError(
                f"out cannot take the result: it is of type {type(out).__name__}",
                "the kernel writes to the memory of an array",
                "leave it out, or give a NumPy array",
            )
        else:
            _check("out", out, want, self.dtype)
            _check_writable(out, buffer)
        if self.function is None:
            self._by_numpy(buffer, out)
        elif self.threads > 1:  # the addresses hold the arrays, where the user interrupts the call
            self.function(out.ctypes.data_as(c_void_p), buffer.ctypes.data_as(c_void_p))
        else:
            self.function(out.ctypes.data, buffer.ctypes.data)
        return out

    def _by_numpy(self, buffer: NDArray[Any], out: NDArray[Any]) -> None:
        raw = np.dtype((np.void, self.dtype.itemsize))
        array = unpack_array(self.source, buffer.view(raw))
        if self.fill is not None:
            out.view(raw)[...] = pack_array(self.target, array, np.void(self.fill))
            return
        held = pack_array(self.target, np.ones(known(self.target.shape), bool), False)
        packed = pack_array(self.target, array, np.zeros((), raw)[()])
        out.view(raw)[held] = packed[held]


def as_items(given: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array as it is, anything else as one of items of a type that hold its values.

    Raises:
        LayoutError: where they do not.

    >>> as_items([1, 2], np.dtype("float32"))
    array([1., 2.], dtype=float32)
    """
    if isinstance(given, np.ndarray):
        return given
    try:
        with np.errstate(all="ignore"):
            items = np.asarray(given, dtype)
            own = np.asarray(given)
            fits = dtype.kind not in "biufc" or own.dtype.kind in "biufc"
            if fits and dtype.kind in "biu":
                fits = bool((items == own).all())
        why = f"an item is of {dtype}, and not each value is"
    except (TypeError, ValueError, OverflowError) as error:
        fits, why = False, f"an item is of {dtype}: {error}"
    if not fits:
        raise LayoutError(
            "buffer holds what is no item", why, f"give a NumPy array of {dtype}, or its values"
        )
    return items


def _aligned(size: int, dtype: np.dtype[Any], make: Callable[..., NDArray[Any]]) -> NDArray[Any]:
    """A new array that starts at a cache line."""
    data = make(size * dtype.itemsize + _LINE, np.uint8)
    start = -data.ctypes.data % _LINE
    return data[start : start + size * dtype.itemsize].view(dtype)


def _check(name: str, buffer: NDArray[Any], size: int, dtype: np.dtype[Any]) -> None:
    if buffer.shape != (size,):
        raise ShapeError(
            f"{name} has the shape {buffer.shape}",
            f"the layout spans {size} elements",
            f"give a 1-D array of {size} items",
        )
    if buffer.dtype.itemsize != dtype.itemsize or buffer.dtype.hasobject:
        raise LayoutError(
            f"{name} is an array of {buffer.dtype}",
            f"the kernel moves items of {dtype.itemsize} bytes",
            f"give an array of {dtype}, or compile for {buffer.dtype}",
        )


def _check_writable(out: NDArray[Any], buffer: NDArray[Any]) -> None:
    if not (out.flags.c_contiguous and out.flags.writeable) or out.dtype != buffer.dtype:
        raise LayoutError(
            f"out cannot take the result: an array of {out.dtype}",
            f"it must be in one piece, writable, and of the buffer's type, {buffer.dtype}",
            "leave it out, or give a new array",
        )
    if np.may_share_memory(out, buffer):
        raise LayoutError(
            "out shares memory with the buffer",
            "elements would be overwritten before they are moved",
            "leave it out, or give a new array",
        )


def compiled_relayout(
    source: Recipe,
    target: Recipe,
    dtype: np.dtype[Any],
    fill: bytes | None = None,
    *,
    threads: int = 1,
) -> CompiledRelayout:
    """Build the kernel between two layouts of one array; kept, so asking twice costs nothing.

    Without a C compiler the result works by the recipes on NumPy arrays, and a warning says so.
    """
    padded = target.size != prod(known(target.shape))
    comment = f"{source}\nto {target}"
    kernel = Kernel(source, target, dtype.itemsize, fill if padded else None, comment=comment)
    build = build_of(kernel, found_compiler(), share=threads > 1)
    told = (build.text, build.by, build.move((), kernel.fill, threads))
    return CompiledRelayout(source, target, dtype, fill, threads, *told)
