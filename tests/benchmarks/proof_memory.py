"""How much memory proofs keep: python -m tests.benchmarks.proof_memory [--mixed COUNT].

Prints what each kind of question keeps; with ``--mixed``, the growth over so many random questions
of all kinds, after as many as fill the caches.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from pathlib import Path

import morello_layouts as ml
from tests.fuzz.judgements import ask as ask_at_random

SYMBOLIC, OTHER = "f32[M,N]{1,0:T(8,128)}", "f32[M,N]{1,0:T(5,7)}"
NUMBERS = "f32[30,50]{1,0:T(8,128)}"
QUESTIONS: dict[str, Callable[[], object]] = {
    "is_injective": lambda: ml.is_injective(NUMBERS),
    "is_bijective": lambda: ml.is_bijective(NUMBERS),
    "verify": lambda: ml.verify(NUMBERS),
    "are_equivalent": lambda: ml.are_equivalent(NUMBERS, "f32[30,50]{1,0}"),
    "is_surjective, names": lambda: ml.is_surjective(SYMBOLIC),
    "are_equivalent, names": lambda: ml.are_equivalent(SYMBOLIC, OTHER),
    "is_bijective, formula": lambda: ml.is_bijective(
        ml.from_sympy({"shape": (30, 50), "size": 1500}, "50*d0 + d1")
    ),
}


def kilobytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


FILLING = 5000
"""Random questions after which all caches are full."""


def of_each_question(count: int) -> None:
    for name, ask in QUESTIONS.items():
        for _ in range(50):
            ask()
        before = kilobytes()
        for _ in range(count):
            ask()
        print(f"{name:24} {(kilobytes() - before) / count:6.2f} KB a question")  # noqa: T201


def of_mixed_questions(count: int) -> None:
    for k in range(FILLING):
        ask_at_random(1, k)
    before = kilobytes()
    for k in range(FILLING, FILLING + count):
        ask_at_random(1, k)
    grown = (kilobytes() - before) / 1024
    rate = grown / count * 1e5
    print(f"{count} mixed questions: {grown:.1f} MB, {rate:.1f} MB in 100,000")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=500)
    parser.add_argument("--mixed", type=int, default=0)
    given = parser.parse_args()
    of_each_question(given.each)
    if given.mixed:
        of_mixed_questions(given.mixed)


if __name__ == "__main__":
    main()
