"""Errors of the parsers, by their full text: what, the text with a caret, why, what to do."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from morello_layouts.core.description import listed
from morello_layouts.notations.registry import NOTATIONS as TABLE
from tests.support.tables import each_row

pytestmark = pytest.mark.usefixtures("readers_errors")

SHAPE_FORM = (
    "an XLA shape is type[sizes]{minor_to_major:attributes}, "
    "attributes in the order D T L # * E S SC M"
)
LAYOUT_FORM = (
    "an XLA layout is {minor_to_major:attributes}, attributes in the order D T L # * E S SC M"
)
EXAMPLE = "write for example bf16[10,200]{1,0:T(8,128)(2,1)}"
NOTATIONS = (
    f"texts of layouts are: {listed([each.title for each in TABLE])}",
    f"write for example {', '.join(each.example for each in TABLE if len(each.example) <= 40)}",
)
BESIDE = 'write it out, or give sizes beside the layout: "{0}", ("8*N",)'
ORDER = (
    "an order names each dimension once, from 0",
    "name each dimension once, the fastest varying first, such as (1, 0)",
)
ONEDNN = (
    "a oneDNN tag is the order of the dimensions, a capital for each in blocks, then blocks",
    "write for example aBcd16b or nChw16c",
)
RANK = (
    "minor_to_major names every dimension once",
    "order the dimensions 0 to 1, the fastest varying first",
)
TYPES = "XLA has its own names for types, all in lower case"
TILE = "a tile holds at least one element in each dimension"
TILE_FIX = "write a size from 1, or '*' (COMBINE) to join the next more minor dimension"
LAST_STAR = (
    "'*' combines a dimension with the next more minor one, and there is none",
    "end the tile with a size",
)
HUGE = ("numbers here are signed 64-bit integers", "write at most 9223372036854775807")
NO_ARRAY = "it is not an array"
ATTRIBUTES = "'#', '*', '}', D(…), E(…), L(…), M(…), S(…), SC(…) or T(…)"

# The text, and below it the caret; what; why; what to do.
ERRORS: list[tuple[str, str, str, str, str]] = [
    # Order of dimensions.
    ("f32[2,3]{1,1}",
     "           ^", "minor_to_major: dimension 1 appears twice",
     *ORDER),
    ("f32[2,3]{0,2}",
     "           ^", "minor_to_major: expected dimensions 0 to 1, got 2",
     *ORDER),
    ("f32[2,3]{1}",
     "        ^", "minor_to_major: expected 2 dimensions, got 1", *RANK),
    ("f32[2,3]{2,1,0}",
     "        ^", "minor_to_major: expected 2 dimensions, got 3", *RANK),
    ("f32[2,3]{:T(8,128)}",
     "        ^", "minor_to_major: expected 2 dimensions, got 0", *RANK),
    ("f32[]{0}",
     "     ^", "minor_to_major: expected 0 dimensions, got 1", RANK[0],
     "leave a scalar's layout out, or begin it with ':'"),
    # Tiles.
    ("f32[2,3]{1,0:T(0,128)}",
     "               ^", "a tile size: expected an integer from 1, got 0", TILE, TILE_FIX),
    ("f32[2,3]{1,0:T(8,128)(2,0)}",
     "                        ^", "a tile size: expected an integer from 1, got 0", TILE, TILE_FIX),
    ("f32[2,3]{1,0:T()}",
     "              ^", "the tile has no sizes",
     "a tile acts on the last dimensions, one size for each",
     "write at least one size, such as T(128), or leave the tile out"),
    ("f32[2,3]{1,0:T(-1,8)}",
     "               ^", "a tile size: expected an integer from 1, got -1", TILE,
     "XLA's document writes -1 for a combined dimension; in text it is '*'"),
    ("f32[2,3]{1,0:T(8,*)}",
     "                 ^", "'*' is in the tile's last place", *LAST_STAR),
    ("f32[2,3]{1,0:T(8,∗)}",
     "                 ^", "'*' is in the tile's last place", *LAST_STAR),
    ("f32[2,3]{1,0:T(8,128}",
     "                    ^", "expected ')' or ',', found '}'", SHAPE_FORM, EXAMPLE),
    ("f32[2,3]{1,0:T(8,128)(2,1)",
     "                          ^",
     "expected '#', '(', '*', '}', E(…), L(…), M(…), S(…) or SC(…), found the end of the text",
     SHAPE_FORM, EXAMPLE),
    # Other attributes.
    ("f32[2,3]{1,0:E(-4)}",
     "               ^", "element_size_in_bits: expected an integer from 0, got -4",
     "", "give an int from 0"),
    ("f32[2,3]{1,0:S(-1)}",
     "               ^", "memory_space: expected an integer from 0, got -1",
     "", "give an int from 0"),
    ("f32[2,3]{1,0:T(8,128)L(0)}",
     "                       ^",
     "tail_padding_alignment_in_elements: expected an integer from 1, got 0",
     "", "give an int from 1"),
    ("f32[2,3]{1,0:T(8,128)L(-8)}",
     "                       ^",
     "tail_padding_alignment_in_elements: expected an integer from 1, got -8",
     "", "give an int from 1"),
    ("f32[2,3]{1,0:SC(5:24)}",
     "                ^", "SC: expected one of 2 dimensions, got dimension 5",
     "SC names a physical dimension, 0 the most major", "name a dimension from 0 to 1"),
    ("f32[2,3]{1,0:SC(0:0)}",
     "                  ^", "split index 0: expected an integer from 1, got 0", "",
     "start a new piece at 1 or more"),
    ("f32[2,3]{1,0:#(U32)}",
     "               ^", "'U32' is not an XLA element type", TYPES, "write u32"),
    ("f32[2,3]{1,0:S(1)T(8,128)}",
     "                 ^", "expected '}', M(…) or SC(…), found 'T(8,128)}'", SHAPE_FORM, EXAMPLE),
    ("f32[2,3]{1,0:Z(1)}",
     "             ^", f"expected {ATTRIBUTES}, found 'Z(1)}}'", SHAPE_FORM, EXAMPLE),
    # Element types and sizes.
    ("Bf16[3,5]{1,0}",
     "^", "'Bf16' is not an XLA element type", TYPES, "write bf16"),
    ("bool[3]",
     "^", "'bool' is not an XLA element type", TYPES, "write pred"),
    ("int8[3]",
     "^", "'int8' is not an XLA element type", TYPES, "write s8"),
    ("bfloat16[3]",
     "^", "'bfloat16' is not an XLA element type", TYPES, "write bf16"),
    ("opaque[3]",
     "       ^", "opaque has no dimensions and no layout", NO_ARRAY, "write opaque[]"),
    ("token[]{:S(1)}",
     "       ^", "token has no dimensions and no layout", NO_ARRAY, "write token[]"),
    ("f32[2,-3]",
     "      ^", "expected '<=', '?', a name or a number, found '-3]'", SHAPE_FORM, EXAMPLE),
    ("f32[3,99999999999999999999]",
     "      ^", "the number is too large", *HUGE),
    ("f32[9223372036854775808]",
     "    ^", "the number is too large", *HUGE),
    ("f32[2]{0:T(99999999999999999999)}",
     "           ^", "the number is too large", *HUGE),
    # '{}' and the text's ends.
    ("f32[2,3]{}",
     "        ^", "expected a layout '{…}' or the end of the text, found '{}'",
     SHAPE_FORM, "'{}' alone is not a layout: leave it out"),
    ("{}",
     "^", "expected a layout '{…}', found '{}'",
     LAYOUT_FORM, "'{}' alone is not a layout: leave it out"),
    ("f32[2,3",
     "       ^", "expected ',' or ']', found the end of the text", SHAPE_FORM, EXAMPLE),
    ("f32",
     "   ^", "expected '[', found the end of the text", SHAPE_FORM, EXAMPLE),
    ("f32[2]{0}{0}",
     "         ^", "expected the end of the text, found '{0}'", SHAPE_FORM, EXAMPLE),
    ("{1,0:T(8,128)} f32",
     "               ^", "expected the end of the text, found 'f32'", LAYOUT_FORM,
     "write for example {1,0:T(8,128)(2,1)}"),
    ("(f32[2] s32[])",
     "        ^", "expected ')', ',' or a layout '{…}', found 's32[])'", SHAPE_FORM, EXAMPLE),
    ("b((f32[3]))",
     "  ^", "expected an element type (f32, bf16, s8, pred, …), found '(f32[3]))'",
     SHAPE_FORM, EXAMPLE),
    ("f32[2]/*index=1",
     "      ^", "expected a layout '{…}' or the end of the text, found '/*index=1'",
     SHAPE_FORM, "a comment ends with */"),
    # Sizes are numbers or names, in the text.
    ("f32[8*N]{0}",
     "     ^", "expected ',' or ']', found '*N]{0}'", SHAPE_FORM, BESIDE),
    ("f32[N + 1]",
     "      ^", "expected ',' or ']', found '+'", SHAPE_FORM, BESIDE),
    ("{1,0:T(8*2)}",
     "        ^", "expected ')' or ',', found '*2)}'", LAYOUT_FORM, BESIDE),
    # Text that is not a layout at all.
    ("  ∗",
     "  ^", "no layout begins like this", *NOTATIONS),
    ("float32",
     "^", "expected a layout, got the type of its elements",
     "an XLA shape is a type and the sizes of the array", "write for example f32[3,5]"),
    ("hello",
     " ^",
     "letters: expected abcde, ncdhw, oidhw, goihw or ldigo in any order, got 'hello'",
     *ONEDNN),
    ("  N",
     "  ^", "no layout begins like this", *NOTATIONS),
]  # fmt: skip


@each_row(("text", "caret", "what", "why", "fix"), ERRORS, ids=[row[0] for row in ERRORS])
def test_the_full_text_of_an_error(text: str, caret: str, what: str, why: str, fix: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    lines = (what, f"  {text}", f"  {caret}", why, fix)
    assert str(caught.value) == "\n".join(line for line in lines if line)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("7*(d0 % 2) + 2*d1", "7*(d0 % 2) + 2*d1"),
        ("d0//2", "d0//2"),
        ("(i + j)*2", "(i + j)*2"),
        ("floor(i/2)\n + j", "floor(i/2) + j"),
        ("+".join(["d0"] * 20), "+".join(["d0"] * 20)),
        ("+".join(["d0"] * 21), "…"),
    ],
)
def test_formulas_are_no_layouts_whatever_they_begin_with(text: str, shown: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.what == "expected a layout, got a formula"
    assert caught.value.position == 0
    assert caught.value.fix == (
        f'give the map of the formula: from_sympy({{"shape": …}}, "{shown}")'
    )


@pytest.mark.parametrize("text", ["hello", "8*d0 + ", "+".join(["d0"] * 334)])
def test_what_is_no_formula_either_is_told_what_a_layout_is(text: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert "formula" not in str(caught.value)


def test_the_caret_on_a_later_line() -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse("(f32[2],\n s32[3]{1})")
    assert (caught.value.line, caught.value.column) == (2, 9)
    assert caught.value.pointer() == "   s32[3]{1})\n          ^"


def test_tuples_nested_too_deep() -> None:
    ml.parse("(" * 100 + ")" * 100)
    with pytest.raises(ml.ParseError) as caught:
        ml.parse("(" * 101 + ")" * 101)
    assert caught.value.what == "tuples nest deeper than 100"
    assert caught.value.position == 100
    assert caught.value.why == "no program does that, and reading it would take long"
    assert caught.value.fix == "read the inner shapes by themselves"


@each_row(
    ("text", "what", "position"),
    [
        ("(" * 10_000, "parentheses nest deeper than 100", 100),
        ("{" + "1," * 5_000, "the brackets: expected up to 2,000 characters, got more", 0),
        ("f32[" + "1," * 5_000, "the brackets: expected up to 2,000 characters, got more", 3),
        (
            "f32[2]{0:T" + "(1)" * 3_000,
            "the brackets: expected up to 2,000 characters, got more",
            6,
        ),
        ("[" + "0, " * 5_000, "the text: expected up to 2,000 characters, got 15,001", 2_000),
    ],
    ids=["tuples", "order", "sizes", "tiles", "list"],
)
def test_long_parts_are_refused_before_they_are_read(text: str, what: str, position: int) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert (caught.value.what, caught.value.position) == (what, position)


def test_a_long_tuple_is_read() -> None:
    parsed = ml.parse(f"({', '.join(['f32[8,128]{1,0:T(8,128)}'] * 1000)})")
    assert str(parsed).count("f32") == 1000


@pytest.mark.parametrize("value", [None, 3, b"f32[2]", [10**20], ["f32[2]"]])
def test_only_text_is_parsed(value: object) -> None:
    with pytest.raises(ml.LayoutError, match=r"expected a str, got .*\ngive a str"):
        ml.parse(value)


def test_an_unknown_type_without_a_likely_meaning_lists_them_all() -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse("c32[3]")
    assert caught.value.fix.startswith("write one of pred, s1, s2, ")
    assert caught.value.fix.endswith(", f8e8m0fnu")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("chanels_last", "channels_last"),
        ("row major", "row-major"),
        ("channelslast", "channels_last"),
        ("mx128x5", "mx128x4"),
    ],
)
def test_the_nearest_name_is_the_remedy(text: str, name: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.fix == f"the nearest name is {name}"
    ml.parse(name)


@pytest.mark.parametrize("text", ["HloModule m", "  hello world"])
def test_words_are_not_a_tag(text: str) -> None:
    with pytest.raises(ml.ParseError, match="no layout begins like this"):
        ml.parse(text)
