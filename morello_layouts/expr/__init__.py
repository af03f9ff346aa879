"""Expressions: linear forms over digits, their bounds, and the rules that simplify them."""

from morello_layouts.expr.cheapest import cheapest
from morello_layouts.expr.cost import OPERATIONS, SHIFTS, CostModel
from morello_layouts.expr.engine import Rewriting, rewrite, trace
from morello_layouts.expr.form import Atom, Digit, Linear, Var, digit, variable
from morello_layouts.expr.interval import Interval
from morello_layouts.expr.readable import readable

__all__ = [
    "OPERATIONS",
    "SHIFTS",
    "Atom",
    "CostModel",
    "Digit",
    "Interval",
    "Linear",
    "Rewriting",
    "Var",
    "cheapest",
    "digit",
    "readable",
    "rewrite",
    "trace",
    "variable",
]
