"""16 programs of the TPU compiler with their buffer assignments, as files of a dump."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from morello_layouts.programs.hlo import HloModule, read_hlo
from morello_layouts.programs.hlo.assignment import BufferAssignment, read_assignment
from morello_layouts.programs.hlo.reader import assignment_beside
from tests.support.paths import DATA, SAFELY

_KEPT: list[TemporaryDirectory[str]] = []


@cache
def folder() -> Path:
    """The folder with all files; it is removed when the tests end."""
    _KEPT.append(TemporaryDirectory())
    path = Path(_KEPT[-1].name)
    with tarfile.open(DATA / "tpu_programs.tar.xz") as archive:
        archive.extractall(path, **SAFELY)
    return path


@cache
def names() -> tuple[str, ...]:
    """The names of the programs."""
    end = ".after_optimizations.txt"
    return tuple(sorted(p.name.removesuffix(end) for p in folder().glob(f"*{end}")))


def path_of(name: str) -> Path:
    """The file of a program."""
    return folder() / f"{name}.after_optimizations.txt"


@cache
def module(name: str) -> HloModule:
    """A program."""
    return read_hlo(path_of(name))


@cache
def assignment(name: str) -> BufferAssignment:
    """The buffer assignment of a program."""
    found = assignment_beside(path_of(name))
    assert found is not None, name
    return read_assignment(found)
