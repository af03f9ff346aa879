"""The parts of an SVG picture: grids, memory strips, scales and markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from math import ceil
from typing import Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.outputs.picture import view
from morello_layouts.outputs.picture.panel import Panel

_NOT_XML: Final = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(content: object) -> str:
    """Return text as markup; characters that XML forbids become replacement characters.

    >>> escaped('<a b="c">' + chr(0))
    '&lt;a b=&quot;c&quot;&gt;\ufffd'
    """
    return escape(_NOT_XML.sub("\ufffd", str(content)))


def number(value: float) -> str:
    """Return a length with at most one decimal.

    >>> number(12.0), number(12.345)
    ('12', '12.3')
    """
    return f"{round(value, 1):.12g}"


def element(tag: str, *children: str, **attributes: object) -> str:
    """Return an element with children that are markup already, and attributes that are not.

    An underscore at the end of an attribute's name is dropped, others become dashes.

    >>> element("rect", x=1.25, class_="c0", stroke_width=2)
    '<rect x="1.2" class="c0" stroke-width="2"/>'
    >>> element("text", escaped("a < b"))
    '<text>a &lt; b</text>'
    """
    written = "".join(
        f' {name.removesuffix("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def _value(value: object) -> str:
    return number(value) if isinstance(value, int | float) else escaped(value)


def text(content: object, class_: str, x: float, y: float) -> str:
    return element("text", escaped(content), class_=class_, x=x, y=y)


def rect(class_: str, x: float, y: float, width: float, height: float) -> str:
    return element("rect", class_=class_, x=x, y=y, width=width, height=height)


def path(class_: str, commands: Iterable[str]) -> str:
    return element("path", class_=class_, d="".join(commands))


def move_to(x: float, y: float) -> str:
    return f"M{number(x)} {number(y)}"


def dot(x: float, y: float, radius: float) -> str:
    return element("circle", class_="dot", cx=x, cy=y, r=radius)


def moved_corner(x: float, y: float, size: int) -> str:
    """Return the mark of an element that lies elsewhere in the other layout."""
    return path("moved", [move_to(x, y), f"h{size}l-{size} {size}z"])


def ellipsis(x: float, y: float, across: float, down: float) -> str:
    """Return three dots around a point, in place of cells left out."""
    return path("dots", (f"{move_to(x + k * across, y + k * down)}h0" for k in (-1, 0, 1)))


CHARACTER: Final = 0.61
"""The width of a character in the monospaced fonts of a picture, in font sizes."""

_HEIGHT: Final = 28
_TALL: Final = 40  # with a word's number below the offset
_GAP: Final = 22
_LABELS: Final = 34  # above the cells: an arrow, and indices


@frozen
class Drawn:
    """Markup, and the room it takes."""

    markup: str
    width: float
    height: float


def text_width(content: str, size: float) -> float:
    """Return the width of a text in a font size, wide enough for any of the fonts."""
    return len(content) * size * CHARACTER


def cell_width(panel: Panel) -> float:
    filled = [cell for cell in panel.view.cells() if not cell.is_padding]
    indices = [str(i) for grid in panel.view.grids for i in grid.columns if i is not None]
    has_words = panel.style.has_words
    texts = (
        ([panel.view.place_text(cell.offset) for cell in filled], 13, 12),
        (indices, 11, 8),
        ([panel.word_text(cell.offset) for cell in filled] if has_words else [], 10, 8),
    )
    widest = max(30, *(text_width(max(found, key=len, default=""), n) + m for found, n, m in texts))
    return 2 * ceil(widest / 2) if panel.has_many else widest  # lengths without decimals


class GridDrawing:
    """The drawing of a grid with its indices outside, its upper left corner at (x, y)."""

    def __init__(self, panel: Panel, grid: view.Grid, x: float, y: float, width: float) -> None:
        self.panel, self.grid = panel, grid
        self.names = panel.names[len(grid.at) :]
        self.has_rows, self.has_columns = len(self.names) > 1, len(self.names) > 0
        rows = [str(i) for i in grid.rows if i is not None] if self.has_rows else []
        down = [f"{self.names[0]} ↓"] if self.has_rows else []
        self.labels = max((text_width(label, 11) for label in rows + down), default=0) + 8
        if panel.has_many:
            self.labels = ceil(self.labels)
        self.top = y + (16 if grid.at else 0)
        height = _TALL if panel.style.has_words else _HEIGHT
        above = _LABELS if self.has_columns else 0
        self.xs = _edges(grid.columns, x + self.labels, width)
        self.ys = _edges(grid.rows, self.top + above, height)
        self.x, self.y = x, y

    def markup(self) -> str:
        parts = [*self.outside(), *self.cells(), *self.gaps(), *self.lines(), *self.marks()]
        return "".join(parts)

    @property
    def size(self) -> tuple[float, float]:
        return self.xs[-1] - self.x + 3, self.ys[-1] - self.y + 3

    def box(self, row: int, column: int) -> tuple[float, float, float, float]:
        """Return the corner of a cell, its width and its height."""
        x, y = self.xs[column], self.ys[row]
        return x, y, self.xs[column + 1] - x, self.ys[row + 1] - y

    def outside(self) -> Iterator[str]:
        """Yield the slice's coordinate, the names of the dimensions, and the indices."""
        if self.grid.at:
            at = zip(self.panel.names, self.grid.at, strict=False)
            yield text(", ".join(f"{n} = {i}" for n, i in at), "t", self.x, self.y + 11)
        if self.has_columns:
            yield text(f"{self.names[-1]} →", "l", self.xs[0] + 3, self.top + 12)
            for k, index in enumerate(self.grid.columns):
                middle = (self.xs[k] + self.xs[k + 1]) / 2
                if index is None:
                    yield ellipsis(middle, self.ys[0] - 9, 5, 0)
                else:
                    yield text(index, "l m", middle, self.ys[0] - 6)
        if self.has_rows:
            right = self.xs[0] - 6
            yield text(f"{self.names[0]} ↓", "l e", right, self.ys[0] - 6)
            for k, index in enumerate(self.grid.rows):
                middle = (self.ys[k] + self.ys[k + 1]) / 2 + 4
                if index is None:
                    yield ellipsis(right - 3, middle - 4, 0, 5)
                else:
                    yield text(index, "l e", right, middle)

    def cells(self) -> Iterator[str]:
        """Yield each cell: its description for the pointer, its fill, its offset.

        Where there are many, padding side by side is one part with one description.
        """
        panel, shown = self.panel, list(self.grid.shown())
        runs = [[one] for one in shown]
        if panel.has_many and not panel.has_each:
            runs = list(_padding_joined(panel, shown))
        for run in runs:
            row, column, cell = run[0]
            x, y, width, height = self.box(row, column)
            if len(run) > 1:
                ends = [self.xs[at + 1] for _, at, _ in run]
                box = f"{move_to(x, y)}H{number(ends[-1])}v{number(height)}H{number(x)}z"
                between = (f"{move_to(end, y)}v{number(height)}" for end in ends[:-1])
                told = escaped(panel.described_run([cell for *_, cell in run]))
                drawn = path(_fill(panel, cell), [box, *between])
                yield element("g", element("title", told), drawn, class_="cell")
                continue
            parts = [
                element("title", escaped(panel.described(cell))),
                rect(_fill(panel, cell), x, y, width, height),
            ]
            if not cell.is_padding:
                place = panel.view.place_text(cell.offset)
                parts.append(text(place, "o", x + width / 2, y + 18.5))
                if panel.style.has_words:
                    parts.append(text(panel.word_text(cell.offset), "w", x + width / 2, y + 32.5))
            at = ",".join(map(str, cell.coordinate))
            yield element("g", *parts, class_="cell", data_c=at, data_o=str(cell.offset))

    def gaps(self) -> Iterator[str]:
        """Yield dots in place of the rows and columns left out."""
        for k, row in enumerate(self.grid.rows):
            for j, column in enumerate(self.grid.columns):
                if row is None or column is None:
                    x, y, width, height = self.box(k, j)
                    across, down = 5 if column is None else 0, 5 if row is None else 0
                    yield ellipsis(x + width / 2, y + height / 2, across, down)

    def lines(self) -> Iterator[str]:
        """Yield the borders between tiles, thickest at the outermost level, and the frame."""
        found: dict[int, list[str]] = {}
        for k, line in enumerate(view.borders(self.grid.cells)):
            for level, start, end in _stretches(line):
                across = f"{move_to(self.xs[start], self.ys[k + 1])}H{number(self.xs[end])}"
                found.setdefault(level, []).append(across)
        for k, line in enumerate(view.borders(list(zip(*self.grid.cells, strict=True)))):
            for level, start, end in _stretches(line):
                down = f"{move_to(self.xs[k + 1], self.ys[start])}V{number(self.ys[end])}"
                found.setdefault(level, []).append(down)
        for level in sorted(found, reverse=True):
            yield path(f"b{min(level, 2)}", found[level])
        left, top = self.xs[0], self.ys[0]
        thickness = "b0" if self.panel.view.levels else "b1"
        yield rect(thickness, left, top, self.xs[-1] - left, self.ys[-1] - top)

    def marks(self) -> Iterator[str]:
        """Yield boxes, dots, and the corners of elements that lie elsewhere in the other layout."""
        style = self.panel.style
        dotted, boxed = set(style.dots), set(style.boxes)
        if style.box_tiles:
            yield from self.tile_boxes(style.box_tiles - 1)
        for row, column, cell in self.grid.shown():
            x, y, width, height = self.box(row, column)
            if cell.coordinate in self.panel.elsewhere:
                yield moved_corner(x + 1, y + 1, 7)
            if cell.coordinate in boxed:
                yield rect("mark", x + 2, y + 2, width - 4, height - 4)
            if cell.coordinate in dotted:
                yield dot(x + width - 6, y + 6, 4)

    def tile_boxes(self, level: int) -> Iterator[str]:
        """Yield a box around each tile of a level, or around its cells if others lie between."""
        spans: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for row, column, cell in self.grid.shown():
            spans.setdefault(cell.tiles[level], []).append((row, column))
        for places in spans.values():
            rows, columns = (sorted(set(lines)) for lines in zip(*places, strict=True))
            top, bottom, left, right = rows[0], rows[-1], columns[0], columns[-1]
            box = (row[left : right + 1] for row in self.grid.cells[top : bottom + 1])
            is_whole = len(places) == sum(cell is not None for line in box for cell in line)
            for row, column in [(top, left)] if is_whole else places:
                low = self.ys[(bottom if is_whole else row) + 1]
                far = self.xs[(right if is_whole else column) + 1]
                x, y = self.xs[column] + 2.5, self.ys[row] + 2.5
                yield rect("mark", x, y, far - 2.5 - x, low - 2.5 - y)


def _padding_joined(
    panel: Panel, shown: Iterable[tuple[int, int, view.Cell]]
) -> Iterator[list[tuple[int, int, view.Cell]]]:
    """Yield cells, and runs of padding within a tile whose offsets rise by equal steps."""
    run: list[tuple[int, int, view.Cell]] = []
    for one in shown:
        row, column, cell = one
        if run:
            before_row, before, last = run[-1]
            step = run[1][2].offset - run[0][2].offset if len(run) > 1 else None
            joins = (
                panel.joins(last, cell)
                and (before_row, before + 1) == (row, column)
                and step in (None, cell.offset - last.offset)
                and _fill(panel, cell) == _fill(panel, last)
            )
            if not joins:
                yield run
                run = []
        run.append(one)
    if run:
        yield run


def _fill(panel: Panel, place: view.Cell | view.Slot) -> str:
    colour = panel.colour(place)
    return "p" if colour is None else f"c{colour}"


def _edges(indices: Sequence[int | None], start: float, size: float) -> list[float]:
    found = [start]
    for index in indices:
        found.append(found[-1] + (_GAP if index is None else size))
    return found


def _stretches(line: Sequence[int | None]) -> Iterator[tuple[int, int, int]]:
    """Yield runs of one level in a line: the level, the first place, and that after the last."""
    start = 0
    for level, run in groupby(line):
        end = start + len(list(run))
        if level is not None:
            yield level, start, end
        start = end


_SMALLEST: Final = 14.0
_FINEST: Final = 3.0  # between lines; finer tiles are not drawn


@frozen
class Side:
    """A side of the whole array: its elements, with padding, and the size of its tiles."""

    size: int
    extent: int
    tile: int | None


@frozen
class Scale:
    """The last two dimensions of an array, without cells."""

    rows: Side  #: down; one row for rank 0 and 1.
    columns: Side  #: across.

    def __str__(self) -> str:
        rows, columns = self.rows, self.columns
        data, whole = f"{rows.size}x{columns.size}", f"{rows.extent}x{columns.extent}"
        if rows.extent == 1:
            data, whole = str(columns.size), str(columns.extent)
        return data if data == whole else f"{data} in {whole}"


def scale_of(m: IndexMap) -> Scale:
    """Return the whole array of an index map, without cells.

    >>> from morello_layouts import index_map
    >>> print(scale_of(index_map("bf16[10,200]{1,0:T(8,128)(2,1)}")))
    10x200 in 16x256
    """
    tiles = view.OutermostTiles.of(m.recipe)
    shape = known(m.recipe.shape)
    sides = [Side(n, tiles.extents[dim], tiles.sizes[dim]) for dim, n in enumerate(shape)][-2:]
    return Scale(*[Side(1, 1, None)] * (2 - len(sides)), *sides)


def draw_scale(
    scale: Scale,
    x: float,
    y: float,
    *,
    shown: tuple[Sequence[int | None], Sequence[int | None]] | None = None,
    widest: float = 260,
    tallest: float = 110,
) -> Drawn:
    """Draw the array in small at (x, y), below a line of text; mark the rows and columns shown."""
    rows, columns = scale.rows, scale.columns
    # A side may be as short as _SMALLEST: a very long array loses its form, but not its lines.
    unit = min(widest / columns.extent, tallest / rows.extent, 20)
    width = max(_SMALLEST, min(widest, unit * columns.extent))
    height = max(_SMALLEST, min(tallest, unit * rows.extent))
    left, top, title = x + 1, y + 24, f"array {scale}"
    if shown is not None:
        left, title = x + 8, f"whole array {scale}, bars: rows and columns shown"
    data = width * columns.size / columns.extent, height * rows.size / rows.extent
    parts = [
        text(title, "l", x, top - 13),
        rect("p", left, top, width, height),
        rect("c0", left, top, max(1.0, data[0]), max(1.0, data[1])),
    ]
    lines = [f"{move_to(left + d, top)}v{number(height)}" for d in _tile_ends(columns, width)]
    lines += [f"{move_to(left, top + d)}h{number(width)}" for d in _tile_ends(rows, height)]
    parts += [path("b1", lines)] if lines else []
    parts.append(rect("b1", left, top, width, height))
    if shown is not None:
        bars = [
            f"{move_to(left + at, top - 8)}h{length}v4h-{length}z"
            for at, length in _runs(shown[1], width / columns.extent)
        ] + [
            f"{move_to(left - 8, top + at)}v{length}h4v-{length}z"
            for at, length in _runs(shown[0], height / rows.extent)
        ]
        parts.append(path("bar", bars))
    return Drawn("".join(parts), max(width + 10, text_width(title, 11)), height + 28)


def _tile_ends(side: Side, length: float) -> list[float]:
    """Return where tiles end along a side, if they are not too fine to draw."""
    if side.tile is None or length * side.tile / side.extent < _FINEST:
        return []
    count = -(-side.extent // side.tile)
    return [length * k * side.tile / side.extent for k in range(1, count)]


def _runs(indices: Sequence[int | None], unit: float) -> Iterator[tuple[float, str]]:
    """Yield the start and the length of each run of indices shown, the length as text."""
    for is_gap, run in groupby(indices, key=lambda index: index is None):
        if not is_gap:
            found = [index for index in run if index is not None]
            yield found[0] * unit, number(max((found[-1] + 1 - found[0]) * unit, 1))


_STRIP_HEIGHT: Final = 24
_LINE: Final = 50  # with the offsets above


def slot_width(panel: Panel, strip: view.Strip) -> float:
    """Return the width of each slot: room for its coordinate inside and its offset above."""
    inside = max((len(slot.text) for slot in strip.shown()), default=1)
    above = max((len(panel.view.place_text(slot.offset)) for slot in strip.shown()), default=1)
    return max(24, text_width("0" * inside, 11) + 9, text_width("0" * above, 10) + 6)


def draw_strip(panel: Panel, strip: view.Strip, x: float, y: float, room: float) -> Drawn:
    """Draw the strip, its upper left corner at (x, y), in lines that fit the room."""
    width = slot_width(panel, strip)
    count = view.slots_per_line(strip, int(room // width))
    named = ":".join(panel.view.long_axes)
    title = f"{named or 'memory'}: {strip.size:,} {'slot' if strip.size == 1 else 'slots'}"
    title += f", {len(list(strip.shown())):,} of them shown" if strip.is_cut else ""
    parts = [text(title, "t", x, y + 11)]
    lines = [strip.slots[k : k + count] for k in range(0, len(strip.slots), count)]
    before: view.Slot | None = None
    for k, line in enumerate(lines):
        parts += _line(panel, (before, *line), x, y + 34 + k * _LINE, width)
        before = line[-1]
    longest = max((len(line) for line in lines), default=0)
    widest = max(longest * width + 2, text_width(title, 12))
    return Drawn("".join(parts), widest, 34 + len(lines) * _LINE - 14)


def _border(panel: Panel, before: view.Slot | None, slot: view.Slot | None) -> int | None:
    """Return the level of the border between slots; between words if colours show words."""
    if not panel.style.has_words or before is None or slot is None:
        return view.border_between(before, slot)
    words = panel.style.words_of(before.offset), panel.style.words_of(slot.offset)
    return None if words[0] == words[1] else 0


def _line(
    panel: Panel, line: tuple[view.Slot | None, ...], x: float, y: float, width: float
) -> Iterator[str]:
    """Yield a line of slots; the first in ``line`` ends the line above and is not drawn."""
    edges: dict[int, list[str]] = {}
    for k, (before, slot) in enumerate(pairwise(line)):
        left = x + k * width
        if slot is None:
            yield ellipsis(left + width / 2, y + _STRIP_HEIGHT / 2, 5, 0)
        else:
            yield _slot(panel, slot, left, y, width)
        border = _border(panel, before, slot)
        if border is not None:
            edge = f"{move_to(left, y)}v{_STRIP_HEIGHT}"
            edges.setdefault(min(border, 2), []).append(edge)
    for level in sorted(edges, reverse=True):
        yield path(f"b{level}", edges[level])
    yield rect("b1", x, y, (len(line) - 1) * width, _STRIP_HEIGHT)


def _slot(panel: Panel, slot: view.Slot, x: float, y: float, width: float) -> str:
    parts = [
        element("title", escaped(panel.described(slot))),
        rect(_fill(panel, slot), x, y, width, _STRIP_HEIGHT),
        text(panel.view.place_text(slot.offset), "n", x + width / 2, y - 4),
    ]
    if slot.text:
        parts.append(text(slot.text, "s", x + width / 2, y + 16))
    if slot.coordinate in panel.elsewhere:
        parts.append(moved_corner(x + 1, y + 1, 6))
    if slot.coordinate in panel.style.dots:
        parts.append(dot(x + width - 5, y + 5, 3))
    return element("g", *parts, class_="slot", data_o=str(slot.offset))
