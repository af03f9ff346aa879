"""Hold the formulas that a user gets against what is judged: the recipe, or the formula as given.

Proofs about a map look at its recipe. They are true of the formulas if those have the recipe's
offsets, which is decided here, once for a map. The simplifier's rules take no part in it, but for
tiles whose sizes are names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, wraps
from itertools import cycle
from math import prod
from typing import Any, Final

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import PROOF_FIRST
from morello_layouts.maps import IndexMap
from morello_layouts.proof.ask import AnyMap, Decide, ask_isl, is_asking, names_of, sizes_of
from morello_layouts.proof.difference import (
    Difference,
    IncrementDifference,
    OffsetDifference,
    sizes_of_equality,
)
from morello_layouts.proof.isl import NotAffineError, Parameters, Space, Value, first_point
from morello_layouts.proof.library import isl
from morello_layouts.proof.named_tiles import has_named_tiles, is_verified
from morello_layouts.proof.reading import Reading, formulas_of, read
from morello_layouts.proof.second_opinion import value_of
from morello_layouts.proof.separable import Increment, Separable, increments
from morello_layouts.proof.swizzled import first_unequal_value, is_swizzled
from morello_layouts.proof.verdict import Proof
from morello_layouts.recipe import Recipe, known


def about_formulas(decide: Decide) -> Decide:
    """Make a decision about recipes hold for the formulas that users get, or say that it may not.

    Questions inside of a question are about maps that no user holds, and stay as they are.
    """

    @wraps(decide)
    def ask(*maps: Any, budget: int | None = None) -> Proof:
        answer = decide(*maps, budget=budget)
        if is_asking() or answer.holds is None:
            return answer
        answer = answer.with_names(next((m.names for m in maps if m.names), ()))
        if answer.holds is False and _differ_at(maps, answer.counterexample):
            return replace(answer, judged="formulas")
        found = [agreement(m, budget) for m in maps]
        wrong = next((one for one in found if one.holds is False), None)
        if wrong is not None:
            reason = f"{wrong.reason}; ask verify"
            return Proof(answer.claim, None, reason, assumptions=answer.assumptions)
        if all(one.holds for one in found):
            return replace(answer, judged="formulas")
        why = next(one.reason for one in found if one.holds is None)
        return replace(answer, judged=f"the recipe only: {why}")

    return ask


def _differ_at(maps: Sequence[AnyMap], at: Any) -> bool:
    """Return whether the formulas of two layouts have offsets that differ at a coordinate."""
    if len(maps) != 2 or not isinstance(at, tuple):
        return False
    if not all(isinstance(m, IndexMap) and len(m.recipe.shape) == len(at) for m in maps):
        return False
    d = {f"d{k}": x for k, x in enumerate(at)}
    one, other = ({value_of(formula, d) for _, formula in formulas_of(m)} for m in maps)
    return len(one) == len(other) == 1 and one != other


def agreement(m: AnyMap, budget: int | None = None) -> Proof:
    """Decide whether the simplified formulas, and SymPy's if a user got them, are those judged."""
    formulas = [formula for _, formula in formulas_of(m)]
    kept = vars(m).get(_KEPT)
    if kept is None or kept[0] != formulas:
        kept = vars(m)[_KEPT] = formulas, _agreement(m, budget=budget)
    found: Proof = kept[1]
    return found


_KEPT: Final = "_agreement"
"""The key of an agreement and its formulas among a map's cached values."""


@ask_isl("formulas and recipe agree", bounded_by_splits=False)
def _agreement(m: AnyMap, *, context: isl.Context) -> Proof:
    claim = "formulas and recipe agree"
    if isinstance(m, IndexMap) and has_named_tiles(m):
        return is_verified(claim, m)
    if 0 in sizes_of(m):
        return Proof(claim, True, "there are no elements")
    judged = [m.recipe] if isinstance(m, IndexMap) else [*m.given]
    what = "the recipe" if isinstance(m, IndexMap) else "the formula as given"
    undecided = ""
    for (name, formula), one in zip(formulas_of(m), cycle(judged), strict=False):
        try:
            where = first_difference(m, one, formula, context)
        except UnsupportedError as error:
            undecided = undecided or f"{name} was not compared with {what}: {error.what}"
            continue
        if where:
            return Proof(claim, False, f"{name} differs from {what} {where}")
    return Proof(claim, None if undecided else True, undecided)


def separable(
    source: Any, shape: Sequence[Int], assumptions: Sequence[Assumption] = ()
) -> Separable:
    """Return an offset as a sum of functions of one coordinate each, as far as it is one."""
    names = {f"d{k}": x for k, x in enumerate(Separable.coordinates(shape))}
    found: Separable = read(
        source, Reading(names, lambda n: Separable({}, n, tuple(shape)), assumptions)
    )
    return found


def increments_between(m: AnyMap, one: Any, other: Any) -> tuple[Increment, ...]:
    """Return the increments of the difference of two offsets of one array."""
    first, second = (separable(x, sizes_of(m), m.assumptions) for x in (one, other))
    difference = first - second
    return tuple(increments(difference)) if difference.terms or difference.const != 0 else ()


def increment_difference(
    maps: Sequence[AnyMap], one: Any, other: Any, context: isl.Context
) -> IncrementDifference:
    """Return the difference of two offsets of maps over one array, by its increments."""
    changes = increments_between(maps[0], one, other)
    symbolic = [change.by for change in changes if isinstance(change.by, SizeExpr)]
    shape = sizes_of(maps[0])
    numbers = [*shape, *(SizeExpr.named(x) for by in symbolic for x in by.atoms())]
    assumed = meet_all(one for m in maps for one in m.assumptions)
    required = [pair for m in maps if isinstance(m, IndexMap) for pair in m.recipe.requires]
    space = Space.of(shape, context, Parameters.of(numbers, assumed, required))
    return IncrementDifference(changes, space)


def first_difference(m: AnyMap, one: Any, other: Any, context: isl.Context) -> str:
    """Return where two offsets differ, in words; nothing if they are equal."""
    difference: Difference
    try:
        if not increments_between(m, one, other):
            return ""
        difference = increment_difference([m], one, other, context)
        if not difference.space.parameters.monomials:
            change, dims = difference.changes[0], range(len(sizes_of(m)))
            return f"at {tuple(change.at if k == change.dim else 0 for k in dims)}"
    except UnsupportedError:
        if is_swizzled(m):
            return _evaluated_difference(m, one, other)
        difference = _isl_difference(m, one, other, context)
        if not difference.space.parameters.monomials:
            points = difference.concrete
            return "" if points.is_empty() else f"at {first_point(points)}"
    sizes = difference.space.sizes
    equal, left = sizes_of_equality(difference)
    if sizes.is_subset(equal):
        return ""
    if not sizes.subtract(equal).subtract(left).is_empty():
        return "at some sizes"
    what = "the formulas may differ at some sizes"
    raise NotAffineError(what, "their difference was not proved to be 0", "ask verify")


def _evaluated_difference(m: AnyMap, one: Any, other: Any) -> str:
    """Return where two offsets with exclusive ors differ, in words, by evaluating them."""
    at = None if names_of(m) else first_unequal_value(m, [one, other])
    if at is not None:
        return f"at {at}"
    if names_of(m) or prod(known(sizes_of(m))) > PROOF_FIRST:
        what = "formulas whose bits are written in other ways"
        raise NotAffineError(what, "no difference was found", "ask verify")
    return ""


def _isl_difference(m: AnyMap, one: Any, other: Any, context: isl.Context) -> OffsetDifference:
    recipe = m.recipe if isinstance(m, IndexMap) else Recipe(sizes_of(m))
    parameters = Parameters.of(recipe.numbers, m.assumptions, recipe.requires)
    space = Space.of(recipe.shape, context, parameters)
    names = {name: Value.of(x, space) for name, x in space.variables.items()}
    reading = Reading(names, partial(Value.constant, space=space), m.assumptions)
    return OffsetDifference((read(one, reading) - read(other, reading),), space)
