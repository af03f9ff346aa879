"""Wrong texts of einops, each with its caret, what is wrong, and what to do."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from tests.support.tables import each_row

pytestmark = pytest.mark.usefixtures("readers_errors")

EXAMPLE = "write for example (h p) w -> h w p, p=2"

# The text, and below it the caret; what is wrong; what to do, if not the example.
ERRORS = [
    ("a b",
     "   ^",
     "expected '->', found the end of the text", ""),
    ("a b ->",
     "^",
     "a is only on the left side", ""),
    ("-> a b",
     "   ^",
     "a is only on the right side", ""),
    ("a -> b",
     "^",
     "a is only on the left side", ""),
    ("a b -> a",
     "  ^",
     "b is only on the left side", ""),
    ("a a -> a",
     "  ^",
     "a appears twice on the left side", ""),
    ("a b -> a b a",
     "           ^",
     "a appears twice on the right side", ""),
    ("a b -> b a, c=2",
     "            ^",
     "c is not an axis of the pattern", ""),
    ("(a b -> a b",
     "     ^",
     "expected ')', '...', a name or a number, found '->'", ""),
    ("a b) -> a b",
     "   ^",
     "expected '->', found ')'", ""),
    ("(a (b c)) -> a b c",
     "   ^",
     "expected ')', '...', a name or a number, found '(b'", ""),
    ("(a b) -> a b",
     "^",
     "(a b): expected a size for all axes but one", "write sizes at the end: , b=2"),
    ("(a b c) -> a b c, a=2",
     "^",
     "(a b c): expected a size for all axes but one", "write sizes at the end: , c=2"),
    ("a b -> b a, a",
     "             ^",
     "expected '=', found the end of the text", ""),
    ("a b -> b a, a=",
     "              ^",
     "expected a name or a number, found the end of the text", ""),
    ("a b -> b a, a=*x",
     "              ^",
     "expected a name or a number, found '*x'", ""),
    ("a b -> b a, a=0",
     "            ^",
     "the size of a: expected an integer from 1, got 0", "give an int from 1"),
    ("a b -> b a, a=2, a=2",
     "                 ^",
     "a has a size already", ""),
    ("a 2 -> a",
     "  ^",
     "an axis: expected a name or 1, got 2", ""),
    ("a b -> b a 2",
     "           ^",
     "an axis: expected a name or 1, got 2", ""),
    ("a ... -> a",
     "  ^",
     "... is only on the left side", ""),
    ("a -> a ...",
     "       ^",
     "... is only on the right side", ""),
    ("a ... ... -> a ...",
     "      ^",
     "... appears twice on the left side", ""),
    ("(a ...) -> a ...",
     "   ^",
     "an ellipsis in parentheses on the left side", ""),
    ("_a b -> b _a",
     "^",
     "an axis: expected a name or 1, got _a", ""),
    ("a_ b -> b a_",
     "^",
     "an axis: expected a name or 1, got a_", ""),
    ("a, b -> b, a",
     " ^",
     "expected '->', found ','", ""),
    ("a b => b a",
     "    ^",
     "expected '(', '->', '...', a name or a number, found '=>'", ""),
    ("a b -> b -> a",
     "         ^",
     "expected ',' or the end of the text, found '->'", ""),
    ("a-b -> b",
     " ^",
     "expected '(', '->', '...', a name or a number, found '-b'", ""),
    ("a b -> b a; x",
     "          ^",
     "expected '(', ',', '...', a name, a number or the end of the text, found ';'", ""),
    ("'a b -> b a'",
     "^",
     'expected \'(\', \'->\', \'...\', a name or a number, found "\'a"', "leave the quotes out"),
    ("a * -> a",
     "  ^",
     "expected '(', '->', '...', a name or a number, found '*'", ""),
    ("a b -> b a, 2=a",
     "            ^",
     "expected a name or the end of the text, found '2=a'", ""),
    ("(h p) w -> h w p p=2",
     "                  ^",
     "expected '(', ',', '...', a name, a number or the end of the text, found '=2'", ""),
    ("1a b -> b 1a",
     "^",
     "expected '(', '->', '...', a name or a number, found '1a'", ""),
    ("a .. -> .. a",
     "  ^",
     "expected '(', '->', '...', a name or a number, found '..'", ""),
    ("a b - > b a",
     "    ^",
     "expected '(', '->', '...', a name or a number, found '-'", ""),
    ("a b -> (b a",
     "           ^",
     "expected ')', '...', a name or a number, found the end of the text", ""),
]  # fmt: skip


@each_row(("text", "caret", "what", "fix"), ERRORS, ids=[repr(row[0]) for row in ERRORS])
def test_wrong_texts(text: str, caret: str, what: str, fix: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text, "einops")
    error = caught.value
    assert (" " * error.position + "^", error.what, error.fix) == (caret, what, fix or EXAMPLE)
    assert error.why


def test_the_table_has_30_texts() -> None:
    assert len({text for text, *_ in ERRORS}) >= 30
