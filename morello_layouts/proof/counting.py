"""Count elements and slots one by one, in plain integers: what decides where ISL is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import product
from math import prod
from typing import Any

from morello_layouts.lazy import NotInstalledError
from morello_layouts.limits import PROOF_COUNTED
from morello_layouts.maps import IndexMap
from morello_layouts.proof.ask import AnyMap, names_of, sizes_of
from morello_layouts.proof.verdict import Proof
from morello_layouts.recipe import known, offset_of
from morello_layouts.recipe.columns import Column, filled

_DECIDER = "counting"


def counted_without_isl(decide: Callable[..., Proof]) -> Callable[..., Proof]:
    """Make a decision count where ISL or NumPy is not installed, if elements are few."""

    @wraps(decide)
    def ask(*maps: AnyMap, context: Any) -> Proof:
        try:
            return decide(*maps, context=context)
        except NotInstalledError:
            found = None if len(maps) > 1 else counted(maps[0])
            equal = _counted_equal(*maps) if len(maps) == 2 else None
            if equal is not None:
                return equal
            if found is None:
                raise
            injective, surjective = found
            claim = decide.__name__.removeprefix("is_")
            if claim == injective.claim or (claim != surjective.claim and not injective.holds):
                return replace(injective, claim=claim)
            joined = "" if claim == surjective.claim else "injective, "
            joined += "" if not joined else "and " if surjective.holds else "but "
            return replace(surjective, claim=claim, reason=f"{joined}{surjective.reason}")

    return ask


def counted(m: AnyMap) -> tuple[Proof, Proof] | None:
    """Return whether a map is injective, and surjective; None if there is too much to count."""
    size = m.recipe.size if isinstance(m, IndexMap) else m.buffer_size or 0
    is_placed_once = not isinstance(m, IndexMap) or m.recipe.replicas == 1
    if names_of(m) or not is_placed_once:
        return None
    shape, (slots,) = known(sizes_of(m)), known((size,))
    if max(prod(shape), slots) > PROOF_COUNTED:
        return None
    places = list(product(*map(range, shape)))
    offsets = _offsets(m, places)
    holder: dict[Any, tuple[int, ...]] = {}
    injective = Proof("injective", True, "no two coordinates share an offset", _DECIDER)
    for at, offset in zip(places, offsets, strict=True):
        first = holder.setdefault(offset, at)
        if first != at and injective.holds:
            reason = f"{first} and {at} share an offset"
            injective = replace(injective, holds=False, reason=reason, counterexample=(first, at))
    return injective, _surjective(holder, slots)


def _counted_equal(a: AnyMap, b: AnyMap) -> Proof | None:
    """Return whether two maps of one array agree at each coordinate; None if there are too many."""
    if names_of(a, b) or sizes_of(a) != sizes_of(b) or prod(known(sizes_of(a))) > PROOF_COUNTED:
        return None
    places = list(product(*map(range, known(sizes_of(a)))))
    for at, one, other in zip(places, _offsets(a, places), _offsets(b, places), strict=True):
        if one != other:
            reason = f"{at} has offsets {one} and {other}"
            return Proof("equivalent", False, reason, _DECIDER, counterexample=at)
    return Proof("equivalent", True, "every coordinate has the same offset", _DECIDER)


def _offsets(m: AnyMap, places: list[tuple[int, ...]]) -> list[Any]:
    at: Any = [Column(line) for line in zip(*places, strict=True)]
    if isinstance(m, IndexMap):
        return filled(offset_of(m.recipe, at, 0), len(places)) if places else []
    names = {f"d{k}": x for k, x in enumerate(at)}
    lines = [filled(form.evaluate(names), len(places)) for form in m.given]
    return lines[0] if len(lines) == 1 else list(zip(*lines, strict=True))


def _surjective(holder: dict[Any, tuple[int, ...]], slots: int) -> Proof:
    outside = next((at for p, at in holder.items() if not 0 <= p < slots), None)
    if outside is not None:
        reason = f"{outside} is outside the buffer"
        return Proof("surjective", False, reason, _DECIDER, counterexample=outside)
    padding = slots - len(holder)
    if padding:
        first = next(p for p in range(slots) if p not in holder)
        reason = f"{padding} of {slots} slots are padding (first: {first})"
        return Proof("surjective", False, reason, _DECIDER, counterexample=first, unused=padding)
    reason = f"all {slots} slots hold an element"
    return Proof("surjective", True, reason, _DECIDER, unused=0)
