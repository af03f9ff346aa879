"""What a picture of an index map shows, as values: grids of cells, and the memory strip.

Only the cells that are shown are computed, so the size of the array does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from morello_layouts.formula import IndexMap
from morello_layouts.picture.levels import Level, levels_of, tile_numbers
from morello_layouts.picture.strip import Strip, integers, strip_of
from morello_layouts.picture.tiles import OutermostTiles
from morello_layouts.picture.visible import visible_in_tiles, visible_indices
from morello_layouts.recipe import delinearize, known, linear_index, physical_coordinates

__all__ = ["Cell", "Grid", "View", "view_of"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the array, or of the padding that completes its tiles.

    Attributes:
        coordinate: logical coordinate; past the end of a dimension for padding.
        offset: where it lies in the buffer, in elements; of padding too.
        is_padding: whether it holds no element.
        tiles: the number of its tile at each level, outermost first.
    """

    coordinate: tuple[int, ...]
    offset: int
    is_padding: bool
    tiles: tuple[tuple[int, ...], ...]

    @property
    def tile(self) -> tuple[int, ...]:
        """The number of its outermost tile; () where there are no tiles."""
        return self.tiles[0] if self.tiles else ()


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
class View:
    """Some slices of an array with the offset of each cell.

    Attributes:
        shape: logical sizes.
        extents: the same with the padding that completes the outermost tiles.
        levels: the levels of tiles, outermost first.
        grids: the slices shown.
        slices: how many slices there are.
        strip: the buffer; None where it was not asked for.
    """

    shape: tuple[int, ...]
    extents: tuple[int, ...]
    levels: tuple[Level, ...]
    grids: tuple[Grid, ...]
    slices: int
    strip: Strip | None = None

    @property
    def hidden_slices(self) -> int:
        """Slices that are not shown."""
        return self.slices - len(self.grids)

    @property
    def is_cut(self) -> bool:
        """Whether rows or columns are left out."""
        return any(None in grid.rows or None in grid.columns for grid in self.grids)

    def cells(self) -> Iterator[Cell]:
        """Every cell shown."""
        for grid in self.grids:
            for row in grid.cells:
                yield from (cell for cell in row if cell is not None)


def view_of(
    m: IndexMap,
    *,
    max_rows: int = 12,
    max_columns: int = 16,
    max_slices: int = 2,
    max_slots: int | None = None,
    in_tiles: bool = False,
) -> View:
    """What is shown of an index map, cut to so many rows, columns and slices.

    Args:
        m: the index map, of known sizes.
        max_rows: rows of a slice, with those that stand for rows left out.
        max_columns: the same for columns.
        max_slices: slices.
        max_slots: slots of the buffer; None for no memory strip.
        in_tiles: where an axis is cut, show the ends of each tile if there are few.

    Raises:
        UnsupportedError: where sizes are symbolic.

    >>> from morello_layouts.recipe import Pad, Recipe, Split, Transpose
    >>> recipe = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> m = IndexMap.of(recipe, lambda names, shape: names[0])
    >>> [cell.offset for cell in view_of(m).grids[0].cells[2][:5]]
    [12, 13, 16, 17, 20]
    """
    tiles = OutermostTiles(m.recipe)
    shape = known(m.recipe.shape)
    rank = len(shape)
    if 0 in shape:
        return View(shape, shape, (), (), 0)
    levels = levels_of(m.recipe)
    choose = visible_in_tiles if in_tiles else visible_indices
    lines = []
    for dim, limit in ((rank - 2, max_rows), (rank - 1, max_columns)):
        whole = (shape[dim], tiles.extents[dim], tiles.sizes[dim]) if dim >= 0 else None
        lines.append((0,) if whole is None else choose(*whole, limit))
    lead = shape[: max(rank - 2, 0)]
    slices = prod(lead)
    first = [delinearize(k, lead) for k in range(min(max_slices, slices))]
    grids = tuple(_grid(m, levels, at, lines[0], lines[1]) for at in first)
    strip = None if max_slots is None else strip_of(m, levels, max_slots)
    return View(shape, tiles.extents, levels, grids, slices, strip)


def _grid(
    m: IndexMap,
    levels: Sequence[Level],
    at: tuple[int, ...],
    rows: tuple[int | None, ...],
    columns: tuple[int | None, ...],
) -> Grid:
    rank = len(m.recipe.shape)
    coordinates = [
        (*at, row, column)[max(2 - rank, 0) :]
        for row in rows
        for column in columns
        if row is not None and column is not None
    ]
    found = iter(_cells(m, levels, coordinates))
    cells = tuple(
        tuple(None if row is None or column is None else next(found) for column in columns)
        for row in rows
    )
    return Grid(at, rows, columns, cells)


def _cells(
    m: IndexMap, levels: Sequence[Level], coordinates: Sequence[tuple[int, ...]]
) -> Iterator[Cell]:
    recipe, shape = m.recipe, known(m.recipe.shape)
    size, count = known((recipe.size,))[0], len(coordinates)
    at = [integers(list(line), size) for line in zip(*coordinates, strict=True)]
    physical = physical_coordinates(recipe, at, 0)
    offsets = _spread(linear_index(physical, recipe.physical_shape, 0), count, size)
    numbers = [tile_numbers(recipe, level, offsets) for level in levels]
    tiles = list(zip(*numbers, strict=True)) if numbers else [()] * count
    for coordinate, offset, tile in zip(coordinates, offsets.tolist(), tiles, strict=True):
        is_padding = any(x >= n for x, n in zip(coordinate, shape, strict=True))
        yield Cell(coordinate, offset, is_padding, tile)


def _spread(value: Any, count: int, size: int) -> NDArray[Any]:
    """One offset for each cell, where a formula without coordinates gives one for all."""
    if isinstance(value, int):
        return integers([value] * count, size)
    return np.broadcast_to(value, (count,))
