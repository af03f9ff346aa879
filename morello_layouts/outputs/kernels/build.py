"""Build kernels: the system's C compiler, a cache of libraries, and their functions by ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.files import written
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import COMPILER_MESSAGE, COMPILER_SECONDS, KERNELS_KEPT
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.kernels.domains import evaluate
from morello_layouts.outputs.kernels.emit_c import CallArguments, c_file
from morello_layouts.outputs.kernels.plan import Kernel, run_parts

# Move the first array to the second; False, with nothing done, if they are not plain arrays of the
# type and the sizes, apart from one another.
Quick: TypeAlias = Callable[[Any, Any], bool]

_FASTCALL: Final = 0x80
_FUNCTIONS: Final = (
    "PyBytes_AsString",
    "PyObject_Type",
    "PyObject_GetAttr",
    "PyObject_RichCompareBool",
    "Py_IncRef",
    "Py_DecRef",
    "PyObject_GetBuffer",
    "PyBuffer_Release",
    "PyErr_Clear",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
_DTYPE: Final = sys.intern("dtype")


class Method(ctypes.Structure):
    """``PyMethodDef`` of the stable ABI."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def slow(*_: object) -> bool:
    """Move nothing, so that the caller's own way does it."""
    return False


def _code_address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def call_text() -> str:
    """Return the C source of the function that :func:`method_of` takes.

    >>> call_text().splitlines()[0]
    "/* A kernel as a function of two NumPy arrays, for calls shorter than Python's own checks."
    """
    return files("morello_layouts.outputs.kernels").joinpath("call.c").read_text("utf-8")


def method_of(start: Any) -> Method | None:
    """Return the method that calls kernels, from the built function ``relayout_call``.

    None where Python has no such ABI.
    """
    if sys.implementation.name != "cpython":
        return None
    functions = [getattr(ctypes.pythonapi, name) for name in _FUNCTIONS]
    addresses = [*map(_code_address, functions), *map(id, (True, False, np.ndarray, _DTYPE))]
    start.restype = ctypes.c_void_p
    return Method(b"move", start(struct.pack(f"{len(addresses)}P", *addresses)), _FASTCALL, None)


def quick_call(
    method: Method | None,
    entry: Any,
    dtype: np.dtype[Any],
    sizes: tuple[int, int],
    *,
    given: bytes | None,
    phases: int,
) -> Quick:
    """Return a kernel as a builtin function; :func:`slow` if there is none.

    Args:
        method: what calls kernels; it must outlive the function.
        entry: the kernel's function by ctypes.
        dtype: the type of an item, which must outlive the function.
        sizes: items of the source and of the target.
        given: sizes and fill in bytes; None if the kernel takes none.
        phases: phases of a kernel that threads can share, here one; else 0.
    """
    if method is None:
        return slow
    packed = struct.pack(
        "PPnnNN", _code_address(entry), id(dtype), *sizes, given is not None, phases
    )
    kinds = ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(("PyCFunction_NewEx", ctypes.pythonapi))
    found: Quick = make(ctypes.addressof(method), packed + (given or b""), None)
    return found


FLAGS: Final = ("-std=c11", "-O2", "-march=native", "-fPIC", "-shared")
# Kernels for all sizes are long: they are as fast (within 1 %, measured) and take half as long.
FLAGS_OF_SIZES: Final = ("-std=c11", "-O1", "-march=native", "-fPIC", "-shared")

_OTHER_COMPILER: Final = "set CC to another C compiler, or to nothing to do without one"

# Bytes of a target below which one thread does all. To wake a helper takes ten microseconds, on a
# busy system much longer: two threads were slower than one at 4 MiB, and faster at 16 MiB.
LEAST_SHARED: Final = 1 << 23

# Parts of a phase for each thread: if the system stops a thread, the others take what is left.
PARTS_OF_THREAD: Final = 4


@frozen
class RawFunction:
    """A kernel as a function of target and source, arrays or their addresses.

    It checks the width and the number of an array's items, and of an address nothing.
    """

    entry: Callable[..., object]  #: the function in C.
    given: bytes | None  #: its first argument, sizes and fill in bytes; None if it has none.
    #: for each phase of a kernel that is shared among threads, whether threads are worth it; None
    #: if the kernel is not shared.
    phases: tuple[bool, ...] | None
    threads: int  #: the most threads of a call.
    items: tuple[int, int]  #: the number of items of target and source.
    itemsize: int  #: bytes of an item.

    def __call__(self, target: Any, source: Any) -> None:
        """Move the source to the target; C runs without Python's lock."""
        (want, have), size = self.items, self.itemsize
        to = target if type(target) is int else _address("target", target, want, size)
        of = source if type(source) is int else _address("source", source, have, size)
        before = (to, of) if self.given is None else (self.given, to, of)
        if self.phases is None:
            self.entry(*before)
            return
        parts = self.threads * PARTS_OF_THREAD
        for phase, is_long in enumerate(self.phases):
            if not is_long or self.threads == 1:
                self.entry(*before, 0, 1, phase)
                continue

            def call(part: int, phase: int = phase) -> object:
                return self.entry(*before, part, parts, phase)

            run_parts(call, parts, self.threads)


def _address(name: str, given: Any, items: int, itemsize: int) -> Any:
    """Return the address of an array, or an address as it is."""
    if not isinstance(given, np.ndarray):
        return given
    fits = given.size == items and given.itemsize == itemsize and given.flags.c_contiguous
    if not fits or given.dtype.hasobject or (name == "target" and not given.flags.writeable):
        raise LayoutError(
            f"{name}: expected {items} items of {itemsize} bytes one after the other, got "
            f"{given.size} of {given.itemsize} bytes, of {given.dtype}",
            "the function moves bytes, and tests no bound",
            "give an array of the kernel's type and size, writable if it is the target",
        )
    return given.ctypes.data_as(ctypes.c_void_p)


@frozen
class BuiltKernel:
    """A kernel that was built."""

    text: str  #: the kernel in C.
    command: tuple[str, ...] | None  #: the compiler's command; None without a compiler.
    extra: CallArguments  #: the arguments of a call after the buffers.
    #: for each phase, whether threads are worth it; see :class:`CallArguments`.
    phases: tuple[bool, ...]
    spans: tuple[Int, Int]  #: items of the source and of the target.
    entry: Callable[..., object] | None  #: the function in C; None without a compiler.

    @property
    def by(self) -> str:
        """The compiler's command, or ``"NumPy"`` without a compiler."""
        return "NumPy" if self.command is None else " ".join(self.command)

    def at(
        self, sizes: Sequence[int], fill: bytes | None, threads: int, dtype: np.dtype[Any]
    ) -> tuple[RawFunction | None, Quick]:
        """Return the kernel at given sizes as a function of addresses, and of arrays alone.

        Args:
            sizes: the values of symbolic sizes.
            fill: the bytes of an item of padding.
            threads: the most threads of a call.
            dtype: the type of an item.
        """
        if self.entry is None or self.command is None:
            return None, slow
        values = dict(zip(self.extra.sizes, sizes, strict=True))
        have, want = (evaluate(span, values) for span in self.spans)
        given = None
        if self.extra != CallArguments():
            given = struct.pack(f"{len(sizes)}N", *sizes) + (fill or b"")
        phases = self.phases if self.extra.share else None
        threads = 1 if want * dtype.itemsize < LEAST_SHARED else threads
        raw = RawFunction(self.entry, given, phases, threads, (want, have), dtype.itemsize)
        if threads > 1 and phases is not None:
            return raw, slow
        count = len(phases or ())
        told = caller(self.command), self.entry, dtype, (have, want)
        return raw, quick_call(*told, given=given, phases=count)


@cache
def caller(command: tuple[str, ...]) -> Method | None:
    """Build what calls kernels; None if it cannot be built for this Python."""
    try:
        return method_of(load(call_text(), "relayout_call", command))
    except (LayoutError, AttributeError):  # no such function in this Python
        return None


def build_kernel(kernel: Kernel, command: tuple[str, ...] | None, *, share: bool) -> BuiltKernel:
    """Build a kernel. The result is kept: to ask again, or for another fill, builds nothing."""
    fill = None if kernel.fill is None else bytes(kernel.itemsize)
    return _built(replace(kernel, fill=fill, name="relayout"), command, share)


@lru_cache(maxsize=KERNELS_KEPT)
def _built(kernel: Kernel, command: tuple[str, ...] | None, share: bool) -> BuiltKernel:
    extra = CallArguments(kernel.names, kernel.fill is not None, share)
    file = c_file(kernel, fill=extra.fill, share=share)
    text, name = str(file), kernel.name
    if extra != CallArguments():
        text, name = f"{text}\n{_entry_text(name, extra)}", f"{name}_call"
    spans = kernel.source.size, kernel.target.size
    if command is None:
        return BuiltKernel(text, None, extra, file.phases, spans, None)
    entry = load(text, name, command, FLAGS_OF_SIZES if kernel.names else FLAGS)
    packed = [ctypes.c_char_p] if extra != CallArguments() else []
    shares = [ctypes.c_size_t] * (3 if share else 0)
    entry.argtypes = (*packed, ctypes.c_void_p, ctypes.c_void_p, *shares)
    entry.restype = None
    return BuiltKernel(text, command, extra, file.phases, spans, entry)


def _entry_text(name: str, extra: CallArguments) -> str:
    """Return a function that takes packed sizes and fill: Python's calls cost by the argument."""
    count = len(extra.sizes)
    shares = CallArguments(share=extra.share)
    head = (
        f"void {name}_call(\n    const void *given, void *restrict target, "
        f"const void *restrict source{shares.declared})"
    )
    sizes = "".join(f", n[{k}]" for k in range(count))
    fill = f", (const unsigned char *)given + {count} * sizeof(size_t)" if extra.fill else ""
    lines = [
        "/* The entry for Python: sizes and fill lie side by side. */",
        f"{head};",
        head,
        "{",
        *([f"    size_t n[{count}];", "    memcpy(n, given, sizeof n);"] if count else []),
        *([] if count or extra.fill else ["    (void)given;"]),
        f"    {name}(target, source{sizes}{fill}{shares.passed});",
        "}",
    ]
    return "\n".join([*lines, ""])


def compiler() -> tuple[str, ...] | None:
    """Return the command of a C compiler: ``CC`` if it is set, else gcc, clang or cc; else None.

    An empty ``CC`` means that there is no compiler.
    """
    return _found(os.environ.get("CC"), os.environ.get("PATH"))


@lru_cache(8)
def _found(given: str | None, path: str | None) -> tuple[str, ...] | None:
    for name in ("gcc", "clang", "cc") if given is None else (given,):
        try:
            words = shlex.split(name)
        except ValueError as error:
            raise LayoutError(
                f"CC: expected a command, got {name}", str(error), _OTHER_COMPILER
            ) from None
        place = shutil.which(words[0], path=path) if words else None
        if place is not None:
            return (place, *words[1:])
    return None


def cache_folder() -> Path:
    """Return the folder of built kernels: ``MORELLO_LAYOUTS_CACHE``, or in the user's cache."""
    own, home = os.environ.get("MORELLO_LAYOUTS_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if own:
        return Path(own).resolve()  # the loader looks up a bare file name elsewhere
    return ((Path(home) if home else Path.home() / ".cache") / "morello_layouts").resolve()


def load(source: str, name: str, command: tuple[str, ...], flags: tuple[str, ...] = FLAGS) -> Any:
    """Return a C function of a source, from the cache or built anew.

    A library of the cache that is damaged or does not load is built again. Where the cache cannot
    be written, a warning says so, and the library is loaded from a private temporary folder.
    """
    key = "\0".join((source, *command, *flags, _version(command), _processor()))
    wanted = _digest(key.encode(errors="surrogateescape"))
    folder = _cache()
    for library in [] if folder is None else folder.glob(f"{wanted}-*.so"):
        with suppress(OSError, AttributeError):
            if library.name == _file_name(wanted, library):
                return _function(library, name)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            text, built = Path(place) / "kernel.c", Path(place) / "kernel.so"
            text.write_text(source, encoding="utf-8")
            _compile([*command, *flags, str(text), "-o", str(built)])
            get = partial(_loaded, name=name, command=command)
            return _kept(built, folder, wanted, get)
    except OSError as error:
        raise LayoutError(
            "the kernel could not be built",
            f"{type(error).__name__}: {error}",
            "set TMPDIR to a folder that can be written",
        ) from error


def _cache() -> Path | None:
    """Return the folder of built kernels; None, with a warning, if it cannot be made."""
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_private(folder)
    except (OSError, RuntimeError) as error:
        _warn(str(error))
        return None
    return folder


def _warn(why: str) -> None:
    """Say that kernels are built anew in each process; Python shows one text of a line once."""
    fix = "set MORELLO_LAYOUTS_CACHE to a folder that can be written"
    warnings.warn(f"built kernels are not kept: {why}; {fix}", RuntimeWarning, stacklevel=1)


def _kept(built: Path, folder: Path | None, wanted: str, load: Callable[[Path], Any]) -> Any:
    """Copy a library to the cache, and load it from there; else from where it is.

    Another process that builds the same at the same time loses nothing.
    """
    if folder is None or not built.exists():
        return load(built)
    try:
        with written(folder / _file_name(wanted, built)) as beside:
            shutil.copyfile(built, beside)
            return load(beside)
    except LayoutError as error:  # a full disk; or no code may be loaded from there
        found = load(built)
        _warn(f"{folder}: {error.why.rpartition(': ')[2]}")
        return found


def _require_private(folder: Path) -> None:
    """Require that only the user and the system can write to a folder: code is loaded from it."""
    about = folder.stat()
    if not hasattr(os, "geteuid"):  # Windows has neither owners nor modes of this kind
        return
    is_shared = about.st_mode & stat.S_IWGRP and not _is_own_group(about.st_gid)
    if about.st_uid not in (os.geteuid(), 0) or is_shared or about.st_mode & stat.S_IWOTH:
        raise LayoutError(
            f"other users can write to {folder}",
            "kernels are loaded from there, and would run the code of others",
            "set MORELLO_LAYOUTS_CACHE to a folder of your own that only you can write to",
        )


def _is_own_group(group: int) -> bool:
    """Return whether a group has the user's name and no other members."""
    import grp
    import pwd

    with suppress(KeyError):
        user, about = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
        return about.gr_name == user and set(about.gr_mem) <= {user}
    return False


def _file_name(wanted: str, library: Path) -> str:
    """Name a library by its input and its content: to load a damaged one can end the process."""
    return f"{wanted}-{_digest(library.read_bytes())}.so"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _function(library: Path, name: str) -> Any:
    return getattr(ctypes.CDLL(str(library)), name)


def _loaded(library: Path, name: str, command: tuple[str, ...]) -> Any:
    try:
        return _function(library, name)
    except (OSError, AttributeError) as error:
        raise LayoutError(
            f"{command[0]} wrote no library that can be loaded",
            str(error),
            "set CC to another C compiler, or MORELLO_LAYOUTS_CACHE to a folder that may hold code",
        ) from error


def _compile(words: list[str]) -> None:
    run = _finished(words)
    if run.returncode:
        raise LayoutError(
            f"{words[0]} refused the kernel",
            (run.stderr.strip() or f"exit status {run.returncode}")[:COMPILER_MESSAGE],
            _OTHER_COMPILER,
        )


def _end_group(running: subprocess.Popen[str]) -> None:
    """End a command and what it started: gcc is a driver of other programs."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    running.kill()


def _finished(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, or end it and its children; its output may have any encoding."""
    try:
        with subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        ) as running:
            try:
                output = running.communicate(timeout=COMPILER_SECONDS)
            except BaseException:
                _end_group(running)
                raise
            return subprocess.CompletedProcess(words, running.returncode, *output)
    except subprocess.TimeoutExpired:
        raise LayoutError(
            f"{words[0]} did not end", f"it may take {COMPILER_SECONDS} seconds", _OTHER_COMPILER
        ) from None
    except OSError as error:
        raise LayoutError(
            f"{words[0]}, from CC or PATH, is not a C compiler that runs here",
            f"{type(error).__name__}: {error}",
            _OTHER_COMPILER,
        ) from error


@lru_cache
def _version(command: tuple[str, ...]) -> str:
    return _finished([*command, "--version"]).stdout


@lru_cache
def _processor() -> str:
    """Describe the processor for ``-march=native``: machines may share a cache."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join([platform.machine(), platform.processor(), *sorted(found)])
