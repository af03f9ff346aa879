"""Pictures of layouts with named axes, and of banks."""

from __future__ import annotations

import re

import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Replicate,
    Split,
    Transpose,
    Xor,
    offset_of,
)

FRAGMENT = "SM80_16x8x16_F32F16F16F32_TN C"
BLOCKED = "sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]"
SWIZZLED = "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)"


def cells(svg: str) -> dict[str, tuple[str, str, str]]:
    """The description, the fill and the first text of the cell at each coordinate."""
    found = re.findall(
        r'class="cell" data-c="([\d,]+)".*?<title>([^<]*)</title><rect class="(\w+)".*?'
        r'<text class="o"[^>]*>([^<]*)<', svg)  # fmt: skip
    return {at: (title, fill, text) for at, title, fill, text in found}


def test_a_cell_shows_lane_and_register() -> None:
    picture = ml.draw(FRAGMENT)  # by lane, as vendors draw it
    found, m = cells(picture.svg()), ml.index_map(FRAGMENT)
    assert len(found) == 128
    for at, (title, _, text) in found.items():
        i, j = map(int, at.split(","))
        place = m.place(i, j)
        assert text == f"{place['lane']}:{place['register']}"
        assert f"lies at lane {place['lane']}, register {place['register']}" in title
    assert "cells of one lane have one colour" in picture.svg()
    assert "in each cell: lane:register" in str(picture)
    fills = {
        (m.place(*map(int, at.split(",")))["lane"], fill) for at, (_, fill, _) in found.items()
    }
    assert len(fills) == 32  # one fill for each lane


def test_a_replicated_element_shows_its_first_place() -> None:
    picture = ml.draw(f"#ttg.blocked<{{{BLOCKED}}}>", (16, 16), colour="warp", dots=[(3, 5)])
    assert cells(picture.svg())["3,5"][2] == "0:13:1"
    assert "warp:lane:register, the first of 2 places" in picture.svg()
    assert "(3, 5) lies at warp 0, lane 13, register 1" in str(picture)


def test_colours_of_banks() -> None:
    found, m = cells(ml.draw(SWIZZLED, colour="bank").svg()), ml.index_map(SWIZZLED)
    by_bank: dict[int, set[str]] = {}
    for at, (title, fill, _) in found.items():
        bank = m(*map(int, at.split(","))) * 16 // 32 % 32
        assert f"bank {bank}" in title.splitlines()
        by_bank.setdefault(bank, set()).add(fill)
    assert len(by_bank) == 32
    assert all(len(fills) == 1 for fills in by_bank.values())


def test_the_page_says_what_the_new_steps_do() -> None:
    recipe = Recipe(
        (4, 6),
        (Pad((4, 8)), Xor(1, 0), Split((None, 4)), Replicate((2,)), Transpose((3, 0, 1, 2)),
         Merge((2, 2))),
        axis_names=("lane", "register"),
    )  # fmt: skip
    zero = ml.expr.AffineExpr((), 0)
    m = ml.maps.IndexMap.of(recipe, lambda at, _: offset_of(recipe, at, zero), "mine")
    page = ml.draw(m).html()
    assert "places move within axis 1, by the bits of their place in axis 0" in page
    assert "each place is there 2 times" in page


def test_devices_are_colours_and_empty_parts_are_hatched() -> None:
    text = "f32[5,6]{1,0:T(2,4)}, sharding={devices=[4,1]<=[4]}"
    picture, m = ml.draw(text), ml.index_map(text)
    found = cells(picture.svg())
    fills: dict[int, set[str]] = {}
    for at, (_, fill, shown) in found.items():
        i, j = map(int, at.split(","))
        if i < 5:
            place = m.place(i, j)
            assert shown == f"{place['device']}:{place['offset']}"
            fills.setdefault(place["device"], set()).add(fill)
    assert sorted(fills) == [0, 1, 2]
    assert len(set.union(*fills.values())) == 3
    assert "cells of one device have one colour" in picture.svg()
    slots = re.findall(r'class="slot" data-o="(\d+)"><title>[^<]*</title><rect class="(\w+)"',
                       picture.svg())  # fmt: skip
    assert {fill for offset, fill in slots if int(offset) >= 48} == {"p"}  # device 3 has nothing
    assert [line.split()[0] for line in str(picture).splitlines() if ":15" in line] == [
        "memory", "1:0", "2:0", "3:0",
    ]  # fmt: skip


def test_copies_are_told() -> None:
    text = "f32[6,8], sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}"
    assert "in each cell: device:offset, the first of 2 places" in str(ml.draw(text))


def test_colours_by_offset_go_from_the_first_to_the_last() -> None:
    for text in ("f32[6,8]", "f32[6,8]{0,1}", "f32[5,7]{1,0:T(2,4)}"):
        svg, m = ml.draw(text, colour="offset").svg(), ml.index_map(text)
        fills = {
            m(*map(int, at.split(","))): int(fill[1:])
            for at, (_, fill, _) in cells(svg).items()
            if fill != "p"
        }
        in_order = [fills[offset] for offset in sorted(fills)]
        assert in_order == sorted(in_order)
        assert len({*in_order}) > 8
        assert all(f".c{k}{{fill" in svg for k in in_order), "each has a colour"
        assert ">first offset<" in svg
    assert ".c12{" not in ml.draw("f32[6,8]").svg(), "other pictures stay small"


@pytest.mark.parametrize("text", ["f32[6,8]{0,1:T(2,4)}", "f32[20]", "f32[2,3,4]"])
def test_colours_by_row_and_column(text: str) -> None:
    for colour, side in (("row", slice(None, -1)), ("column", slice(-1, None))):
        found = cells(ml.draw(text, colour=colour).svg())
        fills: dict[tuple[int, ...], set[str]] = {}
        for at, (_, fill, _) in found.items():
            if fill != "p":
                fills.setdefault(tuple(map(int, at.split(",")))[side], set()).add(fill)
        assert all(len(each) == 1 for each in fills.values()), colour


@pytest.mark.parametrize(
    ("name", "lanes"),
    [("SM80_16x8x16_F32F16F16F32_TN", 32), ("SM80_16x8x8_F32F16F16F32_TN", 32),
     ("v_mfma_f32_32x32x8_f16", 64)],
)  # fmt: skip
def test_an_instruction_is_drawn_with_all_operands(name: str, lanes: int) -> None:
    """A, B and C (D lies as C does), each of its own shape; a lane has one colour in all."""
    picture = ml.draw(name)
    assert [panel.title for panel in picture.panels] == [f"{name} {letter}" for letter in "ABC"]
    found: dict[int, set[int | None]] = {}
    for panel in picture.panels:
        for cell in panel.cells:
            lane = panel.map.place(*cell.coordinate)["lane"]
            found.setdefault(lane, set()).add(panel.colour(cell))
    assert len(found) == lanes
    assert {len(colours) for colours in found.values()} == {1}
    with pytest.raises(ml.LayoutError, match="expected A, B, C or D"):
        ml.draw(name, (16, 8))
