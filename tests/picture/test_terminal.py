"""The picture in a terminal; tests/data/recorded/picture/terminal.txt has whole ones."""

from __future__ import annotations

from itertools import accumulate, pairwise

import morello_layouts as ml
from morello_layouts.outputs.picture import ASCII, UNICODE, fitted_view, terminal_lines, view_of
from tests.support.tables import each_row


def test_ascii_is_ascii() -> None:
    picture = view_of(ml.index_map("bf16[100,200]{1,0:T(8,128)(2,1)}"))
    text = "\n".join(line.plain for line in terminal_lines(picture, ("y", "x"), ASCII))
    assert text.isascii()
    assert "#" in text
    assert "|" in text


def test_colour_only_repeats_the_borders() -> None:
    picture = view_of(ml.index_map("f32[4,4]{1,0:T(2,2)}"))
    for line in terminal_lines(picture, ("y", "x"), UNICODE):
        starts = accumulate((len(text) for text, _ in line.pieces), initial=0)
        styles = [style for _, style in line.pieces]
        cells = [(at, s) for at, s in zip(starts, styles, strict=False) if s not in ("", "dim")]
        for (start, first), (end, second) in pairwise(cells):
            assert (first != second) == ("│" in line.plain[start:end])


@each_row("width", [40, 60, 80, 120, 200])
@each_row(
    ("text", "names"),
    [
        ("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}", "pzyx"),
        ("f32[64,64]{1,0:T(2,2)}", "yx"),
        ("u8[1000000]", "x"),
    ],
)
def test_pictures_fit_the_width(text: str, names: str, width: int) -> None:
    m = ml.index_map(text)
    lines = terminal_lines(fitted_view(m, tuple(names), width), tuple(names))
    longest = max(len(line.plain) for line in lines)
    assert longest <= max(width, 66)
    assert width > 120 or longest > width // 2
