"""Random tilings, reshapes, permutations and relayouts: this library beside its peers.

``python tests/benchmarks/simplify_random.py`` prints a summary and the cases in which a peer is
cheaper, smallest first. ``--family any`` and ``--family negative`` ask about expressions that no
layout makes; ``--seed`` and ``--count`` choose the expressions. ``--totals`` prints the costs of
all families and of the recorded cases in one table. A wrong result of ours stops the script.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import thread_time

from peers import Peer, available, isl, ours, sympy_simplify
from peers.peer import Unreadable
from peers.tree import Case, Tree, cost, first_difference, recorded, show, size
from simplify_expressions import expressions
from simplify_page import machine, table
from simplify_tilings import cases

JUDGED = ("readable", "cheapest")
RETURNED = Peer("cheapest, as SymPy", ours.converted, sympy_simplify.read)
FAMILIES = {"layouts": cases, "any": expressions, "negative": partial(expressions, negative=True)}
PEERS = ("ISL", "TVM", "tinygrad", "SymPy")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a simplifier makes of a case: a tree, its cost, the seconds of one call.

    In place of a wrong answer of a peer stands the input.
    """

    tree: Tree
    cost: int
    seconds: float
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A case and its answers by simplifier; whether ISL could decide that ours are right."""

    case: Case
    answers: dict[str, Answer]
    decided: bool

    @property
    def best_peer(self) -> str:
        """The peer with the cheapest answer."""
        return min((p for p in self.answers if p in PEERS), key=lambda p: self.answers[p].cost)

    @property
    def excess(self) -> int:
        """How much dearer the cheapest form is than the best peer's."""
        return self.answers["cheapest"].cost - self.answers[self.best_peer].cost


def answer(peer: Peer, case: Case) -> Answer:
    """The cheapest answer of a peer, and the time of its usual one."""
    start = thread_time()
    first = peer.solve(case.tree, case.bounds)
    seconds = thread_time() - start
    trees = []
    for found in [first, *(solve(case.tree, case.bounds) for solve in peer.variants)]:
        try:
            trees.append(peer.read(found))
        except Unreadable:
            continue
    best = min(trees, key=cost, default=case.tree)
    wrong = peer.name in PEERS and first_difference(case.tree, best, case.bounds) is not None
    best = case.tree if wrong else best
    return Answer(best, cost(best), seconds, wrong)


def judge(case: Case, found: Tree, by: str) -> bool:
    """Whether ISL decided that a result is right; an error if ours is wrong."""
    at = first_difference(case.tree, found, case.bounds)
    equal = isl.equal(case.tree, found, case.bounds) if by in JUDGED else None
    if at is not None or equal is False:
        raise SystemExit(f"{by} is wrong on {case.name} at {at}: {show(case.tree)}: {show(found)}")
    return equal is not None


def rows(peers: list[Peer], some: Iterator[Case]) -> Iterator[Row]:
    """Every case with its answers, each judged by evaluation, ours by ISL too."""
    for case in some:
        answers = {p.name: answer(p, case) for p in peers}
        decided = [judge(case, a.tree, name) for name, a in answers.items()]
        yield Row(case, answers, all(decided[: len(JUDGED)]))


def summary(found: list[Row], peers: list[Peer], seed: int) -> str:
    """Totals, and how often who is cheaper."""
    lines = [
        f"{len(found)} expressions, seed {seed}; {machine()}.",
        "",
        table(["", "cost in all", "median µs"], [_totals(p, found) for p in peers]),
        "",
        table(["kind", "cases", *(p.name for p in peers)], _by_kind(found, peers)),
        "",
        _verdict(found),
    ]
    return "\n".join(lines)


def _totals(peer: Peer, found: list[Row]) -> list[object]:
    answers = [row.answers[peer.name] for row in found]
    microseconds = 1e6 * median(a.seconds for a in answers)
    return [peer.name, sum(a.cost for a in answers), f"{microseconds:.0f}"]


def _by_kind(found: list[Row], peers: list[Peer]) -> list[list[object]]:
    kinds = Counter(row.case.origin for row in found)
    return [
        [
            kind,
            kinds[kind],
            *(sum(r.answers[p.name].cost for r in found if r.case.origin == kind) for p in peers),
        ]
        for kind in sorted(kinds)
    ]


def _verdict(found: list[Row]) -> str:
    cheaper, dearer = sum(r.excess < 0 for r in found), sum(r.excess > 0 for r in found)
    undecided = sum(not r.decided for r in found)
    points = sum(r.excess for r in found if r.excess > 0)
    proved = "ISL proved every result equal" if not undecided else f"ISL left {undecided} undecided"
    return (
        f"`cheapest` is below the better of the peers in {cheaper} cases, equal in "
        f"{len(found) - cheaper - dearer}, above in {dearer} (by {points} in all). "
        f"No result was wrong where it was evaluated; {proved}."
    )


def dearer(found: list[Row]) -> list[Row]:
    """The cases in which a peer is cheaper, smallest first."""
    return sorted((r for r in found if r.excess > 0), key=lambda r: size(r.case.tree))


def details(row: Row) -> str:
    """One case in full: the input, our form and the better peer's."""
    case, peer = row.case, row.best_peer
    mine, theirs = row.answers["cheapest"], row.answers[peer]
    return (
        f"{case.name} {case.origin}, {case.bounds}\n    {show(case.tree)}\n"
        f"    ours {mine.cost}: {show(mine.tree)}\n    {peer} {theirs.cost}: {show(theirs.tree)}"
    )


def totals(peers: list[Peer], seed: int, count: int) -> str:
    """Return the cost in all of each family, by simplifier."""
    families = {name: list(family(seed, count)) for name, family in FAMILIES.items()}
    families["recorded"] = [case for case, _, _ in recorded()]
    lines: list[list[object]] = []
    for name, some in families.items():
        costs: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        for row in rows(peers, iter(some)):
            costs.update({by: found.cost for by, found in row.answers.items()})
            wrong.update(by for by, found in row.answers.items() if found.wrong)
        cells = (f"{costs[by]:,}" + f" ({wrong[by]} wrong)" * (by in wrong) for by in costs)
        lines.append([name, len(some), *cells])
    return table(["family", "cases", *(p.name for p in peers)], lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, default="layouts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--totals", action="store_true")
    options = parser.parse_args()
    installed, missing = available()
    for reason in missing:
        print("skipped:", reason)
    peers = [*ours.peers(), RETURNED, *(p for p in installed if p.name in PEERS)]
    if options.totals:
        print(machine(), totals(peers, options.seed, options.count), sep="\n\n")
        return
    found = list(rows(peers, FAMILIES[options.family](options.seed, options.count)))
    text = summary(found, peers, options.seed)
    print(text, *map(details, dearer(found)), sep="\n\n")


if __name__ == "__main__":
    main()
