"""Verdicts about one map, with padding and counterexamples, against every element and slot."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from typing import Any

import pytest

import morello_layouts as ml
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
        if answer.holds is None:  # elements outside: padding is not counted
            assert claim != "injective"
            assert len(inside) < len(counts) or max(counts.values()) > 1
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
    for claim, question in Q.items():
        answer = question(m)
        assert (answer.claim, answer.holds is None) == (claim, False)
        assert question(m).holds == (claim == "injective" or answer.holds)
    both = ml.is_bijective(m)
    assert both.holds == ml.is_surjective(m).holds
    assert str(both.condition) == str(ml.is_surjective(m).condition)
