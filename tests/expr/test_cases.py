"""The 54 recorded expressions: right at every value, and no dearer than any peer made them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from morello_layouts.core.expr import CostModel, cheapest, readable
from tests.support.expr_judges import MOST_POINTS, equal_by_isl, grid_of, points_of
from tests.support.expr_trees import evaluate, form_of
from tests.support.paths import DATA
from tests.support.tables import each_row

CASES = json.loads((DATA / "simplify_cases.json").read_text())
TARGETS = {"readable": lambda form: readable(form)[0], "cheapest": cheapest}
COST = CostModel().cost

each_case = each_row("case", CASES, ids=[c["id"] for c in CASES])


def simplified(case: Any, target: Any) -> Any:
    return TARGETS[target](form_of(case["expr"], case["bounds"]))


def best_peer(case: Any) -> Any:
    return min(cost for cost in case["cost"].values() if cost is not None)


def test_there_are_54_cases() -> None:
    assert len(CASES) == 54


@pytest.mark.slow
@each_case
@each_row("target", TARGETS)
def test_equal_everywhere(case: Any, target: str) -> None:
    form, result = form_of(case["expr"], case["bounds"]), simplified(case, target)
    variables = form.variables()
    if points_of(variables) > MOST_POINTS:
        assert equal_by_isl(form, result)
        return
    values = grid_of(variables)
    expected = evaluate(case["expr"], values)
    assert np.array_equal(expected, np.broadcast_to(result.evaluate(values), expected.shape))


@each_case
def test_cheapest_is_no_dearer_than_any_peer(case: Any) -> None:
    assert COST(simplified(case, "cheapest")) <= min(best_peer(case), case["best_known"])


def test_cheapest_in_total() -> None:
    assert sum(COST(simplified(case, "cheapest")) for case in CASES) <= 404


def test_readable_in_total() -> None:
    assert sum(COST(simplified(case, "readable")) for case in CASES) <= 527


def test_no_negative_factors_where_the_input_has_none() -> None:
    plain = [case for case in CASES if "-" not in str(case["expr"])]
    assert len(plain) > 50
    for case in plain:
        assert "-" not in str(simplified(case, "readable")), case["id"]
