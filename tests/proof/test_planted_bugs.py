"""Each bug that a review planted turns verify red, and its absence green."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from tests.support.planted_bugs import BUGS, LAYOUTS, Bug, is_wrong, map_of
from tests.support.tables import each_row


@each_row("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_refuted(bug: Bug) -> None:
    assert ml.verify(map_of(*bug.shown_by)).holds is not False
    with bug.planted():
        m = map_of(*bug.shown_by)
        assert is_wrong(m) or bug.where == "prover", "the bug changes nothing here"
        assert ml.verify(m).holds is False


@pytest.mark.slow
@each_row("layout", LAYOUTS)
def test_without_a_bug_nothing_is_wrong(layout: tuple[object, ...]) -> None:
    m = map_of(*layout)
    assert not is_wrong(m)
    assert ml.verify(m).holds is not False


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_no_layout_that_a_bug_spoils_is_verified(bug: Bug) -> None:
    with bug.planted():
        for row in LAYOUTS:
            try:
                m = map_of(*row)
            except ml.LayoutError:
                continue  # the bug gives steps that do not fit
            if is_wrong(m):
                assert ml.verify(m).holds is False, row
