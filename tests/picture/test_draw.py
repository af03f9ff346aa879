"""``ml.draw``: what it takes, what it refuses, the formats it writes."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.picture import picture as png
from morello_layouts.outputs.picture.picture import png_of
from morello_layouts.outputs.picture.svg_parts import scale_of
from tests.support.paths import ROOT


def test_a_layout_may_come_in_any_form() -> None:
    layout = ml.parse("[1, 0, 1 p(4)]")
    m = ml.index_map(layout, (6, 8))
    pictures = [
        ml.draw(m),
        ml.draw(layout, (6, 8)),
        ml.draw("[1, 0, 1 p(4)]", [6, 8]),
        ml.draw("[1, 0, 1 p(4)]", shape=(6, 8)),
    ]
    assert len({picture.svg() for picture in pictures}) == 1
    assert len(ml.draw("[1, 0]", "[0, 1]", (6, 8)).panels) == 2
    assert len(ml.draw("f32[6,8]", "{0,1}").panels) == 2


def test_the_formula_may_be_left_to_guess() -> None:
    told, asked = (ml.draw("[0, 1]", (4, 6), formula=shown) for shown in (True, False))
    for show in (str, ml.Picture.svg):
        assert "6*d0 + d1" in show(told)
        assert "6*d0 + d1" not in show(asked)
        assert "[0, 1] at 4x6" in show(asked)


def test_a_formula_is_drawn() -> None:
    formula = ml.from_sympy({"shape": (6, 8)}, "24*(d1//4) + 4*d0 + d1%4")
    right = ml.draw("[1, 0, 1 p(4)]", (6, 8)).text().splitlines()[2:]
    assert ml.draw(formula).text().splitlines()[2:] == right


def test_symbolic_sizes_can_be_given() -> None:
    m = ml.index_map("f32[M,N]{1,0:T(2,2)}").at(M=3, N=5)
    assert 'data-c="2,3" data-o="17"' in ml.draw(m).svg()


def test_words_know_their_element_types() -> None:
    by_text = ml.draw("bf16[4,8]{1,0:T(2,4)(2,1)}", colour="word")
    by_map = ml.draw(ml.index_map("bf16[4,8]{1,0:T(2,4)(2,1)}"), colour="word")
    given = ml.draw("[0, 1]", (4, 8), colour="word", element_bits=16)
    assert by_text.svg() == by_map.svg()
    assert given.panels[0].word_text(5) == "w2"
    ml.index_map("{1,0:T(2,4)(2,1)}", (4, 8))
    wide = ml.draw("f64[4]", colour="word")
    assert wide.panels[0].word_text(1) == "w2-3"
    narrow = ml.draw("s4[16]{0:E(4)}", colour="word")
    assert narrow.panels[0].word_text(8) == "w1"


def test_it_is_saved_by_the_ending(tmp_path: Path) -> None:
    picture = ml.draw("f32[3,5]{1,0:T(2,2)}")
    for name, content in (("x.svg", picture.svg()), ("x.html", picture.html())):
        picture.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == content
    picture.save(str(tmp_path / "x.TXT"))
    assert (tmp_path / "x.TXT").read_text(encoding="utf-8") == f"{picture}\n"
    for name in ("x.bmp", "x", "nowhere/x.svg", "\0.svg"):
        with pytest.raises(ml.LayoutError):
            picture.save(tmp_path / name)


def is_png(data: bytes, width: float) -> bool:
    return data[:8] == b"\x89PNG\r\n\x1a\n" and abs(struct.unpack(">I", data[16:20])[0] - width) < 3


@pytest.mark.slow
def test_png_uses_an_installed_converter() -> None:
    svg = ml.draw("f32[3,5]{1,0:T(2,2)}").svg()
    try:
        data = png_of(svg, 2)
    except ml.UnsupportedError as error:
        pytest.skip(error.what)
    assert is_png(data, 2 * png.size_of(svg)[0])


@pytest.mark.slow
def test_pdf_is_one_page_of_the_pictures_size() -> None:
    picture = ml.draw("f32[3,5]{1,0:T(2,2)}")
    try:
        data = picture.pdf()
    except ml.UnsupportedError as error:
        pytest.skip(error.what)
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) <= 1  # none if objects are compressed


@pytest.mark.slow
def test_png_by_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    if not any(map(shutil.which, ("rsvg-convert", *png._BROWSERS))):
        pytest.skip("neither rsvg-convert nor chromium is installed")
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    svg = ml.draw("f32[3,5]{1,0:T(2,2)}").svg()
    assert is_png(png_of(svg, 1), png.size_of(svg)[0])


def test_png_without_a_converter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setattr(png.shutil, "which", lambda _: None)
    with pytest.raises(ml.UnsupportedError, match="pip install cairosvg"):
        ml.draw("f32[3]").png()
    with pytest.raises(ml.LayoutError, match="scale"):
        ml.draw("f32[3]").png(0)


def test_a_converter_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "rsvg-convert"
    broken.write_text("#!/bin/sh\necho no paper >&2\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ml.LayoutError, match="no paper"):
        ml.draw("f32[3]").png()


@pytest.mark.slow
def test_the_figures_are_up_to_date() -> None:
    """docs/figures, the README's picture among them; the same command writes them anew."""
    run = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_terminal_shows_marks_and_memory() -> None:
    assert str(ml.draw("f32[3]{0:T(2)}", dots=[(1,)], boxes=[(2,)])) == (
        "f32[3]{0:T(2)}\n"
        "(d0) -> d0\n"
        "d0 →  0  1 │  2  3\n"
        "      0 •1 │ ▫2 ░░\n"
        "░ padding\n"
        "memory 0 1 │ 2 3\n"
        "       0 1 │ 2 ░\n"
        "• (1) lies at offset 1\n"
        "▫ (2) lies at offset 2"
    )


def test_lines_of_memory_begin_without_a_border() -> None:
    memory = str(ml.draw("f32[3,5]{1,0:T(2,2)}")).splitlines()[-4:]
    assert [line[7:10] for line in memory] == ["  0", "0,0", " 12", "2,0"]


@pytest.mark.parametrize("width", [60, 100, 140])
def test_the_terminal_picture_fits(width: int) -> None:
    for text in ("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", "f32[64,64]{1,0:T(2,2)}", "u8[100000]"):
        lines = ml.draw(text).text(width).splitlines()
        assert max(map(len, lines)) <= width + 4
        assert len(lines) < 60


def test_a_swizzle_is_drawn_beside_itself_without_it() -> None:
    picture = ml.draw("Sw<3,3,3> o 0 o (8,64):(64,1)", max_slots=0)
    plain, swizzled = picture.panels
    assert np.array_equal(plain.map.table(), np.arange(512).reshape(8, 64))
    colours = [
        [[panel.colour(cell) for _, _, cell in grid.shown()] for grid in panel.view.grids]
        for panel in (plain, swizzled)
    ]
    before, after = np.reshape(np.array(colours, dtype=int), (2, 8, 8, 8))
    assert (before == before[:1]).all()  # a column has one colour
    rows, columns = np.indices((8, 8))
    assert (after == before[0][rows ^ columns]).all()


def test_wide_panels_stand_one_below_the_other() -> None:
    def size(*layouts: str) -> tuple[float, float]:
        return png.size_of(ml.draw(*layouts, (8, 64), max_slots=0).svg())

    one, two = size("[0, 1]"), size("[0, 1]", "[1, 0]")
    assert two[0] < 1.2 * one[0]
    assert two[1] > 1.8 * one[1]
    first = re.search(r'<text class="h" x="[\d.]+" y="([\d.]+)"', ml.draw("[0, 1]", (8, 64)).svg())
    assert first is not None
    assert float(first[1]) < 14 + 18, "the first lies at the margin"


def test_an_array_of_one_dimension_is_one_row() -> None:
    assert str(scale_of(ml.index_map("f32[7]{0:T(4)}"))) == "7 in 8"
