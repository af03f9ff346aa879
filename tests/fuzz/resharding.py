"""Random pairs of shardings against a simulation that looks at each element on each device.

    python -m tests.fuzz.resharding --seed 15 --count 10000 --start 0 --journal pairs.txt

Question k of a seed is always the same. A run with ``--journal`` goes on from where the file ends.
Of each pair it is checked that each element reaches each device that needs it and lacks it, once,
from a device that has it; that senders and receivers list the same messages; that the plan moves
as many elements as the simulation, the fewest; and that the messages are of the plan's kind.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from math import prod
from pathlib import Path
from random import Random
from time import process_time

import numpy as np

from morello_layouts.resharding.combs import Message
from morello_layouts.resharding.counts import Traffic, traffic
from morello_layouts.resharding.exchange import Exchange, exchange
from morello_layouts.resharding.steps import kind_of
from tests.support.shardings import holders, random_mesh, random_sharding

WRITE_EVERY = 200


def question(seed: int, number: int, devices: int, elements: int) -> Exchange:
    """Return the exchange of a random pair of up to so many devices and elements."""
    rnd = Random(f"{seed} {number}")
    rank = rnd.randint(1, 3)
    longest = max(1, int(elements ** (1 / rank)))
    shape = tuple(rnd.randint(1, longest) for _ in range(rank))
    mesh = random_mesh(rnd, devices)
    other = mesh if rnd.random() < 0.6 else random_mesh(rnd, devices)
    pair = random_sharding(rnd, mesh, shape), random_sharding(rnd, other, shape)
    return exchange(*pair, shape)


def require_right(found: Exchange) -> int:
    """Check an exchange against the holders of each element, and return the elements moved."""
    ends = found.source.sharding, found.target.sharding
    devices = max(s.mesh.devices for s in ends)
    assert isinstance(devices, int)
    shape = tuple(n for n in found.shape if isinstance(n, int))
    before, after = (holders(s, shape, devices) for s in ends)
    arrived = np.zeros(after.shape, np.int64)
    received = []
    for device in range(devices):
        for message in found.receives(device):
            assert message.receiver == device
            assert message.sender != device
            box = np.ix_(*([x for run in runs for x in run] for runs in message.runs))
            assert before[message.sender][box].all(), message
            assert arrived[device][box].size == message.size > 0
            arrived[device][box] += 1
            received.append(message)
        kept = found.keeps(device)
        assert kept is None or kept.sender == kept.receiver == device
        assert (kept.size if kept else 0) == (before[device] & after[device]).sum()
    wanted = after & ~before
    assert (arrived == wanted).all()
    sent = [message for device in range(devices) for message in found.sends(device)]
    keys = [sorted((m.sender, m.receiver, m.runs) for m in side) for side in (sent, received)]
    assert keys[0] == keys[1]
    moved = int(wanted.sum())
    counted = traffic(found)
    assert counted.moved == moved == sum(m.size for m in sent)
    assert counted.held.sum() == ends[0].replicas * prod(shape) == before.sum()
    require_kind(found, sent, counted)
    return moved


def require_kind(found: Exchange, messages: Sequence[Message], counted: Traffic) -> None:
    """Check that messages are as the kind says, and only along its axes."""
    kind = kind_of(found)
    senders = Counter(message.receiver for message in messages)
    if kind.name in {"nothing", "slice"}:
        assert not messages, kind
    if kind.name == "all-gather":
        assert (counted.kept == counted.held).all(), kind
    if kind.name == "permute":
        assert set(senders.values()) <= {1}, kind
    if found.is_common:
        for message in messages:
            ends = found.source.values(message.sender), found.target.values(message.receiver)
            assert ends[0] is not None
            assert ends[1] is not None
            differ = {found.source.axes[k].name for k, x in ends[0].items() if ends[1][k] != x}
            assert differ <= {*kind.axes}, (kind, message)


def share_of_busiest(found: Exchange) -> float:
    """Return how many messages the busiest holder of a part sends, beside the fewest it must.

    >>> from morello_layouts.notations.sharding import Level, Mesh, Sharding
    >>> from morello_layouts.resharding.exchange import exchange
    >>> mesh = Mesh((("x", 4), ("y", 4)))
    >>> one, other = (Sharding(mesh, ((Level((axis,)),),)) for axis in "xy")
    >>> share_of_busiest(exchange(one, other, (16,)))
    1.0
    """
    sent = Counter[tuple[int, ...]]()
    every = Counter[tuple[int, ...]]()
    devices = found.source.sharding.mesh.devices
    assert isinstance(devices, int)
    for device in range(devices):
        values = found.source.values(device)
        if values is not None:
            part = tuple(values[k] for k in found.source.cut_axes)
            number = sum(1 for _ in found.sends(device))
            sent[part] = max(sent[part], number)
            every[part] += number
    copies = found.source.sharding.replicas
    assert isinstance(copies, int)
    return max((sent[part] / -(-n // copies) for part, n in every.items() if n), default=1.0)


def main() -> None:
    """Ask questions, and print how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--devices", type=int, default=64)
    parser.add_argument("--elements", type=int, default=300)
    parser.add_argument("--journal", type=Path)
    given = parser.parse_args()
    start = given.start
    if given.journal is not None and given.journal.exists():
        start = int(given.journal.read_text(encoding="utf-8").split()[-1])
    moved, begun = 0, process_time()
    for number in range(start, given.start + given.count):
        found = question(given.seed, number, given.devices, given.elements)
        try:
            moved += require_right(found)
        except AssertionError:
            print(f"wrong: --seed {given.seed} --start {number} --count 1: {found}")
            raise
        if given.journal is not None and (number + 1) % WRITE_EVERY == 0:
            given.journal.write_text(f"right up to {number + 1}\n", encoding="utf-8")
    asked = given.start + given.count - start
    print(f"{asked} pairs right, {moved} elements moved, {process_time() - begun:.0f} s")


if __name__ == "__main__":
    main()
