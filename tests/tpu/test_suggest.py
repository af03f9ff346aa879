"""Suggestions: sorted, true, and the ones that the compiler's reports call for."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts import tpu
from morello_layouts.machines.tpu_layouts.suggest import Suggestion

SIZES = st.one_of(st.integers(1, 12), st.integers(1, 300), st.sampled_from([64, 128, 1024]))
SHAPES = st.lists(SIZES, max_size=4).map(tuple)
TYPES = st.sampled_from(tpu.TYPES)
GENERATIONS = st.sampled_from(tpu.GENERATIONS)


def test_the_padded_third_report_fits_without_padding() -> None:
    """s32[8388608,8,4]{2,1,0:T(8,128)} takes 32 times its data."""
    best = {s.changes: s for s in reversed(tpu.suggest("s32", (8388608, 8, 4), "v5e"))}
    assert str(best[()].shape) == "s32[8388608,8,4]{0,2,1:T(4,128)}"
    assert str(best["order",].shape) == "s32[8388608,8,4]{0,1,2:T(8,128)}"
    assert str(best["fold",].shape) == "s32[8388608,32]{0,1:T(8,128)}"
    for changes in ((), ("order",), ("fold",)):
        assert best[changes].factor == 1.0
        assert best[changes].byte_size == 1 << 30


@pytest.mark.parametrize(
    ("arguments", "place", "hint"),
    [
        (
            ("f32", (8, 128), "v5e"),
            0,
            "keep the shape: the compiler chooses this layout for a parameter or result",
        ),
        (
            ("u32", (12582912, 1), "v5e"),
            0,
            (
                "keep the shape: the compiler chooses this layout for a parameter or result; "
                "for a value inside, write jnp.transpose(a, (1, 0)), whose row-major layout this is"
            ),
        ),
        (
            ("u32", (12582912, 1), "v5e"),
            1,
            "write jnp.reshape(a, (12582912,)): d0 and d1 become one dimension of 12,582,912",
        ),
        (
            ("u32", (12582912, 1), "v5e"),
            2,
            (
                "keep the shape; for a parameter or result the compiler takes the row-major "
                "order only if told to: Layout(major_to_minor=(0, 1)) of "
                "jax.experimental.layout"
            ),
        ),
        (
            ("s32", (8388608, 8, 4), "v5e"),
            1,
            "write jnp.transpose(a, (2, 1, 0)), whose row-major layout this is",
        ),
        (
            ("bf16", (256, 9, 1024), "v5e"),
            0,
            (
                "keep the shape: the compiler chooses this layout for a parameter or result; "
                "for a value inside, write jnp.transpose(a, (1, 0, 2)), whose row-major layout "
                "this is"
            ),
        ),
        (
            ("f32", (9, 1024), "v5e"),
            1,
            (
                "keep the shape; the compiler takes this tile only if told to, and some programs "
                "then do not compile: "
                "Layout(major_to_minor=(0, 1), tiling=((1, 128),)) of jax.experimental.layout"
            ),
        ),
    ],
)
def test_hints(arguments: tuple[str, tuple[int, ...], str], place: int, hint: str) -> None:
    assert tpu.suggest(*arguments)[place].hint == hint


def test_the_hint_of_everything_at_once() -> None:
    x = ml.parse("f32[24,24]{0,1:T(8,128)}")
    assert isinstance(x, ml.XlaShape)
    groups = ((0, 1, 2), (3, 4))
    assert Suggestion(x, tpu.waste(x), groups, ("fold", "order")).hint == (
        "write jnp.transpose(jnp.reshape(a, (24, 24)), (1, 0)), whose row-major layout this is: "
        "d0, d1 and d2 become one dimension of 24; d3 and d4 become one dimension of 24"
    )
    assert Suggestion(x, tpu.waste(x), groups, ("fold", "order", "tile")).hint == (
        "write jnp.reshape(a, (24, 24)): d0, d1 and d2 become one dimension of 24; d3 and "
        "d4 become one dimension of 24; the compiler takes this tile only if told to, and some "
        "programs then do not compile: "
        "Layout(major_to_minor=(1, 0), tiling=((8, 128),)) of jax.experimental.layout"
    )


@given(TYPES, SHAPES, GENERATIONS)
def test_suggestions_are_sorted_and_true(
    element_type: str, shape: tuple[int, ...], generation: str
) -> None:
    found = tpu.suggest(element_type, shape, generation, limit=None)
    sizes = [each.byte_size for each in found]
    assert sizes == sorted(sizes)
    default = tpu.default_layout(element_type, shape, generation)
    assert [each.shape for each in found if not each.changes] == [default]
    for each in found:
        assert each.factor >= 1
        assert each.byte_size == each.shape.byte_size  # ranked by other arithmetic than XLA's
        assert each.waste == tpu.waste(each.shape)
        assert not each.shape.warnings  # every tile holds whole 32-bit words
        assert prod(each.shape.shape) == prod(shape)
        assert [dim for group in each.groups for dim in group] == list(range(len(shape)))
        folded = tuple(prod(shape[dim] for dim in group) for group in each.groups)
        assert each.shape.dims == folded
        assert ("fold" in each.changes) == (folded != shape)
        unasked = tpu.default_layout(element_type, folded, generation).layout
        assert unasked is not None
        assert each.shape.layout is not None
        same_order = unasked.minor_to_major == each.shape.layout.minor_to_major
        assert ("order" in each.changes) == (not same_order)
        if not {"order", "tile"} & set(each.changes):
            assert each.shape.layout == unasked
    assert len({each.shape for each in found}) == len(found)


@given(TYPES, SHAPES, GENERATIONS, st.integers(1, 5))
def test_a_limit_cuts_the_list(
    element_type: str, shape: tuple[int, ...], generation: str, limit: int
) -> None:
    every = tpu.suggest(element_type, shape, generation, limit=None)
    assert tpu.suggest(element_type, shape, generation, limit=limit) == every[:limit]


@given(st.lists(st.integers(1, 6), min_size=2, max_size=4).map(tuple))
def test_the_code_in_a_hint_makes_the_layout(shape: tuple[int, ...]) -> None:
    """What the hint writes, run in NumPy, has the suggested buffer as its row-major one."""
    x = np.arange(prod(shape)).reshape(shape)
    for each in tpu.suggest("f32", shape, "v5e", limit=None):
        folded = x.reshape(each.shape.shape)
        layout = each.shape.layout
        assert layout is not None
        if "fold" in each.changes:
            assert f"jnp.reshape(a, {folded.shape})" in each.hint
        if "jnp.transpose" not in each.hint:
            continue
        order = layout.major_to_minor
        assert f", {order})" in each.hint
        turned = ml.XlaLayout.descending(len(order)).minor_to_major
        row_major = ml.XlaShape(
            "f32", folded.transpose(order).shape, ml.XlaLayout(turned, layout.tiles)
        )
        np.testing.assert_array_equal(
            ml.pack(row_major, folded.transpose(order)), ml.pack(each.shape, folded)
        )


def test_of_tiles_that_pad_as_little_the_largest_is_suggested() -> None:
    (tile,) = [each for each in tpu.suggest("f32", (6, 1024), "v5e") if each.changes == ("tile",)]
    assert str(tile.shape) == "f32[6,1024]{1,0:T(2,128)}"


def test_dimensions_of_1_fold_once_the_most_minor_ones() -> None:
    every = tpu.suggest("f32", (1, 1, 1), "v5e", limit=None)
    assert {each.groups for each in every} == {
        ((0,), (1,), (2,)), ((0,), (1, 2)), ((0, 1, 2),),
    }  # fmt: skip


def test_no_dimension_is_folded_past_64_bits() -> None:
    every = tpu.suggest("f32", (2**40, 2**40, 2), "v5e", limit=None)
    assert {each.shape.dims for each in every} == {(2**40, 2**40, 2), (2**40, 2**41)}


@pytest.mark.slow
def test_eight_dimensions_are_quickly_searched() -> None:
    every = tpu.suggest("f32", (2, 3, 4, 5, 6, 7, 8, 9), "v5e", limit=None)
    assert len({each.groups for each in every}) == 128


def test_empty_arrays_and_scalars() -> None:
    (only,) = tpu.suggest("f32", (), "v5e")
    assert (str(only.shape), only.changes) == ("f32[]{:T(128)}", ())
    assert {each.byte_size for each in tpu.suggest("f32", (0, 5), "v5e")} == {0}
