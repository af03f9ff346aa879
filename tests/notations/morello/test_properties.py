"""Laws of Morello layouts, on random layouts at shapes that they fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import morello_layouts as ml
from morello_layouts.notations.morello.text import parse_morello

FIXED = st.one_of(
    st.sampled_from([2, 3, 4, 5]).map(ml.morello.Packed),
    st.sampled_from([2, 4, 6]).map(ml.morello.OddEven),
)


@st.composite
def logical_dims(draw: st.DrawFn) -> Any:
    """The physical dimensions of one logical dimension, outermost first, and a size they fit."""
    physes = draw(st.lists(FIXED, max_size=3))
    size = prod(phys.size for phys in physes)
    clipped = bool(physes) and draw(st.booleans())
    if clipped:  # the outermost takes less than its size
        outermost = physes[0]
        most = outermost.size if isinstance(outermost, ml.morello.Packed) else 1
        size = size // outermost.size * draw(st.integers(1, most))
    if draw(st.booleans()):
        physes = [ml.morello.Dynamic(), *physes]
        size *= 1 if clipped else draw(st.integers(1, 4))
    return physes, size


@st.composite
def layouts(draw: st.DrawFn, largest: Any = 400) -> Any:
    """A layout, all of it contiguous, and a shape that it fits."""
    columns = draw(st.lists(logical_dims(), min_size=1, max_size=3))
    shape = tuple(size for _, size in columns)
    assume(prod(shape) <= largest)
    order = draw(st.permutations([d for d, (physes, _) in enumerate(columns) for _ in physes]))
    next_of = [iter(physes) for physes, _ in columns]
    return ml.MorelloLayout([(dim, next(next_of[dim])) for dim in order]), shape


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


@given(layouts())
def test_formula_and_array_and_physical_coordinates_agree(case: Any) -> None:
    layout, shape = case
    m = ml.index_map(layout, shape)
    at = np.indices(shape)
    by_formula = m(*at)
    assert ml.pack(layout, np.arange(m.size).reshape(shape))[by_formula].tolist() == (
        np.arange(m.size).reshape(shape).tolist()
    )
    by_axes = np.ravel_multi_index(m.physical_coordinates(*at), m.physical_shape)
    assert by_axes.tolist() == by_formula.tolist()
    assert prod(layout.physical_shape(shape)) == m.size == prod(shape)


@given(layouts())
def test_nothing_aliases_and_isl_agrees_with_the_formulas(case: Any) -> None:
    m = ml.index_map(*case)
    assert ml.is_bijective(m).holds is True
    assert ml.verify(m).holds is True


@given(layouts())
def test_unpack_undoes_pack(case: Any) -> None:
    layout, shape = case
    array = np.arange(prod(shape), dtype=np.int16).reshape(shape)
    assert np.array_equal(ml.unpack(layout, ml.pack(layout, array), shape), array)


@given(layouts(), st.randoms())
def test_coordinates_undo_offsets(case: Any, random: Any) -> None:
    m = ml.index_map(*case)
    coordinate = tuple(random.randrange(n) for n in m.shape)
    assert m.coordinates(m(*coordinate)) == coordinate


@given(partly_contiguous())
def test_parsing_undoes_printing(case: Any) -> None:
    layout, _ = case
    assert ml.parse(str(layout)) == layout


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


@pytest.mark.parametrize("part", ["[", "([0", "0 p(4),", "0,", "N", "9", "[0, 1]", "oe(2)", " "])
def test_ten_kilobytes_of_rubbish_are_refused(part: str) -> None:
    text = (part * 10_000)[:10_000]
    with pytest.raises(ml.LayoutError):
        parse_morello(text)
