"""linalg.pack as IREE ran it, and as MLIR prints it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.mlir import MlirPack
from tests.support.paths import rows
from tests.support.tables import each_row

ROWS = rows("linalg_pack.jsonl")
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
    for shape in ((), (2, 3)):
        pack = ml.convert("row-major", "pack", shape)
        assert str(pack) == "inner_dims_pos = [] inner_tiles = []"
        m = ml.index_map(pack, shape)
        assert m.size == np.prod(shape, dtype=int)
        assert ml.verify(m).holds


def test_a_layout_of_another_rank() -> None:
    assert ml.index_map("inner_dims_pos = [1] inner_tiles = [8]", (3, 4, 5))(2, 3, 4) == 2 * 40 + 35
