"""The reading of SymPy expressions as ISL's functions.

It reads SymPy's tree on its own, so that what is proved is what the user was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from morello_layouts.expr.assumption import under
from morello_layouts.expr.size import Number, exact_quotient
from morello_layouts.expr.sympy_bridge import number_from_sympy
from morello_layouts.proof.position import Position
from morello_layouts.proof.space import Space
from morello_layouts.proof.value import NotAffineError, Value, differ

__all__ = ["value_of_expr"]

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

    def number(self, expr: Any) -> Number:
        """A size, with the rational factors that exact quotients have."""
        if expr.is_Integer:
            return int(expr)
        numerator, denominator = expr.as_numer_denom()
        if not denominator.is_Integer:
            raise _unreadable(expr)
        size = under(self.space.parameters.assumptions, number_from_sympy(numerator))
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
