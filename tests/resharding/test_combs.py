"""Intersections of combs, and who holds them, against sets of indices."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from morello_layouts.machines.resharding.combs import (
    Comb,
    CutLevel,
    clip,
    first_hit,
    intersection,
    part,
    touched,
)

HUGE = 1 << 40


def random_cut(rnd: Random, n: int, axes: list[tuple[int, int]]) -> tuple[CutLevel, ...]:
    """Return levels of any order and of blocks that need not divide each other."""
    found, extent, left = list[CutLevel](), n, axes[:]
    while left or (len(found) < 4 and rnd.random() < 0.3):
        if left and rnd.random() < 0.7:
            axis, size = left.pop()
            block = max(1, -(-extent // size) + rnd.choice([0, 0, 1, 2]))
            found.append(CutLevel(block, axis, size, rnd.choice([0, 0, rnd.randrange(size)])))
        else:
            block = rnd.randint(1, max(1, extent))
            found.append(CutLevel(block))
        extent = block
    return tuple(found)


def values(levels: tuple[CutLevel, ...], x: int) -> dict[int, int]:
    """Return the value of each axis at which an index is held."""
    found = {}
    for level in levels:
        number, x = divmod(x, level.block)
        if level.axis is not None:
            found[level.axis] = (number + level.shift) % level.size
    return found


def test_parts_and_intersections() -> None:
    rnd = Random(3)
    for _ in range(30):
        n = rnd.randint(1, 200)
        axes = [(k, rnd.randint(1, 4)) for k in range(4)]
        a, b = random_cut(rnd, n, axes[: rnd.randint(0, 2)]), random_cut(rnd, n, axes[2:])
        held = [values(a, x) for x in range(n)]
        needed = [values(b, x) for x in range(n)]
        for point in product(*(range(size) for _, size in axes)):
            at = dict(enumerate(point))
            one, other = part(a, at, n), part(b, at, n)
            mine = [x for x in range(n) if held[x].items() <= at.items()]
            assert sorted(x for comb in one for x in comb) == mine, (a, at, n)
            both = [x for x in mine if needed[x].items() <= at.items()]
            found = intersection(one, other)
            assert sorted(x for comb in found for x in comb) == both, (a, b, at, n)
            assert sum(comb.size for comb in found) == len(both)
            there = [dict(pairs) for pairs in touched(b, one)]
            assert all(each in there for each in (needed[x] for x in mine)), (a, b, at, n)
            assert all(each in [needed[x] for x in mine] for each in there), (a, b, at, n)
            assert len({tuple(each.items()) for each in there}) == len(there)


def test_clip_and_runs() -> None:
    comb = Comb(3, 2, ((20, 3), (5, 2)))
    every = list(comb)
    assert len(every) == comb.size
    assert every[-1] + 1 == comb.stop
    for low, high in product(range(60), repeat=2):
        found = [x for each in clip(comb, low, high) for x in each]
        assert found == [x for x in every if low <= x < high]


def test_first_hit() -> None:
    for m in range(2, 24):
        for a, low, high in product(range(m), range(1, m), range(1, m)):
            if low <= high:
                wanted = next((k for k in range(m) if low <= a * k % m <= high), None)
                assert first_hit(a, m, low, high) == wanted, (a, m, low, high)


@pytest.mark.parametrize(
    ("one", "other", "combs", "partners"),
    [
        ((CutLevel(4), CutLevel(1, 0, 4)), (CutLevel(1 << 22), CutLevel(1 << 20, 1, 4)), 1, 4),
        ((CutLevel(256), CutLevel(64, 0, 4)), (CutLevel(144), CutLevel(48, 1, 3)), 6, 3),
        ((CutLevel(4), CutLevel(1, 0, 4)), (CutLevel(2_000_006), CutLevel(1_000_003, 1, 2)), 2, 2),
        (
            (CutLevel(1 << 16), CutLevel(64, 0, 1024)),
            (CutLevel(1 << 17), CutLevel(64, 1, 2048)),
            1,
            2,
        ),
        (
            (CutLevel(1 << 30), CutLevel(1 << 20, 0, 1024)),
            (CutLevel(7007), CutLevel(7, 1, 1001)),
            1026,
            1001,
        ),
    ],
)
def test_answers_are_short(
    one: tuple[CutLevel, ...], other: tuple[CutLevel, ...], combs: int, partners: int
) -> None:
    at = {0: 1, 1: 1}
    assert len(intersection(part(one, at, HUGE), part(other, at, HUGE))) == combs
    assert len(touched(other, part(one, at, HUGE))) == partners
