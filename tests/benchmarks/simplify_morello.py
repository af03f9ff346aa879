"""Divisions and remainders in our formulas and in those that Morello prints.

``python tests/benchmarks/simplify_morello.py`` counts them over the sound rows of
tests/data/morello_oracle.jsonl. In a sound row Morello's offsets are distinct and in the buffer.
The tests check the counts against the aim, and the formulas against Morello's offsets.
"""

# ruff: noqa: T201
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simplify_page import table

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr, Digit, cheapest

ORACLE: Final = Path(__file__).parents[1] / "data" / "morello_oracle.jsonl"
AIM: Final = 0.6
"""The most of Morello's divisions and remainders that ours may hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """A layout at a shape: Morello's offsets and its divisions and remainders; our formulas."""

    shape: tuple[int, ...]
    offsets: list[int]
    divisions: int
    forms: dict[str, AffineExpr]


def sound_rows() -> Iterator[Row]:
    """The rows in which Morello's formula is right."""
    for line in ORACLE.read_text().splitlines():
        row = json.loads(line)
        if row["status"] == "ok" and row["injective"] and row["in_range"]:
            m = ml.index_map(row["display"], row["shape"])
            forms = {
                "as first lowered": m.reference_form,
                "`m.form`": m.form,
                "cheapest": cheapest(m.reference_form),
            }
            yield Row(m.shape, row["offsets"], row["n_div"] + row["n_mod"], forms)


def divisions(form: AffineExpr) -> int:
    """Divisions and remainders in a form as it is written."""
    digits = [a for a in form.atoms() if isinstance(a, Digit)]
    return sum((d.divisor != 1) + (d.modulus is not None) for d in digits)


def report() -> str:
    """The counts, and their part of Morello's."""
    rows = list(sound_rows())
    morello = sum(row.divisions for row in rows)
    lines: list[list[object]] = [["Morello", morello, ""]]
    for name in rows[0].forms:
        count = sum(divisions(row.forms[name]) for row in rows)
        lines.append([name, count, f"{count / morello:.0%}"])
    head = [f"{len(rows)} layouts", "divisions and mods", "of Morello's"]
    return table(head, lines)


if __name__ == "__main__":
    print(report())
