"""The whole array in small: its tiles, its padding, and what a picture shows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from morello_layouts.formula import IndexMap
from morello_layouts.picture.markup import element, escaped, number
from morello_layouts.picture.svg_grid import Drawn, text_width
from morello_layouts.picture.tiles import OutermostTiles
from morello_layouts.recipe import known

__all__ = ["Scale", "draw_scale", "scale_of"]

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
