"""What layout is this? From tables of offsets and functions back to layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from morello_layouts.core.checks import shown
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import known
from morello_layouts.errors import ShapeError
from morello_layouts.interfaces.api.layouts import Shape, sizes_of
from morello_layouts.outputs.recover import (
    Observed,
    Recovered,
    held,
    observed,
    of_pairs,
    recovered,
    table_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Observable: TypeAlias = (
    "NDArray[Any] | Callable[..., Any] | Mapping[Any, int] | Sequence[tuple[Any, int]]"
)
"""A table of offsets, a buffer, a function, or pairs of coordinate and offset."""


def recover(
    source: Observable,
    shape: Shape | Iterable[Shape] | None = None,
    *,
    array: NDArray[Any] | None = None,
    size: int | None = None,
) -> Recovered:
    """Return the layouts that offsets, a function or a buffer have.

    No layout is returned that does not fit: each is compared with every offset given. The
    shortest is first: its text has the fewest digits. Offsets that no layout has may be those of
    a few boxes of coordinates, as are the bits of packed fields.

    Args:
        source: the offset of each element, as an array of the array's shape; a buffer; or pairs of
            coordinate and offset. In Python also a function. One that takes a coordinate for each
            dimension returns the offset, or the coordinates in a row-major box; one that takes the
            array returns the buffer, as a function that packs weights does. If items are narrower
            than a byte, each of their bits is followed.
        shape: the shape of the array, which pairs need, and at which a function is called; or
            several shapes for a function: then the layouts fit all of them.
        array: the array that a buffer holds: then the source is the buffer. If values repeat,
            layouts in common use are tried, as for pairs.
        size: the slots of a table's buffer, which tell the padding at its end.

    Raises:
        LayoutError: if no layout was found, or an argument is of the wrong kind.

    >>> import numpy as np
    >>> print(recover(np.array([[0, 1, 4, 5], [2, 3, 6, 7]])).layouts[0])
    {0,1:T(2,1)}
    >>> def pack(weights):
    ...     m, k = weights.shape
    ...     return weights.reshape(m, k // 8, 8).swapaxes(0, 1).copy()
    >>> found = recover(pack, [(4, 16), (8, 32)])
    >>> found.texts["einops"]
    'a (b0 b1) -> b0 a b1, b1=8'
    >>> print(recover([((0, 1), 1), ((1, 0), 128), ((8, 0), 4096)], (64, 512)).layouts[0])
    {1,0:T(8,128)}
    """
    if array is not None:
        values = np.asarray(array)
        values = values if shape is None else in_shape(values, _one_shape(shape, "an array"))
        return recovered([held(source, values)])
    if not callable(source):
        if _is_pairs(source):
            return recovered([of_pairs(source, _one_shape(shape, "pairs"))])
        table = table_of(source)
        if shape is not None:
            table = in_shape(table, _one_shape(shape, "a table"))
        if size is not None and size <= int(table.max()):
            raise ShapeError(
                f"size: expected more than the largest offset {table.max()}, got {size}",
                "the buffer has a slot for each offset",
                "give its slots, or leave out the argument size",
            )
        return recovered([Observed(table, size)])
    if shape is None:
        raise ShapeError(
            f"no shape given for {shown(source)}",
            "a function is called on the coordinates, or the elements, of an array of a shape",
            "give the sizes, such as shape=(64, 128)",
        )
    return recovered([observed(source, each) for each in _shapes(shape)])


def _is_pairs(source: Any) -> bool:
    """Whether these are pairs of a coordinate in parentheses and an offset."""
    first: Any = next(iter(source), None) if isinstance(source, list | tuple) and source else None
    is_pair = isinstance(first, tuple | list) and len(first) == 2
    return isinstance(source, Mapping) or (is_pair and isinstance(first[0], tuple | list))


def _one_shape(shape: Any, what: str) -> tuple[int, ...]:
    if shape is not None and len(found := _shapes(shape)) == 1:
        return found[0]
    raise ShapeError(
        f"{what}: expected the shape of the array",
        "a layout depends on the sizes of its array",
        "give one shape, such as shape=(64, 128)",
    )


def in_shape(table: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a table in a shape, in the order of its rows."""
    if table.size == prod(shape):
        return table.reshape(shape)
    raise ShapeError(
        f"{table.size} numbers for an array of {'x'.join(map(str, shape))}",
        "each element has one",
        "give the shape whose sizes multiply to their number",
    )


def _shapes(given: Any) -> Sequence[tuple[int, ...]]:
    """Return one shape, or each of several."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    if several and given and all(isinstance(each, Sequence) for each in given):
        found = [known(sizes_of(each).sizes) for each in given]
        if len({*map(len, found)}) > 1:
            raise ShapeError(
                f"shapes: expected one number of dimensions, got {', '.join(map(str, found))}",
                "a layout has the same dimensions at each shape",
                "give shapes such as (16, 64) and (48, 128)",
            )
        return found
    return [known(sizes_of(given).sizes)]
