"""A few random verdicts of each kind; the long run is started by hand."""

from __future__ import annotations

from random import Random

import pytest

import morello_layouts as ml
from tests.fuzz.judgements import KINDS, Layout, agrees, ask, at, main, of_a_layout
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


def test_a_question_is_asked_again_by_its_number() -> None:
    assert ask(1, 7)[1].text == ask(1, 7)[1].text != ask(1, 8)[1].text
