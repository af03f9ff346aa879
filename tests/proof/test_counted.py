"""Who decides about one map, and why; tests/fuzz judges the verdicts by counting."""

from __future__ import annotations

from itertools import product
from typing import Any

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import Pad, Recipe
from tests.support.tables import each_row

Q = {"injective": ml.is_injective, "surjective": ml.is_surjective, "bijective": ml.is_bijective}


SYMBOLIC = [
    ("f32[M,N]{1,0:T(8,128)}", None),
    ("{1,0:T(S,T)}", ("M", "N")),
    ("f32[M,N]", None),
    ("Sw<2,0,2> o 0 o (M,4):(4,1)", None),
    ("f32[M,N], mesh={'x': 2}, spec=P('x')", None),
    ("strided<[16, 1], offset: 5>", ("M", 8)),
    ("strided<[8, 1]>", ("M", 8)),
]


@each_row("text, shape", SYMBOLIC)
def test_answers_name_their_claims(text: str, shape: Any) -> None:
    m = ml.index_map(text, shape)
    answers = {claim: question(m) for claim, question in Q.items()}
    assert [answer.claim for answer in answers.values()] == [*Q]
    assert answers["injective"].holds
    onto, both = answers["surjective"], answers["bijective"]
    assert onto.holds is not None
    assert (both.holds, str(both.condition)) == (onto.holds, str(onto.condition))


SCATTERED = [
    ("strided<[0, 1]>", ("M", 8), True, 0, "digits"),
    ("strided<[0, 2]>", ("M", 4), False, 3, "digits"),
    ("strided<[0, 1]>", (3, 8), True, 0, "enumeration"),
    ("strided<[0, 2]>", (3, 4), False, 3, "enumeration"),
]


@each_row("text, shape, holds, padding, decider", SCATTERED)
def test_rows_on_one_place(text: str, shape: Any, holds: bool, padding: int, decider: str) -> None:
    onto = ml.is_surjective(text, shape)
    assert (onto.holds, onto.padding, onto.decider) == (holds, padding, decider)
    assert (onto.claim, ml.is_bijective(text, shape).claim) == ("surjective", "bijective")
    assert not ml.is_injective(text, shape).holds


SEVERAL = [
    (("d0//2", "d1", "d0%2"), True),
    (("d0//2", "d1"), False),
    (("d0", "(d0 + d1)%6"), True),
    (("d0", "(d0 + d1)%5"), False),
]


@each_row("formulas, holds", SEVERAL)
def test_several_coordinates_are_compared_together(formulas: Any, holds: bool) -> None:
    m = ml.from_sympy((4, 6), formulas)
    answer = ml.is_injective(m)
    assert answer.holds is holds
    assert len({m(*at) for at in product(range(4), range(6))}) == 24 or not holds
    if not holds:
        one, other = answer.counterexample
        assert m(*one) == m(*other)
        assert one < other


SKEW = "4*d0 + (d0 + d1)%4"
ANSWERS: list[Any] = [
    ("surjective", ((4, 4), 16), SKEW, True, "digits and ISL", 0, "all 16 slots hold an element"),
    ("surjective", (("M", 4), "4*M"), SKEW, None, "ISL", None, "surjective at small sizes"),
    ("injective", (("M", 4), "4*M"), SKEW, None, "ISL", None, "injective at small sizes"),
    ("surjective", ((3, 4), 6), "d0 + d1", True, "enumeration", 0, "all 6 slots hold an element"),
    ("surjective", ((1,), 1), "d0", True, "digits and ISL", 0, "the only slot holds an element"),
    ("surjective", ((0, 3), 0), "3*d0 + d1", True, "digits and ISL", 0, "the buffer is empty"),
    ("injective", (("M", 4), "4*M"), "d0 + d1", False, "sampling", None, "open for other sizes"),
    ("surjective", (("M", 4), "M"), "4*d0 + d1", False, "sampling", None, "open for other sizes"),
    ("injective", ((4, 6), None), ("d0//2", "d1", "d0%2"), True, "digits and ISL", None, "no two"),
    ("injective", ((3, 3), 12), "d0 + 3*d1 + d1//2", True, "digits and ISL", None, "no two"),
    (
        "injective",
        ((3, 5), 15),
        "5*d0 + d1 + 3",
        True,
        "digits and ISL",
        None,
        "the terms are digi",
    ),
    ("injective", ((3, 5), 15), "4*d0 + d1 + 3", False, "ISL", None, "(0, 4) and (1, 0) share"),
    ("injective", (("M",), "3*M"), "3*d0 - 2*(d0//2)", True, "digits and ISL", None, "each offset"),
    ("surjective", ((5,), 5), "d0 + 3", False, "enumeration", None, "(2,) is outside the buffer"),
    ("surjective", ((4, 4), 16), f"{SKEW} + 1", False, "enumeration", None, "(3, 0) is outside"),
    ("bijective", (("M", 4), "4*M"), f"{SKEW} + 1", False, "sampling", None, "open for other"),
]


@each_row("claim, domain, text, expected", [(*row[:3], row[3:]) for row in ANSWERS])
def test_who_decides_a_formula_and_why(claim: str, domain: Any, text: Any, expected: Any) -> None:
    (shape, size), (holds, decider, padding, reason) = domain, expected
    m = ml.from_sympy(shape if size is None else {"shape": shape, "size": size}, text)
    answer = Q[claim](m)
    assert (answer.claim, answer.holds, answer.decider) == (claim, holds, decider)
    assert answer.padding == padding
    assert answer.reason.startswith(reason)


def test_nothing_decides_about_no_elements() -> None:
    for claim, question in Q.items():
        answer = question("f32[0,3]")
        assert (answer.claim, answer.holds, answer.decider) == (claim, True, "")
        assert answer.padding == (None if claim == "injective" else 0)


def test_slots_of_no_elements_are_padding() -> None:
    onto = ml.is_surjective(IndexMap.of(Recipe((0,), (Pad((8,)),)), lambda c, _: c[0]))
    assert (onto.holds, onto.decider, onto.counterexample, onto.padding) == (False, "", 0, 8)


def test_gaps_between_shared_elements_depend_on_the_sizes() -> None:
    onto = ml.is_surjective("strided<[0, 2]>", ("M", "N"))
    assert (onto.holds, onto.decider) == (None, "digits")
    assert onto.reason == f"{onto.padding} slots are padding" == "N - 1 slots are padding"
