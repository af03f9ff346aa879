"""Judge the simplifier by every value of the variables, or by ISL.

Nothing here calls a rule, the engine or a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import islpy as isl
import numpy as np

from morello_layouts.core.expr import AffineExpr, Atom, Call, Digit, Interval, Var
from morello_layouts.core.expr.affine import with_operands

SIZES = (1, 2, 3, 5)
"""The values that each symbolic size takes, one after the other."""

MOST_POINTS = 200_000
"""Points up to which a domain is enumerated; ISL decides on larger and unbounded ones."""

WINDOW = 12
"""How far from an end or from 0 values without end are tried where ISL cannot read a form."""


def as_form(node: Digit | Call | AffineExpr) -> AffineExpr:
    """Return a node of a rule, an atom or a sum, as a form."""
    return node if isinstance(node, AffineExpr) else AffineExpr.from_terms([(node, 1)])


def variables_of(*forms: AffineExpr) -> list[Any]:
    """Return the variables of all forms, each once, by name."""
    found = {v.name: v for form in forms for v in form.variables()}
    return [found[name] for name in sorted(found)]


def points_of(variables: Iterable[Any]) -> int | None:
    """Return the number of points of the variables together; None if one is unbounded."""
    if any(None in v.interval for v in variables):
        return None
    return int(prod(v.interval.hi - v.interval.lo + 1 for v in variables))


def window(v: Any) -> tuple[int, int]:
    """Return the ends of a variable, or of values near the end that it has."""
    lo, hi = v.interval
    lo = lo if lo is not None else -WINDOW if hi is None else hi - 2 * WINDOW
    return lo, lo + 2 * WINDOW if hi is None else hi


def grid_of(variables: Iterable[Any]) -> dict[str, Any]:
    """Return all values of bounded variables: an array for each name; the arrays broadcast.

    Of a variable without an end, the values near the other end, or near 0.
    """
    ranges = [np.arange(lo, hi + 1) for lo, hi in map(window, variables)]
    return {v.name: a for v, a in zip(variables, np.ix_(*ranges), strict=True)}


def sizes_of(*forms: AffineExpr) -> list[str]:
    """Return the names of the symbolic sizes of all forms, in factors as well as in bounds."""
    ends = [end for v in variables_of(*forms) for end in v.interval]
    symbolic = {name for end in ends if not isinstance(end, int | None) for name in end.names()}
    return sorted(symbolic.union(*(form.sizes() for form in forms)))


def at_sizes(form: AffineExpr, sizes: Mapping[str, int]) -> AffineExpr:
    """Return the form at these values of its symbolic sizes."""

    def given(number: Any) -> Any:
        return number if isinstance(number, int | None) else number.evaluate(sizes)

    def atom(a: Atom) -> Atom:
        if isinstance(a, Var):
            return Var(a.name, Interval(given(a.interval.lo), given(a.interval.hi)))
        if isinstance(a, Call):
            return with_operands(a, lambda part: at_sizes(part, sizes))
        return Digit(at_sizes(a.operand, sizes), given(a.divisor), given(a.modulus))

    return AffineExpr.from_terms([(atom(a), given(c)) for a, c in form.terms], given(form.const))


def differences(a: AffineExpr, b: AffineExpr) -> dict[str, Any] | None:
    """Return the first values of the variables at which two forms differ, or None."""
    # Variables of one name are equal whatever their bounds, so the bounds are part of the question.
    return _judged(a, b, tuple(v.interval for v in variables_of(a, b)))


@lru_cache(maxsize=100_000)
def _judged(a: AffineExpr, b: AffineExpr, _bounds: tuple[Interval, ...]) -> dict[str, Any] | None:
    names = sizes_of(a, b)
    for values in product(SIZES, repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        found = _differences(at_sizes(a, sizes), at_sizes(b, sizes))
        if found is not None:
            return sizes | found
    return None


def _differences(a: AffineExpr, b: AffineExpr) -> dict[str, Any] | None:
    variables = variables_of(a, b)
    points = points_of(variables)
    chooses = any(isinstance(x, Call) and x.kind != "xor" for f in (a, b) for x in f.atoms())
    if not chooses and (points is None or points > MOST_POINTS):
        return _differences_by_isl(a, b, variables)
    values = grid_of(variables)
    wrong = np.argwhere(np.broadcast_to(a.evaluate(values) != b.evaluate(values), _shape(values)))
    if not len(wrong):
        return None
    return {v.name: v.interval.lo + int(k) for v, k in zip(variables, wrong[0], strict=True)}


def agree(a: AffineExpr, b: AffineExpr) -> bool:
    """Return whether two forms are equal at every value of their variables."""
    return differences(a, b) is None


def equal_by_isl(a: AffineExpr, b: AffineExpr) -> bool:
    """Return whether two forms are equal over the bounds of their variables, as ISL decides."""
    return _differences_by_isl(a, b, variables_of(a, b)) is None


def _shape(values: Mapping[str, Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(a.shape for a in values.values()))


def _differences_by_isl(
    a: AffineExpr, b: AffineExpr, variables: list[Var]
) -> dict[str, Any] | None:
    first, second = (isl.PwAff(isl_text(form, variables)) for form in (a, b))
    wrong = first.ne_set(second)
    return None if wrong.is_empty() else {"by ISL": str(wrong.sample_point())}


def isl_text(form: AffineExpr, variables: Iterable[Var]) -> str:
    """Return a form over its variables' bounds as ISL writes a piecewise affine function."""
    bounds = []
    for v in variables:
        bounds += [] if v.interval.lo is None else [f"{v.interval.lo} <= {v.name}"]
        bounds += [] if v.interval.hi is None else [f"{v.name} <= {v.interval.hi}"]
    names = ", ".join(v.name for v in variables)
    condition = f" : {' and '.join(bounds)}" if bounds else ""
    return f"{{ [{names}] -> [{_isl_sum(form)}]{condition} }}"


def _isl_sum(form: AffineExpr) -> str:
    text = str(form.const)
    for atom, c in form.terms:
        assert isinstance(c, int), "symbolic sizes have values here"
        text += f" {'-' if c < 0 else '+'} {abs(c)}*({_isl_atom(atom)})"
    return text


def _isl_atom(atom: Atom) -> str:
    if isinstance(atom, Var):
        return atom.name
    assert isinstance(atom, Digit), "ISL has no exclusive or"
    text = _isl_sum(atom.operand)
    if atom.divisor != 1:
        text = f"floor(({text})/{atom.divisor})"
    return text if atom.modulus is None else f"({text}) mod {atom.modulus}"
