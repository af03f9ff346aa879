"""Input that is too large, of the wrong kind, or meant to do harm: a clear error, and soon."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.limits import LAYOUT_TEXT
from morello_layouts.errors import LayoutError, ParseError
from tests.support.tables import each_row

LONG = "1" * 5000
BAD = ["i<,", ",=", "(1,2", "x" * 5000]  # NumPy raises errors of three kinds

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: ml.index_map("f32[M,N]", assuming=f"M >= {LONG}"), "the number is too large"),
    (lambda: ml.index_map("f32[M,N]", assuming=f"M % {LONG} == 0"), "the number is too large"),
    (lambda: ml.index_map("f32[M,N]", assuming=f"{LONG} | M"), "the number is too large"),
    (lambda: ml.index_map("f32[M,N]", assuming=f"1 <= M < {2**63}"), "the number is too large"),
    (lambda: ml.pack(f"f32[3]{{0:T({2**60})}}", np.zeros(3, np.float32)), "the buffer has"),
    (lambda: ml.index_map("[0]", (sympy.Symbol("N", negative=True),)), "a positive integer"),
    (lambda: ml.index_map("[0]", (sympy.Symbol("N", integer=False),)), "a positive integer"),
    (lambda: ml.parse("[" + "0," * LAYOUT_TEXT + "0]"), "at most 40,000 characters"),
    (lambda: ml.parse("f32[2]{0:T" + "(2)" * LAYOUT_TEXT + "}"), "at most 40,000 characters"),
    (lambda: ml.code(2 * sympy.Symbol('x"; system("id")'), "latex", {}), "is not a name"),
    (lambda: ml.code(2 * sympy.Symbol(r"\input"), "latex", {}), "is not a name"),
    (lambda: ml.simplify("i", "i=" + "." * 100_000 + "="), "a bound: expected a name"),
    *[(lambda t=t: ml.relayout("[0]", "[0]", (3,)).compile(t), "a type of items") for t in BAD],
    *[
        (lambda t=t: ml.unpack("[0]", b"ab", (2,), as_bytes=True, dtype=t), "a type of NumPy")
        for t in BAD
    ],
]


@each_row("act, message", REFUSED)
def test_refused(act: Callable[[], Any], message: str) -> None:
    with pytest.raises(LayoutError) as caught:
        act()
    assert message in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize("name", ["x" * 10_000, "\x00" * 10_000])
def test_errors_are_shorter_than_what_was_given(name: str) -> None:
    m, wrong = ml.index_map("f32[M,8]"), list[LayoutError]()
    acts = m.view, lambda reverse: m.at(**{reverse: 3}), lambda reverse: ml.code(m, reverse)
    for act in (*acts, lambda reverse: ml.simplify("i", f"{reverse}?")):
        with pytest.raises(LayoutError) as caught:
            act(reverse=name)
        wrong.append(caught.value)
    assert max(len(str(error)) for error in wrong) < 2000


def test_the_caret_is_under_the_number() -> None:
    with pytest.raises(ParseError) as caught:
        ml.index_map("f32[M,N]", assuming=f"M >= 2, 2 <= N <= {2**63}")
    assert caught.value.position == len("M >= 2, 2 <= N <= ")


def test_latex_names_of_mathematics() -> None:
    expr = 2 * sympy.Symbol(r"\lambda", integer=True) + sympy.Symbol("x'", integer=True)
    assert ml.code(expr, "latex", {}) == r"2 \lambda + x'"


VALUES = [
    lambda: ml.relayout("u8[2,3]", "u8[2,3]{1,0:T(2,2)}").compile(),
    lambda: ml.relayout("u8[M,N]", "u8[M,N]{1,0:T(2,2)}").compile(threads=2),
    lambda: ml.draw("f32[4,4]"),
    lambda: ml.draw("f32[4,4]", "f32[4,4]{0,1}"),
]


@pytest.mark.parametrize("make", VALUES)
def test_values_can_be_hashed_pickled_and_copied(make: Callable[[], Any]) -> None:
    value = make()
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert other == value
        assert hash(other) == hash(value)


def test_a_pickled_relayout_moves_the_same_bytes() -> None:
    fixed, sized = (pickle.loads(pickle.dumps(make())) for make in VALUES[:2])
    buffer = np.arange(1, 7, dtype=np.uint8)
    assert fixed(buffer).tolist() == sized(buffer, M=2, N=3).tolist() == [1, 2, 4, 5, 3, 0, 6, 0]
