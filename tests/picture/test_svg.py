"""Pictures as SVG: every cell with its offset, whatever the layout; safe, legible, quick."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.recipe import pack_array
from morello_layouts.outputs.picture import Limits, Picture, Style, compact_svg, picture_of
from morello_layouts.outputs.picture.panel import DARK, LIGHT, Paper
from morello_layouts.outputs.picture.svg import _wrapped
from morello_layouts.outputs.picture.view import levels_of
from tests.support.tables import each_row

LAYOUTS = [
    ("f32[3,5]{1,0:T(2,2)}", None),
    ("bf16[4,8]{1,0:T(2,4)(2,1)}", None),
    ("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", None),
    ("f32[5,3]{0,1:T(2,2)}", None),
    ("f32[2,2,5]{2,1,0:T(2,*,3)}", None),
    ("f32[3,5]{1,0:T(2,2)L(16)}", None),
    ("f32[2,3,4,6]{3,2,1,0:T(2,2)}", None),
    ("f32[7]{0:T(4)}", None),
    ("f32[]", None),
    ("[0, 1]", (6, 8)),
    ("[1, 0, 1 p(4)]", (6, 8)),
    ("[0, 0 oe(8)]", (16,)),
    ("[0, 1, 0 p(4), 1 p(8), 0 p(2)]", (8, 16)),
]

SVG = "{http://www.w3.org/2000/svg}"


def parsed(picture: Picture) -> ET.Element:
    return ET.fromstring(picture.svg())


def groups(root: ET.Element, kind: str) -> list[ET.Element]:
    return [g for g in root.iter(f"{SVG}g") if g.get("class") == kind]


def only(group: ET.Element, tag: str) -> ET.Element:
    (found,) = group.findall(f"{SVG}{tag}")
    return found


def coordinate(text: str | None) -> tuple[int, ...]:
    return tuple(int(x) for x in (text or "").split(",") if x)


def whole(text: str, shape: tuple[int, ...] | None, **more: object) -> Picture:
    return ml.draw(text, shape, max_slices=10**6, max_slots=10**6, **more)


@each_row(("text", "shape"), LAYOUTS)
def test_every_element_is_drawn_where_numpy_puts_it(
    text: str, shape: tuple[int, ...] | None
) -> None:
    """The judge is the recipe's reading on arrays, which knows nothing of offsets."""
    m = ml.index_map(text, shape)
    buffer = pack_array(m.recipe, np.arange(np.prod(m.shape, dtype=int)).reshape(m.shape), -1)
    place = {int(value): p for p, value in enumerate(buffer) if value >= 0}
    root = parsed(whole(text, shape))
    elements = {}
    for cell in groups(root, "cell"):
        at, offset = coordinate(cell.get("data-c")), int(cell.get("data-o") or "")
        title, fill = only(cell, "title").text or "", only(cell, "rect").get("class") or ""
        if all(x < n for x, n in zip(at, m.shape, strict=True)):
            elements[at] = offset
            assert only(cell, "text").text == str(offset)
            assert title.startswith(f"({', '.join(map(str, at))}) lies at offset {offset}")
            assert fill.startswith("c")
        else:
            assert fill == "p", "padding is hatched"
            assert not cell.findall(f"{SVG}text")
            assert title.startswith(f"offset {offset}: padding")
            assert buffer[offset] == -1
    assert elements == {tuple(map(int, at)): place[k] for k, at in enumerate(np.ndindex(*m.shape))}


@each_row(("text", "shape"), LAYOUTS)
def test_the_memory_strip_equals_numpy(text: str, shape: tuple[int, ...] | None) -> None:
    m = ml.index_map(text, shape)
    buffer = pack_array(m.recipe, np.arange(np.prod(m.shape, dtype=int)).reshape(m.shape), -1)
    slots = groups(parsed(whole(text, shape)), "slot")
    assert [int(slot.get("data-o") or "") for slot in slots] == list(range(m.size))
    for slot, value in zip(slots, buffer.tolist(), strict=True):
        texts = [found.text for found in slot.findall(f"{SVG}text")]
        assert texts[0] == slot.get("data-o")
        if value < 0:
            assert (texts[1:], only(slot, "rect").get("class")) == ([], "p")
            assert "padding" in (only(slot, "title").text or "")
        else:
            at = np.unravel_index(value, m.shape) if m.shape else ()
            assert texts[1:] == [",".join(map(str, map(int, at))) or "()"]


@each_row(("text", "shape"), LAYOUTS)
def test_a_slot_has_the_colour_of_its_cell(text: str, shape: tuple[int, ...] | None) -> None:
    root = parsed(whole(text, shape))
    fill = {g.get("data-o"): only(g, "rect").get("class") for g in groups(root, "cell")}
    for slot in groups(root, "slot"):
        offset = slot.get("data-o")
        if offset in fill:
            assert only(slot, "rect").get("class") == fill[offset]


def borders(root: ET.Element, class_: str) -> set[tuple[float, float, float, float]]:
    """The pieces of all lines of a class: x, y, and how far they go."""
    found = set()
    for path in root.iter(f"{SVG}path"):
        if path.get("class") == class_:
            for x, y, way, end in re.findall(
                r"M(-?[\d.]+) (-?[\d.]+)([HV])([\d.]+)", path.get("d") or ""
            ):
                to = float(end) - float(x if way == "H" else y)
                found.add((float(x), float(y), *((to, 0.0) if way == "H" else (0.0, to))))
    return found


def test_figure_1_has_thick_borders_between_tiles_only() -> None:
    root = parsed(ml.draw("f32[3,5]{1,0:T(2,2)}", max_slots=0))
    at = {c.get("data-c"): only(c, "rect") for c in groups(root, "cell")}
    left, top = (float(at["0,0"].get(name) or "") for name in ("x", "y"))
    width, height = 30.0, 28.0
    assert borders(root, "b0") == {
        (left + 2 * width, top, 0.0, 4 * height),
        (left + 4 * width, top, 0.0, 4 * height),
        (left, top + 2 * height, 6 * width, 0.0),
    }
    assert borders(root, "b1") == set()


def test_a_tile_with_columns_left_out_has_one_box() -> None:
    picture = ml.draw("bf16[10,200]{1,0:T(8,128)(2,1)}", box_tiles=1)
    assert picture.panels[0].view.is_cut
    assert picture.svg().count('class="mark"') == 4 + 1, "four tiles, and one in the legend"


def test_figure_2_has_thin_borders_and_a_box_for_each_2x1() -> None:
    root = parsed(ml.draw("bf16[4,8]{1,0:T(2,4)(2,1)}", box_tiles=2, max_slots=0))
    assert len(borders(root, "b0")) == 2
    assert [height for *_, height in borders(root, "b1")] == [4 * 28.0] * 6
    boxes = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "mark"]
    assert len(boxes) == 16 + 1, "and one in the legend"
    assert {r.get("height") for r in boxes[:16]} == {"51"}


def test_figure_3_colours_words() -> None:
    root = parsed(ml.draw("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", colour="word"))
    seen: dict[str, set[tuple[str | None, ...]]] = {}
    for cell in groups(root, "cell"):
        _, word = [text.text for text in cell.findall(f"{SVG}text")]
        assert word == f"w{int(cell.get('data-o') or '') // 2}"
        fill, at = only(cell, "rect").get("class"), cell.get("data-c")
        seen.setdefault(word, set()).add((fill, at))
    pairs = [sorted(cells) for cells in seen.values() if len(cells) == 2]
    assert len(pairs) * 2 == sum(map(len, seen.values())), "both halves of each word are shown"
    for (fill, one), (other_fill, other) in pairs:
        assert fill == other_fill
        (row, column), (far, same) = sorted((coordinate(one), coordinate(other)))
        assert (far - row, same) == (8, column)


def test_figure_4_marks_element_6_5() -> None:
    picture = ml.draw("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", dots=[(6, 5)])
    root = parsed(picture)
    assert "(6, 5) lies at offset 51" in picture.svg()
    fills = {
        coordinate(c.get("data-c")): only(c, "rect").get("class") for c in groups(root, "cell")
    }
    tiles = {(r // 2, c // 4): fill for (r, c), fill in fills.items()}
    assert len(set(tiles.values())) == 8, "a colour for each 2x4 tile"
    assert all(tiles[r // 2, c // 4] == fill for (r, c), fill in fills.items())
    (dot, *_) = [c for c in root.iter(f"{SVG}circle") if c.get("class") == "dot"]
    cell = next(only(c, "rect") for c in groups(root, "cell") if c.get("data-c") == "6,5")
    x, y = float(cell.get("x") or ""), float(cell.get("y") or "")
    assert x < float(dot.get("cx") or "") < x + 30
    assert y < float(dot.get("cy") or "") < y + 28


def test_neighbouring_tiles_and_words_have_unlike_colours() -> None:
    for text in ("f32[20,20]{1,0:T(2,3)}", "[0, 1]"):
        picture = ml.draw(
            text, None if "f32" in text else (9, 12), colour="word", word_bits=64, element_bits=32
        )
        (panel,) = picture.panels
        for grid in panel.view.grids:
            for line in (*grid.cells, *zip(*grid.cells, strict=True)):
                for a, b in pairwise(cell for cell in line if cell and not cell.is_padding):
                    one, other = panel.word_text(a.offset), panel.word_text(b.offset)
                    assert (one == other) == (panel.colour(a) == panel.colour(b)), (a, b)


def test_two_layouts_mark_elements_that_move() -> None:
    a, b = ml.index_map("f32[6,8]{1,0:T(2,4)}"), ml.index_map("[1, 0, 1 p(4)]", (6, 8))
    picture = ml.draw(a, b)
    moved = {at: b(*at) for at in np.ndindex(6, 8) if a(*at) != b(*at)}
    assert dict(picture.panels[0].elsewhere) == moved
    assert dict(picture.panels[1].elsewhere) == {at: a(*at) for at in moved}
    assert f"{len(moved)} of 48 elements" in picture.svg()
    root = parsed(picture)
    titles = [only(g, "title").text or "" for g in (*groups(root, "cell"), *groups(root, "slot"))]
    assert sum("in the other layout" in title for title in titles) == 4 * len(moved)
    same = ml.draw("f32[6,8]{1,0:T(6,4)}", b)
    assert "0 of 48 elements" in same.svg()
    assert not same.panels[0].elsewhere


@pytest.mark.parametrize("paper", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_on_every_colour(paper: Paper) -> None:
    for fill in (*paper.pastels, paper.background):
        assert contrast(paper.ink, fill) >= 7
    assert contrast(paper.dim, paper.background) >= 4.5
    assert contrast(paper.red, paper.background) >= 4.5
    assert len(set(paper.pastels)) == len(LIGHT.pastels)


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_style_is_for_light_and_dark_and_holds_inside_only() -> None:
    svg = ml.draw("f32[3,5]{1,0:T(2,2)}").svg()
    (style,) = re.findall(r"<style>(.*?)</style>", svg)
    light, _, dark = style.partition("@media (prefers-color-scheme:dark)")
    for paper, rules in ((LIGHT, light), (DARK, dark)):
        for k, pastel in enumerate(paper.pastels):
            assert f".ml-picture .c{k}{{fill:{pastel}}}" in rules
        assert f".ml-picture .paper{{fill:{paper.background}}}" in rules
    hatch = re.search(r'<pattern id="(ml-\w+)"', svg)
    assert hatch is not None
    assert f".{hatch[1]} .p{{fill:url(#{hatch[1]})}}" in dark
    assert f'class="ml-picture {hatch[1]}"' in svg
    dark = dark.replace(f".{hatch[1]} .p", ".ml-picture .p")
    selectors = re.findall(r"[{}]?([^{}]+)\{[^{}]*\}", light + dark)
    assert all(part.startswith(".ml-picture ") for rule in selectors for part in rule.split(",")), (
        "rules leak into the page around"
    )
    assert not re.search(r"(href|src|@import|url\((?!#))", svg.replace("xmlns=", "")), "loads"


def test_long_axes_are_cut_and_the_scale_says_so() -> None:
    picture = ml.draw("bf16[10,200]{1,0:T(8,128)(2,1)}")
    root = parsed(picture)
    columns = {coordinate(c.get("data-c"))[1] for c in groups(root, "cell")}
    assert {0, 127, 128, 199, 200, 255} <= columns
    assert len(columns) < 24
    texts = [t.text or "" for t in root.iter(f"{SVG}text")]
    assert "whole array 10x200 in 16x256, bars: rows and columns shown" in texts
    assert "memory: 4,096 slots, 28 of them shown" in texts
    assert any(p.get("class") == "dots" for p in root.iter(f"{SVG}path"))
    picture = ml.draw("bf16[10,200]{1,0:T(8,128)(2,1)}", max_rows=16, max_columns=256)
    assert len([c for c in groups(parsed(picture), "cell") if c.get("data-c")]) >= 10 * 200
    assert picture.html().count('class="cell"') == 16 * 256


@each_row(
    "text", ["f32[32,32]{1,0:T(8,128)}", "bf16[30,32]{1,0:T(8,128)(2,1)}", "f32[33,32]{1,0:T(8,8)}"]
)
def test_much_padding_is_drawn_by_runs(text: str) -> None:
    """Each slot that NumPy leaves empty is told of once, and the picture stays small."""
    m = ml.index_map(text)
    buffer = pack_array(m.recipe, np.arange(np.prod(m.shape, dtype=int)).reshape(m.shape), -1)
    picture = ml.draw(text, max_rows=64, max_columns=128, max_slots=0)
    assert len(picture.svg()) < 300_000
    told: list[int] = []
    for cell in groups(parsed(picture), "cell"):
        title = only(cell, "title").text or ""
        if found := re.match(r"offsets (\d+) to (\d+)(?: in steps of (\d+))?: padding, ", title):
            first, last, step = (int(n or 1) for n in found.groups())
            told += range(first, last + 1, step)
            assert only(cell, "path").get("class") == "p"
        elif found := re.match(r"offset (\d+): padding, ", title):
            told.append(int(found[1]))
    assert sorted(told) == np.flatnonzero(buffer < 0).tolist()
    assert picture.html().count("is outside\n") == len(told)


def test_slices_are_labelled() -> None:
    texts = [t.text for t in parsed(ml.draw("f32[2,3,4,6]")).iter(f"{SVG}text")]
    assert [t for t in texts if t and t.startswith("d0 =")] == [
        "d0 = 0, d1 = 0", "d0 = 0, d1 = 1", "d0 = 0, d1 = 2", "d0 = 1, d1 = 0",
    ]  # fmt: skip
    assert "and 2 more slices" in texts


def test_32x128_cells_are_all_drawn() -> None:
    svg = ml.draw("bf16[32,128]{1,0:T(8,128)(2,1)}").svg()
    assert svg.count('class="cell"') == 32 * 128
    assert len(svg) < 1_300_000


def test_pictures_of_huge_arrays_are_small() -> None:
    picture = ml.draw(f"u8[{2**62},{2**62},{2**62}]{{2,1,0:T(8,128)(4,1)}}")
    svg, page = picture.svg(), picture.html()
    assert len(svg) < 300_000
    assert len(page) < 1_000_000
    assert str(2**186 - 1) in svg, "the last slot, exactly"


@pytest.mark.slow
def test_pictures_are_the_same_each_time() -> None:
    def drawn() -> Iterator[str]:
        for text, shape in LAYOUTS:
            picture = ml.draw(text, shape)
            yield from (picture.svg(), picture.html(), str(picture))

    assert list(drawn()) == list(drawn())


HOSTILE = "</svg><script>alert(1)</script>\" ' & \x00 \ud800 ]]> \u202e"


def test_hostile_titles_stay_text() -> None:
    m = replace(ml.index_map("f32[3,5]{1,0:T(2,2)}"), source=HOSTILE)
    picture = picture_of([m], Style(), Limits())
    root = parsed(picture)
    assert not list(root.iter(f"{SVG}script"))
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    title = root.find(f"{SVG}title")
    assert (only(root, "title") if title is None else title).text == shown
    assert "<script>alert" not in picture.html()


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 9), min_size=0, max_size=3),
    st.sampled_from(["", "T(2,2)", "T(4)", "T(8,128)(2,1)", "T(2,4)(2,1,1,1)", "T(*,3)"]),
    st.sampled_from(["tile", "word"]),
    st.integers(0, 2),
)
def test_any_layout_is_well_formed(
    shape: list[int], tiles: str, colour: str, box_tiles: int
) -> None:
    order = ",".join(map(str, reversed(range(len(shape)))))
    text = f"bf16[{','.join(map(str, shape))}]{{{order}:{tiles}}}".replace(":}", "}")
    text = text.removesuffix("{}")
    levels = len(levels_of(ml.index_map(text).recipe))
    picture = ml.draw(text, colour=colour, box_tiles=min(box_tiles, levels))
    root = parsed(picture)
    width, height = (float(root.get(name) or "") for name in ("width", "height"))
    for node in root.iter():
        for name, limit in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            if (value := node.get(name)) is not None:
                assert 0 <= float(value) <= limit, ET.tostring(node)
    for node in root.iter(f"{SVG}text"):
        assert room_right_of(node) <= width, f"clipped: {node.text}"
    for node in groups(root, "cell"):
        if 0 not in shape and node.get("data-o") is not None:
            room = float(only(node, "rect").get("width") or "")
            assert all(8 * len(t.text or "") <= room for t in node.findall(f"{SVG}text"))
    assert str(picture)
    assert picture.html().endswith("</html>\n")


SIZES = {"h": 13, "t": 12, "l": 11, "o": 13, "s": 11, "n": 10, "w": 10}


def room_right_of(node: ET.Element) -> float:
    """How far right a text goes in a font whose characters are 0.602 of its size wide."""
    kind = (node.get("class") or "").split()
    length = len(node.text or "") * SIZES[kind[0]] * 0.602
    x = float(node.get("x") or "")
    is_middle = kind[0] in "osnw" or "m" in kind[1:]
    return x + (length / 2 if is_middle else 0 if "e" in kind[1:] else length)


@each_row(("text", "shape"), LAYOUTS)
def test_the_compact_form_is_small_and_says_its_sizes(
    text: str, shape: tuple[int, ...] | None
) -> None:
    svg = compact_svg(ml.index_map(text, shape))
    root = ET.fromstring(svg)
    assert len(svg) < 7000
    assert float(root.get("height") or "") < 110
    assert next(root.iter(f"{SVG}text")).text


def test_the_compact_form_shows_padding_and_tiles() -> None:
    svg = compact_svg(ml.index_map("f32[9,18]{1,0:T(8,128)}"))
    root = ET.fromstring(svg)
    assert [t.text for t in root.iter(f"{SVG}text")] == ["array 9x18 in 16x128"]
    whole, data = [r for r in root.iter(f"{SVG}rect") if r.get("class") in ("p", "c0")]
    share = float(data.get("width") or "") / float(whole.get("width") or "")
    assert share == pytest.approx(18 / 128, abs=0.01)


def test_the_bars_beside_the_whole_array_are_of_its_rows() -> None:
    """Of 64 rows some are left out, so two bars stand beside them; all 8 columns have one."""
    svg = ml.draw("f32[64,8]", max_rows=8).svg()
    (bars,) = re.findall(r'<path class="bar" d="([^"]*)"', svg)
    assert [len(re.findall(mark, bars)) for mark in (r"v4h-", r"h4v-")] == [1, 2]


def test_a_hyphen_does_not_end_a_line_of_a_heading() -> None:
    headings = [_wrapped("ab-cd*d0 + " * 9, width) for width in range(30, 60)]
    assert not [line for lines in headings for line in lines if line.endswith("-")]
