"""Whether the bytes of one array serve another: what HLO calls a bitcast.

The arrays correspond in some way, row-major at first; then they are compared as two layouts of one
array, one of which is seen through the reshape or transpose between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, permutations
from math import prod
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr.size import Number, is_nonnegative
from morello_layouts.formula import IndexMap
from morello_layouts.formula.view import viewed
from morello_layouts.proof.condition import NEVER
from morello_layouts.proof.equivalence import are_equivalent
from morello_layouts.proof.proof import AtSizes, Proof
from morello_layouts.recipe import Pad, Recipe
from morello_layouts.recipe.order import major_order

__all__ = ["Bitcast", "Correspondence", "is_bitcast"]

Kind: TypeAlias = Literal["same", "retile", "reshape", "transpose", "padding", "copy"]

Correspondence: TypeAlias = 'Literal["row-major", "any"] | Sequence[int]'
"""How elements of two arrays correspond: row-major, by a transpose, or in any way that is free."""

QUESTION = "do the same bytes serve both?"

_CHUNK: Final = 1 << 14  # slots looked at in one go
_MOST_SLOTS: Final = 1 << 22  # slots looked at for the first that differs
_MOST_ORDERS: Final = 720

_SAID: Final[dict[Kind, str]] = {
    "same": "the layouts are the same",
    "retile": "the tiles or the order differ, and every element has the same slot",
    "reshape": "the reshape moves nothing",
    "transpose": "the transpose moves nothing",
    "padding": "every element has the same slot, and padding is exposed or hidden",
    "copy": "elements move",
}


@dataclass(frozen=True, slots=True)
class Bitcast(Proof):
    """The answer to whether the bytes of one array serve another.

    Attributes:
        kind: ``"same"``; ``"retile"``, another layout with the same slots; ``"reshape"`` or
            ``"transpose"``, which are free; ``"padding"``, where one array or buffer is larger;
            ``"copy"``, where elements move.
        correspondence: how elements correspond, in words.
        slot: of a copy, the first slot that holds something else; at the counterexample's sizes
            where they are symbolic.
        memory_spaces: the memory spaces of both, where text names them. They do not decide.

    >>> from morello_layouts import is_bitcast
    >>> is_bitcast("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}").kind
    'reshape'
    """

    kind: Kind = "copy"
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


@dataclass(frozen=True)
class _Pair:
    """Two layouts of one array, and how the array became the second one."""

    first: IndexMap
    second: IndexMap
    kind: Kind
    correspondence: str


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
    best: Bitcast | None = None
    for pair in _pairs(a, b, correspondence):
        found = _answer(pair, are_equivalent(pair.first, pair.second, budget=budget))
        if best is None or _rank(found) > _rank(best):
            best = found
        if best.holds:
            return best
    if best is None:
        raise ShapeError(
            f"arrays of the shapes {a.shape} and {b.shape} do not correspond",
            "a bitcast keeps the number of elements, or the buffer and all dimensions but padding",
            'name a transpose, or ask with correspondence="any"',
        )
    return best


def _rank(answer: Bitcast) -> int:
    """Which of several answers says most: free, free for some sizes, undecided, a copy."""
    if answer.holds is not False:
        return 3 if answer.holds else 1
    return 2 if _for_some_sizes(answer) else 0


def _for_some_sizes(answer: Proof) -> bool:
    open_for_some = answer.when is None and isinstance(answer.counterexample, AtSizes)
    return answer.holds is False and (open_for_some or answer.when not in {None, NEVER})


def _pairs(a: IndexMap, b: IndexMap, correspondence: Correspondence) -> Iterator[_Pair]:
    """The ways to take that are asked for, the simplest first."""
    if isinstance(correspondence, str):
        if correspondence not in ("row-major", "any"):
            raise LayoutError(
                f"no correspondence is named {correspondence!r}",
                "elements correspond row-major, by a transpose, or in any way that is free",
                'give "row-major", "any", or an order of dimensions such as (1, 0)',
            )
        if correspondence == "row-major":
            yield from _row_major(a, b)
            return
        for ways in (_row_major, _in_memory_order, _transposed):
            # A reshape that would split a symbolic size is no way that is looked at.
            with suppress(UnsupportedError):
                yield from ways(a, b)
        return
    order = tuple(correspondence)
    yield _Pair(a, viewed(b, a.recipe.shape, order), "transpose", f"transpose {list(order)}")


def _row_major(a: IndexMap, b: IndexMap) -> Iterator[_Pair]:
    one, other = a.recipe.shape, b.recipe.shape
    if one == other:
        kind: Kind = "same" if a.recipe == b.recipe else "retile"
        yield _Pair(a, b, kind, "the same coordinates")
    elif prod(one) == prod(other) != 0:
        yield _reshaped(a, b, "reshape", "row-major")
    elif len(one) == len(other) and a.recipe.size == b.recipe.size:
        # Of buffers of one size, what one array has more is padding of the other.
        small = _smaller(one, other)
        if small is not None:
            yield _Pair(_cropped(a, small), _cropped(b, small), "padding", "the same coordinates")


def _reshaped(a: IndexMap, b: IndexMap, kind: Kind, how: str) -> _Pair:
    """Both as layouts of one array, of whichever shape the other can be seen from."""
    try:
        return _Pair(a, viewed(b, a.recipe.shape), kind, how)
    except UnsupportedError:
        return _Pair(viewed(a, b.recipe.shape), b, kind, how)


def _smaller(one: Sequence[Number], other: Sequence[Number]) -> tuple[Number, ...] | None:
    """The shape that is not larger along any dimension."""
    for small, large in ((one, other), (other, one)):
        if all(is_nonnegative(m - n) for n, m in zip(small, large, strict=True)):
            return tuple(small)
    return None


def _cropped(m: IndexMap, shape: tuple[Number, ...]) -> IndexMap:
    """The index map on the first elements along each dimension."""
    if m.recipe.shape == shape:
        return m
    steps = (Pad(m.recipe.shape), *m.recipe.steps)
    return replace(m, recipe=Recipe(shape, steps, m.recipe.tail_padding))


def _in_memory_order(a: IndexMap, b: IndexMap) -> Iterator[_Pair]:
    """Both arrays with their dimensions as they come in memory, one reshaped to the other."""
    if prod(a.recipe.shape) != prod(b.recipe.shape) or not a.recipe.shape or not b.recipe.shape:
        return
    orders = [major_order(m.recipe) for m in (a, b)]
    if all(order == tuple(range(len(order))) for order in orders):
        return
    first, second = (_in_order(m, order) for m, order in zip((a, b), orders, strict=True))
    words = " and ".join(str(list(order)) for order in orders)
    yield _reshaped(first, second, "transpose", f"dimensions in the orders {words}, then row-major")


def _in_order(m: IndexMap, order: Sequence[int]) -> IndexMap:
    shape = tuple(m.recipe.shape[dim] for dim in order)
    back = tuple(order.index(dim) for dim in range(len(order)))
    return viewed(m, shape, back)


def _transposed(a: IndexMap, b: IndexMap) -> Iterator[_Pair]:
    """Every transpose that fits, dimensions of size 1 aside."""
    wide = [k for k, n in enumerate(a.recipe.shape) if n != 1]
    narrow = [k for k, n in enumerate(a.recipe.shape) if n == 1]
    target = [n for n in b.recipe.shape if n != 1]
    for order in islice(permutations(wide), _MOST_ORDERS):
        if list(order) == wide or [a.recipe.shape[k] for k in order] != target:
            continue
        moved = _in_order(a, (*narrow, *order))
        yield _reshaped(moved, b, "transpose", f"transpose {[*narrow, *order]}, unit sizes aside")


def _answer(pair: _Pair, same: Proof) -> Bitcast:
    kind = pair.kind
    if same.holds is False and not _for_some_sizes(same):
        kind = "copy"
    elif same.holds and pair.first.recipe.size != pair.second.recipe.size:
        kind = "padding"
    slot = _first_slot(pair, same) if same.holds is False else None
    reason = _SAID[kind] if same.holds or kind == "copy" else f"if free: {_SAID[kind]}"
    if slot is not None:
        reason += f"; slot {slot} is the first that holds something else"
    values = {f: getattr(same, f) for f in Proof.__dataclass_fields__}
    values |= {"question": QUESTION, "reason": f"{reason} ({same.reason})"}
    return Bitcast(**values, kind=kind, correspondence=pair.correspondence, slot=slot)


def _first_slot(pair: _Pair, same: Proof) -> int | None:
    """The first slot at which the buffers hold different elements, or one of them padding."""
    first, second = pair.first, pair.second
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
