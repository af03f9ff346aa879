"""docs/tpu_layouts.md shows the beginning of the report on a real program.

``python -m tests.docs.test_tpu_page`` writes it anew.
"""

from __future__ import annotations

import morello_layouts as ml
from tests.support.hlo_xla import programs
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "tpu_layouts.md"
BEGIN, END = "<!-- report: begin -->\n", "<!-- report: end -->\n"


def shown() -> str:
    report = ml.diagnose(programs()["v5e_transposes"], "v5e", top=2)
    text = report.text(100).partition("\n\nThe largest of these")[0]
    return f"```text\n{text}\n```\n"


def test_the_page_shows_the_report() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == shown()
    assert max(map(len, shown().splitlines())) <= 100


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + shown() + END + rest.partition(END)[2], encoding="utf-8")
