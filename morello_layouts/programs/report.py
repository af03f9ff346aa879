"""Reports: tables, and their text, HTML and JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import Any, Final, TypeAlias, TypeVar

from morello_layouts.core.description import amount
from morello_layouts.core.fields import Told, frozen
from morello_layouts.core.limits import REPORT_CHANGES
from morello_layouts.errors import LayoutError
from morello_layouts.notations.xla import COMBINE, XlaShape, bits_of

T = TypeVar("T")


@frozen
class TableCell:
    """A cell of a table.

    >>> bytes_cell(4096)
    TableCell(text='4.00 KiB', value=4096)
    """

    text: str  #: the text to show.
    value: float | str  #: the number or the text to sort by.

    @property
    def is_number(self) -> bool:
        """Whether the column sorts by numbers, and is aligned to the right."""
        return not isinstance(self.value, str)


@frozen
class TableRow:
    """A row and the lines below it."""

    cells: tuple[TableCell, ...]  #: one for each column.
    details: tuple[str, ...] = ()  #: lines of text.
    shape: XlaShape | None = None  #: an array to draw, or None.


@frozen
class Table:
    """A table with its title."""

    title: str  #: of the table.
    columns: tuple[str, ...]  #: their names.
    rows: tuple[TableRow, ...]  #: in the order that a report prints.
    note: str = ""  #: a line below the title, if not empty.


@frozen
class Summary:
    """The lines above the tables."""

    title: str  #: the first line.
    lines: tuple[str, ...] = ()  #: facts, one a line.
    warnings: tuple[str, ...] = ()  #: problems that a reader should know of.


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


def first_rows(
    title: str,
    columns: Columns[T],
    items: Iterable[T],
    details: Callable[[T], Iterable[str]] = lambda _: (),
    note: str = "",
) -> Table:
    """Return a table with a row for each of the first items, as many as a report shows."""
    return table_of(title, columns, items, details, note=note, limit=REPORT_CHANGES)


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
    """Return a cell with a difference of bytes, its sign before it."""
    return TableCell(f"+{bytes_text(n)}" if n > 0 else bytes_text(n), n)


def factor_cell(found: Any) -> TableCell:
    """Return a cell with the factor by which buffers are larger than their data."""
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
    """Return the columns padding, reserved, data and factor."""
    return (
        ("padding", lambda item: bytes_cell(bytes_of(item).padding_bytes)),
        ("reserved", lambda item: bytes_cell(bytes_of(item).reserved_bytes)),
        ("data", lambda item: bytes_cell(bytes_of(item).data_bytes)),
        ("factor", lambda item: factor_cell(bytes_of(item))),
    )


_UNITS: Final = "KMGTPE"


def bytes_text(n: int) -> str:
    """Return a number of bytes in the largest unit that it fills."""
    if abs(n) < 1024:
        return f"{n} B"
    power = min((abs(n).bit_length() - 1) // 10, len(_UNITS))
    if abs(n) >= 1 << 90:
        return f"{amount(n)} B"
    return f"{n / (1 << 10 * power):,.2f} {_UNITS[power - 1]}iB"


# Lengths of a drawing, in pixels.
_WIDTH: Final = 150  # of a tile
_TALLEST: Final = 64  # of a tile
_ROW: Final = 8  # of a tile's row, unless the tile would be too tall
_GAP: Final = 22  # between tiles if some are left out
_TOP: Final = 20  # of the first row of tiles, below the line of text

_HATCHES: Final = (
    '<defs><pattern id="padding" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" '
    'stroke="currentColor" stroke-opacity="0.35" stroke-width="2"/></pattern></defs>'
)


@frozen
class _TileAxis:
    """One axis of a drawing: the dimension along it, its size, and the tile's size."""

    name: str
    size: int
    tile: int

    @property
    def count(self) -> int:
        return -(-self.size // self.tile)

    @property
    def words(self) -> str:
        return f"{self.name}: {self.size:,} of {self.count * self.tile:,}"

    def filled(self, k: int) -> float:
        """Return the fraction of tile k that holds data."""
        return min(self.tile, self.size - k * self.tile) / self.tile

    def places(self, extent: int, start: int) -> dict[int, int]:
        """Return the tiles to draw, the first two and the last, and the pixel of each."""
        drawn = range(self.count) if self.count <= 3 else (0, 1, self.count - 1)
        return {k: start + at * extent + _GAP * (k > at) for at, k in enumerate(drawn)}


def tile_drawing(shape: XlaShape) -> str:
    """Return an SVG element: the tiles of the two most minor dimensions; empty without tiles.

    >>> from morello_layouts.notations import parse
    >>> drawing = tile_drawing(parse("f32[9,18]{1,0:T(8,128)}"))
    >>> drawing.startswith("<svg"), "dimension 1: 18 of 128" in drawing, drawing.count("<g>")
    (True, True, 2)
    >>> tile_drawing(parse("f32[9,18]"))
    ''
    """
    try:
        axes = _axes(shape)
    except LayoutError:
        return ""
    return "" if axes is None else _svg(shape, *axes)


def _axes(shape: XlaShape) -> tuple[_TileAxis, _TileAxis] | None:
    layout = shape.layout
    if layout is None or not layout.tiles or not shape.dims or 0 in shape.shape:
        return None
    tile = layout.tile_numbers[0]
    if COMBINE in tile or 0 in tile:
        return None
    found = [
        _TileAxis(f"dimension {dim}", shape.shape[dim], t)
        for dim, t in zip(layout.minor_to_major[:2], tile[:-3:-1], strict=False)
    ]
    if len(found) < 2:  # no second dimension, or no rows
        found.append(_TileAxis("no dimension", 1, tile[-2]) if tile[1:] else _TileAxis("", 1, 1))
    return found[1], found[0]


def _svg(shape: XlaShape, rows: _TileAxis, columns: _TileAxis) -> str:
    height = max(16, min(_TALLEST, _ROW * rows.tile))
    ys, xs = rows.places(height, _TOP), columns.places(_WIDTH, 1)
    right, bottom = [*xs.values()][-1] + _WIDTH, [*ys.values()][-1] + height
    needed, taken = min(shape.bits, bits_of(shape.element_type)), shape.bits
    words = f"columns: {columns.words}" + (f"; rows: {rows.words}" if rows.name else "")
    words += f"; elements: {needed} of {taken} bits" if needed < taken else ""
    width = max(right + 2, 7 * len(words))
    box = f'width="{width}" height="{bottom + 4}" viewBox="0 0 {width} {bottom + 4}"'
    parts = [
        f'<svg class="tiles" role="img" {box} xmlns="http://www.w3.org/2000/svg">',
        f"<title>tiles of {escape(str(shape))}</title>",
        _HATCHES,
        f'<text x="1" y="13" font-size="12" fill="currentColor">{escape(words)}</text>',
        *(
            _tile(x, y, height, (columns.filled(c), rows.filled(r)), needed / taken)
            for r, y in ys.items()
            for c, x in xs.items()
        ),
    ]
    if columns.count > 3:
        parts.append(_ellipsis(right - _WIDTH - _GAP // 2, _TOP + height // 2 + 4))
    if rows.count > 3:
        parts.append(_ellipsis(1 + _WIDTH // 2, bottom - height - _GAP // 2 + 2))
    return "".join([*parts, "</svg>"])


def _tile(x: int, y: int, height: int, filled: tuple[float, float], dense: float) -> str:
    outline = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}"'
    data_width, data_height = max(3.0, _WIDTH * filled[0]), max(3.0, height * filled[1])
    return (
        f'<g>{outline} fill="url(#padding)"/>'
        f'<rect x="{x}" y="{y}" width="{data_width:.4g}" height="{data_height:.4g}" '
        f'class="data" fill="#3b82c4" fill-opacity="{dense:.4g}"/>'
        f'{outline} fill="none" stroke="currentColor"/></g>'
    )


def _ellipsis(x: int, y: int) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" fill="currentColor">…</text>'


# A class that appears twice overrules Jupyter's own style, which aligns cells to the right.
_STYLE: Final = """\
.layouts{font:14px/1.45 system-ui,sans-serif;color:inherit}
.layouts h1{font-size:1.4em;margin:0 0 .3em}.layouts h2{font-size:1.1em;margin:1.6em 0 .3em}
.layouts p{margin:.2em 0;overflow-wrap:anywhere}
.layouts .warning{border-left:3px solid #c77700;padding-left:.6em}
.layouts .wide{overflow-x:auto}
.layouts table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.layouts.layouts th,.layouts.layouts td{padding:.2em .8em .2em 0;text-align:left;
vertical-align:top;border:0;background:none}
.layouts th{border-bottom:1px solid currentColor;white-space:nowrap;font-weight:600}
.layouts td.n,.layouts th.n{text-align:right;white-space:nowrap}
.layouts td.t{font-family:ui-monospace,monospace;font-size:13px}
.layouts td.more{padding:0 0 .9em 1.5em;text-align:left}
.layouts td.more div{max-width:75em;overflow-wrap:anywhere}
.layouts .heap a:hover rect,.layouts .heap a:focus rect{fill:#c77700;fill-opacity:.3}
.layouts .moments{min-height:1.5em}.layouts .moment{display:none;scroll-margin-top:230px}
.layouts .moment:target{display:block}
.layouts svg.tiles{display:block;margin-top:.4em}
.layouts svg.tiles,.layouts svg.heap{max-width:100%;height:auto}
@media(max-width:600px){.layouts svg.heap{overflow:visible}.layouts svg.heap text{font-size:20px}}
"""

_PAGE_STYLE: Final = """\
:root{color-scheme:light dark}
body{margin:2em auto;max-width:78em;padding:0 1.5em;background:#fff;color:#1c1e21}
th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid #3b82c4}
th[aria-sort=ascending] button::after{content:" \\2191"}
th[aria-sort=descending] button::after{content:" \\2193"}
@media (prefers-color-scheme:dark){body{background:#15181c;color:#e4e6e9}}
@media print{body{max-width:none}}
"""

# Each row is a tbody, so that the details below it move with it.
_SCRIPT: Final = """\
for (const table of document.querySelectorAll(".layouts table"))
  table.tHead.querySelectorAll("th").forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.ariaSort !== "descending";
      table.tHead.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = body => body.rows[0].cells[column].dataset.value;
      const number = head.classList.contains("n");
      const order = (a, b) => number ? value(a) - value(b) : value(a).localeCompare(value(b));
      table.append(...[...table.tBodies].sort((a, b) => down ? order(b, a) : order(a, b)));
    });
  });
"""


def _table(table: Table) -> str:
    heads = "".join(
        f"<th{' class=n' if cell.is_number else ''}>{escape(name)}</th>"
        for name, cell in zip(table.columns, table.rows[0].cells, strict=True)
    )
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    bodies = "\n".join(_body(row) for row in table.rows)
    return (
        f'<h2>{escape(table.title)}</h2>{note}\n<div class="wide" tabindex="0"><table>'
        f"<thead><tr>{heads}</tr></thead>\n{bodies}\n</table></div>"
    )


def _body(row: TableRow) -> str:
    cells = "".join(
        f'<td class="{"n" if cell.is_number else "t"}" '
        f'data-value="{escape(str(cell.value))}">{escape(cell.text)}</td>'
        for cell in row.cells
    )
    drawing = "" if row.shape is None else tile_drawing(row.shape)
    if not row.details and not drawing:
        return f"<tbody><tr>{cells}</tr></tbody>"
    details = "".join(f"<div>{escape(line)}</div>" for line in row.details)
    more = f'<td class="more" colspan="{len(row.cells)}">{details}{drawing}</td>'
    return f"<tbody><tr>{cells}</tr><tr>{more}</tr></tbody>"


_INDENT: Final = " " * 6  # of the details below a row


def _lines(table: Table, width: int | None) -> Iterator[str]:
    yield table.title if not table.note else f"{table.title}: {table.note}"
    columns = range(len(table.columns))
    is_number = [table.rows[0].cells[k].is_number for k in columns]
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


class Report(Told, ABC):
    """A report. ``print`` it, or let a notebook show it.

    >>> from morello_layouts import compare_hlo
    >>> print(compare_hlo("%a = f32[2]{0} negate(%b)", "%a = f32[4]{0} negate(%b)"))
    What changed
    instructions: 1, then 1
    <BLANKLINE>
    Bytes reserved
      added  before  after  of
       +8 B     8 B   16 B  results of instructions
    <BLANKLINE>
    Types that take more or less
      added  before  after  count before  after  type
      +16 B     0 B   16 B             0      1  f32[4]
       -8 B     8 B    0 B             1      0  f32[2]
    """

    __slots__ = ()

    @abstractmethod
    def summary(self) -> Summary:
        """Return the lines above the tables."""

    @abstractmethod
    def tables(self) -> Iterable[Table]:
        """Return the tables in the order to show them; empty tables are left out."""

    def figure(self) -> str:
        """Return pictures to show above the tables, as SVG elements; empty without any."""
        return ""

    def html(self) -> str:
        """Return a page that loads nothing: tables, and a picture of each wasteful layout.

        A click on a column's name sorts the table.
        """
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.summary().title)}</title>\n<style>\n{_PAGE_STYLE}</style>\n"
            f"</head>\n<body>\n<main>{self._repr_html_()}</main><script>\n{_SCRIPT}</script>\n</body>\n"
            "</html>\n"
        )

    def _repr_html_(self) -> str:
        summary = self.summary()
        parts = [f'<div class="layouts"><style>\n{_STYLE}</style>']
        parts += [f"<h1>{escape(summary.title)}</h1>"]
        parts += [f"<p>{escape(line)}</p>" for line in summary.lines]
        parts += [f'<p class="warning">{escape(line)}</p>' for line in summary.warnings]
        if figure := self.figure():
            parts += [f'<div class="wide">{figure}</div>']
        parts += [_table(table) for table in self.tables() if table.rows]
        return "\n".join([*parts, "</div>"])

    def text(self, width: int | None = None) -> str:
        """Return the report as text; details below rows are wrapped to a width, if given."""
        summary = self.summary()
        lines = [summary.title, *summary.lines, *(f"warning: {w}" for w in summary.warnings)]
        for table in self.tables():
            if table.rows:
                lines += ["", *_lines(table, width)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary().title}>"
