"""A small drawing of what a layout's tiles hold: data, and padding hatched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from morello_layouts.errors import LayoutError
from morello_layouts.xla import COMBINE, XlaShape, bits_of

__all__ = ["tile_drawing"]

_WIDTH: Final = 150  # of a tile, in pixels
_TALLEST: Final = 64
_ROW: Final = 8
_GAP: Final = 22  # where tiles are left out
_TOP: Final = 20

_HATCHES: Final = (
    '<defs><pattern id="padding" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" '
    'stroke="currentColor" stroke-opacity="0.35" stroke-width="2"/></pattern></defs>'
)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of the tiles: the dimension along it, its size, the tile's, and all tiles'."""

    name: str
    size: int
    tile: int

    @property
    def count(self) -> int:
        return -(-self.size // self.tile)

    @property
    def shown(self) -> list[int]:
        """The tiles that are drawn: the first two and the last."""
        return sorted({*range(min(2, self.count)), self.count - 1})

    def filled(self, k: int) -> float:
        """Which part of tile k holds data."""
        return min(self.tile, self.size - k * self.tile) / self.tile

    @property
    def words(self) -> str:
        return f"{self.name}: {self.size:,} of {self.count * self.tile:,}"


def tile_drawing(shape: XlaShape) -> str:
    """An SVG element: the tiles of the two most minor dimensions; empty where there are none.

    >>> from morello_layouts.notation import parse
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
    return "" if axes is None else _svg(*axes, _bits(shape), f"tiles of {shape}")


def _axes(shape: XlaShape) -> tuple[_Axis, _Axis] | None:
    layout = shape.layout
    if layout is None or not layout.tiles or not shape.dims or 0 in shape.shape:
        return None
    tile = layout.tiles[0]
    minor = layout.minor_to_major[0]
    if COMBINE in tile or 0 in tile:
        return None
    columns = _Axis(f"dimension {minor}", shape.shape[minor], tile[-1])
    if len(tile) < 2:
        return _Axis("", 1, 1), columns
    if len(shape.dims) < 2:
        return _Axis("no dimension", 1, tile[-2]), columns
    second = layout.minor_to_major[1]
    return _Axis(f"dimension {second}", shape.shape[second], tile[-2]), columns


def _bits(shape: XlaShape) -> tuple[int, int]:
    """Bits that an element needs, and those that it takes."""
    return min(shape.bits, bits_of(shape.element_type)), shape.bits


def _svg(rows: _Axis, columns: _Axis, bits: tuple[int, int], title: str) -> str:
    height = max(16, min(_TALLEST, _ROW * rows.tile))
    ys, bottom = _places(rows, height, _TOP)
    xs, right = _places(columns, _WIDTH, 1)
    tiles = "".join(
        _tile(x, y, height, (columns.filled(c), rows.filled(r)), bits[0] / bits[1])
        for r, y in zip(rows.shown, ys, strict=True)
        for c, x in zip(columns.shown, xs, strict=True)
    )
    words = f"columns: {columns.words}" + (f"; rows: {rows.words}" if rows.name else "")
    words += f"; elements: {bits[0]} of {bits[1]} bits" if bits[0] < bits[1] else ""
    width = max(right + 2, 7 * len(words))
    parts = [
        f'<svg class="tiles" role="img" {_box(width, bottom + 4)}>',
        f"<title>{escape(title)}</title>",
        _HATCHES,
        f'<text x="1" y="13" font-size="12" fill="currentColor">{escape(words)}</text>',
        tiles,
        *_dots(rows, columns, xs, ys, height),
        "</svg>",
    ]
    return "".join(parts)


def _box(width: int, height: int) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'{size} xmlns="http://www.w3.org/2000/svg"'


def _places(axis: _Axis, extent: int, start: int) -> tuple[list[int], int]:
    """Where each tile begins, and where the last one ends."""
    places: list[int] = []
    at, before = start, -1
    for k in axis.shown:
        at += _GAP if k > before + 1 else 0
        places.append(at)
        at, before = at + extent, k
    return places, at


def _tile(x: int, y: int, height: int, filled: tuple[float, float], dense: float) -> str:
    outline = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}"'
    data_width, data_height = max(3.0, _WIDTH * filled[0]), max(3.0, height * filled[1])
    return (
        f'<g>{outline} fill="url(#padding)"/>'
        f'<rect x="{x}" y="{y}" width="{data_width:.4g}" height="{data_height:.4g}" '
        f'class="data" fill="#3b82c4" fill-opacity="{dense:.4g}"/>'
        f'{outline} fill="none" stroke="currentColor"/></g>'
    )


def _dots(rows: _Axis, columns: _Axis, xs: list[int], ys: list[int], height: int) -> Iterator[str]:
    """Dots where tiles are left out."""
    if columns.count > 3:
        x, y = xs[-1] - _GAP // 2, ys[0] + height // 2 + 4
        yield f'<text x="{x}" y="{y}" text-anchor="middle" fill="currentColor">…</text>'
    if rows.count > 3:
        x, y = xs[0] + _WIDTH // 2, ys[-1] - _GAP // 2 + 2
        yield f'<text x="{x}" y="{y}" text-anchor="middle" fill="currentColor">…</text>'
