"""Random XLA layouts and shapes for the property tests."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

import morello_layouts as ml
from morello_layouts.notations.xla import ELEMENT_BITS

LARGEST_SPAN = 20_000
"""Elements that the buffer of a random layout spans at most: every offset can be looked at."""

LARGEST_ARRAY = 1_500

TILE_SIZES = st.one_of(st.integers(1, 5), st.just(8), st.just(ml.xla.COMBINE))


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, ...]:
    """Sizes of up to five dimensions; one in twenty arrays is empty."""
    dims: list[int] = []
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 2, 2, 3, 3, 4, 5]))):
        room = LARGEST_ARRAY // prod(dims)
        dims.append(draw(st.one_of(st.integers(1, min(room, 40)), st.integers(1, min(room, 9)))))
    if dims and draw(st.integers(0, 19)) == 19:
        dims[draw(st.integers(0, len(dims) - 1))] = 0
    return tuple(dims)


@st.composite
def tiles(draw: st.DrawFn) -> tuple[int, ...]:
    """A tile of up to four sizes; any but the last may be a star."""
    count = draw(st.integers(0, 3))
    majors = draw(st.lists(TILE_SIZES, min_size=count, max_size=count))
    return (*majors, draw(st.integers(1, 8)))


@st.composite
def arrays(draw: st.DrawFn) -> ml.XlaShape:
    """An array with random order of dimensions, up to three tiles, and a tail."""
    dims = draw(sizes())
    count = draw(st.integers(0, 3))
    layout = ml.XlaLayout(
        tuple(draw(st.permutations(range(len(dims))))),
        tiles=tuple(draw(st.lists(tiles(), min_size=count, max_size=count))),
        tail_padding_alignment_in_elements=draw(st.sampled_from([1, 1, 1, 7, 32, 100])),
    )
    return ml.XlaShape("f32", dims, layout)


def small_arrays() -> st.SearchStrategy[ml.XlaShape]:
    """Arrays whose tiles pad them to no more than LARGEST_SPAN elements."""

    def is_small(array: ml.XlaShape) -> bool:
        return bool(array.recipe().size <= LARGEST_SPAN)  # type: ignore[operator]

    return arrays().filter(is_small)


POSITIVE = st.one_of(st.integers(1, 300), st.just(2**63 - 1))
NATURAL = st.one_of(st.integers(0, 300), st.just(2**63 - 1))
TYPES = st.sampled_from([*ELEMENT_BITS, "token", "opaque"])
# Of the others XLA prints "invalid", and does not read it again.
INTEGERS = st.sampled_from([name for name in ELEMENT_BITS if name[0] in "su"])
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)


@st.composite
def layouts(draw: st.DrawFn, rank: int) -> ml.XlaLayout:
    """A layout with any of its attributes."""
    split = st.builds(
        ml.xla.SplitConfig, st.integers(0, max(rank - 1, 0)), st.lists(POSITIVE, max_size=3)
    )
    tile = st.builds(
        lambda majors, last: (*majors, last),
        st.lists(st.one_of(POSITIVE, st.just(ml.xla.COMBINE)), max_size=3),
        POSITIVE,
    )
    return ml.XlaLayout(
        tuple(draw(st.permutations(range(rank)))),
        tiles=tuple(draw(st.lists(tile, max_size=3))),
        tail_padding_alignment_in_elements=draw(st.one_of(st.just(1), POSITIVE)),
        index_primitive_type=draw(st.none() | INTEGERS),
        pointer_primitive_type=draw(st.none() | INTEGERS),
        element_size_in_bits=draw(NATURAL),
        memory_space=draw(NATURAL),
        split_configs=tuple(draw(st.lists(split, max_size=2 if rank else 0))),
        dynamic_shape_metadata_prefix_bytes=draw(NATURAL),
    )


@st.composite
def array_shapes(draw: st.DrawFn) -> ml.XlaShape:
    """An array, token or opaque value with sizes of every kind."""
    name = draw(TYPES)
    if name in ("token", "opaque"):
        return ml.XlaShape(name, ())
    dims = draw(st.lists(st.one_of(NATURAL, NAMES, st.none()), max_size=5))
    dynamic = [isinstance(n, int) and draw(st.booleans()) for n in dims]
    layout = draw(st.none() | layouts(len(dims)))
    return ml.XlaShape(name, tuple(dims), layout, tuple(dynamic))


def shapes() -> st.SearchStrategy[ml.XlaShape | ml.xla.XlaTuple | ml.xla.XlaBuffer]:
    """Arrays, buffers that hold them, and tuples of these."""
    return st.recursive(
        array_shapes() | st.builds(ml.xla.XlaBuffer, array_shapes()),
        lambda inner: st.builds(ml.xla.XlaTuple, st.lists(inner, max_size=4).map(tuple)),
        max_leaves=6,
    )
