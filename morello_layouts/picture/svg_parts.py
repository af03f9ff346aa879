"""The parts of an SVG picture: grids, strips, scales and markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from morello_layouts.maps import IndexMap
from morello_layouts.picture.panel import Panel, border_between, borders
from morello_layouts.picture.tiles import OutermostTiles
from morello_layouts.picture.view import Cell, Grid, Slot, Strip, slots_per_line
from morello_layouts.recipe import known

# What XML cannot hold, escaped or not.
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: object) -> str:
    """Text as it stands in markup; what XML cannot hold becomes a replacement character.

    >>> escaped('<a b="c">' + chr(0))
    '&lt;a b=&quot;c&quot;&gt;\ufffd'
    """
    return escape(_NO_XML.sub("\ufffd", str(text)))


def number(value: float) -> str:
    """A length: with at most one decimal.

    >>> number(12.0), number(12.345)
    ('12', '12.3')
    """
    return f"{round(value, 1):.12g}"


def element(tag: str, *children: str, **attributes: object) -> str:
    """An element with children that are markup already, and attributes that are not.

    An underscore at the end of an attribute's name is dropped, others become dashes; an attribute
    that is None is left out.

    >>> element("rect", x=1.25, class_="c0", stroke_width=2)
    '<rect x="1.2" class="c0" stroke-width="2"/>'
    >>> element("text", escaped("a < b"))
    '<text>a &lt; b</text>'
    """
    given = "".join(
        f' {name.removesuffix("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{''.join(children)}</{tag}>" if children else f"<{tag}{given}/>"


def _value(value: object) -> str:
    return number(value) if isinstance(value, int | float) else escaped(value)


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


_SMALLEST: Final = 14.0
_FINEST: Final = 3.0  # between lines, else the tiles are not drawn


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of the whole array: its elements, with padding, and the size of its tiles."""

    size: int
    extent: int
    tile: int | None


@dataclass(frozen=True, slots=True)
class Scale:
    """The last two dimensions of an array, without cells.

    Attributes:
        rows: down; one row for rank 0 and 1.
        columns: across.
    """

    rows: Axis
    columns: Axis

    def __str__(self) -> str:
        one = self.rows.extent == 1
        sizes = [
            str(n) if one else f"{m}x{n}"
            for m, n in (
                (self.rows.size, self.columns.size),
                (self.rows.extent, self.columns.extent),
            )
        ]
        return sizes[0] if sizes[0] == sizes[1] else f"{sizes[0]} in {sizes[1]}"


def scale_of(m: IndexMap) -> Scale:
    """The whole array of an index map, in small.

    >>> from morello_layouts import index_map
    >>> print(scale_of(index_map("bf16[10,200]{1,0:T(8,128)(2,1)}")))
    10x200 in 16x256
    """
    tiles = OutermostTiles(m.recipe)
    shape = known(m.recipe.shape)
    axes = [Axis(n, tiles.extents[dim], tiles.sizes[dim]) for dim, n in enumerate(shape)][-2:]
    return Scale(*[Axis(1, 1, None)] * (2 - len(axes)), *axes)


def draw_scale(
    scale: Scale,
    x: float,
    y: float,
    *,
    shown: tuple[Sequence[int | None], Sequence[int | None]] | None = None,
    widest: float = 260,
    tallest: float = 110,
) -> Drawn:
    """The array in small, its upper left corner at (x, y), with a line of text above.

    Args:
        scale: the array.
        x: in pixels, as all lengths here.
        y: of the text's upper edge.
        shown: rows and columns to mark along the edges.
        widest: of the array.
        tallest: of the array.
    """
    return _ScaleDrawing(scale, x, y, widest, tallest).drawn(shown)


class _ScaleDrawing:
    def __init__(self, scale: Scale, x: float, y: float, widest: float, tallest: float) -> None:
        rows, columns = scale.rows, scale.columns
        self.scale, self.x = scale, x
        unit = min(widest / columns.extent, tallest / rows.extent, 20)
        self.width = max(_SMALLEST, min(widest, unit * columns.extent))
        self.height = max(_SMALLEST, min(tallest, unit * rows.extent))
        # Of arrays much longer than high only the form is lost, not the place of lines.
        self.top = y + 24

    def drawn(self, shown: tuple[Sequence[int | None], Sequence[int | None]] | None) -> Drawn:
        rows, columns = self.scale.rows, self.scale.columns
        text = f"{'array' if shown is None else 'whole array'} {self.scale}"
        if shown is not None:
            text += ", bars: rows and columns shown"
        left = self.x + (8 if shown is not None else 1)
        box = f'x="{number(left)}" y="{number(self.top)}"'
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        data_width = max(1.0, self.width * columns.size / columns.extent)
        data_height = max(1.0, self.height * rows.size / rows.extent)
        data = f'width="{number(data_width)}" height="{number(data_height)}"'
        parts = [
            element("text", escaped(text), class_="l", x=self.x, y=self.top - 13),
            f'<rect class="p" {box} {size}/>',
            f'<rect class="c0" {box} {data}/>',
            *self.lines(left),
            f'<rect class="b1" {box} {size}/>',
        ]
        if shown is not None:
            parts += self.bars(left, *shown)
        return Drawn("".join(parts), max(self.width + 10, text_width(text, 11)), self.height + 28)

    def lines(self, left: float) -> Iterator[str]:
        rows, columns = self.scale.rows, self.scale.columns
        paths = [
            f"M{number(left + at)} {number(self.top)}v{number(self.height)}"
            for at in _lines(columns, self.width)
        ]
        paths += [
            f"M{number(left)} {number(self.top + at)}h{number(self.width)}"
            for at in _lines(rows, self.height)
        ]
        if paths:
            yield element("path", class_="b1", d="".join(paths))

    def bars(
        self, left: float, rows: Sequence[int | None], columns: Sequence[int | None]
    ) -> Iterator[str]:
        """Bars along the upper and the left edge, for the rows and columns that are shown."""
        paths = []
        for start, end in _runs(columns):
            unit = self.width / self.scale.columns.extent
            length = max((end - start) * unit, 1)
            paths.append(f"M{number(left + start * unit)} {number(self.top - 8)}h{number(length)}")
            paths[-1] += f"v4h-{number(length)}z"
        for start, end in _runs(rows):
            unit = self.height / self.scale.rows.extent
            length = max((end - start) * unit, 1)
            paths.append(f"M{number(left - 8)} {number(self.top + start * unit)}v{number(length)}")
            paths[-1] += f"h4v-{number(length)}z"
        yield element("path", class_="bar", d="".join(paths))


def _lines(axis: Axis, length: float) -> list[float]:
    """Where tiles end, where there is room to tell them apart."""
    if axis.tile is None or length * axis.tile / axis.extent < _FINEST:
        return []
    count = -(-axis.extent // axis.tile)
    return [length * k * axis.tile / axis.extent for k in range(1, count)]


def _runs(indices: Sequence[int | None]) -> Iterator[tuple[int, int]]:
    """The indices shown, as pieces (start, end)."""
    start: int | None = None
    for index, after in zip(indices, [*indices[1:], None], strict=True):
        if index is None:
            continue
        start = index if start is None else start
        if after is None:
            yield start, index + 1
            start = None


_STRIP_HEIGHT = 24
_LINE = 50  # with the offsets above


def slot_width(strip: Strip) -> float:
    """The width of each slot: room for its coordinate inside and its offset above."""
    slots = [slot for slot in strip.slots if slot is not None]
    inside = max((len(_inside(slot)) for slot in slots), default=1)
    above = max((len(str(slot.offset)) for slot in slots), default=1)
    return max(24, text_width("0" * inside, 11) + 9, text_width("0" * above, 10) + 6)


def draw_strip(panel: Panel, strip: Strip, x: float, y: float, room: float) -> Drawn:
    """The strip, its upper left corner at (x, y), in lines that fit the room."""
    width = slot_width(strip)
    count = slots_per_line(strip, int(room // width))
    parts = [element("text", _title(strip), class_="t", x=x, y=y + 11)]
    lines = [strip.slots[k : k + count] for k in range(0, len(strip.slots), count)]
    before: Slot | None = None
    for k, line in enumerate(lines):
        top = y + 34 + k * _LINE
        parts += _line(panel, (before, *line), x, top, width)
        before = line[-1]
    longest = max((len(line) for line in lines), default=0)
    widest = max(longest * width + 2, text_width(_title(strip), 12))
    return Drawn("".join(parts), widest, 34 + len(lines) * _LINE - 14)


def _title(strip: Strip) -> str:
    shown = sum(slot is not None for slot in strip.slots)
    some = f", {shown:,} of them shown" if strip.is_cut else ""
    return f"memory: {strip.size:,} {'slot' if strip.size == 1 else 'slots'}{some}"


def _inside(slot: Slot) -> str:
    """The coordinate of the element in a slot; a scalar's has no numbers."""
    return "" if slot.coordinate is None else ",".join(map(str, slot.coordinate)) or "()"


def _border(panel: Panel, before: Slot | None, slot: Slot | None) -> int | None:
    """The level of the border between slots; where colours show words, that between words."""
    if panel.style.colour != "word" or before is None or slot is None:
        return border_between(before, slot)
    words = panel.style.words_of(before.offset), panel.style.words_of(slot.offset)
    return None if words[0] == words[1] else 0


def _line(
    panel: Panel, line: tuple[Slot | None, ...], x: float, y: float, width: float
) -> Iterator[str]:
    """A line of slots, after the slot before them, which is not drawn."""
    edges: dict[int, list[str]] = {}
    for k, (before, slot) in enumerate(pairwise(line)):
        left = x + k * width
        middle = left + width / 2
        if slot is None:
            yield dots(middle, y + _STRIP_HEIGHT / 2, 5, 0)
        else:
            yield _slot(panel, slot, left, y, width)
        border = _border(panel, before, slot)
        if border is not None:
            edges.setdefault(min(border, 2), []).append(
                f"M{number(left)} {number(y)}v{_STRIP_HEIGHT}"
            )
    for level in sorted(edges, reverse=True):
        yield element("path", class_=f"b{level}", d="".join(edges[level]))
    frame = {"x": x, "y": y, "width": (len(line) - 1) * width, "height": _STRIP_HEIGHT}
    yield element("rect", class_="b1", **frame)


def _slot(panel: Panel, slot: Slot, x: float, y: float, width: float) -> str:
    colour = panel.colour(slot)
    fill = "p" if colour is None else f"c{colour}"
    middle = number(x + width / 2)
    inside = escaped(_inside(slot))
    text = f'<text class="s" x="{middle}" y="{number(y + 16)}">{inside}</text>' if inside else ""
    is_dotted = slot.coordinate in panel.style.dots
    dot = element("circle", class_="dot", cx=x + width - 5, cy=y + 5, r=3) if is_dotted else ""
    is_moved = slot.coordinate in panel.elsewhere
    corner = f"M{number(x + 1)} {number(y + 1)}h6l-6 6z"
    moved = element("path", class_="moved", d=corner) if is_moved else ""
    return (
        f'<g class="slot" data-o="{slot.offset}"><title>{escaped(panel.described(slot))}</title>'
        f'<rect class="{fill}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{_STRIP_HEIGHT}"/>'
        f'<text class="n" x="{middle}" y="{number(y - 4)}">{slot.offset}</text>'
        f"{text}{moved}{dot}</g>"
    )
