"""Reports as tables: what text and pages have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from morello_layouts.doctor.amounts import bytes_text, factor_text
from morello_layouts.doctor.usage import Bytes
from morello_layouts.xla import XlaShape

__all__ = ["Cell", "Row", "Summary", "Table", "byte_cells", "cell", "number", "size"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A place in a table.

    Attributes:
        text: what is shown.
        value: what a table is sorted by: a number, or the text.

    >>> size(4096)
    Cell(text='4.00 KiB', value=4096)
    """

    text: str
    value: float | str


@dataclass(frozen=True, slots=True)
class Row:
    """A row, and what is said below it.

    Attributes:
        cells: one for each column.
        details: lines of text.
        shape: an array to draw; None where there is none.
    """

    cells: tuple[Cell, ...]
    details: tuple[str, ...] = ()
    shape: XlaShape | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its title.

    Attributes:
        title: of the table.
        columns: their names.
        rows: in the order that a report prints.
        note: a line below the table, if not empty.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands above the tables.

    Attributes:
        title: a line.
        lines: facts, one a line.
        warnings: what a reader should know.
    """

    title: str
    lines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def cell(text: object) -> Cell:
    """A cell that sorts by its text."""
    return Cell(str(text), str(text))


def number(n: int) -> Cell:
    """A number with commas."""
    return Cell(f"{n:,}", n)


def size(n: int) -> Cell:
    """A number of bytes."""
    return Cell(bytes_text(n), n)


def factor(reserved: int, data: int) -> Cell:
    """How many times the data a buffer takes."""
    if not data:
        return Cell("1x" if not reserved else "no data", float(bool(reserved)))
    try:
        return Cell(factor_text(reserved / data), reserved / data)
    except OverflowError:
        return Cell("past 10^308", 1e308)


def byte_cells(found: Bytes) -> Iterable[Cell]:
    """Padding, reserved, data, factor."""
    return (
        size(found.padding_bytes),
        size(found.reserved_bytes),
        size(found.data_bytes),
        factor(found.reserved_bytes, found.data_bytes),
    )
