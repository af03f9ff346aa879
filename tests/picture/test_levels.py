"""Tile levels: which cells are in one tile after each tiling."""

from __future__ import annotations

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import Recipe, pack_array
from morello_layouts.outputs.picture import view_of
from morello_layouts.outputs.picture.page import stages_of
from morello_layouts.outputs.picture.view import levels_of
from tests.support.tables import each_row


@each_row(
    ("text", "shape", "sizes"),
    [
        ("f32[3,5]{1,0:T(2,2)}", None, ["2x2"]),
        ("bf16[4,8]{1,0:T(2,4)(2,1)}", None, ["2x4", "2x1"]),
        ("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", None, ["2x4", "2x1x1x1"]),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", None, ["1024", "256", "2"]),
        ("f32[6,8]{1,0:T(4)}", None, ["4"]),
        ("f32[2,2,5]{2,1,0:T(2,*,3)}", None, ["2x3"]),
        ("f32[6,8]", None, []),
        ("[0, 1]", (6, 8), []),
        ("[1, 0, 1 p(4)]", (6, 8), ["6x4"]),
        ("[0, 1, 0 p(2), 1 p(4)]", (6, 8), ["2x4"]),
        ("[0, 0 p(2), 0 p(2)]", (8,), ["4", "2"]),
        ("[0, 1, 0 p(4), 1 p(8), 0 p(2)]", (16, 16), ["8x8", "2x8", "2x1"]),
        ("0 oe(8)", (8,), []),
        ("[0, 0 oe(4)]", (8,), ["4", "2"]),
    ],
)
def test_levels(text: str, shape: tuple[int, ...] | None, sizes: list[str]) -> None:
    assert [str(level) for level in levels_of(ml.index_map(text, shape).recipe)] == sizes


@pytest.mark.parametrize(
    ("text", "tile"),
    [
        ("f32[6,8]{1,0:T(2,4)}", lambda r, c: ((r // 2, c // 4),)),
        ("bf16[4,8]{1,0:T(2,4)(2,1)}", lambda r, c: ((r // 2, c // 4), (r // 2, c // 4, 0, c % 4))),
        (
            "bf16[8,8]{1,0:T(2,4)(2,1,1,1)}",
            lambda r, c: ((r // 2, c // 4), (r // 4, c // 4, r % 2, c % 4)),
        ),
        ("f32[6,8]{1,0:T(4)}", lambda r, c: ((r, c // 4),)),
        ("f32[6,8]{0,1:T(4,2)}", lambda r, c: ((c // 4, r // 2),)),
    ],
)
def test_tile_numbers_by_hand(text: str, tile: object) -> None:
    for cell in view_of(ml.index_map(text), max_rows=32, max_columns=32).cells():
        assert cell.tiles == tile(*cell.coordinate)


@pytest.mark.parametrize("tiles", ["T(2,4)", "T(3,2)", "T(8,128)", "T(4)"])
def test_one_tiling_makes_pieces_of_memory(tiles: str) -> None:
    """After a single tiling the slots of a tile lie side by side."""
    m = ml.index_map(f"f32[7,9]{{1,0:{tiles}}}")
    by_tile: dict[tuple[int, ...], list[int]] = {}
    for cell in view_of(m, max_rows=300, max_columns=300, in_tiles=True).cells():
        by_tile.setdefault(cell.tile, []).append(cell.offset)
    for offsets in by_tile.values():
        assert sorted(offsets) == list(range(min(offsets), min(offsets) + len(offsets)))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[3,5]{1,0:T(2,2)}", None),
        ("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", None),
        ("f32[2,2,5]{2,1,0:T(2,*,3)}", None),
        ("[0, 0 oe(8)]", (16,)),
        ("[1, 0, 1 p(4)]", (6, 8)),
    ],
)
def test_stages_equal_numpy(text: str, shape: tuple[int, ...] | None) -> None:
    """The position of each element after k steps is its place after NumPy has done k of them."""
    m = ml.index_map(text, shape)
    array = np.arange(np.prod(m.shape)).reshape(m.shape)
    packed = pack_array(m.recipe, array, -1).tolist()
    offsets = [p for p, value in enumerate(packed) if value >= 0]
    stages = stages_of(m.recipe, offsets)
    assert len(stages) == len(m.recipe.steps) + 1
    for k, stage in enumerate(stages):
        partly = pack_array(Recipe(m.recipe.shape, m.recipe.steps[:k]), array, -1)
        assert stage.shape == m.recipe.shapes[k]
        for offset, number, at in zip(offsets, stage.numbers, stage.coordinates, strict=True):
            assert number is not None
            assert at is not None
            assert partly[number] == packed[offset]
            assert partly.reshape(stage.shape)[at] == packed[offset]


def test_padding_appears_at_its_step() -> None:
    (first, padded, *_) = stages_of(ml.index_map("f32[3,5]{1,0:T(2,2)}").recipe, [9, 17])
    assert first.numbers == (None, 13)
    assert padded.numbers == (5, 15)
    assert padded.words == "9 places without elements complete the tiles"
