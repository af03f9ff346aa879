"""linalg.pack as IREE ran it, and as MLIR prints it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.recipe import known
from morello_layouts.notations.mlir import MlirPack
from tests.support.paths import DATA
from tests.support.tables import each_row

ROWS = [json.loads(line) for line in (DATA / "linalg_pack.jsonl").read_text("utf-8").splitlines()]
ATTRIBUTES = ("outer_dims_perm", "inner_dims_pos", "inner_tiles")


def text_of(row: dict[str, Any]) -> str:
    return " ".join(f"{name} = {row[name]}" for name in ATTRIBUTES)


def pack_of(text: str) -> MlirPack:
    found = ml.parse(text)
    assert isinstance(found, MlirPack)
    return found


def test_the_table_is_complete() -> None:
    assert len(ROWS) == 16


@each_row("row", ROWS, ids=lambda row: f"{row['shape']} {text_of(row)}")
def test_every_row(row: dict[str, Any]) -> None:
    pack, shape = pack_of(text_of(row)), tuple(row["shape"])
    assert str(pack) == text_of(row)
    assert pack.packed_shape(shape) == tuple(row["packed_shape"])
    numbers = np.arange(np.prod(shape)).reshape(shape)
    assert ml.pack(pack, numbers, fill=-1).tolist() == row["flat"]
    m = ml.index_map(pack, shape)
    assert m.size == len(row["flat"])
    assert m.physical_shape == tuple(row["packed_shape"])
    assert ml.verify(m).holds

    source, result = ("x".join(map(str, n)) for n in (shape, row["packed_shape"]))
    types = f"tensor<{source}xi32> -> tensor<{result}xi32>"
    printed = f"%p = linalg.pack %s padding_value(%c : i32) {text_of(row)} into %d : {types}"
    assert ml.index_map(printed).recipe == m.recipe
    back = f"tensor<{result}xi32> -> tensor<{source}xi32>"
    assert ml.parse(f"tensor.unpack %s {text_of(row)} into %d : {back}") == ml.parse(printed)
    assert ml.parse(str(ml.parse(printed))) == ml.parse(printed)


@st.composite
def packs(draw: st.DrawFn) -> tuple[tuple[int, ...], MlirPack]:
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=4)))
    dims = draw(st.permutations(range(len(shape))))[: draw(st.integers(0, len(shape)))]
    tiles = tuple(draw(st.integers(1, 9)) for _ in dims)
    order = tuple(draw(st.permutations(range(len(shape))))) if draw(st.booleans()) else ()
    return shape, MlirPack(tuple(dims), tiles, order)


@given(packs())
def test_pack_is_pad_reshape_transpose(case: tuple[tuple[int, ...], MlirPack]) -> None:
    shape, pack = case
    numbers = np.arange(np.prod(shape)).reshape(shape)
    tiles = [1] * len(shape)
    for dim, tile in zip(pack.inner_dims_pos, known(pack.inner_tiles), strict=True):
        tiles[dim] = tile
    wide = np.pad(
        numbers, [(0, -n % t) for n, t in zip(shape, tiles, strict=True)], constant_values=-1
    )
    split = [part for n, t in zip(wide.shape, tiles, strict=True) for part in (n // t, t)]
    outer = [2 * dim for dim in pack.outer_dims_perm or range(len(shape))]
    inner = [2 * dim + 1 for dim in pack.inner_dims_pos]
    untiled = [2 * dim + 1 for dim in range(len(shape)) if dim not in pack.inner_dims_pos]
    packed = wide.reshape(split).transpose(*outer, *inner, *untiled)
    assert pack.packed_shape(shape) == packed.shape[: len(shape) + len(inner)]
    assert np.array_equal(ml.pack(pack, numbers, fill=-1), packed.reshape(-1))
    assert ml.verify(ml.index_map(pack, shape)).holds
    assert ml.parse(str(pack)) == pack


SAME = [
    "inner_dims_pos = [1, 0] inner_tiles = [8, 2]",
    "inner_tiles = [8, 2], inner_dims_pos = [1, 0]",
    "inner_dims_pos = array<i64: 1, 0>, static_inner_tiles = array<i64: 8, 2>",
    "  inner_dims_pos\n=\n[1,0] // of the source\n inner_tiles=[8,2] ",
]


@pytest.mark.parametrize("text", SAME)
def test_ways_to_write_the_attributes(text: str) -> None:
    assert pack_of(text) == MlirPack((1, 0), (8, 2))


def test_for_every_size() -> None:
    pack = "outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]"
    assert ml.is_injective(pack, ("M", "N")).holds
    assert str(ml.is_surjective(pack, ("M", "N")).condition) == "8 | M and 2 | N"
    assert ml.are_equivalent(pack, "BA8a2b", ("M", "N")).holds
    types = "tensor<?x?xf32> -> tensor<?x?x8x2xf32>"
    m = ml.index_map(f"linalg.pack %s padding_value(%c : f32) {pack} into %d : {types}")
    assert ml.are_equivalent(m.at(N0=13, N1=15), pack, (13, 15)).holds


def test_without_tiles_it_transposes() -> None:
    text = "outer_dims_perm = [1, 0] inner_dims_pos = [] inner_tiles = []"
    assert str(ml.convert("ba", "pack", (3, 4))) == text
    assert ml.pack(text, np.arange(6).reshape(2, 3)).tolist() == [0, 3, 1, 4, 2, 5]
    assert ml.are_equivalent(text, "column-major", ("M", "N")).holds
    types = "tensor<2x3xi32> -> tensor<3x2xi32>"
    operation = f"linalg.pack %source {text} into %dest : {types}"
    assert str(ml.parse(operation)) == operation
    empty = "array<i64>"
    assert ml.parse(f"inner_dims_pos = {empty} inner_tiles = {empty}") == MlirPack((), ())
    for shape, headline in (((), "one element"), ((2, 3), "d1 varies fastest")):
        pack = ml.convert("row-major", "pack", shape)
        assert str(pack) == "inner_dims_pos = [] inner_tiles = []"
        m = ml.index_map(pack, shape)
        assert m.size == np.prod(shape, dtype=int)
        assert ml.verify(m).holds
        described = ml.explain(pack, shape).arrays[0].description
        assert described.headline == headline
        assert [part.meaning for part in described.parts] == [
            "no dimension is cut into tiles", "no tile"
        ]  # fmt: skip
    for lists in ("inner_dims_pos = [] inner_tiles = [3]", "inner_dims_pos = [0] inner_tiles = []"):
        with pytest.raises(ml.ParseError, match=r"inner_tiles: expected [01] sizes?, got [01]"):
            ml.parse(lists)


def test_a_layout_of_another_rank() -> None:
    with pytest.raises(ml.ShapeError, match="expected 2 sizes, got 3"):
        ml.index_map("outer_dims_perm = [1, 0] inner_dims_pos = [0] inner_tiles = [8]", (1, 2, 3))
    with pytest.raises(ml.ShapeError, match="dimension 2 of 2"):
        ml.index_map("inner_dims_pos = [2] inner_tiles = [8]", (4, 4))
    assert ml.index_map("inner_dims_pos = [1] inner_tiles = [8]", (3, 4, 5))(2, 3, 4) == 2 * 40 + 35
