"""Affine expressions over digits, their bounds, and the rules that simplify them."""

from morello_layouts.core.expr.affine import (
    AffineExpr as AffineExpr,
    Atom as Atom,
    BitXor as BitXor,
    Call as Call,
    Digit as Digit,
    coordinate_variables as coordinate_variables,
    digit as digit,
    standard as standard,
    variable as variable,
)
from morello_layouts.core.expr.bounds import Interval as Interval
from morello_layouts.core.expr.calls import Var as Var
from morello_layouts.core.expr.cheapest import cheapest as cheapest, fewest as fewest
from morello_layouts.core.expr.digit_choices import (
    OPERATIONS as OPERATIONS,
    SHIFTS as SHIFTS,
    CostModel as CostModel,
)
from morello_layouts.core.expr.simplify import (
    Derivation as Derivation,
    RewriteStep as RewriteStep,
    canonicalize as canonicalize,
    canonicalize_with_steps as canonicalize_with_steps,
    readable as readable,
)
