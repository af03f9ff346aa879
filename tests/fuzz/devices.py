"""What each device holds, by random arrays on devices, against JAX's and torch's own answers.

    python -m tests.fuzz.devices --seed 33 --count 1000 jax
    python -m tests.fuzz.devices --seed 33 --count 1000 torch

JAX says which index each of 8 virtual devices has (``devices_indices_map``), and gives the same to
the callback of ``make_array_from_callback``; torch distributes the numbers of the elements over a
process group that is not there (``fake``), each axis of a mesh cutting what the one before left.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from math import prod
from random import Random
from typing import Any

import numpy as np

import morello_layouts as ml

DEVICES = 8


def jax_cases(rnd: Random, count: int) -> Iterator[tuple[ml.IndexMap, dict[int, Any]]]:
    """Yield arrays on devices, and by device the index that JAX says."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    for _ in range(count):
        sizes = rnd.choice([(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (2, 1, 4), (4,), (2, 2), (1,)])
        names = rnd.sample("xyzw", len(sizes))
        devices = np.array(jax.devices())[rnd.sample(range(DEVICES), prod(sizes))]
        free, spec = [*names, *(None for _ in range(rnd.randrange(3)))], []
        rnd.shuffle(free)
        while free:
            spec.append(tuple(free.pop() for _ in range(rnd.randint(1, min(2, len(free))))))
        cuts = [tuple(name for name in axes if name) or None for axes in spec]
        cuts = [axes if rnd.random() < 0.8 else None for axes in cuts]
        of = dict(zip(names, sizes, strict=True))
        shape = tuple(prod(of[x] for x in axes or ()) * rnd.randint(1, 5) for axes in cuts)
        mesh = Mesh(devices.reshape(sizes), tuple(names))
        sharding = NamedSharding(mesh, PartitionSpec(*cuts))
        asked = list[Any]()
        numbers = np.arange(prod(shape)).reshape(shape)
        jax.make_array_from_callback(
            shape, sharding, lambda at, x=numbers, a=asked: (a.append(at), x[at])[1]
        )
        found = {device.id: at for device, at in sharding.devices_indices_map(shape).items()}
        assert all(at in found.values() for at in asked)
        yield ml.index_map(ml.sharding(sharding, shape), shape), found


def torch_cases(rnd: Random, count: int) -> Iterator[tuple[ml.IndexMap, dict[int, Any]]]:
    """Yield arrays on devices, and by device the numbers of the elements that torch puts there."""
    import torch
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore

    for _ in range(count):
        sizes = tuple(rnd.randint(1, 4) for _ in range(rnd.randint(1, 3)))
        shape = tuple(rnd.randint(1, 19) for _ in range(rnd.randint(1, 2)))
        dims = [rnd.choice([0, 0, len(shape) - 1, None]) for _ in sizes]
        text = ", ".join("Replicate()" if d is None else f"Shard({d})" for d in dims)
        array = f"f32[{','.join(map(str, shape))}]"
        m = ml.index_map(f"{array}, placements=[{text}], mesh=({', '.join(map(str, sizes))})")
        placements = [Replicate() if d is None else Shard(d) for d in dims]
        numbers, found = torch.arange(prod(shape)).reshape(shape), {}
        for rank in range(prod(sizes)):
            distributed.init_process_group(
                "fake", rank=rank, world_size=prod(sizes), store=FakeStore()
            )
            mesh = init_device_mesh("cpu", sizes)
            own = distribute_tensor(numbers, mesh, placements, src_data_rank=None).to_local()
            found[rank] = own.numpy()
            distributed.destroy_process_group()
        yield m, found


def require(m: ml.IndexMap, device: int, theirs: Any) -> None:
    """Check what a device holds, and where its buffer has it."""
    part, numbers = m.local(device), np.arange(prod(m.shape)).reshape(m.shape)
    own = numbers[np.ix_(*part.indices)]
    given = theirs
    if isinstance(theirs, tuple):
        assert part.index == theirs
        theirs = numbers[theirs]
    assert (numbers[part.index] == own).all()
    assert own.shape == theirs.shape == part.shape
    assert (own == theirs).all()
    offsets = part.map.table() if own.size else own
    assert len(np.unique(offsets)) == own.size <= part.map.size
    for k, number in enumerate(own.reshape(-1)):
        at = np.unravel_index(number, m.shape)
        holders = m.place(*map(int, at)).holders
        (there,) = [each["offset"] for each in holders if each["device"] == device]
        back = m.element(device=device, offset=there)
        assert back == tuple(map(int, at))
        if isinstance(given, tuple):
            assert there == offsets.reshape(-1)[k]


def main() -> None:
    """Ask, and print how many parts were the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=["jax", "torch"])
    parser.add_argument("--seed", type=int, default=33)
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    cases = jax_cases if given.system == "jax" else torch_cases
    parts = 0
    for m, found in cases(Random(given.seed), given.count):
        for device, theirs in found.items():
            try:
                require(m, device, theirs)
            except Exception:
                print(f"wrong: device {device} of {m.source}, {theirs}")
                raise
            parts += 1
    print(f"{given.system}: {given.count} arrays, {parts} parts, all the same")


if __name__ == "__main__":
    main()
