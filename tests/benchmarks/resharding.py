"""Measure plans over MPI: ``python tests/benchmarks/resharding.py`` starts 4 processes by mpirun.

With ``--jax`` the code that a plan writes runs on 8 devices of the CPU, beside ``jax.device_put``,
and with ``--simulate 1000000`` the schedule of a plan of so many devices runs in a model: a link
each way of 50 GB/s and 5 us, and packing and unpacking at 100 GB/s each.

Beside each plan stand ``Alltoallv`` of as many bytes between the same ranks with nothing packed,
and gathering on one rank with ``Scatter`` from there. Rounds alternate, and medians are printed: of
the time from begin to end, and of the processor time of all ranks.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from morello_layouts import reshard
from morello_layouts.machines.resharding.mpi import transfer_of

N = 8192
ROWS, COLUMNS = (f"f32[{N},{N}], mesh={{'x': 4}}, spec=P({x})" for x in ("'x', None", "None, 'x'"))
CYCLIC, BLOCK = (f"({x}, {x}) ONTO (2, 2)" for x in ("CYCLIC(64)", "BLOCK"))
CASES = {
    f"f32[{N},{N}] rows to columns": (ROWS, COLUMNS),
    f"f32[{N},{N}] columns to rows": (COLUMNS, ROWS),
    f"f32[{N},{N}] CYCLIC(64) to BLOCK on 2 x 2": (CYCLIC, BLOCK),
    f"f32[{N},{N}] BLOCK to CYCLIC(64) on 2 x 2": (BLOCK, CYCLIC),
}


def main() -> None:
    """Start the processes, or be one of them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--scratch", type=int, default=1 << 26)
    options.add_argument("--rank", action="store_true", help="be a process of mpirun")
    options.add_argument("--jax", action="store_true")
    options.add_argument("--simulate", type=int, default=0, help="devices, a multiple of 4")
    given = options.parse_args()
    if given.jax or given.simulate:
        simulate(given.simulate) if given.simulate else beside_device_put(given.rounds)
        return
    if given.rank:
        measure(given.rounds, given.scratch)
        return
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "4"]
    command += ["--mca", "mpi_yield_when_idle", "1"]
    subprocess.run([*command, sys.executable, __file__, *sys.argv[1:], "--rank"], check=True)


def measure(rounds: int, scratch: int) -> None:
    """Print a row for each case."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    say = sys.stdout.write if comm.rank == 0 else lambda _: 0
    say("| plan | MiB moved | ms | of bare Alltoallv | of gather and scatter | processor, ms | ")
    say("of bare | of gather and scatter |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
    for name, pair in CASES.items():
        plan = reshard(*pair, (N, N) if "ONTO" in pair[0] else None)
        transfer = transfer_of(plan.exchange, (plan.source, plan.target), comm, scratch)
        shape = transfer.source.recipe.shape if transfer.source else ()
        local = np.random.default_rng(comm.rank).random(shape, np.float32)
        out = np.zeros(transfer.target.recipe.shape, np.float32) if transfer.target else None
        ways = {
            "plan": partial(transfer.run, local, out),
            "bare": bare(comm, transfer),
            "root": through_root(comm, local, out),
        }
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(rounds + 1):
            for way, work in ways.items():
                times[way].append(timed(comm, work))
        moved = sum(m.size for m in transfer.sends if m.receiver != comm.rank) * 4
        total = comm.allreduce(moved) / 2**20
        columns = ""
        for kind in range(2):
            ours, base, root = (median(each[kind] for each in x[1:]) for x in times.values())
            columns += f" {ours * 1e3:.0f} | {ours / base:.2f} | {ours / root:.2f} |"
        say(f"| {name} | {total:.0f} |{columns}\n")
        sys.stdout.flush()


def timed(comm: Any, work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds from the first rank's begin to the last one's end, and of processors."""
    comm.Barrier()
    start, own = time.perf_counter(), time.process_time()
    work()
    own = time.process_time() - own
    comm.Barrier()
    return time.perf_counter() - start, comm.allreduce(own)


def bare(comm: Any, transfer: Any) -> Callable[[], object]:
    """Return one Alltoallv of the bytes of a plan, from and to contiguous memory."""
    from mpi4py import MPI

    sides = []
    for messages, end in ((transfer.sends, "receiver"), (transfer.receives, "sender")):
        counts = np.zeros(comm.size, np.int32)
        for message in messages:
            counts[getattr(message, end)] = 4 * message.size
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
        sides.append([np.ones(counts.sum(), np.uint8), counts, starts, MPI.BYTE])
    return lambda: comm.Alltoallv(*sides)


def beside_device_put(rounds: int) -> None:
    """Print how long the written programs take beside JAX's own move, and their memory."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    array = "f32[2048,2048], mesh={'x': 2, 'y': 4}, spec="
    for before, after in (("'x', 'y'", "'y', 'x'"), ("('x', 'y')", "None, ('x', 'y')"),
                          ("'x', 'y'", "('x', 'y')"), ("('x', 'y')", "")):  # fmt: skip
        plan = reshard(f"{array}P({before})", f"{array}P({after})")
        names: dict[str, Any] = {}
        exec(plan.jax(), names)
        ends = [jax.sharding.NamedSharding(names["mesh"], names[x]) for x in ("before", "after")]
        put = jax.device_put(np.zeros((2048, 2048), np.float32), ends[0])
        memory = names["reshard"].lower(put).compile().memory_analysis()
        peak = sum(getattr(memory, f"{x}_size_in_bytes") for x in ("argument", "output", "temp"))
        ways = (names["reshard"], partial(jax.device_put, device=ends[1]))
        times = list[list[float]]()
        for _ in range(rounds + 1):
            times.append([])
            for way in ways:
                begun = time.perf_counter()
                way(put).block_until_ready()
                times[-1].append(time.perf_counter() - begun)
        ours, theirs = (min(each[k] for each in times[1:]) * 1e3 for k in range(2))
        say = f"P({before}) to P({after}): {ours:.1f} ms, device_put {theirs:.1f} ms; XLA's memory"
        print(f"{say} {peak:,} bytes a device, {plan.schedule()}")  # noqa: T201


def simulate(devices: int) -> None:
    """Print how long the schedule of a large plan takes in a model, with overlap and without."""
    array = f"f32[{devices},4096], mesh={{'x': {devices // 4}, 'y': 4}}, spec="
    plan = reshard(array + "P(('x', 'y'), None)", array + "P('x', 'y')")
    schedule = plan.schedule(40_000)
    rows = [(m.sender, m.receiver, m.size) for d in range(devices) for m in plan.sends(d)]
    sender, receiver, size = np.array(rows).T
    turn = (receiver - sender) % devices
    pack, out, into, unpack = np.zeros((4, devices))  # when each is free
    sent, got = np.zeros((2, 2, devices))  # when the slots of the last two pieces are free
    alone = np.zeros(devices)
    for number in np.unique(turn):
        own = turn == number
        s, r, left = sender[own], receiver[own], size[own]
        assert len({*s}) == len(s), "a device sends twice at one turn"
        assert len({*r}) == len(r), "a device receives twice at one turn"
        while left.size:
            n = np.minimum(left, schedule.piece) * plan.element_bits / 8
            copied, travels = n / 100e9, 5e-6 + n / 50e9
            pack[s] = np.maximum(pack[s], sent[0, s]) + copied
            begun = np.maximum.reduce([pack[s], out[s], into[r], got[0, r]])
            out[s] = into[r] = begun + travels
            unpack[r] = np.maximum(out[s], unpack[r]) + copied
            sent[:, s], got[:, r] = (sent[1, s], out[s]), (got[1, r], unpack[r])
            end = np.maximum(alone[s] + copied, alone[r]) + travels
            alone[s] = end
            alone[r] = np.maximum(alone[r], end) + copied
            left = left - schedule.piece
            s, r, left = s[left > 0], r[left > 0], left[left > 0]
    bound = plan.most_received_bytes / 50e9
    print(  # noqa: T201
        f"{devices:,} devices, {len(rows):,} messages, {schedule}: {unpack.max() * 1e6:.1f} us, "
        f"{alone.max() * 1e6:.1f} without overlap, {bound * 1e6:.2f} for the bytes alone"
    )


def through_root(comm: Any, local: Any, out: Any) -> Callable[[], object]:
    """Return gathering all on rank 0 and scattering it from there; nothing is rearranged."""
    whole = np.ones(local.size * comm.size, np.float32) if comm.rank == 0 else None

    def work() -> None:
        comm.Gather(local, whole)
        comm.Scatter(whole, out)

    return work


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
