"""einops' documentation of "rearrange" in integers, read apart from the rest of the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain


def by_pattern(
    coordinate: Sequence[int],
    shape: Sequence[int],
    left: Sequence[Sequence[str]],
    right: Sequence[Sequence[str]],
    lengths: Mapping[str, int],
) -> tuple[int, int]:
    """Return an element's offset and the buffer's size.

    In parentheses the last axis varies fastest; the memory is the right side in row-major order.

    >>> by_pattern((5, 2), (6, 3), [("h", "p"), ("w",)], [("h",), ("w",), ("p",)], {"p": 2})
    (17, 18)
    """
    dots = [f"...{k}" for k in range(len(shape) - len(left) + 1)]
    dims: list[Sequence[str]] = []
    for entry in left:
        dims += [[dot] for dot in dots] if "..." in entry else [entry]
    axes: dict[str, tuple[int, int]] = {}
    for x, n, dim in zip(coordinate, shape, dims, strict=True):
        rest, given = x, [lengths[axis] for axis in dim if axis in lengths]
        for length in given:
            n //= length  # noqa: PLW2901
        for axis in reversed(dim):
            size = lengths.get(axis, n)
            axes[axis] = rest % max(size, 1), size
            rest //= max(size, 1)
    memory = chain.from_iterable(dots if axis == "..." else [axis] for axis in chain(*right))
    offset, size = 0, 1
    for axis in memory:
        digit, length = axes.get(axis, (0, 1))  # 1 is an axis too
        offset, size = offset * length + digit, size * length
    return offset, size
