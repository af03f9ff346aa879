"""Scan HLO text: patterns, tokens, lines, and statements over several lines."""

from __future__ import annotations

import gc
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from morello_layouts.core.checks import shown
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import HLO_JOINS
from morello_layouts.errors import LayoutError, ParseError

_FLAGS: Final = re.ASCII | re.DOTALL


def _nested(opening: str, closing: str, other: str, levels: int) -> str:
    """Return a pattern for nested brackets of one kind, with strings inside if quotes count."""
    content = f"[^{other}{opening}{closing}]++"
    if other:
        content += f"|{_STRING}"
    pattern = rf"\{opening}(?:{content})*+\{closing}"
    for _ in range(levels - 1):
        pattern = rf"\{opening}(?:{content}|{pattern})*+\{closing}"
    return pattern


_NAME: Final = r"[A-Za-z_][\w.\-]*+"
# In a repeated group that is possessive, Python 3.11.2 keeps what a failed try has read: such a
# group fails at its first character or is not possessive.
_COMMENT: Final = r"/\*[^*]*+\*++(?:[^*/][^*]*+\*++)*+/"
_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PARENTHESES: Final = _nested("(", ")", "", 5)
_BRACES: Final = _nested("{", "}", '"', 6)
_ARRAY: Final = r"[a-z]\w*+\[[^\]\[]*+\](?:\{[^{}]*+\})?+"
_TYPE: Final = rf"(?:{_ARRAY}|(?:b\s*+)?+{_PARENTHESES})"
# In a value, square brackets and parentheses count only outside of braces: [2,4]<=[8]T(1,0).
# A blank may stand before a brace: mesh['x'=2,'y'=4] {'y'}.
_WORD: Final = r"[^\s,\"(){}\[\]]++"
_BLANK: Final = r"(?=[ ]++\{)[ ]++"
_VALUE: Final = rf'(?:{_STRING}|{_BRACES}|\[[^\]"{{}}]*+\]|\([^()"{{}}]*+\)|{_WORD}|{_BLANK})++'
_ATTRIBUTE: Final = rf"\s*+,\s*+({_NAME})=\s*+({_VALUE})"
_ATTRIBUTES: Final = rf"(?:\s*+,\s*+{_NAME}=\s*+{_VALUE})*"
_FILL: Final = rf"\s*+(?:{_COMMENT}\s*+)*+"
_OPERAND: Final = rf"{_FILL}%?+{_NAME}{_FILL}"

NAME: Final = regex(_NAME, _FLAGS)
COMMENT: Final = regex(_COMMENT, _FLAGS)
STRING: Final = regex(_STRING, _FLAGS)
SPACE: Final = regex(rf"(?:\s++|//[^\n]*+|{_COMMENT})*+", _FLAGS)
ARRAY: Final = regex(_ARRAY, _FLAGS)
ATTRIBUTE: Final = regex(_ATTRIBUTE, _FLAGS)

# A type that may continue after the end of the text.
TYPE_BEGINNING: Final = regex(r"[a-z]\w*+(?:\[[^\]\[]*+(?:\](?:\{[^{}]*+)?+)?+)?+\Z", _FLAGS)

# root, name, type, opcode, text in the parentheses, attributes
INSTRUCTION: Final = regex(
    rf"\s*+(ROOT\s++)?+%?+({_NAME})\s*+=\s*+({_TYPE})\s*+([a-z][\w\-]*+)"
    rf"\(((?:[^()\"]++|{_PARENTHESES})*+)\)({_ATTRIBUTES})\s*+\Z",
    _FLAGS,
)
# entry, name, signature of a computation as XLA prints it
COMPUTATION: Final = regex(rf"(ENTRY )?%({_NAME}) ({_PARENTHESES} -> {_TYPE}) \{{\n\Z", _FLAGS)
TYPE: Final = regex(rf"(?<!\w){_TYPE}", _FLAGS)
TUPLE: Final = regex(rf"\({_FILL}(?:{_TYPE}{_FILL}(?:,{_FILL}{_TYPE}{_FILL})*+)?+\)", _FLAGS)
NAMED_OPERANDS: Final = regex(rf"{_OPERAND}(?:,{_OPERAND})*+", _FLAGS)
TYPED_OPERAND: Final = regex(rf"{_FILL}(?:({_TYPE})\s*+)?+%?+({_NAME}){_FILL}(?:,|\Z)", _FLAGS)

# Number and entry: 1 "progs.py", or 1 {file_name_id=1 line=90}
TABLE_ROW: Final = regex(rf"\s*+([0-9]++)\s++({_STRING}|{_BRACES})", _FLAGS)

# A line that begins a statement, so that it does not continue the one before.
STATEMENT: Final = regex(
    rf"\s*+(?:(?:ROOT|ENTRY|HloModule)\s|\}}|%?+{_NAME}\s++=\s|%{_NAME}(?:=|\s++\()"
    rf"|{_NAME}\s++\(.*\)\s*+->.*\{{\s*+\Z)",
    _FLAGS,
)

# The attributes whose value is a computation, or a list of computations, in XLA's order.
CALLED_BY: Final = (
    "calls",
    "to_apply",
    "body",
    "condition",
    "select",
    "scatter",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
)

_BUFFER: Final = regex(r"b\s*+\(", re.ASCII)
_PARENTHESIS: Final = regex(r'[()"]')
_BRACE: Final = regex(r'[{}"]')
_WORD_PATTERN: Final = regex(rf"{_WORD}|{_BLANK}", re.ASCII)
_SQUARE: Final = regex(r'[]["]')
_NEXT_ATTRIBUTE: Final = regex(rf"(?:(?<!\s)\s*+)?,\s*+{_NAME}=", _FLAGS)
_BRACKETS: Final = {"[": _SQUARE, "(": _PARENTHESIS, "{": _BRACE}
_OPENING: Final = "([{"
_NEXT_LINE: Final = regex(r"\n[^\n]*+")

_WHY: Final = "an instruction is name = type opcode(operands), attributes"
_FIX: Final = 'write for example %add.1 = f32[8]{0} add(%a, %b), metadata={op_name="x"}'


class Incomplete(LayoutError):  # noqa: N818  (a state that the reader turns into an error)
    """The text ends inside a statement; the next line may continue it."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(what, "the text ends here", "give the whole of it")
        self.position = position  #: the beginning of the part without an end.


class Scanner:
    """A text and a position in it."""

    def __init__(self, text: str, line: int = 1, position: int = 0) -> None:
        self.text, self.line, self.position = text, line, position
        self._counted = (0, line)

    def line_at(self, position: int) -> int:
        """Return the line of the file at a position; calls from left to right count once."""
        begin, line = self._counted
        if position < begin:
            begin, line = 0, self.line
        self._counted = (position, line + self.text.count("\n", begin, position))
        return self._counted[1]

    def fail(
        self, what: str, position: int | None = None, why: str = _WHY, fix: str = _FIX
    ) -> NoReturn:
        """Raise a ParseError with its caret at a position, by default the current one."""
        at = self.position if position is None else position
        what = f"line {self.line_at(at)}: {what}"
        raise ParseError(what, why, fix, text=self.text, position=at, first_line=self.line)

    def expected(self, what: str) -> NoReturn:
        """Raise a ParseError for a missing part; Incomplete at the end of the text."""
        if self.position >= len(self.text):
            raise Incomplete(f"expected {what}", len(self.text.rstrip()))
        found = self.text[self.position : self.position + 16].split(maxsplit=1)
        self.fail(f"expected {what}, found {found[0]!r}" if found else f"expected {what}")

    def space(self) -> str:
        """Skip blanks and comments; return the next character, '' at the end of the text."""
        self.position = SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        mark = self.text[self.position : self.position + 1]
        if mark == "/" and self.text.startswith("/*", self.position):
            raise Incomplete("expected */ at the end of a comment", self.position)
        return mark

    def take(self, mark: str, what: str | None = None) -> None:
        """Skip blanks, then a text that must follow."""
        self.space()
        if not self.text.startswith(mark, self.position):
            self.expected(what or f"'{mark}'")
        self.position += len(mark)

    def name(self, what: str = "a name") -> str:
        """Read a name, with or without %; return it without."""
        if self.space() == "%":
            self.position += 1
        match = NAME.match(self.text, self.position)
        if match is None:
            self.expected(what)
        self.position = match.end()
        return match[0]

    def type_end(self) -> int:
        """Return the end of the type at the position."""
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
        """Whether the type of a tuple or a buffer may begin here."""
        text, at = self.text, self.position
        return text.startswith("(", at) or _BUFFER.match(text, at) is not None

    def parentheses(self) -> tuple[int, int]:
        """Skip parentheses, which may nest; return begin and end of the inside."""
        self.take("(", "'(' and operands")
        begin = self.position
        self.position = self.closing(_PARENTHESIS, begin - 1)
        return begin, self.position - 1

    def closing(self, brackets: re.Pattern[str], opening: int) -> int:
        """Return the end of the bracket that opens at a position, other kinds ignored."""
        depth, at = 0, opening
        while (match := brackets.search(self.text, at)) is not None:
            at = match.end()
            if match[0] == '"':
                at = self.string_end(match.start())
            elif match[0] in _OPENING:
                depth += 1
            else:
                depth -= 1
                if depth == 0:
                    return at
        raise Incomplete(f"expected the end of this '{self.text[opening]}'", opening)

    def string_end(self, opening: int) -> int:
        """Return the end of the string at a position."""
        match = STRING.match(self.text, opening)
        if match is None:
            raise Incomplete("expected the end of this string", opening)
        return match.end()

    def attributes(self) -> Iterator[tuple[str, str]]:
        """Read the attributes that follow, each after a comma: name and value as written."""
        while True:
            match = ATTRIBUTE.match(self.text, self.position)
            # A bracket or a quote after the match means that the value goes on.
            if match is not None and not self.text.startswith(("(", "[", "{", '"'), match.end()):
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

    def is_complete(self) -> bool:
        """Whether a statement may end here: what follows is nothing, a line, or a statement."""
        begin = self.position
        is_end = self.space() == "" or "\n" in self.text[begin : self.position]
        is_end = is_end or STATEMENT.match(self.text, self.position) is not None
        self.position = begin
        return is_end

    def skip_statement(self) -> str:
        """Skip all up to the line that begins the next statement; return it."""
        begin = self.position
        for match in _NEXT_LINE.finditer(self.text, begin):
            if STATEMENT.match(self.text, match.start()):
                self.position = match.start()
                break
        else:
            self.position = len(self.text)
        return self.text[begin : self.position]

    def skip_attribute(self) -> bool:
        """Skip to the next attribute, whatever stands before it; return whether there is one."""
        match = _NEXT_ATTRIBUTE.search(self.text, self.position + 1)
        if match is not None:
            self.position = match.start()
        return match is not None

    def _value(self, name: str) -> None:
        begin = self.position
        while True:
            mark = self.text[self.position : self.position + 1]
            if mark == '"':
                self.position = self.string_end(self.position)
            elif mark in _BRACKETS:
                self.position = self.closing(_BRACKETS[mark], self.position)
            elif word := _WORD_PATTERN.match(self.text, self.position):
                self.position = word.end()
            elif begin == self.position:
                self.expected(f"the value of {name}")
            else:
                return


Progress: TypeAlias = Callable[[int, int], object]
"""Called with the amount that was read and the amount of all: bytes of a file, or characters."""

_LINES_PER_CALL: Final = 4096
# A line that is not a path: blank, the beginning of a module or computation, an instruction.
_TEXT: Final = regex(
    r"\s*+(?:\Z|HloModule\s|(?:ROOT\s++)?+%?+[\w.\-]++\s++=\s|[^=]++=[^(]*+\(|[^{]++\{\s*+\Z)",
    re.ASCII,
)


class Lines:
    """The lines of a dump, one at a time, and their number."""

    def __init__(
        self,
        lines: Iterator[str],
        progress: Progress | None,
        position: Callable[[], int],
        total: int,
    ) -> None:
        self.lines, self.progress, self.position, self.total = lines, progress, position, total
        self.number = 0
        self.ahead: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line, self.ahead = self.ahead, None
        if line is None:
            line = next(self.lines)
        self.number += 1
        if self.progress is not None and self.number % _LINES_PER_CALL == 0:
            self.progress(min(self.position(), self.total), self.total)
        return line

    def peek(self) -> str | None:
        """Return the next line without reading it; None at the end."""
        if self.ahead is None:
            self.ahead = next(self.lines, None)
        return self.ahead

    def finish(self) -> None:
        """Report that all was read."""
        if self.progress is not None:
            self.progress(self.total, self.total)


@contextmanager
def without_collection() -> Iterator[None]:
    """Make values that all stay: Python does not look for circles among them meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def open_lines(
    source: str | os.PathLike[str],
    progress: Progress | None,
    what: str = "HLO",
    marks: str = "newline, '=' or HloModule",
    text_begins: re.Pattern[str] = _TEXT,
) -> Iterator[Lines]:
    """Open the lines of a text, or of the file that a path names.

    Args:
        source: the path, or the text, which has a newline or begins as ``text_begins``.
        progress: called now and then with what was read, and all.
        what: what the file holds, for errors.
        marks: how errors say what a text has and a path does not.
        text_begins: what a text of one line begins with.
    """
    if isinstance(source, str) and ("\n" in source or text_begins.match(source)):
        stream = io.StringIO(source, newline=None)
        yield Lines(iter(stream), progress, stream.tell, len(source))
        return
    with open_file(source, what, marks) as binary:
        size = os.fstat(binary.fileno()).st_size
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="replace")
        yield Lines(iter(text), progress, binary.tell, size)


def open_file(source: str | os.PathLike[str], what: str, marks: str) -> io.BufferedReader:
    """Open the file that a path names.

    Args:
        source: the path.
        what: what the file holds, for errors.
        marks: a text with one of these is not taken for a path.
    """
    if not isinstance(source, str | os.PathLike):
        raise LayoutError(
            f"{shown(source)} is not {what}",
            "it is neither text nor a path",
            f"give a path, or the text of {what}",
        )
    try:
        return Path(source).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        is_path = isinstance(source, os.PathLike)
        why = "no file with this path can be opened" if is_path else ""
        raise LayoutError(
            f"{shown(os.fspath(source))} cannot be read: {reason}",
            why or f"text without {marks} is taken for the path of a file",
            f"give the path of a file with {what}{'' if is_path else ', or the text itself'}",
        ) from None


_BRACKET: Final = regex(r"[][(){}]")


def join(scan: Scanner, stop: Incomplete, lines: Lines, joins: int) -> None:
    """Append to a text the lines that continue it: more than one while brackets are open."""
    text = scan.text.rstrip()
    # Any line may follow these: a computation inside an attribute, a name.
    takes_all = text[-1:] == "{" or text.endswith(("ROOT", "ENTRY"))
    if joins > HLO_JOINS or not (takes_all or _may_continue(lines.peek())):
        scan.fail(f"{stop.what} before line {lines.number + 1}", stop.position)
    parts = [scan.text]
    depth = bracket_depth(scan.text[stop.position :])
    for part in lines:
        parts.append(part)
        depth += bracket_depth(part)
        is_open = depth > 0 or part.rstrip()[-1:] == ","
        if not is_open or not (takes_all or _may_continue(lines.peek())):
            break
    scan.text = "".join(parts)


def _may_continue(line: str | None) -> bool:
    """Whether a line may continue a statement; also true at the end of the text."""
    return line is None or STATEMENT.match(line) is None


def bracket_depth(text: str) -> int:
    """Return the number of brackets that open in a text minus those that close.

    >>> bracket_depth("add(%a, {1, 2}"), bracket_depth("})")
    (1, -2)
    """
    return sum(1 if mark in _OPENING else -1 for mark in _BRACKET.findall(text))


def attributes_of(text: str) -> dict[str, str]:
    r"""Return names and values of attributes, as they are written.

    Text that is not an attribute belongs to the value before it.

    >>> attributes_of("kind=kLoop, calls=%f, metadata={op_name=\"a, b\"}")["metadata"]
    '{op_name="a, b"}'
    >>> attributes_of("new=5] more, calls=%f, y=<@mesh, [{}]>")
    {'new': '5] more', 'calls': '%f', 'y': '<@mesh, [{}]>'}
    """
    found = dict[str, str]()
    end, whole = 0, f", {text}"
    while match := ATTRIBUTE.match(whole, end):
        end = match.end()
        found[match[1]] = match[2]
    if end == len(whole):
        return found
    scan, found = Scanner(whole), {}
    is_more = bool(text)
    while is_more:
        end, last = scan.position, ""
        with suppress(LayoutError):
            for last, value in scan.attributes():
                found[last], end = value, scan.position
        is_more = scan.skip_attribute()
        if last:
            rest = scan.text[end : scan.position if is_more else len(scan.text)]
            found[last] += rest.rstrip().removesuffix(",").rstrip()
    return found


def called_names(attributes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the computations that attributes name, in XLA's order: body before condition.

    >>> called_names({"condition": "%c", "body": "%b", "index": "0"})
    ('b', 'c')
    """
    return tuple(
        name
        for attribute in CALLED_BY
        if "=" not in (value := attributes.get(attribute, "="))  # else it is a computation
        for name in names_in(value)
    )


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a list such as ``{%a, %b}``."""
    return tuple(NAME.findall(text))
