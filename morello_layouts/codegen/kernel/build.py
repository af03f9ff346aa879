"""The system's C compiler, a cache of what it built, and functions from it by way of ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from morello_layouts.errors import LayoutError

__all__ = ["FLAGS", "cache_folder", "compiler", "load"]

FLAGS: Final = ("-std=c11", "-O3", "-march=native", "-fPIC", "-shared")


def compiler() -> tuple[str, ...] | None:
    """The command of a C compiler: ``CC`` where that is set, else gcc, clang or cc; None if none.

    An empty ``CC`` says that there is none.
    """
    given = os.environ.get("CC")
    for name in ("gcc", "clang", "cc") if given is None else (given,):
        words = shlex.split(name)
        path = shutil.which(words[0]) if words else None
        if path is not None:
            return (path, *words[1:])
    return None


def cache_folder() -> Path:
    """Where built kernels are kept: ``MORELLO_LAYOUTS_CACHE``, else the user's cache folder."""
    own = os.environ.get("MORELLO_LAYOUTS_CACHE")
    if own:
        return Path(own)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "morello_layouts"


def load(source: str, name: str, command: tuple[str, ...], flags: tuple[str, ...] = FLAGS) -> Any:
    """The C function of a name in a source, built unless that was done before.

    Raises:
        LayoutError: where the compiler refuses the source, or the cache cannot be written.
    """
    return getattr(ctypes.CDLL(str(_built(source, command, flags))), name)


def _built(source: str, command: tuple[str, ...], flags: tuple[str, ...]) -> Path:
    key = "\0".join((source, *command, *flags, _version(command), _processor()))
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        library = folder / f"{name}.so"
        if not library.exists():
            with tempfile.TemporaryDirectory(dir=folder) as place:
                text, built = Path(place) / "kernel.c", Path(place) / "kernel.so"
                text.write_text(source, encoding="utf-8")
                _run([*command, *flags, str(text), "-o", str(built)])
                built.replace(library)  # whoever builds the same at the same time loses nothing
    except OSError as error:
        raise LayoutError(
            "the kernel could not be built",
            f"{type(error).__name__}: {error}",
            "set MORELLO_LAYOUTS_CACHE to a folder that can be written",
        ) from error
    return library


def _run(words: list[str]) -> None:
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode:
        raise LayoutError(
            f"{words[0]} refused the kernel",
            (run.stderr.strip() or f"exit status {run.returncode}")[:2000],
            "set CC to another C compiler, or to nothing to do without one",
        )


@lru_cache
def _version(command: tuple[str, ...]) -> str:
    run = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return run.stdout


@lru_cache
def _processor() -> str:
    """What ``-march=native`` depends on; caches may be shared between machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    told = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join([platform.machine(), platform.processor(), *sorted(told)])
