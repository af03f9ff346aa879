"""MLIR itself, if a package brings it."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


def mlir() -> Any:
    """MLIR's Python bindings, of whichever package brings some."""
    for name in ("jaxlib.mlir.ir", "iree.compiler.ir"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return pytest.skip("no MLIR is installed: pip install jaxlib, or iree-base-compiler")
