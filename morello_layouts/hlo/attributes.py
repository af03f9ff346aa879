"""Attributes, metadata and source tables of HLO."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from morello_layouts.hlo.scanner import (
    CALLED_BY,
    NAME,
    STRING,
    TABLE_ROW,
    Incomplete,
    Scanner,
    bracket_depth,
)
from morello_layouts.limits import HLO_DIGITS

_FIELD: Final = re.compile(rf'(\w+)=({STRING.pattern}|\{{[^{{}}"]*+\}}|[^\s{{}}",]++)', re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def fields_of(text: str) -> Iterator[tuple[str, str]]:
    """Return the fields of a record such as ``{op_name="a" source_line=3}``."""
    return ((match[1], match[2]) for match in _FIELD.finditer(text))


def number_of(text: str | None) -> int | None:
    """Return the number in a text; None without one, or if it has too many digits."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > HLO_DIGITS:
        return None
    return int(text)


def unquoted(text: str) -> str:
    r"""Return the value of a string; bytes written as escapes are UTF-8.

    >>> unquoted(r'"a \"b\" \303\274"')
    'a "b" ü'
    """
    inner = text[1:-1] if text[:1] == '"' else text
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_byte, inner.encode("utf-8", "replace")).decode("utf-8", "replace")


def _byte(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, other = match.groups()
    if octal:
        return bytes([int(octal, 8) & 255])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    return _LETTERS.get(other, other)


TABLES: Final = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


@dataclass(frozen=True, slots=True)
class SourceTables:
    """The tables ``FileNames``, ``FunctionNames``, ``FileLocations`` and ``StackFrames`` of a dump.

    Each maps the number of a row to its text.

    Attributes:
        tables: for each table by name, the text of each row by its number.
    """

    tables: Mapping[str, Mapping[int, str]]

    def locate(self, frame: int) -> tuple[str | None, int | None, str | None]:
        """Return file, line and function of a stack frame; None for what the tables lack."""
        row = self._row("StackFrames", frame)
        place = self._row("FileLocations", number_of(row.get("file_location_id")))
        file = self._text("FileNames", number_of(place.get("file_name_id")))
        function = self._text("FunctionNames", number_of(place.get("function_name_id")))
        return file, number_of(place.get("line")), function

    def _row(self, table: str, number: int | None) -> dict[str, str]:
        return dict(fields_of(self.tables.get(table, {}).get(-1 if number is None else number, "")))

    def _text(self, table: str, number: int | None) -> str | None:
        text = self.tables.get(table, {}).get(-1 if number is None else number)
        return None if text is None else unquoted(text)

    def __str__(self) -> str:
        blocks = (
            "\n".join([name, *(f"{number} {text}" for number, text in rows.items())])
            for name, rows in self.tables.items()
        )
        return "\n\n".join(blocks)


def row_of(scan: Scanner) -> tuple[int, str]:
    """Return number and text of the row at the scanner's position.

    Raises:
        ParseError: if it is not a row.
        Incomplete: if the text ends inside the row.
    """
    match = TABLE_ROW.match(scan.text, scan.position)
    if match is None:
        text = scan.text[scan.position :]
        if text.strip().isdigit() or text.count('"') % 2 or bracket_depth(text) > 0:
            raise Incomplete("expected the end of this row", scan.position)
        scan.fail(
            "expected a row of a table: a number, then a text or a record",
            why="the rows of a table follow its name, one a line",
            fix='write for example 1 "model.py", or 1 {file_name_id=1 line=90}',
        )
    scan.position = match.end()
    number = number_of(match[1])
    return -1 if number is None else number, match[2]


@dataclass(frozen=True, slots=True)
class HloMetadata:
    """The origin of an instruction in the user's program; None for what the dump leaves out.

    Attributes:
        op_name: the path of traced functions, such as ``jit(f)/while/body/add``.
        op_type: the operation of the framework.
        source_file: the user's file.
        source_line: the line there, from 1.
        source_function: the function around it; only dumps with stack frames name it.
        stack_frame_id: the row of the dump's table ``StackFrames``.

    >>> HloMetadata(op_name="jit(f)/add", source_file="model.py", source_line=7).source
    'model.py:7'
    """

    op_name: str | None = None
    op_type: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    source_function: str | None = None
    stack_frame_id: int | None = None

    @property
    def source(self) -> str | None:
        """File and line as editors read them; None without a file."""
        if self.source_file is None or self.source_line is None:
            return self.source_file
        return f"{self.source_file}:{self.source_line}"


def attributes_of(text: str) -> dict[str, str]:
    r"""Return names and values of attributes, as they are written.

    >>> attributes_of("kind=kLoop, calls=%f, metadata={op_name=\"a, b\"}")["metadata"]
    '{op_name="a, b"}'
    """
    return dict(Scanner(f", {text}").attributes()) if text else {}


def called_names(attributes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the computations that attributes name, in XLA's order: body before condition.

    >>> called_names({"condition": "%c", "body": "%b", "index": "0"})
    ('b', 'c')
    """
    return tuple(
        name
        for attribute in CALLED_BY
        if "=" not in (value := attributes.get(attribute, ""))  # else it is a computation
        for name in names_in(value)
    )


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a list such as ``{%a, %b}``."""
    return tuple(NAME.findall(text))


def metadata_of(text: str | None, tables: SourceTables | None) -> HloMetadata:
    """Return the attribute ``metadata``, with the source of its stack frame."""
    fields = dict(fields_of(text or ""))
    frame = number_of(fields.get("stack_frame_id"))
    file, line = fields.get("source_file"), number_of(fields.get("source_line"))
    file = None if file is None else unquoted(file)
    function = None
    if file is None and frame is not None and tables is not None:
        file, line, function = tables.locate(frame)
    name, kind = fields.get("op_name"), fields.get("op_type")
    return HloMetadata(
        None if name is None else unquoted(name),
        None if kind is None else unquoted(kind),
        file,
        line,
        function,
        frame,
    )
