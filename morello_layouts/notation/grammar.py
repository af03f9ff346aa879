"""What the grammars share: loading, running, and turning lark's errors into ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NoReturn

from morello_layouts.errors import LayoutError, ParseError

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

__all__ = ["Syntax", "at_part", "integer", "parse_tree"]

LARGEST = 2**63 - 1
_LONGEST = len(str(LARGEST))


@cache
def _parser(name: str) -> Lark:
    from lark import Lark

    text = files("morello_layouts.notation").joinpath(f"{name}.lark").read_text()
    starts = [s for line in text.splitlines() if line.startswith("//start:") for s in line.split()[1:]]
    return Lark(text, parser="lalr", start=starts, maybe_placeholders=False)


@dataclass(frozen=True)
class Syntax:
    """How a grammar explains itself.

    Attributes:
        form: what a text of the notation looks like, one line.
        example: what to write, one line.
        names: words for the grammar's terminals.
        hints: what to do where a text holds one of these strings at the error.
    """

    form: str
    example: str
    names: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)

    def word(self, terminal: str) -> str:
        """A terminal in words."""
        return self.names.get(terminal) or _PUNCTUATION.get(terminal, terminal)


_PUNCTUATION = {
    "LSQB": "'['",
    "RSQB": "']'",
    "LPAR": "'('",
    "OPEN": "'('",
    "RPAR": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "STAR": "'*'",
    "HASH": "'#'",
    "QMARK": "'?'",
}


def parse_tree(grammar: str, start: str, text: str, syntax: Syntax) -> Tree[Token]:
    """The tree of a text.

    Args:
        grammar: the grammar's file, without ``.lark``.
        start: the rule that the whole text must match.
        text: what the user typed.
        syntax: how to explain what is wrong with it.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        return _parser(grammar).parse(text, start=start)
    except UnexpectedToken as error:
        position = len(text.rstrip()) if error.token.type == "$END" else error.token.start_pos or 0
        _raise(text, position, error.accepts or error.expected, syntax)
    except UnexpectedCharacters as error:
        _raise(text, error.pos_in_stream, error.allowed or (), syntax)


def _raise(text: str, position: int, expected: Iterable[str], syntax: Syntax) -> NoReturn:
    words = sorted({syntax.word(name) for name in expected if name != "$END"})
    found = "the end of the text"
    if position < len(text):
        found = repr(text[position : position + 12].split()[0] if text[position:].split() else " ")
    wanted = f"expected {_either(words)}" if words else "expected nothing more"
    hints = [hint for sign, hint in syntax.hints.items() if text.startswith(sign, position)]
    fix = hints[0] if hints else syntax.example
    raise ParseError(f"{wanted}, found {found}", syntax.form, fix, text=text, position=position)


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def integer(token: Token, text: str) -> int:
    """The token's value, if it fits a signed 64-bit integer."""
    if len(token) > _LONGEST or abs(int(token)) > LARGEST:
        raise ParseError(
            "the number is too large",
            "numbers here are signed 64-bit integers",
            f"write at most {LARGEST}",
            text=text,
            position=token.start_pos or 0,
        )
    return int(token)


def at_part(
    error: LayoutError, text: str, places: Mapping[tuple[str | int, ...], int], default: int
) -> ParseError:
    """The error of a value's constructor, with a caret under the part that it names."""
    part = error.part
    while part and part not in places:
        part = part[:-1]
    return ParseError(
        error.what, error.why, error.fix, text=text, position=places.get(part, default)
    )
