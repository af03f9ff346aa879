"""Validate the integers, arrays and sizes that users pass."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr.assumptions import Assumption

_INT64_END: Final = 2**63


def checked_coordinate(
    coordinate: Sequence[Any], shape: Sequence[int], size: int
) -> tuple[Any, ...]:
    """A coordinate as ints, or as arrays of integers that hold every offset of a buffer.

    Args:
        coordinate: an int or an integer array for each dimension.
        shape: the sizes that bound them.
        size: elements that the buffer spans.

    Raises:
        ShapeError: where one is outside of its dimension, or arrays do not broadcast.

    >>> checked_coordinate((2, 3), (3, 5), 24)
    (2, 3)
    """
    if len(coordinate) != len(shape):
        raise ShapeError(
            f"{len(coordinate)} coordinates for {len(shape)} dimensions",
            f"the array has the shape {tuple(shape)}",
            "give one coordinate for each dimension",
        )
    if all(type(x) is int for x in coordinate):
        for k, (x, n) in enumerate(zip(coordinate, shape, strict=True)):
            _require_inside(k, n, x, x)
        return tuple(coordinate)
    import numpy as np

    arrays = [as_integers(x, f"coordinate {k}", size) for k, x in enumerate(coordinate)]
    if all(x.ndim == 0 for x in arrays):
        return checked_coordinate([int(x) for x in arrays], shape, size)
    for k, (x, n) in enumerate(zip(arrays, shape, strict=True)):
        if x.size:
            _require_inside(k, n, int(x.min()), int(x.max()))
    try:
        np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise ShapeError(
            f"coordinates of the shapes {', '.join(str(x.shape) for x in arrays)}",
            "arrays of coordinates broadcast against each other, as NumPy's do",
            "give arrays of one shape",
        ) from None
    return tuple(arrays)


def checked_sizes(
    given: Mapping[str, Any], names: Sequence[str], assumptions: Sequence[Assumption]
) -> dict[str, int]:
    """Sizes for names, each given once and as assumed.

    Raises:
        ShapeError: where one is missing, unknown, below 1, or not as assumed.

    >>> checked_sizes({"N": 5}, ["N"], [])
    {'N': 5}
    """
    values = {name: as_index(value) for name, value in given.items()}
    fixed = {one.name for one in assumptions} - set(names)
    if values.keys() - fixed != set(names):
        raise ShapeError(
            f"sizes are given for {', '.join(sorted(values)) or 'no names'}",
            f"the symbolic sizes are {', '.join(names) or 'none'}",
            f"give each of them once: at({', '.join(f'{name}=…' for name in names)})",
        )
    for one in (*map(Assumption, values), *assumptions):
        if one.name in values and not one.holds_for(values[one.name]):
            raise ShapeError(
                f"{one.name} = {values[one.name]} is not as assumed",
                f"it is assumed that {one}",
                "give another size, or assume less",
            )
    return values


def as_index(value: Any) -> int:
    """An int, from whatever is one.

    >>> as_index(True + 1)
    2
    """
    try:
        return operator.index(value)
    except TypeError:
        raise LayoutError(
            f"{value!r} is not an integer",
            "coordinates and offsets count elements",
            "give an int, or an integer array",
        ) from None


def as_integers(value: Any, what: str, size: int) -> Any:
    """An integer array that holds every offset of a buffer of the size without overflow."""
    import numpy as np

    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iu" and not all(
        isinstance(x, int | np.integer) for x in array.flat
    ):
        raise LayoutError(
            f"{what} is {_shown(value, array)}",
            "coordinates and offsets are integers",
            "give an int, or an integer array",
        )
    # Offsets past 2^63 do not fit an int64; Python's integers do.
    fits = size <= _INT64_END and (array.dtype.kind != "u" or array.dtype.itemsize < 8)
    return array.astype(np.int64 if fits else object)


def _shown(value: Any, array: Any) -> str:
    return f"an array of {array.dtype}" if array.ndim else repr(value)


def spread(value: Any, at: Sequence[Any]) -> Any:
    """A value that depends on no coordinate, in the coordinates' common shape."""
    if all(type(x) is int for x in at):
        return value
    import numpy as np

    return value + np.zeros(np.broadcast_shapes(*(x.shape for x in at)), dtype=at[0].dtype)


def _require_inside(k: int, n: int, smallest: int, largest: int) -> None:
    if smallest < 0 or largest >= n:
        raise ShapeError(
            f"coordinate {k} is {smallest if smallest < 0 else largest}",
            f"dimension {k} has {n} elements",
            f"give a coordinate from 0 to {n - 1}" if n else "the array has no elements",
        )
