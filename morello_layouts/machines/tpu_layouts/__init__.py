"""Layouts on TPUs: the compiler's defaults, their padding, and layouts with less of it."""

from morello_layouts.machines.tpu_layouts.blocks import Blocks, blocks
from morello_layouts.machines.tpu_layouts.layouts import (
    GENERATIONS,
    LANES,
    SUBLANES,
    TYPES,
    default_layout,
    format_layout,
)
from morello_layouts.machines.tpu_layouts.suggest import Suggestion, suggest
from morello_layouts.machines.tpu_layouts.waste import (
    Padding,
    Waste,
    WasteFormula,
    buffer_waste,
    waste,
    waste_formula,
)
from morello_layouts.notations.xla.words import FORMATS, Format

__all__ = [
    "FORMATS",
    "GENERATIONS",
    "LANES",
    "SUBLANES",
    "TYPES",
    "Blocks",
    "Format",
    "Padding",
    "Suggestion",
    "Waste",
    "WasteFormula",
    "blocks",
    "buffer_waste",
    "default_layout",
    "format_layout",
    "suggest",
    "waste",
    "waste_formula",
]
