"""The page of the simplifier's recorded cases: what each peer's answer costs, and our forms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "tests" / "benchmarks"))

from peers import ours
from simplify_table import costs, forms, rows, verdict

HEAD: Final = """\
# The simplifier and its peers, case by case

The cases and the peers' costs come from `tests/data/simplify_cases.json`. If a peer was asked in
several ways, its cheapest answer counts. Cost counts operations, each division and remainder twice.
[The simplifier, measured](../simplifier_measured.md) has the sums and the times.
"""


def page() -> str:
    """Return the whole page; a wrong form of ours ends the program."""
    found = rows(ours.peers())
    parts = [
        HEAD.strip(),
        verdict(found),
        "## Costs",
        "In bold: cheaper than every recorded peer.",
        costs(found),
        "## Forms",
        forms(found),
    ]
    return "\n\n".join(parts) + "\n"
