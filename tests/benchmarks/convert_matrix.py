"""Write sixty layouts in every notation: what each can say, and why not.

python tests/benchmarks/convert_matrix.py            # the counts
python tests/benchmarks/convert_matrix.py --all      # each text and each reason too
python tests/benchmarks/convert_matrix.py --write    # record the texts in tests/data
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from morello_layouts.interfaces.api.conversions import NOTATIONS  # noqa: E402
from tests.support.conversion_cases import CASES, converted  # noqa: E402

RECORD = ROOT / "tests" / "data" / "convert_matrix.jsonl"


def main() -> None:
    counts: Counter[tuple[str, bool]] = Counter()
    lines: list[list[Any]] = []
    for case in CASES:
        found = converted(case)
        texts = {each.to: str(each.layout) for each in found if each.error is None}
        lines.append([case.layout, case.shape, case.assuming, texts])
        if "--all" in sys.argv:
            print(case.family, case.layout, case.shape or "", case.assuming or "")
        for each in found:
            counts[each.to, each.error is None] += 1
            if "--all" in sys.argv:
                print(f"    {each.to:8} {each.layout if each.error is None else each.error}")
    for to in NOTATIONS:
        print(f"{to:8} {counts[to, True]:3} written, {counts[to, False]:3} refused")
    if "--write" in sys.argv:
        RECORD.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
