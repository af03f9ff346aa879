"""Formulas become recipes: compared with the formula itself, element by element."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, strategies as st

from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr, coordinate_variables
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.maps import IndexMap
from morello_layouts.recipe import (
    Recipe,
    Scatter,
    has_inverse,
    occupied,
    offset_of,
    pack_array,
    physical_coordinates,
    recipe_of_coordinates,
    recipe_of_formula,
    unpack_array,
)
from tests.support.tables import each_row

Formula: TypeAlias = tuple[tuple[int, ...], AffineExpr]


def is_scatter(recipe: Recipe) -> bool:
    return any(isinstance(step, Scatter) for step in recipe.steps)


@st.composite
def strided(draw: st.DrawFn) -> tuple[tuple[int, ...], AffineExpr]:
    """A shape, and digits of its coordinates in strides that are nested more often than not."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    digits = []
    for x, n in zip(coordinate_variables(shape), shape, strict=True):
        block = draw(st.sampled_from([1, 1, 2, 3]))
        digits += [x] if block == 1 else [x // block, x % block]
        if draw(st.integers(0, 7)) == 0:
            digits[-1] = n - 1 - x if block == 1 else digits[-1] * 2
    form = AffineExpr((), draw(st.sampled_from([0, 0, 3])))
    stride = 1
    for digit in draw(st.permutations(digits)):
        stride = stride * draw(st.sampled_from([1, 1, 1, 2])) + draw(st.sampled_from([0, 0, 0, 1]))
        form = form + digit * draw(st.sampled_from([stride] * 9 + [0]))
        stride *= int(digit.interval.hi) + 1 if draw(st.integers(0, 9)) else 1
    return shape, form


def values(shape: tuple[int, ...], form: AffineExpr) -> np.ndarray:
    at = {f"d{k}": x for k, x in enumerate(np.indices(shape))}
    return np.broadcast_to(form.evaluate(at), shape)


@given(strided())
def test_a_recipe_gives_the_offsets_of_its_formula(given: Formula) -> None:
    shape, form = given
    recipe, expected = recipe_of_formula(shape, form), values(shape, form)
    found = np.broadcast_to(offset_of(recipe, list(np.indices(shape)), 0), shape)
    assert (found == expected).all()
    assert recipe.size == expected.max() + 1
    different = len(np.unique(expected))
    assert occupied(recipe) == different
    assert is_scatter(recipe) or different == expected.size


@given(strided())
def test_arrays_go_into_a_buffer_and_back(given: Formula) -> None:
    shape, form = given
    recipe, slots = recipe_of_formula(shape, form), values(shape, form)
    array = np.arange(slots.size).reshape(shape)
    if len(np.unique(slots)) < slots.size:
        with pytest.raises(UnsupportedError, match="share slot"):
            pack_array(recipe, array, -1)
        buffer = np.arange(recipe.size)
        assert (unpack_array(recipe, buffer) == slots).all()
        return
    expected = np.full(recipe.size, -1)
    expected[slots] = array
    buffer = pack_array(recipe, array, -1)
    assert (buffer == expected).all()
    assert (unpack_array(recipe, buffer) == array).all()


@given(strided())
def test_coordinates_are_those_of_the_only_element_at_an_offset(given: Formula) -> None:
    shape, form = given
    m = IndexMap.of(recipe_of_formula(shape, form), lambda *_: form)
    slots = values(shape, form)
    for p in range(m.size):
        elements = [tuple(map(int, at)) for at in np.argwhere(slots == p)]
        if len(elements) > 1:
            assert not has_inverse(m.recipe)
            with pytest.raises(UnsupportedError, match=f"offset {p} holds {len(elements)}"):
                m.coordinates(p)
        else:
            assert m.coordinates(p) == (elements[0] if elements else None)
    if has_inverse(m.recipe):
        first = m.coordinates(np.arange(m.size))[0]
        assert ((first < 0) == ~np.isin(np.arange(m.size), slots)).all()
        for p in range(m.size):
            padding = any(x.evaluate({"p": p}) >= n for x, n in m.inverse.limits)
            assert padding == (p not in slots)
            if not padding:
                at = tuple(x.evaluate({"p": p}) for x in m.inverse.forms)
                assert at == m.coordinates(p)


M, N, LD = map(SizeExpr.named, ("M", "N", "LD"))


def rows(pitch: object, start: int = 0) -> AffineExpr:
    i, j = coordinate_variables((M, N))
    return i * pitch + j + start


RECIPES = {
    "row-major": (rows(N), "[M,N]"),
    "pitch": (rows(LD), "[M,N] → pad [M,LD] → tail pad to LD*M - LD + N elements"),
    "pitch of N + 3": (rows(N + 3), "[M,N] → pad [M,N + 3] → cut to M*N + 3*M - 3 elements"),
    "start": (rows(N, 5), "[M,N] → start at 5"),
    "every other": (
        rows(2 * N) + coordinate_variables((M, N))[1],
        "[M,N] → merge [M,N,1] → pad [M,N,2] → cut to 2*M*N - 1 elements",
    ),
}


@each_row("name", RECIPES)
def test_symbolic_sizes(name: str) -> None:
    form, text = RECIPES[name]
    recipe = recipe_of_formula((M, N), form)
    assert str(recipe) == text
    at = {"M": 3, "N": 4, "LD": 6}
    found = offset_of(recipe.at(at), list(np.indices((3, 4))), 0)
    ints = {**at, "d0": np.indices((3, 4))[0], "d1": np.indices((3, 4))[1]}
    assert (found == form.evaluate(ints)).all()


def test_coordinates_become_axes_of_their_sizes() -> None:
    i, j = coordinate_variables((4, 20))
    forms = (j // 16, i, j % 16)
    recipe = recipe_of_coordinates((4, 20), forms, (3, 4, 16))
    assert recipe.physical_shape == (3, 4, 16)
    at = list(np.indices((4, 20)))
    found = physical_coordinates(recipe, at, 0)
    for x, form in zip(found, forms, strict=True):
        assert (x == form.evaluate({"d0": at[0], "d1": at[1]})).all()


def test_coordinates_that_are_no_digits_are_scattered() -> None:
    i, j = coordinate_variables((3, 4))
    recipe = recipe_of_coordinates((3, 4), (i + j, j), (6, 4))
    assert recipe.physical_shape == (6, 4)
    assert physical_coordinates(recipe, (2, 3), 0) == (5, 3)


def test_offsets_outside_of_the_buffer_are_refused() -> None:
    i, j = coordinate_variables((3, 4))
    with pytest.raises(ShapeError, match=r"expected values from 0 to ….*got -2\.\.3"):
        recipe_of_formula((3, 4), j - i)
    with pytest.raises(ShapeError, match=r"expected values from 0 to 10, got 0\.\.11"):
        recipe_of_formula((3, 4), 4 * i + j, 11)


def test_a_single_shared_slot_is_named() -> None:
    i, j = coordinate_variables((2, 2))
    recipe = recipe_of_formula((2, 2), i + j)
    with pytest.raises(UnsupportedError, match=r"elements \(0, 1\) and \(1, 0\) share slot 1"):
        pack_array(recipe, np.zeros((2, 2)), 0)
