"""Random tags against NumPy, and proofs for all sizes."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import morello_layouts as ml
from morello_layouts.notations.blocks import ORDERS
from morello_layouts.notations.onednn import OnednnLayout


@st.composite
def layouts(draw: st.DrawFn) -> tuple[OnednnLayout, tuple[int, ...]]:
    rank = draw(st.integers(1, 4))
    order = draw(st.permutations(range(rank)))
    pairs = st.tuples(st.integers(0, rank - 1), st.integers(1, 4))
    blocks = draw(st.lists(pairs, max_size=4))
    names = draw(st.sampled_from(["abcd"[:rank], *(n for n in ORDERS if len(n) == rank)]))
    shape = draw(st.tuples(*[st.integers(1, 7)] * rank))
    return OnednnLayout(tuple(order), tuple(blocks), names), shape


def packed(layout: OnednnLayout, array: np.ndarray) -> np.ndarray:
    """The buffer by NumPy: pad, reshape into blocks, transpose; 0 in padding."""
    nested = [[n for dim, n in layout.blocks if dim == k] for k in range(array.ndim)]
    counts = [-(-n // prod(sizes)) for n, sizes in zip(array.shape, nested, strict=True)]
    rooms = zip(array.shape, nested, counts, strict=True)
    padded = np.pad(array, [(0, prod(sizes) * count - n) for n, sizes, count in rooms])
    axes = [(k, level) for k, sizes in enumerate(nested) for level in range(len(sizes) + 1)]
    split = padded.reshape([[counts[k], *nested[k]][level] for k, level in axes])
    levels = [0] * array.ndim
    order = [(k, 0) for k in layout.order]
    for dim, _ in layout.blocks:
        levels[dim] += 1
        order.append((dim, levels[dim]))
    return split.transpose([axes.index(axis) for axis in order]).reshape(-1)


@given(layouts())
@example((OnednnLayout((1, 0), ((1, 2), (0, 3), (1, 2))), (7, 5)))
def test_buffers_are_numpys(case: tuple[OnednnLayout, tuple[int, ...]]) -> None:
    layout, shape = case
    array = np.arange(1, prod(shape) + 1).reshape(shape)
    buffer = ml.pack(layout, array, fill=0)
    assert np.array_equal(buffer, packed(layout, array))
    assert np.array_equal(ml.unpack(layout, buffer, shape), array)


@given(layouts())
def test_text_is_read_back(case: tuple[OnednnLayout, tuple[int, ...]]) -> None:
    layout, _ = case
    assert ml.parse(str(layout)) == layout


@given(layouts())
def test_formulas_agree_and_bytes_are_those_of_the_padded_array(
    case: tuple[OnednnLayout, tuple[int, ...]],
) -> None:
    layout, shape = case
    m = ml.index_map(layout, shape)
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds
    assert m.size == prod(layout.padded_dims(shape))


@pytest.mark.parametrize(
    ("tag", "shape", "condition"),
    [
        ("nChw16c", ("N", "C", "H", "W"), "16 | C"),
        ("nhwc", ("N", "C", "H", "W"), "always"),
        ("OIhw4i16o4i", ("O", "I", 3, 3), "16 | I and 16 | O"),
        ("gOIhw8i8o", ("G", "O", "I", 1, 1), "8 | I and 8 | O"),
    ],
)
def test_proofs_for_all_sizes(tag: str, shape: tuple[str | int, ...], condition: str) -> None:
    assert ml.verify(tag, shape).holds
    assert ml.is_injective(tag, shape).holds
    answer = ml.is_bijective(tag, shape)
    assert answer.holds is (condition == "always")
    assert condition == "always" or str(answer.condition) == condition


def test_equal_to_other_notations() -> None:
    shape = ("N", "C", "H", "W")
    assert ml.are_equivalent("nhwc", "NHWC", shape).holds
    assert ml.are_equivalent("nchw", "[0, 1, 2, 3]", shape).holds
    assert ml.are_equivalent("AB8a128b", "f32[M,N]{1,0:T(8,128)}").holds
    assert ml.are_equivalent("AB8b16a", "f32[64,64]{0,1:T(8,16)}").counterexample == (0, 8)
