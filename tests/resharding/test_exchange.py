"""Every message against a simulation that looks at each element; evenness; large arrays."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, product
from math import prod
from operator import mul
from typing import Any

import pytest

from morello_layouts.core.recipe import known
from morello_layouts.errors import UnsupportedError
from morello_layouts.machines.resharding import counts
from morello_layouts.machines.resharding.combs import Run
from morello_layouts.machines.resharding.counts import traffic
from morello_layouts.machines.resharding.exchange import exchange
from morello_layouts.notations.sharding import Level, Mesh, Sharding
from tests.fuzz.resharding import question, require_right, share_of_busiest

MESH = Mesh((("x", 256), ("y", 256)))
SIDE = 1 << 20


def test_random_pairs() -> None:
    for number in range(40):
        require_right(question(15, number, 12, 150))


@pytest.mark.slow
def test_random_pairs_on_more_devices() -> None:
    for number in range(150):
        require_right(question(16, number, 64, 300))


def test_messages_as_arrays() -> None:
    """They are those of each device, a row for each product of runs."""
    for number in range(120):
        found = question(99, number, 12, 150)
        most = max(known((end.sharding.mesh.devices,))[0] for end in found.ends)
        devices = [*range(most)][::-1]
        arrays = found.received(devices)
        rows = sorted(zip(*(x.tolist() for x in (*arrays, arrays.size)), strict=True))
        boxes: list[Any] = [
            (m.sender, m.receiver, *map(list, zip(*_numbers(runs), strict=True)))
            for device in devices
            for m in found.receives(device)
            for runs in product(*m.runs)
        ]
        assert rows == sorted((*box, prod(map(mul, box[3], box[5]))) for box in boxes)


def test_messages_as_arrays_do_not_wrap() -> None:
    rows, columns = (((Level(("x",)),), ()), ((), (Level(("x",)),)))
    mesh, side = Mesh((("x", 2),)), 1 << 40
    found = exchange(Sharding(mesh, rows), Sharding(mesh, columns), (side, side))
    assert found.received([0]).size.tolist() == [side * side // 4]
    large = exchange(Sharding(mesh, rows), Sharding(mesh, columns), (1 << 62, 8))
    with pytest.raises(UnsupportedError, match=r"expected sizes below 2\^61"):
        large.received([0])


def _numbers(runs: Iterable[Run]) -> list[tuple[int, ...]]:
    return [(r.start, r.block, r.period if r.count > 1 else 0, r.count) for r in runs]


def test_every_way_of_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs one by one, and Python's integers, count as the formula for all does."""
    pairs = [question(17, number, 16, 200) for number in range(150)]
    every = [traffic(pair).kept.tolist() for pair in pairs]
    monkeypatch.setattr(counts, "RESHARD_STEPS", -1)
    assert [traffic(pair).kept.tolist() for pair in pairs] == every
    monkeypatch.undo()
    monkeypatch.setattr(counts, "_EXACT", 0)
    assert [traffic(pair).kept.tolist() for pair in pairs] == every


def test_holders_of_copies_share_the_work() -> None:
    """Of even parts: the busiest holder sends as few messages as it can, up to rounding."""
    mesh = Mesh((("x", 4), ("y", 4), ("z", 2)))
    cuts = (
        (),
        (Level(("x",)),),
        (Level(("y",)),),
        (Level(("x", "y")),),
        (Level(("z",)),),
    )
    for a in cuts:
        for b in cuts:
            found = exchange(Sharding(mesh, (a, ())), Sharding(mesh, (b, ())), (32, 3))
            assert share_of_busiest(found) <= 1.5, (a, b)


def test_counts_past_64_bits_are_exact() -> None:
    side = (1 << 40) + 1
    for ids in ((), (3, 1, 0, 2)):
        rows, columns = (((Level(("x",)),), ()), ((), (Level(("x",)),)))
        one = Sharding(Mesh((("x", 4),), ids), rows)
        found = traffic(exchange(one, Sharding(Mesh((("x", 4),)), columns), (side, side)))
        assert int(found.held.sum()) == int(found.needed.sum()) == side**2
        part, last = side // 4 + 1, side - 3 * (side // 4 + 1)
        squares = [part**2, part**2, part**2, last**2]
        assert found.moved == side**2 - sum(squares) or ids
        assert all(isinstance(x, int) for x in found.kept.tolist())


def test_a_large_array_on_many_devices() -> None:
    """Each device of 65,536 exchanges with 255 others; nothing is as large as all pairs."""
    one = Sharding(MESH, ((Level(("x",)),), (Level(("y",)),)))
    other = Sharding(MESH, ((Level(("x", "y")),), ()))
    found = exchange(one, other, (SIDE, SIDE))
    assert traffic(found).moved == SIDE * SIDE * 255 // 256
    sent = [*found.sends(4_000)]
    assert len(sent) == 255
    assert {message.size for message in sent} == {16 * 4096}
    assert {message.receiver // 256 for message in sent} == {4_000 // 256}


def test_cycles_of_coprime_blocks_on_many_devices() -> None:
    blocks = (40, 41)
    pair = (Sharding(MESH, ((Level((), 65536 * n), Level(("x", "y"), n)),)) for n in blocks)
    found = exchange(*pair, (1 << 40,))
    moved = traffic(found)
    assert moved.held.sum() == moved.needed.sum() == 1 << 40
    first = [*islice(found.receives(77), 40)]
    kept = found.keeps(77)
    assert int(moved.kept[77]) == (kept.size if kept else 0)
    assert all(len(message.runs[0]) < 50 for message in first)
    every = sum(message.size for message in found.receives(77))
    assert every == int(moved.received[77])
