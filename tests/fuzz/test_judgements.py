"""A few random verdicts of each kind; the long run is started by hand."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import morello_layouts as ml
from tests.fuzz.judgements import KINDS, Layout, Table, agrees, ask, at, main, of_a_layout
from tests.support.tables import each_row


@each_row("kind", [kind for kind, _ in KINDS], ids=lambda kind: kind.__name__)
def test_verdicts_are_those_of_counting(kind: object) -> None:
    assert callable(kind)
    for number in range(8):
        judged = kind(Random(number))
        assert judged.proof.holds is None or judged.right, judged.text


def test_a_wrong_verdict_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = Layout((1, 0), ((8, 128),))
    sizes = ml.is_surjective(layout.text(("M", "N")))
    full = ml.is_surjective(layout.text((8, 128)))

    def truth(there: dict[str, int]) -> bool:
        return bool((layout.buffer(at(("M", "N"), there)) >= 0).all())

    assert agrees(sizes, ("M", "N"), truth)
    assert not agrees(sizes, ("M", "N"), lambda there: not truth(there))
    assert not agrees(full, ("M", "N"), truth)
    monkeypatch.setattr(ml, "is_surjective", lambda _: full)
    monkeypatch.setattr(ml, "is_bijective", lambda _: full)
    assert not all(of_a_layout(Random(k)).right for k in range(20))
    monkeypatch.setattr("sys.argv", ["judgements", "--count", "30"])
    assert main() == 1
    assert "WRONG --seed 1 --start " in capsys.readouterr().out


def test_a_run_goes_on_from_its_table(tmp_path: Path) -> None:
    parts, whole = (Table(3, 0, tmp_path / name) for name in ("parts", "whole"))
    for _ in range(4):
        whole.ask_next()
        parts.ask_next()
        parts.write()
        parts = Table(3, 99, tmp_path / "parts")
    assert parts.found["next"] == 4
    assert parts.found["kinds"] == whole.found["kinds"]


def test_an_exception_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise IndexError

    for name in ("is_surjective", "is_bijective", "is_injective", "are_equivalent", "is_bitcast"):
        monkeypatch.setattr(ml, name, fails)
    monkeypatch.setattr("tests.fuzz.judgements.QUESTIONS", (fails,))
    table = Table(3, 0, None)
    table.ask_next()
    assert table.found["lines"] == ["WRONG --seed 3 --start 0 --count 1: IndexError()"]


def test_a_question_is_asked_again_by_its_number() -> None:
    assert ask(1, 7)[1].text == ask(1, 7)[1].text != ask(1, 8)[1].text
