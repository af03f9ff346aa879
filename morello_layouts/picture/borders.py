"""Where tiles end between neighbouring cells, and at which level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from morello_layouts.picture.grid import Cell
from morello_layouts.picture.strip import Slot

__all__ = ["Line", "border_between", "borders"]

Line = Sequence[Cell | None]


def border_between(a: Cell | Slot | None, b: Cell | Slot | None) -> int | None:
    """The outermost level at which two places lie in different tiles; None where at none.

    >>> one, other = Slot(3, (0, 3), ((0, 0), (0, 3))), Slot(4, (0, 4), ((0, 0), (0, 4)))
    >>> border_between(one, other), border_between(one, one), border_between(one, None)
    (1, None, None)
    """
    if a is None or b is None:
        return None
    levels = enumerate(zip(a.tiles, b.tiles, strict=False))
    return next((level for level, (one, other) in levels if one != other), None)


def borders(lines: Sequence[Line]) -> list[list[int | None]]:
    """Between each line of cells and the next the level of the border beside each cell.

    In a gap of the line there is a border where every cell of the line that is shown has one.
    """
    return [_between(before, after) for before, after in pairwise(lines)]


def _between(before: Line, after: Line) -> list[int | None]:
    pairs = list(zip(before, after, strict=True))
    shown = [border_between(a, b) for a, b in pairs if a is not None and b is not None]
    through = shown[0] if shown and None not in shown else None
    if through is not None:
        through = max(level for level in shown if level is not None)
    found = iter(shown)
    return [through if a is None or b is None else next(found) for a, b in pairs]
