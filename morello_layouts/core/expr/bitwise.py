"""Shifts and masks of forms, as digits: what ``<<``, ``>>``, ``&`` and ``|`` of integers mean."""

from __future__ import annotations

from math import gcd

from morello_layouts.core.expr.affine import AffineExpr, call, is_condition
from morello_layouts.core.expr.conversions import divide, remainder
from morello_layouts.core.expr.simplify import canonicalize
from morello_layouts.core.limits import EXPRESSION_BITS, MASK_RUNS
from morello_layouts.errors import UnsupportedError


def shift_left(form: AffineExpr, by: AffineExpr) -> AffineExpr:
    """Return ``form << by``.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(shift_left(variable("i"), AffineExpr((), 3)))
    8*i
    """
    return form * _power(by, "<<")


def shift_right(form: AffineExpr, by: AffineExpr) -> AffineExpr:
    """Return ``form >> by``, which rounds down.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(shift_right(variable("i"), AffineExpr((), 3)))
    i//8
    """
    return divide(form, _power(by, ">>"))


def _power(by: AffineExpr, sign: str) -> int:
    number = _number(by)
    if number is not None and 0 <= number <= EXPRESSION_BITS:
        return int(2**number)
    raise UnsupportedError(
        f"{sign}: expected a number from 0 to {EXPRESSION_BITS}, got {by}",
        "a shift by k multiplies or divides by 2 to the k, which is a number here",
        "write a number, or * and // by the size that the power is",
    )


def _number(form: AffineExpr) -> int | None:
    form = canonicalize(form)
    return form.const if not form.terms and isinstance(form.const, int) else None


def both(left: AffineExpr, right: AffineExpr, kind: str = "min") -> AffineExpr:
    """Return ``left and right`` of conditions, which are 1 or 0; with "max" ``left or right``."""
    for form in (left, right):
        if not _is_bit(form):
            raise UnsupportedError(
                f"{'and' if kind == 'min' else 'or'}: expected a condition, got {form}",
                "a condition is 1 or 0, such as a comparison",
                f"write for example {form} != 0",
            )
    return call(kind, left, right)


def chosen(condition: AffineExpr, one: AffineExpr, other: AffineExpr) -> AffineExpr:
    """Return one form where a condition is not 0, and else the other."""
    return call("select", condition, one, other)


def _is_bit(form: AffineExpr) -> bool:
    lo, hi = form.interval
    return isinstance(lo, int) and isinstance(hi, int) and lo >= 0 and hi <= 1


def bits_of(form: AffineExpr, mask: AffineExpr) -> AffineExpr:
    """Return ``form & mask`` of a number and a form, either way round, or of two bits.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i = variable("i")
    >>> print(bits_of(i, AffineExpr((), 0x380)), "and", bits_of(i, AffineExpr((), ~7)))
    128*((i//128)%8) and i - (i%8)
    >>> print(bits_of(1 - i % 2, (i // 8) % 2))
    (-(i%2) + (i//8)%2 + 1)//2
    """
    for of, bits in ((form, _number(mask)), (mask, _number(form))):
        if bits is not None:
            return of - _ones(of, ~bits) if bits < 0 else _ones(of, bits)
    if is_condition(form) and is_condition(mask):
        return call("min", form, mask)
    if _is_bit(form) and _is_bit(mask):
        return divide(form + mask, 2)
    raise UnsupportedError(
        f"&: expected a number on one side, or two bits, got {form} and {mask}",
        "a mask of known bits takes digits of the other side",
        "write for example i & 7",
    )


def _ones(of: AffineExpr, bits: int) -> AffineExpr:
    """Return the bits of a form in the runs of ones of a number from 0."""
    found, edges = AffineExpr((), 0), bits ^ (bits >> 1)
    runs = (edges.bit_count() + 1) // 2
    if runs * max(len(of.terms), 1) > (MASK_RUNS // 8 if of.has_digits else MASK_RUNS):
        raise UnsupportedError(
            f"& with {bits}: expected a mask with fewer runs of ones, got {runs}",
            "each run is a digit of the other side",
            "mask a name for itself, or fewer bits at once",
        )
    while bits:
        low = bits & -bits
        run = (bits // low) ^ (bits // low + 1)  # the run of ones at the end, and one above
        found = found + remainder(divide(of, low), run // 2 + 1) * low
        bits &= ~(run // 2 * low)
    return found


def either(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Return ``left | right`` if one is a number, both are bits, or no bit is set in both.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(either(8 * variable("i"), variable("j", 0, 7)))
    8*i + j
    """
    for form, number in ((left, right), (right, left)):
        bits = _number(number)
        if bits is not None:
            return bits_of(form, AffineExpr((), ~bits)) + bits
    for form, number in ((left, right), (right, left)):
        factors = [form.const, *(c for _, c in form.terms)]
        unit = gcd(*(c if isinstance(c, int) else 1 for c in factors))
        lo, hi = number.interval
        if isinstance(lo, int) and isinstance(hi, int) and lo >= 0 and hi < (unit & -unit):
            return form + number
    if is_condition(left) and is_condition(right):
        return call("max", left, right)
    if _is_bit(left) and _is_bit(right):
        return divide(left + right + 1, 2)
    raise UnsupportedError(
        f"|: expected sides without a common bit, got {left} and {right}",
        "then the result is their sum; one is a multiple of 2 to the k, the other below it",
        "give bounds of the lower side, such as j=0..7",
    )
