"""The command that counts mutants."""

from __future__ import annotations

import re
import tomllib

from tests.mutants import ROOT, same
from tests.support.tables import each_row


def test_listed_files_exist_and_are_run_every_night() -> None:
    listed = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    nightly = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    assert re.findall(r"^ +- (\S+\.py)$", nightly, re.MULTILINE) == list(listed)
    for module, entry in listed.items():
        assert (ROOT / "morello_layouts" / module).is_file(), module
        assert all((ROOT / tests).exists() for tests in entry["tests"]), module


@each_row(
    ("one", "other", "is_same"),
    [
        ('raise ValueError("a size")', 'raise ValueError("XXa sizeXX")', True),
        ("zip(a, b, strict=True)", "zip(a, b, strict=False)", True),
        ("zip(a, b, strict=True)", "zip(a, b, )", True),
        ("zip(a, b, strict=True)", "zip(a, strict=True)", False),
        ('"give another size", )', ")", True),
        ('f"a buffer of {n}",', "None,", True),
        ("n,", "None,", False),
        ("f(a, 0)", "f(a, )", False),
        ("f(a, 0)", "f(a, 1)", False),
    ],
)
def test_texts_and_guards_are_not_run(one: str, other: str, is_same: bool) -> None:
    assert same(one, other) is is_same
