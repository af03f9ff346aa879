"""Operations between forms of which one must be a number, given or symbolic.

A user names sizes as he names variables. What stands as a factor or a divisor is a size, and then
it is one wherever it stands: :func:`lift` turns its name into a symbolic number.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr.engine import rewrite
from morello_layouts.expr.form import Atom, Digit, Linear, Var, digit
from morello_layouts.expr.interval import Interval
from morello_layouts.expr.size import Number, Size, ceil_quotient, is_nonnegative

__all__ = ["as_number", "divide", "lift", "multiply", "remainder"]


def as_number(form: Linear) -> Number | None:
    """The form as a number, if it is made of variables that can only be sizes.

    Those are variables of at least 1 without an upper bound.

    >>> from morello_layouts.expr.form import variable
    >>> n = variable("N", 1)
    >>> print(as_number(8 * n + 1), as_number(variable("i", 0, 7)), as_number((n + 7) // 8))
    8*N + 1 None ceil(N/8)
    """
    total = form.const
    for atom, c in form.terms:
        value = _ceiling(atom) if isinstance(atom, Digit) else _named(atom)
        if value is None:
            return None
        total = total + c * value
    return total


def _named(v: Var) -> Number | None:
    return Size.named(v.name) if _is_size(v.interval) else None


def _ceiling(d: Digit) -> Number | None:
    """Of a positive number x, (-x) // s is -⌈x/s⌉ and (x + s - 1) // s is ⌈x/s⌉."""
    number = as_number(d.of)
    if number is None or not isinstance(d.divisor, int) or d.modulus is not None:
        return None
    if is_nonnegative(-number - 1):
        return -ceil_quotient(-number, d.divisor)
    less = number - (d.divisor - 1)
    return ceil_quotient(less, d.divisor) if is_nonnegative(less - 1) else None


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


def multiply(left: Linear, right: Linear, sizes: set[str]) -> Linear:
    """The product of forms of which one is a number; the sizes that make it one are noted.

    Raises:
        UnsupportedError: where both are variable.
    """
    # A computed number, such as 7 // 2, has terms but no variables.
    left, right = (x if x.variables() else rewrite(x) for x in (left, right))
    if not right.terms:
        return left * right.const
    if not left.terms:
        return right * left.const
    for form, other in ((left, right), (right, left)):
        number = as_number(other)
        if number is not None:
            sizes |= {v.name for v in other.variables()}
            return form * number
    raise UnsupportedError(
        f"({left}) * ({right}) is a product of two variables",
        "factors are integers, or sizes known to be at least 1 and without an upper bound",
        "multiply by a number, or give the size's bounds: N=1..",
    )


def divide(form: Linear, divisor: Number) -> Linear:
    """``form // divisor`` by floor semantics, for a divisor of either sign."""
    if divisor == 1:
        return form
    if is_nonnegative(divisor - 1):
        return digit(form, divisor, None)
    if is_nonnegative(-divisor - 1):
        return digit(-form, -divisor, None)
    raise _no_divisor(f"({form}) // ({divisor})", divisor)


def remainder(form: Linear, modulus: Number) -> Linear:
    """``form mod modulus`` with the sign of the modulus, as in Python and SymPy."""
    if is_nonnegative(modulus - 1):
        return digit(form, 1, modulus)
    if is_nonnegative(-modulus - 1):
        return -digit(-form, 1, -modulus)
    raise _no_divisor(f"({form}) mod ({modulus})", modulus)


def _no_divisor(what: str, divisor: Number) -> LayoutError:
    if divisor == 0:
        return LayoutError(what, "nothing divides by zero", "write another divisor")
    return LayoutError(what, f"the sign of {divisor} is not known", "divide by a positive size")
