"""Every row of what Morello's own code says about layouts (see data/README.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.paths import rows
from tests.support.tables import each_row

ROWS = rows("morello_oracle.jsonl")
OK = [row for row in ROWS if row["status"] == "ok"]
SOUND = [row for row in OK if row["injective"] and row["in_range"]]
UNSOUND = [row for row in OK if not (row["injective"] and row["in_range"])]
REFUSED = [row for row in ROWS if row["status"] == "error"]
PANICS = [row for row in ROWS if row["status"] == "new_panic"]

# Rows from which ours differs although Morello answers, and why. Each reason is tested below.
JOINED = {
    "r2-nest-0174": "neighbours 1, 1 p(2) that meet when dimension 0 between them goes",
    "r2-nest-0330": "neighbours 0, 0 p(2) that meet when dimension 1 between them goes",
    "rand-r4-0540": "neighbours 1 p(2), 1 p(2) that meet when dimension 2 between them goes",
}
# Rows on which Morello panics and ours gives an error too.
ERRORS = {
    "r1-dyn-dyn-0104": "two Dynamics of one dimension are ambiguous",
    "r1-oe3-0108": "an OddEven of 3 has no two halves; Morello's release build makes 1 and 2 alias",
    "r2-pack2-0155": "p(2) does not divide 5; Morello's release build joins 1, 1 p(2) to 1 first",
    "r2-pack2-0158": "p(4) does not divide 10; Morello's release build refuses it too",
}


def each(rows: Any, *without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    chosen = [row for row in rows if row["id"] not in without]
    return each_row("row", chosen, ids=lambda row: row["id"])


def layout_of(row: Any) -> Any:
    return ml.parse(row["display"])


def offsets(layout: Any, shape: Any) -> Any:
    """The offset of every coordinate, row-major: by the formula, which pack must agree with."""
    m = ml.index_map(layout, shape)
    by_formula = m(*np.indices(shape)).reshape(-1)
    buffer = ml.pack(layout, np.arange(m.size).reshape(shape))
    assert buffer.tolist() == np.argsort(by_formula).tolist()
    return by_formula.tolist()


def test_rows_are_all_there() -> None:
    assert [len(x) for x in (ROWS, SOUND, UNSOUND, REFUSED, PANICS)] == [242, 132, 24, 69, 17]


@each(SOUND)
def test_offsets_are_morellos(row: Any) -> None:
    layout = layout_of(row)
    assert list(layout.physical_shape(row["shape"])) == row["physical_shape"]
    assert offsets(layout, row["shape"]) == row["offsets"]


@each(UNSOUND)
def test_offsets_are_right_where_morellos_collide_or_leave_the_buffer(row: Any) -> None:
    layout, shape, count = layout_of(row), row["shape"], len(row["offsets"])
    assert sorted(row["offsets"]) != list(range(count))
    assert "oe" in row["display"]
    assert list(layout.physical_shape(shape)) == row["physical_shape"]
    assert sorted(offsets(layout, shape)) == list(range(count))
    assert ml.is_bijective(layout, shape).holds is True


@each(REFUSED)
def test_shapes_that_morello_refuses_are_shape_errors(row: Any) -> None:
    layout, shape = layout_of(row), row["shape"]
    assert layout.applies_to(shape) is False
    told = set()
    for refuse in (layout.physical_shape, layout.recipe, lambda s: ml.index_map(layout, s)):
        with pytest.raises(ml.ShapeError) as error:
            refuse(shape)
        told.add(str(error.value))
    assert len(told) == 1
    with pytest.raises(ml.ShapeError):
        layout.canonicalize(shape)


@each(REFUSED)
def test_remedies_of_shape_errors_lead_to_a_layout_that_fits(row: Any) -> None:
    dims, shape = list(layout_of(row).phys_dims), list(row["shape"])
    for _ in range(2 * len(shape)):  # each dimension needs at most a Dynamic and a new size
        try:
            ml.MorelloLayout(dims).physical_shape(shape)
            break
        except ml.ShapeError as error:
            for outer in re.findall(r"\[(\d+), …\]", error.fix):
                dims.insert(0, (int(outer), ml.morello.Dynamic()))
            for dim, size in re.findall(r"pad dimension (\d+) to (\d+)", error.fix):
                assert int(size) > shape[int(dim)]
                shape[int(dim)] = int(size)
    assert ml.MorelloLayout(dims).applies_to(shape)


@each(PANICS, *ERRORS)
def test_layouts_on_which_morello_panics_are_right(row: Any) -> None:
    layout, release = ml.parse(row["layout"]), row["release_diff"]
    assert ml.is_bijective(layout, row["shape"]).holds is True
    assert release["injective"] is (release["offsets"] == offsets(layout, row["shape"]))


@each([row for row in PANICS if row["id"] in ERRORS])
def test_layouts_on_which_morello_panics_are_clear_errors(row: Any) -> None:
    with pytest.raises(ml.LayoutError) as error:
        ml.index_map(row["layout"], row["shape"])
    assert error.value.why
    assert error.value.fix


def test_reasons_for_errors_where_morello_panics() -> None:
    release = {row["id"]: (row["release_status"], row["release_diff"]) for row in PANICS}
    assert release["r1-dyn-dyn-0104"][0] == "new_panic"
    assert release["r1-oe3-0108"][1]["offsets"] == [0, 1, 1]
    assert release["r2-pack2-0155"][1]["new_normalized_to"] == "0, 1, 0 p(4)"
    assert release["r2-pack2-0158"][0] == "error"


@each(OK + REFUSED)
def test_list_and_its_properties_are_morellos(row: Any) -> None:
    layout = layout_of(row)
    assert str(layout) == row["display"]
    assert layout.contig == row["contig"]
    assert layout.is_row_major is row["is_row_major"]
    assert layout.is_col_major is row["is_col_major"]
    if row["layout"]:
        assert layout == ml.MorelloLayout(ml.parse(row["layout"]).phys_dims, row["contig"])


@each(OK)
def test_cache_lines_are_morellos(row: Any) -> None:
    layout = layout_of(row)
    assert layout.estimate_cache_lines(row["shape"], 4) == row["cache_lines_f32"]
    assert layout.estimate_cache_lines(row["shape"], 1, line_bytes=64) == row["cache_lines_u8"]


@each(OK, *JOINED)
def test_canonical_form_is_morellos(row: Any) -> None:
    canonical = layout_of(row).canonicalize(row["shape"])
    assert str(canonical) == row["canonicalize"]["display"]
    assert canonical.contig == row["canonicalize"]["contig"]


@each([row for row in OK if row["id"] in JOINED])
def test_canonical_form_joins_what_morello_leaves_apart(row: Any) -> None:
    layout, shape = layout_of(row), row["shape"]
    ours, theirs = layout.canonicalize(shape), ml.parse(row["canonicalize"]["display"])
    dims = [dim for dim, _ in theirs.phys_dims]
    assert any(a == b for a, b in pairwise(dims))  # Morello's own panic
    assert len(ours.phys_dims) < len(theirs.phys_dims)
    assert theirs.canonicalize(shape) == ours
    assert offsets(ours, shape) == offsets(theirs, shape) == offsets(layout, shape)


@each([row for row in OK if "update_for_tiling" in row])
def test_tilings_are_morellos(row: Any) -> None:
    layout, expected = layout_of(row), row["update_for_tiling"]
    if "error" in expected:
        with pytest.raises(ml.ShapeError):
            layout.for_tile(row["shape"], row["tile"])
    else:
        tiled = layout.for_tile(row["shape"], row["tile"])
        assert str(tiled) == expected["display"]
        lines = tiled.estimate_cache_lines(row["tile"], 4)
        assert lines == expected["cache_lines_f32"]


@each([row for row in ROWS if "dim_drop" in row])
def test_dropped_dimensions_are_morellos(row: Any) -> None:
    assert str(layout_of(row).drop_dims(row["drop"])) == row["dim_drop"]["display"]


@each([row for row in ROWS if "swap_dims" in row])
def test_swapped_dimensions_are_morellos(row: Any) -> None:
    assert str(layout_of(row).swap_dims(*row["swap"])) == row["swap_dims"]["display"]
