"""Linear forms to SymPy expressions and back.

Floors and mods are built unevaluated: SymPy would evaluate numerically to decide signs, at about
a millisecond each. Sums and products are evaluated, so that the result equals what a user types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr.form import Atom, Digit, Linear, Var
from morello_layouts.expr.interval import Interval
from morello_layouts.expr.operations import as_number, divide, lift, multiply, remainder
from morello_layouts.expr.size import Name, Number, Size, common_divisor, is_nonnegative

if TYPE_CHECKING:
    import sympy

__all__ = ["from_sympy", "number_from_sympy", "size_to_sympy", "symbol", "to_sympy"]


def symbol(name: str, lo: Number | None = 0) -> sympy.Symbol:
    """The SymPy symbol of a variable: an integer, nonnegative where its lower bound says so."""
    from sympy import Symbol

    if lo is not None and is_nonnegative(lo):
        return Symbol(name, integer=True, nonnegative=True)
    return Symbol(name, integer=True)


def to_sympy(form: Linear, symbols: Mapping[str, sympy.Symbol] | None = None) -> sympy.Expr:
    """The form as a SymPy expression over ``floor`` and ``Mod``; sizes are positive symbols.

    Names in ``symbols`` become these symbols.

    >>> from morello_layouts.expr.form import variable
    >>> print(to_sympy(24 * (variable("d1", 0, 7) // 4) + variable("d1", 0, 7) % 4))
    Mod(d1, 4) + 24*floor(d1/4)
    """
    from sympy import Add, Mod, Mul, Rational, floor

    named = symbols or {}

    def size(value: Number) -> Any:
        return size_to_sympy(value, named)

    def scaled(f: Linear, divisor: Number) -> Any:
        if f.const == 0 and len(f.terms) == 1 and divisor == 1:
            return term(*f.terms[0])
        if isinstance(divisor, Size):
            return scaled(f, 1) / size(divisor)
        terms = [
            Mul(Rational(1, divisor), term(a, c)) if isinstance(c, Size) else term(a, c, divisor)
            for a, c in f.terms
        ]
        return Add(*terms, size(f.const) / divisor)

    def term(a: Any, c: Number, divisor: int = 1) -> Any:
        factor = size(c) if isinstance(c, Size) else Rational(c, divisor)
        # A number times a sum is a group; SymPy would multiply it out.
        group = isinstance(a, Digit) and a.is_group and len(a.of.terms) + (a.of.const != 0) > 1
        return Mul(factor, atom(a), evaluate=not group) if factor != 1 else atom(a)

    def atom(a: Any) -> Any:
        if isinstance(a, Var):
            return named.get(a.name) or symbol(a.name, a.interval.lo)
        inner = scaled(a.of, a.divisor)
        if a.divisor != 1:
            inner = floor(inner, evaluate=False)
        if a.modulus is None:
            return inner
        modulus = size(a.modulus)
        if a.divisor == 1 and any(_is_multiple_of_mod(b, c) for b, c in a.of.terms):
            # SymPy 1.14 evaluates Mod(9*Mod(j, 3), 16), as subs does, to another value.
            return inner - modulus * floor(inner / modulus, evaluate=False)
        return Mod(inner, modulus, evaluate=False)

    return scaled(form, 1)


def _is_multiple_of_mod(atom: Atom, factor: Number) -> bool:
    return isinstance(atom, Digit) and atom.modulus is not None and factor not in (1, -1)


def size_to_sympy(value: Number, named: Mapping[str, sympy.Symbol]) -> Any:
    """A size as a SymPy expression in positive integer symbols, ``ceiling`` of quotients in it."""
    from sympy import Integer, Symbol, ceiling

    if isinstance(value, int):
        return Integer(value)

    def value_of(name: Name) -> Any:
        if isinstance(name, str):
            return named.get(name) or Symbol(name, integer=True, positive=True)
        quotient = size_to_sympy(name.numerator, named) / name.divisor
        return quotient if name.exact else ceiling(quotient, evaluate=False)

    return value.fold(value_of)


def number_from_sympy(expr: sympy.Expr) -> Number:
    """An integer or a polynomial in positive integers, from SymPy.

    Raises:
        LayoutError: where it is neither.
    """
    names = {s.name: Interval(1, None) for s in expr.free_symbols}
    number = as_number(from_sympy(expr, names))
    if number is None:
        raise LayoutError(
            f"{expr} is no size",
            "a symbolic bound is a polynomial in sizes, such as N - 1",
            "write it with +, - and * only",
        )
    return number


def from_sympy(expr: sympy.Expr, bounds: Mapping[str, Interval]) -> Linear:
    """A SymPy expression as a form; variables not in ``bounds`` get what their assumptions say.

    Symbols of at least 1 without an upper bound may stand as divisors, moduli and factors.

    Raises:
        LayoutError: where a value may not be an integer.
        UnsupportedError: where the expression is not quasi-affine.
    """
    reader = _Reader(bounds)
    form, denominator = reader.rational(expr)
    if denominator != 1:
        raise LayoutError(
            f"{expr} is not always an integer",
            "index expressions divide with floor",
            f"write floor({expr})",
        )
    return lift(form, reader.sizes)


class _Reader:
    """SymPy's tree as form / denominator, and the symbols that must be sizes."""

    def __init__(self, bounds: Mapping[str, Interval]) -> None:
        self.bounds = bounds
        self.sizes: set[str] = set()

    def rational(self, expr: Any) -> tuple[Linear, Number]:
        if expr.is_Rational:
            return Linear((), int(expr.p)), int(expr.q)
        if expr.is_Symbol:
            return Linear(((Var(expr.name, _bounds_of(expr, self.bounds)), 1),), 0), 1
        if expr.is_Add:
            return self.sum(expr)
        if expr.is_Mul:
            form = Linear((), 1)
            denominator: Number = 1
            for arg in expr.args:
                other, d = self.rational(arg)
                form, denominator = multiply(form, other, self.sizes), denominator * d
            return form, denominator
        if expr.is_Pow and expr.exp.is_Integer:
            base, d = self.rational(expr.base)
            power = abs(int(expr.exp))
            number = self.number(base, expr.base) ** power
            return (
                (Linear((), number), d**power) if expr.exp > 0 else (Linear((), d**power), number)
            )
        return self.function(expr), 1

    def sum(self, expr: Any) -> tuple[Linear, Number]:
        parts = [self.rational(arg) for arg in expr.args]
        common: Number = 1
        for _, d in parts:
            common = common * d // common_divisor(common, d)
        total = Linear((), 0)
        for form, d in parts:
            total = total + form * (common // d)
        return total, common

    def function(self, expr: Any) -> Linear:
        name = expr.func.__name__
        if name in ("floor", "ceiling"):
            form, d = self.rational(expr.args[0])
            return divide(form, d) if name == "floor" else -divide(-form, d)
        if name == "Mod":
            (form, d), (by, e) = (self.rational(arg) for arg in expr.args)
            if d == e == 1:
                return remainder(form, self.number(by, expr.args[1]))
        raise UnsupportedError(
            f"{expr} is not quasi-affine",
            "an index expression is made of integers, symbols, +, factors, floor and Mod; factors "
            "and divisors are integers or positive sizes",
            "write products and quotients of variables as given numbers",
        )

    def number(self, form: Linear, expr: Any) -> Number:
        value = as_number(form)
        if value is None:
            raise _not_a_size(expr)
        self.sizes |= {v.name for v in form.variables()}
        return value


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


def _not_a_size(what: object) -> LayoutError:
    return LayoutError(
        f"{what} is no divisor or factor",
        "these are integers, or sizes known to be at least 1 and without an upper bound",
        "write a number, or give the size's bounds: N=1..",
    )
