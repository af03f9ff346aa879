"""Maps with a part that was computed wrongly, which ``verify`` must find."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import sympy

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import Pad, Recipe, Xor, offset_of

d0, d1, p, M, N = sympy.symbols("d0 d1 p M N")
TILED = "f32[3,5]{1,0:T(2,2)}"  # slots 0 to 23; 6 is the first of padding in rows, 9 in columns
LAST = sympy.floor(d0 / 2) * sympy.floor(d1 / 4)
"""1 at the last element, which lies in slot 20, and 0 at all others."""


def map_of(layout: str) -> IndexMap:
    """Return a map that no document judges."""
    return replace(ml.index_map(layout), origin=None)


def swizzled() -> IndexMap:
    """Return the map of 3 rows of 4, padded to 4 rows, whose columns are xored with the row."""
    recipe = Recipe((3, 4), (Pad((4, 4)), Xor(1, 0)))
    return IndexMap.of(recipe, lambda at, _: offset_of(recipe, at, AffineExpr((), 0)))


class OfAnotherSize(IndexMap):
    """A map that says a wrong size."""

    @property
    def size(self) -> Any:
        return 25

    @classmethod
    def instead_of(cls, m: IndexMap) -> IndexMap:
        return cls(**{name: getattr(m, name) for name in m.__dataclass_fields__})


def with_parts(m: IndexMap, **parts: Any) -> IndexMap:
    """Return a map of which some parts were computed wrongly."""
    found = replace(m)
    vars(found).update(parts)
    return found


def with_inverse(m: IndexMap, **parts: Any) -> IndexMap:
    inverse = copy(m.inverse)
    vars(inverse).update(parts)
    return with_parts(m, inverse=inverse)


def inverse_off_by(m: IndexMap, wrong: sympy.Expr) -> IndexMap:
    """Return a map whose inverse gives a wrong second coordinate."""
    first, second, *more = m.inverse.exprs
    return with_inverse(m, exprs=(first, second + wrong, *more))


def other_recipe(m: IndexMap, offset: int, tail: int) -> IndexMap:
    return replace(m, recipe=replace(m.recipe, offset=offset, tail_padding=tail))


def off_by(m: IndexMap, wrong: sympy.Expr) -> IndexMap:
    """Return a map whose expression is wrong."""
    return with_parts(m, expr=m.expr + wrong)


def reference_off_by(m: IndexMap, wrong: sympy.Expr) -> IndexMap:
    return with_parts(m, reference=m.reference + wrong)


def padded_if(m: IndexMap, condition: Any) -> IndexMap:
    """Return a map whose inverse takes slots of a condition for padding, and no others."""
    return with_inverse(m, padding=condition)


def also_padded_if(m: IndexMap, condition: Any) -> IndexMap:
    return with_inverse(m, padding=sympy.Or(m.inverse.padding, condition))
