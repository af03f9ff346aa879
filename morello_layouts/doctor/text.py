"""Tables as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Final

from morello_layouts.doctor.table import Summary, Table

__all__ = ["text_of"]

_INDENT: Final = " " * 6  # of what is said below a row


def text_of(summary: Summary, tables: Iterable[Table], width: int | None = None) -> str:
    """A report for a terminal or a log; what is said below rows is wrapped to a width.

    >>> from morello_layouts.doctor.table import Row, cell, number
    >>> rows = (Row((number(12), cell("a")), ("why",)), Row((number(3), cell("b"))))
    >>> print(text_of(Summary("m"), [Table("T", ("count", "name"), rows)]))
    m
    <BLANKLINE>
    T
      count  name
         12  a
          why
          3  b
    """
    lines = [summary.title, *summary.lines, *(f"warning: {each}" for each in summary.warnings)]
    for table in tables:
        if table.rows:
            lines += ["", *_lines(table, width)]
    return "\n".join(lines)


def _lines(table: Table, width: int | None) -> Iterator[str]:
    yield table.title if not table.note else f"{table.title}: {table.note}"
    columns = range(len(table.columns))
    is_number = [isinstance(table.rows[0].cells[k].value, int | float) for k in columns]
    texts = [table.columns, *([cell.text for cell in row.cells] for row in table.rows)]
    widths = [max(len(text[k]) for text in texts) for k in columns]
    rows = [(), *(row.details for row in table.rows)]
    for text, details in zip(texts, rows, strict=True):
        aligned = (
            text[k].rjust(widths[k]) if is_number[k] else text[k].ljust(widths[k]) for k in columns
        )
        yield f"  {'  '.join(aligned)}".rstrip()
        for detail in details:
            yield from _wrapped(detail, width)


def _wrapped(detail: str, width: int | None) -> list[str]:
    if width is None or len(detail) + len(_INDENT) <= width:
        return [_INDENT + detail]
    return wrap(
        detail,
        max(width, 40),
        initial_indent=_INDENT,
        subsequent_indent=f"{_INDENT}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
