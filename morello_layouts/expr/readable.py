"""The readable target: digits as a textbook writes them, and few of them.

An index map keeps one digit for each physical axis. An expression from elsewhere has no axes, so
here a digit in the middle of an operand, two operations on one number, is written as a floor where
the factor of the next floor stays on the same strides.
"""

from __future__ import annotations

from morello_layouts.expr.engine import Rewriting, trace
from morello_layouts.expr.form import Digit, Linear, digit
from morello_layouts.expr.rules import Rule

__all__ = ["READABLE_RULES", "readable"]


def open_middle(form: Linear) -> Linear | None:
    """c·((x // s) mod n) + e·(x // (s·n)) = c·(x // s) + (e - c·n)·(x // (s·n)).

    Where s > 1, and e is a multiple of c·n, larger than it.
    """
    factors = dict(form.terms)
    for low, c in form.terms:
        if not isinstance(low, Digit) or low.modulus is None or low.divisor == 1:
            continue
        stride = c * low.modulus
        high = Digit(low.of, low.divisor * low.modulus, None)
        e = factors.get(high, 0)
        if e % stride == 0 and e // stride > 1:
            opened = digit(low.of, low.divisor, None) * c
            return form - Linear(((low, c), (high, stride)), 0) + opened
    return None


READABLE_RULES: tuple[Rule[Linear], ...] = (Rule("open-middle", open_middle),)


def readable(form: Linear) -> tuple[Linear, tuple[Rewriting, ...]]:
    """The form simplified for reading, and the rules that fired.

    >>> from morello_layouts.expr.form import variable
    >>> i = variable("i", 0, 31)
    >>> print(readable(2048 * (i // 8) + 256 * ((i % 8) // 2) + i % 2)[0])
    1024*(i//8) + 256*(i//2) + i%2
    """
    result, steps = trace(form)
    while (opened := open_middle(result)) is not None:
        rule = READABLE_RULES[0]
        step = Rewriting(rule.name, rule.statement, result, opened)
        result, more = trace(opened)
        steps = (*steps, step, *more)
    return result, steps
