"""The memory strip: the slots of a buffer in order, with what lies in them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from morello_layouts.formula import IndexMap
from morello_layouts.picture.levels import Level, tile_numbers
from morello_layouts.recipe import delinearize, known, logical_coordinates

__all__ = ["Slot", "Strip", "integers", "slots_per_line", "strip_of"]

_HEAD = 20  # slots shown at the start of a buffer that is cut


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of the buffer.

    Attributes:
        offset: in elements from the buffer's start.
        coordinate: of the element that lies there, None for padding.
        tiles: the number of its tile at each level; empty in the tail of the buffer.
    """

    offset: int
    coordinate: tuple[int, ...] | None
    tiles: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """Some slots of a buffer in order; None where some are left out.

    Attributes:
        size: slots of the whole buffer.
        slots: those shown.
        axes: sizes of the axes in memory.
    """

    size: int
    slots: tuple[Slot | None, ...]
    axes: tuple[int, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether slots are left out."""
        return None in self.slots


def strip_of(m: IndexMap, levels: tuple[Level, ...], limit: int) -> Strip:
    """The buffer, whole where it has at most ``limit`` slots.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[3]{0:T(2)}")
    >>> [slot.coordinate for slot in strip_of(m, (), 16).slots]
    [(0,), (1,), (2,), None]
    """
    (size,) = known((m.recipe.size,))
    shown = _shown(m, levels, size, limit)
    slots = dict(zip(shown, _slots(m, levels, shown), strict=True))
    entries: list[Slot | None] = []
    for before, offset in zip([-1, *shown], shown, strict=False):
        entries += [None] if offset > before + 1 else []
        entries.append(slots[offset])
    return Strip(size, tuple(entries), known(m.recipe.physical_shape))


def slots_per_line(strip: Strip, most: int) -> int:
    """Slots in a line: whole runs of the axes in memory, in lines of much the same length.

    >>> slots = tuple(Slot(k, (k,), ()) for k in range(24))
    >>> slots_per_line(Strip(24, slots, (2, 3, 2, 2)), 20)
    12
    """
    total, most = len(strip.slots), max(most, 1)
    if total <= most or strip.is_cut:
        return max(min(most, total), 1)
    run = max(n for n in accumulate(reversed(strip.axes), mul, initial=1) if n <= most)
    lines = -(-total // (most // run * run))
    return -(-total // (run * lines)) * run


def _shown(m: IndexMap, levels: tuple[Level, ...], size: int, limit: int) -> list[int]:
    """The offsets: all, or the start of the buffer, the first end of a tile, and the end."""
    if size <= limit:
        return list(range(size))
    head = min(_HEAD, max(limit - 8, 2))
    tile = _volume(m, levels)
    border = range(tile - 2, tile + 4) if head < tile < size - 6 else range(0)
    return sorted({*range(head), *border, size - 2, size - 1})


def _volume(m: IndexMap, levels: tuple[Level, ...]) -> int:
    """How many slots from the start lie in one piece at the first level."""
    if not levels:
        return 0
    shape = known(m.recipe.shapes[levels[0].stage])
    return prod(shape[levels[0].cut :])


def _slots(m: IndexMap, levels: tuple[Level, ...], offsets: list[int]) -> list[Slot]:
    size, tail = known((m.recipe.size, m.recipe.tail_padding))
    inside = [p for p in offsets if p < size - tail]
    if not inside:
        return [Slot(p, None, ()) for p in offsets]
    p = integers(inside, size)
    at, limits = logical_coordinates(m.recipe, delinearize(p, m.recipe.physical_shape))
    there = np.ones(len(inside), dtype=bool)
    for x, n in limits:
        there &= np.broadcast_to(np.asarray(x < n, dtype=bool), there.shape)
    columns = [np.broadcast_to(x, p.shape).tolist() for x in at]
    coordinates = list(zip(*columns, strict=True)) if columns else [()] * len(inside)
    numbers = [tile_numbers(m.recipe, level, p) for level in levels]
    tiles = list(zip(*numbers, strict=True)) if numbers else [()] * len(inside)
    slots = [
        Slot(offset, coordinate if is_there else None, tile)
        for offset, coordinate, is_there, tile in zip(
            inside, coordinates, there.tolist(), tiles, strict=True
        )
    ]
    return slots + [Slot(offset, None, ()) for offset in offsets[len(inside) :]]


def integers(values: list[int], largest: int) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """An array that holds them exactly: of Python's integers where NumPy's are too small."""
    return np.array(values, dtype=np.int64 if largest < 2**62 else object)
