"""Variables that are sizes: from names in a form to symbolic numbers."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from morello_layouts.expr.form import Atom, Digit, Linear, Var
from morello_layouts.expr.interval import Interval
from morello_layouts.expr.size import Number, Size, is_nonnegative

__all__ = ["as_number", "lift"]


def as_number(form: Linear) -> Number | None:
    """The form as a number, if it is made of variables that can only be sizes.

    Those are variables of at least 1 without an upper bound.

    >>> from morello_layouts.expr.form import variable
    >>> print(as_number(8 * variable("N", 1) + 1), as_number(variable("i", 0, 7)))
    8*N + 1 None
    """
    total = form.const
    for atom, c in form.terms:
        if not isinstance(atom, Var) or not _is_size(atom.interval):
            return None
        total = total + c * Size.named(atom.name)
    return total


def _is_size(interval: Interval) -> bool:
    return interval.hi is None and interval.lo is not None and is_nonnegative(interval.lo - 1)


def lift(form: Linear, names: AbstractSet[str]) -> Linear:
    """The form with these variables as symbolic sizes wherever they stand.

    >>> from morello_layouts.expr.form import variable
    >>> print(lift((variable("i") + variable("N")) // 8, {"N"}).sizes())
    frozenset({'N'})
    """
    if not names:
        return form
    const = form.const
    terms: list[tuple[Atom, Number]] = []
    for atom, c in form.terms:
        if isinstance(atom, Digit):
            terms.append((Digit(lift(atom.of, names), atom.divisor, atom.modulus), c))
        elif atom.name in names:
            const = const + c * Size.named(atom.name)
        else:
            terms.append((atom, c))
    return Linear.of(terms, const)
