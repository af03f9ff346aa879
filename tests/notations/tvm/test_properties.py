"""TVM's layouts beside other notations, and random ones against NumPy."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import morello_layouts as ml
from tests.support.tables import each_row

SAME = [
    ("NCHW16c", "nChw16c", "NCHW"),
    ("NHWC", "nhwc", "NCHW"),
    ("OIHW4i16o4i", "OIhw4i16o4i", "OIHW"),
    ("HWIO", "hwio", "OIHW"),
    ("OI8i16o", "OI8i16o", "OI"),
    ("BA16a64b4a", "BA16a64b4a", "AB"),
    ("NCHW", "[0, 1, 2, 3]", "NCHW"),
    ("lambda i, j: (i//8, j//128, i%8, j%128)", "{1,0:T(8,128)}", "MN"),
    ("lambda i, j: (j, i)", "column-major", "MN"),
    ("lambda m, k: (m//128, k//4, m%32, m//32%4, k%4)", "mx128x4", "MK"),
]


@each_row(("text", "other", "shape"), SAME, ids=[row[0] for row in SAME])
def test_the_same_layout_in_other_notations(text: str, other: str, shape: str) -> None:
    answer = ml.are_equivalent(ml.parse(text, "tvm"), other, tuple(shape.upper()))
    assert answer.holds, answer


@st.composite
def layouts(draw: st.DrawFn) -> tuple[str, list[tuple[str, int]], tuple[int, ...]]:
    """A text, its axes (dimension, size; 0 for the rest), and a shape."""
    rank = draw(st.integers(1, 3))
    dims = "ABC"[:rank]
    factors = draw(
        st.lists(st.tuples(st.sampled_from(dims), st.integers(1, 4)), min_size=1, max_size=3)
    )
    axes = draw(st.permutations([*((dim, 0) for dim in dims), *factors]))
    text = "".join(dim if not n else f"{n}{dim.lower()}" for dim, n in axes)
    return text, axes, draw(st.tuples(*[st.integers(1, 6)] * rank))


@given(layouts())
def test_random_layouts(given: tuple[str, list[tuple[str, int]], tuple[int, ...]]) -> None:
    text, axes, shape = given
    array = np.arange(1, prod(shape) + 1).reshape(shape)
    nested = ["ABC"[k : k + 1] for k in range(len(shape))]
    sizes = {dim: [n for d, n in axes if d == dim and n] for dim in nested}
    counts = {d: -(-n // prod(sizes[d])) for d, n in zip(nested, shape, strict=True)}
    padded = np.pad(
        array, [(0, counts[d] * prod(sizes[d]) - n) for d, n in zip(nested, shape, strict=True)]
    )
    levels = [(d, k) for d in nested for k in range(len(sizes[d]) + 1)]
    split = padded.reshape([[counts[d], *sizes[d]][k] for d, k in levels])
    seen = dict.fromkeys(nested, 0)
    order = []
    for d, n in axes:
        seen[d] += bool(n)
        order.append((d, seen[d] if n else 0))
    expected = split.transpose([levels.index(axis) for axis in order]).reshape(-1)
    assert np.array_equal(ml.pack(ml.parse(text, "tvm"), array, fill=0), expected)


@st.composite
def maps(draw: st.DrawFn) -> tuple[str, tuple[int, ...]]:
    """An index map of digits and sums of them, most not injective, and a shape."""

    def digit() -> str:
        text = draw(st.sampled_from(["i", "j", "(3*i + j)", "(i + 2*j)"]))
        text += draw(st.sampled_from(["", "", "//2", "//3"]))
        return text + draw(st.sampled_from(["", "", "%2", "%3"]))

    def result() -> str:
        parts = [digit() for _ in range(draw(st.integers(1, 2)))]
        return " + ".join(f"{draw(st.integers(1, 4))}*({part})" for part in parts)

    results = [result() for _ in range(draw(st.integers(1, 3)))]
    return f"lambda i, j: ({', '.join(results)},)", draw(st.tuples(*[st.integers(1, 5)] * 2))


@settings(max_examples=50)
@given(maps())
def test_random_maps(given: tuple[str, tuple[int, ...]]) -> None:
    text, shape = given
    layout = ml.parse(text)
    assert ml.parse(str(layout)) == layout
    by_python = eval(text)  # made above
    m = ml.index_map(layout, shape)
    places = [by_python(*at) for at in np.ndindex(*shape)]
    box = layout.box(shape)
    expected = [int(np.ravel_multi_index(place, box)) for place in places]
    assert [m(*at) for at in np.ndindex(*shape)] == expected
    assert m.size == prod(box)
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds == (len({*expected}) == len(expected))
    assert ml.is_surjective(m).holds == (len({*expected}) == m.size)


def test_symbolic_sizes() -> None:
    m = ml.index_map("NCHW16c", ("N", "C", "H", "W"))
    assert ml.verify(m).holds
    assert str(ml.is_surjective(m).condition) == "16 | C"
    assert ml.index_map("NCHW16c", tuple("NCHW"), assuming="C % 16 == 0").padding == 0


def test_what_is_not_injective_is_said() -> None:
    assert ml.is_injective("lambda i, j: (i + j,)", (3, 4)).counterexample == ((0, 1), (1, 0))
    assert ml.is_surjective("lambda i: (2*i,)", (4,)).counterexample == 1
    with pytest.raises(ml.ShapeError, match="may be -3"):
        ml.index_map("lambda i: (-i,)", (4,))


def test_words() -> None:
    found = ml.explain("NCHW16c", (2, 20, 3, 4)).arrays[0].description
    assert [part.text for part in found.parts] == ["N", "C", "H", "W", "16c"]
    assert found.parts[1].meaning == "2 blocks of 16 along c; padded from 20 to 32"
    assert "c channels" in found.headline
    found = (
        ml.explain("lambda i, j: ((i*32 + j)//64, (i*32 + j)%64)", (6, 32)).arrays[0].description
    )
    assert [part.text for part in found.parts] == ["i", "j"]  # the box has other axes
