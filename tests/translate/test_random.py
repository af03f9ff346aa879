"""Random digits with gaps, in every notation: judged by the offsets of all elements."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr, variable
from morello_layouts.core.recipe.recognize import recipe_of_formula

Digit = tuple[int, int, int, int]
"""Dimension, unit, radix, stride."""


@st.composite
def placed(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Digit], int]:
    """A shape, digits that make up its coordinates, in nested strides with gaps, and an offset.

    The size of a dimension may end within its highest digit.
    """
    radixes = draw(st.lists(st.lists(st.integers(2, 4), max_size=3), min_size=1, max_size=3))
    digits = [(dim, prod(own[:k]), n) for dim, own in enumerate(radixes) for k, n in enumerate(own)]
    stride, found = 1, list[Digit]()
    for dim, unit, radix in draw(st.permutations(digits)):
        stride = stride * draw(st.sampled_from([1, 1, 1, 2])) + draw(st.sampled_from([0, 0, 0, 1]))
        found.append((dim, unit, radix, stride))
        stride *= radix
    cut = draw(st.booleans())
    shape = [
        max(1, prod(own) - (draw(st.integers(0, own[-1] - 1)) if cut and own else 0))
        for own in radixes
    ]
    return tuple(shape), found, draw(st.sampled_from([0, 0, 0, 5]))


def index_map_of(shape: tuple[int, ...], digits: list[Digit], offset: int) -> ml.IndexMap:
    def reference(x: Any, _: Any) -> Any:
        terms = (x[dim] // unit % radix * stride for dim, unit, radix, stride in digits)
        return sum(terms, AffineExpr((), offset))

    at = [variable(f"d{k}", 0, n - 1) for k, n in enumerate(shape)]
    return ml.IndexMap.of(recipe_of_formula(shape, reference(at, shape)), reference, "drawn")


def offsets_of(shape: tuple[int, ...], digits: list[Digit], offset: int) -> Any:
    x = np.indices(shape)
    terms = (x[dim] // unit % radix * stride for dim, unit, radix, stride in digits)
    return offset + sum(terms, np.zeros(shape, dtype=np.int64))


@given(placed())
def test_every_text_has_the_offsets(drawn: tuple[tuple[int, ...], list[Digit], int]) -> None:
    shape, digits, offset = drawn
    expected = offsets_of(*drawn)
    found = {each.to: each for each in ml.convert_all(index_map_of(*drawn))}
    for to, each in found.items():
        if each.layout is not None:
            text = "" if str(each.layout) == "{}" else str(each.layout)
            m = ml.index_map(ml.parse(text, to) if text else each.layout, shape)
            assert np.array_equal(m(*np.indices(shape)), expected), f"{to}: {text}"
    assert found["mlir"].exists
    assert found["tvm"].exists is (offset == 0)
    exact = all(
        n == prod(radix for dim, _, radix, _ in digits if dim == k) for k, n in enumerate(shape)
    )
    one_each = len({dim for dim, *_ in digits}) == len(digits)
    if one_each:
        assert found["strided"].exists
    if exact:
        assert found["cute"].exists is (offset == 0)
    nested = sorted(digits, key=lambda digit: digit[3])
    dense = all(a[2] * a[3] == b[3] for a, b in pairwise(nested))
    if exact and dense and offset == 0 and nested and nested[0][3] == 1:
        assert found["einops"].exists
        assert found["xla"].exists
