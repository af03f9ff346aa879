"""Expressions as nested lists, ``["//", ["*", 2, "i"], 3]``, evaluated and read as forms."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

from morello_layouts.core.expr import AffineExpr, variable

OPERATORS = {"+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}


def evaluate(tree: Any, values: Any) -> Any:
    """Return the value of a tree by Python's own arithmetic, or NumPy's."""
    if isinstance(tree, list):
        op, *parts = tree
        return reduce(OPERATORS[op], [evaluate(part, values) for part in parts])
    return values[tree] if isinstance(tree, str) else tree


def form_of(tree: Any, bounds: Any) -> Any:
    """Return a tree as a form, as it stands."""
    if isinstance(tree, str):
        return variable(tree, *bounds[tree])
    if isinstance(tree, int):
        return AffineExpr((), tree)
    op, *parts = tree
    return reduce(OPERATORS[op], [p if isinstance(p, int) else form_of(p, bounds) for p in parts])
