"""Arrays seen in another shape: what the steps do to an array, against NumPy's own reshape."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.recipe import Merge, Pad, Recipe, Scatter, Split, Transpose, pack_array
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


def test_elements_of_formulas_in_parts() -> None:
    """The places of the parts lie inside of the sizes that they are scattered into."""
    for text in ("2*i + i%2", "(i*5)%16", "i ^ 3"):
        m = ml.index_map(ml.from_sympy({"i": 16}, text))
        parts = with_inner_axis(m.recipe, 4)
        for step in parts.steps:
            if isinstance(step, Scatter):
                for form, n in zip(step.forms, step.sizes, strict=True):
                    assert 0 <= form.interval.lo <= form.interval.hi < n
        array = np.arange(64).reshape(16, 4)
        expected = np.stack([ml.pack(m, array[:, k], fill=-1) for k in range(4)], axis=1)
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
