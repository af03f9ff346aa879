"""Arrays seen in another shape: what the steps do to an array, against NumPy's own reshape."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split, Transpose, pack_array
from morello_layouts.core.recipe.digits import major_order
from morello_layouts.core.recipe.views import reshape_recipe, reshape_steps, with_inner_axis

M, N = SizeExpr.named("M"), SizeExpr.named("N")


@st.composite
def factorings(draw: st.DrawFn, count: int) -> tuple[int, ...]:
    """A shape of a number of elements, with sizes of 1 in any place."""
    sizes = []
    while count > 1:
        sizes.append(draw(st.sampled_from([d for d in range(2, count + 1) if count % d == 0])))
        count //= sizes[-1]
    for _ in range(draw(st.integers(0, 2))):
        sizes.insert(draw(st.integers(0, len(sizes))), 1)
    return tuple(sizes) or (1,)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    count = draw(st.sampled_from([1, 2, 12, 24, 36, 60, 64]))
    return draw(factorings(count)), draw(factorings(count))


@given(reshapes(), st.randoms(use_true_random=False))
def test_reshapes_and_transposes_are_numpy_s(shapes: Any, random: Any) -> None:
    shape, to = shapes
    array = np.arange(prod(shape)).reshape(shape)
    recipe = Recipe(shape, reshape_steps(shape, to))
    assert recipe.physical_shape == to
    assert (pack_array(recipe, array, -1) == np.arange(prod(shape))).all()
    order = list(range(len(to)))
    random.shuffle(order)
    moved = Recipe(tuple(to[axis] for axis in order))
    expected = array.reshape(to).transpose(order).reshape(-1)
    assert (pack_array(reshape_recipe(shape, moved, order), array, -1) == expected).all()


def test_reshapes_of_symbolic_sizes() -> None:
    assert Recipe((M, N), reshape_steps((M, N), (M * N,))).physical_shape == (M * N,)
    whole = 128 * N
    split = reshape_steps((M, whole), (M, N, 128))
    assert split == (Split((None, 128)),)
    with pytest.raises(ml.UnsupportedError, match="sizes are symbolic: N"):
        reshape_steps((M * N,), (M, N))


@pytest.mark.parametrize(
    ("shape", "to", "error", "what"),
    [
        ((2, 3), (7,), ml.ShapeError, "[2,3] cannot be reshaped to [7]"),
        ((1,), (), ml.UnsupportedError, "[1] cannot be reshaped to a scalar"),
        ((0, 3), (3, 0), ml.UnsupportedError, "[0,3] cannot be reshaped"),
    ],
)
def test_reshapes_that_are_none(shape: Any, to: Any, error: Any, what: str) -> None:
    with pytest.raises(error) as caught:
        reshape_steps(shape, to)
    assert caught.value.what == what


def test_an_order_that_is_none() -> None:
    with pytest.raises(ml.ShapeError, match=r"dimension 0 appears twice"):
        reshape_recipe((6,), Recipe((2, 3)), (0, 0))


@pytest.mark.parametrize("layout", ["f32[]", "f32[]{:T(4)}", "f32[]{:T(4)(2)L(8)}"])
def test_scalars_are_seen_from_one_element(layout: str) -> None:
    scalar = ml.index_map(layout)
    seen = reshape_recipe((1, 1), scalar.recipe)
    assert seen.size == scalar.size
    assert (pack_array(seen, np.ones((1, 1)), 0) == ml.pack(scalar, np.ones(()), fill=0)).all()


def test_elements_in_parts() -> None:
    tiled = ml.index_map("f32[3,5]{1,0:T(2,2)L(32)}")
    parts = with_inner_axis(tiled.recipe, 2)
    array = np.arange(30).reshape(3, 5, 2)
    expected = np.stack([ml.pack(tiled, array[..., k], fill=-1) for k in (0, 1)], axis=1)
    assert (pack_array(parts, array, -1) == expected.reshape(-1)).all()


@pytest.mark.parametrize(
    ("layout", "shape", "order"),
    [
        ("[0, 2, 3, 1]", (2, 3, 4, 5), (0, 2, 3, 1)),
        ("[1, 0, 1 p(4)]", (6, 8), (1, 0)),
        ("{0,1:T(8,128)(2,1)}", (16, 256), (1, 0)),
        ("{2,1,0:T(*,8,128)}", (3, 16, 256), (0, 1, 2)),
        ("[0 oe(4), 1]", (4, 3), (0, 1)),
        ("{:T(128)}", (), ()),
    ],
)
def test_the_order_in_memory(layout: str, shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    assert major_order(ml.index_map(layout, shape).recipe) == order


def test_the_order_after_every_step() -> None:
    steps = (Transpose((1, 0)), Pad((6, 4)), Split((2, None)), Merge((1, 2)))
    assert major_order(Recipe((3, 5), steps)) == (1, 0)
