"""Forms with other variables, atoms or numbers in place of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from morello_layouts.core.expr.affine import (
    AffineExpr,
    Atom,
    BitXor,
    Digit,
    Var,
    digit,
    variable,
    xor,
)
from morello_layouts.core.expr.sizes import Int


def substitute(form: AffineExpr, values: Mapping[str, AffineExpr]) -> AffineExpr:
    """Return the form with other forms in place of its variables, without simplifying.

    Every variable without an entry stays. The values must lie within the variables' bounds.

    >>> i, p = variable("i", 0, 31), variable("p", 0, 255)
    >>> print(substitute(8 * (i // 4) + i % 4, {"i": p // 8}))
    8*((p//8)//4) + (p//8)%4
    """

    def value_of(v: Var) -> AffineExpr:
        return values.get(v.name, AffineExpr(((v, 1),), 0))

    return _rebuild(form, value_of, lambda n: n)


def replace_digits(form: AffineExpr, change: Callable[[Digit], AffineExpr]) -> AffineExpr:
    """Return the form with each of its digits replaced; the same object if none changes.

    Those in the parts of an exclusive or are digits of the form too.

    >>> print(replace_digits(3 * (variable("i", 0, 7) // 4) + 2, lambda digit: digit.operand))
    3*i + 2
    """

    def changed(atom: Digit | BitXor) -> AffineExpr:
        if isinstance(atom, Digit):
            return change(atom)
        parts = [replace_digits(part, change) for part in atom.parts]
        is_same = all(a is b for a, b in zip(parts, atom.parts, strict=True))
        return AffineExpr(((atom if is_same else BitXor(parts), 1),), 0)

    return replace_atoms(form, changed)


def replace_atoms(form: AffineExpr, change: Callable[[Digit | BitXor], AffineExpr]) -> AffineExpr:
    """Return the form with its digits and exclusive ors replaced; the same object if none changes.

    >>> i, j = variable("i", 0, 7), variable("j", 0, 7)
    >>> print(replace_atoms(3 * (i ^ j) + 2, lambda atom: atom.parts[0]))
    3*i + 2
    """
    terms: list[tuple[Atom, Int]] = []
    const, changed = form.const, False
    for term in form.terms:
        atom, c = term
        new = None if isinstance(atom, Var) else change(atom)
        if new is None or new.as_atom() is atom:
            terms.append(term)
            continue
        changed = True
        const += c * new.const
        terms += new.terms if c == 1 else [(a, c * k) for a, k in new.terms]
    return AffineExpr.from_terms(terms, const) if changed else form


def map_ints(form: AffineExpr, change: Callable[[Int], Int]) -> AffineExpr:
    """Return the form with every number changed: factors, constants, divisors, moduli and bounds.

    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> n = SizeExpr.named("N")
    >>> row_major = n * variable("i", 0, 7) + variable("j", 0, n - 1)
    >>> print(map_ints(row_major, lambda n: n if isinstance(n, int) else n.evaluate({"N": 5})))
    5*i + j
    """

    def with_bounds(v: Var) -> AffineExpr:
        lo, hi = (None if end is None else change(end) for end in v.interval)
        return variable(v.name, lo, hi)

    return _rebuild(form, with_bounds, change)


def _rebuild(
    form: AffineExpr, value_of: Callable[[Var], AffineExpr], change: Callable[[Int], Int]
) -> AffineExpr:
    """Return the form with its variables replaced and its numbers changed."""
    total = AffineExpr((), change(form.const))
    for atom, c in form.terms:
        if isinstance(atom, Var):
            value = value_of(atom)
        elif isinstance(atom, BitXor):
            value = xor(*(_rebuild(part, value_of, change) for part in atom.parts))
        else:
            modulus = None if atom.modulus is None else change(atom.modulus)
            value = digit(_rebuild(atom.operand, value_of, change), change(atom.divisor), modulus)
        total = total + value * change(c)
    return total
