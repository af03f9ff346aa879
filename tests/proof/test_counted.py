"""Verdicts about one map, with padding and counterexamples, against every element and slot."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.maps import IndexMap
from morello_layouts.recipe import Pad, Recipe
from tests.support.tables import each_row

Q = {"injective": ml.is_injective, "surjective": ml.is_surjective, "bijective": ml.is_bijective}


def formula(shape: Any, text: str, size: int) -> Any:
    return ml.from_sympy({"shape": shape, "size": size}, text)


MAPS = {
    "padded tiles": lambda: ml.index_map("f32[3,5]{1,0:T(2,2)}"),
    "whole tiles": lambda: ml.index_map("f32[4,6]{1,0:T(2,2)}"),
    "a tail": lambda: ml.index_map("f32[3,4]{1,0:T(1,4)L(5)}"),
    "a tail and tiles": lambda: ml.index_map("f32[3,5]{1,0:T(2,4)L(5)}"),
    "one element": lambda: ml.index_map("f32[1,1]"),
    "a scalar": lambda: ml.index_map("f32[]"),
    "no elements": lambda: ml.index_map("f32[0,3]"),
    "no elements, padded": lambda: ml.index_map("f32[0,3]{1,0:T(2,2)L(5)}"),
    "an offset": lambda: ml.index_map("strided<[8, 1], offset: 3>", (2, 8)),
    "gaps": lambda: ml.index_map("strided<[5, 2]>", (3, 2)),
    "backwards": lambda: ml.index_map("strided<[-4, 1], offset: 8>", (3, 4)),
    "overlaps": lambda: ml.index_map("strided<[2, 1]>", (3, 4)),
    "broadcast": lambda: ml.index_map("strided<[0, 1]>", (3, 4)),
    "overlaps and gaps": lambda: ml.index_map("strided<[4, 4]>", (2, 3)),
    "a swizzle": lambda: ml.index_map("Sw<2,0,2> o 0 o (4,4):(4,1)"),
    "a formula": lambda: formula((3, 4), "4*d0 + d1", 12),
    "a formula, one slot more": lambda: formula((3, 4), "4*d0 + d1", 13),
    "a formula, one slot less": lambda: formula((3, 4), "4*d0 + d1", 11),
    "a formula from 1": lambda: formula((3, 4), "4*d0 + d1 + 1", 13),
    "a formula below 0": lambda: formula((3, 4), "4*d0 + d1 - 1", 12),
    "a formula that leaves and fills": lambda: formula((5,), "d0", 4),
    "digits": lambda: formula((2, 15), "15*d0 + 3*(d1%5) + d1//5", 30),
    "digits that end early": lambda: formula((2, 14), "15*d0 + 3*(d1%5) + d1//5", 30),
    "shared digits": lambda: formula((2, 6), "6*d0 + 2*(d1%4) + d1//4", 12),
    "steps": lambda: formula((4, 3), "3*d0 + 2*((d0%2)) + d1", 20),
    "a sum": lambda: formula((3, 4), "d0 + d1", 6),
    "next to a radix": lambda: formula((3, 4), "3*d0 + d1", 10),
    "skewed": lambda: formula((4, 4), "4*d0 + (d0 + d1)%4", 16),
    "skewed and shared": lambda: formula((4, 4), "4*(d0%2) + (d0 + d1)%4", 8),
    "skewed with a gap": lambda: formula((4, 4), "5*d0 + (d0 + d1)%4", 20),
    "growing": lambda: formula((12,), "3*d0 + 2*((d0%6)//3)", 40),
    "with leaps": lambda: formula((3, 3), "d0 + 3*d1 + d1//2", 12),
    "with leaps, shared": lambda: formula((3, 3), "d0 + 3*d1 - d1//2", 9),
    "a square": lambda: formula((3,), "3*d0 - 2*(d0//2)", 5),
}  # fmt: skip


def offsets_of(m: Any) -> list[int]:
    return [int(m(*at)) for at in product(*map(range, m.shape))]


@pytest.mark.parametrize("name", MAPS)
def test_verdicts_are_those_of_counting(name: str) -> None:
    m = MAPS[name]()
    offsets, size = offsets_of(m), int(m.size if hasattr(m, "recipe") else m.buffer_size)
    counts = Counter(offsets)
    inside = set(offsets) & set(range(size))
    empty = [p for p in range(size) if p not in inside]
    fills = not empty and len(inside) == len(counts)
    expected = {"injective": max(counts.values(), default=1) == 1, "surjective": fills}
    expected["bijective"] = all(expected.values()) and prod(m.shape) == size
    for claim, question in Q.items():
        answer = question(m)
        assert answer.claim == claim
        if answer.holds is None:
            assert "padding is counted of injective maps only" in answer.reason
            continue
        assert answer.holds == expected[claim], answer
        at = answer.counterexample
        if claim == "injective" and not answer.holds:
            one, other = at
            assert one != other
            assert m(*one) == m(*other)
        if claim == "surjective" and isinstance(at, tuple):  # an element outside
            assert m(*at) not in inside
        elif claim == "surjective":
            assert answer.padding in (len(empty), None)
            assert answer.holds or at in (empty[0], None)
            assert answer.holds or at is not None or answer.decider == "digits"


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
