"""Decide by a certificate where ISL is not installed, and elements are too many to be counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from itertools import islice
from typing import Final

from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.limits import PROOF_SAMPLES
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import UnsupportedError
from morello_layouts.proof import bijective, equivalent
from morello_layouts.proof.ask import AnyMap, Decide, isl_budget, names_of, small_sizes
from morello_layouts.proof.certificate import certificate_of_equality, certificate_of_map
from morello_layouts.proof.verdict import Proof, SymbolicCounterexample

DECIDER: Final = "a certificate"


def has_isl() -> bool:
    """Return whether ISL is installed."""
    with isl_budget() as context:
        return context is not None


def _or_certified(decide: Decide, certified: Decide) -> Decide:
    @wraps(decide)
    def ask(*maps: AnyMap, budget: int | None = None, **how: bool) -> Proof:
        answer = decide(*maps, budget=budget, **how)
        if answer.holds is None and not has_isl():
            with suppress(UnsupportedError):  # there is none
                found = certified(*maps)
                return replace(found, claim=answer.claim, assumptions=answer.assumptions)
        return answer

    return ask


def _injective(m: AnyMap) -> Proof:
    certificate_of_map(m, "injective")
    return Proof("injective", True, "no two coordinates share an offset", DECIDER)


def _padded(m: AnyMap) -> Proof:
    """Return whether a map without collisions reaches all slots: their number tells."""
    if m.recipe is None:
        certificate_of_map(m, "bijective")
        return Proof("bijective", True, "injective, and all slots hold an element", DECIDER)
    certificate_of_map(m, "padded")
    found = Proof("bijective", True, "injective, and all slots hold an element", DECIDER)
    if m.unused == 0:
        return replace(found, unused=0)
    if not names_of(m):
        reason = f"injective, but {m.unused} of {m.recipe.size} slots are padding"
        return replace(found, holds=False, reason=reason, unused=m.unused)
    at = next(_sizes_with_padding(m), None)
    reason = "injective for all sizes, but not without padding"
    return replace(found, holds=None if at is None else False, reason=reason, counterexample=at)


def _sizes_with_padding(m: IndexMap) -> Iterator[SymbolicCounterexample]:
    names = names_of(m)
    for sizes in islice(small_sizes(names, meet_all(m.assumptions)), PROOF_SAMPLES):
        (padding,) = known((m.at(**sizes).unused,))
        if padding:
            yield SymbolicCounterexample(sizes, None, f"leaves {padding} slots of padding")


def _equivalent(a: AnyMap, b: AnyMap) -> Proof:
    certificate_of_equality(a, b)
    return Proof("equivalent", True, "every coordinate has the same offset", DECIDER)


is_injective = _or_certified(bijective.is_injective, _injective)
is_surjective = _or_certified(bijective.is_surjective, _padded)
is_bijective = _or_certified(bijective.is_bijective, _padded)
are_equivalent = _or_certified(equivalent.are_equivalent, _equivalent)
