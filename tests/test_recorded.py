"""Recorded answers are today's: errors of each notation, and the sentences of each room.

``tests/support/recorded.py`` says how the files are read, and records them after a change.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import morello_layouts as ml
from morello_layouts.notations.registry import NOTATIONS
from tests.support import recorded
from tests.support.recorded import RECORDED, check

FILES = sorted(RECORDED.glob("*/*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recorded(path: Path) -> None:
    check(path)


def test_each_notation_has_wrong_texts() -> None:
    asked = {how for path in FILES for how in path.read_text("utf-8").split("\n")}
    for notation in NOTATIONS:
        assert {f"== parse and parse {notation.name}", f"== parse {notation.name}"} & asked


def test_the_caret_on_a_later_line() -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse("(f32[2],\n s32[3]{1})")
    assert (caught.value.line, caught.value.column) == (2, 9)
    assert caught.value.pointer() == "   s32[3]{1})\n          ^"


WRONG = """\
== parse and parse xla
f32[2,3]{1,▲1}
→ dimension 1 is named twice ‖ an order names each dimension once, from 0 ‖ name it once

== python
m = ml.index_map("f32[8]")
m
→ (d0) -> d0
m = ml.index_map("f32[8]{0:T(4)}")
m.size
→ 9
"""


def test_other_answers_are_found_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "ROOT", tmp_path)
    path = tmp_path / "wrong.txt"
    path.write_text(WRONG, "utf-8")
    with pytest.raises(AssertionError, match="2 of 3 rows fail") as caught:
        check(path)
    assert "python -m tests.support.recorded wrong.txt" in str(caught.value)
    assert recorded.record(path) == 2
    check(path)
    assert path.read_text("utf-8").count("→") == 3


def test_a_question_for_help_records_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    recorded.main(["--help"])
    assert capsys.readouterr().out.startswith("Recorded answers")
