"""Code from formulas: operations, their integer types, and source text in each target."""

from morello_layouts.codegen.language import Formulas
from morello_layouts.codegen.targets import LANGUAGES, TARGETS, Target, print_formulas

__all__ = ["LANGUAGES", "TARGETS", "Formulas", "Target", "print_formulas"]
