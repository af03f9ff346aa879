"""A form with floors in the place of all digits, each floor with its multiples pulled out."""

from __future__ import annotations

from morello_layouts.expr.form import Atom, Digit, Linear
from morello_layouts.expr.size import Number

__all__ = ["opened"]


def opened(form: Linear) -> Linear:
    """The form with every digit, at every depth, as floors: x mod n = x - n·(x // n).

    It holds more operations, but digits of digits fall apart into floors that may meet again.

    >>> from morello_layouts.expr.form import variable
    >>> print(opened((variable("i", 0, 31) % 8 + 5 * variable("j", 0, 3)) // 4))
    -2*(i//8) + j + (i + j)//4
    """
    return _opened(form, {})


def _opened(form: Linear, known: dict[Digit, Linear]) -> Linear:
    terms: list[tuple[Atom, Number]] = []
    const = form.const
    for atom, c in form.terms:
        if isinstance(atom, Digit):
            part = known.get(atom)
            if part is None:
                part = known[atom] = _floors(atom, known)
            terms += [(a, c * k) for a, k in part.terms]
            const = const + c * part.const
        else:
            terms.append((atom, c))
    return Linear.of(terms, const)


def _floors(d: Digit, known: dict[Digit, Linear]) -> Linear:
    of = _opened(d.of, known)
    low = _floor(of, d.divisor)
    if d.modulus is None:
        return low
    return low - _floor(of, d.divisor * d.modulus) * d.modulus


def _floor(x: Linear, s: Number) -> Linear:
    """X // s, what s goes into pulled out of each factor and of the constant."""
    if s == 1:
        return x
    quotients = Linear.of([(a, c // s) for a, c in x.terms], x.const // s)
    rest = x - quotients * s
    q = rest.interval.block(s)
    if q is not None:
        return quotients + q
    inner = rest.as_atom()
    if isinstance(inner, Digit) and inner.modulus is None:
        rest, s = inner.of, inner.divisor * s
    return quotients + Linear(((Digit(rest, s, None), 1),), 0)
