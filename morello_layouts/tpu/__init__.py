"""What the TPU compiler does with layouts: its defaults, their cost, and what would cost less."""

from morello_layouts.tpu.defaults import default_layout
from morello_layouts.tpu.formats import FORMATS, Format, format_layout
from morello_layouts.tpu.generations import GENERATIONS, LANES, SUBLANES, TYPES
from morello_layouts.tpu.suggest import Suggestion, suggest
from morello_layouts.tpu.symbolic import WasteFormula, waste_formula
from morello_layouts.tpu.waste import Padding, Waste, waste

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
    "default_layout",
    "format_layout",
    "suggest",
    "waste",
    "waste_formula",
]
