"""How much of a tile of a larger array lies contiguously, and what that costs in cache lines."""

from __future__ import annotations

from math import prod

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.morello.dims import PhysDims, as_integer
from morello_layouts.morello.expand import physical_shape
from morello_layouts.recipe import known

__all__ = ["cache_lines", "contig_of_tile"]


def contig_of_tile(
    dims: PhysDims, contig: int, parent_shape: tuple[int, ...], tile_shape: tuple[int, ...]
) -> int:
    """How many innermost physical dimensions of every tile form one run in the parent's buffer.

    Walking outward, a dimension belongs to the run while all inside it are whole. The first one
    that the tile cuts still does if the cut piece is a run wherever the tile starts, which it is
    not across the end of a pack. (Of an OddEven a tile has all, or one element: a run.)

    >>> from morello_layouts.morello.dims import Dynamic, Packed
    >>> packed = ((0, Dynamic()), (1, Dynamic()), (0, Packed(4)))
    >>> contig_of_tile(packed, 3, (12, 5), (2, 5)), contig_of_tile(packed, 3, (12, 5), (3, 5))
    (1, 0)
    """
    parent = known(physical_shape(dims, parent_shape))
    _check_tile(parent_shape, tile_shape)
    tile = known(physical_shape(dims, tile_shape))
    first_contiguous = len(dims) - contig
    count = 0
    for k in reversed(range(first_contiguous, len(dims))):
        if tile[k] != parent[k]:
            return count + _never_breaks(dims, parent, first_contiguous, k, tile[k])
        count += 1
    return count


def _never_breaks(
    dims: PhysDims, parent: tuple[int, ...], first_contiguous: int, k: int, piece: int
) -> bool:
    """Whether pieces of a physical dimension, at multiples of their size, are runs in memory.

    A piece that runs past the end of a pack goes on in the Dynamic outside it, as no tile that
    cuts a pack fits another pack outside: in memory too, if nothing lies between the two.
    """
    outside = [j for j in range(k) if parent[j] > 1]
    goes_on = [j for j in outside if dims[j][0] == dims[k][0]]
    if not goes_on or parent[k] % piece == 0:
        return True
    return goes_on[-1] == outside[-1] >= first_contiguous


def _check_tile(parent_shape: tuple[int, ...], tile_shape: tuple[int, ...]) -> None:
    if len(parent_shape) != len(tile_shape):
        raise ShapeError(
            f"the tile has {len(tile_shape)} dimensions, the array {len(parent_shape)}",
            "a tile has a size along each dimension of its array",
            f"give {len(parent_shape)} sizes, 1 where the tile takes one element",
        )
    for dim, (n, t) in enumerate(zip(parent_shape, tile_shape, strict=True)):
        if t > n:
            raise ShapeError(
                f"the tile has {t} elements along dimension {dim}, the array {n}",
                "a tile is a part of its array",
                f"give at most {n}",
            )


def cache_lines(sizes: tuple[int, ...], contig: int, element_bytes: int, line_bytes: int) -> int:
    """Lines of ``line_bytes`` bytes that runs of the innermost ``contig`` dimensions touch.

    >>> cache_lines((6, 8), 1, 4, 64), cache_lines((6, 8), 2, 4, 64)
    (6, 3)
    """
    element, line = as_integer(element_bytes), as_integer(line_bytes)
    if element is None or line is None or element < 1 or line < 1:
        raise LayoutError(
            f"elements of {element_bytes!r} and lines of {line_bytes!r} bytes make no cache lines",
            "both sizes are positive numbers of bytes",
            "give for example element_bytes=4, line_bytes=64",
        )
    first = len(sizes) - contig
    run_bytes = prod(sizes[first:]) * element
    return prod(sizes[:first]) * -(-run_bytes // line)
