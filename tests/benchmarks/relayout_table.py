"""Relayout kernels beside memcpy, NumPy, torch and oneDNN: the tables of docs/kernels_inside.md.

``python tests/benchmarks/relayout_table.py`` prints every case; ``--write`` puts the means into the
page, ``--match`` chooses cases by a part of their names. Each kernel writes the same memory at 0,
4, 16, 32 and 48 bytes past a line, and an array of ``np.empty``; the others write 16 bytes past.
One thread each. In each round everybody moves the buffer twice by turns, and the second time is
taken (of small buffers the mean of ten calls), as processor time of the thread. A figure is the
median over the rounds of its multiple of memcpy's time in the same round.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from operator import truediv
from pathlib import Path
from textwrap import wrap
from time import thread_time

import numpy as np
from relayout_cases import (
    CASES,
    EVEN,
    Case,
    Move,
    data_of,
    kernel,
    memcpy,
    numpys,
    onednn,
    onednn_library,
    room,
    sized,
    torchs,
)

from morello_layouts.outputs.kernels.build import FLAGS

PAGE = Path(__file__).parents[2] / "docs" / "kernels_inside.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
PAST = (0, 4, 16, 32, 48)
OWN = "np.empty"
KERNEL = (*(f"+{past}" for past in PAST), OWN)
PEERS = {"oneDNN": onednn, "torch": torchs, "NumPy": numpys}
AMID = 16  # where the others write
SMALL, LARGE = 1 << 20, 1 << 26  # bytes: called from C; with few rounds


def targets(size: int) -> dict[str, np.ndarray]:
    """Bytes of one piece of memory, at several places past a line, and an array of NumPy's."""
    memory = room(size + 3 * 64)[64:]
    found = {f"+{past}": memory[past : past + size] for past in PAST}
    return {**found, OWN: np.empty(size, np.uint8)}


def checked(case: Case, name: str, run: Move, out: np.ndarray, expected: np.ndarray) -> Move:
    """Run once, and require the expected bytes, and no others next to them."""
    out[...] = 0
    beside = ctypes.string_at(out.ctypes.data - 64, 64) if name != OWN else b""
    run()
    if out.tobytes() != expected.tobytes():
        raise SystemExit(f"{name} moves {case.name} to wrong places")
    if name != OWN and beside != ctypes.string_at(out.ctypes.data - 64, 64):
        raise SystemExit(f"{name} writes before {case.name}")
    return run


def measure(case: Case, rounds: int) -> tuple[float, dict[str, float]]:
    """Gigabytes of the target that memcpy writes a second, and everybody's ratio to its time."""
    source, expected = data_of(case)
    size = expected.nbytes
    calls = 10 if size < SMALL else 0
    rounds = max(3, rounds // 3) if size >= LARGE else rounds
    outs = targets(size)
    base = memcpy(outs["+0"], calls)
    runs = {"memcpy": base}
    for name, out in outs.items():
        runs[name] = checked(case, name, kernel(case, source, out, calls), out, expected)
    out = outs[f"+{AMID}"].view(expected.dtype)
    for name, make in PEERS.items():
        if size >= LARGE and name == "NumPy":
            continue
        run = make(case, source, out)
        if run is not None:
            runs[name] = checked(case, name, run, out, expected)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            again = calls if name in PEERS else 1
            run()
            start = thread_time()
            for _ in range(again or 1):
                run()
            times[name].append(thread_time() - start)
    ratios = {
        name: statistics.median(map(truediv, taken, times["memcpy"]))
        for name, taken in times.items()
        if name != "memcpy"
    }
    return size * (calls or 1) / statistics.median(times["memcpy"]) * 1e-9, ratios


def table(cases: Sequence[Case], rounds: int) -> tuple[list[str], dict[Case, dict[str, float]]]:
    """The rows of every case, and the ratios."""
    columns = (*KERNEL, *PEERS)
    lines = [f"| relayout | MiB | memcpy, GB/s | {' | '.join(columns)} |"]
    lines.append("|---|---:|---:|" + "---:|" * len(columns))
    every = {}
    for case in cases:
        speed, found = measure(case, rounds)
        size = case.recipes[1].size * case.itemsize / 2**20
        cells = [f"{found[name]:.2f}" if name in found else "—" for name in columns]
        lines.append(f"| {case.name} | {size:.2f} | {speed:.1f} | {' | '.join(cells)} |")
        sys.stderr.write(lines[-1] + "\n")
        every[case] = found
    return lines, every


def means(every: dict[Case, dict[str, float]]) -> list[str]:
    """The geometric means of the families, and how many cases are slow."""
    columns = (*KERNEL, *PEERS)
    lines = [f"| cases | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    families = [*dict.fromkeys(case.family for case in every), "all"]
    for family in families:
        rows = [found for case, found in every.items() if family in ("all", case.family)]
        cells = []
        for name in columns:
            told = [found[name] for found in rows if name in found]
            cells.append(f"{statistics.geometric_mean(told):.2f}" if told else "—")
        lines.append(f"| {family}: {len(rows)} | {' | '.join(cells)} |")
    above = [sum(found[name] > 2 for found in every.values()) for name in KERNEL]
    lines.append(f"| above 2 | {' | '.join(map(str, above))} | | | |")
    behind = [
        sum(
            found[name] > 1.05 * min(found.get(peer, 99) for peer in PEERS)
            for found in every.values()
        )
        for name in KERNEL
    ]
    return [*lines, f"| behind the best other | {' | '.join(map(str, behind))} | | | |"]


def cost_of_sizes(case: Case, rounds: int) -> float:
    """The time of the kernel that takes sizes as arguments, by that of constant sizes.

    The two move the buffer by turns, and who begins changes from round to round.
    """
    source, expected = data_of(case)
    out = room(expected.nbytes).view(expected.dtype)
    runs = [kernel(case, source, out), sized(case, source, out)]
    calls = 20 if expected.nbytes < 1 << 20 else 1
    ratios = []
    for k in range(rounds):
        taken = [0.0, 0.0]
        for which in (k % 2, 1 - k % 2):
            runs[which]()
            start = thread_time()
            for _ in range(calls):
                runs[which]()
            taken[which] = thread_time() - start
        ratios.append(taken[1] / taken[0])
    if out.tobytes() != expected.tobytes():
        raise SystemExit(f"the kernel for all sizes moves {case.name} to wrong places")
    return statistics.median(ratios)


def sizes(rounds: int) -> str:
    """How much longer kernels for all sizes take, in words."""
    cases = [case for case in CASES if case.family == EVEN and case.itemsize > 1]
    near = [case for case in cases if math.prod(case.shape) * case.itemsize < SMALL]
    far = [case for case in cases if SMALL <= math.prod(case.shape) * case.itemsize < LARGE]
    a, b = (
        statistics.geometric_mean([cost_of_sizes(case, rounds) for case in part])
        for part in (far, near)
    )
    return (
        f"A kernel for all sizes takes {a:.2f} times as long as one for constant sizes, and "
        f"{b:.2f} times within the caches."
    )


def machine() -> str:
    lscpu = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    told = dict(line.split(":", 1) for line in lscpu.splitlines() if ":" in line)
    caches = [f"{name} {told[name].strip()}" for name in told if "cache" in name]
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout
    flags = told.get("Flags", "").split()
    widest = next((f for f in ("avx512bw", "avx2", "sse2") if f in flags), platform.machine())
    versions = [f"NumPy {np.__version__}"]
    for name in ("torch",):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    library = onednn_library()
    if library is None:
        versions.append("no oneDNN")
    else:
        library.dnnl_version.restype = ctypes.POINTER(ctypes.c_int)
        versions.append(f"oneDNN {'.'.join(map(str, library.dnnl_version()[:3]))}")
    model = (
        f"{told.get('Model name', platform.processor()).strip()} "
        f"(family {told.get('CPU family', '?').strip()}, {widest}), "
        f"{told.get('CPU(s)', '?').strip()} cores of a virtual machine with "
        f"{os.getloadavg()[0]:.0f} processes running"
    )
    parts = [
        model,
        "; ".join(caches),
        f"{gcc.splitlines()[0] if gcc else 'no gcc'}, {FLAGS[1]} {FLAGS[2]}",
        ", ".join(versions),
    ]
    return "\n".join(wrap("Machine: " + ". ".join(parts) + ".", 100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--match", default="", help="a part of the cases' names or families")
    given = parser.parse_args()
    cases = [case for case in CASES if given.match in f"{case.family}: {case.name}"]
    lines, every = table(cases, given.rounds)
    text = "\n".join([machine(), "", *means(every)])
    if not given.match:
        text += f"\n\n{sizes(given.rounds)}"
    sys.stdout.write("\n".join([*lines, "", text, ""]))
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
