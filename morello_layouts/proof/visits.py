"""Decide whether the loops of a nest visit each element of a box once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from morello_layouts.expr import AffineExpr, BitXor, Interval, variable
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.sizes import Int
from morello_layouts.proof.ask import ask_isl
from morello_layouts.proof.isl import (
    Parameters,
    Space,
    at_least,
    coordinates_of,
    relation,
    value_of_form,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.verdict import Proof

ONCE: Final = "visits each element once"


@dataclass(frozen=True)
class Visits:
    """The points that loops visit, and the elements at these points.

    Attributes:
        sizes: the number of values of each loop's variable in a whole tile.
        limits: forms over the variables that are at least 0 at the points that have an element.
        parts: for each copy of the body, forms that are at least 0 where it is.
        coordinates: each coordinate of the elements over the variables, with its size.
        assumptions: the assumptions about symbolic sizes.
    """

    sizes: Mapping[str, Int]
    limits: tuple[AffineExpr, ...]
    parts: tuple[tuple[AffineExpr, ...], ...]
    coordinates: Mapping[str, tuple[AffineExpr, Int]]
    assumptions: tuple[Assumption, ...] = ()


@ask_isl(ONCE)
def are_visited_once(visits: Visits, *, context: isl.Context) -> Proof:
    """Decide whether the copies of the body share no point and have one for each element.

    >>> from morello_layouts.expr import variable
    >>> i, t = variable("i", 0, 3), variable("t", 0, 2)
    >>> form, body = 4 * t + i, (t, 2 - t, i, 3 - i)
    >>> wrong = Visits({"t": 3, "i": 4}, (10 - form,), (body,), {"x": (form, 11)})
    >>> are_visited_once(wrong).reason
    'a copy of the body is at (t=2, i=3), which is not an element'
    """
    space = _space(visits, context)
    wanted = _where([*_box(visits.sizes), *visits.limits], space)
    seen = isl.Set.empty(wanted.get_space())
    for part in visits.parts:
        own = _where(part, space)
        for wrong, what in (
            (own.subtract(wanted), "a copy of the body is at {}, which is not an element"),
            (own.intersect(seen), "two copies of the body are at {}"),
        ):
            if not wrong.is_empty():
                return Proof(ONCE, False, what.format(_at(wrong, visits.sizes)))
        seen = seen.union(own)
    missing = wanted.subtract(seen)
    if not missing.is_empty():
        return Proof(ONCE, False, f"nothing visits {_at(missing, visits.sizes)}")
    if any(size == 0 for _, size in visits.coordinates.values()):
        reason = (
            "the array has no elements"
            if seen.is_empty()
            else "the body runs, but no element is there"
        )
        return Proof(ONCE, seen.is_empty(), reason)
    for name, (form, size) in visits.coordinates.items():
        reason = _is_numbered(visits, name, form, size, context)
        if reason:
            return Proof(ONCE, False if "^" not in reason else None, reason)
    return Proof(ONCE, True, "the copies of the body share no point and leave none out")


def _is_numbered(
    visits: Visits, name: str, form: AffineExpr, size: Int, context: isl.Context
) -> str:
    """Return why the points do not have each value of a coordinate once; empty if they have."""
    own = {v.name for v in form.variables()}
    if any(isinstance(atom, BitXor) for atom in form.atoms()):
        return f"ISL does not read ^ in {name} = {form}"
    sizes = {axis: n for axis, n in visits.sizes.items() if axis in own}
    limits = [limit for limit in visits.limits if {v.name for v in limit.variables()} <= own]
    alone = Visits(sizes, tuple(limits), (), {name: (form, size)}, visits.assumptions)
    space = _space(alone, context)
    points = _where(_box(sizes) + limits, space)
    value = value_of_form(form, space).function
    if not sizes:
        return "" if size == 1 else f"{name} has one value"
    found = relation([value], Space(context, points, space.variables, space.parameters))
    if not found.is_injective():
        return f"some {name} comes twice"
    line = Space.within({name: Interval(0, size - 1)}, context, space.parameters)
    if not found.reverse().domain().is_equal(line.domain):
        return f"{name} = {form} does not have all of its values"
    return ""


def _space(visits: Visits, context: isl.Context) -> Space:
    numbers: list[Int] = [*visits.sizes.values(), *(n for _, n in visits.coordinates.values())]
    for form in (*visits.limits, *(x for part in visits.parts for x in part)):
        numbers.append(form.const)
    parameters = Parameters.of(numbers, visits.assumptions)
    free = dict.fromkeys(visits.sizes, Interval(None, None))
    return Space.within(free, context, parameters)


def _box(sizes: Mapping[str, Int]) -> list[AffineExpr]:
    """Return forms that are at least 0 in a box."""
    found = []
    for name, n in sizes.items():
        x = variable(name)
        found += [x, x * -1 + (n - 1)]
    return found


def _where(forms: Sequence[AffineExpr], space: Space) -> isl.Set:
    """Return the points at which forms are at least 0."""
    found = space.domain
    for form in forms:
        found = found.intersect(at_least(value_of_form(form, space).function, 0))
    return found


def _at(points: isl.Set, sizes: Mapping[str, Int]) -> str:
    at = coordinates_of(points.sample_point())
    return f"({', '.join(f'{name}={x}' for name, x in zip(sizes, at, strict=True))})"
