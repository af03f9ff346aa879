"""Measure plans over MPI: ``python tests/benchmarks/resharding.py`` starts 4 processes by mpirun.

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
    given = options.parse_args()
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
