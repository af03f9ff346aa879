"""The recorded cases: this library beside every peer that is installed, in one process and run.

``python tests/benchmarks/simplify_table.py`` prints a summary and the time of each case;
``--write`` puts the summary into docs/simplifier_measured.md. Time runs from the neutral tree
to the simplifier's own expression, for all alike. The simplifiers take turns, over names that are
new at each round; a case's time is the median of its rounds. A wrong result of ours stops
the script. Times are those of the thread on the processor, so that other programs do not count.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from statistics import geometric_mean, median
from time import thread_time
from typing import Final

from peers import Peer, available, isl, ours
from peers.peer import Unreadable
from peers.tree import Case, Tree, cost, first_difference, recorded, show
from simplify_page import machine, put, table

Times = dict[str, dict[str, float]]

RECORDED: Final[dict[str, tuple[str, ...]]] = {
    "SymPy": ("sympy-simplify",),
    "Halide": ("halide",),
    "Morello": ("morello",),
    "Inductor": ("torch",),
    "LLVM": ("llvm",),
    "XLA": ("xla25", "xla26"),
    "tinygrad": ("tinygrad", "tinygrad-sym"),
    "TVM": ("tvm", "tvm-itermap"),
    "loopy": ("loopy",),
    "ISL": ("isl-nogist", "isl-nopdiv", "isl-pdiv"),
}
"""What the columns are called, and the recorded ways to ask each, whose cheapest counts."""

SYMPY_APART: Final = "cheapest, then to SymPy"


@dataclass(frozen=True, slots=True)
class Row:
    """A case: recorded costs by column, best cost known, and each peer's answers here."""

    case: Case
    recorded: Mapping[str, int]
    best_known: int
    answers: Mapping[str, Tree]
    wrong: frozenset[str]

    @property
    def best_peer(self) -> int:
        """The least recorded cost of a peer."""
        return min(self.recorded.values())

    def cost(self, name: str) -> int:
        """What the answer of a simplifier costs here."""
        return cost(self.answers[name])


def rows(peers: list[Peer]) -> list[Row]:
    """Each case answered by each peer, and judged."""
    found = []
    for case, costs, best_known in recorded():
        columns = {
            name: min(costs[k] for k in keys if k in costs) for name, keys in RECORDED.items()
        }
        answers = {p.name: answer(p, case) for p in peers}
        wrong = frozenset(n for n, tree in answers.items() if not is_right(case, tree))
        if mine := wrong & {"readable", "cheapest"}:
            raise SystemExit(f"{mine} wrong on {case.name}: {show(case.tree)}")
        found.append(Row(case, columns, best_known, answers, wrong))
    return found


def answer(peer: Peer, case: Case) -> Tree:
    """The cheapest answer of a peer; the input if it gives none in the four operations."""
    trees = []
    for solve in peer.variants or (peer.solve,):
        try:
            trees.append(peer.read(solve(case.tree, case.bounds)))
        except Unreadable:
            continue
    return min(trees, key=cost, default=case.tree)


def is_right(case: Case, found: Tree) -> bool:
    """Judge an answer by evaluation, and by ISL if it can read the answer."""
    if first_difference(case.tree, found, case.bounds) is not None:
        return False
    if "tdiv" in str(found) or "trem" in str(found):
        return True
    return isl.equal(case.tree, found, case.bounds) is not False


def timed(peers: list[Peer], rounds: int) -> Times:
    """Seconds by simplifier and case: medians over rounds, after one unmeasured.

    In each round the simplifiers take turns, in random order, and each does all cases, in random
    order; so its code is as warm as in a program that uses it, and no name was seen before.
    """
    calls: dict[str, Callable[..., object]] = {p.name: p.solve for p in peers}
    calls[SYMPY_APART] = ours.converted
    laps: dict[str, dict[str, list[float]]] = {
        name: {case.name: [] for case, _, _ in recorded()} for name in calls
    }
    random = Random(0)
    for k in range(rounds + 1):
        for name in random.sample(list(calls), len(calls)):
            fresh = [case.renamed(f"_{k}") for case, _, _ in recorded()]
            gc.collect()
            gc.disable()
            for case in random.sample(fresh, len(fresh)):
                start = thread_time()
                calls[name](case.tree, case.bounds)
                laps[name][case.name].append(thread_time() - start)
            gc.enable()
    return {name: {c: median(ts[1:]) for c, ts in by.items()} for name, by in laps.items()}


def ratio(times: Times, mine: str, other: str) -> str:
    """How long ours takes against a peer: of the medians, and case by case."""
    by_case = [times[mine][c] / times[other][c] for c in times[mine]]
    of_medians = median(times[mine].values()) / median(times[other].values())
    return (
        f"{of_medians:.2f} ({geometric_mean(by_case):.2f}, {min(by_case):.2f}..{max(by_case):.2f})"
    )


def summary(found: list[Row], times: Times, peers: list[Peer]) -> str:
    """Totals and median times of what ran here."""
    lines: list[list[object]] = []
    for p in peers:
        known = sum(r.recorded[p.name] for r in found) if p.name in RECORDED else ""
        total, wrong = sum(r.cost(p.name) for r in found), sum(p.name in r.wrong for r in found)
        seconds = median(times[p.name].values())
        own = p.name in ("readable", "cheapest")
        ratios = ["" if own else ratio(times, mine, p.name) for mine in ("readable", "cheapest")]
        lines.append([p.name, p.library, known, total, wrong, f"{seconds * 1e6:.0f}", *ratios])
    apart = f"{median(times[SYMPY_APART].values()) * 1e6:.0f}"
    lines.append([SYMPY_APART, "", "", "", "", apart, "", ""])
    head = ["simplifier", "library", "cost, recorded", "cost", "wrong", "median µs"]
    head += ["`readable` takes", "`cheapest` takes"]
    return table(head, lines, left=2)


def verdict(found: list[Row]) -> str:
    """The sums that the aims are about."""
    inputs, best = sum(cost(r.case.tree) for r in found), sum(r.best_peer for r in found)
    known = sum(min(r.best_peer, r.best_known) for r in found)
    cheapest = sum(r.cost("cheapest") for r in found)
    worse = [r.case.name for r in found if r.cost("cheapest") > r.best_peer]
    better = sum(r.cost("cheapest") < r.best_peer for r in found)
    return (
        f"The {len(found)} inputs cost {inputs}. The best recorded peer case by case: {best}; with "
        f"the best known form too: {known}. `cheapest`: {cheapest}, below the best peer in "
        f"{better} cases, above it in {len(worse)}{': ' + ', '.join(worse) if worse else ''}. "
        f"`readable`: {sum(r.cost('readable') for r in found)}."
    )


def costs(found: list[Row]) -> str:
    """Each case's cost, by simplifier."""
    head = ["case", "origin", "input", *RECORDED, "best known", "readable", "cheapest"]
    lines: list[list[object]] = [
        [
            r.case.name,
            r.case.origin.replace("*", r"\*"),
            cost(r.case.tree),
            *r.recorded.values(),
            r.best_known,
            r.cost("readable"),
            f"**{r.cost('cheapest')}**" if r.cost("cheapest") < r.best_peer else r.cost("cheapest"),
        ]
        for r in found
    ]
    sums: list[object] = ["all", "", sum(cost(r.case.tree) for r in found)]
    sums += [sum(r.recorded[name] for r in found) for name in RECORDED]
    sums += [sum(r.best_known for r in found)]
    sums += [sum(r.cost(name) for r in found) for name in ("readable", "cheapest")]
    return table(head, [*lines, sums], left=2)


def durations(found: list[Row], times: Times) -> str:
    """Each case's time in microseconds, by simplifier."""
    lines: list[list[object]] = [
        [r.case.name, *(f"{1e6 * by[r.case.name]:.0f}" for by in times.values())] for r in found
    ]
    medians = [f"{1e6 * median(by.values()):.0f}" for by in times.values()]
    return table(["case", *times], [*lines, ["median", *medians]])


def forms(found: list[Row]) -> str:
    """Each case's input and our two forms."""
    lines: list[list[object]] = [
        [
            r.case.name,
            ", ".join(f"{name} {lo}..{hi}" for name, (lo, hi) in r.case.bounds.items()),
            *(f"`{show(t)}`" for t in (r.case.tree, r.answers["readable"], r.answers["cheapest"])),
        ]
        for r in found
    ]
    return table(["case", "bounds", "input", "readable", "cheapest"], lines, left=5)


def main() -> None:
    """Run, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    installed, reasons = available()
    missing = "\n".join(f"Skipped: {reason}." for reason in reasons)
    peers = [*ours.peers(), *installed]
    found = rows(peers)
    times = timed(peers, options.rounds)
    summed, judged = summary(found, times, peers), verdict(found)
    print(missing, machine(), summed, judged, durations(found, times), sep="\n\n")
    if options.write:
        put("cases", f"{machine()}.\n{missing}\n\n{summed}\n\n{judged}")


if __name__ == "__main__":
    main()
