"""Shortest forms of a list of physical dimensions: at a shape, and without some dimensions."""

from __future__ import annotations

from typing import TypeAlias

from morello_layouts.morello.dims import Dynamic, OddEven, Packed, PhysDim
from morello_layouts.morello.expand import physical_shape

__all__ = ["canonical_dims", "without_dims"]

PhysDims: TypeAlias = tuple[tuple[int, PhysDim], ...]


def canonical_dims(
    dims: PhysDims, contig: int, shape: tuple[int, ...]
) -> tuple[PhysDims, int]:
    """The dims that matter at a shape, and how many of the innermost of them are contiguous."""
    sizes = physical_shape(dims, shape)
    kept: list[tuple[int, PhysDim] | None] = list(dims)
    for dim, n in enumerate(shape):
        mine = [k for k, (d, _) in enumerate(dims) if d == dim]
        left = n
        for k in reversed(mine):
            outer = [j for j in mine if j < k]
            takes_all = isinstance(dims[k][1], Packed) and sizes[k] == left
            if takes_all and not any(isinstance(dims[j][1], OddEven) for j in outer):
                kept[k] = (dim, Dynamic())
                for j in outer:
                    kept[j] = None
                break
            left //= sizes[k]
        if n == 1:
            for k in mine:
                kept[k] = None
    inner_ones = _leading_ones(sizes, contig)
    return _join(kept, contig + inner_ones)


def without_dims(
    dims: PhysDims, contig: int, dropped: frozenset[int]
) -> tuple[PhysDims, int]:
    """The dims of the other logical dimensions, renumbered."""
    kept: list[tuple[int, PhysDim] | None] = [
        None if dim in dropped else (dim - sum(d < dim for d in dropped), phys)
        for dim, phys in dims
    ]
    return _join(kept, contig)


def _leading_ones(sizes: tuple[int, ...], contig: int) -> int:
    """Physical dimensions of size 1 next to the contiguous ones: they belong to the run."""
    ones = 0
    for size in reversed(sizes[: len(sizes) - contig]):
        if size != 1:
            break
        ones += 1
    return ones


def _join(kept: list[tuple[int, PhysDim] | None], contig: int) -> tuple[PhysDims, int]:
    """Drop the Nones and join neighbours of one logical dimension where one can say both."""
    first_contiguous = len(kept) - contig
    joined: list[tuple[int, PhysDim]] = []
    runs: list[bool] = []
    for k, entry in enumerate(kept):
        if entry is None:
            continue
        inside = k >= first_contiguous
        both = _both(joined[-1], entry) if joined and runs[-1] == inside else None
        if both is None:
            joined.append(entry)
            runs.append(inside)
        else:
            joined[-1] = both
    return tuple(joined), sum(runs)


def _both(outer: tuple[int, PhysDim], inner: tuple[int, PhysDim]) -> tuple[int, PhysDim] | None:
    """One physical dimension for two neighbours of one logical dimension, if there is one."""
    match outer, inner:
        case (d, Dynamic()), (e, Packed()) if d == e:
            return outer
        case (d, Packed(n)), (e, Packed(m)) if d == e:
            return d, Packed(n * m)
        case _:
            return None
