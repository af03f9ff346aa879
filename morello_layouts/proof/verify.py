"""That an index map's formulas, its inverse and its recipe agree everywhere."""

from __future__ import annotations

from typing import Any

from morello_layouts.formula import IndexMap
from morello_layouts.proof.asking import within_budget
from morello_layouts.proof.difference import Difference
from morello_layouts.proof.proof import Proof
from morello_layouts.proof.relation import offset_of_expr, offset_of_recipe
from morello_layouts.proof.space import Space
from morello_layouts.proof.stages import parameters_of
from morello_layouts.proof.value import first_point

__all__ = ["verify"]

AGREE = "do the formula, the textbook formula and the recipe agree everywhere?"


@within_budget(AGREE)
def verify(m: IndexMap, *, context: Any) -> Proof:
    """Whether ``m.expr`` and ``m.textbook``, as SymPy holds them, equal the recipe everywhere."""
    space = Space.of(m.recipe.shape, context, parameters_of([m.recipe], m.assumptions))
    offset = offset_of_recipe(m.recipe, space)
    for name, expr in (("expr", m.expr), ("textbook", m.textbook)):
        difference = Difference((offset_of_expr(expr, space) - offset,), space)
        if m.recipe.names:
            equal, _ = difference.for_sizes()
            if not space.sizes.is_subset(equal):
                return Proof(AGREE, None, f"{name} is not seen to equal the recipe")
        elif not difference.concrete.is_empty():
            at = first_point(difference.concrete)
            return Proof(AGREE, False, f"{name} differs from the recipe at {at}", at)
    return Proof(AGREE, True, "ISL: there is no coordinate at which any two of them differ")
