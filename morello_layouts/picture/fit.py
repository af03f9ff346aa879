"""A picture that fits a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from morello_layouts.formula import IndexMap
from morello_layouts.picture.grid import View, view_of
from morello_layouts.picture.terminal import terminal_lines
from morello_layouts.recipe import known

__all__ = ["fitted_view"]

_MOST_COLUMNS = 34
_FEWEST_COLUMNS = 5


def fitted_view(m: IndexMap, names: Sequence[str], width: int) -> View:
    """As many columns of the array as fit lines of a width; fewer rows where there are slices.

    Args:
        m: the index map.
        names: a name for each dimension.
        width: of a line, in characters. Below about 60, wide offsets may not fit.
    """
    slices = prod(known(m.recipe.shape)[:-2])
    rows = 12 if slices <= 1 else 8
    columns = _MOST_COLUMNS
    while True:
        picture = view_of(m, max_rows=rows, max_columns=columns)
        excess = max(len(line.plain) for line in terminal_lines(picture, names)) - width
        if excess <= 0 or columns == _FEWEST_COLUMNS:
            return picture
        shown = max(len(grid.columns) for grid in picture.grids) if picture.grids else 0
        cell = len(str(max((c.offset for c in picture.cells()), default=0))) + 3
        columns = max(_FEWEST_COLUMNS, min(columns, shown) - max(1, excess // cell))
