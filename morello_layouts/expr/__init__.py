"""Expressions: linear forms over digits, their bounds, and the rules that simplify them."""

from morello_layouts.expr.engine import Rewriting, rewrite, trace
from morello_layouts.expr.form import Atom, Digit, Linear, Var, digit, variable
from morello_layouts.expr.interval import Interval

__all__ = [
    "Atom",
    "Digit",
    "Interval",
    "Linear",
    "Rewriting",
    "Var",
    "digit",
    "rewrite",
    "trace",
    "variable",
]
