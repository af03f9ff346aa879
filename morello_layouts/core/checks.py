"""Validate the integers, arrays and sizes that users pass."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from morello_layouts.core.lazy import numpy as np
from morello_layouts.errors import LayoutError, ShapeError

_INT64_END: Final = 2**63

LARGEST: Final = _INT64_END - 1
"""The largest signed 64-bit integer."""

Part: TypeAlias = tuple[str | int, ...]
"""The place of a part in a value, such as ``("tiles", 0, 1)``."""


def checked_coordinate(
    coordinate: Sequence[Any], shape: Sequence[int], size: int, names: Sequence[str] = ()
) -> tuple[Any, ...]:
    """Return a coordinate as ints, or as arrays of integers that hold every offset of a buffer.

    Errors call the dimensions by their names, if they have some.
    """
    if len(coordinate) != len(shape):
        raise ShapeError(
            f"a coordinate: expected {len(shape)} numbers, got {len(coordinate)}",
            f"the array has the shape {tuple(shape)}",
            "give one coordinate for each dimension",
        )
    if not all(type(x) is int for x in coordinate):
        numbers = [whole(x) for x in coordinate]
        coordinate = [x if n is None else n for x, n in zip(coordinate, numbers, strict=True)]
    if all(type(x) is int for x in coordinate):
        for k, (x, n) in enumerate(zip(coordinate, shape, strict=True)):
            require_inside(k, n, x, x, names)
        return tuple(coordinate)
    arrays = [as_integers(x, f"coordinate {k}", size) for k, x in enumerate(coordinate)]
    if all(x.ndim == 0 for x in arrays):
        return checked_coordinate([int(x) for x in arrays], shape, size, names)
    for k, (x, n) in enumerate(zip(arrays, shape, strict=True)):
        if x.size:
            require_inside(k, n, int(x.min()), int(x.max()), names)
    try:
        np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise ShapeError(
            f"coordinates of the shapes {', '.join(str(x.shape) for x in arrays)}",
            "arrays of coordinates broadcast against each other, as NumPy's do",
            "give arrays of one shape",
        ) from None
    return tuple(arrays)


def as_index(value: Any) -> int:
    """Return a value of any integer type but bool as an int."""
    number = whole(value)
    if number is None:
        raise LayoutError(
            f"{value!r} is not an integer",
            "coordinates and offsets count elements",
            "give an int, or an integer array",
        )
    return number


def as_integers(value: Any, what: str, size: int) -> Any:
    """Return an integer array that holds every offset of a buffer of the size without overflow."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iu" and not all(
        isinstance(x, int | np.integer) for x in array.flat
    ):
        raise LayoutError(
            f"{what} is {f'an array of {array.dtype}' if array.ndim else repr(value)}",
            "coordinates and offsets are integers",
            "give an int, or an integer array",
        )
    # Offsets past 2^63 do not fit an int64; Python's integers do.
    fits = size <= _INT64_END and (array.dtype.kind != "u" or array.dtype.itemsize < 8)
    return array.astype(np.int64 if fits else object)


def spread(value: Any, at: Sequence[Any]) -> Any:
    """Return a value that does not depend on coordinates, in the coordinates' common shape."""
    if all(type(x) is int for x in at):
        return value
    return value + np.zeros(np.broadcast_shapes(*(x.shape for x in at)), dtype=at[0].dtype)


def require_inside(k: int, n: int, smallest: int, largest: int, names: Sequence[str] = ()) -> None:
    """Raise a ShapeError if a range of coordinates leaves dimension k, of n elements."""
    if smallest < 0 or largest >= n:
        what, expected = f"coordinate {k}", f"0 to {n - 1}" if n else "no coordinate"
        raise ShapeError(
            f"{names[k] if names else what}: expected {expected}, got "
            f"{smallest if smallest < 0 else largest}",
            f"dimension {k} has {n} elements",
            f"give a coordinate from 0 to {n - 1}" if n else "the array has no elements",
        )


def whole(value: object) -> int | None:
    """Return a value as an int, NumPy's integers too; None for others, bool among them.

    >>> whole(4), whole(True), whole(4.0)
    (4, None, None)
    """
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def as_int(
    value: object,
    name: str,
    least: int = 0,
    most: int = LARGEST,
    *,
    part: Part = (),
    why: str = "",
    fix: str = "",
) -> int:
    """Return a value as an int: any integer type but bool, from ``least`` to ``most``.

    Args:
        value: what the user gave.
        name: what it is, in errors.
        least: the smallest value.
        most: the largest value.
        part: its place in the value that is made.
        why: the rule behind it.
        fix: what to do, if another than to give an int.

    >>> as_int(True, "memory_space")
    Traceback (most recent call last):
    morello_layouts.errors.LayoutError: memory_space: expected an integer from 0, got True
    give an int from 0
    """
    if type(value) is int and least <= value <= most:
        return value
    to_end = "" if most == LARGEST else f" to {most}"
    number = whole(value)
    expected = f"an integer from {least}{to_end}"
    if number is not None and number > LARGEST == most:
        expected = "a 64-bit integer"
    if number is None or not least <= number <= most:
        what = f"{name}: expected {expected}, got {shown(value)}"
        raise LayoutError(what, why, fix or f"give an int from {least}{to_end}", part=part)
    return number


def as_tuple(value: Any, name: str, fix: str, part: Part = ()) -> tuple[Any, ...]:
    """Return the elements of a list, tuple or array."""
    if type(value) is tuple:
        return value
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        try:
            return tuple(value)
        except TypeError:  # a NumPy array of no dimensions says that it is iterable
            pass
    what = f"{name}: expected a tuple or list, got {shown(value)}"
    raise LayoutError(what, fix=fix, part=part)


def as_permutation(
    value: Any, name: str, rank: int | None = None, *, part: Part = (), fix: str = ""
) -> tuple[int, ...]:
    """Return an order of dimensions as a tuple that names each of them once.

    >>> as_permutation([1, 0], "order")
    (1, 0)
    >>> as_permutation((1, 1), "order")
    Traceback (most recent call last):
    morello_layouts.errors.ShapeError: order: dimension 1 appears twice
    an order names each dimension once, from 0
    give for example (1, 0)
    """
    fix = fix or f"give for example {tuple(range(rank or 2))[::-1]}"
    given = as_tuple(value, name, fix, part)
    count = len(given) if rank is None else rank
    if {*map(type, given)} <= {int} and sorted(given) == [*range(count)]:
        return given
    rule = "an order names each dimension once, from 0"
    order: dict[int, None] = {}
    for k, number in enumerate(given):
        dim = as_int(number, f"{name}[{k}]", part=(*part, k), fix=fix)
        if dim >= count:
            what = f"{name}: expected dimensions 0 to {count - 1}, got {shown(dim)}"
            raise ShapeError(what, rule, fix, part=(*part, k))
        if dim in order:
            what = f"{name}: dimension {dim} appears twice"
            raise ShapeError(what, rule, fix, part=(*part, k))
        order[dim] = None
    if len(order) != count:
        what = f"{name}: expected an order of {count} dimensions, got {shown(given)}"
        raise ShapeError(what, rule, fix, part=part)
    return tuple(order)


def require_rank(shape: Sequence[object], rank: int, name: str) -> None:
    """Raise a ShapeError if a shape has another number of dimensions."""
    if len(shape) != rank:
        raise ShapeError(
            f"{name}: expected {rank} size{'' if rank == 1 else 's'}, got {len(shape)}",
            "a shape has one size for each dimension of the layout",
            f"give {rank} size{'' if rank == 1 else 's'}",
        )


def require_type(
    value: object, kind: type | tuple[type, ...], name: str, fix: str, part: Part = ()
) -> None:
    """Raise a LayoutError if a value is of another type than it must be."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        words = " or ".join("dict" if k is Mapping else k.__name__ for k in kinds)
        raise LayoutError(f"{name}: expected {words}, got {shown(value)}", fix=fix, part=part)


def shown(value: object) -> str:
    """Return a value as errors show it: its repr, on one line and cut if it is long.

    >>> shown(-1), shown(2**63)
    ('-1', 'larger than 2^63 - 1')
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "larger than 2^63 - 1" if value > 0 else "below -2^63"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
