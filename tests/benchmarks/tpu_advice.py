"""Advice on twenty programs and three more, before and after, as ``docs/tpu_advice.md`` shows it.

``python tests/benchmarks/tpu_advice.py MEMORY [MINUTES [GENERATION …]]`` needs the extra ``[tpu]``
and a minute or two of one processor for a program; MEMORY is a folder that keeps the figures of
each compiled program, MINUTES what ``--minutes`` means, 3 by default. With no GENERATION it writes
the table of v5e and v6e into the page.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import dropwhile, islice
from pathlib import Path
from time import monotonic

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from tpu_programs import drawn_programs, hinted_programs, programs

import morello_layouts as ml
from morello_layouts.programs.report import bytes_text

PAGE = Path(__file__).parents[2] / "docs" / "tpu_advice.md"
MARK = "<!-- the table: python tests/benchmarks/tpu_advice.py -->\n"


def rows(generation: str, memory: str, minutes: float) -> Iterator[str]:
    """Return the row of each program, and print each report."""
    twenty = {**programs(), **dict(islice(hinted_programs().items(), 12))}
    for name in ("sort of triples", "top of logits"):
        del twenty[name]
    for name, (function, arguments) in {**twenty, **drawn_programs()}.items():
        began = monotonic()
        advice = ml.tpu.advise(
            function, *arguments, generation=generation, memory=memory, minutes=minutes
        )
        print(f"\n== {name}, {generation}, {monotonic() - began:.0f} s\n{advice}", flush=True)
        yield f"| {name} | {generation} | {' | '.join(cells(advice))} |"


def cells(advice: ml.tpu.Advice) -> Iterator[str]:
    """Return the peak, the bytes rewritten, the cycles, before and after, and the changes."""
    best = advice.best
    before, after = advice.before, advice.before if best is None else best.after
    yield f"{bytes_text(before.peak_bytes)} → {bytes_text(after.peak_bytes)}"
    yield f"{bytes_text(before.moved_bytes)} → {bytes_text(after.moved_bytes)}"
    yield " → ".join(f"{f.cycles:,}" if f.cycles else "?" for f in (before, after))
    yield "none" if best is None else best.kind
    inside = [a for a in advice.advice if a.kind not in ("donation", "element type")]
    first = next(iter(inside), None)
    yield "none" if first is None else f"{first.kind}, {bytes_text(first.after.peak_bytes)}"
    least = next(iter(advice.memory_only), None)
    yield "none" if least is None else f"{least.kind}, {bytes_text(least.after.peak_bytes)}"


def main(memory: str, minutes: str = "3", *generations: str) -> None:
    """Write the table into the page, or print it for other generations."""
    columns = ("program", "TPU", "HBM at the peak", "copies and relayouts", "cycles", "changes",
               "of the program itself", "saves memory alone")  # fmt: skip
    table = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for generation in generations or ("v5e", "v6e"):
        table += rows(generation, memory, float(minutes))
    print("\n".join(table))
    if not generations:
        before, _, rest = PAGE.read_text().partition(MARK)
        after = dropwhile(lambda line: line.startswith("|"), rest.splitlines(keepends=True))
        PAGE.write_text(before + MARK + "\n".join(table) + "\n" + "".join(after))


if __name__ == "__main__":
    main(*sys.argv[1:])
