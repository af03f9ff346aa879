"""How much of a tile of a larger array lies contiguously, and what that costs in cache lines."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.morello.dims import OddEven, PhysDim
from morello_layouts.morello.expand import physical_shape

__all__ = ["cache_lines", "contig_of_tile"]

PhysDims: TypeAlias = tuple[tuple[int, PhysDim], ...]


def contig_of_tile(
    dims: PhysDims, contig: int, parent_shape: tuple[int, ...], tile_shape: tuple[int, ...]
) -> int:
    """How many innermost physical dimensions of every tile form one run in the parent's buffer.

    Walking outward, a dimension belongs to the run while all inside it are whole. The first one
    that the tile cuts still does if the cut piece is a run wherever the tile starts: in order (no
    OddEven), and never across the end of a pack.
    """
    parent, tile = physical_shape(dims, parent_shape), physical_shape(dims, tile_shape)
    for dim, (n, t) in enumerate(zip(parent_shape, tile_shape, strict=True)):
        if t > n:
            raise ShapeError(
                f"the tile's dimension {dim} has {t} elements, the array's {n}",
                "a tile is a part of its array",
                f"give at most {n}",
            )
    count = 0
    for k in range(len(dims) - 1, len(dims) - 1 - contig, -1):
        dim, phys = dims[k]
        if tile[k] == parent[k]:
            count += 1
            continue
        outermost = all(parent[j] == 1 for j in range(k) if dims[j][0] == dim)
        in_order = not isinstance(phys, OddEven) or tile[k] == 1
        unbroken = outermost or parent[k] % tile[k] == 0
        return count + (in_order and unbroken)
    return count


def cache_lines(sizes: tuple[int, ...], contig: int, element_bytes: int, line_bytes: int) -> int:
    """Lines of ``line_bytes`` bytes that runs of the innermost ``contig`` dimensions touch."""
    if element_bytes < 1 or line_bytes < 1:
        raise LayoutError(
            f"elements of {element_bytes} and lines of {line_bytes} bytes make no cache lines",
            "both sizes are positive numbers of bytes",
            "give for example element_bytes=4, line_bytes=64",
        )
    first = len(sizes) - contig
    run_bytes = prod(sizes[first:]) * element_bytes
    return prod(sizes[:first]) * -(-run_bytes // line_bytes)
