"""Equality of layouts whose axes have names: equal offsets are equal places only on equal axes.

A lane of 64 with one register, and lanes of 32 with two, count the same offsets in another way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from morello_layouts.lazy import numpy as np
from morello_layouts.limits import PROOF_FIRST
from morello_layouts.maps import IndexMap
from morello_layouts.proof.ask import AnyMap
from morello_layouts.proof.verdict import Proof
from morello_layouts.recipe import Recipe, elements_at, known


def with_places(answer: Proof, a: AnyMap, b: AnyMap) -> Proof:
    """Return a proof that offsets are equal, or what refutes it for places on different axes.

    Axes of one value change no place: the only warp may be named or not.
    """
    if not (answer.holds and isinstance(a, IndexMap) and isinstance(b, IndexMap)):
        return answer
    one, other = a.recipe, b.recipe
    if have_equal_axes(one, other):
        return answer
    if one.names or other.names:
        return Proof(answer.claim, None, "the axes differ")
    size = min(known((one.size, other.size)))
    slots = np.arange(min(size, PROOF_FIRST))
    at, there = elements_at(one, slots)
    first, second = _places(one, slots), _places(other, slots)
    none = np.zeros_like(slots)
    wrong = np.zeros(slots.shape, bool)
    for name in {*first, *second}:
        wrong |= there & (first.get(name, none) != second.get(name, none))
    if wrong.any():
        k = int(wrong.argmax())
        found = tuple(int(np.broadcast_to(x, slots.shape)[k]) for x in at)
        texts = (
            ", ".join(f"{name} {x[k]}" for name, x in places.items()) for places in (first, second)
        )
        reason = f"{found} is at {' and at '.join(texts)}"
        return replace(
            answer, holds=False, reason=reason, decider="evaluation", counterexample=found
        )
    return answer if size <= PROOF_FIRST else Proof(answer.claim, None, "the axes differ")


def have_equal_axes(one: Recipe, other: Recipe) -> bool:
    """Whether equal offsets are equal places: one has no named axes, or both have the same."""
    axes = (zip(r.axis_names, r.physical_shape, strict=True) for r in (one, other) if r.axis_names)
    return len({tuple(pair for pair in pairs if pair[1] != 1) for pairs in axes}) < 2


def _places(recipe: Recipe, slots: Any) -> dict[str, Any]:
    """The coordinates of slots along the axes of more than one value, by name."""
    sizes = known(recipe.physical_shape)
    at = np.unravel_index(np.minimum(slots, int(np.prod(sizes)) - 1), sizes)
    named = zip(recipe.axis_names, at, sizes, strict=True)
    return {name: x for name, x, n in named if n != 1}
