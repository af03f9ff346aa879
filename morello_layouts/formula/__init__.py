"""From a recipe and a textbook formula to an index map."""

from morello_layouts.formula.derivation import Derivation
from morello_layouts.formula.formula_map import FormulaMap
from morello_layouts.formula.index_map import IndexMap
from morello_layouts.formula.inverse import Inverse
from morello_layouts.formula.lowerable import Lowerable
from morello_layouts.formula.relayout import Relayout

__all__ = ["Derivation", "FormulaMap", "IndexMap", "Inverse", "Lowerable", "Relayout"]
