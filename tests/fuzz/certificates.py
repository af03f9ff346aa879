"""The share of verdicts with a certificate, and forged certificates that the checker judges.

    python -m tests.fuzz.certificates coverage --count 10000
    python -m tests.fuzz.certificates coverage --count 1000 --kind nested
    python -m tests.fuzz.certificates forge --count 100000 --lines forged.jsonl

``coverage`` asks the questions of ``tests.fuzz.judgements`` anew for a certificate where a claim is
proved, or holds exactly under a condition: then of the claim under each alternative of it. Prints
the share by kind of question, and each claim without a certificate.

``forge`` draws forged certificates by number; every accepted one is judged by enumeration. Ends at
the first that is false. With ``--lines``, writes one line of JSON for each: its text, and what the
checker says, so that another checker can be compared.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any
from unittest.mock import patch

import morello_layouts as ml
from morello_layouts.check import check
from morello_layouts.errors import LayoutError, UnsupportedError
from tests.fuzz import judgements
from tests.proof.test_checker import recorded
from tests.support.certificate_judge import size_of
from tests.support.forgeries import judged

CLAIMS = {
    "is_injective": "injective",
    "is_surjective": "surjective",
    "is_bijective": "bijective",
    "are_equivalent": "equivalent",
    "is_bitcast": "bitcast",
}


class Asked:
    """The questions that a generator asks, with their answers."""

    def __init__(self) -> None:
        self.found: list[tuple[str, tuple[Any, ...], tuple[str, ...], Any]] = []

    def recording(self, name: str) -> Any:
        question = getattr(ml, name)

        def ask(*maps: Any, **options: Any) -> Any:
            answer = question(*maps, **options)
            self.found.append((name, maps, tuple(options.get("assuming", ())), answer))
            return answer

        return ask


def assumptions_of(condition: str) -> Iterator[str | None]:
    """Yield each alternative of a condition as an assumption; None for one that is not.

    >>> [*assumptions_of("4 | M and N <= 3, or M = 1, or M = 3*((M - 1)//3)")]
    ['M % 4 == 0 and N <= 3', 'M == 1', None]
    """
    for alternative in condition.split(", or "):
        facts = []
        for fact in alternative.split(" and "):
            divided = re.sub(r"^(\d+) \| ([A-Za-z_]\w*)$", r"\2 % \1 == 0", fact)
            facts.append(re.sub(r"^([A-Za-z_]\w*) = (\d+)$", r"\1 == \2", divided))
        simple = all(re.fullmatch(r"[A-Za-z_]\w* (% \d+ ==|==|<=|>=) \d+", x) for x in facts)
        yield " and ".join(facts) if simple else None


def certificates(
    name: str, maps: tuple[Any, ...], assumed: tuple[str, ...], answer: Any
) -> list[dict[str, Any]]:
    """Return the certificates of an answer: one, or one for each alternative of its condition.

    Raises:
        UnsupportedError: if there is none.
    """
    facts = [None] if answer.holds else [*assumptions_of(str(answer.condition))]
    if not answer.holds and None in facts:
        raise UnsupportedError(f"a condition that is no assumption: {answer.condition}", "", "")
    if CLAIMS[name] not in {"equivalent", "bitcast"}:
        maps = (maps[0], None, *maps[1:])  # what follows is the shape
    every = [[*assumed, *([] if x is None else [x])] for x in facts]
    found = [ml.certificate(*maps, claim=CLAIMS[name], assuming=x) for x in every]
    for one in found:
        check(one)
    return found


def coverage(seed: int, start: int, count: int, share: float) -> None:
    """Print the share of what holds that has a certificate, by kind of question."""
    asked, groups = Asked(), defaultdict[str, Counter[str]](Counter)
    columns = defaultdict[str, list[float]](list)
    with ExitStack() as patches:
        for name in CLAIMS:
            patches.enter_context(patch.object(ml, name, asked.recording(name)))
        # The claims of one map by name; those of two are asked of the package itself.
        questions = {claim: getattr(ml, name) for name, claim in [*CLAIMS.items()][:3]}
        patches.enter_context(patch.dict(judgements.QUESTIONS, questions))
        for number in range(start, start + count):
            asked.found.clear()
            kind = judgements.ask(seed, number, share)[0].kind
            for name, maps, assumed, answer in [*asked.found]:
                if not answer.holds and str(answer.condition) in {"None", "no sizes"}:
                    continue
                began = process_time()
                try:
                    found = certificates(name, maps, assumed, answer)
                except LayoutError as error:
                    print("NONE", number, kind, CLAIMS[name], str(error).split("\n")[0])
                    found = []
                columns["ms to find and check"].append(1000 * (process_time() - began))
                columns["bytes"] += map(size_of, found)
                words = "for all sizes" if answer.holds else "iff"
                for group in (kind, f"{CLAIMS[name]}, {words}", "all"):
                    groups[group]["true"] += 1
                    groups[group]["found"] += bool(found)
    print("\n| of | true | with certificate |\n|---|--:|--:|")
    for kind, counts in sorted(groups.items()):
        share = counts["found"] / counts["true"]
        print(f"| {kind} | {counts['true']} | {counts['found']} ({share:.1%}) |")
    for words, values in columns.items():
        values.sort()
        ends = median(values), values[len(values) * 99 // 100], values[-1]
        print("{}: median {:.4g}, 99 of 100 below {:.4g}, largest {:.4g}".format(words, *ends))


def forge(seed: int, start: int, count: int, lines: Path | None) -> None:
    """Print how many forgeries are refused, and how many are accepted and true."""
    began = process_time()
    with lines.open("w", encoding="utf-8") if lines else nullcontext() as file:

        def tell(text: str, said: str) -> None:
            if file:
                file.write(json.dumps({"text": text, "python": said}) + "\n")

        counts = judged(recorded(), range(start, start + count), seed, tell)
    print(dict(counts), f"{process_time() - began:.0f} s")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("coverage", "forge"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.06, help="of questions by name")
    kinds = {family.__name__: family for family in judgements.FAMILIES}
    parser.add_argument("--kind", choices=kinds, help="of layout; by default all")
    parser.add_argument("--lines", type=Path, help="a file for each forgery and its verdict")
    given = parser.parse_args()
    only = {kinds[given.kind]: 1} if given.kind else judgements.FAMILIES
    if given.what == "coverage":
        with patch.object(judgements, "FAMILIES", only):
            coverage(given.seed, given.start, given.count, given.share)
    else:
        forge(given.seed, given.start, given.count, given.lines)


if __name__ == "__main__":
    main()
