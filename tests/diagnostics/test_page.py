"""The pages that reports write."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape
from html.parser import HTMLParser

import pytest

import morello_layouts as ml
from morello_layouts.programs.report import tile_drawing
from tests.diagnostics.test_oom import WHOLE
from tests.support.diagnosed_programs import diagnosis, module

VOID = {"meta", "line", "rect"}
NASTY = '<script>alert("x")</script>&amp;\'{}'


class Tree(HTMLParser):
    """Checks that elements nest, and notes what there is."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


PAGES: dict[str, Callable[[], str]] = {
    "diagnosis": lambda: diagnosis("v5e_small_second_minor").html(),
    "comparison": lambda: ml.compare_hlo(module("v3_scan_while"), module("v5e_scan_while")).html(),
    "oom": lambda: ml.read_oom(WHOLE).html(),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_loads_nothing(name: str) -> None:
    page = PAGES[name]()
    tree = Tree(page)
    assert page.startswith("<!DOCTYPE html>\n<html lang=")
    assert (
        tree.counts["script"] == tree.counts["body"] == tree.counts["title"] - _drawings(tree) == 1
    )
    assert {key for key, _ in tree.attributes}.isdisjoint({"src", "href", "onclick", "onload"})
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"] * _drawings(tree)
    assert "@import" not in page
    assert re.findall(r"url\(([^)]*)\)", page) == ["#padding"] * page.count("url(")
    assert "prefers-color-scheme:dark" in page


def _drawings(tree: Tree) -> int:
    return tree.counts.get("svg", 0)


def test_each_wasteful_layout_has_a_drawing() -> None:
    report = diagnosis("v5e_small_second_minor")
    assert len(report.wasteful) == _drawings(Tree(report.html())) == 5
    for array in report.wasteful:
        assert f"<title>tiles of {array.waste.shape}</title>" in report.html()


def test_cells_sort_by_numbers() -> None:
    page = PAGES["diagnosis"]()
    cells = re.findall(r'<td class="n" data-value="([^"]*)">([^<]*)</td>', page)
    assert len(cells) > 50
    for value, text in cells:
        if text.endswith(" KiB"):
            assert float(text.removesuffix(" KiB").replace(",", "")) == pytest.approx(
                float(value) / 1024, abs=0.006
            )
    for table in page.split("<table>")[1:]:
        columns = len(re.findall("<th[ >]", table))
        for body in table.split("</table>")[0].split("<tbody>")[1:]:
            assert body.count("data-value=") == columns


def test_text_of_the_program_is_escaped() -> None:
    text = (
        f"HloModule {'m'}\n"
        "ENTRY %main (a: f32[7,3]) -> f32[7,3] {\n"
        "  %a = f32[7,3]{1,0:T(8,128)} parameter(0), "
        'metadata={op_name="x" source_file="<script>alert(1)</script>&amp;" source_line=3}\n'
        "  ROOT %c = f32[7,3]{1,0} copy(%a), "
        'metadata={source_file="<img src=x>" source_line=4}\n}\n'
    )
    report = ml.diagnose(text)
    assert "<script>alert(1)</script>&amp;:3" in str(report)
    for page in (report.html(), report._repr_html_()):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert escape("<script>alert(1)</script>&amp;:3") in page
        assert escape("<img src=x>:4") in page


def test_text_of_an_oom_report_is_escaped() -> None:
    nasty = f"1. Size: 4.0K\n Shape: {NASTY}\n XLA label: {NASTY} = x\n Allocation type: {NASTY}\n"
    report = ml.read_oom(nasty)
    page = report.html()
    assert "<script>alert" not in page
    assert NASTY in unescape(page)
    Tree(page)


def test_a_fragment_has_no_script() -> None:
    for report in (diagnosis("v3_conv"), ml.read_oom(WHOLE)):
        fragment = report._repr_html_()
        assert Tree(fragment).counts.get("script", 0) == 0
        assert fragment.startswith('<div class="layouts">')
        assert fragment in report.html()


@pytest.mark.parametrize(
    ("text", "words", "tiles"),
    [
        (
            "f32[9,18]{1,0:T(8,128)}",
            "columns: dimension 1: 18 of 128; rows: dimension 0: 9 of 16",
            2,
        ),
        (
            "f32[9,18]{0,1:T(8,128)}",
            "columns: dimension 0: 9 of 128; rows: dimension 1: 18 of 24",
            3,
        ),
        (
            "f32[900,800]{1,0:T(8,128)}",
            "columns: dimension 1: 800 of 896; rows: dimension 0: 900",
            9,
        ),
        ("bf16[35]{0:T(256)(128)(2,1)}", "columns: dimension 0: 35 of 256", 1),
        (
            "pred[8,128]{1,0:T(8,128)E(32)}",
            "1: 128 of 128; rows: dimension 0: 8 of 8; elements: 8",
            1,
        ),
        ("f32[18]{0:T(8,128)}", "rows: no dimension: 1 of 8", 1),
        (
            "f32[5,1,1,7]{3,0,2,1:T(8,128)}",
            "columns: dimension 3: 7 of 128; rows: dimension 0: 5",
            1,
        ),
    ],
)
def test_drawings(text: str, words: str, tiles: int) -> None:
    drawing = tile_drawing(ml.parse(text))
    assert words in drawing
    assert drawing.count("<g>") == tiles
    assert drawing.count(f'fill-opacity="{"0.25" if "E(32)" in text else "1"}"') == tiles
    Tree(drawing)


def test_the_drawn_part_of_a_tile_is_the_part_with_data() -> None:
    drawing = tile_drawing(ml.parse("f32[2,32]{1,0:T(8,128)}"))
    (whole, data) = re.findall(r'width="([\d.]+)" height="([\d.]+)"(?: class| fill="url)', drawing)
    assert float(data[0]) / float(whole[0]) == pytest.approx(32 / 128)
    assert float(data[1]) / float(whole[1]) == pytest.approx(2 / 8)


@pytest.mark.parametrize(
    "text",
    ["f32[8]{0}", "f32[]{:T(128)}", "f32[0,8]{1,0:T(8,128)}", "f32[2,8,9]{2,1,0:T(*,8)}", "token[]",
     "f32[N,8]{1,0:T(8,128)}"],
)  # fmt: skip
def test_nothing_is_drawn_without_tiles(text: str) -> None:
    assert tile_drawing(ml.parse(text)) == ""
