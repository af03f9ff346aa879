"""The picture of an index map as values: grids of cells, whatever they are drawn with.

Only the cells that are shown are computed, so the size of the array does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from morello_layouts.formula import IndexMap
from morello_layouts.picture.tiles import OutermostTiles, offset_of
from morello_layouts.picture.visible import visible_indices
from morello_layouts.recipe import delinearize

__all__ = ["Cell", "Grid", "Picture", "picture_of"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the array, or of the padding that completes its tiles.

    Attributes:
        coordinate: logical coordinate; past the end of a dimension for padding.
        offset: where it lies in the buffer, in elements; of padding too.
        is_padding: whether it holds no element.
        tile: index of its outermost tile, one number for each tiled axis; () where there is none.
    """

    coordinate: tuple[int, ...]
    offset: int
    is_padding: bool
    tile: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The last two dimensions at one coordinate of the others.

    Attributes:
        at: the coordinate of the other dimensions.
        rows: indices of the rows shown; None where some are left out. One row 0 for rank 0 and 1.
        columns: the same for columns.
        cells: one row of cells for each entry of ``rows``; None in a row or column left out.
    """

    at: tuple[int, ...]
    rows: tuple[int | None, ...]
    columns: tuple[int | None, ...]
    cells: tuple[tuple[Cell | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Some slices of an array with the offset of each cell.

    Attributes:
        shape: logical sizes.
        grids: the slices shown.
        slices: how many slices there are.
    """

    shape: tuple[int, ...]
    grids: tuple[Grid, ...]
    slices: int

    @property
    def hidden_slices(self) -> int:
        """Slices that are not shown."""
        return self.slices - len(self.grids)

    def cells(self) -> Iterator[Cell]:
        """Every cell shown."""
        for grid in self.grids:
            for row in grid.cells:
                yield from (cell for cell in row if cell is not None)


def picture_of(
    m: IndexMap, *, max_rows: int = 12, max_columns: int = 16, max_slices: int = 2
) -> Picture:
    """The picture of an index map, cut to so many rows, columns and slices.

    >>> from morello_layouts.recipe import Pad, Recipe, Split, Transpose
    >>> recipe = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> m = IndexMap.of(recipe, lambda names, shape: names[0])
    >>> [cell.offset for cell in picture_of(m).grids[0].cells[2][:5]]
    [12, 13, 16, 17, 20]
    """
    tiles = OutermostTiles(m.recipe)
    rank = len(m.shape)
    if 0 in m.shape:
        return Picture(m.shape, (), 0)
    lead = m.shape[: max(rank - 2, 0)]
    rows = _indices(m, tiles, rank - 2, max_rows)
    columns = _indices(m, tiles, rank - 1, max_columns)
    slices = prod(lead)
    first = [delinearize(k, lead) for k in range(min(max_slices, slices))]
    grids = tuple(_grid(m, tiles, at, rows, columns) for at in first)
    return Picture(m.shape, grids, slices)


def _indices(m: IndexMap, tiles: OutermostTiles, dim: int, limit: int) -> tuple[int | None, ...]:
    if dim < 0:
        return (0,)
    return visible_indices(m.shape[dim], tiles.extents[dim], tiles.sizes[dim], limit)


def _grid(
    m: IndexMap,
    tiles: OutermostTiles,
    at: tuple[int, ...],
    rows: tuple[int | None, ...],
    columns: tuple[int | None, ...],
) -> Grid:
    rank = len(m.shape)
    cells = tuple(
        tuple(
            None
            if row is None or column is None
            else _cell(m, tiles, (*at, row, column)[max(2 - rank, 0) :])
            for column in columns
        )
        for row in rows
    )
    return Grid(at, rows, columns, cells)


def _cell(m: IndexMap, tiles: OutermostTiles, coordinate: Sequence[int]) -> Cell:
    at = tuple(coordinate)
    is_padding = any(x >= n for x, n in zip(at, m.shape, strict=True))
    return Cell(at, offset_of(m.recipe, at), is_padding, tiles.index(at))
