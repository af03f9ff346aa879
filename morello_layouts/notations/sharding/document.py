"""Which device holds an element, in plain integers, read from each system's document alone.

Sources: XLA's ``tile_assignment.h`` (iota tile lists) and ``hlo_sharding.h``; Shardy's
``attrs.td``; JAX's ``sharding_impls.py``; ``torch.chunk``; ScaLAPACK's ``indxg2p.f``, ``indxg2l.f``
and ``numroc.f``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A device, the coordinate on it, and the sizes of its buffer."""


def by_tile_list(
    coordinate: Sequence[int],
    shape: Sequence[int],
    tiles: Sequence[int],
    iota: tuple[Sequence[int], Sequence[int]] | None,
    devices: Sequence[int],
) -> Place:
    """Return the place by XLA's list of tiles: ``iota(…).reshape(…).transpose(…)``, or written out.

    >>> by_tile_list((5, 3), (8, 16), (2, 1, 4), ((4, 2), (1, 0)), ())
    (1, (1, 3), (4, 16))
    """
    parts = [-(-n // t) for n, t in zip(shape, tiles, strict=False)]
    tile = [x // max(p, 1) for x, p in zip(coordinate, parts, strict=True)]
    number = 0
    for k, t in enumerate(tiles):
        number = number * t + (tile[k] if k < len(tile) else 0)
    if iota is None:
        device = devices[number]
    else:
        reshape, order = iota
        digits = [0] * len(reshape)
        for axis in reversed(order):
            digits[axis], number = number % reshape[axis], number // reshape[axis]
        device = 0
        for digit, n in zip(digits, reshape, strict=True):
            device = device * n + digit
    return device, tuple(x % max(p, 1) for x, p in zip(coordinate, parts, strict=True)), (*parts,)


def by_mesh_axes(
    coordinate: Sequence[int],
    shape: Sequence[int],
    mesh: Sequence[tuple[str, int]],
    ids: Sequence[int],
    dims: Sequence[Sequence[tuple[str, int, int]]],
) -> Place:
    """Return the place by mesh axes: a dimension's axes number its tiles, the first one slowest.

    Args:
        coordinate: of the element.
        shape: of the array.
        mesh: names and sizes of the axes.
        ids: the devices in row-major order of the mesh; empty for 0, 1, 2, ….
        dims: for each dimension its (axis, pre-size, size): the part of the axis between the
            ``pre-size`` slower devices and the faster ones.
    """
    at = dict.fromkeys(dict(mesh), 0)
    local, parts = [], []
    for x, n, axes in zip(coordinate, shape, dims, strict=True):
        part = -(-n // prod(size for *_, size in axes))
        tile = x // max(part, 1)
        for name, before, size in reversed(axes):
            at[name] += tile % size * (dict(mesh)[name] // (before * size))
            tile //= size
        local.append(x % max(part, 1))
        parts.append(part)
    position = 0
    for name, size in mesh:
        position = position * size + at[name]
    return ids[position] if ids else position, tuple(local), tuple(parts)


def by_chunks(
    coordinate: Sequence[int],
    shape: Sequence[int],
    mesh: Sequence[int],
    ids: Sequence[int],
    placements: Sequence[tuple[int, int] | None],
) -> Place:
    """Return the place by DTensor's placements, one for each mesh axis, from left to right.

    A ``Shard`` (dimension, 1) is ``torch.chunk`` of what is there; a ``_StridedShard`` of factor f
    unflattens it to f padded rows, chunks the columns, and flattens again (pytorch#168134).

    >>> [by_chunks((x,), (5,), (2,), (), [(0, 2)])[0] for x in range(5)]
    [0, 0, 1, 0, 0]
    """
    local, own, sizes, at = list(coordinate), list(shape), list(shape), []
    for devices, placement in zip(mesh, placements, strict=True):
        if placement is None:
            at.append(0)
            continue
        dim, factor = placement
        row = -(-own[dim] // factor)
        column, width = local[dim] % max(row, 1), -(-row // devices)
        at.append(column // max(width, 1))
        local[dim] = local[dim] // max(row, 1) * width + column % max(width, 1)
        own[dim] = factor * width if factor > 1 else min(width, row - at[-1] * width)
        sizes[dim] = -(-sizes[dim] // (factor * devices)) * factor
    position = 0
    for x, n in zip(at, mesh, strict=True):
        position = position * n + x
    return ids[position] if ids else position, tuple(local), tuple(sizes)


def by_block_cyclic(
    coordinate: Sequence[int],
    shape: Sequence[int],
    dims: Sequence[tuple[int, int, int] | list[int]],
) -> Place:
    """Return the place by ScaLAPACK: INDXG2P, INDXG2L and, of the first process, NUMROC.

    A dimension is a block, the first process and their number, or the list of HPF's GEN_BLOCK.

    >>> by_block_cyclic((7,), (10,), [(2, 1, 3)])
    (1, (3,), (4,))
    """
    process, local, sizes = 0, [], []
    for g, n, dim in zip(coordinate, shape, dims, strict=True):
        if isinstance(dim, list):
            ends = [min(sum(dim[:k]), n) for k in range(len(dim) + 1)]
            owner = sum(end <= g for end in ends[1:])
            process = process * len(dim) + owner
            local.append(g - ends[owner])
            sizes.append(max(b - a for a, b in pairwise(ends)))
            continue
        nb, source, count = dim
        process = process * count + (source + g // nb) % count
        local.append(nb * (g // (nb * count)) + g % nb)
        blocks = -(-n // nb)
        sizes.append(-(-blocks // count) * nb)
    return process, tuple(local), tuple(sizes)
