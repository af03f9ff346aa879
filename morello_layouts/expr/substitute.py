"""Forms in the place of variables: how index expressions compose."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from morello_layouts.expr.form import Linear, Var, digit
from morello_layouts.expr.interval import Interval
from morello_layouts.expr.size import Number

__all__ = ["map_numbers", "substitute"]


def substitute(form: Linear, values: Mapping[str, Linear]) -> Linear:
    """The form with other forms in place of its variables, without simplifying.

    Every variable without an entry stays. The values must lie within the variables' bounds.

    >>> from morello_layouts.expr.form import variable
    >>> i, p = variable("i", 0, 31), variable("p", 0, 255)
    >>> print(substitute(8 * (i // 4) + i % 4, {"i": p // 8}))
    8*((p//8)//4) + (p//8)%4
    """
    total = Linear((), form.const)
    for atom, c in form.terms:
        if isinstance(atom, Var):
            value = values.get(atom.name, Linear(((atom, 1),), 0))
        else:
            value = digit(substitute(atom.of, values), atom.divisor, atom.modulus)
        total = total + value * c
    return total


def map_numbers(form: Linear, change: Callable[[Number], Number]) -> Linear:
    """The form with every number changed: factors, constants, divisors, moduli and bounds.

    >>> from morello_layouts.expr.form import variable
    >>> from morello_layouts.expr.size import Size
    >>> row_major = Size.named("N") * variable("i", 0, 7) + variable("j", 0, Size.named("N") - 1)
    >>> print(map_numbers(row_major, lambda n: n if isinstance(n, int) else n.evaluate({"N": 5})))
    5*i + j
    """
    total = Linear((), change(form.const))
    for atom, c in form.terms:
        if isinstance(atom, Var):
            lo, hi = (None if end is None else change(end) for end in atom.interval)
            value = Linear(((Var(atom.name, Interval(lo, hi)), 1),), 0)
        else:
            modulus = None if atom.modulus is None else change(atom.modulus)
            value = digit(map_numbers(atom.of, change), change(atom.divisor), modulus)
        total = total + value * change(c)
    return total
