"""The slowest question, expression, dump, text, drawing, certificate and plan; the most memory.

    python -m tests.benchmarks.slowest --seed 1 --count 2000

Each lane asks ``--count`` things at random; the aim is at most 1 s of processor time and 1 GB.
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
from typing import Any, TypeAlias

import morello_layouts as ml
from morello_layouts.notations.registry import NOTATIONS
from tests.fuzz.judgements import ask, layout_of, shape_of
from tests.support import fuzz_hlo, fuzz_simplify

Asked: TypeAlias = tuple[Callable[[], Any], str]
"""What to do, and how to name it."""


def questions(seed: int, count: int) -> Iterator[Asked]:
    for k in range(count):
        yield partial(ask, seed, k), f"tests.fuzz.judgements --seed {seed} --start {k}"


def expressions(seed: int, count: int) -> Iterator[Asked]:
    for question in fuzz_simplify.questions(seed, count):
        yield partial(fuzz_simplify.failure, question, costs=False), str(question)


def dumps(seed: int, count: int) -> Iterator[Asked]:
    for k, text in enumerate(fuzz_hlo.variants(seed, count)):
        yield partial(fuzz_hlo.outcome, text), f"variant {k} of seed {seed}"


def texts(seed: int, count: int) -> Iterator[Asked]:
    random = Random(f"texts {seed}")
    known = [each.example for each in NOTATIONS]
    for _ in range(count):
        text = random.choice(known) * random.choice((1, 1, 2, 200))
        for _ in range(random.randint(1, 3)):
            text = random.choice(fuzz_hlo.DAMAGES)(text, random) or "["
        yield partial(parsed, text), repr(text)


def parsed(text: str) -> None:
    with suppress(ml.LayoutError):
        ml.parse(text)


def drawings(seed: int, count: int) -> Iterator[Asked]:
    random = Random(f"drawings {seed}")
    for _ in range(count):
        rank = random.choice((1, 2, 2, 3))
        text = layout_of(random, rank).text(shape_of(random, rank))
        yield partial(drawn, text), text


def drawn(text: str) -> str:
    return ml.draw(text).svg()


def certificates(seed: int, count: int) -> Iterator[Asked]:
    random = Random(f"certificates {seed}")
    for _ in range(count):
        rank = random.choice((1, 2, 2, 3))
        text = layout_of(random, rank).text(shape_of(random, rank))
        claim = random.choice(("injective", "surjective", "padded", "verified"))
        yield partial(certified, text, claim), f"{claim} {text}"


def certified(text: str, claim: Any) -> None:
    with suppress(ml.UnsupportedError):
        ml.certificate(text, claim=claim)


def plans(seed: int, count: int) -> Iterator[Asked]:
    random = Random(f"plans {seed}")
    for _ in range(count):
        dims = [random.choice((7, 64, 1000, 4096, 50257)) for _ in range(random.choice((1, 2, 3)))]
        one, other = (f"{dims}, {spec(random, len(dims))}" for _ in range(2))
        yield partial(planned, f"f32{one}", f"f32{other}"), f"f32{one} to f32{other}"


def spec(random: Random, rank: int) -> str:
    sizes = [random.choice((2, 3, 4, 16)) for _ in range(2)]
    axes = [random.choice(("'x'", "'y'", "None")) for _ in range(rank)]
    axes = ["None" if axis in axes[:k] else axis for k, axis in enumerate(axes)]
    return f"mesh={{'x': {sizes[0]}, 'y': {sizes[1]}}}, spec=P({', '.join(axes)})"


def planned(one: str, other: str) -> None:
    ml.shards(one)
    with suppress(ml.LayoutError):
        str(ml.reshard(one, other))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    given = parser.parse_args()
    for lane in (questions, expressions, dumps, texts, drawings, certificates, plans):
        worst, which = 0.0, ""
        for k, (act, name) in enumerate(lane(given.seed, given.count)):
            began = process_time()
            act()
            took = process_time() - began
            if k and took > worst:  # the first one loads what loads on first use
                worst, which = took, name
        peak = getrusage(RUSAGE_SELF).ru_maxrss // 1024
        print(f"{lane.__name__:12} {worst:6.3f} s, {peak} MB so far: {which[:200]}", flush=True)


if __name__ == "__main__":
    main()
