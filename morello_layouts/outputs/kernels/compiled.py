"""Compiled relayouts: functions on NumPy buffers, at fixed sizes and at the sizes of each call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from ctypes import c_void_p
from dataclasses import field, replace
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.checks import as_int
from morello_layouts.core.expr.assumptions import Assumption, checked_sizes
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import KERNEL_THREADS, KERNELS_KEPT
from morello_layouts.core.recipe import Recipe, known, pack_array, unpack_array
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.outputs.kernels.build import BuiltKernel, Quick, build_kernel, compiler, slow
from morello_layouts.outputs.kernels.nests import CACHE_LINE
from morello_layouts.outputs.kernels.plan import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Bytes from which a new target starts at a cache line: beyond the caches, kernels gain from that.
_LEAST_ALIGNED: Final = 1 << 18


@frozen
class BuiltRelayout(Displayed):
    """The attributes of every compiled relayout."""

    source: Recipe  #: the recipe of the buffer that is read.
    target: Recipe  #: the recipe of the buffer that is written.
    dtype: np.dtype[Any]  #: the type of an item.
    fill: bytes | None  #: the bytes of an item of padding; None leaves padding as it is.
    threads: int  #: the most threads that share the work; a small target is the work of one.
    text: str  #: the kernel in C, as Python calls it: the bytes of padding are an argument.
    by: str  #: the compiler's command, or ``"NumPy"`` without a compiler.
    #: the built function of target and source, arrays or addresses, without the checks of a call;
    #: an array must have the items' width and number. None without a compiler.
    function: Callable[..., object] | None = field(compare=False)

    def __str__(self) -> str:
        return f"{self.source} to {self.target}, items of {self.dtype}, built by {self.by}"


@frozen
class CompiledRelayout(BuiltRelayout):
    """A relayout as a function: it takes one buffer and returns the other.

    Its attributes are those of :class:`BuiltRelayout`.

    >>> from morello_layouts import relayout
    >>> f = relayout("u8[2,3]{1,0}", "u8[2,3]{1,0:T(2,2)}").compile()
    >>> f([1, 2, 3, 4, 5, 6])
    array([1, 2, 4, 5, 3, 0, 6, 0], dtype=uint8)
    """

    _quick: Quick = field(default=slow, repr=False, compare=False)
    _spans: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __str__(self) -> str:
        checked = self._quick is slow and self.function is not None and self.threads == 1
        return f"{BuiltRelayout.__str__(self)}{', called by ctypes' * checked}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process builds it from; the cache has the library."""
        given = self.source, self.target, self.dtype, self.fill
        return partial(compiled_relayout, threads=self.threads), given

    def __post_init__(self) -> None:
        """Compute both buffers' sizes once: each call needs them."""
        have, want = known((self.source.size, self.target.size))
        object.__setattr__(self, "_spans", (have, want))

    def __call__(self, buffer: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the other buffer.

        Args:
            buffer: one item for each slot of the source layout, 1-D; or the array itself, if that
                layout is plain row-major order. NumPy items need the size of the type, not its
                kind: padding holds the same bytes with any kind.
            out: the array to write to, one item for each slot of the target layout, contiguous, of
                the buffer's type, and apart from the buffer. By default a new array.

        Raises:
            ShapeError: if a buffer does not have its layout's size.
            LayoutError: if the buffer holds no items of the type, or ``out`` cannot take them.
        """
        made = self._new(self.dtype) if out is None else out
        if self._quick(buffer, made):
            return made
        buffer = as_items(buffer, self.dtype)
        have, want = self._spans
        if buffer.shape == self.source.shape and _is_row_major(self.source):
            buffer = buffer.reshape(-1)
        _check("buffer", buffer, have, self.dtype)
        buffer = np.ascontiguousarray(buffer)
        if out is None:
            out = self._new(buffer.dtype)
        else:
            _check_out(out, want, self.dtype, buffer)
        if self.function is None:
            self._by_numpy(buffer, out)
        else:  # the addresses hold the arrays if the user interrupts the call
            self.function(out.ctypes.data_as(c_void_p), buffer.ctypes.data_as(c_void_p))
        return out

    def _new(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a new target; one beyond the caches starts at a cache line."""
        size, make = self._spans[1], np.zeros if self.fill is None else np.empty
        if size * dtype.itemsize < _LEAST_ALIGNED:
            return make(size, dtype)
        data = make(size * dtype.itemsize + CACHE_LINE, np.uint8)
        start = -data.ctypes.data % CACHE_LINE
        return data[start : start + size * dtype.itemsize].view(dtype)

    def _by_numpy(self, buffer: NDArray[Any], out: NDArray[Any]) -> None:
        raw = np.dtype((np.void, self.dtype.itemsize))
        array = unpack_array(self.source, buffer.view(raw))
        if self.fill is not None:
            out.view(raw)[...] = pack_array(self.target, array, np.void(self.fill))
            return
        held = pack_array(self.target, np.ones(known(self.target.shape), bool), False)
        packed = pack_array(self.target, array, np.zeros((), raw)[()])
        out.view(raw)[held] = packed[held]


@frozen
class SizedRelayout(BuiltRelayout):
    """A relayout at all sizes as a function: it takes a buffer and the sizes.

    Its attributes are those of :class:`BuiltRelayout`, and one more. ``function`` takes the sizes
    after the addresses, in the order of ``names``.

    >>> from morello_layouts import relayout
    >>> f = relayout("u8[M,N]{1,0}", "u8[M,N]{1,0:T(2,2)}").compile()
    >>> f([1, 2, 3, 4, 5, 6], M=2, N=3)
    array([1, 2, 4, 5, 3, 0, 6, 0], dtype=uint8)
    >>> f([[1, 2], [3, 4]])
    array([1, 2, 3, 4], dtype=uint8)
    """

    assumptions: tuple[Assumption, ...]  #: the assumptions on the sizes, which each call checks.
    _build: BuiltKernel = field(repr=False, compare=False)
    _kept: dict[tuple[int | None, ...], CompiledRelayout] = field(
        default_factory=dict, repr=False, compare=False
    )
    _of_shape: dict[tuple[int, ...], CompiledRelayout] = field(
        default_factory=dict, repr=False, compare=False
    )
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _rank: int | None = field(init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process builds it from; the cache has the library."""
        given = self.source, self.target, self.dtype, self.fill, self.assumptions
        return partial(sized_relayout, threads=self.threads), given

    def __post_init__(self) -> None:
        """Compute the sizes' names, and the rank of a row-major source: each call needs them."""
        source = self.source
        names = tuple(sorted({*source.names, *self.target.names}))
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_rank", len(source.shape) if _is_row_major(source) else None)

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes of a call, in the order of the C function's arguments.

        >>> from morello_layouts import relayout
        >>> relayout("u8[M,N]{1,0}", "u8[M,N]{0,1}").compile().names
        ('M', 'N')
        """
        return self._names

    def __call__(
        self, buffer: Any, /, out: NDArray[Any] | None = None, **sizes: int
    ) -> NDArray[Any]:
        """Return the other buffer.

        Args:
            buffer: one item for each slot of the source layout, 1-D. If that layout is plain
                row-major order, it may be the array itself, whose shape then gives the sizes.
            out: the array to write to, one item for each slot of the target layout; by default a
                new one.
            sizes: each symbolic size by its name; for a size named ``out``, see :meth:`at`.

        Raises:
            ShapeError: if a size is missing, unknown or not as assumed, or if a buffer does not
                have its layout's size.
        """
        buffer = as_items(buffer, self.dtype)
        if buffer.ndim != self._rank:
            return self.at(**sizes)(buffer, out)
        shape = buffer.shape
        move = self.at(**sizes) if sizes else self._of_shape.get(shape)
        if move is None:
            move = self.at(**_sizes_of(self.source.shape, shape))
            if len(self._of_shape) >= KERNELS_KEPT:
                self._of_shape.clear()
            self._of_shape[shape] = move
        return move(buffer.reshape(-1) if shape == move.source.shape else buffer, out)

    def at(self, /, **sizes: int) -> CompiledRelayout:
        """Return the relayout at given sizes, by the same kernel.

        Raises:
            ShapeError: if a size is missing, unknown or not as assumed.

        >>> from morello_layouts import relayout
        >>> f = relayout("u8[M,N]{1,0}", "u8[M,N]{0,1}").compile()
        >>> f.at(M=2, N=3).target.size
        6
        """
        key = tuple(sizes.get(name) for name in self._names)
        if len(sizes) == len(key) and all(type(size) is int for size in key):
            kept = self._kept.get(key)
            if kept is not None:
                return kept
        values = checked_sizes(sizes, self.names, self.assumptions)
        ordered = tuple(values[name] for name in self.names)
        if max(ordered) >= 1 << 63:
            raise ShapeError(
                f"a size is {max(ordered)}",
                "the machine's integers hold sizes below 2**63",
                f"give smaller sizes for {', '.join(self.names)}",
            )

        found = CompiledRelayout(
            self.source.at(values),
            self.target.at(values),
            self.dtype,
            self.fill,
            self.threads,
            self.text,
            self.by,
            *self._build.at(ordered, self.fill, self.threads, self.dtype),
        )
        if len(self._kept) >= KERNELS_KEPT:
            self._kept.clear()
        self._kept[ordered] = found
        return found


def _is_row_major(recipe: Recipe) -> bool:
    return not recipe.steps and prod(recipe.shape) == recipe.size


def _sizes_of(shape: tuple[Int, ...], counts: tuple[int, ...]) -> dict[str, int]:
    """Return the symbolic sizes that an array's shape gives."""
    values: dict[str, int] = {}
    for size, n in zip(shape, counts, strict=True):
        names = size.names() if isinstance(size, SizeExpr) else ()
        for name in names if len(names) == 1 else ():
            if isinstance(size, SizeExpr) and size.evaluate({name: n}) == n:
                values.setdefault(name, n)
    return values


def as_items(given: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array as it is, anything else as an array of a type that holds its values.

    >>> as_items([1, 2], np.dtype("float32"))
    array([1., 2.], dtype=float32)
    """
    if isinstance(given, np.ndarray):
        return given
    try:
        with np.errstate(all="ignore"):
            own = np.asarray(given)
            # NumPy 1.26 warns of integers that a list has and the type does not hold.
            integers = own.dtype.kind in "biu" and dtype.kind in "biu"
            items = own.astype(dtype) if integers else np.asarray(given, dtype)
            fits = dtype.kind not in "biufc" or own.dtype.kind in "biufc"
            if fits and dtype.kind in "biu":
                fits = bool((items == own).all())
        why = f"each item must be a value of {dtype}"
    except (TypeError, ValueError, OverflowError) as error:
        fits, why = False, f"each item must be a value of {dtype}: {error}"
    if not fits:
        raise LayoutError(
            f"buffer: expected items of {dtype}, got other values",
            why,
            f"give a NumPy array of {dtype}, or its values",
        )
    return items


def _check(name: str, buffer: NDArray[Any], size: int, dtype: np.dtype[Any]) -> None:
    if buffer.shape != (size,):
        raise ShapeError(
            f"{name}: expected the shape ({size},), got {buffer.shape}",
            f"the layout spans {size} elements",
            f"give a 1-D array of {size} items",
        )
    if buffer.dtype.itemsize != dtype.itemsize or buffer.dtype.hasobject:
        raise LayoutError(
            f"{name}: expected an array of {dtype}, got one of {buffer.dtype}",
            f"the kernel moves items of {dtype.itemsize} bytes",
            f"give an array of {dtype}, or compile for {buffer.dtype}",
        )


def _check_out(out: Any, size: int, dtype: np.dtype[Any], buffer: NDArray[Any]) -> None:
    if not isinstance(out, np.ndarray):
        raise LayoutError(
            f"out: expected a NumPy array, got {type(out).__name__}",
            "the kernel writes to the memory of an array",
            "leave it out, or give a NumPy array",
        )
    _check("out", out, size, dtype)
    if not (out.flags.c_contiguous and out.flags.writeable) or out.dtype != buffer.dtype:
        raise LayoutError(
            f"out: expected a contiguous, writable array of {buffer.dtype}, got another array of "
            f"{out.dtype}",
            "the kernel writes items of the buffer's type one after the other",
            "leave it out, or give a new array",
        )
    if np.may_share_memory(out, buffer):
        raise LayoutError(
            "out shares memory with the buffer",
            "the kernel would overwrite elements before it moves them",
            "leave it out, or give a new array",
        )


def thread_count(threads: Any) -> int:
    """Return the number of threads that a caller asks for; None asks for one.

    >>> thread_count(None), thread_count(2)
    (1, 2)
    """
    if threads is None:
        return 1
    fix = "give for example threads=2, or leave it out for one"
    why = "a kernel runs on that many threads at most"
    return as_int(threads, "threads", 1, KERNEL_THREADS, why=why, fix=fix)


def compiled_relayout(
    source: Recipe,
    target: Recipe,
    dtype: np.dtype[Any],
    fill: bytes | None = None,
    *,
    threads: int = 1,
) -> CompiledRelayout:
    """Build the kernel between two layouts of one array; the result is kept.

    Without a C compiler the function applies the recipes to NumPy arrays, and a warning says so.
    """
    return _compiled((source, target), dtype, fill, threads, _command())


@lru_cache(KERNELS_KEPT)
def _compiled(
    ends: tuple[Recipe, Recipe],
    dtype: np.dtype[Any],
    fill: bytes | None,
    threads: int,
    command: tuple[str, ...] | None,
) -> CompiledRelayout:
    source, target = ends
    own_fill = fill if target.size != prod(known(target.shape)) else None
    build = _built(Kernel(source, target, dtype.itemsize, own_fill), threads, command)
    told = build.text, build.by, *build.at((), own_fill, threads, dtype)
    return CompiledRelayout(source, target, dtype, fill, threads, *told)


def sized_relayout(
    source: Recipe,
    target: Recipe,
    dtype: np.dtype[Any],
    fill: bytes | None = None,
    assumptions: tuple[Assumption, ...] = (),
    *,
    threads: int = 1,
) -> SizedRelayout:
    """Build the kernel between two layouts of symbolic sizes; the result is kept."""
    kernel = Kernel(source, target, dtype.itemsize, fill, assumptions=assumptions)
    build = _built(kernel, threads, _command())

    def function(to: Any, of: Any, *sizes: int) -> None:
        raw, _ = build.at(sizes, fill, threads, dtype)
        if raw is not None:
            raw(to, of)

    entry = None if build.entry is None else function
    told = (build.text, build.by, entry, assumptions, build)
    return SizedRelayout(source, target, dtype, fill, threads, *told)


def _command() -> tuple[str, ...] | None:
    """Return the compiler's command for a function that calls this; warn without one."""
    command = compiler()
    if command is None:
        warnings.warn(
            "no C compiler was found (gcc, clang, cc, or the command in CC): "
            "this relayout runs in NumPy, several times slower",
            RuntimeWarning,
            stacklevel=4,
        )
    return command


def _built(kernel: Kernel, threads: int, command: tuple[str, ...] | None) -> BuiltKernel:
    comment = f"{kernel.source}\nto {kernel.target}"
    return build_kernel(replace(kernel, comment=comment), command, share=threads > 1)
