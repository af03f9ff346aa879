"""Views and memory formats, compared with what PyTorch 2.14.1 answers."""

from __future__ import annotations

from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.notations.strided import (
    MemoryFormat,
    StridedLayout,
    expand,
    permute,
    slice_dim,
    unsqueeze,
    view,
)
from tests.support.paths import rows
from tests.support.tables import each_row

OPERATIONS = {"permute": permute, "slice": slice_dim, "unsqueeze": unsqueeze, "expand": expand}


def chained(row: dict[str, Any]) -> StridedLayout:
    shape = tuple(row["base"])
    layout = StridedLayout(MemoryFormat("contiguous_format").strides(shape), 0, shape)
    for name, *arguments in row["ops"]:
        layout = OPERATIONS[name](layout, *arguments)
    return layout


def offsets(layout: StridedLayout) -> list[int]:
    shape = ml.index_map(layout).shape
    return [int(p) for p in np.ravel(ml.index_map(layout)(*np.indices(shape)))]


@each_row("row", rows("torch_views.jsonl"))
def test_a_chain_of_views(row: dict[str, Any]) -> None:
    layout = chained(row)
    assert (list(layout.shape or ()), layout.offset) == (row["shape"], row["offset"])
    assert list(layout.strides) == row["stride"]
    if row["flat"] is not None:
        assert offsets(layout) == row["flat"]


@each_row("row", rows("torch_views.jsonl"))
def test_a_view_of_another_shape(row: dict[str, Any]) -> None:
    found = view(chained(row), row["reshape"])
    assert (None if found is None else list(found.strides)) == row["view"]
    if found is not None and row["flat"] is not None:
        assert offsets(found) == row["flat"]


@each_row("row", rows("torch_memory_formats.jsonl"))
def test_memory_formats(row: dict[str, Any]) -> None:
    layout = MemoryFormat(row["format"])
    assert list(layout.strides(row["shape"])) == row["stride"]
    # Where sizes are 1 both are true: strides are compared where elements are.
    same = {
        name: ml.are_equivalent(name, StridedLayout(tuple(row["stride"])), row["shape"]).holds
        for name in ("contiguous_format", "channels_last")
    }
    assert same == {
        "contiguous_format": row["is_contiguous"],
        "channels_last": row["is_channels_last"],
    }


def test_dimensions_of_one_or_no_element_have_pytorchs_strides() -> None:
    """``torch.arange(3).unsqueeze(0).expand(1, 3, 3)``, a number's ``expand``, empty slices."""
    rows = StridedLayout((3, 1), 0, (1, 3))
    assert expand(rows, (1, 3, 3)).strides == (0, 0, 1)
    assert expand(rows, (1, 1, 3)).strides == (3, 3, 1)
    assert expand(StridedLayout((), 0, ()), (1, 2, 1)).strides == (0, 0, 0)
    empty = slice_dim(StridedLayout((3, 1), 0, (2, 3)), 1, 2, 1, 2)
    assert (empty.shape, empty.strides, empty.offset) == ((2, 0), (3, 2), 2)
