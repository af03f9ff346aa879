"""What layout is this? From tables of offsets and functions back to layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from morello_layouts.core.checks import shown
from morello_layouts.core.recipe import known
from morello_layouts.errors import ShapeError
from morello_layouts.interfaces.api.layouts import Shape, sizes_of
from morello_layouts.outputs.recover import Observed, Recovered, held, observed, recovered, table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Observable: TypeAlias = "NDArray[Any] | Callable[..., Any]"
"""A table of offsets, or a function."""


def recover(
    source: Observable,
    shape: Shape | Iterable[Shape] | None = None,
    *,
    array: NDArray[Any] | None = None,
    size: int | None = None,
) -> Recovered:
    """Return the layouts that a table of offsets, or a function, has.

    No layout is returned that does not fit: each is compared with all of what is given. The
    shortest is first: its text has the fewest digits.

    Args:
        source: the offset of each element, as an array of the array's shape; or a function. One
            that takes a coordinate for each dimension returns the offset, or the coordinates in a
            row-major box; one that takes the array returns the buffer, as a function that packs
            weights does.
        shape: the shape at which a function is called; or several shapes: then the layouts fit all
            of them.
        array: the array that a buffer holds: then the source is the buffer. Its values differ.
        size: the slots of a table's buffer, which tell the padding at its end.

    Raises:
        LayoutError: if no layout was found, or what is given is not what it should be.

    >>> import numpy as np
    >>> print(recover(np.array([[0, 1, 4, 5], [2, 3, 6, 7]])).layouts[0])
    {0,1:T(2,1)}
    >>> def pack(weights):
    ...     m, k = weights.shape
    ...     return weights.reshape(m, k // 8, 8).swapaxes(0, 1).copy()
    >>> found = recover(pack, [(4, 16), (8, 32)])
    >>> found.texts["einops"]
    'a (b0 b1) -> b0 a b1, b1=8'
    """
    if array is not None:
        return recovered([held(source, array)])
    if not callable(source):
        return recovered([Observed(table_of(source), size)])
    if shape is None:
        raise ShapeError(
            f"no shape given for {shown(source)}",
            "a function is called on the coordinates, or the elements, of an array of a shape",
            "give the sizes, such as shape=(64, 128)",
        )
    return recovered([observed(source, each) for each in _shapes(shape)])


def _shapes(given: Any) -> Sequence[tuple[int, ...]]:
    """Return one shape, or each of several."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    if several and given and all(isinstance(each, Sequence) for each in given):
        return [known(sizes_of(each).sizes) for each in given]
    return [known(sizes_of(given).sizes)]
