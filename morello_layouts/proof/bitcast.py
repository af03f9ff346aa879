"""Whether the bytes of one array serve another: what HLO calls a bitcast.

The arrays correspond in some way, row-major at first; then they are compared as two layouts of one
array, one of which is seen through the reshape or transpose between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import numpy as np

from morello_layouts.errors import ShapeError
from morello_layouts.formula import IndexMap
from morello_layouts.proof.condition import NEVER
from morello_layouts.proof.equivalence import are_equivalent
from morello_layouts.proof.proof import AtSizes, Proof
from morello_layouts.proof.ways import Correspondence, Kind, Way, ways

__all__ = ["Bitcast", "Correspondence", "is_bitcast"]

QUESTION = "do the same bytes serve both?"

_CHUNK: Final = 1 << 14  # slots looked at in one go
_MOST_SLOTS: Final = 1 << 22  # slots looked at for the first that differs

_SKIPPED: Final = (
    "a way was not looked at, since it would split a symbolic size or there are too many"
)

_SAID: Final[dict[Kind, str]] = {
    "same": "the layouts are the same",
    "retile": "the tiles or the order differ, and every element has the same slot",
    "reshape": "the reshape moves nothing",
    "transpose": "the transpose moves nothing",
    "padding": "every element has the same slot, and padding is exposed or hidden",
    "copy": "elements move",
    "unknown": "not decided",
}


@dataclass(frozen=True, slots=True)
class Bitcast(Proof):
    """The answer to whether the bytes of one array serve another.

    Attributes:
        kind: ``"same"``; ``"retile"``, another layout with the same slots; ``"reshape"`` or
            ``"transpose"``, which are free; ``"padding"``, where one array or buffer is larger;
            ``"copy"``, where elements move; ``"unknown"`` where it was not decided.
        correspondence: how elements correspond, in words.
        slot: of a copy, the first slot that holds something else; at the counterexample's sizes
            where they are symbolic.
        memory_spaces: the memory spaces of both, where text names them. They do not decide.

    >>> from morello_layouts import is_bitcast
    >>> is_bitcast("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}").kind
    'reshape'
    """

    kind: Kind = "unknown"
    correspondence: str = "row-major"
    slot: int | None = None
    memory_spaces: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        own = {
            "kind": self.kind,
            "correspondence": self.correspondence,
            "slot": self.slot,
            "memory_spaces": self.memory_spaces and list(self.memory_spaces),
        }
        return Proof.to_dict(self) | own


def is_bitcast(
    a: IndexMap,
    b: IndexMap,
    correspondence: Correspondence = "row-major",
    *,
    budget: int | None = None,
) -> Bitcast:
    """Whether every element of b has the slot of the element of a that it corresponds to.

    Raises:
        LayoutError: where the correspondence is none.
        ShapeError: where the shapes do not correspond that way.
    """
    if prod(a.recipe.shape) == prod(b.recipe.shape) == 0:
        return Bitcast(QUESTION, True, "the arrays have no elements", kind="same")
    best: tuple[int, Way, Proof] | None = None
    skipped = False
    for way in ways(a, b, correspondence):
        if way is None:
            skipped = True
            continue
        same = are_equivalent(way.first, way.second, budget=budget)
        if way.also is not None:
            # Both are the array in row-major order, or nothing is known of this way.
            both = same.holds and are_equivalent(*way.also, budget=budget).holds
            if not both:
                skipped = True
                continue
        if best is None or _rank(same) > best[0]:
            best = (_rank(same), way, same)
        if same.holds:
            break
    if best is None:
        if skipped:
            return Bitcast(QUESTION, None, _SKIPPED)
        raise ShapeError(
            f"arrays of the shapes {a.shape} and {b.shape} do not correspond",
            "a bitcast keeps the number of elements, or the buffer and all dimensions but padding",
            'name a transpose, or ask with correspondence="any"',
        )
    _, way, same = best
    if correspondence == "any" and not same.holds and (a.recipe.names or b.recipe.names):
        return _at_some_sizes(a, b, way, same, budget)
    if skipped and not same.holds:
        # A way that was not looked at may be free.
        return Bitcast(QUESTION, None, _SKIPPED, correspondence=way.words)
    return _answer(way, same)


def _at_some_sizes(a: IndexMap, b: IndexMap, way: Way, same: Proof, budget: int | None) -> Bitcast:
    """What can be said of any way for all sizes: for other sizes another way may be free."""
    reason = "which way is free may depend on the sizes"
    if same.when not in {None, NEVER}:
        reason = f"certainly {str(same.when).removeprefix('exactly ')}, other sizes are open"
    if isinstance(same.counterexample, AtSizes):
        sizes = same.counterexample.sizes
        one, other = (m.at(**{n: sizes[n] for n in m.recipe.names if n in sizes}) for m in (a, b))
        there = is_bitcast(one, other, "any", budget=budget)
        if there.holds is False:
            words = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            at = AtSizes(sizes, there.counterexample)
            return replace(there, reason=f"{reason}; at {words}: {there.reason}", counterexample=at)
    return Bitcast(QUESTION, None, reason, correspondence=way.words)


def _rank(answer: Proof) -> int:
    """Which of several answers says most: free, free for some sizes, undecided, a copy."""
    if answer.holds is not False:
        return 3 if answer.holds else 1
    return 2 if _for_some_sizes(answer) else 0


def _for_some_sizes(answer: Proof) -> bool:
    open_for_some = answer.when is None and isinstance(answer.counterexample, AtSizes)
    return answer.holds is False and (open_for_some or answer.when not in {None, NEVER})


def _answer(way: Way, same: Proof) -> Bitcast:
    kind = way.kind
    if same.holds is False and not _for_some_sizes(same):
        kind = "copy"
    elif same.holds and way.also is None and way.first.recipe.size != way.second.recipe.size:
        kind = "padding"
    slot = _first_slot(way, same) if same.holds is False else None
    reason = _SAID[kind] if same.holds or kind == "copy" else f"if free: {_SAID[kind]}"
    if slot is not None:
        reason += f"; slot {slot} is the first that holds something else"
    values = {f: getattr(same, f) for f in Proof.__dataclass_fields__}
    values |= {"question": QUESTION, "reason": f"{reason} ({same.reason})"}
    return Bitcast(**values, kind=kind, correspondence=way.words, slot=slot)


def _first_slot(way: Way, same: Proof) -> int | None:
    """The first slot at which the buffers hold different elements, or one of them padding."""
    first, second = way.first, way.second
    if isinstance(same.counterexample, AtSizes):
        sizes = same.counterexample.sizes
        first, second = (m.at(**{n: sizes[n] for n in m.recipe.names}) for m in (first, second))
    if first.recipe.names or second.recipe.names:
        return None
    end = min(first.size, second.size, _MOST_SLOTS)
    for start in range(0, end, _CHUNK):
        slots = np.arange(start, min(start + _CHUNK, end))
        pairs = zip(first.coordinates(slots), second.coordinates(slots), strict=True)
        wrong = np.zeros(len(slots), bool)
        for x, y in pairs:
            wrong |= x != y
        if wrong.any():
            return start + int(wrong.argmax())
    return None
