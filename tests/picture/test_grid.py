"""The picture as values: which cells, offsets, padding and tiles."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.outputs.picture import fitted_view, terminal_lines, view_of
from morello_layouts.outputs.picture.view import visible_indices

BOOK_ROW_MAJOR = [list(range(8 * r, 8 * r + 8)) for r in range(6)]
BOOK_PACKED = [[4 * r + c % 4 + 24 * (c // 4) for c in range(8)] for r in range(6)]
FIGURE_1 = [[0, 1, 4, 5, 8], [2, 3, 6, 7, 10], [12, 13, 16, 17, 20]]
FIGURE_2 = [[16 * (r // 2) + 2 * c + r % 2 for c in range(8)] for r in range(4)]


def offsets(picture: ml.IndexMap | object, slice_: int = 0) -> list[list[int]]:
    grid = view_of(picture).grids[slice_]
    rows = [[cell.offset for cell in row if cell and not cell.is_padding] for row in grid.cells]
    return [row for row in rows if row]


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("f32[3,5]{1,0:T(2,2)}", None, FIGURE_1),
        ("bf16[4,8]{1,0:T(2,4)(2,1)}", None, FIGURE_2),
        ("[0, 1]", (6, 8), BOOK_ROW_MAJOR),
        ("[1, 0, 1 p(4)]", (6, 8), BOOK_PACKED),
        ("f32[2,3]{0,1}", None, [[0, 2, 4], [1, 3, 5]]),
        ("0 oe(8)", (8,), [[0, 4, 1, 5, 2, 6, 3, 7]]),
        ("f32[]", None, [[0]]),
    ],
)
def test_grids_of_the_documents(
    text: str, shape: tuple[int, ...] | None, expected: list[list[int]]
) -> None:
    assert offsets(ml.index_map(text, shape)) == expected


def test_figure_2_has_the_numbers_of_the_document() -> None:
    assert FIGURE_2[0] == [0, 2, 4, 6, 8, 10, 12, 14]
    assert FIGURE_2[3] == [17, 19, 21, 23, 25, 27, 29, 31]


def test_figure_1_shows_its_padding_and_tiles() -> None:
    (grid,) = view_of(ml.index_map("f32[3,5]{1,0:T(2,2)}")).grids
    assert (grid.rows, grid.columns) == ((0, 1, 2, 3), (0, 1, 2, 3, 4, 5))
    padding = {c.coordinate: c.offset for row in grid.cells for c in row if c and c.is_padding}
    assert padding[0, 5] == 9
    assert padding[3, 5] == 23
    assert len(padding) == 24 - 15
    assert [cell.tile for cell in grid.cells[2] if cell] == [
        (1, 0), (1, 0), (1, 1), (1, 1), (1, 2), (1, 2),
    ]  # fmt: skip


def test_figure_4_element_6_5() -> None:
    (grid,) = view_of(ml.index_map("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}")).grids
    cell = grid.cells[6][5]
    assert cell is not None
    assert (cell.coordinate, cell.offset, cell.tile) == ((6, 5), 51, (3, 1))


@pytest.mark.parametrize(
    ("text", "shape", "tiles"),
    [
        ("0 oe(8)", (8,), [()] * 8),
        ("[0, 0 oe(4)]", (8,), [(0,)] * 4 + [(1,)] * 4),
        ("[0, 0 p(2), 0 p(2)]", (8,), [(0,)] * 4 + [(1,)] * 4),
    ],
)
def test_only_contiguous_blocks_are_tiles(
    text: str, shape: tuple[int, ...], tiles: list[tuple[int, ...]]
) -> None:
    """Even indices before odd ones are a split too, but make no tiles."""
    assert [cell.tile for cell in view_of(ml.index_map(text, shape)).cells()] == tiles


def test_one_dimensional_tiles_are_the_outermost() -> None:
    picture = view_of(ml.index_map("bf16[1000]{0:T(512)(128)(2,1)}"), max_columns=40)
    tiles = {cell.coordinate[0]: cell.tile for cell in picture.cells()}
    assert tiles[511] == (0,)
    assert tiles[512] == (1,)


def test_joined_dimensions_have_staggered_tiles() -> None:
    (grid, *_) = view_of(ml.index_map("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}")).grids
    assert [cell.tile[1] for cell in grid.cells[0] if cell] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert [cell.tile[1] for cell in grid.cells[1] if cell] == [3, 3, 4, 4, 4, 5, 5, 5, 6, 6]


def test_an_empty_array_has_no_grid() -> None:
    picture = view_of(ml.index_map("f32[0,4]"))
    assert (picture.grids, picture.slices) == ((), 0)
    assert [line.plain for line in terminal_lines(picture, ("y", "x"))] == [
        "the array has no elements"
    ]


def test_slices_run_in_row_major_order() -> None:
    picture = view_of(ml.index_map("f32[2,3,2,2]"), max_slices=4)
    assert [grid.at for grid in picture.grids] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert picture.hidden_slices == 2


def test_huge_shapes_have_small_views() -> None:
    m = ml.index_map(f"u8[{2**62},{2**62},{2**62}]{{2,1,0:T(8,128)(4,1)}}")
    picture = fitted_view(m, ("z", "y", "x"), 100)
    assert picture.hidden_slices == 2**62 - 2
    assert all(cell.offset == m(*cell.coordinate) for cell in picture.cells())


LAYOUTS = st.sampled_from(["T(2,2)", "T(8,128)(2,1)", "T(4)", "T(2,4)(2,1,1,1)", "T(*,3)", ""])


@given(st.lists(st.integers(1, 20), min_size=2, max_size=3), LAYOUTS, st.booleans())
def test_every_cell_has_the_offset_of_the_index_map(
    shape: list[int], tiles: str, descending: bool
) -> None:
    order = sorted(range(len(shape)), reverse=descending)
    text = f"bf16[{','.join(map(str, shape))}]{{{','.join(map(str, order))}:{tiles}}}"
    m = ml.index_map(text.replace(":}", "}"))
    shown = list(view_of(m).cells())
    for cell in shown:
        if cell.is_padding:
            assert 0 <= cell.offset < m.size
            assert m.coordinates(cell.offset) is None
        else:
            assert m(*cell.coordinate) == cell.offset
    assert len({cell.offset for cell in shown}) == len(shown)
    assert prod(shape) >= sum(not cell.is_padding for cell in shown)


@given(
    st.integers(1, 10**6), st.integers(0, 300), st.one_of(st.none(), st.integers(1, 10**6)),
    st.integers(5, 40),
)  # fmt: skip
def test_visible_indices_fit_and_reach_both_ends(
    size: int, padding: int, tile: int | None, limit: int
) -> None:
    shown = visible_indices(size, size + padding, tile, limit)
    indices = [i for i in shown if i is not None]
    assert indices == sorted(set(indices))
    assert indices[0] == 0
    assert size - 1 in indices
    assert len(shown) <= max(limit, 9)
    for before, after in pairwise(indices):
        gap = shown[shown.index(before) + 1] is None
        assert gap == (after > before + 1)
    assert indices[-1] <= size + padding - 1
    if padding:
        assert size in indices


@pytest.mark.parametrize("tile", [199, 200, 201])
def test_the_end_of_the_array_is_not_a_border_between_tiles(tile: int) -> None:
    shown = visible_indices(200, 200, tile, 12)
    assert shown[-1] == 199
    assert (198 in shown) == (tile == 199)
