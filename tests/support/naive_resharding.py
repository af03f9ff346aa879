"""A plan by brute force: which device holds each index is asked one index at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from morello_layouts.core.recipe import known
from morello_layouts.machines.resharding.combs import Message, Run
from morello_layouts.notations.sharding import Sharding


def held(sharding: Sharding, shape: Sequence[int], device: int) -> list[set[int]]:
    """The indices along each dimension that a device holds; none if it is not in the mesh."""
    at = sharding.mesh.coordinate(device)
    if at is None:
        return [set() for _ in shape]
    axes = dict(zip(sharding.mesh.names, at, strict=True))
    found = []
    for dim, n in enumerate(shape):
        own = set()
        for x in range(n):
            rest, here = x, True
            for digit in sharding.digits(dim, n):
                number, rest = divmod(rest, known((digit.block,))[0])
                if digit.starts:
                    number = sum(start <= x for start in digit.starts[1:-1])
                here &= not digit.axes or number == sharding.number(digit, axes)
            if here:
                own.add(x)
        found.append(own)
    return found


def sender(a: Sharding, receiver: int, device: int) -> bool:
    """Whether a device is the copy that a receiver is served from: the one at its replica."""
    at, own = a.mesh.coordinate(device), a.mesh.coordinate(receiver)
    assert at is not None
    own = own or tuple(0 for _ in at)
    free = a.replicated_axes
    return all(x == y for name, x, y in zip(a.mesh.names, at, own, strict=True) if name in free)


def messages(a: Sharding, b: Sharding, shape: Sequence[int], ranks: int) -> Iterator[Message]:
    """All messages between two shardings."""
    have = [held(a, shape, rank) for rank in range(ranks)]
    want = [held(b, shape, rank) for rank in range(ranks)]
    for s, r in product(range(ranks), repeat=2):
        if a.mesh.coordinate(s) is None or not sender(a, r, s):
            continue
        both = [sorted(x & y) for x, y in zip(have[s], want[r], strict=True)]
        if all(both):
            yield Message(s, r, tuple(tuple(runs(x)) for x in both))


def runs(indices: Sequence[int]) -> Iterator[Run]:
    """Runs of sorted indices: neighbors, and equal ones at equal distances."""
    blocks: list[Run] = []
    for x in indices:
        if blocks and blocks[-1].start + blocks[-1].block == x:
            blocks[-1] = Run(blocks[-1].start, blocks[-1].block + 1)
        else:
            blocks.append(Run(x, 1))
    while blocks:
        first, *rest = blocks
        count = 1
        period = rest[0].start - first.start if rest else 0
        while count <= len(rest) and rest[count - 1] == Run(
            first.start + count * period, first.block
        ):
            count += 1
        yield Run(first.start, first.block, period, count)
        blocks = blocks[count:]


def part(array: np.ndarray[Any, Any], sharding: Sharding, device: int) -> np.ndarray[Any, Any]:
    """The part of an array on a device in row-major order, padded if the rule is so."""
    own = held(sharding, array.shape, device)
    if sharding.local_rule == "own":
        return array[np.ix_(*[sorted(x) for x in own])]
    sizes = known(sharding.local_dims(array.shape))
    found = np.zeros(sizes, array.dtype)
    places = []
    for dim, indices in enumerate(own):
        at = []
        for x in sorted(indices):
            place, rest = 0, x
            for digit in sharding.digits(dim, array.shape[dim]):
                number, rest = divmod(rest, known((digit.block,))[0])
                place = place if digit.axes else place * known((digit.count,))[0] + number
            last = sharding.digits(dim, array.shape[dim])
            at.append(place * (known((last[-1].block,))[0] if last else 1) + rest)
        places.append(at)
    found[np.ix_(*places)] = array[np.ix_(*[sorted(x) for x in own])]
    return found
