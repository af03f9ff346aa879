"""Random shardings by all systems' rules, and exchanges simulated element by element."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate, pairwise
from math import prod
from random import Random

import numpy as np
from numpy.typing import NDArray

from morello_layouts.core.recipe import known
from morello_layouts.notations.sharding import Level, Mesh, Sharding


def random_mesh(rnd: Random, most: int) -> Mesh:
    """Return a mesh of up to ``most`` devices, sometimes with listed ones."""
    sizes: list[int] = []
    while prod(sizes) * 2 <= most and len(sizes) < 4 and rnd.random() < 0.8:
        sizes.append(rnd.randint(1, min(6, most // prod(sizes))))
    axes = tuple((name, n) for name, n in zip("xyzw", sizes, strict=False))
    ids: tuple[int, ...] = ()
    if rnd.random() < 0.15:
        ids = tuple(rnd.sample(range(most), prod(sizes)))
    return Mesh(axes, ids)


def random_sharding(rnd: Random, mesh: Mesh, shape: tuple[int, ...]) -> Sharding:
    """Return a sharding of an array over a mesh, by the rule of a system."""
    free = list(mesh.names)
    rnd.shuffle(free)
    cuts = []
    for n in shape:
        taken = [free.pop() for _ in range(rnd.choice([0, 0, 1, 1, 2])) if free]
        cuts.append(_cut(rnd, taken, mesh, n))
    return Sharding(mesh, tuple(cuts))


def _cut(rnd: Random, axes: list[str], mesh: Mesh, n: int) -> tuple[Level, ...]:
    first = rnd.choice([0, 0, 0, 1])
    (count,) = known((prod(mesh.size(axis) for axis in axes),))
    match rnd.choice(["joint", "joint", "nested", "cyclic", "strided", "blocks", "listed"]):
        case "joint":  # XLA, JAX: one number for all axes
            return (Level(tuple(axes)),) if axes else ()
        case "nested":  # torch: each axis cuts what the one before left
            return tuple(Level((axis,), own=True) for axis in axes)
        case "listed":  # HPF: GEN_BLOCK
            ends = sorted([0, *(rnd.randint(0, n) for _ in range(count - 1)), n])
            sizes = tuple(b - a for a, b in pairwise(ends))
            return (Level(tuple(axes), sizes=sizes),) if axes else ()
        case "cyclic":  # ScaLAPACK: blocks in turn
            block = rnd.randint(1, max(1, n))
            return (
                (Level((), block * count), Level(tuple(axes), block, first=first % count))
                if axes
                else ()
            )
        case "strided":  # torch's _StridedShard
            return (
                Level((), parts=rnd.randint(1, 4)),
                *(Level((axis,)) for axis in axes),
            )
    block = -(-n // count) + rnd.randint(0, 2)  # HPF: BLOCK(k)
    return (Level(tuple(axes), max(1, block)),) if axes else ()


def holders(sharding: Sharding, shape: tuple[int, ...], devices: int) -> NDArray[np.bool_]:
    """Return for each device and each element whether the device holds it: an array of both."""
    found = np.zeros((devices, *shape), bool)
    mesh = sharding.mesh
    for device in range(devices):
        coordinate = mesh.coordinate(device)
        if coordinate is None:
            continue
        at = dict(zip(mesh.names, coordinate, strict=True))
        along = [[_holds(sharding, d, n, at, x) for x in range(n)] for d, n in enumerate(shape)]
        found[device] = reduce(np.logical_and.outer, map(np.array, along))
    return found


def _holds(sharding: Sharding, dim: int, n: int, at: dict[str, int], x: int) -> bool:
    """Whether an index along a dimension is on a device, by dividing it level by level."""
    extent, there = n, n
    sizes = dict(zip(sharding.mesh.names, known(sharding.mesh.sizes), strict=True))
    for level in sharding.cuts[dim]:
        (parts,) = known((level.parts or prod(sizes[axis] for axis in level.axes),))
        (whole,) = known((level.whole,))
        pieces = -(-(there if level.own else extent) // (parts * whole))
        (block,) = known((level.block or pieces * whole,))
        number, x = divmod(x, block)
        there = min(block, max(there - number * block, 0))
        if level.sizes:
            x += number * block
            ends = [*accumulate(level.sizes)]
            number = next(k for k, end in enumerate(ends) if x < end)
        if level.axes:
            own = 0
            for axis in level.axes:
                own = own * sizes[axis] + at[axis]
            if (number + level.first) % parts != own:
                return False
        extent = block
    return True
