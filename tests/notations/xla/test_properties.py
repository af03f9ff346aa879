"""Laws over random XLA layouts: every reading of a layout gives the same offsets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from tests.support.xla_strategies import arrays, layouts, shapes, small_arrays


@given(small_arrays())
def test_xla_reserves_no_more_than_the_tiles_span(x: ml.XlaShape) -> None:
    spanned = 4 * ml.index_map(x).size
    assert x.byte_size <= spanned
    assert any("the tiles span" in w for w in x.warnings) == (x.byte_size < spanned)


@given(arrays())
def test_the_size_of_one_tile_is_that_of_the_recipe(x: ml.XlaShape) -> None:
    assert x.layout is not None
    one = ml.XlaLayout(
        x.layout.minor_to_major, x.layout.tiles[:1], x.layout.tail_padding_alignment_in_elements
    )
    tiled = ml.XlaShape("bf16", x.dims, one)
    assert tiled.byte_size == 2 * tiled.recipe().size


@pytest.mark.slow
@given(shapes())
def test_parse_inverts_print(x: ml.XlaShape | ml.xla.XlaTuple | ml.xla.XlaBuffer) -> None:
    assert ml.parse(str(x)) == x
    assert hash(ml.parse(str(x))) == hash(x)
    assert str(ml.parse(str(x))) == str(x)


@given(st.integers(0, 5).flatmap(layouts))
def test_parse_inverts_print_of_layouts(layout: ml.XlaLayout) -> None:
    text = str(layout)
    if text != "{}":  # which is not a layout in XLA's grammar
        assert ml.parse(text) == layout
