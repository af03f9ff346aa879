"""Decide whether the formulas, the recipe and the inverse of a map agree."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeAlias

import islpy as isl

from morello_layouts.expr.assumptions import apply_divisibility
from morello_layouts.expr.conversions import number_from_sympy
from morello_layouts.expr.sizes import Int, SizeExpr, exact_quotient
from morello_layouts.maps import IndexMap
from morello_layouts.proof.ask import ask_isl
from morello_layouts.proof.bijective import Stage, parameters_of, stages
from morello_layouts.proof.equivalent import Difference
from morello_layouts.proof.isl import (
    NotAffineError,
    Position,
    Space,
    Value,
    at_least,
    differ,
    first_point,
    offset_of_recipe,
    row_major,
)
from morello_layouts.proof.proof import Proof
from morello_layouts.recipe import linear_index

Readable: TypeAlias = Value | Position


def value_of_expr(expr: Any, space: Space, names: Mapping[str, Readable] | None = None) -> Value:
    """A SymPy expression of coordinates and sizes as a value.

    Args:
        expr: the expression.
        space: where it is a function; symbols that are not named are its parameters.
        names: what symbols stand for; the space's own coordinates if that is not given.

    Raises:
        UnsupportedError: where it is no quasi-affine function times sizes.
    """
    if names is None:
        names = {name: Value.of(x, space) for name, x in space.variables.items()}
    return _Reader(space, names).value(expr)


@dataclass(frozen=True)
class _Reader:
    space: Space
    names: Mapping[str, Readable]

    def value(self, expr: Any) -> Value:
        found = self.read(expr)
        return found.value if isinstance(found, Position) else found

    def read(self, expr: Any) -> Readable:
        if expr.is_Rational:
            return _over(Value.constant(int(expr.p), self.space), int(expr.q))
        if expr.is_Symbol and expr.name in self.names:
            return self.names[expr.name]
        if expr.free_symbols and not self.varies(expr):
            return self.size(expr)
        if expr.is_Add:
            total = self.value(expr.args[0])
            for arg in expr.args[1:]:
                total = total + self.value(arg)
            return total
        if expr.is_Mul:
            varying, factors = self.sorted_by_kind(expr)
            product = self.value(varying)
            for factor in factors:
                product = self.scaled(product, factor)
            return product
        match expr.func.__name__:
            case "floor":
                return self.floor(expr.args[0])
            case "Mod":
                return self.read(expr.args[0]) % self.number(expr.args[1])
        raise _unreadable(expr)

    def floor(self, quotient: Any) -> Readable:
        """The floor of x / s, or of a sum with rational factors."""
        if quotient.is_Mul and self.varies(quotient):
            varying, factors = self.sorted_by_kind(quotient)
            below = [1 / factor for factor in factors]
            if not any(b.is_Rational and not b.is_Integer for b in below):
                # In one go: digits are cut off where their sizes make the whole divisor.
                return self.read(varying) // prod(map(self.number, below))
        value = self.value(quotient)
        for monomial, function in value.parts.items():
            whole = differ(function, function.floor(), self.space.domain).is_empty()
            if monomial and not whole:
                raise _unreadable("a floor of a product of symbolic sizes")
        return Value({m: f.floor() for m, f in value.parts.items()}, self.space)

    def sorted_by_kind(self, expr: Any) -> tuple[Any, list[Any]]:
        """A product's factor that varies over the space, of which there is one, and the others."""
        varying: list[Any] = []
        fixed: list[Any] = []
        for arg in expr.args:
            constant = not arg.free_symbols and not arg.is_Rational  # such as Mod(0, 128)
            (varying if constant or self.varies(arg) else fixed).append(arg)
        if len(varying) != 1:
            raise _unreadable(expr)
        return varying[0], fixed

    def varies(self, expr: Any) -> bool:
        return any(s.name in self.names for s in expr.free_symbols)

    def scaled(self, value: Value, factor: Any) -> Value:
        if factor.is_Rational:
            return _over(value * int(factor.p), int(factor.q))
        return value * self.number(factor)

    def number(self, expr: Any) -> Int:
        """A size, with the rational factors that exact quotients have."""
        if expr.is_Integer:
            return int(expr)
        numerator, denominator = expr.as_numer_denom()
        if not denominator.is_Integer:
            raise _unreadable(expr)
        size = apply_divisibility(self.space.parameters.assumptions, number_from_sympy(numerator))
        return exact_quotient(size, int(denominator))

    def size(self, expr: Any) -> Value:
        """A sum or product of sizes as a value."""
        if expr.is_Add:
            total = Value.of(self.space.number(0), self.space)
            for arg in expr.args:
                total = total + self.size(arg)
            return total
        product = Value.constant(1, self.space)
        for factor in expr.args if expr.is_Mul else (expr,):
            product = self.scaled(product, factor)
        return product


def _over(value: Value, divisor: int) -> Value:
    val = value.space.val(divisor)
    return Value({m: f.scale_down_val(val) for m, f in value.parts.items()}, value.space)


def _unreadable(expr: Any) -> NotAffineError:
    return NotAffineError(
        f"ISL cannot read {expr}",
        "it decides on sums of coordinates, integer factors, floor and Mod by integers",
        "write the formula with these, or ask at given sizes",
    )


AGREE: Final = "do the formulas, the inverse and the recipe agree everywhere?"


@ask_isl(AGREE)
def verify(m: IndexMap, *, context: Any) -> Proof:
    """Whether ``m.expr``, ``m.reference`` and ``m.inverse`` say what the recipe says.

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
    for name, expr in (("expr", m.expr), ("reference", m.reference)):
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
            total = total.add(value.space.number(SizeExpr(((monomial, factor),)) if factor else 0))
        else:
            raise NotAffineError(
                f"a coordinate is multiplied by {SizeExpr(((monomial, 1),))}",
                "products of symbols are outside of Presburger arithmetic",
                "ask at given sizes",
            )
    return total
