"""Common divisors of all values of a form: from its factors, without looking at its values."""

from __future__ import annotations

from functools import reduce
from math import gcd
from typing import NamedTuple

from morello_layouts.core.expr.affine import AffineExpr, Atom, BitXor, Digit, Var, floors_of
from morello_layouts.core.expr.sizes import Int, common_divisor


class Divisor(NamedTuple):
    """A number that divides every value; 0 if all values are 0.

    ``is_greatest`` tells whether no larger one does.
    """

    number: Int
    is_greatest: bool


def divisor_of(form: AffineExpr) -> Divisor:
    """Return a common divisor of all values of a simplified form.

    If each term is a digit of one variable, no larger number divides all values: they are the value
    at 0 and what the form grows by along each variable.

    >>> from morello_layouts.core.expr import variable
    >>> i, j = variable("i", 0, 15), variable("j", 0, 255)
    >>> divisor_of(2048 * (i // 8) + 128 * (i % 8) + 1024 * (j // 128))
    Divisor(number=128, is_greatest=True)
    """
    by_variable: dict[Var, list[tuple[Int, Int]]] = {}
    mixed: list[tuple[Atom, Int]] = []
    for atom, c in form.terms:
        index = atom.operand.as_atom() if isinstance(atom, Digit) else atom
        if isinstance(index, Var) and index.interval.lo == 0:
            by_variable.setdefault(index, []).extend(floors_of(atom, c))
        else:
            mixed.append((atom, c))
    steps: list[Int] = [form.const, *(c * _divisor_of_atom(atom) for atom, c in mixed)]
    for var, floors in by_variable.items():
        steps += _factors(var, floors)
    nothing: Int = 0
    numbers = not form.sizes() and all(isinstance(v.interval.hi, int) for v in by_variable)
    return Divisor(reduce(common_divisor, steps, nothing), numbers and not mixed)


def greatest_number(value: Int) -> int:
    """Return the largest integer that is seen to divide a size, whatever its names are.

    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> greatest_number(8 * SizeExpr.named("M") * SizeExpr.named("N") + 12)
    4
    """
    return abs(value) if isinstance(value, int) else gcd(*(c for _, c in value.terms))


def _factors(var: Var, floors: list[tuple[Int, Int]]) -> list[Int]:
    """Return the factors of a sum of floors c·(x // s), without floors that are 0 everywhere.

    From x - 1 to x the sum grows by the factors of all s that divide x. The growth at x = s has the
    factor of s and those of some smaller ones, so a number divides all growths if and only if it
    divides all factors.
    """
    factors: dict[Int, Int] = {}
    for s, c in floors:
        factors[s] = factors.get(s, 0) + c
    last = var.interval.hi

    def is_zero(s: Int) -> bool:
        return isinstance(s, int) and isinstance(last, int) and s > last

    return [c for s, c in factors.items() if not is_zero(s)]


def _divisor_of_atom(atom: Atom) -> Int:
    """Return a divisor of all values of a part that depends on several variables, or is mixed."""
    if isinstance(atom, Var):
        return 1
    if isinstance(atom, BitXor):
        return _power_of_two([divisor_of(part).number for part in atom.parts])
    inner = divisor_of(atom.operand).number
    if atom.modulus is not None and inner % (atom.divisor * atom.modulus) == 0:
        return 0
    if inner % atom.divisor:
        return 1
    quotient = inner // atom.divisor
    return quotient if atom.modulus is None else common_divisor(quotient, atom.modulus)


def _power_of_two(divisors: list[Int]) -> int:
    """Return the largest power of two that divides numbers; 0 if all are 0."""
    bits = reduce(gcd, map(greatest_number, divisors), 0)
    return bits & -bits
