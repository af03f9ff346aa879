"""Formulas become recipes: compared with the formula itself, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Pad,
    Recipe,
    Scatter,
    coordinates_at,
    has_inverse,
    occupied,
    offset_of,
    pack_array,
    physical_coordinates,
    recipe_of_coordinates,
    recipe_of_formula,
    unpack_array,
)
from morello_layouts.core.recipe.recognize import digits_to_read
from morello_layouts.errors import ShapeError, UnsupportedError
from tests.support.tables import each_row

Formula: TypeAlias = tuple[tuple[int, ...], AffineExpr]


def is_scatter(recipe: Recipe) -> bool:
    return any(isinstance(step, Scatter) for step in recipe.steps)


BLOCKS = ((), (), (2,), (3,), (2, 4), (2, 6))
"""Units at which a coordinate is cut into digits, apart from 1."""


def digits_in(x: AffineExpr, units: tuple[int, ...]) -> list[AffineExpr]:
    """Return the digits of a coordinate that begin at 1 and at some units."""
    starts = (1, *units)
    inner = [x // a % (b // a) for a, b in pairwise(starts)]
    return [*inner, x // starts[-1]]


@st.composite
def strided(draw: st.DrawFn) -> tuple[tuple[int, ...], AffineExpr]:
    """A shape, and digits of its coordinates in strides that are nested more often than not."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    digits = []
    for x, n in zip(coordinate_variables(shape), shape, strict=True):
        units = draw(st.sampled_from(BLOCKS))
        digits += digits_in(x, units)
        if draw(st.integers(0, 7)) == 0:
            digits[-1] = digits[-1] * 2 if units else n - 1 - x
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


@given(strided(), st.sampled_from([0, 2]))
def test_coordinates_are_those_of_the_only_element_at_an_offset(given: Formula, tail: int) -> None:
    shape, form = given
    slots = values(shape, form)
    m = IndexMap.of(recipe_of_formula(shape, form, int(slots.max()) + 1 + tail), lambda *_: form)
    assert m.size == slots.max() + 1 + tail
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


M, N, LD, P = map(SizeExpr.named, ("M", "N", "LD", "P"))


def rows(pitch: object, start: int = 0) -> AffineExpr:
    i, j = coordinate_variables((M, N))
    return i * pitch + j + start


RECIPES = {
    "row-major": (rows(N), "[M,N]"),
    "pitch": (rows(LD), "[M,N] → pad [M,LD] → tail pad to LD*M - LD + N elements"),
    "pitch of N + 3": (rows(N + 3), "[M,N] → pad [M,N + 3] → cut to M*N + 3*M - 3 elements"),
    "start": (rows(N, 5), "[M,N] → start at 5"),
    "rows that may overlap": (rows(M), "[M,N] → scatter M*d0 + d1 in [M**2 - M + N]"),
    "pitches that may overlap": (
        coordinate_variables((M, N))[0] * LD + coordinate_variables((M, N))[1] * P,
        "[M,N] → scatter LD*d0 + P*d1 in [LD*M + N*P - LD - P + 1]",
    ),
    "every other": (
        rows(2 * N) + coordinate_variables((M, N))[1],
        "[M,N] → merge [M,N,1] → pad [M,N,2] → cut to 2*M*N - 1 elements",
    ),
}


TEXTS = [
    ((), lambda: 3, "[] → start at 3"),
    ((1, 4), lambda _, j: j, "[1,4]"),
    ((4, 6), lambda i, j: 8 * i + j, "[4,6] → pad [4,8] → cut to 30 elements"),
    ((4, 1, 6), lambda i, _, k: 4 * k + i, "[4,1,6] → transpose [1,6,4]"),
    ((2, 2), lambda i, j: LD * i + LD * j, "[2,2] → scatter LD*d0 + LD*d1 in [2*LD + 1]"),
    ((M * N,), lambda i: i % N * M + i // N, "[M*N] → split [M,N] → transpose [N,M]"),
    (
        (9,),
        lambda i: i % 2 * 6 + i // 2 % 2 * 3 + i // 4,
        "[9] → pad [12] → split [6,2] → split [3,2,2] → transpose [2,2,3] → cut to 11 elements",
    ),
]


@each_row(("shape", "of", "text"), TEXTS)
def test_recipes_have_no_step_too_many(shape: Any, of: Any, text: str) -> None:
    form = AffineExpr((), 0) + of(*coordinate_variables(shape))
    assert str(recipe_of_formula(shape, form)) == text


def test_pads_that_cut_nothing_say_so() -> None:
    i, j = coordinate_variables((4, 6))
    assert recipe_of_formula((4, 6), 8 * i + j).steps == (Pad((4, 8)),)


@each_row("name", RECIPES)
def test_symbolic_sizes(name: str) -> None:
    form, text = RECIPES[name]
    recipe = recipe_of_formula((M, N), form)
    assert str(recipe) == text
    at = {"M": 3, "N": 4, "LD": 6, "P": 5}
    found = offset_of(recipe.at(at), list(np.indices((3, 4))), 0)
    ints = {**at, "d0": np.indices((3, 4))[0], "d1": np.indices((3, 4))[1]}
    assert (found == form.evaluate(ints)).all()


@dataclass(frozen=True)
class Placed:
    """Coordinates in an outer array, and whether each axis of it holds digits in nested strides."""

    shape: tuple[int, ...]
    forms: tuple[AffineExpr, ...]
    sizes: tuple[int, ...]
    is_nested: bool


@st.composite
def placed(draw: st.DrawFn) -> Placed:
    """Digits of coordinates dealt to the axes of an outer array, some of them not nested."""
    sizes = st.one_of(st.just(1), st.integers(1, 9))
    shape = tuple(draw(st.lists(sizes, max_size=3)))
    digits = []
    for x, n in zip(coordinate_variables(shape), shape, strict=True):
        digits += digits_in(x, draw(st.sampled_from([u for u in BLOCKS if max(u, default=0) < n])))
    dealt: list[list[AffineExpr]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for digit in draw(st.permutations(digits)):
        draw(st.sampled_from(dealt)).append(digit)
    is_nested, forms = True, []
    for own in dealt:
        form, stride = AffineExpr((), draw(st.sampled_from([0] * 9 + [1]))), 1
        is_nested = is_nested and form.const == 0
        for digit in own:
            stride += draw(st.sampled_from([0, 0, 1]))
            form = form + digit * stride
            falls_short = draw(st.integers(0, 9)) == 0
            is_nested = is_nested and not falls_short
            stride *= 1 if falls_short else int(digit.interval.hi) + 1
        forms.append(form)
    rooms = (int(form.interval.hi) + 1 + draw(st.sampled_from([0, 0, 2])) for form in forms)
    return Placed(shape, tuple(forms), tuple(rooms), is_nested)


@settings(max_examples=5 * settings.default.max_examples)
@given(placed())
def test_coordinates_become_axes_of_their_sizes(given: Placed) -> None:
    recipe = recipe_of_coordinates(given.shape, given.forms, given.sizes)
    assert recipe.physical_shape == given.sizes
    found = physical_coordinates(recipe, list(np.indices(given.shape)), np.zeros(given.shape, int))
    for x, form in zip(found, given.forms, strict=True):
        assert (x == values(given.shape, form)).all()
    assert not (given.is_nested and is_scatter(recipe))


def test_coordinates_outside_of_their_axis_are_refused() -> None:
    i, j = coordinate_variables((3, 4))
    with pytest.raises(ShapeError, match=r"expected values from 0 to 2, got 0\.\.3"):
        recipe_of_coordinates((3, 4), (i, j), (3, 3))


@each_row("shape", [(3, 4), (M, N)])
def test_coordinates_that_are_no_digits_are_on_axes_of_their_sizes(shape: Any) -> None:
    i, j = coordinate_variables(shape)
    m, n = shape
    recipe = recipe_of_coordinates(shape, (i + j, j), (m + n, n)).at({"M": 3, "N": 4})
    assert recipe.physical_shape == (7, 4)
    assert physical_coordinates(recipe, (2, 3), 0) == (5, 3)


def test_coordinates_inside_of_axes_have_an_inverse() -> None:
    i, j = coordinate_variables((3, 4))
    recipe = recipe_of_coordinates((3, 4), (j + 1, 4 - i), (6, 5))
    assert recipe.physical_shape == (6, 5)
    assert has_inverse(recipe)
    assert coordinates_at(recipe, 3 * 5 + 3)[0] == (1, 2)


@each_row("shape", [(3, 4), (M, N)])
def test_dimensions_that_run_backwards_have_an_inverse(shape: Any) -> None:
    (i, j), (m, n) = coordinate_variables(shape), shape
    for form in (i * n + n - 1 - j, (m - 1 - i) * n + j, m * n - 1 - i * n - j):
        assert has_inverse(recipe_of_formula(shape, form))


def test_an_array_without_elements_leaves_the_buffer_empty() -> None:
    i, j = coordinate_variables((1, 4))
    assert recipe_of_coordinates((0, 4), (i, j), (2, 4)) == Recipe((0, 4), (), 8)
    assert recipe_of_formula((0, 4), 4 * i + j) == Recipe((0, 4), (), 0)
    assert recipe_of_formula((0, 4), 4 * i + j, 7) == Recipe((0, 4), (), 7)


@given(strided())
def test_digits_give_back_the_offsets_that_they_are_read_from(given: Formula) -> None:
    shape, form = given
    simple = canonicalize(form)
    found: Any = digits_to_read(shape, simple)
    if found is None:
        assert values(shape, form).min() < simple.const  # a stride is negative
        return
    assert values(shape, form).min() == simple.const
    at, total = np.indices(shape), simple.const
    for dim, digits in enumerate(found):
        covered = 1
        for x in digits:  # each begins where the one before it ends
            assert (x.dim, x.unit) == (dim, covered)
            covered *= x.radix
            total = total + at[dim] // x.unit % x.radix * x.stride
        assert covered >= shape[dim]
    assert (total == values(shape, form)).all()


def test_offsets_outside_of_the_buffer_are_refused() -> None:
    i, j = coordinate_variables((3, 4))
    with pytest.raises(ShapeError, match=r"got -1\.\.3"):
        recipe_of_formula((4,), coordinate_variables((5,))[0] - 1)
    with pytest.raises(ShapeError, match=r"expected values from 0 to ….*got -2\.\.3"):
        recipe_of_formula((3, 4), j - i)
    with pytest.raises(ShapeError, match=r"expected values from 0 to 10, got 0\.\.11"):
        recipe_of_formula((3, 4), 4 * i + j, 11)


def test_a_single_shared_slot_is_named() -> None:
    i, j = coordinate_variables((2, 2))
    recipe = recipe_of_formula((2, 2), i + j)
    with pytest.raises(UnsupportedError, match=r"elements \(0, 1\) and \(1, 0\) share slot 1"):
        pack_array(recipe, np.zeros((2, 2)), 0)
