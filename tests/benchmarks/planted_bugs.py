"""Print what verify says with each planted bug: python -m tests.benchmarks.planted_bugs."""

from __future__ import annotations

import sys

import morello_layouts as ml
from tests.support.planted_bugs import BUGS, LAYOUTS, Bug, is_wrong, map_of


def counts(bug: Bug) -> tuple[int, int, int, int]:
    """Return how many layouts are wrong, red, wrong and not red, and right and red."""
    wrong = red = missed = more = 0
    with bug.planted():
        for row in LAYOUTS:
            try:
                m = map_of(*row)
                bad = is_wrong(m)
                refuted = ml.verify(m).holds is False
            except Exception:
                bad = refuted = True
            wrong += bad
            red += refuted
            missed += bad and not refuted
            more += refuted and not bad
    return wrong, red, missed, more


def main() -> None:
    """Print the table."""
    verified = sum(ml.verify(map_of(*row)).holds is True for row in LAYOUTS)
    lines = [f"{len(LAYOUTS)} layouts; without a bug {verified} verified"]
    lines.append(f"{'bug':36} {'where':8} wrong  red  missed  red though right")
    for bug in BUGS:
        wrong, red, missed, more = counts(bug)
        lines.append(f"{bug.name:36} {bug.where:8} {wrong:5} {red:4} {missed:7} {more:17}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
