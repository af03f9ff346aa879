"""The attributes of an instruction, and what some of them say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from morello_layouts.hlo.patterns import CALLED_BY, NAME, STRING
from morello_layouts.hlo.scanner import Scanner

__all__ = [
    "HloMetadata",
    "SourceTables",
    "attributes_of",
    "called_names",
    "metadata_of",
    "names_in",
]

_FIELD: Final = re.compile(rf'(\w+)=({STRING.pattern}|\{{[^{{}}"]*+\}}|[^\s{{}}",]++)', re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_LONGEST: Final = 18  # digits of a line or an identifier


@dataclass(frozen=True, slots=True)
class HloMetadata:
    """Where an instruction comes from in the user's program; None where the dump does not say.

    Attributes:
        op_name: the path of traced functions, such as ``jit(f)/while/body/add``.
        op_type: the operation of the framework.
        source_file: the user's file; source_line: the line there, from 1; source_function: the
            function around it, which only dumps with stack frames name.
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
        """File and line as editors read them, None where there is no file."""
        if self.source_file is None or self.source_line is None:
            return self.source_file
        return f"{self.source_file}:{self.source_line}"


@dataclass(frozen=True, slots=True)
class SourceTables:
    """The tables ``FileNames``, ``FunctionNames``, ``FileLocations`` and ``StackFrames`` of a dump.

    Each maps the number of a row to its text.
    """

    tables: Mapping[str, Mapping[int, str]]

    def locate(self, frame: int) -> tuple[str | None, int | None, str | None]:
        """File, line and function of a stack frame; None for what the tables do not hold."""
        row = self._row("StackFrames", frame)
        place = self._row("FileLocations", _number(row.get("file_location_id")))
        file = self._text("FileNames", _number(place.get("file_name_id")))
        function = self._text("FunctionNames", _number(place.get("function_name_id")))
        return file, _number(place.get("line")), function

    def _row(self, table: str, number: int | None) -> dict[str, str]:
        return dict(_fields(self.tables.get(table, {}).get(-1 if number is None else number, "")))

    def _text(self, table: str, number: int | None) -> str | None:
        text = self.tables.get(table, {}).get(-1 if number is None else number)
        return None if text is None else _unquoted(text)

    def __str__(self) -> str:
        blocks = (
            "\n".join([name, *(f"{number} {text}" for number, text in rows.items())])
            for name, rows in self.tables.items()
        )
        return "\n\n".join(blocks)


def attributes_of(text: str) -> dict[str, str]:
    r"""Names and values of attributes, as they are written.

    >>> attributes_of("kind=kLoop, calls=%f, metadata={op_name=\"a, b\"}")["metadata"]
    '{op_name="a, b"}'
    """
    return dict(Scanner(f", {text}").attributes()) if text else {}


def called_names(attributes: Mapping[str, str]) -> tuple[str, ...]:
    """The computations that attributes name, in XLA's order: a body before its condition.

    >>> called_names({"condition": "%c", "body": "%b", "index": "0"})
    ('b', 'c')
    """
    return tuple(
        name
        for attribute in CALLED_BY
        if "=" not in (value := attributes.get(attribute, ""))  # else a computation stands there
        for name in names_in(value)
    )


def names_in(text: str) -> tuple[str, ...]:
    """The names in a list such as ``{%a, %b}``."""
    return tuple(NAME.findall(text))


def metadata_of(text: str | None, tables: SourceTables | None) -> HloMetadata:
    """What the attribute ``metadata`` says, with the source of its stack frame."""
    fields = dict(_fields(text or ""))
    frame = _number(fields.get("stack_frame_id"))
    file, line = fields.get("source_file"), _number(fields.get("source_line"))
    file = None if file is None else _unquoted(file)
    function = None
    if file is None and frame is not None and tables is not None:
        file, line, function = tables.locate(frame)
    name, kind = fields.get("op_name"), fields.get("op_type")
    return HloMetadata(
        None if name is None else _unquoted(name),
        None if kind is None else _unquoted(kind),
        file,
        line,
        function,
        frame,
    )


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Fields of a record such as ``{op_name="a" source_line=3}``."""
    return ((match[1], match[2]) for match in _FIELD.finditer(text))


def _number(text: str | None) -> int | None:
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > _LONGEST:
        return None
    return int(text)


def _unquoted(text: str) -> str:
    r"""What a string stands for; bytes written as escapes are UTF-8.

    >>> _unquoted(r'"a \"b\" \303\274"')
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
