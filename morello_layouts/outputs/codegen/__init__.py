"""Code from formulas: operations, their integer types, and source text in each target."""

from morello_layouts.outputs.codegen.language import Formulas
from morello_layouts.outputs.codegen.targets import LANGUAGES, TARGETS, Target, print_formulas

__all__ = ["LANGUAGES", "TARGETS", "Formulas", "Target", "print_formulas"]
