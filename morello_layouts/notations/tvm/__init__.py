"""TVM's index maps and layouts."""

from morello_layouts.notations.coordinates import FormulaLayout

__all__ = ["FormulaLayout"]
