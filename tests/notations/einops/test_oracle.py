"""einops' own answers, as recorded, and the errors that it gives too."""

from __future__ import annotations

from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.notations.einops import EinopsLayout
from tests.support.paths import rows
from tests.support.tables import each_row

ROWS = rows("einops.jsonl")


def layout_of(text: str) -> EinopsLayout:
    layout = ml.parse(text)
    assert isinstance(layout, EinopsLayout)
    return layout


def test_the_table_is_complete() -> None:
    assert len(ROWS) == 41


@each_row("row", ROWS, ids=lambda row: f"{row['text']} {row['shape']}")
def test_every_pattern(row: dict[str, Any]) -> None:
    layout, shape = layout_of(row["text"]), tuple(row["shape"])
    assert layout.result_shape(shape) == tuple(row["result_shape"])
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    m = ml.index_map(layout, shape)
    assert ml.pack(layout, array).tolist() == row["flat"]
    assert ml.verify(m).holds
    assert ml.is_bijective(m).holds
    assert layout_of(str(layout)) == layout


def test_symbolic_sizes() -> None:
    m = ml.index_map("(h p) w -> h w p, p=2", ("M", "N"))
    assert str(m.assumptions[0]) == "2 divides M"
    assert ml.verify(m).holds
    assert ml.is_bijective(m).holds
    assert ml.are_equivalent(
        m, "lambda i, w: (i//2, w, i%2)", ("M", "N"), assuming="M % 2 == 0"
    ).holds
