"""Tables of offsets as users give them, and those of functions of coordinates.

A packer puts an array into a buffer. It is called on the numbers of the elements. If these are not
in what it returns, its items are narrower than they: then each bit of an item is packed for itself,
on and off by the bits of the elements' numbers, so that a bit of the buffer spells the number of
the element that it is of.

A few pairs of coordinate and offset do not say the digits, nor does a buffer whose values repeat.
So layouts in common use are tried: each order of dimensions, tiles of its last one or two, tiles of
pairs of rows in these, and swizzles.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import permutations, product
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.checks import shown, whole
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import delinearize, is_inside
from morello_layouts.errors import LayoutError
from morello_layouts.notations.functions import layout_of_function
from morello_layouts.outputs.recover.layouts import (
    Found,
    Known,
    Observed,
    has_offsets,
    layout_of,
    read_layout,
)
from morello_layouts.outputs.recover.tables import Order, OrderDigit, offset_of

if TYPE_CHECKING:
    from morello_layouts.outputs.recover.tables import Numbers

_TYPES: Final = ("uint8", "uint32", "int32", "int64")
"""The types of arrays that a packer of narrow items is called on."""


def packed(function: Callable[..., Any], shape: Sequence[int], name: str) -> Observed:
    """Return where a function puts the elements of an array of a shape."""
    count = prod(shape)
    numbers = np.arange(1, count + 1).reshape(shape)
    buffer = _call(function, numbers, name).reshape(-1)
    if buffer.dtype.kind not in "iuf":
        raise LayoutError(
            f"{name}: expected an array of integers, got one of {buffer.dtype}",
            "a function that packs an array returns the buffer",
            "let it return the array of what the buffer holds",
        )
    found = spelled(buffer, count)
    again = numbers.reshape(-1)[::-1].reshape(shape)
    if found is not None:
        other = _call(function, again, name).reshape(-1)
        if other.shape == buffer.shape and (other[found] == again.reshape(-1, 1)).all():
            return copies_at(found, shape, len(buffer))
    bits = _bit_by_bit(function, shape, name)
    if bits is not None:
        return bits
    missing = np.flatnonzero(~np.isin(numbers.reshape(-1), buffer))
    at = delinearize(int(missing[0]) if len(missing) else 0, tuple(shape))
    raise LayoutError(
        f"{name}: the element at {at} is not in what it returns",
        "a function that packs an array moves its elements, or each of their bits",
        "give a function from an array to the buffer",
    )


def spelled(numbers: Any, count: int) -> Numbers | None:
    """Return the slots of each element, whose numbers from 1 are in slots.

    None if elements are missing, or have more copies than others.
    """
    slots = np.flatnonzero((numbers > 0) & (numbers <= count))
    each = np.bincount(numbers[slots].astype(np.int64), minlength=count + 1)[1:]
    if not each[0] or (each != each[0]).any():
        return None
    order = np.argsort(numbers[slots], kind="stable")
    return np.asarray(slots[order].reshape(count, each[0]), np.int64)


def copies_at(slots: Numbers, shape: Sequence[int], size: int) -> Observed:
    """Return the table of slots, with a dimension for the copies of an element if it has some."""
    if slots.shape[1] == 1:
        return Observed(slots.reshape(shape), size)
    return Observed(slots.reshape(*shape, -1), size, "copy")


def _bit_by_bit(function: Callable[..., Any], shape: Sequence[int], name: str) -> Observed | None:
    """The slots of the bits of items, for the type of array that fills the buffer the most."""
    found = list[Observed]()
    for kind in _TYPES:
        with suppress(LayoutError):
            one = _bits(function, tuple(shape), np.dtype(kind), name)
            found += [one] if one is not None else []
    return min(found, key=lambda one: (one.size or 0) * (one.bits or 1), default=None)


def _bits(
    function: Callable[..., Any], shape: tuple[int, ...], kind: Any, name: str
) -> Observed | None:
    count = prod(shape)
    numbers = np.arange(1, count + 1).reshape(shape)

    def of(values: Any) -> Any:
        result = np.ascontiguousarray(_call(function, values.astype(kind), name))
        if result.dtype.kind not in "iu":
            raise LayoutError(f"{name}: expected integers, got {result.dtype}")
        return np.unpackbits(result.reshape(-1).view(np.uint8), bitorder="little")

    zero = of(numbers * 0)
    taken, planes = np.zeros(len(zero), bool), list["Numbers"]()
    for bit in range(kind.itemsize * 8):
        numbered = np.zeros(len(zero), np.int64)
        for k in range(count.bit_length()):
            numbered += (of((numbers >> k & 1) << bit) ^ zero).astype(np.int64) << k
        slots = spelled(numbered, count)
        if slots is None or slots.shape[1] > 1 or taken[slots].any():
            break
        taken[slots] = True
        planes.append(slots[:, 0])
    width = len(planes)
    if not width:
        return None
    items = np.random.default_rng(0).integers(0, 1 << min(width, 62), shape)
    expected, slots = zero.copy(), np.stack(planes, -1)
    expected[slots] ^= (items.reshape(-1, 1) >> np.arange(width) & 1).astype(np.uint8)
    if not np.array_equal(of(items), expected):
        return None
    if (slots == slots[:, :1] + np.arange(width)).all() and not (slots[:, 0] % width).any():
        return Observed(slots[:, 0].reshape(shape) // width, len(zero) // width, bits=width)
    return Observed(slots.reshape(*shape, width), len(zero), "bit", 1)


def _call(function: Callable[..., Any], array: Numbers, name: str) -> Any:
    """Call a function that packs an array, which it may not write to."""
    kept = array.copy()
    kept.flags.writeable = False
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(kept))
    except Exception as error:
        changed = array.copy()
        with suppress(Exception):
            function(changed)
        if (written := np.flatnonzero((changed != array).reshape(-1))).size:
            at = delinearize(int(written[0]), array.shape)
            raise LayoutError(
                f"{name} writes to its argument, first at {at}",
                "a function that packs an array returns the buffer",
                "let it change a copy",
            ) from None
        what = f"{name}: {type(error).__name__}: {error}"
        raise LayoutError(what, "it was called on an array of the shape", "correct it") from error


CALLS: Final = 1 << 20
"""Elements for which a function that takes no arrays is called one by one."""

SAMPLES: Final = 16
"""Elements at which a function's values for arrays are compared with those for numbers."""

LARGEST: Final = 1 << 61
"""Offsets are smaller, so that their differences are numbers of 64 bits."""


def table_of(value: Any, what: str = "the table") -> Numbers:
    """Return a table of offsets as an array of 64-bit integers, which is shared if it is one."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.size == 0 or array.ndim == 0:
        raise LayoutError(
            f"{what}: expected the offset of each element, got {shown(value)}",
            "a layout is told by the offsets of elements",
            "give an array of integers with a dimension for each of the array's",
        )
    if array.dtype.kind not in "iu":
        flat = array.reshape(-1)
        k = next((k for k, x in enumerate(flat) if whole(x) is None), None)
        if k is not None:
            at = delinearize(k, array.shape)
            raise LayoutError(
                f"{what}: expected an integer at {at}, got {shown(flat[k])}",
                "an offset is a number of elements from the start of the buffer",
                "give integers; convert with astype(int) if they are whole",
            )
    if not -LARGEST < int(array.min()) <= int(array.max()) < LARGEST:
        raise LayoutError(f"{what}: offsets beyond 2^61", "", "give offsets of a real buffer")
    return array.astype(np.int64, copy=False)


def observed(function: Callable[..., Any], shape: Sequence[int]) -> Observed:
    """Return the offsets that a function gives at a shape.

    A function with a parameter for each dimension takes coordinates, and returns the offset or the
    coordinates in a row-major box. One with one parameter packs an array: it is called on the
    numbers of the elements, and its result in row-major order is the buffer.
    """
    name = getattr(function, "__name__", "the function")
    count = _parameters(function)
    rank = len(shape)
    if count == 1 and (rank != 1 or not _has_formula(function)):
        try:
            return packed(function, shape, name)
        except LayoutError:
            if rank != 1 or not _takes(function, 0):
                raise
    if count in (None, rank):
        return _called(function, shape, name)
    raise LayoutError(
        f"{name}: expected {rank} parameters or one, got {count}",
        "a function takes a coordinate for each dimension, or it takes the array and packs it",
        f"give a shape of {count} sizes, or a function of the array",
    )


def _takes(function: Callable[..., Any], index: int) -> bool:
    with suppress(Exception):
        return whole(function(index)) is not None or isinstance(function(index), tuple | list)
    return False


def _has_formula(function: Callable[..., Any]) -> bool:
    with suppress(LayoutError):
        return bool(layout_of_function(function).forms)
    return False


def _parameters(function: Callable[..., Any]) -> int | None:
    """The number of parameters without defaults; None if it is not known."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_POSITIONAL for each in given):
        return None
    return sum(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in given)


# ---- functions of coordinates


def _called(function: Callable[..., Any], shape: Sequence[int], name: str) -> Observed:
    values = _on_arrays(function, shape)
    if values is None:
        values = _one_by_one(function, shape, name)
    if not isinstance(values, tuple):
        return Observed(values, None)
    sizes = _box(function, shape) or tuple(int(each.max()) + 1 for each in values)
    total = np.zeros(shape, np.int64)
    for each, n in zip(values, sizes, strict=True):
        total = total * n + each
    return Observed(total, prod(sizes))


def _box(function: Callable[..., Any], shape: Sequence[int]) -> tuple[int, ...] | None:
    """The sizes of the box that a function's formulas say, if it can be called on symbols."""
    with suppress(LayoutError):
        found = layout_of_function(function).box(tuple(shape))
        return tuple(n for n in found if isinstance(n, int))
    return None


def _on_arrays(function: Callable[..., Any], shape: Sequence[int]) -> Any:
    """The values for arrays of coordinates, if they are those for numbers; else None."""
    with suppress(Exception), np.errstate(all="raise"):
        result = function(*np.indices(shape, sparse=True))
        several = isinstance(result, tuple | list)
        values = tuple(map(np.asarray, result if several else (result,)))
        if any(each.dtype.kind not in "iu" for each in values):
            return None
        found = tuple(np.broadcast_to(each, shape).astype(np.int64) for each in values)
        random, count = Random(0), prod(shape)
        for k in (0, count - 1, *(random.randrange(count) for _ in range(SAMPLES))):
            at = delinearize(k, tuple(shape))
            try:
                one = function(*at)
            except Exception:  # it takes arrays only
                break
            if tuple(one if several else (one,)) != tuple(int(each[at]) for each in found):
                return None
        return found if several else found[0]
    return None


def _one_by_one(function: Callable[..., Any], shape: Sequence[int], name: str) -> Any:
    """The values for one coordinate after the other; errors name the coordinate."""
    if prod(shape) > CALLS:
        raise LayoutError(
            f"{name}: {prod(shape)} elements, and it takes no arrays of coordinates",
            f"of up to {CALLS} elements each is asked for by itself",
            "give a smaller shape, or a function of NumPy's operators",
        )
    rows = list[tuple[int, ...]]()
    for at in np.ndindex(*shape):
        try:
            result = function(*at)
        except Exception as error:
            what = f"{name}{at}: {type(error).__name__}: {error}"
            raise LayoutError(what, _RULE, "correct it, or give a smaller shape") from error
        several = isinstance(result, tuple | list)
        row = tuple(whole(x) for x in (result if several else (result,)))
        if None in row or (rows and len(row) != len(rows[0])):
            raise LayoutError(
                f"{name}{at}: expected an integer, or several, got {shown(result)}",
                _RULE,
                "compute with //, which rounds down, and return an offset or coordinates",
            )
        rows.append(row)  # type: ignore[arg-type]
    columns = tuple(
        table_of(np.array(each, object).reshape(shape)) for each in zip(*rows, strict=True)
    )
    return columns if several else columns[0]


_RULE: Final = "a function of coordinates gives the offset, or the coordinates in a row-major box"


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
        if not is_inside(row, shape) or whole(offset) is None:
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
            layout = layout_of(order, len(one.shape), [one])
            if layout is not None:
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
        yield tuple(OrderDigit(dim, 1) for dim in turn)
        for n in (*_TILES, 256, 512, 1024):
            yield _tiled(turn, (n,), 1)
        for rows, columns, pair in product(_TILES if rank > 1 else (), (1, *_TILES), (1, 2, 4)):
            if rows % pair == 0 and (columns > 1 or pair == 1):
                yield _tiled(turn, (rows, columns), pair)


def _tiled(turn: Sequence[int], tile: Sequence[int], pair: int) -> Order:
    """The order of tiles of the last dimensions; in them, the rows are in tiles of some each."""
    cut = dict(zip(turn[len(turn) - len(tile) :], tile, strict=True))
    outer = [OrderDigit(dim, cut.get(dim, 1)) for dim in turn]
    inner = [OrderDigit(dim, 1, n) for dim, n in cut.items() if n > 1]
    if pair > 1:
        row, n = next(iter(cut.items()))
        inner = [OrderDigit(row, pair, n // pair), *inner[1:], OrderDigit(row, 1, pair)]
    return tuple(part for part in (*outer, *inner) if part.modulus != 1)


def _swizzles(shape: Sequence[int]) -> Iterator[str]:
    """The swizzles of a row-major matrix whose sizes are powers of two."""
    if len(shape) == 2 and prod(shape).bit_count() == 1:
        rows, columns = shape
        for bits, base, shift in product((1, 2, 3), range(6), (2, 3, 4)):
            if shift >= bits:
                yield f"Sw<{bits},{base},{shift}> o 0 o ({rows},{columns}):({columns},1)"
