"""The folders that tests read."""

import importlib
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


def loaded(name: str) -> ModuleType:
    """Return a script of docs, which is not a package."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""How an archive is unpacked: the filter came with Python 3.11.4."""
