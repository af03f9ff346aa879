"""The proof that a nest visits every element once, at the offsets of its maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod
from typing import Final

from morello_layouts import proof
from morello_layouts.core.expr import AffineExpr, Digit, variable
from morello_layouts.core.expr.sizes import evaluated, is_nonnegative
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.limits import LOOP_VISITS
from morello_layouts.core.maps import AffineMap
from morello_layouts.outputs.codegen.language import Guard, Loop, NamedValue, Statement, Visit
from morello_layouts.outputs.loop_nests.tree import PlannedNest
from morello_layouts.proof.relations import ONCE, Visits, are_visited_once

CLAIM: Final = "verified"


def verified(walk: PlannedNest, budget: int | None = None) -> proof.Proof:
    """Decide whether a nest visits each element once, at the offsets of its maps.

    The loops, conditions and values that languages print are what is judged. Counters are judged as
    the quotients and rests that they count: each turn adds the same to the operand.
    """
    digits = walk.digits
    names = {axis.name: axis for axis in walk.axes}
    limits = []
    for limit in digits.limits:
        parts = (names[name].variable * -weight for name, weight in limit.weights.items())
        limits.append(sum(parts, AffineExpr((), limit.size - 1)))
    visits = Visits(
        {axis.name: axis.size for axis in walk.axes},
        tuple(limits),
        tuple(parts_of(walk.statements, {*names})),
        {name: (form, walk.space.sizes[name]) for name, form in digits.coordinates.items()},
        walk.space.assumptions,
    )
    once = are_visited_once(visits, budget=budget)
    if once.holds is None:
        once = _enumerated(walk, once)
    if not once.holds:
        return replace(once, claim=CLAIM)
    at = elements_to_loops(walk)
    for name, got in offsets_of(walk):
        access = next(access for access in walk.space.accesses if access.name == name)
        wanted = access.form if at is not None else substitute(access.form, digits.coordinates)
        equal = proof.are_equivalent(_over(walk, got, at), _over(walk, wanted, at), budget=budget)
        if not equal.holds:
            return replace(equal, claim=CLAIM, reason=f"the offset in {name}: {equal.reason}")
    reason = "the nest visits each element once, at the offsets of the maps"
    return proof.Proof(
        CLAIM, True, reason, once.decider, assumptions=tuple(map(str, walk.space.assumptions))
    )


def elements_to_loops(walk: PlannedNest) -> dict[str, AffineExpr] | None:
    """Return the loops' variables as formulas of the coordinates, where there is an element.

    None if a coordinate is an exclusive or: then the offsets of the whole box are compared, as no
    tile of it is partial.
    """
    found: dict[str, AffineExpr] = {}
    for name, form in walk.digits.coordinates.items():
        if form.has_xors:
            return None
        size = walk.space.sizes[name]
        rest = variable(name, 0, size - 1 if size != 0 else 0)
        is_turned = any(is_nonnegative(-c) for _, c in form.terms)
        rest = (size - 1) - rest if is_turned else rest
        for axis in walk.digits.axes.values():
            if axis.coordinate == name:
                found[axis.name], rest = rest // axis.unit, rest % axis.unit
    return found


def offsets_of(walk: PlannedNest) -> Iterator[tuple[str, AffineExpr]]:
    """Yield each array with the offset that is printed, over the loops."""
    known: dict[str, AffineExpr] = {}
    for value in (value for level in walk.plan.values for value in level):
        known[value.name] = _whole(value.form, known)
    for counter in walk.plan.counters:
        operand = _whole(counter.operand, known)
        known[counter.rest] = operand % counter.divisor
        quotient = Digit(operand, counter.divisor, counter.modulus)
        known[counter.quotient] = AffineExpr(((quotient, 1),), 0)
    for access in walk.space.accesses:
        yield access.name, _whole(walk.plan.results[access.name], known)


def _over(walk: PlannedNest, form: AffineExpr, at: dict[str, AffineExpr] | None) -> AffineMap:
    """Return a form as a map of coordinates; of the box of loops if nothing says where they are."""
    if at is None:
        sizes = {axis.name: axis.size for axis in walk.axes}
    else:
        sizes, form = dict(walk.space.sizes), substitute(form, at)
    names = {
        name: variable(f"d{k}", 0, n - 1 if n != 0 else 0)
        for k, (name, n) in enumerate(sizes.items())
    }
    known = walk.space.assumptions
    return AffineMap(tuple(sizes.values()), (substitute(form, names),), assumptions=known)


def _whole(form: AffineExpr, known: dict[str, AffineExpr]) -> AffineExpr:
    """Return a form with values in place of their names, in variables and in factors."""
    sizes = {name: x.const for name, x in known.items() if not x.terms}

    return substitute(map_ints(form, partial(evaluated, values=sizes)), known)


def parts_of(
    statements: Sequence[Statement], axes: AbstractSet[str], outside: tuple[AffineExpr, ...] = ()
) -> Iterator[tuple[AffineExpr, ...]]:
    """Yield for each copy of the body the forms that are at least 0 where it is.

    On the way to a copy each axis has one meaning, as the builder sees to.
    """
    for one in statements:
        match one:
            case Loop():
                x = one.axis.variable
                ends = [stop - x - 1 for stop in one.stops]
                yield from parts_of(one.body, axes, (*outside, x - one.start, *ends))
            case Guard():
                below = [x * -1 + (n - 1) for x, n in one.conditions]
                yield from parts_of(one.body, axes, (*outside, *below))
            case NamedValue() if one.name in axes:
                x = variable(one.name) - one.form
                outside = (*outside, x, -x)
            case Visit():
                yield outside


def _enumerated(walk: PlannedNest, undecided: proof.Proof) -> proof.Proof:
    """Decide by a visit of all elements, if they are few."""
    sizes = [n for n in walk.space.sizes.values() if isinstance(n, int)]
    if walk.space.size_names or prod(sizes) > LOOP_VISITS:
        return undecided
    elements = [element for element, _ in walk.visits({})]
    if sorted(elements) == list(product(*map(range, sizes))):
        return proof.Proof(ONCE, True, "", "enumeration")
    return proof.Proof(ONCE, False, "some element is left out or comes twice", "enumeration")
