"""Advice on ten programs, before and after, as ``docs/tpu_advice.md`` shows it.

``python tests/benchmarks/tpu_advice.py [MEMORY]`` needs the extra ``[tpu]`` and about an hour of
one processor; MEMORY is a folder that keeps the figures of each compiled program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from tpu_programs import programs

import morello_layouts as ml
from morello_layouts.programs.report import bytes_text

PAGE = Path(__file__).parents[2] / "docs" / "tpu_advice.md"
MARK = "<!-- the table: python tests/benchmarks/tpu_advice.py -->\n"


def rows(generation: str, memory: str | None) -> Iterator[str]:
    """Return the row of each program, and print each report."""
    for name, (function, arguments) in programs().items():
        advice = ml.tpu.advise(function, *arguments, generation=generation, memory=memory)
        print(f"\n== {name}, {generation}\n{advice}", flush=True)
        yield f"| {name} | {generation} | {' | '.join(cells(advice))} |"


def cells(advice: ml.tpu.Advice) -> Iterator[str]:
    """Return the peak, the bytes rewritten, the cycles, before and after, and the changes."""
    best = advice.best
    before, after = advice.before, advice.before if best is None else best.after
    yield f"{bytes_text(before.peak_bytes)} → {bytes_text(after.peak_bytes)}"
    yield f"{bytes_text(before.moved_bytes)} → {bytes_text(after.moved_bytes)}"
    yield f"{before.cycles or 0:,} → {after.cycles or 0:,}"
    yield "none" if best is None else best.kind


def main() -> None:
    """Write the table into the page."""
    memory = sys.argv[1] if len(sys.argv) > 1 else None
    head = "| program | TPU | HBM at the peak | copies and relayouts | cycles | changes |"
    table = [head, "|---|---|---|---|---|---|"]
    for generation in ("v5e", "v6e"):
        table += rows(generation, memory)
    before, _, rest = PAGE.read_text().partition(MARK)
    after = dropwhile(lambda line: line.startswith("|"), rest.splitlines(keepends=True))
    PAGE.write_text(before + MARK + "\n".join(table) + "\n" + "".join(after))


if __name__ == "__main__":
    main()
