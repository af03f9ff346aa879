"""Affine expressions over digits, their bounds, and the rules that simplify them."""

from morello_layouts.expr.affine import (
    AffineExpr,
    Atom,
    BitXor,
    Digit,
    Var,
    coordinate_variables,
    digit,
    variable,
)
from morello_layouts.expr.bounds import Interval
from morello_layouts.expr.cheapest import cheapest
from morello_layouts.expr.digit_choices import OPERATIONS, SHIFTS, CostModel
from morello_layouts.expr.simplify import (
    Derivation,
    RewriteStep,
    canonicalize,
    canonicalize_with_steps,
    readable,
)

__all__ = [
    "OPERATIONS",
    "SHIFTS",
    "AffineExpr",
    "Atom",
    "BitXor",
    "CostModel",
    "Derivation",
    "Digit",
    "Interval",
    "RewriteStep",
    "Var",
    "canonicalize",
    "canonicalize_with_steps",
    "cheapest",
    "coordinate_variables",
    "digit",
    "readable",
    "variable",
]
