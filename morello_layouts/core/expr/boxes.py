"""Forms that are affine, or nearly so, because their variables have few values.

Common divisors of all values are found from factors, without a look at values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise, product
from math import gcd
from typing import Any, Final, NamedTuple, TypeAlias

from morello_layouts.core.expr.affine import (
    AffineExpr,
    Atom,
    Call,
    Digit,
    digit,
    floors_of,
    with_operands,
)
from morello_layouts.core.expr.calls import Var
from morello_layouts.core.expr.sizes import Int, common_divisor
from morello_layouts.core.expr.substitution import replace_digits
from morello_layouts.core.limits import BOX_POINTS, BOX_VALUES, BOX_WORK


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


Box: TypeAlias = Mapping[Var, range]
"""The values of each variable of a form."""

Points: TypeAlias = Mapping[Any, Sequence[Any]]
"""Points of a box: for each variable its value at each of them."""

Values: TypeAlias = Callable[[Points], Sequence[Any]]
"""A form as a function of points."""


def affine_on(box: Box, values: Values) -> Iterator[AffineExpr]:
    """Yield the affine form that has these values at every point of the box, if there is one.

    The steps from the first corner give the only candidate; some more points reject most.

    >>> i, j = Var("i"), Var("j")
    >>> f = lambda at: [(13 * x + 8) // 16 + (11 * y + 12) % 16 for x, y in zip(at[i], at[j])]
    >>> print(*affine_on({i: range(2), j: range(3)}, f))
    -5*j + i + 12
    """
    axes = list(box.values())
    first = [axis[0] for axis in axes]
    some = [first]
    for place in (1, -1):
        for k, axis in enumerate(axes):
            some.append([*first[:k], axis[place % len(axis)], *first[k + 1 :]])
    some += [[axis[len(axis) * part // 4] for axis in axes] for part in (1, 2, 3)]
    some.append([axis[-1] for axis in axes])
    found = values(_at(box, some))
    factors = [x - found[0] for x in found[1 : len(axes) + 1]]
    const = found[0] - sum(map(operator.mul, factors, first))
    expected = [const + sum(map(operator.mul, factors, point)) for point in some]
    if found != expected:
        return
    every = _at(box, product(*axes))
    found = values(every)
    total = [const] * len(found)
    for c, column in zip(factors, every.values(), strict=True):
        if c:
            total = [t + c * x for t, x in zip(total, column, strict=True)]
    if found == total:
        yield AffineExpr.from_terms(zip(box, factors, strict=True), const)


def _at(box: Box, points: Iterable[Sequence[int]]) -> Points:
    return dict(zip(box, zip(*points, strict=True), strict=True))


def two_slopes(box: Box, values: Values) -> Iterator[AffineExpr]:
    """Yield a·v + c or a·v + e·((v + q) // s) + c that have these values for the only variable v.

    The steps of such a form take one or two values, and those that are not a are s apart.

    >>> j = Var("j")
    >>> f = lambda at: [(7 * x + 1) // 4 - (5 * x + 4) // 12 for x in at[j]]
    >>> print(*two_slopes({j: range(3)}, f), sep="; ")
    2*j - 2*(j//2); 2*((j + 1)//2)
    """
    ((v, axis),) = box.items()
    found = values({v: axis})
    changes = list(map(operator.sub, found[1:], found))
    steps = dict.fromkeys(changes)
    if len(steps) < 2:
        a = next(iter(steps), 0)
        yield AffineExpr.from_terms([(v, a)], found[0] - a * axis[0])
    if len(steps) != 2:
        return
    for a, e in zip(steps, reversed(steps), strict=True):
        jumps = [k for k, change in enumerate(changes, 1) if change == e]
        s = _distance(jumps, axis)
        if s is not None:
            start = axis[0] + jumps[0]
            floor = digit(AffineExpr(((v, 1),), -start % s), s, None)
            at_first = a * axis[0] + (e - a) * ((axis[0] + -start % s) // s)
            yield AffineExpr.from_terms([(v, a)], found[0] - at_first) + floor * (e - a)


def _distance(jumps: list[int], values: range) -> int | None:
    """Return the distance of jumps, counted from the first value, if all distances are equal."""
    gaps = {b - a for a, b in pairwise(jumps)}
    longest = max(jumps[0], len(values) - jumps[-1])
    if not gaps:
        return max(longest, values[0] + jumps[0])  # (v // s) needs no constant
    s = gaps.pop()
    return None if gaps or longest > s else s


class Fits:
    """Forms that are shorter on their boxes; each form is tried once."""

    def __init__(self, cost: Callable[[AffineExpr], int], least: int) -> None:
        """Try forms of more than the ``least`` cost."""
        self.cost, self.least = cost, least
        self.left = BOX_WORK
        self.known: dict[AffineExpr, AffineExpr] = {}
        self.boxes: dict[Digit, Box | None] = {}
        self.digits: dict[Digit, AffineExpr] = {}
        self.columns: dict[Var, dict[Any, Sequence[Any]]] = {}

    def form(self, form: AffineExpr) -> AffineExpr:
        """Return the form with digits, and sums of digits of the same variables, in short."""
        if is_plain(form):
            return form
        form = replace_digits(form, self.digit)
        if len(form.terms) < 2 or not form.has_digits:
            return self.shorter(form)
        groups: dict[frozenset[Var], list[tuple[Atom, Int]]] = {}
        for atom, c in form.terms:
            box = self.box_of(atom)
            if box:
                groups.setdefault(frozenset(box), []).append((atom, c))
        sums = [
            AffineExpr(tuple(some), 0) for some in groups.values() if some[1:] or some[0][1] != 1
        ]
        changes = [(group, self.shorter(group)) for group in sums]
        changes = [(group, short) for group, short in changes if short is not group]
        if changes:
            less = [(atom, -c) for group, _ in changes for atom, c in group.terms]
            more = [term for _, short in changes for term in short.terms]
            const = sum((short.const for _, short in changes), form.const)
            form = AffineExpr.from_terms((*form.terms, *less, *more), const)
        return self.shorter(form)

    def digit(self, d: Digit) -> AffineExpr:
        found = self.digits.get(d)
        if found is None:
            same = with_operands(d, self.form)
            found = self.digits[d] = self.shorter(AffineExpr(((same, 1),), 0))
        return found

    def shorter(self, form: AffineExpr) -> AffineExpr:
        """Return the cheapest form with the same values that is affine, or has one floor."""
        if self.left <= 0 or is_plain(form) or self.cost(form) <= self.least:
            return form
        found = self.known.get(form)
        if found is None:
            box = self.box(form)
            found = self.known[form] = min([form, *self.fits(form, box)], key=self.cost)
        return found

    def fits(self, form: AffineExpr, box: Box | None) -> Iterator[AffineExpr]:
        """Yield forms of the other shapes that have the same values on the box."""
        if not box:
            return
        v, axis = next(iter(box.items()))
        if len(box) == 1 and len(axis) <= BOX_VALUES:
            known = self.columns.setdefault(v, {v: axis})
            yield from two_slopes(box, lambda _: self.values(form, known))
        else:
            yield from affine_on(box, lambda at: self.values(form, {**at}))

    def values(self, form: AffineExpr, known: dict[Any, Sequence[Any]]) -> list[Any]:
        """Return the value at points, of the variables' values there; digits are added to them."""
        total = [form.const] * len(next(iter(known.values())))
        self.left -= len(form.terms) * len(total)
        for atom, c in form.terms:
            column = known.get(atom)
            if column is None:
                column = known[atom] = self.digit_values(atom, known)
            total = [t + c * x for t, x in zip(total, column, strict=True)]
        return total

    def digit_values(self, d: Any, known: dict[Any, Sequence[Any]]) -> list[Any]:
        s, n, values = d.divisor, d.modulus, self.values(d.operand, known)
        if s != 1:
            values = [x // s for x in values]
        return values if n is None else [x % n for x in values]

    def box(self, form: AffineExpr) -> Box | None:
        """Return the values of each variable; None if the box has too many points."""
        if not isinstance(form.const, int):
            return None
        box: dict[Var, range] = {}
        for atom, c in form.terms:
            part = self.box_of(atom) if isinstance(c, int) else None
            if part is None:
                return None
            box |= part
        points = 1
        for values in box.values():
            points *= len(values)
        return box if 0 < points <= BOX_POINTS else None

    def box_of(self, atom: Atom) -> Box | None:
        if isinstance(atom, Digit):
            if atom not in self.boxes:
                numbers = isinstance(atom.divisor, int) and isinstance(atom.modulus, int | None)
                self.boxes[atom] = self.box(atom.operand) if numbers else None
            return self.boxes[atom]
        lo, hi = atom.interval
        if isinstance(atom, Call) or not isinstance(lo, int) or not isinstance(hi, int):
            return None
        return {atom: range(lo, hi + 1)} if hi - lo < BOX_POINTS else None


def is_plain(form: AffineExpr) -> bool:
    """Return whether the form has only variables and their digits: the search writes these."""
    return all(isinstance(atom.whole, Var) for atom, _ in form.terms)
