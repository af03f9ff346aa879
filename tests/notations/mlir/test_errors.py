"""Wrong texts of MLIR, each with its caret, its error and the remedy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import morello_layouts as ml
from morello_layouts.core.limits import MAP_TEXT
from morello_layouts.notations.mlir import MlirPack, MlirType
from morello_layouts.notations.mlir.text import parse_mlir, parse_pack
from morello_layouts.notations.strided.layout import StridedLayout
from tests.support.paths import DATA
from tests.support.tables import each_row

pytestmark = pytest.mark.usefixtures("readers_errors")

BLOCKS = (DATA / "mlir_errors.txt").read_text("utf-8").strip("\n").split("\n\n")
ERRORS = [block.split("\n") for block in BLOCKS]


def test_the_table_is_complete() -> None:
    assert len({text for text, *_ in ERRORS}) == 60


@each_row("text, caret, what, fix", ERRORS, ids=[row[0] for row in ERRORS])
def test_the_error(text: str, caret: str, what: str, fix: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    error = caught.value
    assert [" " * error.position + "^", error.what, error.fix] == [caret, what, fix]


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (lambda: MlirType("memref", (4,), "f33"), "'f33' is not an element type of MLIR"),
        (
            lambda: MlirType("memref", (4,), "f32", StridedLayout((1, 2))),
            "the layout: expected 1 dimensions, got 2",
        ),
        (lambda: MlirPack((0,), (True,)), "inner_tiles[0]: expected an integer from 1, got True"),
        (lambda: MlirPack((0, 0), (8, 8)), "inner_dims_pos: dimension 0 appears twice"),
        (
            lambda: MlirPack((2,), (8,), (), MlirType("tensor", (4, 4), "f32")),
            "inner_dims_pos[0]: expected an integer from 0 to 1, got 2",
        ),
        (
            lambda: MlirPack((0,), (8,), (1, 0), MlirType("tensor", (4,), "f32")),
            "outer_dims_perm: expected dimensions 0 to 0, got 1",
        ),
    ],
)
def test_values(build: Callable[[], object], what: str) -> None:
    with pytest.raises(ml.LayoutError) as caught:
        build()
    assert caught.value.what == what


LONGEST = MAP_TEXT - 60
LONG = {
    "sizes": f"memref<{'2x' * (LONGEST // 2)}f32",
    "a size": f"memref<{'9' * LONGEST}xf32>",
    "a type": f"memref<{'x' * LONGEST}>",
    "strides": f"memref<4xf32, strided<[{'1, ' * (LONGEST // 3)}1]>>",
    "undeclared": f"affine_map<(d0) -> ({', '.join(f'd{k}' for k in range(LONGEST // 8))})>",
    "parentheses": f"affine_map<(d0) -> ({'(' * LONGEST}",
    "quotients": f"affine_map<(d0) -> ({'(' * 110}d0{' floordiv 3)' * 110})>",
    "definitions": "#a = affine_map<(d0) -> (d0)>" * (LONGEST // 29),
    "lists": "inner_dims_pos = [0]" * (LONGEST // 20),
    "a tile": f"inner_dims_pos = [0] inner_tiles = [{'9' * LONGEST}]",
    "comments": "memref<4xf32" + "//" * (LONGEST // 2),
    "longer": "memref<" + "4x" * MAP_TEXT + "f32>",
    "longer lists": "inner_dims_pos = [0" + ", 0" * MAP_TEXT + "]",
}


@each_row("name", LONG)
def test_long_texts_are_refused(name: str) -> None:
    for reader in (parse_pack if "inner" in LONG[name] else parse_mlir, ml.parse):
        with pytest.raises(ml.LayoutError):
            reader(LONG[name])
