"""The book's list of physical dimensions in integers, read apart from the rest of the package.

``verify`` compares everything with it, so it imports nothing but the kinds of dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.notations.morello.dims import Dynamic, OddEven, PhysDims


def by_list(
    phys_dims: PhysDims, coordinate: Sequence[int], shape: Sequence[int]
) -> tuple[int, int] | None:
    """Return an element's offset and the number of elements; None if the list does not fit.

    Innermost first, each takes the low digit of the rest of its dimension. A Packed larger than
    the rest takes all of it, an OddEven only if 1 is left, once for each dimension.

    >>> by_list(((1, Dynamic()), (0, Dynamic())), (2, 3), (6, 8))
    (20, 48)
    """
    at, left, offset, volume = list(coordinate), list(shape), 0, 1
    clipped = set[int]()
    for dim, phys in reversed(phys_dims):
        if dim >= len(left):
            return None
        count = left[dim] if isinstance(phys, Dynamic) else phys.number
        if left[dim] % count:
            if dim in clipped or left[dim] > count or (isinstance(phys, OddEven) and left[dim] > 1):
                return None
            clipped.add(dim)
            count = left[dim]
        digit = at[dim] % count
        if isinstance(phys, OddEven) and count > 1:
            digit = digit // 2 if digit % 2 == 0 else count // 2 + digit // 2
        offset += digit * volume
        volume *= count
        at[dim] //= count
        left[dim] //= count
    return (offset, volume) if all(n == 1 for n in left) else None
