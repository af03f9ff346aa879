"""The first coordinate at which two layouts differ, found by evaluating them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod

from morello_layouts.errors import UnsupportedError
from morello_layouts.lazy import numpy as np
from morello_layouts.limits import PROOF_FIRST
from morello_layouts.maps import IndexMap
from morello_layouts.proof.formulas import increments_between
from morello_layouts.recipe import Recipe, known, offset_of

_FIRST_CHUNK = 1 << 10  # elements compared at once; each next chunk is four times as long


def first_unequal(a: IndexMap, b: IndexMap) -> tuple[int, ...] | None:
    """Return the first coordinate at which two layouts of one array have different offsets.

    Sums of functions of one coordinate each are compared by their increments, others element by
    element from the first on. None says nothing: the layouts may be equal, or differ later.

    >>> from morello_layouts import index_map
    >>> first_unequal(index_map("f32[4,6]{1,0}"), index_map("f32[4,6]{1,0:T(2,2)}"))
    (0, 2)
    """
    sizes = known(a.recipe.shape)
    if _has_large_offsets(a.recipe, b.recipe):
        return None
    with suppress(UnsupportedError):
        changes = increments_between(a, a.recipe, b.recipe)
        if not changes:
            return None
        first = changes[0]
        return tuple(first.at if dim == first.dim else 0 for dim in range(len(sizes)))
    return _scanned(a.recipe, b.recipe, sizes)


def _scanned(one: Recipe, other: Recipe, sizes: Sequence[int]) -> tuple[int, ...] | None:
    end = min(prod(sizes), PROOF_FIRST)
    start, length = 0, _FIRST_CHUNK
    while start < end:
        positions = np.arange(start, min(start + length, end))
        at = np.unravel_index(positions, tuple(sizes))
        zero = np.zeros_like(positions)
        wrong = offset_of(one, at, zero) != offset_of(other, at, zero)
        if wrong.any():
            k = int(wrong.argmax())
            return tuple(int(x[k]) for x in at)
        start, length = start + length, 4 * length
    return None


def _has_large_offsets(*recipes: Recipe) -> bool:
    """Return whether an offset may not fit 62 bits."""
    return any(max(known((r.size, *r.shape))) >= 1 << 62 for r in recipes)
