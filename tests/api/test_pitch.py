"""Row pitches: ``ld*i + j``, read, proved under ``ld >= N``, coded and inverted."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import sympy

import morello_layouts as ml
from morello_layouts.check import check
from tests.support.tables import each_row

LD, ROW, COLUMN = (sympy.Symbol(name, integer=True, positive=True) for name in ("ld", "i", "j"))

SPELLED: list[Any] = [
    lambda: ml.from_sympy({"i": "M", "j": "N"}, "ld*i + j"),
    lambda: ml.from_sympy({"i": "M", "j": "N"}, LD * ROW + COLUMN),
    lambda: ml.index_map("strided<[ld, 1]>", ("M", "N"), assuming="ld >= N"),
    lambda: ml.index_map("(M,N):(ld,1)", assuming=sympy.Ge(LD, sympy.Symbol("N"))),
]


@each_row("make", SPELLED)
def test_every_spelling_is_the_same_map(make: Any) -> None:
    m = ml.index_map(make(), names=("i", "j"))
    assert str(m) == "(i, j) -> ld*i + j"
    assert str(m.inverse) == "p -> (p//ld, p%ld), padding where j >= N"
    answer = ml.is_injective(make())
    assert answer.holds
    assert answer.assumptions == ("ld >= N",)
    scope: dict[str, Any] = {}
    exec(ml.code(m, "python", function=True), scope)
    exec(ml.code(m.inverse, "python", function=True), scope)
    sizes = {"M": 3, "N": 5, "ld": 7}
    numbers = m.at(**sizes)
    for i, j in product(range(3), range(5)):
        assert scope["offset"](i, j, **sizes) == 7 * i + j == numbers(i, j)
        assert scope["coordinates"](7 * i + j, **sizes) == (i, j, False)
    assert scope["coordinates"](5, **sizes)[2]


def test_a_pitch_that_is_too_small_is_seen() -> None:
    m = ml.from_sympy({"i": "M", "j": "N"}, "ld*i + j")
    assert check(ml.certificate(m, claim="injective")) == "injective"
    assert ml.is_injective(m.at(M=2, N=5, ld=3)).counterexample == ((0, 3), (1, 0))
    twice = ml.is_injective(ml.from_sympy({"i": "M", "j": "N"}, "ld*i + 2*j"))
    assert twice.holds is False
    sizes, (one, other) = twice.counterexample.sizes, twice.counterexample.at
    assert sizes["ld"] * one[0] + 2 * one[1] == sizes["ld"] * other[0] + 2 * other[1]
    with pytest.raises(ml.ShapeError):
        ml.index_map("strided<[ld, 1]>", ("M", "N")).at(M=2, N=5, ld=3)


def test_a_pitch_for_each_of_three_dimensions() -> None:
    batches = ml.from_sympy({"b": "B", "i": "M", "j": "N"}, "ld*M*b + ld*i + j")
    assert ml.is_injective(batches).assumptions == ("ld >= N",)
    numbers = batches.at(B=2, M=3, N=4, ld=6)
    assert ml.are_equivalent(numbers, "strided<[18, 6, 1]>").holds


EXPLAINED = {"strided<[LD, 2]>": (1, "N"), "strided<[2, 1]>": ("M", "N"), "(M,N):(3,1)": None}


@each_row("text", EXPLAINED)
def test_what_has_an_index_map_has_an_explanation(text: str) -> None:
    """The pitch of a single row is a name of the formula alone; slots may be shared."""
    m = ml.index_map(text, EXPLAINED[text])
    assert str(m.form) in str(ml.explain(text, EXPLAINED[text]))
    for n in (1, 2, 5):
        there = m.at(**dict.fromkeys(m.recipe.names, n))
        rows, columns = there.shape
        offsets = {there(i, j) for i in range(rows) for j in range(columns)}
        assert ml.is_injective(there).holds is (len(offsets) == rows * columns)
        assert ml.is_surjective(there).holds in (len(offsets) == there.size, None)
    for ask in (ml.is_injective, ml.is_surjective, ml.is_bijective, ml.verify):
        assert str(ask(m))
