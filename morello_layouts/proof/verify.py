"""That an index map's formulas, its inverse and its recipe agree everywhere.

The formulas are held against the recipe at every coordinate. The inverse is held against it at
every place in memory: ISL has shown of the recipe read backwards that it leads back from each
element and tells elements from padding (:mod:`morello_layouts.proof.stages`), and the inverse must
say the same, coordinate by coordinate where an element lies, and of padding everywhere.
"""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import Any, Final

import islpy as isl

from morello_layouts.expr.size import Size
from morello_layouts.formula import IndexMap
from morello_layouts.proof.asking import within_budget
from morello_layouts.proof.difference import Difference
from morello_layouts.proof.position import Position
from morello_layouts.proof.proof import Proof
from morello_layouts.proof.relation import offset_of_recipe, row_major
from morello_layouts.proof.space import Space, at_least
from morello_layouts.proof.stages import Stage, parameters_of, stages
from morello_layouts.proof.sympy_reader import value_of_expr
from morello_layouts.proof.value import NotAffineError, Value, first_point
from morello_layouts.recipe import linear_index

__all__ = ["verify"]

AGREE: Final = "do the formulas, the inverse and the recipe agree everywhere?"


@within_budget(AGREE)
def verify(m: IndexMap, *, context: Any) -> Proof:
    """Whether ``m.expr``, ``m.textbook`` and ``m.inverse`` say what the recipe says.

    They are read as SymPy holds them, which is what users get.
    """
    wrong = _formulas(m, context)
    if wrong is None and prod(m.recipe.shape) != 0:
        wrong = _inverse(m, context)
    if wrong is not None:
        return wrong
    return Proof(AGREE, True, "ISL: there is no place at which any two of them differ")


def _formulas(m: IndexMap, context: Any) -> Proof | None:
    """Where a formula differs from the recipe, or that it is open; None if it does not."""
    space = Space.of(m.recipe.shape, context, parameters_of([m.recipe], m.assumptions))
    offset = offset_of_recipe(m.recipe, space)
    for name, expr in (("expr", m.expr), ("textbook", m.textbook)):
        wrong = _unequal(name, value_of_expr(expr, space) - offset, "at")
        if wrong is not None:
            return wrong
    return None


def _unequal(name: str, difference: Value, where: str) -> Proof | None:
    space = difference.space
    if space.parameters.monomials:
        equal, _ = Difference((difference,), space).for_sizes()
        if space.sizes.is_subset(equal):
            return None
        return Proof(AGREE, None, f"{name} is not seen to equal the recipe for all sizes")
    points = Difference((difference,), space).concrete
    if points.is_empty():
        return None
    at = first_point(points)
    return Proof(AGREE, False, f"{name} differs from the recipe {where} {at}", at)


def _inverse(m: IndexMap, context: Any) -> Proof | None:
    """Where the inverse differs from the recipe read backwards; None if nowhere."""
    pieces = stages(m.recipe, parameters_of([m.recipe], m.assumptions), context)
    if len(pieces) > 1:
        raise NotAffineError(
            "the inverse divides by a product of symbolic sizes",
            "quotients by symbols are outside of Presburger arithmetic",
            "ask at given sizes",
        )
    (piece,) = pieces
    if piece.collisions is not None or not piece.outside.is_empty() or piece.misjudged:
        return Proof(AGREE, False, "the recipe read backwards is not its inverse")
    for check in (_coordinates, _padding, _tail):
        wrong = check(m, piece)
        if wrong is not None:  # a proof that fails is not true, so `or` would pass over it
            return wrong
    return None


def _memory(m: IndexMap, space: Space) -> Position:
    """The offset, by the coordinates over the axes in memory."""
    digits = tuple(Value.of(x, space) for x in space.coordinates)
    return Position(digits, m.recipe.physical_shape, space)


def _coordinates(m: IndexMap, piece: Stage) -> Proof | None:
    """Where an element lies, the inverse must give its coordinate."""
    space = piece.physical
    elements = Space(
        space.context,
        space.domain.subtract(piece.padding),
        space.variables,
        space.parameters,
    )
    claimed, _ = piece.back(elements.coordinates, elements)
    names = {"p": _memory(m, elements)}
    for k, (expr, x) in enumerate(zip(m.inverse.exprs, claimed, strict=True)):
        found = value_of_expr(expr, elements, names)
        wrong = _unequal(f"coordinate {k} of the inverse", found - x, "at the place")
        if wrong is not None:
            return wrong
    return None


def _padding(m: IndexMap, piece: Stage) -> Proof | None:
    """The condition for padding must hold where padding is, and only there."""
    space = piece.physical
    said = _where(m.inverse.padding, space, {"p": _memory(m, space)}).intersect(space.domain)
    for points in (said.subtract(piece.padding), piece.padding.subtract(said)):
        if not points.is_empty():
            if m.recipe.names:
                return Proof(AGREE, False, "padding of the inverse differs from the recipe")
            offset = linear_index(first_point(points), m.recipe.physical_shape, 0)
            reason = f"padding of the inverse differs from the recipe at the offset {offset}"
            return Proof(AGREE, False, reason, offset)
    return None


def _tail(m: IndexMap, piece: Stage) -> Proof | None:
    """Past the axes everything is padding."""
    tail = m.recipe.tail_padding
    if tail == 0:
        return None
    space = Space.of((tail,), piece.space.context, piece.space.parameters)
    start = prod(m.recipe.physical_shape)
    past = row_major([Value.of(space.coordinates[0], space)], [tail], space)
    names = {"p": past + Value.constant(start, space)}
    said = isl.Set.empty(space.domain.get_space())
    condition = m.inverse.padding
    for part in condition.args if condition.func.__name__ == "Or" else (condition,):
        # A part that cannot be read may only say of more places that they are padding.
        with suppress(NotAffineError):
            said = said.union(_where(part, space, names))
    if space.domain.is_subset(said):
        return None
    return Proof(AGREE, False, "padding of the inverse misses padding at the buffer's end")


def _where(condition: Any, space: Space, names: Any) -> isl.Set:
    """Where a condition ``x >= n`` holds, or one of several."""
    if condition.is_Boolean and condition.func.__name__ == "Or":
        found = _where(condition.args[0], space, names)
        for part in condition.args[1:]:
            found = found.union(_where(part, space, names))
        return found
    if condition == False:  # noqa: E712  SymPy's false
        return isl.Set.empty(space.domain.get_space())
    if condition == True:  # noqa: E712
        return isl.Set.universe(space.domain.get_space())
    left, right = condition.gts, condition.lts
    p = names["p"]
    if isinstance(p, Position) and str(left) == "p":
        # An offset in the box is below the box's size, even where that is a product of sizes.
        size = value_of_expr(right, space, names) - Value.constant(prod(p.sizes), space)
        if all(function.is_cst() and not _negative(function) for function in size.parts.values()):
            return isl.Set.empty(space.domain.get_space())
    strict = int("Strict" in condition.func.__name__)
    difference = value_of_expr(left, space, names) - value_of_expr(right, space, names)
    return at_least(_affine(difference), strict)


def _negative(function: isl.Aff) -> bool:
    return bool(function.get_constant_val().is_neg())


def _affine(value: Value) -> isl.Aff:
    """A value whose symbolic factors are factors of numbers, as a function of parameters.

    Raises:
        NotAffineError: where one is a factor of a coordinate.
    """
    total = value.space.number(0)
    for monomial, function in value.parts.items():
        if not monomial:
            total = total.add(function)
        elif function.is_cst():
            factor = int(function.get_constant_val().to_python())
            total = total.add(value.space.number(Size(((monomial, factor),)) if factor else 0))
        else:
            raise NotAffineError(
                f"a coordinate is multiplied by {Size(((monomial, 1),))}",
                "products of symbols are outside of Presburger arithmetic",
                "ask at given sizes",
            )
    return total
