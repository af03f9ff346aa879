"""The tables of a dump that say where its instructions come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from morello_layouts.hlo.joining import depth_of
from morello_layouts.hlo.patterns import TABLE_ROW
from morello_layouts.hlo.records import fields_of, number_of, unquoted
from morello_layouts.hlo.scanner import Incomplete, Scanner

__all__ = ["TABLES", "SourceTables", "row_of"]

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
        """File, line and function of a stack frame; None for what the tables do not hold."""
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
    """Number and text of the row that begins where the scanner stands.

    Raises:
        ParseError: where it is no row.
        Incomplete: where the text ends inside of it.
    """
    match = TABLE_ROW.match(scan.text, scan.position)
    if match is None:
        text = scan.text[scan.position :]
        if text.strip().isdigit() or text.count('"') % 2 or depth_of(text) > 0:
            raise Incomplete("expected the end of this row", scan.position)
        scan.fail(
            "this row of a table has another form",
            why="a row is a number, then a text or a record",
            fix='write for example 1 "model.py", or 1 {file_name_id=1 line=90}',
        )
    scan.position = match.end()
    number = number_of(match[1])
    return -1 if number is None else number, match[2]
