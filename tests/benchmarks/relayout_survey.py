"""Every ordered pair of twelve matrix layouts beside memcpy, in docs/kernels_inside.md.

``python tests/benchmarks/relayout_survey.py`` prints the table and the pairs that take longest;
``--write`` puts the table into the page. One thread. Rounds are interleaved: in each one the kernel
and memcpy of the target's bytes run twice, and the second time is taken, as processor time of the
thread. The result is compared with the NumPy recipe.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from itertools import permutations
from statistics import geometric_mean, median
from time import thread_time

import numpy as np
from relayout_cases import Case, Move, kernel, memcpy, room
from relayout_table import PAGE, machine

import morello_layouts as ml

BEGIN, END = "<!-- survey: begin -->", "<!-- survey: end -->"
LAYOUTS = (
    "{1,0}",
    "{0,1}",
    "{1,0:T(8,128)}",
    "{0,1:T(8,128)}",
    "{1,0:T(16,128)(2,1)}",
    "{1,0:T(8,128)(2,1)}",
    "{0,1:T(8,128)(2,1)}",
    "{1,0:T(8,128)(4,1)}",
    "{0,1:T(8,128)(4,1)}",
    "{1,0:T(32,128)(4,1)}",
    "{1,0:T(8,128)(2,1,1,1)}",
    "{1,0:T(3,5)(2,2)}",
)
RAGGED = LAYOUTS[-1]
SIDES = {1: 4096, 2: 4096, 4: 2048, 8: 2048}
WORST = 5


def ratio(source: str, target: str, itemsize: int, rounds: int) -> float:
    """The median time of a kernel, in medians of memcpy's."""
    side = SIDES[itemsize]
    case = Case("", f"{source} → {target}", source, target, (side, side), itemsize)
    array = np.random.default_rng(0).integers(0, 256, (side, side * itemsize), np.uint8)
    array = array.view(f"u{itemsize}")
    packed, expected = (ml.pack(layout, array) for layout in (source, target))
    given, out = (room(data.nbytes).view(data.dtype) for data in (packed, expected))
    given[...] = packed
    runs = kernel(case, given, out), memcpy(out)
    out[...] = 0
    runs[0]()
    if out.tobytes() != expected.tobytes():
        raise SystemExit(f"{case.name} moves elements of {itemsize} bytes to wrong places")
    times: tuple[list[float], ...] = ([], [])
    for _ in range(rounds):
        for taken, run in zip(times, runs, strict=True):
            taken.append(second(run))
    return median(times[0]) / median(times[1])


def second(run: Move) -> float:
    """Seconds that a move takes the second time."""
    run()
    start = thread_time()
    run()
    return thread_time() - start


def report(itemsizes: list[int], rounds: int) -> tuple[list[str], list[str]]:
    """The table, and a list of the pairs that take longest."""
    today = datetime.now(tz=UTC).date()
    lines = [
        f"On {today}. {machine()}",
        "",
        "| bytes of an element | array | geometric mean | worst | with T(3,5)(2,2) | worst |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    slowest = []
    for itemsize in itemsizes:
        found = {pair: ratio(*pair, itemsize, rounds) for pair in permutations(LAYOUTS, 2)}
        even = {pair: r for pair, r in found.items() if RAGGED not in pair}
        ragged = {pair: r for pair, r in found.items() if RAGGED in pair}
        numbers = [f(x.values()) for x in (even, ragged) for f in (geometric_mean, max)]
        side = SIDES[itemsize]
        told = " | ".join(f"{number:.2f}" for number in numbers)
        lines.append(f"| {itemsize} | {side}x{side} | {told} |")
        for group in (even, ragged):
            ordered = sorted(group, key=lambda pair: -group[pair])[:WORST]
            pairs = "; ".join(f"`{a}` → `{b}` {group[a, b]:.2f}" for a, b in ordered)
            slowest.append(f"- {itemsize}: {pairs}")
    return lines, ["", "Those that take longest, by the bytes of an element:", "", *slowest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--bytes", type=int, nargs="*", choices=SIDES, default=[*SIDES])
    given = parser.parse_args()
    lines, slowest = report(given.bytes, given.rounds)
    text = "\n".join(lines)
    sys.stdout.write("\n".join([text, *slowest, ""]))
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
