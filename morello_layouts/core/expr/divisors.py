"""Common divisors of all values of a form: from its factors, without looking at its values."""

from __future__ import annotations

from functools import reduce
from math import gcd
from typing import Final, NamedTuple

from morello_layouts.core.expr.affine import AffineExpr, Atom, Call, Digit, Var, floors_of
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
    return form.fold(_DIVISORS)


class _Divisors:
    def variable(self, v: Var) -> Int:
        return 1

    def digit(self, d: Digit, operand: Divisor) -> Int:
        if d.modulus is not None and operand.number % (d.divisor * d.modulus) == 0:
            return 0
        if operand.number % d.divisor:
            return 1
        quotient = operand.number // d.divisor
        return quotient if d.modulus is None else common_divisor(quotient, d.modulus)

    def call(self, x: Call, parts: list[Divisor]) -> Int:
        """Return what divides all parts, of xor a power of two; 0 if all are 0."""
        if len(parts) == 1:
            return 1
        if x.kind != "xor":
            chosen = parts[x.kind == "select" :]
            return reduce(common_divisor, [part.number for part in chosen])
        bits = reduce(gcd, (greatest_number(part.number) for part in parts), 0)
        return bits & -bits

    def sum(self, terms: list[tuple[Atom, Int, Int]], const: Int) -> Divisor:
        nothing: Int = 0
        floors: dict[Var, list[tuple[Int, Int]]] = {}
        steps: list[Int] = [const]
        for atom, c, divisor in terms:
            if isinstance(atom.whole, Var) and atom.whole.interval.lo == 0:
                floors.setdefault(atom.whole, []).extend(floors_of(atom, c))
            else:
                steps.append(c * divisor)
        numbers = [const, *(n for own in floors.values() for floor in own for n in floor)]
        is_known = all(isinstance(n, int) for n in (*numbers, *(v.interval.hi for v in floors)))
        is_greatest = is_known and len(steps) == 1
        steps += [c for var, own in floors.items() for c in _factors(var, own)]
        return Divisor(reduce(common_divisor, steps, nothing), is_greatest)


_DIVISORS: Final = _Divisors()


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
