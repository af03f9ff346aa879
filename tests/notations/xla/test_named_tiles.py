"""Tiles whose sizes are names: the document's formula for any t."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.tables import each_row

# The layout, and the shape for all sizes.
LAYOUTS: list[tuple[str, tuple[int | str, ...]]] = [
    ("{1,0:T(S,T)}", ("M", "N")),
    ("{0,1:T(S,T)}", ("M", "N")),
    ("{1,0:T(8,T)}", ("M", "N")),
    ("{1,0:T(T,T)}", (6, 7)),
    ("{0:T(T)}", (5,)),
    ("{2,1,0:T(S,T)}", ("M", 3, "N")),
    ("{1,0:T(S,T)(2,1)}", ("M", "N")),
    ("{1,0:T(S,T)(T)}", (5, 6)),
    ("{1,0:T(*,T)}", (3, "N")),
    ("{1,0:T(T)}", (2, "N")),
]
QUESTIONS = (ml.is_injective, ml.verify)


def at_numbers(text: str, shape: Any, names: dict[str, int]) -> ml.IndexMap:
    """The layout with numbers in its text, as XLA writes it."""
    tiles = re.sub(r"[ST](?=[,)])", lambda found: str(names[found[0]]), text)
    return ml.index_map(tiles, tuple(names.get(n, n) for n in shape))


@pytest.mark.slow
@each_row("text, shape", LAYOUTS)
def test_formula_and_inverse_are_those_of_every_tile(text: str, shape: Any) -> None:
    m = ml.index_map(text, shape)
    assert str(ml.parse(text)) == text
    for values in product((1, 2, 3, 5), repeat=len(m.recipe.names)):
        names = dict(zip(m.recipe.names, values, strict=True))
        sized, expected = m.at(**names), at_numbers(text, shape, names)
        grid, slots = np.indices(expected.shape), np.arange(expected.size)
        assert sized.size == expected.size == m.recipe.size.evaluate(names)
        assert (sized(*grid) == expected(*grid)).all(), names
        general = m.form.evaluate({**names, **{f"d{k}": x for k, x in enumerate(grid)}})
        assert (general == expected(*grid)).all(), names
        back = expected.coordinates(slots)
        for x, y in zip(sized.coordinates(slots), back, strict=True):
            assert (x == y).all(), names
        for form, x in zip(m.inverse.forms, back, strict=True):
            found = np.broadcast_to(form.evaluate({**names, "p": slots}), x.shape)
            assert ((found == x) | (x < 0)).all(), names


@pytest.mark.slow
@each_row("text, shape", LAYOUTS)
def test_what_holds_for_all_sizes(text: str, shape: Any) -> None:
    m = ml.index_map(text, shape)
    for question in QUESTIONS:
        answer = question(m)
        assert answer.holds is True, answer
        assert str(answer.condition) == "all sizes"
    assert ml.are_equivalent(m, text, shape).holds
    assert ml.agree(text, text, shape).holds


@pytest.mark.slow
@each_row(
    "text, shape, condition",
    [
        ("{1,0:T(S,T)}", ("M", "N"), "S | M and T | N"),
        ("{1,0:T(8,T)}", ("M", "N"), "8 | M and T | N"),
        ("{1,0:T(S,T)(2,1)}", ("M", "N"), "S | M and T | N and 2 | S"),
        ("{0:T(T)}", (6,), "T | 6"),
        ("{1,0:T(S,T)}", ("S*M", "T*N"), "all sizes"),
    ],
)
def test_padding_is_what_tiles_leave(text: str, shape: Any, condition: str) -> None:
    m = ml.index_map(text, shape)
    answer = ml.is_surjective(m)
    assert answer.condition is not None
    assert str(answer.condition) == condition
    assert ml.is_bijective(m).holds is answer.holds is (condition == "all sizes")
    for values in product((1, 2, 3, 4), repeat=len(m.recipe.names)):
        names = dict(zip(m.recipe.names, values, strict=True))
        padding = m.at(**names).padding
        symbols = {s: names[s.name] for s in answer.condition.expr.free_symbols}
        assert bool(answer.condition.expr.subs(symbols)) is (padding == 0), names


def test_a_difference_is_found_at_small_sizes() -> None:
    answer = ml.are_equivalent("{1,0:T(S,T)}", "{1,0:T(T,S)}", ("M", "N"))
    assert answer.holds is False
    assert answer.counterexample is not None
    names = dict(answer.counterexample.sizes)
    one, other = (ml.index_map(text, ("M", "N")).at(**names)
                  for text in ("{1,0:T(S,T)}", "{1,0:T(T,S)}"))  # fmt: skip
    assert one(*answer.counterexample.at) != other(*answer.counterexample.at)


def test_undecided_equality_says_so() -> None:
    """Equal at all sizes, by reasoning that the simplifier lacks: one row of tiles."""
    answer = ml.are_equivalent("{1,0:T(S,T)}", "{1,0:T(S,T)(1,T)}", ("M", "N"))
    assert answer.holds is not False
    if answer.holds is None:
        assert "quotients by names" in answer.reason


def test_named_tiles_agree_with_tiles_that_pad() -> None:
    answer = ml.agree("{1,0:T(S,T)}", "{1,0:T(S,T)}", ("M", "N"), reads="buffer")
    assert answer.holds is True
    assert answer.covers is False
    assert str(answer.definition.condition) == "S | M and T | N"


def test_code_for_any_tile() -> None:
    m = ml.index_map("{1,0:T(S,T)}", ("M", "N"))
    names: dict[str, Any] = {"M": 7, "N": 9, "S": 3, "T": 4}
    text = ml.code(m, "python", function=True)
    scope: dict[str, Any] = {}
    exec(text, scope)
    function = next(x for name, x in scope.items() if callable(x) and name != "__builtins__")
    sized = m.at(**names)
    for at in product(range(7), range(9)):
        assert function(*at, **names) == sized(*at)
