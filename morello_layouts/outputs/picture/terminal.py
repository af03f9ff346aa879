"""Pictures as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from textwrap import wrap
from typing import Final

from morello_layouts.core.description import amount
from morello_layouts.core.fields import frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.outputs.picture.panel import Panel
from morello_layouts.outputs.picture.view import (
    Cell,
    Grid,
    Slot,
    Strip,
    View,
    border_between,
    borders,
    slots_per_line,
    view_of,
)

_COLOURS: Final = ("cyan", "yellow", "green", "magenta", "blue", "red")


_CONTROLS: Final = dict.fromkeys((7, 8, 11, 12, 13))  # bell, backspace, tab, feed, return


class Line:
    """A line of text in pieces, each in a style of a terminal: ``bold``, ``dim``, a colour, none.

    >>> Line("8", "bold").append(" slots").plain
    '8 slots'
    """

    __slots__ = ("pieces",)

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces: list[tuple[str, str]] = []  #: the texts, each with its style.
        self.append(text, style)

    def append(self, text: str, style: str = "") -> Line:
        """Add a piece without characters that move a terminal's cursor; return the line."""
        self.pieces.append((text.translate(_CONTROLS), style))
        return self

    def indented(self, columns: int) -> Line:
        """Return the line after some blanks."""
        found = Line(" " * columns)
        found.pieces += self.pieces
        return found

    @property
    def plain(self) -> str:
        """The text."""
        return "".join(text for text, _ in self.pieces)

    def __len__(self) -> int:
        return len(self.plain)


@frozen
class Glyphs:
    """The characters of a picture, each one column wide."""

    vertical: str
    horizontal: str
    cross: str
    gap: str
    gap_down: str
    padding: str
    arrow: str
    down: str
    dot: str
    box: str
    moved: str


UNICODE: Final = Glyphs("│", "─", "┼", "…", "⋮", "░", "→", "↓", "•", "▫", "*")
ASCII: Final = Glyphs("|", "-", "+", "~", ":", "#", ">", "v", "o", "=", "*")


def terminal_lines(
    picture: View,
    names: Sequence[str],
    glyphs: Glyphs = UNICODE,
    marks: Mapping[tuple[int, ...], str] | None = None,
) -> list[Line]:
    """Return a picture line by line.

    >>> from morello_layouts.core.maps import IndexMap
    >>> from morello_layouts.outputs.picture import view_of
    >>> from morello_layouts.core.recipe import Recipe, Split, Transpose
    >>> recipe = Recipe((2, 4), (Split((None, 2)), Transpose((1, 0, 2))))
    >>> m = IndexMap.of(recipe, lambda d, shape: d[0])
    >>> for line in terminal_lines(view_of(m), ("y", "x"), ASCII):
    ...     print(line.plain)
    y v x > 0 1 | 2 3
          0 0 1 | 4 5
          1 2 3 | 6 7
    """
    if not picture.grids:
        return [Line("the array has no elements")]
    lines: list[Line] = []
    for grid in picture.grids:
        if grid.at:
            at = ", ".join(f"{name}={x}" for name, x in zip(names, grid.at, strict=False))
            lines.append(Line(at, style="bold"))
        lines += _TextGrid(picture, grid, names[len(grid.at) :], glyphs, marks or {}).lines()
    if hidden := picture.hidden_slices:
        lines.append(Line(f"{amount(hidden)} more slice{'s' * (hidden > 1)}", style="dim"))
    if any(cell.is_padding for cell in picture.cells()):
        lines.append(Line(f"{glyphs.padding} padding", style="dim"))
    return lines


class _TextGrid:
    """One grid: its column widths and borders, then its lines."""

    def __init__(
        self,
        view: View,
        grid: Grid,
        names: Sequence[str],
        glyphs: Glyphs,
        marks: Mapping[tuple[int, ...], str],
    ) -> None:
        self.view, self.grid, self.glyphs, self.marks = view, grid, glyphs, marks
        self.has_rows = len(names) > 1
        down = f"{names[0]} {glyphs.down} " if self.has_rows else ""
        across = f"{names[-1]} {glyphs.arrow}" if names else ""
        row_labels = [self.index_text(row) for row in grid.rows] if self.has_rows else []
        self.corner = down + across
        self.label_width = max(map(len, (self.corner, *row_labels)), default=0)
        labels = [self.index_text(column) for column in grid.columns] if names else []
        shown = [cell for row in grid.cells for cell in row if cell is not None]
        offsets = [len(self.offset_text(cell)) for cell in shown if not cell.is_padding]
        self.header = labels
        self.width = max([1, *offsets, *map(len, labels)])
        self.right = _borders(list(zip(*grid.cells, strict=True)))
        self.below = _borders(grid.cells)

    def index_text(self, index: int | None) -> str:
        return self.glyphs.gap if index is None else str(index)

    def lines(self) -> list[Line]:
        lines = [self.line(self.corner, self.header, None)] if self.header else []
        for k, (row, cells) in enumerate(zip(self.grid.rows, self.grid.cells, strict=True)):
            label = self.index_text(row) if self.has_rows else ""
            lines.append(self.line(label, [self.cell_text(cell, row) for cell in cells], k))
            if k < len(self.below) and any(self.below[k]):
                lines.append(self.rule(self.below[k]))
        return lines

    def cell_text(self, cell: Cell | None, row: int | None) -> str:
        if cell is None:
            return self.glyphs.gap_down if row is None else self.glyphs.gap
        return self.glyphs.padding * self.width if cell.is_padding else self.offset_text(cell)

    def offset_text(self, cell: Cell) -> str:
        return f"{self.marks.get(cell.coordinate, '')}{self.view.place_text(cell.offset)}"

    def line(self, label: str, texts: Sequence[str], row: int | None) -> Line:
        """Return a row of cells; the header, where only whole borders show, if ``row`` is None."""
        line = Line()
        line.append(label.rjust(self.label_width), style="dim")
        for k, text in enumerate(texts):
            if k and any(self.right[k - 1]):
                has_border = self.has_border_right(k - 1, row)
                line.append(f" {self.glyphs.vertical}" if has_border else "  ")
            style = "dim" if row is None else _style(self.grid.cells[row][k])
            line.append(" ").append(text.rjust(self.width), style=style)
        return line

    def has_border_right(self, column: int, row: int | None) -> bool:
        return all(self.right[column]) if row is None else self.right[column][row]

    def rule(self, below: Sequence[bool]) -> Line:
        parts = [" " * self.label_width]
        for k, has_border in enumerate(below):
            is_gap = self.grid.columns[k] is None
            dash = self.glyphs.horizontal if has_border or is_gap else " "
            if k and any(self.right[k - 1]):
                is_cross = has_border or below[k - 1]
                parts.append(dash + (self.glyphs.cross if is_cross else self.glyphs.vertical))
            parts.append(dash * (self.width + 1))
        return Line("".join(parts))


def _borders(lines: Sequence[Sequence[Cell | None]]) -> list[list[bool]]:
    """Return for each line of cells but the last whether outermost tiles end beside each cell."""
    return [[level == 0 for level in line] for line in borders(lines)]


def _style(cell: Cell | None) -> str:
    if cell is None or cell.is_padding:
        return "dim"
    return _COLOURS[sum((3 if k else 1) * x for k, x in enumerate(reversed(cell.tile))) % 6]


_MOST_COLUMNS = 34
_FEWEST_COLUMNS = 5


def fitted_view(m: IndexMap, names: Sequence[str], width: int) -> View:
    """Return a view with as many columns as fit a width, and fewer rows if there are slices."""
    slices = prod(known(m.recipe.shape)[:-2])
    rows = 12 if slices <= 1 else 8
    columns = _MOST_COLUMNS
    while True:
        picture = view_of(m, max_rows=rows, max_columns=columns)
        excess = max(len(line.plain) for line in terminal_lines(picture, names)) - width
        if excess <= 0 or columns == _FEWEST_COLUMNS:
            return picture
        shown = max(len(grid.columns) for grid in picture.grids) if picture.grids else 0
        cell = max((len(picture.place_text(c.offset)) for c in picture.cells()), default=1) + 3
        columns = max(_FEWEST_COLUMNS, min(columns, shown) - max(1, excess // cell))


_TALLEST = 40
_LABEL = "memory "
_MOST_SLOTS = 64
_MOST_MARKS = 4


def panel_lines(panel: Panel, width: int, glyphs: Glyphs = UNICODE) -> list[Line]:
    r"""Return the lines of a panel, wrapped or cut to a width.

    >>> from morello_layouts import draw
    >>> (panel,) = draw("f32[2,3]{0,1}", dots=[(1, 2)]).panels
    >>> print(*(line.plain for line in panel_lines(panel, 80)[2:]), sep="\n")
    d0 ↓ d1 →  0  1  2
            0  0  2  4
            1  1  3 •5
    memory   0   1   2   3   4   5
           0,0 1,0 0,1 1,1 0,2 1,2
    • (1, 2) lies at offset 5
    """
    return list(_lines(panel, width, glyphs))


def _lines(panel: Panel, width: int, glyphs: Glyphs) -> Iterator[Line]:
    for text, style in zip(panel.headings, ("bold", ""), strict=False):
        for line in wrap(text, max(width, 30), break_on_hyphens=False):
            yield Line(line, style=style)
    marks = dict.fromkeys(panel.elsewhere, glyphs.moved)
    marks |= dict.fromkeys(panel.style.boxes, glyphs.box)
    marks |= dict.fromkeys(panel.style.dots, glyphs.dot)
    lines = terminal_lines(panel.view, panel.names, glyphs, marks)
    if len(lines) > _TALLEST or any(len(line) > width for line in lines):
        # A mark adds a character to each cell.
        fitted = fitted_view(panel.map, panel.names, max(width - len(_LABEL), 20))
        lines = terminal_lines(fitted, panel.names, glyphs, marks)
    yield from lines
    yield from _strip(panel.view, width, glyphs)
    for mark, marked in ((glyphs.dot, panel.style.dots), (glyphs.box, panel.style.boxes)):
        for coordinate in marked[:_MOST_MARKS]:
            yield Line(f"{mark} {panel.place_of(coordinate)}")
    if panel.view.axes:
        yield Line(panel.in_cells, style="dim")
    if panel.style.has_words:
        yield Line(
            f"{panel.style.word_bits}-bit words hold elements of {panel.style.element_bits} bits"
        )
    if panel.moved:
        yield Line(f"{glyphs.moved} {panel.moved}")


def _strip(view: View, width: int, glyphs: Glyphs) -> Iterator[Line]:
    """Yield two lines for each line of the strip: offsets, and below them coordinates."""
    strip = view.strip
    if strip is None or not view.grids:
        return
    slots = _few(strip)
    inside = [glyphs.gap if slot is None else slot.text for slot in slots]
    above = [glyphs.gap if slot is None else view.place_text(slot.offset) for slot in slots]
    each = max(map(len, (*inside, *above)), default=1)
    edges = sum(border_between(a, b) == 0 for a, b in pairwise(slots))
    spacing = 3 if 4 * edges > len(slots) else 1.5  # a border adds two characters
    count = slots_per_line(strip, int((width - len(_LABEL)) / (each + spacing)))
    before: Slot | None = None
    for start in range(0, len(slots), count):
        first, second = _LABEL if start == 0 else " " * len(_LABEL), " " * len(_LABEL)
        for k in range(start, min(start + count, len(slots))):
            slot = slots[k]
            lead = "" if k == start else " "
            if k > start and border_between(before, slot) == 0:
                lead = f" {glyphs.vertical} "
            filler = glyphs.padding * each
            is_padding = slot is not None and slot.coordinate is None
            first += lead + above[k].rjust(each)
            second += lead + (filler if is_padding else inside[k].rjust(each))
            before = slot
        yield Line(first, style="dim")
        yield Line(second)


def _few(strip: Strip) -> list[Slot | None]:
    """Return the slots that a terminal shows: the first ones and the last two."""
    slots = list(strip.slots)
    if len(slots) <= _MOST_SLOTS:
        return slots
    return [*slots[: _MOST_SLOTS - 3], None, *slots[-2:]]
