"""CuTe's document "CuTe Layouts" in integers, read apart from the rest of the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def by_strides(
    coordinate: Sequence[int], shape: Sequence[Any], stride: Sequence[Any]
) -> tuple[int, int]:
    """Return an element's offset and the buffer's size; one shape and stride for each mode.

    In a mode the first part varies fastest. A stride is a number, or basis elements have ``value``
    and ``modes``; then the offset is the place in the box of all results, the first mode fastest.

    >>> by_strides((5, 2), ((4, 2), 8), ((1, 16), 4))
    (25, 48)
    """
    at: dict[tuple[int, ...], int] = {}
    most: dict[tuple[int, ...], int] = {}
    for x, mode, steps in zip(coordinate, shape, stride, strict=True):
        rest = x
        for n, step in zip(_flat(mode), _flat(steps), strict=True):
            where = getattr(step, "modes", ())
            by = 0 if n == 1 else int(getattr(step, "value", step))  # perhaps a name: not used
            rest, digit = divmod(rest, max(n, 1))
            at[where] = at.get(where, 0) + digit * by
            most[where] = most.get(where, 0) + (n - 1) * abs(by)
    offset, size = 0, 1
    for where in sorted(most):
        offset, size = offset + at[where] * size, size * (most[where] + 1)
    return offset, size


def longest_row(shape: Sequence[Any], stride: Sequence[Any]) -> int:
    """Return the largest product of a size and its stride: rows with all of their pitch.

    >>> longest_row((10, 50), (56, 1))
    560
    """
    pairs = zip(_flat(tuple(shape)), _flat(tuple(stride)), strict=True)
    return max((n * int(step) for n, step in pairs if not hasattr(step, "modes")), default=0)


def by_swizzle(
    place: int, size: int, numbers: tuple[int, int, int], bits: int | None
) -> tuple[int, int]:
    """Return the swizzled place of an element, and the size of the buffer in whole blocks.

    >>> by_swizzle(64, 512, (3, 3, 3), None), by_swizzle(64, 512, (3, 4, 3), 16)
    ((72, 512), (72, 512))
    """
    b, m, s = numbers
    # Addresses count bits here, as elements may be smaller than a byte.
    unit, byte = (1, 0) if bits is None else (bits, 3)
    read = place * unit & (1 << b) - 1 << m + max(0, s) + byte
    changed = place * unit ^ (read >> s if s > 0 else read << -s)
    block = max(1, (1 << m + b + max(0, -s) + byte) // unit) if b else 1
    return changed // unit, -(-size // block) * block


def _flat(part: Any) -> Iterable[Any]:
    return [leaf for each in part for leaf in _flat(each)] if isinstance(part, tuple) else [part]
