"""The walk of a call through the modules: ``python tests/project/test_walk.py`` prints it.

A walk is taken warm, after a first call, and is the list of the functions that are called, in order
of time. A module is touched if one of its functions is called, and entered if the function called
before was another module's. The door is the module of ``index_map``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core import fields

PACKAGE = Path(ml.__file__).parent
DOOR = "interfaces.api.layouts"
XLA, ONEDNN = "bf16[10,200]{1,0:T(8,128)(2,1)}", "aBcd16b"


@dataclass
class Walk:
    """The modules that a call touches, in order of time."""

    stays: list[str] = field(default_factory=list)  #: a module each time that it changes.

    def entries(self, module: str) -> int:
        """Return how often the walk enters a module."""
        return self.stays.count(module)

    @property
    def modules(self) -> set[str]:
        """The modules that are touched."""
        return set(self.stays)


def walk_of(call: Callable[[], Any]) -> Walk:
    """Return the walk of a call, after it made enough values for each class to have its init."""
    for _ in range(fields._FIRST + 1):
        call()
    walk, names = Walk(), dict[str, str]()

    def name_of(frame: FrameType) -> str:
        file = frame.f_code.co_filename
        if file not in names:
            inside = Path(file).is_relative_to(PACKAGE) and Path(file).relative_to(PACKAGE)
            names[file] = ".".join(inside.with_suffix("").parts) if inside else ""
        return names[file]

    def look(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            name = name_of(frame)
            if name and name != (walk.stays or [""])[-1]:
                walk.stays.append(name)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return walk


#: by name the call, the most entries of the door, and the most modules.
WALKS: dict[str, tuple[Callable[[], Any], int, int]] = {
    "index_map": (lambda: ml.index_map(XLA), 2, 15),
    "index_map, oneDNN": (lambda: ml.index_map(ONEDNN, (2, 20, 3, 4)), 2, 17),
    "explain with its text": (lambda: str(ml.explain(XLA)), 3, 45),
}


@pytest.mark.parametrize("name", WALKS)
def test_a_call_walks_through_few_modules(name: str) -> None:
    call, entries, modules = WALKS[name]
    walk = walk_of(call)
    assert walk.entries(DOOR) <= entries, walk.stays
    assert len(walk.modules) <= modules, sorted(walk.modules)


if __name__ == "__main__":
    for name, (call, *_) in WALKS.items():
        walk = walk_of(call)
        figures = f"{walk.entries(DOOR)} entries of the door, {len(walk.modules)} modules"
        sys.stdout.write(f"{name}: {figures}\n")
        if "-v" in sys.argv:
            sys.stdout.write(f"  {' '.join(sorted(walk.modules))}\n")
