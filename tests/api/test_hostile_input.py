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
from morello_layouts.errors import LayoutError


@pytest.mark.parametrize("name", ["x" * 10_000, "\x00" * 10_000])
def test_errors_are_shorter_than_what_was_given(name: str) -> None:
    m, wrong = ml.index_map("f32[M,8]"), list[LayoutError]()
    acts = m.view, lambda reverse: m.at(**{reverse: 3}), lambda reverse: ml.code(m, reverse)
    for act in (*acts, lambda reverse: ml.simplify("i", f"{reverse}?")):
        with pytest.raises(LayoutError) as caught:
            act(reverse=name)
        wrong.append(caught.value)
    assert max(len(str(error)) for error in wrong) < 2000


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
