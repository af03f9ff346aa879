"""Layouts that differ are told apart by evaluation, at the first coordinate that NumPy finds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.proof.comparison import compare
from tests.support.tables import each_row


def first_unequal(a: ml.IndexMap, b: ml.IndexMap) -> tuple[int, ...] | None:
    """Return what comparing finds without ISL."""
    return compare([a, b], a.recipe, b.recipe, None).at


LAYOUTS = ("{2,1,0}", "{0,1,2}", "{2,1,0:T(2,4)}", "{1,2,0:T(4)}", "{2,0,1:T(*,4)}", "{2,1,0:T(3)}")


@each_row(("one", "other"), [*product(LAYOUTS, LAYOUTS)])
def test_the_first_difference_is_that_of_numpy(one: str, other: str) -> None:
    shape = (3, 5, 6)
    a, b = (ml.index_map(f"s32[3,5,6]{text}") for text in (one, other))
    at = np.indices(shape)
    wrong = np.argwhere(a(*at) != b(*at))
    expected = tuple(map(int, wrong[0])) if len(wrong) else None
    assert first_unequal(a, b) == expected
    assert ml.are_equivalent(a, b).holds is (expected is None)


def test_a_difference_past_the_elements_that_are_looked_at_is_found_by_increments() -> None:
    a, b = (ml.index_map(f"f32[2,600,700]{{2,1,0{tile}}}") for tile in ("", ":T(601,700)"))
    assert first_unequal(a, b) == (1, 0, 0)
    assert first_unequal(a, a) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("bf16[8,176,176,3]{1,0,3,2:T(8,128)(2,1)}", "bf16[8,3,176,176]{2,0,1,3:T(8,128)(2,1)}"),
        ("f32[100000,3,3]{2,1,0:T(4,128)}", "f32[3,3,100000]{0,1,2:T(4,128)}"),
    ],
)
def test_wrong_candidates_of_large_arrays_cost_little(a: str, b: str) -> None:
    """ISL looked for the first point of their difference for minutes."""
    assert ml.is_bitcast(a, b, correspondence="any").kind == "transpose"


def test_the_first_of_a_few_elements_may_differ() -> None:
    """Sums of coordinates have no increments: elements are looked at."""
    found = ml.equal("lambda i, j: (i + j + 6)//7", "lambda i, j: 0*i + 1", (3, 3))
    assert (found.counterexample, found.decider) == ((0, 0), "evaluation")
