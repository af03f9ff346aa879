"""The ways in which elements of two arrays may correspond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Final, Literal, TypeAlias

from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr.size import Number, is_nonnegative
from morello_layouts.formula import IndexMap
from morello_layouts.formula.index_map import coordinates_of
from morello_layouts.formula.view import viewed
from morello_layouts.recipe import Pad, Recipe
from morello_layouts.recipe.order import major_order

__all__ = ["Correspondence", "Kind", "Way", "ways"]

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
    yield Way(a, viewed(b, a.recipe.shape, order), "transpose", f"transpose {list(order)}")


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
            seen = viewed(second, first.recipe.shape)
        except UnsupportedError:  # it would split a symbolic size
            continue
        return Way(a, seen, kind, words) if first is a else Way(seen, b, kind, words)
    flat = _flat(prod(a.recipe.shape))
    try:
        one, other = (viewed(flat, m.recipe.shape) for m in (a, b))
    except UnsupportedError:
        return None
    return Way(a, one, kind, words, also=(b, other))


def _flat(count: Number) -> IndexMap:
    (d0,) = coordinates_of((count,))
    return IndexMap(Recipe((count,)), d0, f"[{count}]")


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
    return viewed(m, shape, back)


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
    dims: Sequence[int], target: Sequence[Number], shape: Sequence[Number]
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
