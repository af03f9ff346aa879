"""A grid of cells as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from morello_layouts.picture.borders import borders
from morello_layouts.picture.grid import Cell, Grid
from morello_layouts.picture.markup import element, escaped, number
from morello_layouts.picture.panel import Panel

__all__ = ["CHARACTER", "Drawn", "cell_width", "dots", "draw_grid", "grid_size", "text_width"]

CHARACTER: Final = 0.61
"""The width of a character in the monospaced fonts of a picture, in font sizes."""

_HEIGHT: Final = 28
_TALL: Final = 40  # with a word's number below the offset
_GAP: Final = 22
_LABELS: Final = 34  # above the cells: an arrow, and indices


@dataclass(frozen=True, slots=True)
class Drawn:
    """Markup, and the room it takes."""

    markup: str
    width: float
    height: float


def text_width(text: str, size: float) -> float:
    """How wide a text is in a font size; wide enough for the fonts that may be there."""
    return len(text) * size * CHARACTER


def cell_width(panel: Panel) -> float:
    """The width that every cell of a panel has."""
    texts = [str(cell.offset) for cell in panel.view.cells() if not cell.is_padding]
    indices = [str(i) for grid in panel.view.grids for i in grid.columns if i is not None]
    words = []
    if panel.style.colour == "word":
        words = [panel.word_text(c.offset) for c in panel.view.cells() if not c.is_padding]
    widest = [text_width(max(texts, key=len, default=""), 13) + 12]
    widest += [text_width(max(indices, key=len, default=""), 11) + 8]
    widest += [text_width(max(words, key=len, default=""), 10) + 8]
    return max(30, *widest)


def draw_grid(panel: Panel, grid: Grid, x: float, y: float, width: float) -> Drawn:
    """A grid with its indices outside, its upper left corner at (x, y)."""
    return _GridDrawing(panel, grid, x, y, width).drawn()


def grid_size(panel: Panel, grid: Grid, width: float) -> tuple[float, float]:
    """The room that a grid takes."""
    return _GridDrawing(panel, grid, 0, 0, width).size


class _GridDrawing:
    """One grid: where its lines are, then its parts."""

    def __init__(self, panel: Panel, grid: Grid, x: float, y: float, width: float) -> None:
        self.panel, self.grid = panel, grid
        self.names = panel.names[len(grid.at) :]
        self.has_rows, self.has_columns = len(self.names) > 1, len(self.names) > 0
        rows = [str(i) for i in grid.rows if i is not None] if self.has_rows else []
        down = [f"{self.names[0]} ↓"] if self.has_rows else []
        self.labels = max((text_width(text, 11) for text in rows + down), default=0) + 8
        self.top = y + (16 if grid.at else 0)
        height = _TALL if panel.style.colour == "word" else _HEIGHT
        above = _LABELS if self.has_columns else 0
        self.xs = _places(grid.columns, x + self.labels, width)
        self.ys = _places(grid.rows, self.top + above, height)
        self.x, self.y = x, y

    def drawn(self) -> Drawn:
        parts = [*self.outside(), *self.cells(), *self.gaps(), *self.lines(), *self.marks()]
        return Drawn("".join(parts), *self.size)

    @property
    def size(self) -> tuple[float, float]:
        """The width and height that it takes."""
        return self.xs[-1] - self.x + 3, self.ys[-1] - self.y + 3

    def outside(self) -> Iterator[str]:
        """The slice's coordinate, the names of the dimensions, the indices."""
        if self.grid.at:
            at = ", ".join(
                f"{n} = {i}" for n, i in zip(self.panel.names, self.grid.at, strict=False)
            )
            yield element("text", escaped(at), class_="t", x=self.x, y=self.y + 11)
        if self.has_columns:
            name = escaped(f"{self.names[-1]} →")
            yield element("text", name, class_="l", x=self.xs[0] + 3, y=self.top + 12)
            for k, index in enumerate(self.grid.columns):
                middle = (self.xs[k] + self.xs[k + 1]) / 2
                if index is None:
                    yield dots(middle, self.ys[0] - 9, 5, 0)
                else:
                    yield element("text", str(index), class_="l m", x=middle, y=self.ys[0] - 6)
        if self.has_rows:
            right = self.xs[0] - 6
            name = escaped(f"{self.names[0]} ↓")
            yield element("text", name, class_="l e", x=right, y=self.ys[0] - 6)
            for k, index in enumerate(self.grid.rows):
                middle = (self.ys[k] + self.ys[k + 1]) / 2 + 4
                if index is None:
                    yield dots(right - 3, middle - 4, 0, 5)
                else:
                    yield element("text", str(index), class_="l e", x=right, y=middle)

    def cells(self) -> Iterator[str]:
        for row, cells in enumerate(self.grid.cells):
            for column, cell in enumerate(cells):
                if cell is not None:
                    yield self.cell(cell, row, column)

    def cell(self, cell: Cell, row: int, column: int) -> str:
        """One cell: what it says when hovered, its fill, its offset."""
        panel = self.panel
        x, y = self.xs[column], self.ys[row]
        width, height = self.xs[column + 1] - x, self.ys[row + 1] - y
        colour = panel.colour(cell)
        fill = "p" if colour is None else f"c{colour}"
        # Written out: there are thousands of them.
        at = ",".join(map(str, cell.coordinate))
        box = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        title = escaped(panel.described(cell))
        text = ""
        if colour is not None:
            middle, base = number(x + width / 2), y + 18.5
            text = f'<text class="o" x="{middle}" y="{number(base)}">{cell.offset}</text>'
            if panel.style.colour == "word":
                word = panel.word_text(cell.offset)
                text += f'<text class="w" x="{middle}" y="{number(base + 14)}">{word}</text>'
        return (
            f'<g class="cell" data-c="{at}" data-o="{cell.offset}"><title>{title}</title>'
            f'<rect class="{fill}" {box}/>{text}</g>'
        )

    def gaps(self) -> Iterator[str]:
        """Dots where rows or columns are left out."""
        for row, cells in enumerate(self.grid.cells):
            for column, cell in enumerate(cells):
                if cell is None:
                    x = (self.xs[column] + self.xs[column + 1]) / 2
                    y = (self.ys[row] + self.ys[row + 1]) / 2
                    across = 0 if self.grid.columns[column] is not None else 5
                    yield dots(x, y, across, 0 if self.grid.rows[row] is not None else 5)

    def lines(self) -> Iterator[str]:
        """Borders between tiles, thick at the first level and thin at the next; the frame."""
        below = borders(self.grid.cells)
        right = borders(list(zip(*self.grid.cells, strict=True)))
        across: dict[int, list[str]] = {}
        for k, line in enumerate(below):
            for level, start, end in _stretches(line):
                path = f"M{number(self.xs[start])} {number(self.ys[k + 1])}H{number(self.xs[end])}"
                across.setdefault(level, []).append(path)
        for k, line in enumerate(right):
            for level, start, end in _stretches(line):
                path = f"M{number(self.xs[k + 1])} {number(self.ys[start])}V{number(self.ys[end])}"
                across.setdefault(level, []).append(path)
        for level in sorted(across, reverse=True):
            yield element("path", class_=f"b{min(level, 2)}", d="".join(across[level]))
        frame = (self.xs[0], self.ys[0], self.xs[-1] - self.xs[0], self.ys[-1] - self.ys[0])
        yield _box(frame, "b0" if self.panel.view.levels else "b1")

    def marks(self) -> Iterator[str]:
        """What is marked, and what lies elsewhere in the other layout."""
        style = self.panel.style
        dots, boxed = set(style.dots), set(style.boxes)
        if style.box_tiles:
            yield from self.tile_boxes(style.box_tiles - 1)
        for row, cells in enumerate(self.grid.cells):
            for column, cell in enumerate(cells):
                if cell is None:
                    continue
                x, y = self.xs[column], self.ys[row]
                width, height = self.xs[column + 1] - x, self.ys[row + 1] - y
                if cell.coordinate in self.panel.elsewhere:
                    corner = f"M{number(x + 1)} {number(y + 1)}h7l-7 7z"
                    yield element("path", class_="moved", d=corner)
                if cell.coordinate in boxed:
                    yield _box((x + 2, y + 2, width - 4, height - 4), "mark")
                if cell.coordinate in dots:
                    yield element("circle", class_="dot", cx=x + width - 6, cy=y + 6, r=4)

    def tile_boxes(self, level: int) -> Iterator[str]:
        """A box around each tile of a level: around all its cells that lie side by side."""
        spans: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for row, cells in enumerate(self.grid.cells):
            for column, cell in enumerate(cells):
                if cell is not None:
                    spans.setdefault(cell.tiles[level], []).append((row, column))
        for places in spans.values():
            rows, columns = zip(*places, strict=True)
            top, bottom, left, right = min(rows), max(rows), min(columns), max(columns)
            is_whole = len(places) == (bottom - top + 1) * (right - left + 1)
            for row, column in [(top, left)] if is_whole else places:
                low = self.ys[(bottom if is_whole else row) + 1]
                far = self.xs[(right if is_whole else column) + 1]
                x, y = self.xs[column] + 2.5, self.ys[row] + 2.5
                yield _box((x, y, far - 2.5 - x, low - 2.5 - y), "mark")


def dots(x: float, y: float, across: float, down: float) -> str:
    """Three dots around a point, for what is left out; fonts need not have them."""
    points = ((x + k * across, y + k * down) for k in (-1, 0, 1))
    path = "".join(f"M{number(px)} {number(py)}h0" for px, py in points)
    return element("path", class_="dots", d=path)


def _places(indices: Sequence[int | None], start: float, size: float) -> list[float]:
    """Where each line of cells begins, and where the last one ends."""
    places = [start]
    for index in indices:
        places.append(places[-1] + (_GAP if index is None else size))
    return places


def _stretches(line: Sequence[int | None]) -> Iterator[tuple[int, int, int]]:
    """Runs of one level in a line: the level, the first place, and that after the last."""
    start = 0
    for end in range(1, len(line) + 1):
        if end == len(line) or line[end] != line[start]:
            level = line[start]
            if level is not None:
                yield level, start, end
            start = end


def _box(box: tuple[float, float, float, float], class_: str) -> str:
    x, y, width, height = box
    return element("rect", class_=class_, x=x, y=y, width=width, height=height)
