"""Linear forms to SymPy expressions and back.

Floors and mods are built unevaluated: SymPy would evaluate numerically to decide signs, at about
a millisecond each. Sums and products are evaluated, so that the result equals what a user types.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import TYPE_CHECKING, Any

from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr.form import Atom, Digit, Linear, Var, digit
from morello_layouts.expr.interval import Interval

if TYPE_CHECKING:
    import sympy

__all__ = ["divide", "from_sympy", "remainder", "symbol", "to_sympy"]


def symbol(name: str, lo: int | None = 0) -> sympy.Symbol:
    """The SymPy symbol of a variable: an integer, nonnegative where its lower bound says so."""
    from sympy import Symbol

    if lo is not None and lo >= 0:
        return Symbol(name, integer=True, nonnegative=True)
    return Symbol(name, integer=True)


def to_sympy(form: Linear) -> sympy.Expr:
    """The form as a SymPy expression over ``floor`` and ``Mod``.

    >>> from morello_layouts.expr.form import variable
    >>> print(to_sympy(24 * (variable("d1", 0, 7) // 4) + variable("d1", 0, 7) % 4))
    Mod(d1, 4) + 24*floor(d1/4)
    """
    from sympy import Add, Integer, Mod, Mul, Rational, floor

    def scaled(f: Linear, divisor: int) -> Any:
        # A number times a sum is a group; SymPy would multiply it out.
        terms = [Mul(Rational(c, divisor), atom(a), evaluate=not _is_group(a)) for a, c in f.terms]
        return Add(*terms, Rational(f.const, divisor))

    def atom(a: Any) -> Any:
        if isinstance(a, Var):
            return symbol(a.name, a.interval.lo)
        inner = scaled(a.of, a.divisor)
        if a.divisor != 1:
            inner = floor(inner, evaluate=False)
        return inner if a.modulus is None else Mod(inner, Integer(a.modulus), evaluate=False)

    return scaled(form, 1)


def _is_group(atom: Atom) -> bool:
    return isinstance(atom, Digit) and atom.is_group


def from_sympy(expr: sympy.Expr, bounds: Mapping[str, Interval]) -> Linear:
    """A SymPy expression as a form; variables not in ``bounds`` get what their assumptions say.

    Raises:
        LayoutError: where a value may not be an integer.
        UnsupportedError: where the expression is not quasi-affine.
    """
    terms, denominator = _rational(expr, bounds)
    if denominator != 1:
        raise LayoutError(
            f"{expr} is not always an integer",
            "index expressions divide with floor",
            f"write floor({expr})",
        )
    return terms


def _rational(expr: Any, bounds: Mapping[str, Interval]) -> tuple[Linear, int]:
    """The expression as form / denominator."""
    import sympy

    if expr.is_Rational:
        return Linear((), int(expr.p)), int(expr.q)
    if expr.is_Symbol:
        return Linear(((Var(expr.name, _bounds_of(expr, bounds)), 1),), 0), 1
    if expr.is_Add:
        parts = [_rational(arg, bounds) for arg in expr.args]
        denominator = lcm(*(d for _, d in parts))
        total = Linear((), 0)
        for form, d in parts:
            total = total + form * (denominator // d)
        return total, denominator
    if expr.is_Mul:
        factor, rest = expr.as_coeff_Mul()
        if factor.is_Rational and factor != 1:
            form, d = _rational(rest, bounds)
            return form * int(factor.p), d * int(factor.q)
    if isinstance(expr, sympy.floor):
        form, d = _rational(expr.args[0], bounds)
        return divide(form, d), 1
    if isinstance(expr, sympy.ceiling):
        form, d = _rational(expr.args[0], bounds)
        return -divide(-form, d), 1
    if isinstance(expr, sympy.Mod) and expr.args[1].is_Integer:
        form, d = _rational(expr.args[0], bounds)
        if d == 1:
            return remainder(form, int(expr.args[1])), 1
    raise UnsupportedError(
        f"{expr} is not quasi-affine",
        "an index expression is made of integers, symbols, +, integer factors, floor and Mod by "
        "integers",
        "write products and quotients of symbols as given numbers",
    )


def _bounds_of(expr: Any, bounds: Mapping[str, Interval]) -> Interval:
    given = bounds.get(expr.name)
    if given is not None:
        return given
    if expr.is_integer is False:
        raise LayoutError(
            f"{expr} is not an integer", "indices are integers", "use an integer symbol"
        )
    if expr.is_positive:
        return Interval(1, None)
    return Interval(0 if expr.is_nonnegative else None, None)


def divide(form: Linear, divisor: int) -> Linear:
    """``form // divisor`` by floor semantics, for a divisor of either sign."""
    if divisor == 0:
        raise LayoutError(f"({form}) // 0", "nothing divides by zero", "write another divisor")
    if divisor == 1:
        return form
    return digit(form, divisor, None) if divisor > 0 else digit(-form, -divisor, None)


def remainder(form: Linear, modulus: int) -> Linear:
    """``form mod modulus`` with the sign of the modulus, as in Python and SymPy."""
    if modulus == 0:
        raise LayoutError(f"({form}) mod 0", "nothing divides by zero", "write another modulus")
    return digit(form, 1, modulus) if modulus > 0 else -digit(-form, 1, -modulus)
