"""The cheapest equal expression within a domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from morello_layouts.expr import Interval, canonicalize, cheapest
from morello_layouts.indexing.domain import Constraint
from morello_layouts.indexing.expressions import Expr, Forms, Op, cost_of, weight_of


def simplest(
    x: Expr, bounds: Mapping[str, tuple[int, int]], constraints: Sequence[Constraint]
) -> Expr:
    """Return the equal expression of fewest operations, the given one if none is better."""
    found = [x]
    for known in ((), constraints) if constraints else ((),):
        forms = Forms({name: Interval(*ends) for name, ends in bounds.items()})
        form = canonicalize(forms.form(hidden(x, known, forms)))
        if not form.terms:
            return forms.expr(form)
        found += [forms.expr(form), forms.expr(cheapest(form))]
    return min(found, key=lambda y: (cost_of(y), weight_of(y)))


def hidden(x: Expr, constraints: Iterable[Constraint], forms: Forms) -> Expr:
    """Return an expression with a variable in place of each constrained part."""
    for constrained, lo, hi in constraints:
        found = _replaced(x, constrained, f"x{len(forms.hidden)}")
        if found != x:
            forms.name(constrained, Interval(lo, hi))
            x = found
    return x


def _replaced(x: Expr, part: Expr, name: str) -> Expr:
    if x == part:
        return name
    if not isinstance(x, Op):
        return x
    return Op(x.kind, tuple(_replaced(each, part, name) for each in x.parts))


def always(constraint: tuple[Expr, int, int], bounds: Mapping[str, tuple[int, int]]) -> bool:
    """Return whether a constraint holds for all values within bounds."""
    x, lo, hi = constraint
    forms = Forms({name: Interval(*ends) for name, ends in bounds.items()})
    return canonicalize(forms.form(x)).interval.within(lo, hi)
