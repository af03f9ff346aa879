"""The files of a dump that belong together: a program, and what the compiler wrote beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_STAGE: Final = re.compile(
    r"(?P<program>.+?)[.\-](?P<stage>(?:\w+_|sm_[0-9.]+_gpu_)?(?:after|before)_optimizations\w*"
    r"|oom_intermediate_module|buffer-assignment|memory-usage-report)(?:[.\-].*)?\.txt",
    re.ASCII,
)

_COMPILED: Final = ("after_optimizations", "cpu_after_optimizations", "gpu_after_optimizations")


def program_name(path: Path) -> str:
    """Return the part of a file's name that all files of one program begin with.

    >>> program_name(Path("module_0001.jit_f.after_optimizations-buffer-assignment.txt"))
    'module_0001.jit_f'
    """
    match = _STAGE.fullmatch(path.name)
    return path.stem if match is None else match["program"]


def assignment_beside(path: Path) -> Path | None:
    """Return the buffer assignment that lies beside a program; None without one."""
    name = program_name(path)
    beside = (f"{name}.{stage}-buffer-assignment.txt" for stage in _COMPILED)
    names = (f"{path.stem}-buffer-assignment.txt", *beside)
    return _first(path, (*names, f"{name}.buffer-assignment.txt", f"{name}-buffer-assignment.txt"))


def program_beside(path: Path) -> Path | None:
    """Return the program that a buffer assignment is about; None without one."""
    name = program_name(path)
    stem = re.sub(r"[.\-](?:buffer-assignment|memory-usage-report)$", "", path.stem)
    stages = (*_COMPILED, "oom_intermediate_module")
    return _first(path, (f"{stem}.txt", *(f"{name}.{stage}.txt" for stage in stages)))


def _first(path: Path, names: tuple[str, ...]) -> Path | None:
    others = (path.with_name(name) for name in names)
    return next((other for other in others if other != path and other.is_file()), None)
