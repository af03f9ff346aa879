"""Decide whether a map's formulas, recipe and inverse agree, as SymPy holds them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final, TypeAlias

import islpy as isl

from morello_layouts.expr.assumptions import apply_divisibility
from morello_layouts.expr.conversions import number_from_sympy
from morello_layouts.expr.sizes import Int, SizeExpr, exact_quotient
from morello_layouts.maps import IndexMap
from morello_layouts.proof.ask import ask_isl
from morello_layouts.proof.bijective import RecipeRelation, parameters_of, relations_of
from morello_layouts.proof.equivalent import OffsetDifference
from morello_layouts.proof.isl import (
    MixedRadix,
    NotAffineError,
    Space,
    Value,
    at_least,
    differ,
    first_point,
    floor_of_product,
    offset_value,
    union,
)
from morello_layouts.proof.proof import Proof
from morello_layouts.recipe import known, linear_index

Readable: TypeAlias = Value | MixedRadix


def value_of_expr(expr: Any, space: Space, names: Mapping[str, Readable] | None = None) -> Value:
    """Return a SymPy expression of coordinates and sizes as a value.

    Args:
        expr: the expression.
        space: the space of the coordinates; symbols without a name are its parameters.
        names: the values of symbols; by default the space's own coordinates.

    Raises:
        NotAffineError: if it is not a sum of quasi-affine functions times sizes.
    """
    if names is None:
        names = {name: Value.of(x, space) for name, x in space.variables.items()}
    return _SympyReader(space, names).value(expr)


@dataclass(frozen=True)
class _SympyReader:
    space: Space
    names: Mapping[str, Readable]

    def value(self, expr: Any) -> Value:
        found = self.read(expr)
        return found.value if isinstance(found, MixedRadix) else found

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
            varying, factors = self.split_factors(expr)
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
        """Return the floor of x / s, or of a sum with rational factors."""
        if quotient.is_Mul and self.varies(quotient):
            varying, factors = self.split_factors(quotient)
            below = [1 / factor for factor in factors]
            if not any(b.is_Rational and not b.is_Integer for b in below):
                # All at once, because only the whole divisor may be a product of radices.
                return self.read(varying) // prod(map(self.number, below))
        value = self.value(quotient)
        for monomial, function in value.parts.items():
            whole = differ(function, function.floor(), self.space.domain).is_empty()
            if monomial and not whole:
                raise floor_of_product()
        return Value({m: f.floor() for m, f in value.parts.items()}, self.space)

    def split_factors(self, expr: Any) -> tuple[Any, list[Any]]:
        """Return a product's one factor that varies over the space, and its other factors."""
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
        """Return a size; exact quotients have rational factors."""
        if expr.is_Integer:
            return int(expr)
        numerator, denominator = expr.as_numer_denom()
        if not denominator.is_Integer:
            raise _unreadable(expr)
        size = apply_divisibility(self.space.parameters.assumptions, number_from_sympy(numerator))
        return exact_quotient(size, int(denominator))

    def size(self, expr: Any) -> Value:
        """Return a sum or product of sizes as a value."""
        if expr.is_Add:
            total = Value.constant(0, self.space)
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
        "ISL reads sums of coordinates times integers, floor, and Mod by integers",
        "write the formula with these, or ask at given sizes",
    )


VERIFIED: Final = "verified"


@ask_isl(VERIFIED)
def verify(m: IndexMap, *, context: isl.Context) -> Proof:
    """Decide whether ``m.expr``, ``m.reference`` and ``m.inverse`` agree with the recipe.

    They are read as SymPy holds them, which is what users get.
    """
    wrong = _formulas(m, context)
    if wrong is None and prod(m.recipe.shape) != 0:
        wrong = _inverse(m, context)
    if wrong is not None:
        return wrong
    return Proof(VERIFIED, True, "simplified formula, reference and inverse agree everywhere")


def _formulas(m: IndexMap, context: isl.Context) -> Proof | None:
    """Return the proof that a formula differs from the recipe or may differ; None if none does."""
    space = Space.of(m.recipe.shape, context, parameters_of([m.recipe], m.assumptions))
    offset = offset_value(m.recipe, space)
    for name, expr in (("simplified", m.expr), ("reference", m.reference)):
        wrong = _unequal(f"the {name} formula", value_of_expr(expr, space) - offset, "")
        if wrong is not None:
            return wrong
    return None


def _unequal(name: str, difference: Value, where: str) -> Proof | None:
    space = difference.space
    if space.parameters.monomials:
        equal, _ = OffsetDifference((difference,), space).by_sizes()
        if space.sizes.is_subset(equal):
            return None
        return Proof(VERIFIED, None, f"{name} may differ from the recipe at some sizes")
    points = OffsetDifference((difference,), space).concrete
    if points.is_empty():
        return None
    at = first_point(points)
    reason = f"{name} differs from the recipe at {where}{at}"
    return Proof(VERIFIED, False, reason, counterexample=at)


def _inverse(m: IndexMap, context: isl.Context) -> Proof | None:
    """Return the proof that the inverse differs from the recipe's, or may; None if it does not."""
    pieces = relations_of(m, context)
    if len(pieces) > 1:
        raise NotAffineError(
            "the inverse divides by a product of symbolic sizes",
            "quotients by symbols are outside of Presburger arithmetic",
            "ask at given sizes",
        )
    (piece,) = pieces
    if piece.collisions is not None or not piece.outside.is_empty() or piece.inverse_is_wrong:
        return Proof(VERIFIED, False, "the recipe read backwards is not its inverse")
    for check in (_coordinates, _padding, _tail):
        wrong = check(m, piece)
        if wrong is not None:  # `or` would skip it: a failed proof is false
            return wrong
    return None


def _memory(m: IndexMap, space: Space) -> MixedRadix:
    """Return the offset by its digits, the physical coordinates."""
    digits = tuple(Value.of(x, space) for x in space.coordinates)
    return MixedRadix(digits, m.recipe.physical_shape, space)


def _coordinates(m: IndexMap, piece: RecipeRelation) -> Proof | None:
    """Check that the inverse gives the coordinate of the element at each slot."""
    space = piece.physical
    elements = replace(space, domain=space.domain.subtract(piece.padding))
    expected, _ = piece.inverse(elements.coordinates, elements)
    names = {"p": _memory(m, elements)}
    for k, (expr, x) in enumerate(zip(m.inverse.exprs, expected, strict=True)):
        found = value_of_expr(expr, elements, names)
        wrong = _unequal(f"coordinate {k} of the inverse", found - x, "physical ")
        if wrong is not None:
            return wrong
    return None


def _padding(m: IndexMap, piece: RecipeRelation) -> Proof | None:
    """Check that the inverse's condition for padding holds at padding, and only there."""
    space = piece.physical
    claimed = _points(m.inverse.padding, space, {"p": _memory(m, space)}).intersect(space.domain)
    reason = "the padding of the inverse differs from the recipe"
    for points in (claimed.subtract(piece.padding), piece.padding.subtract(claimed)):
        if not points.is_empty():
            if m.recipe.names:
                return Proof(VERIFIED, False, reason)
            slot = linear_index(first_point(points), known(m.recipe.physical_shape), 0)
            return Proof(VERIFIED, False, f"{reason} at slot {slot}", counterexample=slot)
    return None


def _tail(m: IndexMap, piece: RecipeRelation) -> Proof | None:
    """Check that the inverse calls the tail of the buffer padding."""
    tail = m.recipe.tail_padding
    if tail == 0:
        return None
    space = Space.of((tail,), piece.space.context, piece.space.parameters)
    start = prod(m.recipe.physical_shape)
    names = {"p": Value.of(space.coordinates[0], space) + Value.constant(start, space)}
    claimed = isl.Set.empty(space.domain.get_space())
    condition = m.inverse.padding
    for part in condition.args if condition.func.__name__ == "Or" else (condition,):
        # A part that cannot be read can only call more slots padding.
        with suppress(NotAffineError):
            claimed = claimed.union(_points(part, space, names))
    if space.domain.is_subset(claimed):
        return None
    return Proof(VERIFIED, False, "the padding of the inverse misses the buffer's tail")


def _points(condition: Any, space: Space, names: Mapping[str, Readable]) -> isl.Set:
    """Return the points at which a condition ``x >= n`` holds, or one of several."""
    if condition.func.__name__ == "Or":
        return union(
            (_points(part, space, names) for part in condition.args), space.domain.get_space()
        )
    if condition == False:  # noqa: E712  SymPy's false
        return isl.Set.empty(space.domain.get_space())
    if condition == True:  # noqa: E712
        return isl.Set.universe(space.domain.get_space())
    left, right = condition.gts, condition.lts
    p = names["p"]
    if isinstance(p, MixedRadix) and str(left) == "p":
        # An offset in the box is below the box's size, which may be a product of sizes.
        size = value_of_expr(right, space, names) - Value.constant(prod(p.sizes), space)
        if all(function.is_cst() and not _negative(function) for function in size.parts.values()):
            return isl.Set.empty(space.domain.get_space())
    strict = int("Strict" in condition.func.__name__)
    difference = value_of_expr(left, space, names) - value_of_expr(right, space, names)
    return at_least(_affine(difference), strict)


def _negative(function: isl.Aff) -> bool:
    return bool(function.get_constant_val().is_neg())


def _affine(value: Value) -> isl.Aff:
    """Return a value whose symbolic factors multiply numbers as a function of parameters.

    Raises:
        NotAffineError: if one multiplies a coordinate.
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
