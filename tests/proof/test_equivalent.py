"""Verdicts about two maps; what they say is in tests/data/recorded/proof/verdicts.txt."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from morello_layouts.core.expr import variable
from morello_layouts.proof import are_equal, equivalent
from morello_layouts.proof.comparison import Comparison


def test_expressions_are_compared_at_all_values() -> None:
    x = variable("x", 0, 9)
    same = are_equal(x // 2 * 2 + x % 2, x)
    assert (same.claim, same.holds) == ("equal", True)
    differ = are_equal(x // 2 * 2, x)
    assert (differ.holds, differ.counterexample) == (False, {"x": 1})


def test_one_formula_is_compared_with_offsets() -> None:
    tiled = ml.index_map("f32[4,6]{1,0:T(2,2)}")
    rows = ml.from_sympy({"shape": (4, 6), "size": 24}, "6*d0 + d1")
    answer = ml.are_equivalent(tiled, rows)
    assert (answer.holds, answer.counterexample) == (False, (0, 2))


def test_several_formulas_are_compared_one_by_one() -> None:
    one, same, other = (
        ml.from_sympy(("M", 6), ("d0//2", "d1", text))
        for text in ("d0%2", "d0 - 2*(d0//2)", "(d0 + 1)%2")
    )
    assert ml.are_equivalent(one, same).holds
    answer = ml.are_equivalent(one, other)
    assert (answer.holds, dict(answer.counterexample.sizes)) == (False, {"M": 1})


def test_a_pitch_of_one_of_two_maps() -> None:
    for pair in (("strided<[LD, 1]>", "f32[3,4]{1,0}"), ("f32[3,4]{1,0}", "strided<[LD, 1]>")):
        proof = ml.are_equivalent(*pair, (3, 4))
        assert (proof.holds, str(proof.condition)) == (False, "LD = 4")
        assert proof.counterexample.sizes == {"LD": 5}


def test_each_increment_has_its_own_kinds_of_sizes() -> None:
    tiles = ("T(2,3,2,5,2)", "T(3,2,2,2,2)(2)")
    proof = ml.are_equivalent(*(f"f32[A,B,C,D,E]{{4,3,2,1,0:{one}}}" for one in tiles))
    assert str(proof.condition) == "A = 1 and B = 1 and C = 1 and D <= 2 and E <= 2"
    assert proof.counterexample.sizes == {"A": 1, "B": 1, "C": 1, "D": 1, "E": 3}


def test_too_many_kinds_of_sizes_are_open() -> None:
    one, other = (
        "f32[A,B,C,D,E]{1,2,4,3,0:T(2,1,1,2,2)}",
        "f32[A,B,C,D,E]{4,1,2,3,0:T(2,2,1,2)(1,1)}",
    )
    proof = ml.are_equivalent(one, other)
    assert (proof.holds, proof.condition) == (False, None)
    known = "A = 1 and B = 1 and C <= 8 and D = 1 and E = 1"
    assert proof.reason == f"proved if {known}, open for other sizes"
    assert proof.counterexample.sizes == {"A": 1, "B": 1, "C": 1, "D": 1, "E": 2}


def test_divisors_are_those_of_sizes_that_are_split() -> None:
    """Those of A and B were asked first, and no other."""
    one, other = (f"bf16[A,B,M,N]{{3,2,1,0:T({x}8,128)(2,1)}}" for x in ("", "*,*,"))
    assert ml.equal(one, other).reason == "proved if 8 | M, open for other sizes"


def test_isl_confirms_what_digits_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = (("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]"), ("f32[M,N]", "f32[M,N]{1,0:T(1,1)}"))
    for pair in pairs:
        assert ml.are_equivalent(*pair).decider == "digits"
        found = ml.are_equivalent(*pair, confirm=True)
        assert (found.holds, found.decider) == (True, "digits, confirmed by ISL")
    rows = "f32[5,5,5,5,5,5]"
    large = rows, f"{rows}{{5,4,3,2,1,0:T(1)}}"
    spent = ml.are_equivalent(*large, budget=1, confirm=True)
    assert (spent.holds, spent.decider) == (True, "digits; ISL gave up at its budget")
    monkeypatch.setattr(equivalent, "by_isl_alone", lambda *_: Comparison(False))
    wrong = ml.are_equivalent(*pairs[0], confirm=True)
    assert wrong.holds is None
    assert wrong.reason.startswith("a bug: digits say equivalent: ")


def test_axes_of_one_value_are_not_said() -> None:
    one, other = (
        f"#ttg.linear<{{register = {low}, lane = {high}, warp = [], block = []}}>"
        for low, high in (([[0, 1]], [[1, 0]]), ([], [[0, 1], [1, 0]]))
    )
    answer = ml.are_equivalent(one, other, (2, 2))
    assert answer.holds is False
    assert answer.reason == "(0, 1) is at lane 0, register 1 and at lane 1"
