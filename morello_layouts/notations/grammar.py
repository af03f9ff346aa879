"""Load and run grammars; turn their errors into errors with a caret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from morello_layouts.checks import LARGEST
from morello_layouts.description import listed
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.limits import LAYOUT_TEXT, MAP_TEXT, NESTED_TUPLES

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

Places: TypeAlias = dict[tuple[str | int, ...], int]
"""Where each part of a value stands in its text."""

_LONGEST = len(str(LARGEST))
_START = "//start:"
_END = "$END"
_LONG_PART = re.compile(rf"[()]|[\[{{][^\[\]{{}}]{{{MAP_TEXT}}}")


@dataclass(frozen=True)
class Syntax:
    """Words for a grammar in errors.

    Attributes:
        form: what a text of the notation looks like, one line.
        example: what to write, one line.
        names: words for the grammar's terminals; one with a single text needs none.
        hints: what to do if a text has one of these strings at the error, first match wins.
        longest: the most characters of a text.
    """

    form: str
    example: str
    names: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    longest: int = LAYOUT_TEXT

    def error(self, what: str, fix: str, text: str, position: int) -> ParseError:
        """Return an error with what a text looks like as its rule."""
        return ParseError(what, self.form, fix, text=text, position=position)


@cache
def _parser(grammar: str) -> Lark:
    from lark import Lark

    text = files("morello_layouts.notations").joinpath(grammar).read_text("utf-8")
    rules = [line.removeprefix(_START) for line in text.splitlines() if line.startswith(_START)]
    return Lark(text, parser="lalr", start=" ".join(rules).split(), maybe_placeholders=False)


def terminal_words(grammar: str, syntax: Syntax) -> dict[str, str]:
    """Return the name of each terminal in errors: its own words, or its text in quotes."""
    from lark.lexer import PatternStr

    words = {}
    for terminal in _parser(grammar).terminals:
        quoted = f"'{terminal.pattern.value}'" if isinstance(terminal.pattern, PatternStr) else ""
        words[terminal.name] = syntax.names.get(terminal.name, quoted)
    return words | {_END: "the end of the text"}


def parse_tree(grammar: str, start: str, text: str, syntax: Syntax) -> Tree[Token]:
    """Return the tree of a text.

    Raises:
        ParseError: with a caret at the first thing that cannot be where it is.
    """
    from lark.exceptions import UnexpectedInput

    if len(text) > syntax.longest:
        raise ParseError(
            f"the text: expected up to {syntax.longest:,} characters, got {len(text):,}",
            "long texts take long to analyse",
            "read the parts by themselves",
            text=text,
            position=syntax.longest,
            reached=len(text) - len(text.lstrip()),
        )
    if len(text) > MAP_TEXT:
        _refuse_long_parts(text)
    try:
        return _parser(grammar).parse(text, start=start)
    except UnexpectedInput as error:
        # At the end of the text lark gives the position of the last token.
        ended = getattr(getattr(error, "token", None), "type", "") == _END
        position = len(text.rstrip()) if ended else error.pos_in_stream or 0
        words, state = terminal_words(grammar, syntax), cast("Any", error.interactive_parser)
        _raise(text, position, {words[name] for name in state.accepts()}, syntax)


def _refuse_long_parts(text: str) -> None:
    """Raise if one part of a long text is long or deep: the grammar would read all of it first."""
    depth = 0
    for found in _LONG_PART.finditer(text):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth > NESTED_TUPLES or found[0][0] in "[{":
            is_deep = depth > NESTED_TUPLES
            raise ParseError(
                f"parentheses nest deeper than {NESTED_TUPLES}"
                if is_deep
                else f"the brackets: expected up to {MAP_TEXT:,} characters, got more",
                "a long text is a tuple of many arrays, each of them short",
                "close the brackets of each array",
                text=text,
                position=found.start(),
                reached=found.start(),
            )


def _raise(text: str, position: int, expected: Iterable[str], syntax: Syntax) -> NoReturn:
    wanted = listed(sorted(expected, key=lambda word: (word == "the end of the text", word)), "or")
    found = text[position : position + 12].split(maxsplit=1)
    seen = repr(found[0]) if found else "the end of the text"
    hints = [hint for sign, hint in syntax.hints.items() if text.startswith(sign, position)]
    raise ParseError(
        f"expected {wanted}, found {seen}",
        syntax.form,
        hints[0] if hints else syntax.example,
        text=text,
        position=position,
        reached=position,
    )


def integer(token: Token | str, text: str, position: int | None = None) -> int:
    """Return the token's value, if it fits a signed 64-bit integer.

    Args:
        token: digits, possibly after a minus sign.
        text: the whole text.
        position: where the digits begin; by default the token says so.

    Raises:
        ParseError: if it does not fit.
    """
    digits = token.lstrip("-0") or "0"
    # The length goes first: Python refuses to read some thousand digits.
    if len(digits) > _LONGEST or int(digits) > LARGEST:
        raise ParseError(
            "the number is too large",
            "numbers here are signed 64-bit integers",
            f"write at most {LARGEST}",
            text=text,
            position=getattr(token, "start_pos", 0) if position is None else position,
        )
    return -int(digits) if token[0] == "-" else int(digits)


def at_part(error: LayoutError, text: str, places: Places, default: int = 0) -> ParseError:
    """Return the error of a value's constructor, with a caret under the part that it names."""
    part = error.part
    while part and part not in places:
        part = part[:-1]
    return ParseError(
        error.what, error.why, error.fix, text=text, position=places.get(part, default)
    )
