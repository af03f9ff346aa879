"""Places by the names of axes: forwards, backwards, of all holders, and as code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.maps import IndexMap, Place
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Replicate,
    Split,
    Transpose,
    Xor,
    known,
    offset_of,
)
from tests.support.recipes import places, recipes

FRAGMENT = Recipe(
    (16, 8),
    (Split((8, 2)), Transpose((1, 2, 0, 3)), Merge((2, 2))),
    axis_names=("lane", "register"),
)
"""Operand C of ``mma.m16n8k16``: PTX gives row lane / 4, + 8 from register 2, column pairs."""


def map_of(recipe: Recipe) -> IndexMap:
    return IndexMap.of(recipe, lambda at, _: offset_of(recipe, at, AffineExpr((), 0)), "a recipe")


@settings(max_examples=25)
@given(recipes())
def test_random_layouts_with_names(recipe: Recipe) -> None:
    shape = known(recipe.physical_shape)
    names = tuple(f"axis{k}" for k in range(len(shape)))
    m = map_of(replace(recipe, axis_names=names))
    held: dict[tuple[int, ...], Any] = dict.fromkeys(np.ndindex(shape))
    for element, holders in places(recipe):
        place = m.place(*element)
        assert isinstance(place, Place)
        assert [tuple(one.values()) for one in place.holders] == holders
        assert (tuple(place), tuple(place.values())) == (names, holders[0])
        held |= dict.fromkeys(holders, element)
    for at, element in held.items():
        assert m.element(**dict(zip(names, at, strict=True))) == element


def test_a_fragment_as_ptx_describes_it() -> None:
    m = map_of(FRAGMENT)
    for row, column in np.ndindex(16, 8):
        place = m.place(row, column)
        assert place == {
            "lane": 4 * (row % 8) + column // 2,
            "register": 2 * (row // 8) + column % 2,
        }
        assert m.element(**place) == (row, column)
    lanes = m.place(np.arange(16)[:, None], np.arange(8))["lane"]
    assert lanes.shape == (16, 8)
    assert np.bincount(lanes.reshape(-1)).tolist() == [4] * 32
    rows, columns = m.element(lane=np.arange(32), register=np.full(32, 2))
    assert (rows == 8 + np.arange(32) // 4).all()
    assert (columns == 2 * (np.arange(32) % 4)).all()


def test_named_axes_as_code() -> None:
    m = map_of(FRAGMENT)
    scope: dict[str, Any] = {}
    for of, name in ((m, "place"), (m.inverse, "element")):
        exec(ml.code(of, "python", function=True, name=name), scope)
    for row, column in np.ndindex(16, 8):
        lane, register = scope["place"](row, column)
        assert {"lane": lane, "register": register} == m.place(row, column)
        assert scope["element"](lane, register) == (row, column, False)
    assert ml.code(m, "c") == (
        "const uint32_t lane = 4 * (d0 % 8) + d1 / 2;\nconst uint32_t reg = 2 * (d0 / 8) + d1 % 2;"
    )


def test_memory_has_one_unnamed_axis() -> None:
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    assert m.place(2, 3) == {"offset": 17}
    assert (m.element(offset=17), m.element(offset=9)) == ((2, 3), None)


def test_places_in_words() -> None:
    m = map_of(replace(FRAGMENT, steps=(*FRAGMENT.steps[:-1], Replicate((2,)), Merge((2, 2, 1))),
                       axis_names=("lane", "register", "warp")))  # fmt: skip
    assert str(m.place(1, 1)) == "lane 4, register 1, warps 0 and 1"
    assert m.place(1, 1).holders[1] == {"lane": 4, "register": 1, "warp": 1}


def test_padding_and_a_swizzle_in_named_axes() -> None:
    steps = (Pad((4, 8)), Xor(1, 0))
    m = map_of(Recipe((4, 6), steps, axis_names=("row", "bank")))
    assert m.element(row=1, bank=7) is None  # column 6
    assert m.place(1, 5) == {"row": 1, "bank": 4}
