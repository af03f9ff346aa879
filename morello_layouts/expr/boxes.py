"""Forms that are affine, or nearly so, because their variables have few values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, product
from typing import Any, TypeAlias

from morello_layouts.expr.affine import AffineExpr, Atom, BitXor, Digit, Var, digit
from morello_layouts.expr.sizes import Int
from morello_layouts.expr.substitution import replace_digits
from morello_layouts.limits import BOX_POINTS, BOX_VALUES, BOX_WORK

Box: TypeAlias = Mapping[Var, range]
"""The values of each variable of a form."""

Values: TypeAlias = Callable[[Mapping[Var, int]], int]
"""A form as a function of its variables."""


def affine_on(box: Box, value: Values) -> Iterator[AffineExpr]:
    """Yield the affine form that has these values at every point of the box, if there is one.

    The steps from the first corner give the only candidate; the last corner rejects most.

    >>> i, j = Var("i"), Var("j")
    >>> box = {i: range(2), j: range(3)}
    >>> print(*affine_on(box, lambda at: (13 * at[i] + 8) // 16 + (11 * at[j] + 12) % 16))
    -5*j + i + 12
    """
    first = {v: values[0] for v, values in box.items()}
    const = value(first)
    y = AffineExpr((), const)
    for v, values in box.items():
        if len(values) > 1:
            slope = value({**first, v: values[1]}) - const
            y = y + AffineExpr.from_terms([(v, slope)], -slope * values[0])
    factors = dict(y.terms)

    def agrees(point: tuple[int, ...]) -> bool:
        at = dict(zip(box, point, strict=True))
        return value(at) == y.const + sum(factors.get(v, 0) * x for v, x in at.items())

    last = tuple(values[-1] for values in box.values())
    if agrees(last) and all(map(agrees, product(*box.values()))):
        yield y


def two_slopes(box: Box, value: Values) -> Iterator[AffineExpr]:
    """Yield a·v + c or a·v + e·((v + q) // s) + c that have these values for the only variable v.

    The steps of such a form take one or two values, and those that are not a are s apart.

    >>> j = Var("j")
    >>> values = lambda at: (7 * at[j] + 1) // 4 - (5 * at[j] + 4) // 12
    >>> print(*two_slopes({j: range(3)}, values), sep="; ")
    2*j - 2*(j//2); 2*((j + 1)//2)
    """
    ((v, values),) = box.items()
    found = [value({v: values[0]})]
    steps: dict[int, list[int]] = {}
    for k, x in enumerate(values[1:], 1):
        found.append(value({v: x}))
        steps.setdefault(found[k] - found[k - 1], []).append(k)
        if len(steps) > 2:
            return
    if len(steps) < 2:
        a = next(iter(steps), 0)
        yield AffineExpr.from_terms([(v, a)], found[0] - a * values[0])
        return
    for a, (e, jumps) in zip(steps, reversed(steps.items()), strict=True):
        s = _distance(jumps, values)
        if s is not None:
            start = values[0] + jumps[0]
            floor = digit(AffineExpr(((v, 1),), -start % s), s, None)
            at_first = a * values[0] + (e - a) * ((values[0] + -start % s) // s)
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

    def form(self, form: AffineExpr) -> AffineExpr:
        """Return the form with digits, and sums of digits of the same variables, in short."""
        form = replace_digits(form, self.digit)
        groups: dict[frozenset[Var], list[tuple[Atom, Int]]] = {}
        for atom, c in form.terms if form.has_digits else ():
            box = self.box_of(atom)
            if box:
                groups.setdefault(frozenset(box), []).append((atom, c))
        changes = [(g, self.shorter(g)) for g in (AffineExpr(tuple(t), 0) for t in groups.values())]
        changes = [(group, short) for group, short in changes if short != group]
        if changes:
            less = [(atom, -c) for group, _ in changes for atom, c in group.terms]
            more = [term for _, short in changes for term in short.terms]
            const = sum((short.const for _, short in changes), form.const)
            form = AffineExpr.from_terms((*form.terms, *less, *more), const)
        return self.shorter(form)

    def digit(self, d: Digit) -> AffineExpr:
        """Return a digit in its shortest form."""
        found = self.digits.get(d)
        if found is None:
            operand = self.form(d.operand)
            same = d if operand is d.operand else Digit(operand, d.divisor, d.modulus)
            found = self.digits[d] = self.shorter(AffineExpr(((same, 1),), 0))
        return found

    def shorter(self, form: AffineExpr) -> AffineExpr:
        """Return the cheapest form with the same values that is affine, or has one floor."""
        if not form.has_digits or self.left <= 0 or self.cost(form) <= self.least:
            return form
        box = self.box(form)
        if not box:
            return form
        found = self.known.get(form)
        if found is None:
            few = len(box) == 1 and len(*box.values()) <= BOX_VALUES
            fit = two_slopes if few else affine_on
            others = fit(box, lambda at: self.value(form, at, {}))
            found = self.known[form] = min([form, *others], key=self.cost)
        return found

    def value(self, form: AffineExpr, at: Mapping[Any, int], known: dict[Digit, Any]) -> Any:
        """Return the value at a point; that of each digit is computed once."""
        total: Any = form.const
        self.left -= len(form.terms)
        for atom, c in form.terms:
            if not isinstance(atom, Digit):
                total += c * at[atom]
                continue
            if atom not in known:
                value = self.value(atom.operand, at, known) // atom.divisor
                known[atom] = value if atom.modulus is None else value % atom.modulus
            total += c * known[atom]
        return total

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
        """Return the values of each variable of an atom."""
        if isinstance(atom, Digit):
            if atom not in self.boxes:
                numbers = isinstance(atom.divisor, int) and isinstance(atom.modulus, int | None)
                self.boxes[atom] = self.box(atom.operand) if numbers else None
            return self.boxes[atom]
        lo, hi = atom.interval
        if isinstance(atom, BitXor) or not isinstance(lo, int) or not isinstance(hi, int):
            return None
        return {atom: range(lo, hi + 1)} if hi - lo < BOX_POINTS else None
