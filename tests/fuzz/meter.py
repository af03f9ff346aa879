"""The slowest question of each fuzz lane, and the memory that all take.

    python -m tests.fuzz.meter --count 200

Asks questions of proofs, texts, damaged dumps, expressions, drawings, code, certificates, banks and
reshardings, and prints the slowest of each lane in processor time with the words that repeat it.
Returns 1 if one takes over a second, or the process over a gigabyte.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Any, get_args

import morello_layouts as ml
from morello_layouts.outputs.codegen.targets import Target
from tests.fuzz import banks, judgements, resharding
from tests.fuzz.layouts import tiled_of
from tests.support import fuzz_hlo, fuzz_simplify

MOST_SECONDS = 1.0
MOST_MEGABYTES = 1024
CHARACTERS = "0123456789,:;()[]{}<>*+-/%|&^~?.= \"'#@!_TLSEMNKabcdfijpsx→∗\n\t\0"
SIZES = (1, 3, 8, 100, 128, 1000, 4096, 10**6, 10**9, "M", "N")

Lane = Iterator[tuple[str, Callable[[], Any]]]


def refused(act: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """Return what a function gives, or its honest error."""
    with suppress(ml.LayoutError):
        return act(*given, **more)


def layouts(random: Random) -> tuple[str, tuple[Any, ...]]:
    """Return a random tiled layout and a shape, which may be large or have names."""
    rank = random.randint(1, 5)
    layout = tiled_of(random, rank)
    shape = tuple(random.choice(SIZES) for _ in range(rank))
    return layout.text(shape), shape


def verdicts(seed: int, count: int) -> Lane:
    for k in range(count):
        yield f"judgements {seed} {k}", partial(judgements.ask, seed, k)


def texts(seed: int, count: int) -> Lane:
    for k in range(count):
        random = Random(f"{seed} {k}")
        length = random.choice((10, 100, 1000, 10_000))
        words = (
            random.choice(CHARACTERS),
            *(layouts(random)[0] for _ in range(2)),
            "T(8,128)",
            "->",
        )
        alphabet = random.choice((CHARACTERS, words, words[:2]))
        text = "".join(random.choice(alphabet) for _ in range(length))[:length]
        yield f"text {text[:60]!r}", partial(refused, ml.parse, text)


def dumps(seed: int, count: int) -> Lane:
    for k, text in enumerate(fuzz_hlo.variants(seed, count)):
        yield f"fuzz_hlo seed {seed} text {k}", partial(fuzz_hlo.outcome, text)


def expressions(seed: int, count: int) -> Lane:
    for k, question in enumerate(fuzz_simplify.questions(seed, count)):
        yield f"fuzz_simplify seed {seed} question {k}", partial(fuzz_simplify.failure, question)


def about_layouts(act: Callable[[str], Any], seed: int, count: int) -> Lane:
    for k in range(count):
        text, _ = layouts(Random(f"{seed} {k}"))
        yield text, partial(refused, act, text)


def every_code(text: str) -> None:
    for target in get_args(Target):
        refused(ml.code, text, target)


def questions_of(module: Any, seed: int, count: int) -> Lane:
    for k in range(count):
        name = f"{module.__name__} {seed} {k}"
        if module is banks:
            yield name, partial(banks.fault, banks.question(seed, k))
        else:
            found = resharding.question(seed, k, 64, 300)
            yield name, partial(resharding.require_right, found)


LANES: dict[str, Callable[[int, int], Lane]] = {
    "verdicts": verdicts,
    "texts": texts,
    "dumps": dumps,
    "expressions": expressions,
    "maps and inverses": lambda *n: about_layouts(lambda x: ml.index_map(x).inverse.exprs, *n),
    "verify": lambda *n: about_layouts(ml.verify, *n),
    "drawings": lambda *n: about_layouts(lambda x: ml.draw(x).svg(), *n),
    "code": lambda *n: about_layouts(every_code, *n),
    "explanations": lambda *n: about_layouts(lambda x: str(ml.explain(x)), *n),
    "certificates": lambda *n: about_layouts(lambda x: ml.certificate(x, claim="padded"), *n),
    "banks": lambda *n: questions_of(banks, *n),
    "reshardings": lambda *n: questions_of(resharding, *n),
}


def slowest(lane: Lane) -> tuple[float, str, float]:
    """Return the most seconds of a lane, of what, and the mean; what loads first is not counted."""
    worst, words, total, count = 0.0, "", 0.0, 0
    for name, act in lane:
        began = process_time()
        act()
        took = process_time() - began
        if count and took > worst:
            worst, words = took, name
        count, total = count + 1, total + took
    return worst, words, total / max(count, 1)


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("lanes", nargs="*", default=[*LANES])
    given = parser.parse_args()
    print("| lane | questions | mean, ms | slowest, ms | of |\n|---|--:|--:|--:|---|")
    most = 0.0
    for name in given.lanes:
        worst, words, mean = slowest(LANES[name](given.seed, given.count))
        most = max(most, worst)
        row = [name, str(given.count), f"{1000 * mean:.1f}", f"{1000 * worst:.0f}", words]
        print(f"| {' | '.join(row)} |", flush=True)
    peak = getrusage(RUSAGE_SELF).ru_maxrss // 1024
    print(f"\npeak {peak} MB")
    return int(most > MOST_SECONDS or peak > MOST_MEGABYTES)


if __name__ == "__main__":
    raise SystemExit(main())
