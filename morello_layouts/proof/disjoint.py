"""Decide whether two maps have no value in common, and whether a map stays below an end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.maps import AffineMap
from morello_layouts.proof.ask import SymbolicQuestion, ask_isl, names_of
from morello_layouts.proof.conditions import SizeSet
from morello_layouts.proof.isl import (
    Parameters,
    Space,
    at_least,
    coordinates_of,
    relation,
    value_of_form,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.verdict import ALL_SIZES, Proof

DISJOINT: Final = "disjoint"
INSIDE: Final = "inside"


def are_disjoint(one: AffineMap, other: AffineMap, *, budget: int | None = None) -> Proof:
    """Decide whether no value of a map is a value of another; each has one formula.

    Returns:
        A proof whose counterexample is a pair of coordinates, one of each map.

    >>> from morello_layouts import from_sympy
    >>> even, odd = from_sympy({"k": "N"}, "2*k"), from_sympy({"k": "N"}, "2*k + 1")
    >>> print(are_disjoint(even, odd))
    disjoint for all sizes: they share no value. Decided by ISL.
    >>> are_disjoint(from_sympy({"k": 4}, "2*k"), from_sympy({"k": 3}, "3*k + 1")).counterexample
    ((2,), (1,))
    """
    answer: Proof = _disjoint(one, other, budget=budget)
    return answer


def is_below(m: AffineMap, end: Int, *, budget: int | None = None) -> Proof:
    """Decide whether each value of a map of one formula is at least 0 and below an end.

    >>> from morello_layouts import from_sympy
    >>> print(is_below(from_sympy({"k": "N"}, "2*k"), 9))
    inside iff N <= 5. Counterexample: N = 6 puts (5,) outside. Decided by ISL.
    """
    answer: Proof = _below(m, AffineMap((), (AffineExpr((), end),)), budget=budget)
    return answer


def _spaces(maps: Sequence[AffineMap], context: isl.Context) -> list[Space]:
    numbers: list[Int] = [n for m in maps for n in m.sizes]
    for m in maps:
        numbers += [n for form in m.given for n in _numbers(form)]
    assumed = meet_all(one for m in maps for one in m.assumptions)
    parameters = Parameters.of(numbers, assumed)
    return [Space.of(m.sizes, context, parameters) for m in maps]


def _numbers(form: AffineExpr) -> list[Int]:
    return [SizeExpr.named(name) for name in sorted(form.sizes())]


@ask_isl(DISJOINT)
def _disjoint(one: AffineMap, other: AffineMap, *, context: isl.Context) -> Proof:
    spaces = _spaces((one, other), context)
    images = [
        relation([value_of_form(m.given[0], space).function], space)
        for m, space in zip((one, other), spaces, strict=True)
    ]
    shared = images[0].apply_range(images[1].reverse()).wrap()
    if shared.is_empty():
        return _always(DISJOINT, "they share no value", (one, other))
    if not names_of(one, other):
        at = coordinates_of(shared.flatten().lexmin().sample_point())
        pair = at[: len(one.sizes)], at[len(one.sizes) :]
        reason = f"{pair[0]} and {pair[1]} share the value {one(*pair[0])}"
        return Proof(DISJOINT, False, reason, counterexample=pair)
    proved = SizeSet(spaces[0].sizes.subtract(shared.params()), spaces[0])
    question = SymbolicQuestion(DISJOINT, (one, other), _disjoint, _shares)
    return question.answer(proved, "they share no value")


@ask_isl(INSIDE)
def _below(m: AffineMap, end: AffineMap, *, context: isl.Context) -> Proof:
    last = end.given[0].const
    space, _ = _spaces((m, end), context)
    value = value_of_form(m.given[0], space).function
    above = at_least(value.sub(space.number(last)), 0)
    outside = above.union(at_least(value.neg(), 1)).intersect(space.domain)
    if outside.is_empty():
        return _always(INSIDE, f"each value is from 0 to {last - 1}", (m, end))
    if not names_of(m, end):
        at = coordinates_of(outside.lexmin().sample_point())
        reason = f"{at} has the value {m(*at)}, and the end is {last}"
        return Proof(INSIDE, False, reason, counterexample=at)
    proved = SizeSet(space.sizes.subtract(outside.params()), space)
    question = SymbolicQuestion(INSIDE, (m, end), _below, _leaves)
    return question.answer(proved, f"each value is from 0 to {last - 1}")


def _always(claim: str, reason: str, maps: Sequence[AffineMap]) -> Proof:
    return Proof(claim, True, reason, condition=ALL_SIZES if names_of(*maps) else None)


def _shares(_: Sequence[Any], proof: Proof) -> str:
    one, other = proof.counterexample
    return f"lets {one} and {other} share a value"


def _leaves(_: Sequence[Any], proof: Proof) -> str:
    return f"puts {proof.counterexample} outside"
