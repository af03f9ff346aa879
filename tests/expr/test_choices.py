"""Min, max, choices, comparisons and assumptions: read, simplified, printed, proved, by values."""

from __future__ import annotations

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts import proof
from morello_layouts.core.expr.conversions import form_from_sympy, to_sympy
from morello_layouts.errors import LayoutError, ParseError, UnsupportedError
from morello_layouts.interfaces.api.formulas import form_of
from tests.support.fuzz_choices import evaluate, failure, main, questions
from tests.support.tables import each_row


def test_random_expressions_of_compilers_keep_their_values() -> None:
    assert main(["--seed", "1", "--count", "250"]) == 0


@pytest.mark.slow
def test_twenty_thousand_random_expressions_keep_their_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--seed", "32", "--count", "20000"]) == 0
    assert "none wrong" in capsys.readouterr().out


def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.fuzz_choices.cheapest", lambda form: form + 1)
    assert {str(failure(question))[:8] for question in questions(3, 40)} >= {"cheapest"}


def test_sympy_and_isl_agree_with_the_text() -> None:
    asked = refuted = 0
    for question in questions(7, 60):
        if "N" in question.bounds or (failure(question) or "").startswith("refused"):
            continue
        form = form_of(question.text, question.bounds)
        simple = ml.simplify(question.text, question.bounds)
        back = form_from_sympy(simple, {v.name: v.interval for v in form.variables()}, choices=True)
        for at in question.grids():
            assert np.all(evaluate(question.tree, at) == back.evaluate(at)), question
        asked += proof.are_equal(form, back).holds is True
        unequal = proof.are_equal(form, form + 1).holds  # None where ISL spent its budget
        assert unequal is not True, question
        refuted += unequal is False
    assert asked > 15
    assert refuted > 20


@each_row(
    "text, bounds, assuming, simple",
    [
        ("min(8*i + 7, 63) // 8", "i=0..31", None, "Min(7, i)"),
        ("max(i - 3, -5)", "i=0..31", None, "i - 3"),
        ("select(i < 9, i, i - 4)", "i=0..8", None, "i"),
        ("i if i >= j else j", None, None, "Max(i, j)"),
        ("3 if i == 3 else i", "i=0..9", None, "i"),
        ("(i + j) % 16", "i=0..9, j=0..30", "j < 6, i + j < 20", "i + j"),
        ("(i - 3)*(i >= 3)", None, None, "Max(3, i) - 3"),
        ("0 <= i and i < 32 and j != 3", "i=0..31, j=0..7", None,
         "Piecewise((1, Ne(j, 3)), (0, True))"),
        ("ModularIndexing(x, 8, 16)", "x=0..127", None, "floor(x/8)"),
        ("cdiv(x, 8)*8 - 8", "x=1..128", None, "-8*floor(-x/8) - 8"),
        ("abs(i - 40)", "i=0..31", None, "40 - i"),
        ("(i % N) % 8 + max(M, N)", None, "N % 8 == 0, M <= N", "N + Mod(i, 8)"),
        ("i // N", "0<=i<M", "M <= N", "0"),
        ("(i // (H // K)) % K", "0<=i<H", "H % K == 0", "floor(K*i/H)"),
        ("min(i, j)", None, "i <= j", "i"),
        ("max(i, 0)", None, "i <= j", "Max(0, i)"),
        ("cdiv(n, 8)*8 + (n + i)%8", "n=0..100, i=0..7", "n % 8 == 0", "i + n"),
        ("(n%32)//4*4 + n//4", "n=-32..100", "n % 8 == 0", "Mod(n, 32) + floor(n/4)"),
        ("min(n, m)//8*8", "n=0..M, m=0..100", "n % 8 == 0, m % 4 == 0, n <= m", "n"),
        ("N*j // 2 * 2", "j=0..3, N=1..", "j % 2 == 0", "N*j"),
        ("T.truncdiv(i - 8, 4) + T.truncmod(i, 4)", "i=0..7", None, "Mod(i, 4) - floor(-i/4) - 2"),
        ("s0 mod 4 + (s0 floordiv 4) * 4 + s0 ceildiv (4)", "s0=1..4", None, "s0 + 1"),
        ("select(n % 8 == 0, n//8*8, n)", "n=0..100", None, "n"),
        ("(N*i + 3) % 8", None, ["N % 4 == 0", "N % 8 == 0"], "3"),
        ("(N*i + 3) % 8", None, "N % 4 == 0, N % 6 == 0", "4*(Mod(N*i/4, 2)) + 3"),
        ("(8*j <= j) & (j < 2)", "j=0..3", None, "Piecewise((1, j <= 0), (0, True))"),
        ("L - N + max(K, L)", None, "M <= N, K <= N, N <= L", "2*L - N"),
        ("max(8, M) + i % 8", "i=0..99", "min(M, N) >= 8, (i & 7) == 0", "M"),
    ],
)  # fmt: skip
def test_what_is_simplified(text: str, bounds: str | None, assuming: str, simple: str) -> None:
    assert str(ml.simplify(text, bounds, assuming=assuming)) == simple


@each_row(
    "text, simple",
    [
        ("i < 8 ? i : i - 8", "i - 8*Piecewise((1, i >= 8), (0, True))"),
        ("i >= 4 && j != 3 || i == 0 ? min(i, 31) : 0",
         "Piecewise((i, Eq(i, 0) | ((i >= 4) & Ne(j, 3))), (0, True))"),
        ("i & 1 == 1", "Mod(i, 2)"),  # C compares first
        ("(i < 4) + (j < 8)", "Piecewise((1, i <= 3), (0, True)) + 1"),
        ("j < 4 ? i < 4 ? 1 : 2 : 3",
         "Piecewise((2 - Piecewise((1, i <= 3), (0, True)), j <= 3), (3, True))"),
        ("max(i, j) + !(i < 32)", "Max(i, j)"),
        ("1 < i < 3", "1"),  # the first comparison is 0 or 1
    ],
)  # fmt: skip
def test_c_chooses_too(text: str, simple: str) -> None:
    assert str(ml.simplify(text, "i=0..31, j=0..7", language="c")) == simple


@each_row(
    "text, assuming, word",
    [
        ("i if i < 4", None, "else"),
        ("~(i < 3)", None, "condition"),
        ("1 and 2 + i", None, "condition"),
        ("i < 3 else 4", None, "else"),
        ("i", "i + j", "condition"),
        ("i", "N < 1", "never true"),
        ("i", "N % 0 == 0", "no size"),
        ("select(i, 1)", None, "','"),
        ("min(i)", None, "','"),
        ("i + not i < 3", None, "not"),
    ],
)
def test_what_is_refused(text: str, assuming: str | None, word: str) -> None:
    with pytest.raises(LayoutError) as caught:
        ml.simplify(text, assuming=assuming)
    assert word in str(caught.value)
    assert caught.value.fix


def test_maps_have_no_choices_yet() -> None:
    with pytest.raises(ParseError):
        ml.from_sympy((6, 8), "max(d0, d1)")
    with pytest.raises(UnsupportedError):
        ml.from_sympy((6, 8), to_sympy(form_of("max(d0, d1)", {})))
    with pytest.raises(UnsupportedError, match="MLIR"):
        ml.code("max(i, j)", "mlir", {"i": 8, "j": 8})


def test_a_proof_under_facts_counts_only_where_they_hold() -> None:
    a, b = form_of("min(i, j)", "i=0..9, j=0..9"), form_of("i", "i=0..9")
    assert proof.are_equal(a, b).holds is False
    assert proof.are_equal(a, b, [form_of("j - i", "i=0..9, j=0..9")]).holds is True
    assert ml.simplify("min(i, j)", "i=0..9, j=0..9", assuming="i <= j", verify=True).name == "i"
