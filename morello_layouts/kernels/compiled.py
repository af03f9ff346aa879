"""Compiled relayouts: calls on NumPy arrays, and threads."""

from __future__ import annotations

import os
import struct
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import c_char_p, c_size_t, c_void_p
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import prod
from operator import index
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.build import compiler, load
from morello_layouts.kernels.domains import value_of
from morello_layouts.kernels.emit_c import Given, c_file
from morello_layouts.kernels.moves import Kernel
from morello_layouts.recipe import Recipe, known, pack_array, unpack_array

# What to do with a part, the parts that nobody has taken, and where to tell that one is done.
_Job: TypeAlias = "tuple[Callable[[int], object], deque[int], SimpleQueue[int]]"

_jobs: SimpleQueue[_Job] = SimpleQueue()
_helpers: list[Thread] = []
_hiring = RLock()  # a handler of signals may call a relayout too


def run_parts(call: Callable[[int], object], parts: int) -> None:
    """Do each part once, by as many threads as there are parts, the caller's among them.

    Args:
        call: does a part, given its number; raises nothing. It holds what it works on: where the
            user interrupts, a helper still ends its part.
        parts: how many there are.

    >>> done = []
    >>> run_parts(done.append, 3)
    >>> sorted(done)
    [0, 1, 2]
    """
    left, told = deque(range(parts)), SimpleQueue[int]()
    _hire(parts - 1)
    for _ in range(parts - 1):
        _jobs.put((call, left, told))
    own = _done(call, left)
    for _ in range(parts - own):
        told.get()


def _done(
    call: Callable[[int], object], left: deque[int], told: SimpleQueue[int] | None = None
) -> int:
    """Take part after part; how many they were."""
    count = 0
    while True:
        try:
            part = left.popleft()
        except IndexError:
            return count
        call(part)
        count += 1
        if told is not None:
            told.put(part)


def _help() -> None:
    while True:
        _done(*_jobs.get())


def _hire(most: int) -> None:
    if len(_helpers) >= most:
        return
    with _hiring:
        try:
            while len(_helpers) < most:
                helper = Thread(target=_help, name="relayout", daemon=True)
                helper.start()
                _helpers.append(helper)
        except RuntimeError:  # the system has no more threads: there are fewer helpers
            return


def _forget() -> None:
    """A forked process has none of the threads of the one before."""
    global _jobs, _hiring
    _jobs, _hiring = SimpleQueue(), RLock()
    _helpers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

_NAME: Final = "relayout"
_MOST_THREADS: Final = 1024

# Bytes of a target below which one thread does it all: to wake a helper and to wait for it takes
# about ten microseconds (measured), in which one thread moves most of a MiB within the caches.
LEAST_SHARED: Final = 1 << 20

# What moves one buffer to the other, given where the target and the source are: addresses, or what
# ctypes takes for one.
Move: TypeAlias = Callable[[Any, Any], object]


@dataclass(frozen=True, slots=True)
class Build:
    """A kernel that was built.

    Attributes:
        text: the kernel in C.
        by: the compiler's command, or ``"NumPy"`` where none was found.
        given: what the kernel is given at each call besides the buffers.
        phases: whether several threads are worth it, of each phase; see :class:`Given`.
        reach: bytes of the target.
        entry: the function in C; None without a compiler.
    """

    text: str
    by: str
    given: Given
    phases: tuple[bool, ...]
    reach: Int
    entry: Callable[..., object] | None

    def move(self, sizes: Sequence[int], fill: bytes | None, threads: int) -> Move | None:
        """The function at sizes, with a fill and at most so many threads.

        None without a compiler.
        """
        entry = self.entry
        if entry is None:
            return None
        if self.given != Given():
            told = struct.pack(f"{len(sizes)}N", *sizes) + (fill or b"")
            entry = partial(entry, told)
        if not self.given.share:
            return entry
        small = value_of(self.reach, dict(zip(self.given.sizes, sizes, strict=True))) < LEAST_SHARED
        return partial(_run, entry, self.phases, 1 if small else threads)


def _run(
    entry: Callable[..., object], phases: tuple[bool, ...], threads: int, target: Any, source: Any
) -> None:
    """Each phase by several threads, of which the caller's is one; C runs without Python's lock."""
    for phase, many in enumerate(phases):
        if not many or threads == 1:
            entry(target, source, 0, 1, phase)
            continue

        def call(part: int, phase: int = phase) -> object:
            return entry(target, source, part, threads, phase)

        run_parts(call, threads)


def thread_count(threads: Any) -> int:
    """How many threads are asked for; None asks for one.

    Raises:
        LayoutError: where it is no number of threads.

    >>> thread_count(None), thread_count(2)
    (1, 2)
    """
    if threads is None:
        return 1
    try:
        count = 0 if isinstance(threads, bool) else index(threads)
    except TypeError:
        count = 0
    if not 1 <= count <= _MOST_THREADS:
        raise LayoutError(
            f"{threads!r} is no number of threads",
            f"a kernel runs on 1 to {_MOST_THREADS} of them",
            "give for example threads=2, or leave it out for one",
        )
    return count


def found_compiler() -> tuple[str, ...] | None:
    """The command of a C compiler; a warning where there is none."""
    command = compiler()
    if command is None:
        warnings.warn(
            "no C compiler was found (gcc, clang, cc, or what CC names): "
            "this relayout runs by NumPy, several times slower",
            RuntimeWarning,
            stacklevel=4,
        )
    return command


def build_of(kernel: Kernel, command: tuple[str, ...] | None, *, share: bool) -> Build:
    """The kernel, built; kept, so asking twice costs nothing, nor does another fill.

    Args:
        kernel: what is asked for.
        command: the compiler's; None for the text alone.
        share: whether several threads are to share the work.
    """
    fill = None if kernel.fill is None else bytes(kernel.itemsize)
    return _built(replace(kernel, fill=fill, name=_NAME), command, share)


@lru_cache(maxsize=256)
def _built(kernel: Kernel, command: tuple[str, ...] | None, share: bool) -> Build:
    given = Given(kernel.names, kernel.fill is not None, share)
    file = c_file(kernel, fill=given.fill, share=share)
    if given == Given():
        text, name = str(file), kernel.name
    else:
        text, name = f"{file}\n{_entry_text(kernel.name, given)}", f"{kernel.name}_call"
    reach = kernel.target.size * kernel.itemsize
    if command is None:
        return Build(text, "NumPy", given, file.phases, reach, None)
    entry = load(text, name, command)
    told = [c_char_p] if given != Given() else []
    shares = [c_size_t] * (3 if share else 0)
    entry.argtypes = (*told, c_void_p, c_void_p, *shares)
    entry.restype = None
    return Build(text, " ".join(command), given, file.phases, reach, entry)


def _entry_text(name: str, given: Given) -> str:
    """A function that takes sizes and fill from one place: Python's calls cost by the argument."""
    count = len(given.sizes)
    shares = Given(share=given.share)
    head = (
        f"void {name}_call(\n    const void *given, void *restrict target, "
        f"const void *restrict source{shares.declared})"
    )
    sizes = "".join(f", n[{k}]" for k in range(count))
    fill = f", (const unsigned char *)given + {count} * sizeof(size_t)" if given.fill else ""
    lines = [
        f"{head};",
        head,
        "{",
        *([f"    size_t n[{count}];", "    memcpy(n, given, sizeof n);"] if count else []),
        *([] if count or given.fill else ["    (void)given;"]),
        f"    {name}(target, source{sizes}{fill}{shares.passed});",
        "}",
    ]
    return "\n".join(["/* As Python calls it: sizes and fill lie side by side. */", *lines, ""])


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
