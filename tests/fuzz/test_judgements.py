"""A few random verdicts of each kind; the long run is started by hand and every night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from morello_layouts.proof import Condition, SymbolicCounterexample
from tests.fuzz import judgements
from tests.fuzz.judgements import Table, ask, evaluator, main, value
from tests.fuzz.layouts import FAMILIES, WITHOUT_NAMES, linear, tiled
from tests.support.tables import each_row

KINDS = [(f, named) for f in FAMILIES for named in (False, f not in WITHOUT_NAMES)]


def require_right(table: Table) -> Counter[str]:
    """Return how many verdicts were right, undecided, and so on; none may be wrong."""
    wrong = [line for line in table.found["lines"] if line.startswith("WRONG")]
    assert not wrong, "\n".join(sorted(wrong, key=len)[:10])
    return sum(map(Counter, table.found["kinds"].values()), Counter[str]())


@each_row("family, named", KINDS, ids=str)
def test_verdicts_are_those_of_counting(family: Any, named: bool) -> None:
    states = Counter[str]()
    for number in range(4 if named else 10):
        for judged in judgements.of_a_family(Random(number), family, named):
            assert judged.state != "wrong", judged.text
            states[judged.state] += 1
    assert states["right"] > states.total() * (
        0.5 if named or family.__name__ == "formulas" else 0.8
    )


def test_ways_of_banks_are_those_of_counting() -> None:
    judged = [x for k in range(30) for x in judgements.of_a_bank(Random(k))]
    assert [x.text for x in judged if x.state == "wrong"] == []
    assert sum(x.points for x in judged) > 200


@pytest.mark.slow
def test_2000_conditions_hold_on_grids() -> None:
    table = Table(26, 0, None, 1.0)
    while table.found["conditions"] < 2000 or table.found["points"] < 40_000:
        table.ask_next()
    assert require_right(table)["right"] > 2000


@pytest.mark.slow
def test_10000_verdicts() -> None:
    table = Table(27, 0, None)
    while table.count < 10_000:
        table.ask_next()
    assert require_right(table)["right"] > 9_000


@each_row(
    ("text", "sizes", "expected"),
    [
        ("8 | M and 128 | N", {"M": 8, "N": 128}, True),
        ("8 | M and 128 | N", {"M": 8, "N": 127}, False),
        ("M = 1, or N <= 2", {"M": 2, "N": 3}, False),
        ("N = 3, or M = 1 and N <= 2", {"M": 1, "N": 2}, True),
        ("10 | (M - 9), or 10 | M, or N = 1", {"M": 19, "N": 5}, True),
        ("M = 1 and (N = 1, or 8 | N)", {"M": 1, "N": 7}, False),
        ("8 divides M", {"M": 12}, False),
        ("-M*N + 1024*ceil(M/8)*ceil(N/128)", {"M": 9, "N": 1}, 2039),
        ("gcd(LD, 32) = 1", {"LD": 12}, False),
        ("no sizes", {}, False),
    ],
)
def test_conditions_are_read(text: str, sizes: dict[str, int], expected: object) -> None:
    assert value(text, sizes) == expected


def test_a_condition_in_words_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="small enough"):
        evaluator("M is small enough")


def broken(change: Any) -> Any:
    """Return questions that answer what a change makes of the answer."""
    return {name: lambda m, f=f: change(f(m)) for name, f in judgements.QUESTIONS.items()}


def larger(sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: n * 25 for name, n in sizes.items()}


FAULTS = [
    lambda p: replace(p, holds=not p.holds),
    lambda p: replace(p, condition=Condition("M = 1")) if p.condition else p,
    lambda p: replace(p, unused=p.unused + 1) if p.unused is not None else p,
    lambda p: (
        replace(p, counterexample=p.counterexample + 1) if isinstance(p.counterexample, int) else p
    ),
    lambda p: (
        replace(p, counterexample=((0, 0), (0, 0))) if isinstance(p.counterexample, tuple) else p
    ),
    lambda p: (
        replace(p, counterexample=replace(p.counterexample, at=-1))
        if isinstance(p.counterexample, SymbolicCounterexample)
        else p
    ),
    lambda p: (
        replace(p, counterexample=replace(p.counterexample, sizes=larger(p.counterexample.sizes)))
        if isinstance(p.counterexample, SymbolicCounterexample)
        else p
    ),
    lambda p: p.no_such_name,
]


@each_row("fault", FAULTS)
def test_a_wrong_verdict_is_seen(fault: Any) -> None:
    """Of the holds, condition, padding and counterexample; an exception is one, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judgements, "QUESTIONS", broken(fault))
        asked = ((k, (tiled, linear)[k % 2], k % 4 < 2) for k in range(12))
        states = Counter(
            x.state for k, *given in asked for x in judgements.of_a_family(Random(k), *given)
        )
    assert states["wrong"] > 1


def test_the_command_names_the_question_and_the_smallest_case(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judgements, "QUESTIONS", broken(FAULTS[0]))
    monkeypatch.setattr("sys.argv", ["judgements", "--count", "12"])
    assert main() == 1
    shown = capsys.readouterr().out
    assert "WRONG --seed 1 --start " in shown
    assert shown.splitlines()[-1].startswith("smallest: WRONG")


def test_a_run_goes_on_from_its_table(tmp_path: Path) -> None:
    parts, whole = (Table(3, 0, tmp_path / name) for name in ("parts", "whole"))
    for _ in range(4):
        whole.ask_next()
        parts.ask_next()
        parts.write()
        parts = Table(3, 99, tmp_path / "parts")
    assert parts.found["next"] == 4
    assert parts.found["kinds"] == whole.found["kinds"]


def test_a_question_is_asked_again_by_its_number() -> None:
    assert ask(1, 7) == ask(1, 7) != ask(1, 8)
