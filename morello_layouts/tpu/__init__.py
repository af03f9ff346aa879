"""Layouts on TPUs: the compiler's defaults, their padding, and layouts with less of it."""

from importlib import import_module
from typing import Any, Final

from morello_layouts.notations.xla.words import FORMATS, Format
from morello_layouts.tpu.layouts import (
    GENERATIONS,
    LANES,
    SUBLANES,
    TYPES,
    default_layout,
    format_layout,
)
from morello_layouts.tpu.suggest import Suggestion, suggest
from morello_layouts.tpu.waste import (
    Padding,
    Waste,
    WasteFormula,
    buffer_waste,
    waste,
    waste_formula,
)

__all__ = [
    "FORMATS",
    "GENERATIONS",
    "LANES",
    "SUBLANES",
    "TYPES",
    "Format",
    "Padding",
    "Suggestion",
    "Waste",
    "WasteFormula",
    "buffer_waste",
    "default_layout",
    "format_layout",
    "suggest",
    "waste",
    "waste_formula",
]

# What runs the compiler stands on reports, far above this layer: its names are loaded on first use.
_COMPILER: Final = frozenset({"Advice", "Compilation", "Compiler", "advise", "diagnose"})


def __getattr__(name: str) -> Any:
    """Load a name of the TPU compiler on first use."""
    if name not in _COMPILER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("morello_layouts.tpu_compiler"), name)
