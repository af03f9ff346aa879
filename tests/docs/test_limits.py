"""The table of limits holds every limit with its value, and every limit is met somewhere."""

from __future__ import annotations

import re

from morello_layouts.core import limits
from tests.support.paths import ROOT, loaded

VALUES = {name: x for name, x in vars(limits).items() if name.isupper()}
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def test_the_table_has_every_limit_with_its_value_and_a_reason() -> None:
    rows = ROW.findall(loaded("make_limits").page())
    assert [name for name, *_ in rows] == [*VALUES]
    for name, value, reason in rows:
        shown = str(VALUES[name])
        assert value.replace(",", "") == shown.replace(",", ""), name
        assert len(reason.split()) > 3, name


def test_every_limit_is_asked_by_a_module() -> None:
    folder = ROOT / "morello_layouts"
    files = [file for file in folder.rglob("*.py") if file.name != "limits.py"]
    source = " ".join(file.read_text(encoding="utf-8") for file in files)
    assert VALUES.keys() <= set(re.findall(r"\b[A-Z_0-9]+\b", source))
