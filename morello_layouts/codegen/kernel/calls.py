"""Kernels as functions of Python: what they are given at a call, and the threads that run them."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Sequence
from ctypes import c_char_p, c_size_t, c_void_p
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import index
from typing import Any, Final, TypeAlias

from morello_layouts.codegen.kernel.build import compiler, load
from morello_layouts.codegen.kernel.emit_c import Given, c_file
from morello_layouts.codegen.kernel.extents import value_of
from morello_layouts.codegen.kernel.moves import Kernel
from morello_layouts.codegen.kernel.workers import run_parts
from morello_layouts.errors import LayoutError
from morello_layouts.expr.size import Number

__all__ = ["LEAST_SHARED", "Build", "Move", "build_of", "found_compiler", "thread_count"]

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
    reach: Number
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
