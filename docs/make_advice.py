"""The tables of advice, from what ``tests/benchmarks/tpu_advice.py`` found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from morello_layouts.programs.report import bytes_text
from morello_layouts.programs.tpu_compiler.advise import COUNTING

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "tpu_advice.md"
RESULTS: Final = ROOT / "tests" / "data" / "tpu_advice.jsonl"
BEGIN: Final = "<!-- begin advice: made by docs/generate.py -->\n"
END: Final = "<!-- end advice -->\n"
COLUMNS: Final = ("program", "HBM at the peak", "copies and relayouts", "cycles", "changes",
                  "of the program itself", "saves memory alone", "tried", "s")  # fmt: skip
OUTSIDE: Final = ("donation", "element type")
WHOLE: Final = ("v5e", "v6e")  # generations on which all programs are asked


def rows() -> list[dict[str, Any]]:
    """Return what came of each program, by generation: those first that all were asked on."""
    found = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    return sorted(found, key=lambda row: (row["generation"] not in WHOLE, row["generation"]))


def first(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the changes that are best together, or the best one; None without any."""
    return row["together"] or next(iter(row["both"]), None)


def inside(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the best change of the program itself; None without any."""
    return next((a for a in row["both"] if a["kind"] not in OUTSIDE), None)


def least(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the change that saves the most memory, at some cost; None without any."""
    return next(iter(row["memory_only"]), None)


def cells(row: dict[str, Any]) -> Iterator[str]:
    """Yield the cells of a program's row."""
    best = first(row)
    pair = (row["before"], (best or {"after": row["before"]})["after"])
    yield row["program"]
    for key in ("peak_bytes", "moved_bytes"):
        yield " → ".join(bytes_text(figures[key]) for figures in pair)
    yield " → ".join(f"{f['cycles']:,}" if f["cycles"] else "?" for f in pair)
    yield best["kind"] if best else "none"
    for each in (inside(row), least(row)):
        yield f"{each['kind']}, {bytes_text(each['after']['peak_bytes'])}" if each else "none"
    yield from (f"{row['compiled']}", f"{row['seconds']}")


def help_of(row: dict[str, Any]) -> str:
    """Return what helps a program, in a word."""
    found = least(row)
    if inside(row):
        return "first"
    if found and found["kind"] not in OUTSIDE:
        return "second"
    return "outside" if first(row) or found else "nothing"


def sentences() -> Iterator[str]:
    """Yield what the rows say together."""
    for generation, some in groupby(rows(), key=itemgetter("generation")):
        count = Counter(help_of(row) for row in some if not row["drawn"])
        if generation in WHOLE:
            yield (
                f"Of the first {count.total()} programs on {generation}, {count['first']} have a "
                "change of the program itself in the first list, and "
                f"{count['second']} more in the second; "
                f"{count['outside']} have donation or narrower arguments alone, "
                f"{count['nothing']} nothing."
            )
    judged = [(row["before"], a) for row in rows() for a in promises(row) if a["bytes_by_jax"]]
    smaller = [
        (before, a) for before, a in judged if saved(before, a["after"], "peak_bytes") > 0.01
    ]
    held = [pair for pair in smaller if saved(*pair, "bytes_by_jax") > 0.01]
    yield (
        f"JAX was asked for the memory of the programs of {len(judged)} changes, compiled once "
        f"more: of {len(smaller)} that promise a smaller peak, {len(held)} keep it."
    )
    shares = [row["before"]["peak_bytes"] / row["before"]["bytes_by_jax"] for row in rows()]
    yield f"Our peaks as it is are {min(shares):.2f} to {max(shares):.2f} times what JAX says."
    today = [row for row in rows() if row.get("counting") == COUNTING]
    yield f"Of the {len(shares)} rows, {len(today)} are counted as the code counts today."


def promises(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the changes that a program is advised."""
    return [a for a in (row["together"], *row["both"], *row["memory_only"]) if a]


def saved(before: dict[str, Any], after: dict[str, Any], key: str) -> float:
    """Return the share of bytes that a change saves."""
    return 1 - float(after[key]) / float(before[key])


def tables() -> Iterator[str]:
    """Yield the table of each generation."""
    for generation, some in groupby(rows(), key=itemgetter("generation")):
        yield f"**{generation}**\n"
        for row in (COLUMNS, ["---"] * len(COLUMNS), *map(cells, some)):
            yield f"| {' | '.join(row)} |"
        yield ""


def pages() -> dict[Path, str]:
    """Return the committed page with its tables."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    text = fill(" ".join(sentences()), 120)
    made = "\n".join(tables())
    return {PAGE: f"{head}{BEGIN}\n{made}\n{text}\n\n{END}{tail}"}
