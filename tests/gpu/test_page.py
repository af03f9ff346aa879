"""The page about bank conflicts says what the library answers."""

from __future__ import annotations

import doctest
import re

from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "how_to" / "no_bank_conflicts.md").read_text(encoding="utf-8")


def test_the_page_runs() -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(code, {}, "no_bank_conflicts.md", None, 0)
    assert len(test.examples) > 12
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)
