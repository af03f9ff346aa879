"""Read recipes and formulas by the arithmetic of a kind of value: ISL's, or separable offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import lcm
from operator import add, mul, xor
from typing import Any, TypeAlias

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import Assumption, apply_divisibility
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, exact_quotient
from morello_layouts.core.expr.substitution import value_of
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import sympy
from morello_layouts.core.recipe import Recipe, linear_index, physical_coordinates
from morello_layouts.proof.isl import NotAffineError

Fraction: TypeAlias = tuple[Any, Int]
"""A numerator, and the denominator, which is at least 1."""


@frozen(slots=False)
class Interpreter:
    """Values for the coordinates; they have ``+``, ``*``, ``//``, ``%`` and ``^``."""

    names: Mapping[str, Any]  #: the values of coordinates by name; other names are sizes.
    constant: Callable[[Int], Any]  #: makes a value of a number or a symbolic size.
    #: facts about sizes; they say which quotients of sizes are exact.
    assumptions: Sequence[Assumption] = ()

    def recipe(self, recipe: Recipe) -> Any:
        """Return the offset that a recipe gives, read step by step."""
        zero = self.constant(0)
        coordinates = [self.names[f"d{k}"] for k in range(len(recipe.shape))]
        at = physical_coordinates(recipe, coordinates, zero)
        return linear_index(at, recipe.physical_shape, zero) + recipe.offset

    def form(self, form: AffineExpr) -> Any:
        """Return the value of an affine expression."""
        return value_of(form, self.names, self.constant)

    def expr(self, expr: Any) -> Any:
        """Return the value of SymPy's tree as it is: no function of SymPy rewrites it."""
        value, denominator = self.fraction(expr)
        if denominator != 1:
            raise unreadable(expr)
        return value

    def fraction(self, expr: Any) -> Fraction:
        """Return the value of an expression over a common denominator."""
        if expr.is_Symbol and expr.name in self.names:
            return self.names[expr.name], 1
        if self._is_number(expr):
            number, denominator = self._number(expr)
            return self.constant(number), denominator
        if expr.is_Add:
            return self._sum([self.fraction(arg) for arg in expr.args])
        if expr.is_Mul:
            return self._product(expr)
        match expr.func.__name__:
            case "floor":
                value, denominator = self.fraction(expr.args[0])
                return (value if denominator == 1 else value // denominator), 1
            case "Mod":
                number, denominator = self._number(expr.args[1])
                if denominator == 1:
                    return self.expr(expr.args[0]) % number, 1
            case "BitXor":
                return reduce(xor, [self.expr(arg) for arg in expr.args]), 1
        raise unreadable(expr)

    def _sum(self, parts: Sequence[Fraction]) -> Fraction:
        total, common = parts[0]
        for value, denominator in parts[1:]:
            one, other = common, denominator
            if isinstance(one, int) and isinstance(other, int):
                common = lcm(one, other)
                one, other = common // other, common // one
            elif one == other:
                one = other = 1
            else:
                common = one * other
            total = total * other + value * one
        return total, common

    def _product(self, expr: Any) -> Fraction:
        """Return a product with one factor that varies: the factors of a divisor stay together."""
        varying = [arg for arg in expr.args if not self._is_number(arg)]
        if len(varying) != 1:
            raise unreadable(expr)
        fixed = [arg for arg in expr.args if arg is not varying[0]]
        number, denominator = self._number(type(expr)(*fixed))
        value, own = self.fraction(varying[0])
        return (value if number == 1 else value * number), own * denominator

    def _is_number(self, expr: Any) -> bool:
        """Return whether an expression is a size; one such as Mod(0, 128) is read as a value."""
        if expr.is_Rational:
            return True
        symbols = expr.free_symbols
        return bool(symbols) and not any(s.name in self.names for s in symbols)

    def _number(self, expr: Any) -> tuple[Int, Int]:
        """Return a size, or a quotient of sizes, as numerator and denominator."""
        if expr.is_Rational:
            return int(expr.p), int(expr.q)
        above, below = expr.as_numer_denom()
        number = apply_divisibility(self.assumptions, size_of(above))
        if not below.is_Integer:
            return number, apply_divisibility(self.assumptions, size_of(below))
        divisor = int(below)
        if divisor == 1 or number % divisor == 0:
            return exact_quotient(number, divisor), 1
        return number, divisor


@frozen(slots=False)
class NamedExpr:
    """A SymPy expression of coordinates that have names."""

    expr: Any  #: the expression.
    names: tuple[str, ...]  #: the names, for each dimension.

    def values(self, inside: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of ``d0, d1, …`` and of others by the names too."""
        own = {name: inside[f"d{k}"] for k, name in enumerate(self.names)}
        return {**inside, **own}


@frozen
class AtOffset:
    """A formula of the offset ``p``, such as an inverse's, at the offset of each element."""

    formula: Any  #: the formula.
    offset: Any  #: the offset: a recipe, or a formula of the coordinates.


def read(source: Any, reading: Interpreter) -> Any:
    """Return the value of a number, a form or a SymPy expression, or the offset by a recipe."""
    if isinstance(source, AtOffset):
        p = read(source.offset, reading)
        return read(source.formula, replace(reading, names={**reading.names, "p": p}))
    if isinstance(source, NamedExpr):
        return replace(reading, names=source.values(reading.names)).expr(source.expr)
    if hasattr(source, "steps"):
        return reading.recipe(source)
    if isinstance(source, int | SizeExpr):
        return reading.constant(source)
    return reading.form(source) if isinstance(source, AffineExpr) else reading.expr(source)


def has_formulas(*maps: Any) -> bool:
    """Return whether a user may hold a simplified formula, or SymPy's, of a map."""
    return any(name in vars(m) for m in maps for name in ("forms", "expr", "exprs"))


def formulas_of(m: Any) -> list[tuple[str, Any]]:
    """Return a map's simplified formulas by name, and SymPy's expressions if a user got them."""
    own = [("the simplified formula", form) for form in m.forms]
    exprs = [] if _given(m, "expr") is None else [m.expr]
    exprs = exprs or _given(m, "exprs") or _given(vars(m).get("affine_map", m), "exprs") or []
    return [*own, *(("the SymPy expression", _with_names(expr, m)) for expr in exprs)]


def references_of(m: Any) -> list[tuple[str, Any]]:
    """Return an index map's reference formula by name, and SymPy's if a user got it."""
    given = _given(m, "reference")
    found = [m.reference_form] if given is None else [m.reference_form, _with_names(given, m)]
    return [("the reference formula", x) for x in found]


def _with_names(expr: Any, m: Any) -> Any:
    return NamedExpr(expr, m.names) if m.names else expr


def inverse_of(m: Any) -> list[Any]:
    """Return the formulas of an inverse: its forms, or SymPy's expressions if a user got them."""
    return [*(_given(m.inverse, "exprs") or m.inverse.forms)]


def padding_of(m: Any) -> list[tuple[Any, Any]]:
    """Return the condition for padding as ``limits_of`` does: the map's own, or SymPy's."""
    given = _given(m.inverse, "padding")
    return [*m.inverse.limits] if given is None else limits_of(given)


def _given(holder: Any, name: str) -> Any:
    """Return a value of SymPy if it was asked for: what no user got, no proof is about."""
    return vars(holder).get(name)


def limits_of(condition: Any) -> list[tuple[Any, Any]]:
    """Return SymPy's condition for padding as pairs (x, n): an element lies where each x < n.

    >>> from sympy import Gt, Or, Symbol
    >>> p = Symbol("p")
    >>> limits_of(Or(p % 4 >= 3, Gt(p, 9)))
    [(p, 10), (Mod(p, 4), 3)]
    """
    if condition.func.__name__ == "Or":
        return [limit for part in condition.args for limit in limits_of(part)]
    if not condition.args:  # true or false everywhere
        return [(sympy.Integer(0), sympy.Integer(0))] if condition else []
    least = condition.lts + 1 if "Strict" in condition.func.__name__ else condition.lts
    return [(condition.gts, least)]


def size_of(expr: Any) -> Int:
    """Return a size: numbers, names, sums, products, and quotients that are rounded up."""
    if expr.is_Integer:
        return int(expr)
    if expr.is_Symbol:
        return SizeExpr.named(expr.name)
    if expr.is_Add or expr.is_Mul:
        return reduce(add if expr.is_Add else mul, map(size_of, expr.args))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return reduce(mul, [size_of(expr.base)] * int(expr.exp))
    if expr.func.__name__ == "ceiling":
        above, below = expr.args[0].as_numer_denom()
        return ceil_quotient(size_of(above), size_of(below))
    raise unreadable(expr)


def unreadable(expr: Any) -> NotAffineError:
    """Return the error about an expression that has no quasi-affine value."""
    return NotAffineError(
        f"ISL cannot read {expr}",
        "ISL reads sums of coordinates times integers, floor, and Mod by integers",
        "write the formula with these, or ask at given sizes",
    )
