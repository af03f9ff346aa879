"""The measure of expressions that every rule of the simplifier makes smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from morello_layouts.core.expr import AffineExpr, Call, Digit, Var
from morello_layouts.core.expr.affine import is_condition
from morello_layouts.core.expr.sizes import Int


def measure(form: AffineExpr) -> tuple[int, ...]:
    """Return the size that every rule makes smaller, compared from left to right.

    1. The weight: a variable weighs 1, a sum one more than its terms together, a digit twice its
       operand, and 1 more for a division or a remainder, 5 more for both. An exclusive or weighs
       twice its parts, and 12 more for each; other operations on forms 100 more. A choice with
       something else than 0 as its last part weighs 10 more, and so does the opposite of a
       condition, 1 - c.
    2. The product of all divisors and moduli at all depths.
    3. The number of factors and constants in operands that are not reduced modulo p, the divisor
       times the modulus: a constant outside of 0..p - 1, or a factor of absolute value p or more.
       Those of an operand count twice as much as those of the digit around it.

    4. The sums with a constant in parts of operations on forms.
    5. The sizes of factors and constants in these parts.
    6. The parts of a min or max, and the operands of digits, that begin with a negative factor.

    Each of these grows with its parts, so a rule that makes a part smaller makes the whole
    smaller. Symbolic sizes count as odd numbers from 101 on.
    """
    values = {name: 101 + 2 * k for k, name in enumerate(sorted(form.sizes()))}

    def number(n: Int) -> int:
        return n if isinstance(n, int) else int(n.evaluate(values))

    def period(d: Digit) -> int:
        return number(d.divisor) * number(d.modulus or 1)

    def weight(form: AffineExpr) -> int:
        operations = (0, 1, 5)
        digits = _digits(form)
        parts = _parts(form)
        total = 1 + sum(isinstance(atom, Var) for atom, _ in form.terms)
        total += sum(2 * weight(part) for part in parts)
        for atom, c in form.terms:
            if isinstance(atom, Call):
                total += (12 if atom.kind == "xor" else 100) * len(atom.parts)
                total += 10 * (atom.kind == "select" and atom.parts[2] != AffineExpr((), 0))
                one = AffineExpr(((atom, 1),), 0)
                total += 10 * (is_condition(one) and c == -form.const)
        for d in digits:
            total += 2 * weight(d.operand) + operations[(d.divisor != 1) + (d.modulus is not None)]
        return total

    def periods(form: AffineExpr) -> int:
        inside = prod(periods(part) for part in _parts(form))
        return inside * prod(period(d) * periods(d.operand) for d in _digits(form))

    def unreduced(form: AffineExpr) -> int:
        total = sum(unreduced(part) for part in _parts(form))
        for d in _digits(form):
            p = period(d)
            total += not 0 <= number(d.operand.const) < p
            total += sum(abs(number(c)) >= p for _, c in d.operand.terms)
            total += 2 * unreduced(d.operand)
        return total

    def sizes_in_xors(form: AffineExpr) -> int:
        parts = _parts(form)
        own = sum(abs(number(n)) for x in parts for n in (x.const, *(c for _, c in x.terms)))
        inner = (*parts, *(d.operand for d in _digits(form)))
        return own + sum(sizes_in_xors(x) for x in inner)

    def everywhere(count: Callable[[Call], int]) -> int:
        atoms = [*form.atoms()]
        return sum(count(atom) for atom in atoms if isinstance(atom, Call))

    def constants(x: Call) -> int:
        return sum(bool(p.terms) and p.const != 0 for p in x.parts) if x.kind != "xor" else 0

    def negatives(x: Call) -> int:
        return begins_below(x.parts) if x.kind in ("min", "max") else 0

    def begins_below(forms: Iterable[AffineExpr]) -> int:
        return sum(bool(x.terms) and number(x.terms[0][1]) < 0 for x in forms)

    return (
        weight(form),
        periods(form),
        unreduced(form),
        everywhere(constants),
        sizes_in_xors(form),
        everywhere(negatives) + begins_below(a.operand for a in form.atoms() if type(a) is Digit),
    )


def _parts(form: AffineExpr) -> list[AffineExpr]:
    return [x for atom, _ in form.terms if isinstance(atom, Call) for x in atom.parts]


def _digits(form: AffineExpr) -> list[Digit]:
    return [atom for atom, _ in form.terms if isinstance(atom, Digit)]
