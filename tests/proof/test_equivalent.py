"""Verdicts about two maps: who decides, and what is said."""

from __future__ import annotations

from typing import Any

import morello_layouts as ml
from morello_layouts.core.expr import variable
from morello_layouts.proof import are_equal
from tests.support.tables import each_row

SAME = "every coordinate has the same offset"
ENDS = "; the buffers have {} and {} slots"
SWIZZLE = "Sw<2,0,2> o 0 o (M,4):(4,1)"

PAIRS: list[Any] = [
    ("f32[0,3]", "f32[0,3]{0,1}", None, "the arrays are empty", "", None),
    ("f32[0,3]", ("strided<[3, 1], offset: 2>", (0, 3)), None, "the arrays are empty", "", None),
    ("f32[M,N]", "f32[M,N]", None, SAME, "", "all sizes"),
    ("f32[4,3]", "f32[4,3]", None, SAME, "", None),
    ("f32[M,3]", "f32[M,3]{1,0:T(1,3)}", None, SAME, "digits", "all sizes"),
    ("f32[4,3]", "f32[4,3]{1,0:T(1,3)L(9)}", None, SAME + ENDS.format(12, 18), "digits", None),
    ("f32[M,N,K]{2,1,0:T(7,*,9)(3,5)}", "f32[M,N,K]{2,1,0:T(7,*,9)(3,5)(1)}", None,
     SAME, "digits", "all sizes"),
    ("f32[M,N]{1,0:T(*,6)(2,3)}", "f32[M,N]{1,0:T(*,6)(3)(2)}", {"M": 2, "N": 2},
     "open for other sizes", "ISL at sampled sizes", None),
    ("f32[2,3]", "f32[2,3]{0,1}", (0, 1), "(0, 1) has offsets 1 and 2", "evaluation", None),
    ("f32[8][3:]", ("strided<[1], offset: 3>", (5,)), None, SAME, "digits", None),
    ("f32[8][3:]", ("strided<[1], offset: 2>", (5,)), (0,),
     "(0,) has offsets 3 and 2" + ENDS.format(8, 7), "evaluation", None),
    ("f32[M,8][:, 3:]", ("strided<[8,1], offset: 3>", ("M", 5)), None, SAME, "digits", "all sizes"),
    ("f32[M,8][:, 3:]", ("strided<[8,1], offset: 2>", ("M", 5)), {"M": 1}, None,
     "digits and ISL", "no sizes"),
    (("{1,0:T(S,T)}", ("M", "N")), ("{1,0:T(S,T)(1,T)}", ("M", "N")), None,
     SAME, "the simplifier", "all sizes"),
    (SWIZZLE, SWIZZLE, None, SAME, "", "all sizes"),
    (SWIZZLE, "(M,4):(4,1)", {"M": 2}, "open for other sizes", "ISL at sampled sizes", None),
]  # fmt: skip


def map_of(given: Any) -> ml.IndexMap:
    """Return the map of a text, of a text and a shape, or of a text without its first 3 columns."""
    if isinstance(given, tuple):
        return ml.index_map(*given)
    text, *view = given.split("][")
    m = ml.index_map(text + "]" if view else text)
    return m.view(index=(..., slice(3, None))) if view else m


@each_row("one, other, expected", [(*row[:2], row[2:]) for row in PAIRS])
def test_who_decides_about_a_pair_and_why(one: Any, other: Any, expected: Any) -> None:
    answer = ml.are_equivalent(map_of(one), map_of(other))
    at, reason, decider, condition = expected
    assert answer.claim == "equivalent"
    assert answer.holds is (at is None)
    found = answer.counterexample
    assert (found.sizes if isinstance(at, dict) else found) == at
    assert reason is None or answer.reason == reason
    assert answer.decider == decider
    assert (answer.condition and str(answer.condition)) == condition


def test_expressions_are_compared_at_all_values() -> None:
    x = variable("x", 0, 9)
    same = are_equal(x // 2 * 2 + x % 2, x)
    assert (same.claim, same.holds) == ("equal", True)
    assert same.reason == "both have the same value everywhere"
    differ = are_equal(x // 2 * 2, x)
    assert (differ.holds, differ.counterexample) == (False, {"x": 1})


def test_one_formula_is_compared_with_offsets() -> None:
    tiled = ml.index_map("f32[4,6]{1,0:T(2,2)}")
    rows = ml.from_sympy({"shape": (4, 6), "size": 24}, "6*d0 + d1")
    answer = ml.are_equivalent(tiled, rows)
    assert (answer.holds, answer.counterexample) == (False, (0, 2))
    assert answer.reason == "(0, 2) has offsets 4 and 2"


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


def test_too_many_kinds_of_sizes_are_sampled() -> None:
    tiles = ("T(2,3,2,5,2)", "T(3,2,2,2,2)(2)")
    proof = ml.are_equivalent(*(f"f32[A,B,C,D,E]{{4,3,2,1,0:{one}}}" for one in tiles))
    assert (proof.holds, proof.reason) == (False, "open for other sizes")
    assert proof.counterexample.sizes == {"A": 1, "B": 1, "C": 2, "D": 1, "E": 1}
    assert proof.decider == "ISL at sampled sizes"
