"""The command that draws mutants."""

from __future__ import annotations

import re

from tests.mutants import PACKAGE, ROOT, listed, mutants, of_entry

SOURCE = """\
def rest(n: int, *, size: int = 8) -> int:
    if n < size and size:
        raise ValueError(f"{n + 1} is below")
    return n - 1
"""


def test_listed_files_exist_and_are_run_every_night() -> None:
    nightly = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    assert re.findall(r"^ +- (\S+\.py)$", nightly, re.MULTILINE) == list(listed()["tests"])
    for module, tests in listed()["tests"].items():
        assert (PACKAGE / module).is_file(), module
        assert all((ROOT / each).exists() for each in tests), module


def test_listed_mutants_are_mutants_of_today() -> None:
    assert [x for x in listed()["alive"] if of_entry(x) is None] == []


def test_conditions_numbers_and_operands_change_but_no_texts() -> None:
    found = {mutant.new for mutant, _ in mutants("x.py", SOURCE)}
    assert found == {
        "def rest(n: int, *, size: int = 9) -> int:",
        "def rest(n: int, *, size: int = 7) -> int:",
        "if (n <= size) and size:",
        "if (True) and size:",
        "if (False) and size:",
        "if (n < size or size):",
        "if (size):",
        "if (n < size):",
        "if (True):",
        "if (False):",
        "return (n + 1)",
        "return (n)",
        "return (1)",
        "return n - 2",
        "return n - 0",
    }
