"""SymPy's ``floor``, ``ceiling`` and ``Mod``, exact whatever is done to them, and ``BitXor``.

SymPy 1.14 prints ``floor(p/49)`` as ``floor((1/49)*p)``, which is 0 at 49 in floating point; it
prints ``-47*Mod(j, 4)`` as ``-47*j % 4``; and ``Mod(2*Mod(j, 8), 3)`` takes another value when it
is evaluated in steps, as ``subs`` does. The functions here print integer division in Python, NumPy
and C, and evaluate numbers only. They have the names, hashes and equality of SymPy's own, so a
typed expression is equal to one made here. SymPy's own ``Xor`` is one of truth values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy
from sympy.core.expr import Expr
from sympy.printing.precedence import PRECEDENCE


class _Exact(Expr):  # type: ignore[misc]
    """Equality with SymPy's function of the same name and arguments; code of one kind of Python."""

    __slots__ = ()

    def _numpycode(self, printer: Any) -> str:
        return str(self._pythoncode(printer))

    _scipycode = _cupycode = _jaxcode = _numpycode  # each printer asks for a method of its own

    def __eq__(self, other: object) -> Any:
        if isinstance(other, sympy.Function):
            return type(other).__name__ == type(self).__name__ and self.args == other.args
        return super().__eq__(other)

    __hash__ = Expr.__hash__


def _quotient(arg: Any) -> tuple[Any, Any]:
    """The numerator and the denominator of an argument, both without fractions."""
    numerator, denominator = arg.as_numer_denom()
    if denominator.could_extract_minus_sign():
        return -numerator, -denominator
    return numerator, denominator


def _printed(parts: Iterable[Any], printer: Any) -> list[str]:
    """The parts as code, in parentheses if they are sums, products or negative."""
    return [printer.parenthesize(part, PRECEDENCE["Pow"]) for part in parts]


def _are_integers(*parts: Any) -> bool:
    return all(part.is_integer for part in parts)


class floor(_Exact, sympy.floor):  # type: ignore[misc]  # noqa: N801
    """The floor of a quotient.

    >>> from sympy import lambdify, symbols
    >>> p = symbols("p", integer=True)
    >>> lambdify(p, floor(p / 49), "math")(49), floor(p / 49) == sympy.floor(p / 49)
    (1, True)
    """

    __slots__ = ()

    def _pythoncode(self, printer: Any) -> str:
        x, n = _printed(_quotient(self.args[0]), printer)
        return f"({x}//{n})"

    def _ccode(self, printer: Any) -> str:
        parts = _quotient(self.args[0])
        x, n = _printed(parts, printer)
        if not _are_integers(*parts):
            return f"floor((double){x}/{n})"
        below = "" if parts[0].is_nonnegative else f" - ({x} % {n} < 0)"
        return f"({x}/{n}{below})"


class ceiling(_Exact, sympy.ceiling):  # type: ignore[misc]  # noqa: N801
    """The ceiling of a quotient."""

    __slots__ = ()

    def _pythoncode(self, printer: Any) -> str:
        x, n = _printed(_quotient(-self.args[0]), printer)
        return f"(-({x}//{n}))"

    def _ccode(self, printer: Any) -> str:
        return f"(-{floor(-self.args[0], evaluate=False)._ccode(printer)})"


class Mod(_Exact, sympy.Mod):  # type: ignore[misc]
    """The remainder with the sign of the divisor.

    >>> from sympy import pycode, symbols
    >>> j = symbols("j", integer=True)
    >>> print(pycode(-47 * Mod(j, 4)), Mod(2 * Mod(j, 8), 3).subs(j, 5))
    -47*(j % 4) 1
    """

    __slots__ = ()

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        """Return the value for numbers; None, so that it stays, for anything else."""
        if p.is_zero and q.is_positive:
            return p
        return super().eval(p, q) if p.is_Number and q.is_Number else None

    def _pythoncode(self, printer: Any) -> str:
        x, n = _printed(self.args, printer)
        return f"({x} % {n})"

    def _ccode(self, printer: Any) -> str:
        x, n = _printed(self.args, printer)
        if not _are_integers(*self.args):
            return f"({x} - {n}*floor((double){x}/{n}))"
        if all(arg.is_nonnegative for arg in self.args):
            return f"({x} % {n})"
        return f"(({x} % {n} + {n}) % {n})"


class BitXor(sympy.Function):  # type: ignore[misc]
    """The exclusive or of the bits of integers, as Python's ``^``.

    >>> from sympy import lambdify, pycode, symbols
    >>> i, j = symbols("i j", integer=True)
    >>> swizzled = 8 * i + BitXor(j, i)
    >>> print(pycode(swizzled), swizzled.subs({i: 3, j: 5}), lambdify((i, j), swizzled)(3, 5))
    8*i + (i ^ j) 30 30
    """

    is_integer = True

    @classmethod
    def eval(cls, *args: Any) -> Any:
        """Return the value: numbers are combined, and equal arguments cancel."""
        number, left = 0, list[Any]()
        for arg in args:
            if arg.is_Integer:
                number ^= int(arg)
            elif arg in left:
                left.remove(arg)
            else:
                left.append(arg)
        if number:
            left.append(sympy.Integer(number))
        if len(left) < 2:
            return left[0] if left else sympy.Integer(0)
        ordered = sorted(left, key=sympy.default_sort_key)
        return None if ordered == list(args) else cls(*ordered)

    def _eval_is_nonnegative(self) -> Any:
        return True if all(arg.is_nonnegative for arg in self.args) else None

    def _pythoncode(self, printer: Any) -> str:
        return f"({' ^ '.join(_printed(self.args, printer))})"

    _numpycode = _scipycode = _cupycode = _jaxcode = _lambdacode = _ccode = _pythoncode
    _cxxcode = _pythoncode

    def _latex(self, printer: Any, exp: Any = None) -> str:
        joined = r" \oplus ".join(printer.parenthesize(x, PRECEDENCE["Pow"]) for x in self.args)
        text = rf"\left({joined}\right)"
        return text if exp is None else f"{text}^{{{exp}}}"
