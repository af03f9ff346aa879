"""What a few pairs of coordinate and offset tell, and a buffer whose values repeat.

They do not say the digits. So layouts in common use are tried: each order of dimensions, tiles of
its last one or two, tiles of pairs of rows in these, and swizzles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from math import prod
from typing import Any, Final

from morello_layouts.core.checks import shown, whole
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import delinearize
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.recover.functions import table_of
from morello_layouts.outputs.recover.layouts import (
    Found,
    Known,
    Observed,
    has_offsets,
    layout_of,
    read_layout,
)
from morello_layouts.outputs.recover.orders import Order, Part, offset_of
from morello_layouts.outputs.recover.packers import copies_at, spelled

_RANK: Final = 4
"""Dimensions up to which all orders are tried."""

_TILES: Final = (2, 4, 8, 16, 32, 64, 128)
_LOOKED_AT: Final = 64


def of_pairs(pairs: Any, shape: Sequence[int]) -> Known:
    """Return what pairs of coordinate and offset tell, of an array of a shape."""
    given = pairs.items() if isinstance(pairs, Mapping) else pairs
    rows = list[tuple[int, ...]]()
    for pair in given:
        at, offset = pair if isinstance(pair, tuple | list) and len(pair) == 2 else (pair, None)
        row = tuple(whole(x) for x in (at if isinstance(at, tuple | list) else (at,)))
        inside = len(row) == len(shape) and all(
            x is not None and 0 <= x < n for x, n in zip(row, shape, strict=True)
        )
        if not inside or whole(offset) is None:
            raise LayoutError(
                f"expected a coordinate in {'x'.join(map(str, shape))} and its offset, "
                f"got {shown(pair)}",
                "a pair says where one element lies",
                "give for example [((0, 1), 1), ((1, 0), 128)]",
            )
        rows.append((*row, whole(offset)))  # type: ignore[arg-type]
    table = table_of(rows, "the pairs")
    return Known(tuple(shape), tuple(table[:, k] for k in range(len(shape))), table[:, -1])


def held(buffer: Any, array: Any) -> Observed | Known:
    """Return where a buffer holds each element of an array."""
    slots, values = np.asarray(buffer).reshape(-1), np.asarray(array)
    flat = values.reshape(-1)
    types = {x.dtype.type for x in (slots, values)}
    if not values.ndim or not all(
        np.dtype(t).kind in "biuf" or "ml_dtypes" in t.__module__ for t in types
    ):
        raise LayoutError(
            f"the array: expected numbers in one dimension or more, got {shown(array)}",
            "the elements of a buffer are found by their values",
            "give arrays of integers or floats",
        )
    missing = np.flatnonzero(~np.isin(flat, slots)) if flat.size else range(1)
    if len(missing):
        at = delinearize(int(missing[0]), values.shape)
        raise LayoutError(
            f"the buffer: the element at {at} of the array is not in it",
            "a buffer holds each element of its array",
            "give the buffer and its array in one type",
        )
    order = np.argsort(flat, kind="stable")
    if (flat[order[1:]] != flat[order[:-1]]).all():
        which = order[np.minimum(np.searchsorted(flat, slots, sorter=order), flat.size - 1)]
        copies = spelled(np.where(flat[which] == slots, which + 1, 0), flat.size)
        if copies is not None:
            return copies_at(copies, values.shape, len(slots))
    places = tuple(x.reshape(-1) for x in np.indices(values.shape))
    return Known(values.shape, places, flat, slots)


def common(one: Known) -> Iterator[Found]:
    """Yield the layouts in common use that fit, the shortest first.

    Raises:
        LayoutError: if none does.
    """
    few = np.random.default_rng(0).integers(0, len(one.values), _LOOKED_AT)
    sample = Known(one.shape, tuple(x[few] for x in one.places), one.values[few], one.buffer)
    tried, found = 0, list[Found]()
    for tried, order in enumerate(_orders(len(one.shape)), 1):  # noqa: B007
        if all(
            each.fits(offset_of(order, each.shape, each.places) + 0 * each.places[0])
            for each in (sample, one)
        ):
            layout = layout_of(order, len(one.shape))
            if has_offsets(layout, one):
                found.append(Found(layout, len(order), order))
    texts = [*_swizzles(one.shape)]
    layouts = (read_layout(text, "cute") for text in texts)
    found += (
        Found(each, len(one.shape) + 1) for each in layouts if each and has_offsets(each, one)
    )
    if not found:
        raise LayoutError(
            f"none of {tried + len(texts)} layouts in common use fits",
            "few pairs, or values that repeat, do not tell the digits of other layouts",
            "give the offset of each element, or an array of different values, "
            "such as numpy.arange(n).reshape(shape)",
        )
    yield from sorted(found, key=_likely)


def _likely(one: Found) -> tuple[int, int]:
    """Few digits before many, then large tiles before small ones."""
    return one.digits, -prod(part.modulus or 1 for part in one.order or ())


def _orders(rank: int) -> Iterator[Order]:
    dims = range(rank)
    turns = [*permutations(dims)] if rank <= _RANK else [tuple(dims), tuple(dims)[::-1]]
    for turn in turns:
        yield tuple(Part(dim, 1) for dim in turn)
        for n in (*_TILES, 256, 512, 1024):
            yield _tiled(turn, (n,), 1)
        for rows, columns, pair in product(_TILES if rank > 1 else (), (1, *_TILES), (1, 2, 4)):
            if rows % pair == 0 and (columns > 1 or pair == 1):
                yield _tiled(turn, (rows, columns), pair)


def _tiled(turn: Sequence[int], tile: Sequence[int], pair: int) -> Order:
    """The order of tiles of the last dimensions; in them, the rows are in tiles of some each."""
    cut = dict(zip(turn[len(turn) - len(tile) :], tile, strict=True))
    outer = [Part(dim, cut.get(dim, 1)) for dim in turn]
    inner = [Part(dim, 1, n) for dim, n in cut.items() if n > 1]
    if pair > 1:
        row, n = next(iter(cut.items()))
        inner = [Part(row, pair, n // pair), *inner[1:], Part(row, 1, pair)]
    return tuple(part for part in (*outer, *inner) if part.modulus != 1)


def _swizzles(shape: Sequence[int]) -> Iterator[str]:
    """The swizzles of a row-major matrix whose sizes are powers of two."""
    if len(shape) == 2 and prod(shape).bit_count() == 1:
        rows, columns = shape
        for bits, base, shift in product((1, 2, 3), range(6), (2, 3, 4)):
            if shift >= bits:
                yield f"Sw<{bits},{base},{shift}> o 0 o ({rows},{columns}):({columns},1)"
