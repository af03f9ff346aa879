"""Wrong texts of TVM, each with its caret, what is wrong, and what to do."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from tests.support.tables import each_row

pytestmark = pytest.mark.usefixtures("readers_errors")

EXAMPLE = "write for example lambda i, j: (i//8, j, i%8)"

# The text, and below it the caret; what is wrong; what to do, if not the example.
ERRORS = [
    ("lambda",
     "      ^",
     "expected a name, found the end of the text", ""),
    ("lambda i",
     "        ^",
     "expected ',' or ':', found the end of the text", ""),
    ("lambda i: (i",
     "            ^",
     "expected ')' or ',', found the end of the text", ""),
    ("lambda i: i)",
     "           ^",
     "expected the end of the text, found ')'", ""),
    ("lambda i, i: (i,)",
     "          ^",
     "parameter i appears twice", ""),
    ("lambda i: (j,)",
     "           ^",
     "j is not a parameter: expected i", ""),
    ("lambda i j: (i, j)",
     "         ^",
     "expected ',' or ':', found 'j:'", ""),
    ("lambda: (0,)",
     "      ^",
     "expected a name, found ':'", ""),
    ("lambda *i: i",
     "       ^",
     "expected a name, found '*i:'", ""),
    ("lambda i=1: (i,)",
     "        ^",
     "expected ',' or ':', found '=1:'", ""),
    ("lambda i: i*i",
     "            ^",
     "(i) * (i) is a product of two variables", "multiply by a number"),
    ("lambda i: (i//0,)",
     "              ^",
     "(i) // (0)", "write another divisor"),
    ("lambda i, j: (i%j,)",
     "                ^",
     "j is not a divisor", "divide by a number"),
    ("lambda i: (i/4,)",
     "            ^",
     "this quotient is not always an integer",
     "write // for division that rounds down, or floor(a/b)"),
    ("lambda i: (4//i,)",
     "              ^",
     "i is not a divisor", "divide by a number"),
    ("lambda i: (i if i else 0,)",
     "             ^",
     "expected ')', ',' or an operator, found 'if'", ""),
    ("lambda i: i.x",
     "           ^",
     ("expected an operator or the end of the text, "
     "found '.x'"), ""),
    ("lambda i: f(i)",
     "           ^",
     ("expected an operator or the end of the text, "
     "found '(i)'"), ""),
    ("lambda i: (i**2,)",
     "           ^",
     "(i) * (i) is a product of two variables", "multiply by a number"),
    ("lambda i: 0.5*i",
     "           ^",
     ("expected an operator or the end of the text, "
     "found '.5*i'"), ""),
    ("lambda i: (99999999999999999999*i,)",
     "           ^",
     "the number is too large", "write at most 9223372036854775807"),
    ("T.index_map(lambda i: (i,)",
     "                          ^",
     "expected ')' or ',', found the end of the text", ""),
    ("T.index_map(i)",
     "            ^",
     "expected 'lambda', found 'i)'", ""),
    ("T.indexmap(lambda i: (i,))",
     "^",
     "expected 'lambda' or T.index_map(…), found 'T.indexmap(l'", ""),
    ("lambda i: (i,); import os",
     "              ^",
     "expected the end of the text, found ';'", ""),
    ("def f(i): return i",
     "^",
     "expected a capital or a number, found 'def'", "write for example NCHW16c"),
    ("NCHW16",
     "      ^",
     "expected a small letter, found the end of the text", "write for example NCHW16c"),
    ("NCHW16d",
     "      ^",
     "factor 16d: the layout has no dimension D", "write D too"),
    ("NCHWc",
     "    ^",
     "expected a capital, a number or the end of the text, found 'c'", "write for example NCHW16c"),
    ("NCHW16C",
     "      ^",
     "expected a small letter, found 'C'", "write for example NCHW16c"),
    ("NCHW 16c",
     "    ^",
     "expected a capital, a number or the end of the text, found '16c'",
     "write for example NCHW16c"),
    ("NCHWN",
     "    ^",
     "dimension N appears twice", "write it once"),
    ("NCHW0c",
     "    ^",
     "factor 0c: expected a size from 1, got 0", "write for example NCHW16c"),
    ("NCHW16c4",
     "        ^",
     "expected a small letter, found the end of the text", "write for example NCHW16c"),
    ("NCHW99999999999999999999c",
     "    ^",
     "the number is too large", "write at most 9223372036854775807"),
    ("NCHW-16c",
     "    ^",
     "expected a capital, a number or the end of the text, found '-16c'",
     "write for example NCHW16c"),
    ("NCHWX",
     "^",
     "capitals alone: expected the dimensions of a known array, got 'NCHWX'",
     "write for example NHWC, or factors as in NCHW16c"),
    ("N16n16",
     "      ^",
     "expected a small letter, found the end of the text", "write for example NCHW16c"),
    ("16c",
     "  ^",
     "factor 16c: the layout has no dimension C", "write C too"),
    ("NCHW16c,",
     "       ^",
     "expected a capital, a number or the end of the text, found ','", "write for example NCHW16c"),
    ("NCHW[16c]",
     "    ^",
     "expected a capital, a number or the end of the text, found '[16c]'",
     "write for example NCHW16c"),
    ("NCHW1.5c",
     "     ^",
     "expected a small letter, found '.5c'", "write for example NCHW16c"),
]  # fmt: skip


@each_row(("text", "caret", "what", "fix"), ERRORS, ids=[repr(row[0]) for row in ERRORS])
def test_wrong_texts(text: str, caret: str, what: str, fix: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text, "tvm")
    error = caught.value
    assert (" " * error.position + "^", error.what, error.fix) == (caret, what, fix or EXAMPLE)
    assert error.why


def test_the_table_has_30_texts() -> None:
    assert len({text for text, *_ in ERRORS}) >= 30
