"""The picture in a terminal, character by character."""

from __future__ import annotations

from itertools import pairwise

import morello_layouts as ml
from morello_layouts.outputs.picture import ASCII, UNICODE, fitted_view, terminal_lines, view_of
from tests.support.tables import each_row


def drawn(text: str, shape: tuple[int, ...] | None = None, names: str = "yx", **more: int) -> str:
    picture = view_of(ml.index_map(text, shape), **more)
    return "\n".join(line.plain for line in terminal_lines(picture, tuple(names)))


def test_figure_1() -> None:
    assert drawn("f32[3,5]{1,0:T(2,2)}") == (
        "y ↓ x →  0  1 │  2  3 │  4  5\n"
        "      0  0  1 │  4  5 │  8 ░░\n"
        "      1  2  3 │  6  7 │ 10 ░░\n"
        "       ───────┼───────┼──────\n"
        "      2 12 13 │ 16 17 │ 20 ░░\n"
        "      3 ░░ ░░ │ ░░ ░░ │ ░░ ░░\n"
        "░ padding"
    )


def test_figure_2() -> None:
    assert drawn("bf16[4,8]{1,0:T(2,4)(2,1)}") == (
        "y ↓ x →  0  1  2  3 │  4  5  6  7\n"
        "      0  0  2  4  6 │  8 10 12 14\n"
        "      1  1  3  5  7 │  9 11 13 15\n"
        "       ─────────────┼────────────\n"
        "      2 16 18 20 22 │ 24 26 28 30\n"
        "      3 17 19 21 23 │ 25 27 29 31"
    )


def test_the_book_s_packed_matrix() -> None:
    assert drawn("[1, 0, 1 p(4)]", (6, 8)) == (
        "y ↓ x →  0  1  2  3 │  4  5  6  7\n"
        "      0  0  1  2  3 │ 24 25 26 27\n"
        "      1  4  5  6  7 │ 28 29 30 31\n"
        "      2  8  9 10 11 │ 32 33 34 35\n"
        "      3 12 13 14 15 │ 36 37 38 39\n"
        "      4 16 17 18 19 │ 40 41 42 43\n"
        "      5 20 21 22 23 │ 44 45 46 47"
    )


def test_long_axes_are_cut_around_the_first_border() -> None:
    text = "bf16[10,200]{1,0:T(8,128)(2,1)}"
    assert drawn(text, max_rows=10, max_columns=10) == (
        "y ↓ x →    0    1    …  127 │  128    …  199  200    …  255\n"
        "      0    0    2    …  254 │ 1024    … 1166 ░░░░    … ░░░░\n"
        "      1    1    3    …  255 │ 1025    … 1167 ░░░░    … ░░░░\n"
        "      …    ⋮    ⋮    ⋮    ⋮ │    ⋮    ⋮    ⋮    ⋮    ⋮    ⋮\n"
        "      7  769  771    … 1023 │ 1793    … 1935 ░░░░    … ░░░░\n"
        "       ─────────────────────┼──────────────────────────────\n"
        "      8 2048 2050    … 2302 │ 3072    … 3214 ░░░░    … ░░░░\n"
        "      9 2049 2051    … 2303 │ 3073    … 3215 ░░░░    … ░░░░\n"
        "     10 ░░░░ ░░░░    … ░░░░ │ ░░░░    … ░░░░ ░░░░    … ░░░░\n"
        "      …    ⋮    ⋮    ⋮    ⋮ │    ⋮    ⋮    ⋮    ⋮    ⋮    ⋮\n"
        "     15 ░░░░ ░░░░    … ░░░░ │ ░░░░    … ░░░░ ░░░░    … ░░░░\n"
        "░ padding"
    )


def test_staggered_borders_stand_where_tiles_end() -> None:
    picture = drawn("f32[2,2,5]{2,1,0:T(2,*,3)}", names="zyx", max_slices=1)
    assert picture.splitlines()[:4] == [
        "z=0",
        "y ↓ x →  0    1  2    3    4",
        "      0  0    1  2 │  6    7",
        "       ────┼───────┼────┼───",
    ]
    assert picture.splitlines()[4] == "      1  8 │ 12 13   14 │ 18"


def test_rank_0_and_1() -> None:
    assert drawn("f32[]", names="") == " 0"
    assert drawn("0 oe(4)", (4,), names="x") == "x → 0 1 2 3\n    0 2 1 3"


def test_slices_are_named_and_counted() -> None:
    picture = drawn("f32[3,1,1,2]", names="pzyx", max_slices=2)
    assert picture == (
        "p=0, z=0\ny ↓ x → 0 1\n      0 0 1\np=1, z=0\ny ↓ x → 0 1\n      0 2 3\n1 more slice"
    )


def test_ascii_is_ascii() -> None:
    picture = view_of(ml.index_map("bf16[100,200]{1,0:T(8,128)(2,1)}"))
    text = "\n".join(line.plain for line in terminal_lines(picture, ("y", "x"), ASCII))
    assert text.isascii()
    assert "#" in text
    assert "|" in text


def test_colour_only_repeats_the_borders() -> None:
    picture = view_of(ml.index_map("f32[4,4]{1,0:T(2,2)}"))
    for line in terminal_lines(picture, ("y", "x"), UNICODE):
        cells = [(span.start, str(span.style)) for span in line.spans if span.style != "dim"]
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
