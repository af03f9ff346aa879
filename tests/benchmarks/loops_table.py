"""Print the cost of loop nests: ``python tests/benchmarks/loops_table.py``.

For each popular format, at any sizes: the operations for an element in the innermost loop of the
nest in physical order, beside those of the plain formula, a division counted twice.
"""

# ruff: noqa: T201
from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

import morello_layouts as ml

sys.path.append(str(Path(__file__).parent))

from formats import FORMATS


def main() -> None:
    """The table, in Markdown, and its sums."""
    print("| format | loops | run | operations | of the formula | divisions | of the formula |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    costs = []
    for one in FORMATS:
        nest = ml.loops(one.index_map())
        cost = nest.costs
        costs.append(cost)
        print(
            f"| {one.name} | {len(nest.axes)} | {nest.runs['x']} | {cost.inner} | {cost.plain} "
            f"| {cost.divisions} | {cost.plain_divisions} |"
        )
    print(
        f"\n{len(costs)} formats: {mean(c.inner for c in costs):.2f} operations for an element, "
        f"{mean(c.plain for c in costs):.1f} by the formula; {sum(c.divisions for c in costs)} "
        f"divisions in inner loops, {sum(c.plain_divisions for c in costs)} in the formulas."
    )


if __name__ == "__main__":
    main()
