"""Shardings as values: what a device holds, counted element by element."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

from morello_layouts.core.recipe import known
from morello_layouts.notations.sharding import Level, Mesh, MeshDigit, Sharding


def devices(digit: MeshDigit) -> int:
    return known((digit.count,))[0]


def held_by_counting(sharding: Sharding, dim: int, n: int, at: dict[str, int]) -> int:
    """Elements of a dimension whose digits are those of a device, each looked at by itself."""
    found = 0
    for x in range(n):
        rest, is_here = x, True
        for digit in sharding.digits(dim, n):
            number, rest = divmod(rest, known((digit.block,))[0])
            wanted = 0
            for axis in digit.axes:
                (size,) = known((sharding.mesh.size(axis),))
                wanted = wanted * size + at[axis]
            is_here &= not digit.axes or (number + digit.first - wanted) % devices(digit) == 0
        found += is_here
    return found


def random_cut(random: Random, mesh: Mesh, axes: tuple[str, ...]) -> tuple[Level, ...]:
    kind = random.randrange(4)
    if not axes:
        return ()
    devices = prod(known(tuple(mesh.size(axis) for axis in axes)))
    block = random.randrange(1, 6)
    return (
        (Level(axes),),
        (Level((), block * devices), Level(axes, block, None, random.randrange(devices))),
        (Level((), None, random.randrange(1, 5)), Level(axes)),
        tuple(Level((axis,)) for axis in axes),
    )[kind]


def test_held_parts_are_counted_element_by_element() -> None:
    random, wrong = Random(1), []
    for _ in range(120):
        sizes = [random.randrange(1, 4) for _ in range(3)]
        mesh = Mesh(tuple(zip("xyz", sizes, strict=True)))
        axes = tuple(random.sample("xyz", random.randrange(4)))
        sharding, n = Sharding(mesh, (random_cut(random, mesh, axes),)), random.randrange(1, 40)
        total = 0
        for place in product(*map(range, sizes)):
            at = dict(zip("xyz", place, strict=True))
            found, wanted = sharding.held(0, n, at), held_by_counting(sharding, 0, n, at)
            total += found
            if found != wanted or found > sharding.local_dims((n,))[0]:
                wrong.append((sharding, n, at, found, wanted))
        if total != n * sharding.replicas:
            wrong.append((sharding, n, {}, total, n))
    assert not wrong


def test_own_parts_of_two_sizes_are_not_cut_by_one_block() -> None:
    mesh = Mesh((("x", 2), ("y", 2)))
    cuts = ((Level(("x",)), Level(("y",), own=True)),)
    padded = ((Level(("x",)), Level(("y",))),)
    assert [Sharding(mesh, padded).local_shape((5,), k) for k in range(4)] == [
        (2,),
        (1,),
        (2,),
        (0,),
    ]
    assert Sharding(mesh, cuts, "own").local_shape((8,), 3) == (2,)
