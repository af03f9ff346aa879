"""Read texts token by token; turn what does not fit into errors with a caret.

A reader asks a :class:`Source` for the tokens that may come next. Those that it asked for in vain
since the last token are what an error says was expected, so no list of them is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from morello_layouts.core.checks import LARGEST
from morello_layouts.core.description import listed
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import LAYOUT_TEXT, MAP_TEXT, NESTED_TUPLES
from morello_layouts.errors import LayoutError, ParseError

Places: TypeAlias = dict[tuple[str | int, ...], int]
"""Where each part of a value stands in its text."""

T = TypeVar("T")

_LONGEST = len(str(LARGEST))
_LONG_PART = regex(rf"[()]|[\[{{][^\[\]{{}}]{{{MAP_TEXT}}}")


@frozen(slots=False)
class Syntax:
    """What errors say of a notation."""

    form: str  #: what a text of the notation looks like, one line.
    example: str  #: what to write, one line.
    #: what to do if a text has one of these strings at the error, first match wins.
    hints: Mapping[str, str] = field(default_factory=dict)
    longest: int = LAYOUT_TEXT  #: the most characters of a text.

    def error(self, what: str, fix: str, text: str, position: int) -> ParseError:
        """Return an error with what a text looks like as its rule."""
        return ParseError(what, self.form, fix, text=text, position=position)


class Terminal:
    """A kind of token: how errors name it, and the regular expression that it matches."""

    __slots__ = ("_pattern", "match", "words")

    def __init__(self, words: str, pattern: str) -> None:
        self.words: Final = words
        self._pattern: Final = pattern

    def __getattr__(self, name: str) -> Any:  # asked once, for what is not set
        if name != "match":
            raise AttributeError(name)
        self.match = re.compile(self._pattern).match
        return self.match


class Token(str):
    """A part of a text: its place, and the terminal that it matched."""

    __slots__ = ("kind", "start")

    start: int
    kind: str | Terminal


INT: Final = Terminal("a number", r"[0-9]+")
NAME: Final = Terminal("a name", r"[A-Za-z_][A-Za-z0-9_]*")
END: Final = Terminal("the end of the text", r"\Z")

SPACES: Final = r"[ \t\r\n]*"
LINE_COMMENTS: Final = r"(?:[ \t\r\n]+|//[^\n]*\n)*"
_CLOSING: Final = regex(r"[]),>}]|->|\Z")

_compiled: Final = cache(re.compile)

AROUND: Final = r"(?:\A\s+|\s+\Z)?"


class Source:
    """A text that is read token by token.

    Attributes:
        text: the text.
        at: where the next token begins.

    >>> source = Source("[1, 2)", Syntax("a list has brackets", "write [1, 2]"))
    >>> source.need("[")
    '['
    >>> source.series(lambda: source.need(INT), "]")
    Traceback (most recent call last):
    morello_layouts.errors.ParseError: expected ',' or ']', found ')'
      [1, 2)
           ^
    a list has brackets
    write [1, 2]
    """

    def __init__(self, text: str, syntax: Syntax, skip: str = SPACES) -> None:
        """Begin to read a text, and skip what matches a regular expression between tokens."""
        _refuse_long(text, syntax)
        self.text, self.syntax = text, syntax
        self._skip = _compiled(skip).match
        self._tried: list[str | Terminal] = []
        self._optional: list[str | Terminal] = []
        self.move(0)

    def take(self, *wanted: str | Terminal, optional: bool = False) -> Token | None:
        """Return the next token if it is one of these, the first that fits; else None.

        Where a text ends or closes too early, errors do not speak of optional ones.
        """
        text, at = self.text, self.at
        for one in wanted:
            if isinstance(one, str):
                if not text.startswith(one, at):
                    continue
                token = Token(one)
                self.move(at + len(one))
            else:
                found = one.match(text, at)
                if found is None:
                    continue
                token = Token(found[0])
                self.move(found.end())
            token.start, token.kind = at, one
            return token
        (self._optional if optional else self._tried).extend(wanted)
        return None

    def note(self, *wanted: str | Terminal) -> None:
        """Say which optional tokens would have fitted here, for an error."""
        self._optional += wanted

    def need(self, *wanted: str | Terminal) -> Token:
        """Return the next token, which is one of these."""
        return self.take(*wanted) or self.fail()

    def end(self) -> None:
        """Refuse what follows."""
        if self.at < len(self.text):
            self.fail(END)

    def series(
        self, item: Callable[[], T], close: str, *, least: int = 0, trailing: bool = False
    ) -> list[T]:
        """Return the items up to a closing token, with commas between them."""
        found: list[T] = []
        while len(found) < least or not self.take(close):
            if found:
                self.need(",")
                if trailing and self.take(close):
                    break
            found.append(item())
        return found

    def move(self, to: int) -> None:
        """Go on after a token that ends there."""
        first = self.text[to : to + 1]  # what is skipped begins with a blank or a slash
        found = self._skip(self.text, to) if first in "/" or first.isspace() else None
        self.at = found.end() if found else to
        if self._tried:
            self._tried.clear()
        if self._optional:
            self._optional.clear()

    def fail(self, *wanted: str | Terminal) -> NoReturn:
        """Refuse the next token: neither what was tried here fits nor one of these."""
        text, syntax, tried = self.text, self.syntax, [*self._tried, *wanted]
        if not tried or not _CLOSING.match(text, self.at):
            tried += self._optional
        words = {f"'{one}'" if isinstance(one, str) else one.words for one in tried}
        expected = listed(sorted(words, key=lambda word: (word == END.words, word)), "or")
        position = self.at if self.at < len(text) else len(text.rstrip())
        seen = text[position : position + 12].split(maxsplit=1)
        shown = repr(seen[0]) if seen else END.words
        hints = [fix for sign, fix in syntax.hints.items() if text.startswith(sign, position)]
        raise ParseError(
            f"expected {expected}, found {shown}",
            syntax.form,
            hints[0] if hints else syntax.example,
            text=text,
            position=position,
            reached=position,
        )


class Defining(Source):
    """A text of MLIR that gives names to attributes, its aliases, before it uses them."""

    def __init__(self, text: str, syntax: Syntax, aliases: Mapping[str, Any] | None = None) -> None:
        """Begin to read a text, in which aliases may be known that stand before it."""
        super().__init__(text, syntax, LINE_COMMENTS)
        self.aliases: dict[str, Any] = dict(aliases or {})

    def error(self, what: str, fix: str, position: int, why: str = "") -> ParseError:
        """Return an error; what comes after it may be wrong, too."""
        return ParseError(what, why, fix, text=self.text, position=position, reached=self.at)

    def definitions(self, alias: Terminal, read: Callable[[], T]) -> T | None:
        """Read definitions such as ``#map = …``; return the last one's value."""
        found = None
        while name := self.take(alias):
            if name in self.aliases:
                raise self.error(f"{name} is defined twice", "rename one", name.start)
            self.need("=")
            found = self.aliases[str(name)] = read()
        return found

    def defined(self, alias: Token, place: str, example: str) -> Any:
        if alias not in self.aliases:
            fix = f"define it before {place}: {alias} = {example}"
            raise self.error(f"{alias} is not defined", fix, alias.start)
        return self.aliases[alias]

    def no_type(self, what: str, example: str) -> ParseError:
        """Return the error of several definitions after which no type comes."""
        fix = f"write for example {example}"
        return self.error(f"expected a type after the {what}", fix, len(self.text.rstrip()))


def _refuse_long(text: str, syntax: Syntax) -> None:
    """Raise if a text is long, or one part of a long text is long or deep: before it is read."""
    if len(text) > syntax.longest:
        raise ParseError(
            f"the text: expected up to {syntax.longest:,} characters, got {len(text):,}",
            "long texts take long to analyse",
            "read the parts by themselves",
            text=text,
            position=syntax.longest,
            reached=len(text) - len(text.lstrip()),
        )
    depth = 0
    for found in _LONG_PART.finditer(text) if len(text) > MAP_TEXT else ():
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


def integer(token: Token | str, text: str, position: int | None = None) -> int:
    """Return the token's value, if it fits a signed 64-bit integer.

    Args:
        token: digits, possibly after a minus sign; hexadecimal ones after 0x.
        text: the whole text.
        position: where the digits begin; by default the token says so.
    """
    base = 16 if token[:2] in ("0x", "0X") else 10
    digits = (token[2:] if base == 16 else token).lstrip("-0") or "0"
    # The length goes first: Python refuses to read some thousand digits.
    if len(digits) > _LONGEST or int(digits, base) > LARGEST:
        raise ParseError(
            "the number is too large",
            "numbers here are signed 64-bit integers",
            f"write at most {LARGEST}",
            text=text,
            position=getattr(token, "start", 0) if position is None else position,
        )
    return -int(digits, base) if token[0] == "-" else int(digits, base)


def at_part(error: LayoutError, text: str, places: Places, default: int = 0) -> ParseError:
    """Return the error of a value's constructor, with a caret under the part that it names."""
    part = error.part
    while part and part not in places:
        part = part[:-1]
    return ParseError(
        error.what, error.why, error.fix, text=text, position=places.get(part, default)
    )
