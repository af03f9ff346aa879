"""Print the tables of docs/benchmarks.md: ``python tests/benchmarks/report.py``."""

from __future__ import annotations

import platform
import statistics
from importlib.metadata import version

from popular import POPULAR, expression, forget, formula, median_seconds

import morello_layouts as ml

ROUNDS = 100


def row(layout: tuple[str, str, tuple[int, ...] | None]) -> tuple[float, float, float]:
    """Milliseconds to the formula, to the SymPy expression, and of the proof alone."""
    m = formula(layout)
    expression(layout)
    ml.is_bijective(m)  # what loads on first use is loaded
    times = (
        median_seconds(lambda: formula(layout), rounds=ROUNDS),
        median_seconds(lambda: expression(layout), rounds=ROUNDS, before=forget),
        median_seconds(lambda: ml.is_bijective(m), rounds=ROUNDS),
    )
    return times[0] * 1e3, times[1] * 1e3, times[2] * 1e3


def main() -> None:
    """The tables, in Markdown; times in milliseconds, medians of ROUNDS calls."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "sympy", "islpy"))
    print(f"Python {platform.python_version()}, {libraries}, {platform.machine()}.\n")
    print("| layout | text | formula | expression | `is_bijective` |")
    print("|---|---|---:|---:|---:|")
    rows = []
    for layout in POPULAR:
        name, text, shape = layout
        at = f" at {'x'.join(map(str, shape))}" if shape else ""
        rows.append(row(layout))
        print(f"| {name} | `{text}`{at} | " + " | ".join(f"{t:.2f}" for t in rows[-1]) + " |")
    for name, statistic in (("median", statistics.median), ("worst", max)):
        times = " | ".join(f"{statistic(column):.2f}" for column in zip(*rows, strict=True))
        print(f"| **{name}** | | {times} |")


if __name__ == "__main__":
    main()
