"""Random pairs of shardings against a simulation that looks at each element on each device.

    python -m tests.fuzz.resharding --seed 15 --count 10000 --start 0 --journal pairs.txt

Question k of a seed is always the same. A run with ``--journal`` goes on from where the file ends.
Of each pair it is checked that each element reaches each device that needs it and lacks it, once,
from a device that has it; that senders and receivers list the same messages; that the plan moves
as many elements as the simulation, the fewest; that the messages are of the plan's kind; and that
no two axes of a plan have one name, and each name means that axis. With ``--jax``, each program
that a plan writes runs on 8 virtual devices, and none is refused whose parts are equal blocks.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from math import prod
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np

from morello_layouts.errors import UnsupportedError
from morello_layouts.machines.resharding.combs import Message
from morello_layouts.machines.resharding.counts import Traffic, traffic
from morello_layouts.machines.resharding.exchange import Exchange, exchange
from morello_layouts.machines.resharding.steps import jax_code, kind_of, steps_of
from morello_layouts.notations.sharding import Sharding
from tests.support.shardings import holders, random_mesh, random_sharding

WRITE_EVERY = 200
JAX_DEVICES = 8


def question(seed: int, number: int, devices: int, elements: int, unit: int = 1) -> Exchange:
    """Return the exchange of a random pair of up to so many devices, of sizes that unit divides.

    Of unit 1 there are up to so many elements.
    """
    rnd = Random(f"{seed} {number}")
    rank = rnd.randint(1, 3)
    longest = max(1, int(elements ** (1 / rank)))
    shape = tuple(unit * rnd.randint(1, max(1, longest // unit)) for _ in range(rank))
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
    require_names(found)
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


def require_names(found: Exchange) -> None:
    """Check that each axis has its own name, and that each mesh that has the name means that axis.

    Only of the mesh afterwards the plan may say, in words, that it means another.
    """
    for end in found.ends:
        names = [axis.name for axis in end.axes.values()]
        assert len({*names}) == len(names), names
        for mesh in (each.sharding.mesh for each in found.ends if found.is_common):
            for k, axis in end.axes.items():
                if axis.name not in mesh.names or mesh.size(axis.name) == 1:
                    continue
                devices = mesh.ids or range(int(str(mesh.count)))
                places = [(mesh.coordinate(d), end.values(d)) for d in devices]
                own = mesh.names.index(axis.name)
                is_it = all(at and values and at[own] == values[k] for at, values in places)
                is_told = mesh is found.target.sharding.mesh and axis.name in found.renamed
                assert is_it or is_told, (axis, mesh)


def are_equal_blocks(sharding: Sharding, shape: tuple[int, ...]) -> bool:
    """Whether all devices of the mesh hold blocks of one size, each at a multiple of it."""
    mesh = sharding.mesh
    held = holders(sharding, shape, int(str(mesh.devices)))
    for dim, n in enumerate(shape):
        others = tuple(d + 1 for d in range(len(shape)) if d != dim)
        parts = np.asarray(held.any(axis=others))[[*(mesh.ids or range(int(str(mesh.count))))]]
        first, size = parts.argmax(1), parts.sum(1)
        blocks = (np.arange(n) >= first[:, None]) & (np.arange(n) < (first + size)[:, None])
        if not size.min() or size.min() < size.max() or n % size[0] or (first % size[0]).any():
            return False
        if (blocks != parts).any():
            return False
    return True


def require_written(found: Exchange, collectives: bool) -> list[str]:
    """Run the JAX code of a plan, and compare who holds what; its kinds of steps, if any."""
    import jax
    from jax.sharding import NamedSharding

    ends = [end.sharding for end in found.ends]
    shape = tuple(n for n in found.shape if isinstance(n, int))
    can_be_said = all(are_equal_blocks(each, shape) for each in ends)
    steps = steps_of(found)
    try:
        code = jax_code(found, steps, "A plan", name="reshard", collectives=collectives)
    except UnsupportedError:
        rotated = any(level.first for each in ends for cut in each.cuts for level in cut)
        assert rotated or not can_be_said
        return []
    assert can_be_said, code
    names: dict[str, Any] = {}
    exec(code, names)
    before, after = names["before"], names["after"]
    if not isinstance(before, NamedSharding):
        before, after = (NamedSharding(names["mesh"], each) for each in (before, after))
    array = np.arange(prod(shape), dtype=np.float32).reshape(shape)
    put = jax.device_put(array, before)
    for sharding, result in zip(ends, (put, names["reshard"](put)), strict=True):
        held = holders(sharding, shape, JAX_DEVICES)
        assert (np.asarray(result) == array).all(), code
        assert len(result.addressable_shards) == sharding.mesh.count
        for shard in result.addressable_shards:
            own = np.zeros(shape, bool)
            own[shard.index] = True
            assert (own == held[shard.device.id]).all(), code
            assert (np.asarray(shard.data) == array[shard.index]).all(), code
    return [step.kind for step in steps] or ["none"]


def share_of_busiest(found: Exchange) -> float:
    """Return how many messages the busiest holder of a part sends, beside the fewest it must.

    >>> from morello_layouts.notations.sharding import Level, Mesh, Sharding
    >>> from morello_layouts.machines.resharding.exchange import exchange
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
    parser.add_argument("--jax", action="store_true", help="run the written programs too")
    given = parser.parse_args()
    if given.jax:
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={JAX_DEVICES}"
        os.environ["JAX_PLATFORMS"] = "cpu"
        given.devices = JAX_DEVICES
    start, unit = given.start, 24 if given.jax else 1
    if given.journal is not None and given.journal.exists():
        start = int(given.journal.read_text(encoding="utf-8").split()[-1])
    moved, begun, ran = 0, process_time(), Counter[str]()
    for number in range(start, given.start + given.count):
        found = question(given.seed, number, given.devices, given.elements, unit)
        try:
            moved += require_right(found)
            if given.jax:
                kinds = require_written(found, collectives=number % 4 > 0)
                ran.update(["programs", *set(kinds)] if kinds else ["refused"])
        except Exception:
            print(f"wrong: --seed {given.seed} --start {number} --count 1: {found}")
            raise
        if given.journal is not None and (number + 1) % WRITE_EVERY == 0:
            given.journal.write_text(f"right up to {number + 1}\n", encoding="utf-8")
    asked = given.start + given.count - start
    print(f"{asked} pairs right, {moved} elements moved, {process_time() - begun:.0f} s")
    if given.jax:
        print("JAX: " + ", ".join(f"{kind} {n}" for kind, n in sorted(ran.items())))


if __name__ == "__main__":
    main()
