"""Certificates of the layouts in the tests, and of mutants: coverage, size, time, acceptance.

python -m tests.benchmarks.certificates [STEP]         every STEP-th layout of the tests' sources
python -m tests.benchmarks.certificates mutants COUNT  mutants, each judged by enumeration
"""
# ruff: noqa: T201

from __future__ import annotations

import ast
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import morello_layouts as ml
from morello_layouts.api.layouts import needs_shape
from morello_layouts.check import check
from tests.proof.test_checker import judged_mutants
from tests.support.certificate_judge import size_of

QUESTIONS = {
    "injective": ml.is_injective,
    "surjective": ml.is_surjective,
    "bijective": ml.is_bijective,
    "verified": ml.verify,
}
ROOT = Path(__file__).parents[1]


def layouts() -> Iterator[tuple[str, Any]]:
    """Yield each layout with a shape in the sources of the tests, once."""
    seen = set()
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for text, shape in pairs(node):
                if len(text) < 300 and (text, shape) not in seen:
                    seen.add((text, shape))
                    yield text, shape


def pairs(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield the texts of a node, with the shape that follows each in a call or tuple."""
    found = node.args if isinstance(node, ast.Call) else getattr(node, "elts", None)
    inner = found if isinstance(found, list) else []
    for one, after in zip(inner, [*inner[1:], None], strict=False):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            try:
                shape = ast.literal_eval(after) if isinstance(after, ast.Tuple) else None
            except ValueError:
                shape = None
            yield one.value, shape


def main(step: int) -> None:
    """Print coverage by claim."""
    rows: dict[str, list[tuple[int, float, float]]] = {claim: [] for claim in QUESTIONS}
    missing: dict[str, list[str]] = {claim: [] for claim in QUESTIONS}
    more = Counter[str]()
    slowest = (0.0, "")
    for text, shape in [*layouts()][::step]:
        try:
            m = ml.index_map(text, shape if needs_shape(text) else None)
        except (ml.LayoutError, TypeError, ValueError):
            continue
        for claim, question in QUESTIONS.items():
            start = time.process_time()
            holds = question(m).holds
            proved = time.process_time() - start
            if holds is False or (not holds and claim != "verified"):
                continue
            try:
                found = ml.certificate(m, claim=claim)  # type: ignore[arg-type]
            except ml.UnsupportedError:
                if holds:
                    missing[claim].append(f"{text} {shape or ''}")
                continue
            start = time.process_time()
            check(found)
            took = time.process_time() - start
            slowest = max(slowest, (took, f"{claim} {text}"))
            if holds:
                rows[claim].append((size_of(found), proved, took))
            else:
                more[claim] += 1
    total = [sum(map(len, kind.values())) for kind in (rows, missing)]
    print("claim        positive  certified  median bytes  ms to prove  ms to check  most ms")
    for claim, found_rows in rows.items():
        sizes, proving, checking = zip(*found_rows, strict=True)
        counts = f"{claim:12} {len(sizes) + len(missing[claim]):8} {len(sizes):10}"
        times = [1e3 * t for t in (median(proving), median(checking), max(checking))]
        print(f"{counts} {median(sizes):13.0f}", *(f"{t:12.1f}" for t in times))
    print(f"{total[0]} of {sum(total)} positive verdicts: {100 * total[0] / sum(total):.1f} %")
    print(f"slowest check: {slowest[0]:.2f} s, {slowest[1]}")
    print(f"certified though ISL leaves it open: {dict(more)}")
    for claim, texts in missing.items():
        print(claim, *texts[:20], sep="\n  ")


if __name__ == "__main__":
    if sys.argv[1:2] == ["mutants"]:
        seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
        print(judged_mutants(int(sys.argv[2]), seed))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
