"""The picture in a terminal: lines of styled text, with borders between tiles.

Tiles are told apart by borders; colour only repeats what the borders say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from morello_layouts.picture.borders import border_between
from morello_layouts.picture.grid import Cell, Grid, View

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["ASCII", "UNICODE", "Glyphs", "terminal_lines"]

_COLOURS: Final = ("cyan", "yellow", "green", "magenta", "blue", "red")


@dataclass(frozen=True, slots=True)
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
) -> list[Text]:
    """The picture, line by line.

    Args:
        picture: what to draw.
        names: a name for each dimension, such as ``("y", "x")``.
        glyphs: the characters to draw with.
        marks: characters that stand before the offset, by the coordinate of the cell.

    >>> from morello_layouts.formula import IndexMap
    >>> from morello_layouts.picture import view_of
    >>> from morello_layouts.recipe import Recipe, Split, Transpose
    >>> recipe = Recipe((2, 4), (Split((None, 2)), Transpose((1, 0, 2))))
    >>> m = IndexMap.of(recipe, lambda d, shape: d[0])
    >>> for line in terminal_lines(view_of(m), ("y", "x"), ASCII):
    ...     print(line.plain)
    y v x > 0 1 | 2 3
          0 0 1 | 4 5
          1 2 3 | 6 7
    """
    from rich.text import Text

    if not picture.grids:
        return [Text("the array has no elements")]
    lines: list[Text] = []
    for grid in picture.grids:
        if grid.at:
            at = ", ".join(f"{name}={x}" for name, x in zip(names, grid.at, strict=False))
            lines.append(Text(at, style="bold"))
        lines += _Drawing(grid, names[len(grid.at) :], glyphs, marks or {}).lines()
    if picture.hidden_slices:
        more = "slice" if picture.hidden_slices == 1 else "slices"
        lines.append(Text(f"{_amount(picture.hidden_slices)} more {more}", style="dim"))
    if any(cell.is_padding for cell in picture.cells()):
        lines.append(Text(f"{glyphs.padding} padding", style="dim"))
    return lines


class _Drawing:
    """One grid: its column widths and borders, then its lines."""

    def __init__(
        self,
        grid: Grid,
        names: Sequence[str],
        glyphs: Glyphs,
        marks: Mapping[tuple[int, ...], str],
    ) -> None:
        self.grid, self.glyphs, self.marks = grid, glyphs, marks
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

    def lines(self) -> list[Text]:
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
        return f"{self.marks.get(cell.coordinate, '')}{cell.offset}"

    def line(self, label: str, texts: Sequence[str], row: int | None) -> Text:
        """A row of cells; of the header where ``row`` is None, whose borders run through."""
        from rich.text import Text

        line = Text(no_wrap=True)
        line.append(label.rjust(self.label_width), style="dim")
        for k, text in enumerate(texts):
            if k and any(self.right[k - 1]):
                has_border = self.has_border_right(k - 1, row)
                line.append(f" {self.glyphs.vertical}" if has_border else "  ")
            style = "dim" if row is None else _style(self.grid.cells[row][k])
            line.append(" ").append(text.rjust(self.width), style=style)
        return line

    def has_border_right(self, column: int, row: int | None) -> bool:
        """In the header and in gaps: where every row that is shown has one."""
        if row is not None and self.grid.rows[row] is not None:
            return self.right[column][row]
        rows = zip(self.grid.rows, self.right[column], strict=True)
        return all(has_border for index, has_border in rows if index is not None)

    def rule(self, below: Sequence[bool]) -> Text:
        from rich.text import Text

        parts = [" " * self.label_width]
        for k, has_border in enumerate(below):
            is_gap = self.grid.columns[k] is None
            dash = self.glyphs.horizontal if has_border or is_gap else " "
            if k and any(self.right[k - 1]):
                is_cross = has_border or below[k - 1]
                parts.append(dash + (self.glyphs.cross if is_cross else self.glyphs.vertical))
            parts.append(dash * (self.width + 1))
        return Text("".join(parts), no_wrap=True)


def _borders(lines: Sequence[Sequence[Cell | None]]) -> list[list[bool]]:
    """Between each line of cells and the next: where tiles end. A gap has no border."""
    return [
        [border_between(a, b) == 0 for a, b in zip(before, after, strict=True)]
        for before, after in pairwise(lines)
    ]


def _amount(n: int) -> str:
    return f"{n:,}" if n < 10**30 else "a great many"


def _style(cell: Cell | None) -> str:
    if cell is None or cell.is_padding:
        return "dim"
    return _COLOURS[sum((3 if k else 1) * x for k, x in enumerate(reversed(cell.tile))) % 6]
