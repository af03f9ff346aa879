"""Forms with values of any kind, or other atoms or numbers, in place of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from morello_layouts.core.expr.affine import (
    AffineExpr,
    Atom,
    Call,
    Digit,
    call,
    digit,
    variable,
    with_operands,
)
from morello_layouts.core.expr.calls import OPERATIONS, Var
from morello_layouts.core.expr.sizes import Int, Quotient, SizeExpr
from morello_layouts.core.fields import frozen


def value_of(form: AffineExpr, values: Mapping[str, Any], constant: Callable[[Int], Any]) -> Any:
    """Return the value of a form by the operators ``+ * // % ^`` of its variables' values.

    Args:
        form: the form; factors, divisors and moduli stay numbers or sizes.
        values: the values of the variables, of any one kind.
        constant: makes a value of a number or a size.

    >>> i = variable("i", 0, 7)
    >>> value_of(4 * (i % 2) + i // 2 + 1, {"i": 5}, int)
    7
    """
    return form.fold(_PythonOperators(lambda v: values[v.name], constant))


@frozen
class _PythonOperators:
    variable: Callable[[Var], Any]
    constant: Callable[[Int], Any]

    def digit(self, d: Digit, operand: Any) -> Any:
        quotient = operand if d.divisor == 1 else operand // d.divisor
        return quotient if d.modulus is None else quotient % d.modulus

    def call(self, x: Call, parts: list[Any]) -> Any:
        return OPERATIONS[x.kind].value(*parts)

    def sum(self, terms: list[tuple[Atom, Int, Any]], const: Int) -> Any:
        # A value alone stays as it is: the digits of an offset, which a sum would lose.
        total = self.constant(const) if const != 0 or not terms else None
        for _, c, x in terms:
            value = x if c == 1 else x * c
            total = value if total is None else total + value
        return total


@frozen
class _Rebuilt:
    variable: Callable[[Var], AffineExpr]
    number: Callable[[Int], Int]

    def digit(self, d: Digit, operand: AffineExpr) -> AffineExpr:
        modulus = None if d.modulus is None else self.number(d.modulus)
        return digit(operand, self.number(d.divisor), modulus)

    def call(self, x: Call, parts: list[AffineExpr]) -> AffineExpr:
        return call(x.kind, *parts)

    def sum(self, terms: list[tuple[Atom, Int, AffineExpr]], const: Int) -> AffineExpr:
        parts: list[tuple[Atom, Int]] = []
        total = self.number(const)
        for _, c, value in terms:
            factor = self.number(c)
            parts += [(atom, k * factor) for atom, k in value.terms]
            total = total + value.const * factor
        return AffineExpr.from_terms(parts, total)


def substitute(form: AffineExpr, values: Mapping[str, AffineExpr]) -> AffineExpr:
    """Return the form with other forms in place of its variables, without simplifying.

    Every variable without an entry stays. The values must lie within the variables' bounds.

    >>> i, p = variable("i", 0, 31), variable("p", 0, 255)
    >>> print(substitute(8 * (i // 4) + i % 4, {"i": p // 8}))
    8*((p//8)//4) + (p//8)%4
    """

    def value(v: Var) -> AffineExpr:
        return values.get(v.name, AffineExpr(((v, 1),), 0))

    return form.fold(_Rebuilt(value, lambda n: n))


def replace_digits(form: AffineExpr, change: Callable[[Digit], AffineExpr]) -> AffineExpr:
    """Return the form with each of its digits replaced; the same object if none changes.

    Those in the parts of an exclusive or are digits of the form too.

    >>> print(replace_digits(3 * (variable("i", 0, 7) // 4) + 2, lambda digit: digit.operand))
    3*i + 2
    """

    def changed(atom: Digit | Call) -> AffineExpr:
        if isinstance(atom, Digit):
            return change(atom)
        return AffineExpr(((with_operands(atom, lambda x: replace_digits(x, change)), 1),), 0)

    return replace_atoms(form, changed)


def replace_atoms(form: AffineExpr, change: Callable[[Digit | Call], AffineExpr]) -> AffineExpr:
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

    return form.fold(_Rebuilt(with_bounds, change))


def with_floors(form: AffineExpr) -> AffineExpr:
    """Return the form with n//d + 1 in place of ⌈(n + 1)/d⌉ of sizes, and n % d of n - d·(n//d).

    >>> from morello_layouts.core.expr.sizes import ceil_quotient
    >>> n = SizeExpr.named("N")
    >>> rows = ceil_quotient(n + 1, 16) - 1
    >>> print(with_floors(AffineExpr((), rows)), with_floors(AffineExpr((), n - 16 * rows)))
    N//16 N%16
    """
    for monomial, c in form.const.terms if isinstance(form.const, SizeExpr) else ():
        one = next((n for n, _ in monomial if isinstance(n, Quotient) and not n.exact), None)
        if one is None or (one, 1) not in monomial or not isinstance(one.divisor, int):
            continue
        n, d = one.numerator - 1, one.divisor
        if not isinstance(n, SizeExpr) or dict(n.terms).get((), 0) < 0:
            continue  # of N it is ⌈N/d⌉
        others = tuple([part for part in monomial if part[0] != one])
        factor: Int = SizeExpr(((others, c),)) if others else c
        form += factor - factor * SizeExpr.named(one)
        without = form + factor // d * n if factor % d == 0 else form
        if _length(without) < _length(form):
            form = without - factor // d * digit(AffineExpr((), n), 1, d)
            continue
        ((first, k), *more) = n.terms
        inner = first[0][0] if not more and len(first) == 1 else None
        if isinstance(inner, Quotient) and inner.exact and isinstance(inner.divisor, int):
            n, d = k * inner.numerator, d * inner.divisor  # (k·(x // m)) // d is (k·x) // (m·d)
            n, d = (n // k, d // k) if d % k == 0 else (n, d)
        form += factor * digit(AffineExpr((), n), d, None)
    return form


def _length(form: AffineExpr) -> int:
    return len(form.const.terms) if isinstance(form.const, SizeExpr) else 0
