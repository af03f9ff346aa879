"""Laws over random XLA layouts: every reading of a layout gives the same offsets."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import morello_layouts as ml
from morello_layouts.core.recipe import linear_index
from tests.support.xla_strategies import arrays, layouts, shapes, small_arrays


def decided(proof: Any) -> Any:
    """A proof that ISL came to within its budget; Hypothesis complains if it seldom does."""
    assume(proof.holds is not None)
    return proof


def offsets_of(m: ml.IndexMap) -> list[int]:
    """The offset of every element, in row-major order of the array, by the formula."""
    return [int(x) for x in np.ravel(m(*np.indices(m.shape)))] if prod(m.shape) else []


@pytest.mark.slow
@given(small_arrays())
def test_formula_array_and_physical_coordinates_agree(x: ml.XlaShape) -> None:
    m = ml.index_map(x)
    elements = np.arange(prod(m.shape)).reshape(m.shape)
    packed = ml.pack(m, elements, fill=-1)
    offsets = offsets_of(m)
    assert packed.shape == (m.size,)
    assert [packed[p] for p in offsets] == elements.ravel().tolist()
    for at, offset in zip(np.ndindex(m.shape), offsets, strict=True):
        physical = m.physical_coordinates(*at)
        assert all(0 <= c < n for c, n in zip(physical, m.physical_shape, strict=True))
        assert linear_index(physical, m.physical_shape, 0) == offset == m(*at)


@pytest.mark.slow
@given(small_arrays())
def test_isl_proves_both_formulas_of_the_recipe(x: ml.XlaShape) -> None:
    assert decided(ml.verify(x)).holds is True


@given(small_arrays())
def test_proofs_say_what_looking_at_every_offset_says(x: ml.XlaShape) -> None:
    m = ml.index_map(x)
    offsets = offsets_of(m)
    gaps = sorted(set(range(m.size)) - set(offsets))
    assert len(set(offsets)) == len(offsets)
    assert decided(ml.is_injective(m)).holds is True
    proof = decided(ml.is_bijective(m))
    assert proof.holds is (not gaps)
    assert proof.padding == len(gaps) == m.padding
    assert proof.counterexample == (gaps[0] if gaps else None)
    assert decided(ml.is_surjective(m)).holds is (not gaps)


@given(small_arrays(), st.randoms(use_true_random=False))
def test_coordinates_invert_the_formula(x: ml.XlaShape, random: object) -> None:
    m = ml.index_map(x)
    found = {m(*at): at for at in np.ndindex(m.shape)}
    offsets = range(m.size) if m.size < 200 else random.sample(range(m.size), 200)
    for offset in offsets:
        assert m.coordinates(offset) == found.get(offset)


@given(small_arrays())
def test_pack_and_unpack_are_inverse(x: ml.XlaShape) -> None:
    m = ml.index_map(x)
    array = np.arange(prod(m.shape)).reshape(m.shape)
    np.testing.assert_array_equal(ml.unpack(m, ml.pack(m, array, fill=-1)), array)
    # And the other way round, padding apart.
    buffer = np.arange(m.size)
    packed = ml.pack(m, ml.unpack(m, buffer), fill=-1)
    assert all(a in (b, -1) for a, b in zip(packed, buffer, strict=True))
    assert (packed == -1).sum() == m.padding


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
