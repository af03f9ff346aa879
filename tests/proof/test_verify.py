"""verify names what differs from the recipe; tests/data/recorded/proof/faults.txt has the words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import sympy

import morello_layouts as ml
from morello_layouts.core.expr import coordinate_variables
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import recipe_of_formula
from tests.support.recorded import RECORDED, Row, pieces
from tests.support.spoiled import (
    TILED,
    M,
    N,
    also_padded_if,
    map_of,
    off_by,
    p,
    swizzled,
    with_inverse,
)
from tests.support.tables import each_row

SYMBOLIC = "f32[M,N]{1,0:T(2,4)}"
OPEN = "f32[A,B,C,D]{3,2,1,0:T(*,2,*,3)}"
Spoil: TypeAlias = Callable[[IndexMap], IndexMap]


def rows(start: int, pitch: int, size: int) -> IndexMap:
    """Return the map of rows of 5 that begin behind the start of a buffer, and do not fill it."""
    i, j = coordinate_variables((3, 5))
    form = pitch * i + j + start
    return IndexMap.of(recipe_of_formula((3, 5), form, size), lambda *_: form)


def without_limit(text: str) -> Spoil:
    """Leave out the part of the condition for padding that reads so."""

    def spoil(m: IndexMap) -> IndexMap:
        parts = {str(part): part for part in m.inverse.padding.args}
        del parts[text]
        return with_inverse(m, padding=sympy.Or(*parts.values()))

    return spoil


def test_each_fault_is_refuted() -> None:
    rows = [row for row in pieces(RECORDED / "proof" / "faults.txt") if isinstance(row, Row)]
    verified = [row for row in rows if row.question.startswith("ml.verify(")]
    assert len(verified) > 25
    assert all(row.answer.startswith("refuted: ") for row in verified)
    assert all("None" not in row.answer for row in rows)


@each_row("m", [map_of(TILED), map_of(SYMBOLIC), map_of(OPEN), swizzled()], ids=str)
def test_what_agrees_is_verified(m: Any) -> None:
    answer = ml.verify(m)
    assert (answer.claim, answer.holds, answer.counterexample) == ("verified", True, None)


@each_row("layout", [TILED, SYMBOLIC])
def test_a_condition_that_says_nothing_new_is_right(layout: str) -> None:
    m = map_of(layout)
    for needless in (sympy.Ge(p, m.size), sympy.Gt(p, m.size - 1)):
        assert ml.verify(also_padded_if(m, needless)).holds is True


LIMITS = {"p >= 28": "misses an end", "3 - p >= 0": "misses an end", "Mod(p + 4, 8) >= 5": "slot 9"}


def test_both_ends_of_a_buffer_are_padding() -> None:
    m = rows(4, 8, 30)
    assert {str(part) for part in m.inverse.padding.args} == LIMITS.keys()
    assert ml.verify(m).holds
    for text, words in LIMITS.items():
        answer = ml.verify(without_limit(text)(m))
        assert answer.holds is False
        assert words in answer.reason
    for start, end in ((4, 28), (0, 24), (0, 26), (1, 25)):
        assert ml.verify(rows(start, 8, end)).holds
    assert ml.verify(without_limit("Mod(p + 7, 8) >= 5")(rows(1, 8, 25))).holds is False


FIVES = f"f32[{'5,' * 11}5]{{{','.join(map(str, range(12)))}:T({'2,' * 11}2)}}"
"""Its padding is 12 half-spaces, and the complement of their union had 2^12 pieces."""


def test_isl_judges_padding_along_many_axes_and_in_many_tiles() -> None:
    assert ml.verify(FIVES).decider == "digits and ISL"
    assert ml.is_bijective(FIVES, confirm=True).decider == "digits, confirmed by ISL"
    tiles = f"f32[1009,1013]{{1,0:T{'(3,2)(2,3)' * 8}}}"
    assert ml.verify(tiles).decider == "digits and ISL"


def test_padding_along_many_axes_is_what_the_inverse_says() -> None:
    last = 6**12 - 1  # of the buffer, which is padding already
    for more, holds in ((p >= last, True), (p <= 0, False)):
        assert ml.verify(also_padded_if(map_of(FIVES), more)).holds is holds


def test_elements_that_share_slots_have_no_inverse_to_verify() -> None:
    i, j = coordinate_variables((3, 4))
    m = IndexMap.of(recipe_of_formula((3, 4), i + j), lambda *_: i + j)
    assert ml.verify(m).holds
    assert ml.verify(off_by(m, sympy.Symbol("d0"))).holds is False


def test_a_certificate_is_about_the_padding_that_users_get() -> None:
    """ISL leaves it open, small sizes do not reach it, and a certificate must not pass it by."""
    assert ml.verify(also_padded_if(map_of(OPEN), sympy.Gt(p, 10**6))).holds is None


def test_a_budget_for_isl_asks_no_other() -> None:
    assert ml.verify(map_of(OPEN), budget=10**7).holds is None


def test_verdicts_on_tiles_of_named_sizes_say_what_they_judged() -> None:
    m = map_of("f32[M,N]{1,0:T(A,B)}")
    assert ml.is_injective(m, confirm=True).judged == "formulas"
    answer = ml.is_injective(off_by(m, N - 1))
    assert answer.judged.startswith("the recipe only")


def test_a_size_that_cannot_be_read_decides_nothing() -> None:
    m = map_of(SYMBOLIC)
    answer = ml.verify(off_by(m, sympy.floor(M / 99)))
    assert answer.holds is not True
