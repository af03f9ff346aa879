"""Wrong tags: the reader that understood most answers, with a caret."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import morello_layouts as ml
from morello_layouts.notations.onednn import OnednnLayout, parse_onednn
from tests.support.tables import each_row

pytestmark = pytest.mark.usefixtures("readers_errors")

FORM = "a oneDNN tag is the order of the dimensions, a capital for each in blocks, then blocks"
EXAMPLE = "write for example aBcd16b or nChw16c"

# The text, and below it the caret; what; what to do, if another than the example.
ERRORS: list[tuple[str, str, str, str]] = [
    ("aBcd16",
     "      ^",
     "expected a letter, found the end of the text", ""),
    ("16b",
     "^",
     "the order of the dimensions: expected a letter for each, got a block",
     "write it before the blocks: aB16b"),
    ("16b16a",
     "^",
     "the order of the dimensions: expected a letter for each, got a block",
     "write it before the blocks: aB16b"),
    ("aBcd16bb",
     "       ^",
     "expected a number or the end of the text, found 'b'", ""),
    ("aBbd16b",
     "  ^",
     "letters: expected abcd, nchw, oihw, goiw, ldnc, ldio or ldgo in any order, got 'aBbd'",
     ""),
    ("aBcd16e",
     "      ^",
     "the letter of a block: expected one of abcd, got 'e'", ""),
    ("aBcd16B",
     "      ^",
     "the letter of a block: expected one of abcd, got 'B'", "write b"),
    ("aBce16b",
     "   ^",
     "letters: expected abcd, nchw, oihw, goiw, ldnc, ldio or ldgo in any order, got 'aBce'",
     ""),
    ("abcd16b",
     " ^",
     "the letter of a dimension in blocks: expected B, got b", "write B"),
    ("aBCd16b",
     "  ^",
     "the letter of a dimension without blocks: expected c, got C", "write c"),
    ("Abcd16b",
     "^",
     "the letter of a dimension without blocks: expected a, got A", "write a"),
    ("any",
     " ^",
     "letters: expected abc, ncw, oiw or tnc in any order, got 'any'", ""),
    ("nchwx",
     "    ^",
     "letters: expected abcde, ncdhw, oidhw, goihw or ldigo in any order, got 'nchwx'", ""),
    ("nCHW16c",
     "  ^",
     "the letter of a dimension without blocks: expected h, got H", "write h"),
    ("nChW16c",
     "   ^",
     "the letter of a dimension without blocks: expected w, got W", "write w"),
    ("nChw16d",
     "      ^",
     "the letter of a block: expected one of nchw, got 'd'", ""),
    ("nCw16c,",
     "      ^",
     "expected a number or the end of the text, found ','", ""),
    ("nChw16c{0}",
     "       ^",
     "expected a number or the end of the text, found '{0}'", ""),
    ("aB cd16b",
     "  ^",
     "expected a letter, a number or the end of the text, found 'cd16b'", ""),
    ("abcdefghijklm",
     "            ^",
     "letters: expected abcdefghijkl in any order, got 'abcdefghijklm'", ""),
    ("acd",
     "  ^",
     "letters: expected abc, ncw, oiw or tnc in any order, got 'acd'", ""),
    ("nch",
     "  ^",
     "letters: expected abc, ncw, oiw or tnc in any order, got 'nch'", ""),
    ("nchww",
     "    ^",
     "letters: expected abcde, ncdhw, oidhw, goihw or ldigo in any order, got 'nchww'", ""),
    ("ldoig16a",
     "       ^",
     "the letter of a block: expected one of ldigo, got 'a'", ""),
    ("ldigO16",
     "       ^",
     "expected a letter, found the end of the text", ""),
    ("OIhw4i16o4",
     "          ^",
     "expected a letter, found the end of the text", ""),
    ("dnnl_nchw",
     "    ^",
     "expected a letter, a number or the end of the text, found '_nchw'",
     "leave a prefix such as dnnl_ out"),
    ("nChw-16c",
     "    ^",
     "expected a letter, a number or the end of the text, found '-16c'", ""),
    ("nChw16.5c",
     "      ^",
     "expected a letter, found '.5c'", ""),
    ("nChw(16c)",
     "    ^",
     "expected a letter, a number or the end of the text, found '(16c)'", ""),
    ("aBcd16b:T(8,128)",
     "       ^",
     "expected a number or the end of the text, found ':T(8,128)'", ""),
]  # fmt: skip


@each_row(("text", "caret", "what", "fix"), ERRORS, ids=[row[0] for row in ERRORS])
def test_the_full_text_of_an_error(text: str, caret: str, what: str, fix: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    error = caught.value
    assert (" " * error.position + "^", error.what, error.fix) == (caret, what, fix or EXAMPLE)
    assert error.why == FORM


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NCHWX", "the names are NHWC and NCHW"),
        ("f32", "an XLA shape is type[sizes]"),
        ("foo[3]", "XLA has its own names for types"),
        ("b(a", "an XLA shape is type[sizes]"),
        ("0 p(4", "a Morello layout lists physical dimensions"),
        ("[a]", "a Morello layout lists physical dimensions"),
        ("nothing", "texts of layouts are: a Morello list"),
    ],
)
def test_other_notations_answer_for_their_own_texts(text: str, why: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.why.startswith(why)


def test_capitals_alone_are_morellos() -> None:
    assert isinstance(ml.parse("NHWC"), ml.MorelloLayout)
    assert isinstance(ml.parse("nhwc"), OnednnLayout)


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (
            lambda: OnednnLayout(()),
            "the number of dimensions: expected an integer from 1 to 12, got 0",
        ),
        (lambda: OnednnLayout((0, 0)), "order: dimension 0 appears twice"),
        (lambda: OnednnLayout((0, 2)), "order: expected dimensions 0 to 1, got 2"),
        (
            lambda: OnednnLayout(tuple(range(13))),
            "the number of dimensions: expected an integer from 1 to 12, got 13",
        ),
        (
            lambda: OnednnLayout((0,), ((1, 8),)),
            "a block's dimension: expected an integer from 0 to 0, got 1",
        ),
        (
            lambda: OnednnLayout((0,), ((0, True),)),
            "a block's size: expected an integer from 1, got True",
        ),
        (
            lambda: OnednnLayout((0, 1, 2), (), "nc"),
            "the number of dimensions: expected an integer from 1 to 2, got 3",
        ),
        (lambda: ml.index_map("aBcd16b", (2, 3)), "aBcd16b: expected 4 sizes, got 2"),
        (
            lambda: ml.index_map("A" + "2a" * 101, (8,)),
            "the number of blocks: expected an integer from 0 to 100, got 101",
        ),
    ],
)
def test_values(build: Callable[[], object], what: str) -> None:
    with pytest.raises(ml.LayoutError) as caught:
        build()
    assert caught.value.what == what
    assert caught.value.fix


def test_numbers_in_errors_are_where_the_text_has_them() -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse("aBcd16b0b")
    assert (caught.value.position, caught.value.fix) == (7, "give an int from 1")
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(f"aB{2**63}b")
    assert caught.value.position == 2


TEN_KB = 10_000
LONG = {
    "letters": "a" * TEN_KB,
    "an alphabet": "abcdefghijkl" * (TEN_KB // 12),
    "capitals": "ABCD" * (TEN_KB // 4),
    "digits": "1" * TEN_KB + ".",
    "blocks alone": "2a" * (TEN_KB // 2),
    "blocks": "A" + "2a" * (TEN_KB // 2),
    "a long size": "A" + "9" * TEN_KB + "a",
    "blocks of another letter": "A" + "2a" * (TEN_KB // 2) + "2b",
    "a wrong end": "aB" + "16b" * (TEN_KB // 3) + "!",
    "spaces": "aB" + " " * TEN_KB + "16b",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_ten_kilobytes_are_read_or_refused(name: str) -> None:
    for reader in (parse_onednn, ml.parse):
        with pytest.raises(ml.LayoutError):
            reader(LONG[name])
