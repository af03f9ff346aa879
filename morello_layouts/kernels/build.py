"""The system's C compiler, a cache of what it built, and functions from it by way of ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from morello_layouts.errors import LayoutError

_LIMIT: Final = 120  # seconds that the compiler may take
_OTHER: Final = "set CC to another C compiler, or to nothing to do without one"

FLAGS: Final = ("-std=c11", "-O3", "-march=native", "-fPIC", "-shared")


def compiler() -> tuple[str, ...] | None:
    """The command of a C compiler: ``CC`` where that is set, else gcc, clang or cc; None if none.

    An empty ``CC`` says that there is none.

    Raises:
        LayoutError: where ``CC`` is no command.
    """
    given = os.environ.get("CC")
    for name in ("gcc", "clang", "cc") if given is None else (given,):
        try:
            words = shlex.split(name)
        except ValueError as error:
            raise LayoutError(f"CC is no command: {name}", str(error), _OTHER) from None
        path = shutil.which(words[0]) if words else None
        if path is not None:
            return (path, *words[1:])
    return None


def cache_folder() -> Path:
    """Where built kernels are kept: ``MORELLO_LAYOUTS_CACHE``, else the user's cache folder.

    Raises:
        LayoutError: where neither is known.
    """
    own, home = os.environ.get("MORELLO_LAYOUTS_CACHE"), os.environ.get("XDG_CACHE_HOME")
    try:
        if own:
            return Path(own).resolve()  # a bare file name would be looked for among the system's
        return ((Path(home) if home else Path.home() / ".cache") / "morello_layouts").resolve()
    except RuntimeError as error:
        raise LayoutError(
            "there is no folder to keep kernels in",
            str(error),
            "set MORELLO_LAYOUTS_CACHE to a folder that can be written",
        ) from error


def load(source: str, name: str, command: tuple[str, ...], flags: tuple[str, ...] = FLAGS) -> Any:
    """The C function of a name in a source, built unless that was done before.

    What was kept but is damaged or does not load is built again.

    Raises:
        LayoutError: where the compiler refuses the source or writes no library, or the cache
            cannot be written, or others can write to it.
    """
    key = "\0".join((source, *command, *flags, _version(command), _processor()))
    asked = _digest(key.encode(errors="surrogateescape"))
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_of_others(folder)
        for library in folder.glob(f"{asked}-*.so"):
            with suppress(OSError, AttributeError):
                if library.name == _file_name(asked, library):
                    return _function(library, name)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            text, built = Path(place) / "kernel.c", Path(place) / "kernel.so"
            text.write_text(source, encoding="utf-8")
            _run([*command, *flags, str(text), "-o", str(built)])
            function = _loaded(built, name, command)
            # Whoever builds the same at the same time loses nothing.
            built.replace(folder / _file_name(asked, built))
    except OSError as error:
        raise LayoutError(
            "the kernel could not be built",
            f"{type(error).__name__}: {error}",
            "set MORELLO_LAYOUTS_CACHE to a folder that can be written",
        ) from error
    return function


def _refuse_of_others(folder: Path) -> None:
    """Code is loaded from the folder: nobody but the user and the system's may put some there."""
    about = folder.stat()
    if not hasattr(os, "geteuid"):  # Windows has neither owners nor modes of this kind
        return
    if about.st_uid not in (os.geteuid(), 0) or about.st_mode & stat.S_IWOTH:
        raise LayoutError(
            f"other users can write to {folder}",
            "kernels are loaded from there, and would be theirs",
            "set MORELLO_LAYOUTS_CACHE to a folder of your own that only you can write to",
        )


def _file_name(asked: str, library: Path) -> str:
    """By what was asked for and by what came out: to load a damaged library can end the process."""
    return f"{asked}-{_digest(library.read_bytes())}.so"


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
            "set CC to another C compiler, or MORELLO_LAYOUTS_CACHE to where code may be loaded",
        ) from error


def _run(words: list[str]) -> None:
    run = _finished(words)
    if run.returncode:
        raise LayoutError(
            f"{words[0]} refused the kernel",
            (run.stderr.strip() or f"exit status {run.returncode}")[:2000],
            _OTHER,
        )


def _finished(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command that was run; its output in whatever encoding."""
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LayoutError(
            f"{words[0]} did not end", f"it may take {_LIMIT} seconds", _OTHER
        ) from None
    except OSError as error:
        raise LayoutError(
            f"{words[0]} is no C compiler that runs here: CC names it, or PATH",
            f"{type(error).__name__}: {error}",
            _OTHER,
        ) from error


@lru_cache
def _version(command: tuple[str, ...]) -> str:
    return _finished([*command, "--version"]).stdout


@lru_cache
def _processor() -> str:
    """What ``-march=native`` depends on; caches may be shared between machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    told = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join([platform.machine(), platform.processor(), *sorted(told)])
