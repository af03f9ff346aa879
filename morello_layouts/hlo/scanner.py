"""The text of one statement, read from left to right, with an error at what cannot stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NoReturn

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.hlo.patterns import (
    ARRAY,
    ATTRIBUTE,
    NAME,
    SPACE,
    STRING,
    TYPE_BEGINNING,
)

__all__ = ["Incomplete", "Scanner"]

_BUFFER: Final = re.compile(r"b\s*+\(", re.ASCII)
_PARENTHESIS: Final = re.compile(r'[()"]')
_BRACE: Final = re.compile(r'[{}"]')
_WORD: Final = re.compile(r"[^\s,\"(){}\[\]]++", re.ASCII)
_CLOSING: Final = {"[": "]", "(": ")"}

_WHY: Final = "an instruction is name = type opcode(operands), attributes"
_FIX: Final = 'write for example %add.1 = f32[8]{0} add(%a, %b), metadata={op_name="x"}'


class Incomplete(LayoutError):  # noqa: N818  (a state, which the reader turns into an error)
    """The text ends inside a statement; the next line may go on with it.

    Attributes:
        what: what was expected where it ends; position: where the part begins that has no end.
    """

    def __init__(self, what: str, position: int) -> None:
        super().__init__(what, "the text ends here", "give the whole of it")
        self.position = position


class Scanner:
    """A text and a position in it.

    Args:
        text: one statement, or several.
        line: the line of the file on which the text begins.
        position: where reading begins.
    """

    def __init__(self, text: str, line: int = 1, position: int = 0) -> None:
        self.text, self.line, self.position = text, line, position
        self._counted = (0, line)

    def line_at(self, position: int) -> int:
        """The line of the file at a position; asked from left to right, it counts once."""
        begin, line = self._counted
        if position < begin:
            begin, line = 0, self.line
        self._counted = (position, line + self.text.count("\n", begin, position))
        return self._counted[1]

    def fail(
        self, what: str, position: int | None = None, why: str = _WHY, fix: str = _FIX
    ) -> NoReturn:
        """Raise a ParseError with its caret at a position, by default where reading stands."""
        at = self.position if position is None else position
        what = f"line {self.line_at(at)}: {what}"
        raise ParseError(what, why, fix, text=self.text, position=at, first_line=self.line)

    def expected(self, what: str) -> NoReturn:
        """Fail for want of something here; Incomplete where the text is at its end."""
        if self.position >= len(self.text):
            raise Incomplete(f"expected {what}", len(self.text.rstrip()))
        found = self.text[self.position : self.position + 16].split(maxsplit=1)
        self.fail(f"expected {what}, found {found[0]!r}" if found else f"expected {what}")

    def space(self) -> str:
        """Skip blanks and comments; the character after them, '' at the end of the text."""
        self.position = SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        mark = self.text[self.position : self.position + 1]
        if mark == "/" and self.text.startswith("/*", self.position):
            raise Incomplete("expected */ at the end of a comment", self.position)
        return mark

    def take(self, mark: str, what: str | None = None) -> None:
        """Skip blanks, then a text that must stand here."""
        self.space()
        if not self.text.startswith(mark, self.position):
            self.expected(what or f"'{mark}'")
        self.position += len(mark)

    def name(self, what: str = "a name") -> str:
        """A name, with its % or without; the % is not part of it."""
        if self.space() == "%":
            self.position += 1
        match = NAME.match(self.text, self.position)
        if match is None:
            self.expected(what)
        self.position = match.end()
        return match[0]

    def type_end(self) -> int:
        """Where the type ends that begins here."""
        if self.position >= len(self.text):
            self.expected("a type")
        if TYPE_BEGINNING.match(self.text, self.position):
            raise Incomplete("expected the whole of this type", self.position)
        match = ARRAY.match(self.text, self.position)
        if match is not None:
            return match.end()
        if not self.begins_tuple():
            self.expected("a type such as f32[8,128]{1,0}")
        return self.closing(_PARENTHESIS, self.text.index("(", self.position))

    def begins_tuple(self) -> bool:
        """Whether a tuple's or a buffer's type may stand here."""
        text, at = self.text, self.position
        return text.startswith("(", at) or _BUFFER.match(text, at) is not None

    def parentheses(self) -> tuple[int, int]:
        """Skip what stands in parentheses, which may hold more; begin and end of the inside."""
        self.take("(", "'(' and operands")
        begin = self.position
        self.position = self.closing(_PARENTHESIS, begin - 1)
        return begin, self.position - 1

    def closing(self, brackets: re.Pattern[str], opening: int) -> int:
        """Where the bracket that opens here is closed, brackets of other kinds left aside."""
        depth, at = 0, opening
        while (match := brackets.search(self.text, at)) is not None:
            at = match.end()
            if match[0] == '"':
                at = self.string_end(match.start())
            elif match[0] in "({":
                depth += 1
            else:
                depth -= 1
                if depth == 0:
                    return at
        raise Incomplete(f"expected the end of this '{self.text[opening]}'", opening)

    def string_end(self, opening: int) -> int:
        """Where the string ends that begins here."""
        match = STRING.match(self.text, opening)
        if match is None:
            raise Incomplete("expected the end of this string", opening)
        return match.end()

    def attributes(self) -> Iterator[tuple[str, str]]:
        """The attributes that follow here, each after a comma: name and value as written."""
        while True:
            match = ATTRIBUTE.match(self.text, self.position)
            if match is not None and self._ends_value(match.end()):
                self.position = match.end()
                yield match[1], match[2]
                continue
            if self.space() != ",":
                return
            self.position += 1
            name = self.name("an attribute's name")
            self.take("=", f"'=' and the value of {name}")
            self.space()
            begin = self.position
            self._value(name)
            yield name, self.text[begin : self.position]

    def _ends_value(self, position: int) -> bool:
        """Whether a value that a pattern found is whole: no bracket or quote follows it."""
        mark = self.text[position : position + 1]
        return mark not in ("(", "[", "{", '"')

    def _value(self, name: str) -> None:
        begin = self.position
        while True:
            mark = self.text[self.position : self.position + 1]
            if mark == '"':
                self.position = self.string_end(self.position)
            elif mark == "{":
                self.position = self.closing(_BRACE, self.position)
            elif mark in _CLOSING:
                end = self.text.find(_CLOSING[mark], self.position)
                if end < 0:
                    raise Incomplete(f"expected the end of this '{mark}'", self.position)
                self.position = end + 1
            elif word := _WORD.match(self.text, self.position):
                self.position = word.end()
            elif begin == self.position:
                self.expected(f"the value of {name}")
            else:
                return
