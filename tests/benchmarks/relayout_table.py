"""Relayout kernels beside memcpy, NumPy, torch and oneDNN: the tables of docs/relayout_kernels.md.

``python tests/benchmarks/relayout_table.py`` prints them; ``--write`` puts the first of them, and
the means of the others, into the page. One thread each. Rounds are interleaved: in each round
everybody moves the buffer twice, and the second time is taken (of small buffers the mean of ten
more), as processor time of the thread, which other programs on the machine disturb least.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from textwrap import wrap
from time import thread_time

import numpy as np
from relayout_cases import (
    LARGE,
    SMALL,
    UNEVEN,
    Case,
    data_of,
    kernel,
    memcpy,
    numpys,
    onednn,
    room,
    sized,
    torchs,
)

from morello_layouts.kernels.build import FLAGS

PAGE = Path(__file__).parents[2] / "docs" / "relayout_kernels.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
WHO = ("kernel", "oneDNN", "torch", "NumPy")
FROM_C = "kernel, called from C"


def measure(case: Case, rounds: int) -> tuple[float, dict[str, float]]:
    """Gigabytes of the target that memcpy writes a second, and everybody's ratio to its time."""
    source, expected = data_of(case)
    out = room(expected.nbytes).view(expected.dtype)
    makers = {"kernel": kernel, "oneDNN": onednn, "torch": torchs, "NumPy": numpys}
    runs = {"memcpy": memcpy(out)}
    for name, make in makers.items():
        run = make(case, source, out)
        if run is None:
            continue
        out[...] = 0
        run()
        if out.tobytes() != expected.tobytes():
            raise SystemExit(f"{name} moves {case.name} to wrong places")
        runs[name] = run
    small = expected.nbytes < 1 << 20
    calls, rounds = (10, rounds * 5) if small else (1, rounds)
    if small:
        runs |= {"C": memcpy(out, calls), FROM_C: kernel(case, source, out, calls)}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            start = thread_time()
            for _ in range(1 if name in ("C", FROM_C) else calls):
                run()
            times[name].append((thread_time() - start) / calls)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    bases = {name: medians.pop(name) for name in ("memcpy", "C") if name in medians}
    ratios = {name: t / bases["C" if name == FROM_C else "memcpy"] for name, t in medians.items()}
    return expected.nbytes / bases["memcpy"] * 1e-9, ratios


def table(cases: Sequence[Case], rounds: int, who: Sequence[str] = WHO) -> list[str]:
    lines = [
        "| relayout | MiB written | memcpy, GB/s | " + " | ".join(who) + " |",
        "|---|---:|---:|" + "---:|" * len(who),
    ]
    ratios: dict[str, list[float]] = {name: [] for name in who}
    for case in cases:
        speed, found = measure(case, rounds)
        size = case.recipes[1].size * case.itemsize / 2**20
        cells = []
        for name in who:
            if name in found:
                ratios[name].append(found[name])
            cells.append(f"{found[name]:.2f}" if name in found else "—")
        lines.append(f"| {case.name} | {size:.2f} | {speed:.0f} | " + " | ".join(cells) + " |")
        sys.stderr.write(lines[-1] + "\n")
    means = [f"{statistics.geometric_mean(r):.2f}" if r else "—" for r in ratios.values()]
    return [*lines, "| **geometric mean** | | | " + " | ".join(means) + " |"]


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


def table_of_sizes(rounds: int) -> list[str]:
    lines = ["| relayout | sizes at run time, by constant ones |", "|---|---:|"]
    for cases, more in ((LARGE, 2), (SMALL, 5)):
        found = {case.name: cost_of_sizes(case, rounds * more) for case in cases}
        lines += [f"| {name} | {ratio:.2f} |" for name, ratio in found.items()]
        kind = "larger than the caches" if cases is LARGE else "within them"
        mean = statistics.geometric_mean(found.values())
        lines.append(f"| **geometric mean, {kind}** | {mean:.2f} |")
    return lines


def means(tables: dict[str, list[str]], sizes: list[str]) -> list[str]:
    """The geometric means of the tables that the page leaves out."""
    lines = [
        f"| geometric mean | {' | '.join((*WHO, FROM_C))} |",
        "|---|" + "---:|" * (len(WHO) + 1),
    ]
    for name, rows in tables.items():
        lines.append(f"| {name.lower()} |{rows[-1].partition('| | |')[2]}")
    found = [row.split("|")[2].strip() for row in sizes if "geometric mean" in row]
    about = f"takes {found[0]} times as long as one for constant sizes, and {found[1]} times within"
    return [*lines, "", f"A kernel for all sizes {about} the caches."]


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
    found = subprocess.run(
        ["dpkg-query", "-W", "-f", "oneDNN ${Version}", "libdnnl-dev"],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    model = (
        f"{told.get('Model name', platform.processor()).strip()} "
        f"(family {told.get('CPU family', '?').strip()}, {widest}), "
        f"{told.get('CPU(s)', '?').strip()} cores of a virtual machine"
    )
    parts = [
        model,
        "; ".join(caches),
        f"{gcc.splitlines()[0] if gcc else 'no gcc'}, {FLAGS[1]} {FLAGS[2]}",
        ", ".join([*versions, found or "no oneDNN"]),
    ]
    return "\n".join(wrap("Machine: " + ". ".join(parts) + ".", 100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    parser.add_argument("--rounds", type=int, default=21)
    given = parser.parse_args()
    large = table(LARGE, given.rounds)
    others = {
        "Within the caches": table(SMALL, given.rounds, (*WHO, FROM_C)),
        "Rows off the cache lines": table(UNEVEN, given.rounds, (*WHO, FROM_C)),
    }
    sizes = table_of_sizes(given.rounds)
    page_text = "\n".join([machine(), "", *large, "", *means(others, sizes)])
    sys.stdout.write(page_text + "\n")
    for name, lines in {**others, "One kernel for all sizes": sizes}.items():
        sys.stdout.write("\n".join(["", f"{name}:", "", *lines, ""]))
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        PAGE.write_text(f"{before}{BEGIN}\n{page_text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
