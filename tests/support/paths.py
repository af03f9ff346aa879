"""The folders that tests read."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


def loaded(name: str) -> ModuleType:
    """Return a script of docs, which is not a package."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)
