"""Laws of Morello layouts, on random layouts at shapes that they fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.notations.morello.text import parse_morello
from tests.support.notations import morello


def layouts(largest: int = 400) -> st.SearchStrategy[Any]:
    """A layout, all of it contiguous, and a shape that it fits."""
    return morello(largest).map(lambda case: case[:2])


@st.composite
def partly_contiguous(draw: st.DrawFn) -> Any:
    """A layout of which some innermost dimensions are contiguous, and a shape that it fits."""
    layout, shape = draw(layouts(largest=200))
    contig = draw(st.integers(0, len(layout.phys_dims)))
    return ml.MorelloLayout(layout.phys_dims, contig), shape


def tile_shapes(layout: Any, shape: Any) -> Any:
    """Shapes of tiles that a layout fits: along each dimension any size that it takes."""
    sizes = []
    for dim, n in enumerate(shape):
        tiles = ((*shape[:dim], t, *shape[dim + 1 :]) for t in range(1, n + 1))
        sizes.append([tile[dim] for tile in tiles if layout.applies_to(tile)])
    return st.tuples(*(st.sampled_from(s) for s in sizes))


def offsets(layout: Any, shape: Any) -> Any:
    return ml.index_map(layout, shape)(*np.indices(shape))


def offsets_with_gaps(layout: Any, shape: Any) -> Any:
    """Offsets in a larger array, where only the innermost ``contig`` dimensions lie together."""
    sizes = layout.physical_shape(shape)
    run = prod(sizes[len(sizes) - layout.contig :])
    inside = offsets(layout, shape)
    return inside + 3 * (inside // run)


def tiles_of(array: Any, tile: Any) -> Iterator[Any]:
    """All tiles of an array that start at multiples of their size."""
    starts = (range(0, n - t + 1, t) for n, t in zip(array.shape, tile, strict=True))
    for start in product(*starts):
        yield array[tuple(slice(s, s + t) for s, t in zip(start, tile, strict=True))]


def in_runs(layout: Any, offsets: Any) -> Any:
    """Whether offsets, at each coordinate, are runs over the layout's contiguous dimensions."""
    m = ml.index_map(layout, offsets.shape)
    buffer = np.empty(m.size, dtype=np.int64)
    buffer[m(*np.indices(offsets.shape))] = offsets
    sizes = layout.physical_shape(offsets.shape)
    runs = buffer.reshape(-1, prod(sizes[len(sizes) - layout.contig :]))
    return bool((np.diff(runs, axis=1) == 1).all())


@given(partly_contiguous())
def test_canonical_forms_keep_offsets_and_runs(case: Any) -> None:
    layout, shape = case
    canonical = layout.canonicalize(shape)
    assert np.array_equal(offsets(canonical, shape), offsets(layout, shape))
    assert in_runs(canonical, offsets_with_gaps(layout, shape))
    assert len(canonical.phys_dims) <= len(layout.phys_dims)
    assert canonical.canonicalize(shape) == canonical


@given(st.data())
def test_tiles_are_contiguous_as_claimed_wherever_they_start(data: st.DataObject) -> None:
    layout, shape = data.draw(partly_contiguous())
    tile = data.draw(tile_shapes(layout, shape))
    tiled = layout.for_tile(shape, tile)
    blocks = list(tiles_of(offsets_with_gaps(layout, shape), tile))
    assert all(in_runs(tiled, block) for block in blocks)
    # And tiles of a tile, with what is claimed of the tile alone.
    inner = data.draw(tile_shapes(tiled, tile))
    inner_tiled = tiled.for_tile(tile, inner)
    for block in blocks:
        assert all(in_runs(inner_tiled, small) for small in tiles_of(block, inner))


@given(st.data())
def test_tiles_are_claimed_contiguous_wherever_morellos_claim_is_sound(data: st.DataObject) -> None:
    layout, shape = data.draw(partly_contiguous())
    tile = data.draw(tile_shapes(layout, shape))
    ours, theirs = layout.for_tile(shape, tile), as_morello_tiles(layout, shape, tile)
    if ours != theirs:
        blocks = tiles_of(offsets_with_gaps(layout, shape), tile)
        assert not all(in_runs(theirs, block) for block in blocks)


def as_morello_tiles(layout: Any, shape: Any, tile: Any) -> Any:
    """Morello's rule: contiguous up to the first physical dimension that the tile cuts."""
    pairs = zip(layout.physical_shape(shape), layout.physical_shape(tile), strict=True)
    cut = [whole != part for whole, part in pairs][::-1]
    contig = min(layout.contig, cut.index(True) + 1 if True in cut else len(cut))
    return ml.MorelloLayout(layout.phys_dims, contig).canonicalize(tile)


@given(st.data())
def test_dropping_dimensions_keeps_the_order_of_what_remains(data: st.DataObject) -> None:
    layout, shape = data.draw(layouts())
    dropped = data.draw(st.sets(st.sampled_from(range(len(shape)))))
    rest = tuple(n for dim, n in enumerate(shape) if dim not in dropped)
    slices = tuple(0 if dim in dropped else slice(None) for dim in range(len(shape)))
    remaining = np.asarray(offsets(layout, shape)[slices])
    ranks = np.argsort(np.argsort(remaining.ravel())).reshape(rest)
    assert np.array_equal(ranks, offsets(layout.drop_dims(dropped), rest))


@given(st.data())
def test_swapping_dimensions_swaps_coordinates(data: st.DataObject) -> None:
    layout, shape = data.draw(layouts())
    a, b = (data.draw(st.sampled_from(range(len(shape)))) for _ in range(2))
    swapped = layout.swap_dims(a, b)
    there = offsets(layout, shape).swapaxes(a, b)
    assert np.array_equal(offsets(swapped, there.shape), there)
    assert swapped.swap_dims(a, b) == layout


@given(st.text(alphabet="[](),0123 poecNHWCx\n", max_size=40))
def test_rubbish_is_a_layout_error_or_a_layout(text: str) -> None:
    try:
        layout = parse_morello(text)
    except ml.LayoutError:
        return  # any other exception fails the test
    assert ml.parse(str(layout)) == layout


def test_integers_of_numpy_become_pythons() -> None:
    layout = ml.MorelloLayout([[np.int64(1), ml.morello.Packed(np.int8(4))]], np.int64(1))
    assert repr(layout.phys_dims) == "((1, Packed(size=4)),)"
    assert repr(layout.contig) == "1"
    assert repr(layout.physical_shape(np.array([1, 3]))) == "(3,)"
    assert hash(layout) == hash(ml.MorelloLayout([(1, ml.morello.Packed(4))]))
