"""TVM's own answers: shapes of boxes, inverses, padding and coordinates, as recorded."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.notations.coordinates import FormulaLayout
from tests.support.paths import rows
from tests.support.tables import each_row

ROWS = rows("tvm_layouts.jsonl")
MAPS = [row for row in ROWS if "map" in row]
LAYOUTS = [row for row in ROWS if "layout" in row]


def layout_of(text: str) -> FormulaLayout:
    layout = ml.parse(text, "tvm")
    assert isinstance(layout, FormulaLayout)
    return layout


def test_the_tables_are_complete() -> None:
    assert (len(MAPS), len(LAYOUTS)) == (44, 14)
    assert sum("inverse" in row for row in MAPS) >= 35


@each_row("row", MAPS, ids=lambda row: f"{row['map']} {row['shape']}")
def test_every_map(row: dict[str, Any]) -> None:
    layout, shape = layout_of(row["map"]), tuple(row["shape"])
    assert layout_of(row["printed"]) == layout == ml.parse(str(layout))
    assert layout.box(shape) == tuple(row["map_shape"])
    m = ml.index_map(layout, shape)
    assert m.size == prod(row["map_shape"])
    names = ", ".join(layout.parameters)
    by_python = eval(f"lambda {names}: {row['map'].split(':')[1]}")  # a row of our own file
    for at in product(*map(range, shape)):
        assert m(*at) == np.ravel_multi_index(by_python(*at), row["map_shape"])
    assert ml.verify(m).holds


# Maps with the sizes that TVM 0.27 has for them, and ours; docs/explanation/differences.md has why.
OTHER_BOXES = [
    ("lambda i, j: (i//2, j%4, i%2*4 + j//4)", (6, 3), (3, 3, 5), (3, 4, 5)),
    ("lambda i: (i//4%4, i)", (7,), (2, 7), (4, 7)),
    ("lambda i, j: (i//4*4 + i%3*2, (j*8 + j)%3, i//3)", (6, 18), (9, 3, 2), (10, 3, 2)),
    ("lambda i: (i//8, i//2)", (6,), (1, 4), (1, 3)),
]  # fmt: skip


@each_row("text, shape, theirs, ours", OTHER_BOXES)
def test_boxes_that_tvm_does_not_read_as_digits(
    text: str, shape: tuple[int, ...], theirs: tuple[int, ...], ours: tuple[int, ...]
) -> None:
    layout = layout_of(text)
    assert theirs != layout.box(shape) == ours
    m = ml.index_map(layout, shape)
    by_python = eval(text)  # a row of our own file
    for at in product(*map(range, shape)):
        assert m(*at) == np.ravel_multi_index(by_python(*at), ours)


@each_row("row", [row for row in MAPS if "inverse" in row], ids=lambda row: row["printed"])
def test_every_inverse_and_padding(row: dict[str, Any]) -> None:
    box = tuple(row["map_shape"])
    m = ml.index_map(row["map"], row["shape"])
    inverse = layout_of(row["inverse"])
    is_padding = re.sub(r"T\.(int64|bool)\((\w+)\)", r"\2", row["padding"])
    holds = compile(is_padding, "padding", "eval")  # a row of our own file
    for offset, at in enumerate(product(*map(range, box))):
        values = dict(zip(inverse.parameters, at, strict=True))
        expected = tuple(form.evaluate(values) for form in inverse.forms)
        named = {f"axis{k}": x for k, x in enumerate(at)} | values
        assert m.coordinates(offset) == (None if eval(holds, named) else expected)


@each_row("row", LAYOUTS, ids=lambda row: f"{row['layout']} {row['shape']}")
def test_every_layout(row: dict[str, Any]) -> None:
    layout, box = layout_of(row["layout"]), tuple(row["map_shape"])
    order = [row["source"].lower().index(name) for name in layout.parameters]
    shape = tuple(row["shape"][k] for k in order)
    assert str(layout) == row["layout"]
    assert layout.box(shape) == box
    m = ml.index_map(layout, shape)
    for at, place in row["at"]:
        assert m(*(at[k] for k in order)) == np.ravel_multi_index(place, box)
    assert ml.verify(m).holds
