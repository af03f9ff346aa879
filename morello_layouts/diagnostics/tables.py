"""Tables of a report: cells, rows, columns, and amounts of bytes in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from morello_layouts.description import amount
from morello_layouts.notations.xla import XlaShape

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table.

    Attributes:
        text: the text to show.
        value: the number or the text to sort by.

    >>> bytes_cell(4096)
    TableCell(text='4.00 KiB', value=4096)
    """

    text: str
    value: float | str

    @property
    def is_number(self) -> bool:
        """Whether the column sorts by numbers, and is aligned to the right."""
        return not isinstance(self.value, str)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row and the lines below it.

    Attributes:
        cells: one for each column.
        details: lines of text.
        shape: an array to draw, or None.
    """

    cells: tuple[TableCell, ...]
    details: tuple[str, ...] = ()
    shape: XlaShape | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its title.

    Attributes:
        title: of the table.
        columns: their names.
        rows: in the order that a report prints.
        note: a line below the title, if not empty.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The lines above the tables.

    Attributes:
        title: the first line.
        lines: facts, one a line.
        warnings: problems that a reader should know of.
    """

    title: str
    lines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


_UNKNOWN: Final = TableCell("?", -1)

Columns: TypeAlias = Sequence[tuple[str, Callable[[T], TableCell]]]
"""The name of each column, and the cell that an item has in it."""


def table_of(
    title: str,
    columns: Columns[T],
    items: Iterable[T],
    details: Callable[[T], Iterable[str]] = lambda _: (),
    shape: Callable[[T], XlaShape | None] = lambda _: None,
    *,
    note: str = "",
    limit: int | None = None,
) -> Table:
    """Return a table with a row for each item.

    Args:
        title: of the table.
        columns: the name of each column, and the cell that an item has in it.
        items: the items.
        details: the lines below an item's row.
        shape: the array to draw below an item's row.
        note: a line below the title.
        limit: the number of rows to show; a note says how many there are if these are more.

    >>> table_of("T", [("n", number_cell)], [7, 8], limit=1)
    Table(title='T', columns=('n',), rows=(TableRow(cells=(TableCell(text='7', value=7),), \
details=(), shape=None),), note='1 of 2')
    """
    every = list(items)
    shown = every[:limit]
    if len(shown) < len(every):
        note = f"{len(shown):,} of {len(every):,}"
    rows = (
        TableRow(tuple(cell(each) for _, cell in columns), tuple(details(each)), shape(each))
        for each in shown
    )
    return Table(title, tuple(name for name, _ in columns), tuple(rows), note)


def text_cell(text: object) -> TableCell:
    """Return a cell that sorts by its text."""
    return TableCell(str(text), str(text))


def number_cell(n: int) -> TableCell:
    """Return a cell with a number, commas in it."""
    return TableCell(f"{n:,}", n)


def bytes_cell(n: int | None) -> TableCell:
    """Return a cell with a number of bytes; "?" if it is unknown."""
    return _UNKNOWN if n is None else TableCell(bytes_text(n), n)


def added_bytes_cell(n: int) -> TableCell:
    """Return a cell with a difference of bytes, its sign before it.

    >>> added_bytes_cell(2048).text, added_bytes_cell(-512).text, added_bytes_cell(0).text
    ('+2.00 KiB', '-512 B', '0 B')
    """
    return TableCell(f"+{bytes_text(n)}" if n > 0 else bytes_text(n), n)


def factor_cell(found: Any) -> TableCell:
    """Return a cell with the factor by which buffers are larger than their data.

    >>> from morello_layouts.diagnostics.buffers import Bytes
    >>> [factor_cell(Bytes(1, *sizes)).text for sizes in ((15, 24), (8, 8), (0, 8))]
    ['1.60x', '1x', 'no data']
    """
    reserved, data = found.reserved_bytes, found.data_bytes
    if reserved is None or data is None:
        return _UNKNOWN
    if not data:
        return TableCell("1x" if not reserved else "no data", float(bool(reserved)))
    try:
        factor = reserved / data
    except OverflowError:
        return TableCell("past 10^308", 1e308)
    return TableCell("1x" if factor == 1 else f"{factor:,.2f}x", factor)


def byte_columns(bytes_of: Callable[[Any], Any]) -> Columns[Any]:
    """Return the columns padding, reserved, data and factor.

    Args:
        bytes_of: the object with ``padding_bytes``, ``reserved_bytes`` and ``data_bytes`` of an
            item.
    """
    return (
        ("padding", lambda item: bytes_cell(bytes_of(item).padding_bytes)),
        ("reserved", lambda item: bytes_cell(bytes_of(item).reserved_bytes)),
        ("data", lambda item: bytes_cell(bytes_of(item).data_bytes)),
        ("factor", lambda item: factor_cell(bytes_of(item))),
    )


_UNITS: Final = "KMGTPE"


def bytes_text(n: int) -> str:
    """Return a number of bytes in the largest unit that it fills.

    >>> bytes_text(512), bytes_text(41943040)
    ('512 B', '40.00 MiB')
    """
    if abs(n) < 1024:
        return f"{n} B"
    power = min((abs(n).bit_length() - 1) // 10, len(_UNITS))
    if abs(n) >= 1 << 90:
        return f"{amount(n)} B"
    return f"{n / (1 << 10 * power):,.2f} {_UNITS[power - 1]}iB"
