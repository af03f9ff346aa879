"""Forms in the place of variables: how index expressions compose."""

from __future__ import annotations

from collections.abc import Mapping

from morello_layouts.expr.form import Linear, Var, digit

__all__ = ["substitute"]


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
