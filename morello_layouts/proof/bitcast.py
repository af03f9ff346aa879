"""Decide whether the same bytes serve two arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr.sizes import Int, is_nonnegative
from morello_layouts.maps import IndexMap
from morello_layouts.maps.index_map import coordinate_variables, reshape_view
from morello_layouts.proof.conditions import NEVER
from morello_layouts.proof.equivalent import are_equivalent
from morello_layouts.proof.proof import Proof, SymbolicCounterexample
from morello_layouts.recipe import Pad, Recipe
from morello_layouts.recipe.digits import major_order

Kind: TypeAlias = Literal["same", "retile", "reshape", "transpose", "padding", "copy", "unknown"]

Correspondence: TypeAlias = 'Literal["row-major", "any"] | Sequence[int]'
"""How elements of two arrays correspond: row-major, by a transpose, or in any way that is free."""

_MOST_ORDERS: Final = 120
"""Transposes that fit the sizes that are asked about."""


@dataclass(frozen=True)
class Way:
    """Two layouts of one array, and how the array became the second one.

    Attributes:
        first, second: the layouts; the bytes serve both where they are equivalent.
        kind: what it is where they are.
        words: how elements correspond.
        also: another pair that must be equivalent, too.
    """

    first: IndexMap
    second: IndexMap
    kind: Kind
    words: str
    also: tuple[IndexMap, IndexMap] | None = None


def ways(a: IndexMap, b: IndexMap, correspondence: Correspondence) -> Iterator[Way | None]:
    """The ways that are asked for, the simplest first; None stands for one that is not looked at.

    Raises:
        LayoutError: where the correspondence is none.
        ShapeError: where a transpose does not fit the shapes.
    """
    if isinstance(correspondence, str):
        if correspondence not in ("row-major", "any"):
            raise _no_correspondence(correspondence)
        yield from _row_major(a, b)
        if correspondence == "any":
            yield from _in_memory_order(a, b)
            yield from _transposed(a, b)
        return
    order = _order(correspondence, len(a.recipe.shape))
    moved = tuple(a.recipe.shape[dim] for dim in order)
    if moved != b.recipe.shape:
        raise ShapeError(
            f"the transpose {list(order)} makes the shape ({', '.join(map(str, moved))})",
            f"the other one has the shape {b.shape}",
            "give the order that leads to it, or reshape first",
        )
    yield Way(a, reshape_view(b, a.recipe.shape, order), "transpose", f"transpose {list(order)}")


def _order(given: object, rank: int) -> tuple[int, ...]:
    order = tuple(given) if isinstance(given, list | tuple) else (None,)
    if not all(type(dim) is int for dim in order):
        raise _no_correspondence(given)
    if sorted(order) != list(range(rank)):
        raise ShapeError(
            f"{order} is no order of {rank} dimensions",
            "a transpose names each dimension once, from 0",
            f"give for example {tuple(reversed(range(rank)))}",
        )
    return order


def _no_correspondence(given: object) -> LayoutError:
    return LayoutError(
        f"no correspondence is named {given!r}",
        "elements correspond row-major, by a transpose, or in any way that is free",
        'give "row-major", "any", or an order of dimensions such as (1, 0)',
    )


def _row_major(a: IndexMap, b: IndexMap) -> Iterator[Way | None]:
    one, other = a.recipe.shape, b.recipe.shape
    if one == other:
        kind: Kind = "same" if a.recipe == b.recipe else "retile"
        yield Way(a, b, kind, "the same coordinates")
    elif prod(one) == prod(other) != 0:
        yield _reshaped(a, b, "reshape", "row-major")
    elif len(one) == len(other) and a.recipe.size == b.recipe.size:
        # Of buffers of one size, what one array has more is padding of the other.
        small = _smaller(one, other)
        if small is not None:
            yield Way(_cropped(a, small), _cropped(b, small), "padding", "the same coordinates")


def _reshaped(a: IndexMap, b: IndexMap, kind: Kind, words: str) -> Way | None:
    """Both as layouts of one array, of whichever shape the other can be seen from."""
    for first, second in ((a, b), (b, a)):
        try:
            seen = reshape_view(second, first.recipe.shape)
        except UnsupportedError:  # it would split a symbolic size
            continue
        return Way(a, seen, kind, words) if first is a else Way(seen, b, kind, words)
    flat = _flat(prod(a.recipe.shape))
    try:
        one, other = (reshape_view(flat, m.recipe.shape) for m in (a, b))
    except UnsupportedError:
        return None
    return Way(a, one, kind, words, also=(b, other))


def _flat(count: Int) -> IndexMap:
    (d0,) = coordinate_variables((count,))
    return IndexMap(Recipe((count,)), d0, f"[{count}]")


def _smaller(one: Sequence[Int], other: Sequence[Int]) -> tuple[Int, ...] | None:
    """The shape that is not larger along any dimension."""
    for small, large in ((one, other), (other, one)):
        if all(is_nonnegative(m - n) for n, m in zip(small, large, strict=True)):
            return tuple(small)
    return None


def _cropped(m: IndexMap, shape: tuple[Int, ...]) -> IndexMap:
    """The index map on the first elements along each dimension."""
    if m.recipe.shape == shape:
        return m
    steps = (Pad(m.recipe.shape), *m.recipe.steps)
    return replace(m, recipe=Recipe(shape, steps, m.recipe.tail_padding))


def _in_memory_order(a: IndexMap, b: IndexMap) -> Iterator[Way | None]:
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
    return reshape_view(m, shape, back)


def _transposed(a: IndexMap, b: IndexMap) -> Iterator[Way | None]:
    """Every transpose that fits, dimensions of size 1 aside."""
    wide = [k for k, n in enumerate(a.recipe.shape) if n != 1]
    narrow = [k for k, n in enumerate(a.recipe.shape) if n == 1]
    target = [n for n in b.recipe.shape if n != 1]
    if len(wide) != len(target):
        return
    orders = _orders(wide, target, a.recipe.shape)
    for order in islice(orders, _MOST_ORDERS):
        if list(order) != wide:
            words = f"transpose {[*narrow, *order]}, unit sizes aside"
            yield _reshaped(_in_order(a, (*narrow, *order)), b, "transpose", words)
    if next(orders, None) is not None:
        yield None


def _orders(
    dims: Sequence[int], target: Sequence[Int], shape: Sequence[Int]
) -> Iterator[tuple[int, ...]]:
    """The orders of dimensions that have the target's sizes."""
    if not target:
        yield ()
        return
    for dim in dims:
        if shape[dim] == target[0]:
            rest = [other for other in dims if other != dim]
            for order in _orders(rest, target[1:], shape):
                yield (dim, *order)


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
    if isinstance(same.counterexample, SymbolicCounterexample):
        sizes = same.counterexample.sizes
        one, other = (m.at(**{n: sizes[n] for n in m.recipe.names if n in sizes}) for m in (a, b))
        there = is_bitcast(one, other, "any", budget=budget)
        if there.holds is False:
            words = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            at = SymbolicCounterexample(sizes, there.counterexample)
            return replace(there, reason=f"{reason}; at {words}: {there.reason}", counterexample=at)
    return Bitcast(QUESTION, None, reason, correspondence=way.words)


def _rank(answer: Proof) -> int:
    """Which of several answers says most: free, free for some sizes, undecided, a copy."""
    if answer.holds is not False:
        return 3 if answer.holds else 1
    return 2 if _for_some_sizes(answer) else 0


def _for_some_sizes(answer: Proof) -> bool:
    open_for_some = answer.when is None and isinstance(
        answer.counterexample, SymbolicCounterexample
    )
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
    if isinstance(same.counterexample, SymbolicCounterexample):
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
