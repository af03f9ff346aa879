"""Tables as HTML: a fragment for notebooks, and a page of its own."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from morello_layouts.doctor.drawing import tile_drawing
from morello_layouts.doctor.table import Cell, Row, Summary, Table

__all__ = ["fragment", "page"]

# The class stands twice where Jupyter's own style, which sets cells to the right, must yield.
_STYLE: Final = """\
.layouts{font:14px/1.45 system-ui,sans-serif;color:inherit}
.layouts h1{font-size:1.4em;margin:0 0 .3em}.layouts h2{font-size:1.1em;margin:1.6em 0 .3em}
.layouts p{margin:.2em 0}.layouts .warning{border-left:3px solid #c77700;padding-left:.6em}
.layouts .wide{overflow-x:auto}
.layouts table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.layouts.layouts th,.layouts.layouts td{padding:.2em .8em .2em 0;text-align:left;
vertical-align:top;border:0;background:none}
.layouts th{border-bottom:1px solid currentColor;white-space:nowrap;font-weight:600}
.layouts td.n,.layouts th.n{text-align:right;white-space:nowrap}
.layouts td.t{font-family:ui-monospace,monospace;font-size:13px}
.layouts td.more{padding:0 0 .9em 1.5em;text-align:left}
.layouts td.more div{max-width:75em;overflow-wrap:anywhere}
.layouts svg.tiles{display:block;margin-top:.4em;max-width:100%;height:auto}
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

# Each row is a tbody, so that what is said below it moves with it.
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


def page(summary: Summary, tables: Iterable[Table]) -> str:
    """A whole document, which loads nothing; a click on a column's name sorts.

    >>> page(Summary("<m>"), []).count("&lt;m&gt;")
    2
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(summary.title)}</title>\n<style>\n{_PAGE_STYLE}</style>\n</head>\n"
        f"<body>\n{fragment(summary, tables)}<script>\n{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def fragment(summary: Summary, tables: Iterable[Table]) -> str:
    """The report as an element, without a script.

    >>> fragment(Summary("m"), []).endswith("</div>")
    True
    """
    parts = [f'<div class="layouts"><style>\n{_STYLE}</style>', f"<h1>{escape(summary.title)}</h1>"]
    parts += [f"<p>{escape(line)}</p>" for line in summary.lines]
    parts += [f'<p class="warning">{escape(line)}</p>' for line in summary.warnings]
    parts += [_table(table) for table in tables if table.rows]
    return "\n".join([*parts, "</div>"])


def _table(table: Table) -> str:
    heads = "".join(
        f"<th{_class(cell, ' class=n')}>{escape(name)}</th>"
        for name, cell in zip(table.columns, table.rows[0].cells, strict=True)
    )
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    bodies = "\n".join(_body(row) for row in table.rows)
    return (
        f'<h2>{escape(table.title)}</h2>{note}\n<div class="wide"><table>'
        f"<thead><tr>{heads}</tr></thead>\n{bodies}\n</table></div>"
    )


def _class(cell: Cell, text: str) -> str:
    return text if isinstance(cell.value, int | float) else ""


def _body(row: Row) -> str:
    cells = "".join(
        f'<td class="{"n" if _class(cell, "n") else "t"}" '
        f'data-value="{escape(str(cell.value))}">{escape(cell.text)}</td>'
        for cell in row.cells
    )
    drawing = "" if row.shape is None else tile_drawing(row.shape)
    if not row.details and not drawing:
        return f"<tbody><tr>{cells}</tr></tbody>"
    details = "".join(f"<div>{escape(line)}</div>" for line in row.details)
    more = f'<td class="more" colspan="{len(row.cells)}">{details}{drawing}</td>'
    return f"<tbody><tr>{cells}</tr><tr>{more}</tr></tbody>"
