"""Tables of offsets as users give them, and those of functions of coordinates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.checks import shown, whole
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import delinearize
from morello_layouts.errors import LayoutError
from morello_layouts.notations.functions import layout_of_function
from morello_layouts.outputs.recover.layouts import Observed
from morello_layouts.outputs.recover.packers import packed

if TYPE_CHECKING:
    from morello_layouts.outputs.recover.tables import Numbers

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
