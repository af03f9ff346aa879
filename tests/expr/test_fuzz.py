"""The fuzzer finds nothing in a quick run; it finds, shrinks and reports planted errors."""

from __future__ import annotations

from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.expr import SHIFTS, AffineExpr, CostModel, cheapest
from tests.support import fuzz_simplify
from tests.support.fuzz_simplify import Question, failure, form_of, main, questions, shrunk, text_of


@pytest.mark.slow
def test_a_quick_run_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--count", "600"]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out == "600 expressions, none wrong\n"


@pytest.mark.slow
def test_the_cheapest_form_is_no_dearer_than_the_input() -> None:
    for question in questions(2, 400):
        form = question.form()
        for model in (CostModel(), SHIFTS):
            assert model.cost(cheapest(form, model)) <= model.cost(form), str(question)


def test_the_same_seed_asks_the_same_questions() -> None:
    assert list(questions(5, 20)) == list(questions(5, 20))
    assert list(questions(5, 20)) != list(questions(6, 20))


def test_questions_are_printed_as_calls() -> None:
    question = Question(
        ("//", ("+", ("*", "i", 32), "j"), 8), {"i": (0, 31), "j": (0, 31), "k": (0, 1)}
    )
    assert str(question) == "simplify('((i * 32) + j) // 8', {'i': (0, 31), 'j': (0, 31)})"
    assert str(eval(str(question), {"simplify": ml.simplify})) == "4*i + floor(j/8)"


def wrong_mod(form: Any) -> Any:
    """Return a simplifier that takes x % 4 for x."""
    return sum(
        (
            a.operand * c if getattr(a, "modulus", 0) == 4 else AffineExpr.from_terms({a: c})
            for a, c in form.terms
        ),
        AffineExpr((), form.const),
    )


def test_a_wrong_simplifier_is_found_and_the_example_is_minimal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz_simplify, "TARGETS", {"readable": wrong_mod})
    assert main(["--seed", "1", "--count", "3000"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] in ("simplify('-1 % 4', {})", "simplify('4 % 4', {})")
    assert printed[1].startswith("readable gives ")
    assert printed[2].endswith("of seed 1)")


def test_a_simplifier_that_raises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(form: Any) -> None:
        raise ZeroDivisionError(str(form))

    monkeypatch.setattr(fuzz_simplify, "TARGETS", {"cheapest": refuse})
    assert "ZeroDivisionError" in failure(Question("x", {"x": (0, 3)}))


def test_shrinking_keeps_what_fails() -> None:
    tree = ("+", ("//", ("+", ("*", "x", 6), 7), 5), ("%", "y", 9))
    question = Question(tree, {"x": (0, 50), "y": (-20, 3)})
    least = shrunk(question, lambda q: "//" in text_of(q.tree) and "x" in text_of(q.tree))
    assert text_of(least.tree) == "x // 1"


@pytest.mark.parametrize("tree", ["x", 7, ("%", ("-", "x", 9), 5)])
def test_trees_are_read_as_they_are(tree: Any) -> None:
    form = form_of(tree, {"x": (None, None)})
    for value in range(-12, 12):
        assert form.evaluate({"x": value}) == fuzz_simplify.evaluate(tree, {"x": value})
