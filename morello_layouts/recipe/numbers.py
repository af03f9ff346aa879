"""New numbers of places that are listed, as a formula."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from morello_layouts.errors import UnsupportedError
from morello_layouts.limits import NUMBER_JUMPS


def renumbered(numbers: Sequence[int], place: Any) -> Any:
    """Return the new number of a place, of any kind of coordinate.

    As a formula it is the place and a jump of ``floor((place + n - k) / n)`` at each place k whose
    number is not the one after that of place k - 1.

    Raises:
        UnsupportedError: if a formula would have too many jumps.

    >>> from morello_layouts.expr import variable
    >>> print(renumbered((1, 0), variable("d", 0, 1)), renumbered((1, 0), 1))
    -2*((d + 1)//2) + d + 1 0
    """
    size = len(numbers)
    if isinstance(place, int):  # slots at the ends of a buffer may be past the axis
        return numbers[min(max(place, 0), size - 1)]
    if hasattr(place, "dtype"):
        import numpy as np

        return np.asarray(numbers).take(place.astype(np.int64), mode="clip")
    jumps = [b - a - 1 for a, b in pairwise(numbers)]
    if (count := sum(map(bool, jumps))) > NUMBER_JUMPS:
        raise too_many_jumps(size, count)
    found = place + numbers[0]
    for k, jump in enumerate(jumps, 1):
        if jump:
            found = found + (place + (size - k)) // size * jump
    return found


def too_many_jumps(size: int, count: int) -> UnsupportedError:
    """Return the error for an order of places that would be too long a formula."""
    return UnsupportedError(
        f"{size} devices in an order of {count} jumps",
        f"a formula has up to {NUMBER_JUMPS} jumps",
        "give the devices in the order of the mesh, or as digits: <=[4,2]T(1,0)",
    )
