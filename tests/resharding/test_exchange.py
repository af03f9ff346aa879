"""Every message against a simulation that looks at each element."""

from __future__ import annotations

from random import Random

import numpy as np

from morello_layouts.resharding.exchange import Exchange, exchange
from tests.support.shardings import holders, random_mesh, random_sharding


def simulated(rnd: Random, most: int, elements: int) -> None:
    """Compare the exchange of a random pair with the holders of each element."""
    rank = rnd.randint(1, 3)
    shape = tuple(rnd.randint(1, max(1, int(elements ** (1 / rank)))) for _ in range(rank))
    mesh = random_mesh(rnd, most)
    other = mesh if rnd.random() < 0.6 else random_mesh(rnd, most)
    pair = random_sharding(rnd, mesh, shape), random_sharding(rnd, other, shape)
    check(exchange(*pair, shape))


def check(found: Exchange) -> None:
    """Check that each element reaches each device that needs it and lacks it, once."""
    ends = (found.source.sharding, found.target.sharding)
    devices = max(s.mesh.devices for s in ends)
    before, after = (holders(s, found.shape, devices) for s in ends)
    arrived = np.zeros(after.shape, np.int64)
    received = {}
    for device in range(devices):
        for message in found.receives(device):
            assert message.receiver == device
            assert message.sender != device
            assert message.size
            box = np.ix_(*([x for run in runs for x in run] for runs in message.runs))
            assert before[message.sender][box].all(), (found, message)
            arrived[device][box] += 1
            received[message.sender, device, message.runs] = message
    assert (arrived == (after & ~before)).all(), found
    sent = [message for device in range(devices) for message in found.sends(device)]
    keys = [(m.sender, m.receiver, m.runs) for m in sent]
    assert sorted(keys) == sorted(received), found
    for device in range(devices):
        kept = found.keeps(device)
        both = before[device] & after[device]
        assert (kept.size if kept else 0) == both.sum()


def test_random_pairs() -> None:
    rnd = Random(15)
    for _ in range(80):
        simulated(rnd, 12, 150)
