"""Random tilings, reshapes, permutations and relayouts: right, and no dearer than ISL's form.

The generator and ISL's form are those of tests/benchmarks/simplify_random.py, which runs a
thousand expressions, and TVM too.
"""

from __future__ import annotations

import pytest
from peers import isl, ours
from peers.tree import Case, cost, first_difference, recorded, show
from simplify_tilings import KINDS, cases

from morello_layouts.core.expr import OPERATIONS

SEED, COUNT = 20, 150
CASES = list(cases(SEED, COUNT))


def least_by_isl(case: Case) -> int:
    """Return the cost of the cheapest expression that ISL prints."""
    (peer, *_) = isl.peers("")
    return min(cost(peer.read(solve(case.tree, case.bounds))) for solve in peer.variants)


@pytest.mark.slow
@pytest.mark.parametrize("solve", [ours.solve_readable, ours.solve_cheapest])
def test_random_layouts_simplify_to_equal_forms(solve: object) -> None:
    assert callable(solve)
    for case in CASES:
        simple = ours.read(solve(case.tree, case.bounds))
        at = first_difference(case.tree, simple, case.bounds)
        assert at is None, f"{show(case.tree)} is not {show(simple)} at {at}"
        assert isl.equal(case.tree, simple, case.bounds) is not False, show(case.tree)


@pytest.mark.slow
def test_the_cheapest_forms_cost_less_than_those_of_isl() -> None:
    mine = [OPERATIONS.cost(ours.solve_cheapest(c.tree, c.bounds)) for c in CASES]
    assert sum(mine) < sum(map(least_by_isl, CASES))


def test_the_readable_forms_cost_less_than_the_input() -> None:
    for case in CASES:
        form = ours.solve_readable(case.tree, case.bounds)
        assert OPERATIONS.cost(form) <= cost(case.tree), show(case.tree)


def test_there_and_back_is_the_coordinate_itself() -> None:
    for case in CASES:
        if case.origin == "there and back":
            assert str(ours.solve_readable(case.tree, case.bounds)) in case.bounds, show(case.tree)


def test_the_generator_draws_every_kind_and_the_same_again() -> None:
    assert {case.origin for case in CASES} == set(KINDS)
    assert list(cases(SEED, 20)) == CASES[:20]


def test_a_cost_counted_on_the_tree_is_that_of_the_form() -> None:
    for case, _, _ in recorded():
        for solve in (ours.solve_readable, ours.solve_cheapest):
            form = solve(case.tree, case.bounds)
            assert OPERATIONS.cost(form) == cost(ours.read(form)), case.name
