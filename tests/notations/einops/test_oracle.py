"""einops' own answers, as recorded, and the errors that it gives too."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.einops import EinopsLayout
from tests.support.paths import DATA
from tests.support.tables import each_row

ROWS = [json.loads(line) for line in (DATA / "einops.jsonl").read_text("utf-8").splitlines()]


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


@each_row(
    ("text", "shape", "what"),
    [
        ("a b -> b a", (2, 3, 4), "a b -> b a: expected 2 sizes, got 3"),
        ("a ... b -> b ... a", (2,), "a ... b -> b ... a: expected at least 2 sizes, got 1"),
        ("(h p) -> h p, p=2", (7,), "(h p) -> h p, p=2: (h p): expected a multiple of 2, got 7"),
        ("(h p) -> h p, p=2, h=3", (8,), "(h p) -> h p, h=3, p=2: (h p): expected 6, got 8"),
        ("a 1 -> a", (3, 2), "a 1 -> a: 1: expected 1, got 2"),
        ("a b -> b a, a=4", (3, 2), "a b -> b a, a=4: a: expected 4, got 3"),
    ],
)
def test_shapes_that_do_not_fit(text: str, shape: tuple[int, ...], what: str) -> None:
    with pytest.raises(ml.ShapeError) as caught:
        ml.index_map(text, shape)
    assert caught.value.what == what


def test_symbolic_sizes() -> None:
    m = ml.index_map("(h p) w -> h w p, p=2", ("M", "N"))
    assert str(m.assumptions[0]) == "2 divides M"
    assert ml.verify(m).holds
    assert ml.is_bijective(m).holds
    assert ml.are_equivalent(
        m, "lambda i, w: (i//2, w, i%2)", ("M", "N"), assuming="M % 2 == 0"
    ).holds


def test_words() -> None:
    found = ml.explain("b (h p) -> b p h, p=2", (3, 8)).arrays[0].description
    assert [part.text for part in found.parts] == ["b", "p", "h"]
    assert found.parts[1].meaning == "2 neighbours along (h p)"
    assert ml.explain("b (h p) -> b p h, p=2").arrays[0].description.headline == (
        "the array is b (h p), the memory b p h"
    )
