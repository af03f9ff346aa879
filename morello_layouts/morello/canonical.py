"""Shorter forms of a list of physical dimensions: at a shape, and without some dimensions."""

from __future__ import annotations

from morello_layouts.morello.dims import Dynamic, OddEven, Packed, PhysDim, PhysDims
from morello_layouts.morello.expand import physical_shape
from morello_layouts.recipe import known

__all__ = ["canonical_dims", "without_dims"]


def canonical_dims(dims: PhysDims, contig: int, shape: tuple[int, ...]) -> tuple[PhysDims, int]:
    """The dims that matter at a shape, and how many of the innermost of them are contiguous."""
    sizes = known(physical_shape(dims, shape))
    kept: list[tuple[int, PhysDim] | None] = list(dims)
    for dim, n in enumerate(shape):
        mine = [k for k, (d, _) in enumerate(dims) if d == dim]
        if n == 1:
            for k in mine:
                kept[k] = None
            continue
        whole = _takes_all(dims, sizes, mine, n)
        if whole is not None:
            kept[whole] = (dim, Dynamic())
            for k in mine:
                if k < whole:
                    kept[k] = None
    return _join(kept, contig)


def _takes_all(dims: PhysDims, sizes: tuple[int, ...], mine: list[int], n: int) -> int | None:
    """Which Packed of a logical dimension of size n leaves nothing to those outside it, if one."""
    left = n
    for k in reversed(mine):
        outside = [dims[j][1] for j in mine if j < k]
        if isinstance(dims[k][1], Packed) and sizes[k] == left:
            return None if any(isinstance(phys, OddEven) for phys in outside) else k
        left //= sizes[k]
    return None


def without_dims(dims: PhysDims, contig: int, dropped: frozenset[int]) -> tuple[PhysDims, int]:
    """The dims of the other logical dimensions, renumbered."""
    kept: list[tuple[int, PhysDim] | None] = [
        None if dim in dropped else (dim - sum(d < dim for d in dropped), phys)
        for dim, phys in dims
    ]
    return _join(kept, contig)


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
