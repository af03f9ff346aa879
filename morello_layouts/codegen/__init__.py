"""Code from formulas: what a target computes, in which types, and how it is written."""

from morello_layouts.codegen.language import Formulas
from morello_layouts.codegen.targets import TARGETS, Target, print_formulas

__all__ = ["TARGETS", "Formulas", "Target", "print_formulas"]
