"""The offsets that a picture shows: grids, slices and the memory strip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate, groupby, islice, pairwise
from math import prod
from operator import mul, or_
from typing import Any, ClassVar, Final, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Recipe,
    Split,
    Transpose,
    delinearize,
    known,
    logical_coordinates,
    offset_of,
)
from morello_layouts.core.recipe.digits import axes_of, has_digits
from morello_layouts.core.recipe.views import Column, elements_of, filled, without_xors


@frozen
class NestedTile:
    """One level of tiles: cells whose leading axes agree after some steps are one tile.

    >>> print(NestedTile(2, 3, 2, (2, 4)))
    2x4
    """

    split: int  #: the number of steps after which the tiles are split off.
    stage: int  #: the number of steps after which they are in the order of memory.
    cut: int  #: the number of leading axes that number the tiles then.
    sizes: tuple[int, ...]  #: sizes of a tile, along the axes that were tiled.

    def __str__(self) -> str:
        return "x".join(map(str, self.sizes))


def levels_of(recipe: Recipe) -> tuple[NestedTile, ...]:
    """Return the levels, outermost first.

    One tiling has several levels if it splits an axis several times. A part of an axis makes tiles
    only if it varies slower than the rest of the axis: to bring the even indices before the odd
    ones is a split too, but no tile lies in one piece after it.

    >>> from morello_layouts.core.recipe import Pad
    >>> once = (Pad((4, 8)), Split((2, 4)), Transpose((0, 2, 1, 3)))
    >>> twice = (Split((None, None, 2, 1)), Transpose((0, 1, 2, 4, 3, 5)))
    >>> [str(level) for level in levels_of(Recipe((4, 8), once + twice))]
    ['2x4', '2x1']
    """
    return tuple(
        NestedTile(split, end, cut, sizes)
        for _, split, end, axes in _tilings(recipe)
        for cut in _cuts(axes)
        if prod(sizes := _sizes(axes, cut)) > 1
    )


_Parts: TypeAlias = list[tuple[int, int]]
"""The parts of one axis, from the largest unit on: the place of each in memory, and its size."""


def _tilings(recipe: Recipe) -> Iterator[tuple[int, int, int, list[_Parts]]]:
    """Yield runs of splits and the transpose after them, with the parts of each axis before them.

    A run is given by three numbers of steps: before it, up to its last split, and to its end.
    Scattered elements have no tiles.
    """
    steps, end = recipe.steps, 0
    if not has_digits(recipe):
        return
    for is_split, group in groupby(steps, lambda step: isinstance(step, Split)):
        start, end = end, end + len(list(group))
        if is_split:
            last = end + (end < len(steps) and isinstance(steps[end], Transpose))
            yield start, end, last, _parts(Recipe(recipe.shapes[start], steps[start:last]))


def _parts(recipe: Recipe) -> list[_Parts]:
    """The parts of each axis after splits and a transpose."""
    digits = [(place, digit) for place, (digit,) in enumerate(axes_of(recipe))]
    digits.sort(key=lambda pair: (-pair[1].unit, pair[1].is_zero))
    sizes = known(recipe.physical_shape)
    return [
        [(place, sizes[place]) for place, digit in digits if digit.dim == axis]
        for axis in range(len(recipe.shape))
    ]


def _cuts(axes: Sequence[_Parts]) -> list[int]:
    """The number of leading axes in memory that number the tiles, for each level of one tiling."""
    cuts: list[int] = []
    places = [[place for place, _ in parts] for parts in axes]
    for j in range(max(map(len, places), default=1) - 1):
        heads = [at[j] for at in places if len(at) > j + 1 and at[: j + 1] == sorted(at)[: j + 1]]
        if heads and (not cuts or max(heads) + 1 > cuts[-1]):
            cuts.append(max(heads) + 1)
    # The innermost parts of an axis that is split twice are one more level, such as words.
    inner = {place: len(parts) for parts in axes for place, size in parts if size > 1}
    innermost = max(inner, default=0)
    if cuts and cuts[-1] < innermost and inner[innermost] > 2:
        cuts.append(innermost)
    return cuts


def _sizes(axes: Sequence[_Parts], cut: int) -> tuple[int, ...]:
    """Sizes of a tile, of the parts from the cut on, along the axes that were tiled."""
    return tuple(
        prod(size for place, size in parts if place >= cut)
        for parts in axes
        if len(parts) > 1 or parts[0][0] >= cut
    )


def within_axes(recipe: Recipe, offsets: Sequence[int]) -> list[int]:
    """Return the offsets that are not in the padding before or after the axes."""
    start, tail, size = known((recipe.offset, recipe.tail_padding, recipe.size))
    return [p for p in offsets if start <= p < size - tail]


def tile_numbers(recipe: Recipe, level: NestedTile, offsets: list[int]) -> list[tuple[int, ...]]:
    """Return the number of the tile of each offset; all are within the axes."""
    rest = Recipe(recipe.shapes[level.stage], recipe.steps[level.stage :])
    (start,) = known((recipe.offset,))
    at, _ = logical_coordinates(rest, delinearize(Column(offsets) - start, recipe.physical_shape))
    columns = [filled(x, len(offsets)) for x in at[: level.cut]]
    return list(zip(*columns, strict=True)) if columns else [()] * len(offsets)


@frozen
class OutermostTiles:
    """The blocks that a recipe's first splits make.

    A dimension that is joined with another before them has no blocks of its own.

    >>> from morello_layouts.core.recipe import Pad
    >>> recipe = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> OutermostTiles.of(recipe)
    OutermostTiles(extents=(4, 6), sizes=(2, 2))
    """

    #: sizes of the array with the padding that completes its outermost tiles.
    extents: tuple[int, ...]
    #: sizes of the outermost tiles along each logical dimension, None if it is whole.
    sizes: tuple[int | None, ...]

    @staticmethod
    def of(recipe: Recipe) -> OutermostTiles:
        """Return the outermost tiles of a recipe of known sizes."""
        extents: list[int] = list(known(recipe.shape))
        sizes: list[int | None] = [None] * len(extents)
        (tail,) = known((recipe.tail_padding,))
        for start, _, _, axes in islice(() if tail < 0 else _tilings(recipe), 1):
            before = Recipe(recipe.shape, recipe.steps[:start])
            for digits, parts in zip(axes_of(before), axes, strict=True):
                dims = {dim for digit in digits for dim in digit.dims}
                if len(dims) == 1:
                    dim, (outermost, *inner) = dims.pop(), parts
                    extents[dim] = prod(size for _, size in parts)
                    if inner and outermost < min(inner):
                        sizes[dim] = prod(size for _, size in inner)
        return OutermostTiles(tuple(extents), tuple(sizes))


_FIRST_SLOTS: Final = 20  # shown at the start of a buffer that is cut


@frozen
class Slot:
    """One slot of the buffer."""

    json_keys: ClassVar = ("offset", "coordinate")

    offset: int  #: in elements from the buffer's start.
    coordinate: tuple[int, ...] | None  #: of its element; None for padding.
    #: the number of its tile at each level; empty in the tail of the buffer.
    tiles: tuple[tuple[int, ...], ...]

    @property
    def text(self) -> str:
        """The coordinate of its element: ``0,1``; ``()`` for a scalar; empty for padding."""
        return "" if self.coordinate is None else ",".join(map(str, self.coordinate)) or "()"


@frozen
class Strip:
    """The memory strip: slots of a buffer in order, with None in place of those left out."""

    size: int  #: slots of the whole buffer.
    slots: tuple[Slot | None, ...]  #: the slots shown.
    axes: tuple[int, ...] = ()  #: sizes of the axes in memory.

    @property
    def is_cut(self) -> bool:
        """Whether slots are left out."""
        return None in self.slots

    def shown(self) -> Iterator[Slot]:
        """Yield every slot shown."""
        yield from (slot for slot in self.slots if slot is not None)


def strip_of(m: IndexMap, levels: tuple[NestedTile, ...], limit: int) -> Strip:
    """Return the memory strip of a buffer, whole if it has at most ``limit`` slots.

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
    """Return the slots of a line: whole runs of the innermost axes, in lines of similar length.

    >>> slots = tuple(Slot(k, (k,), ()) for k in range(24))
    >>> [slots_per_line(Strip(24, slots, axes), n) for axes, n in (((2, 3, 2, 2), 20), ((24,), 9))]
    [12, 8]
    """
    total, most = len(strip.slots), max(most, 1)
    if total <= most or strip.is_cut:
        return max(min(most, total), 1)
    runs = [*accumulate(reversed(strip.axes), mul, initial=1)]
    run = max(n for n in runs if n <= most)
    if run == 1:  # lines of equal length that end with the innermost axis
        whole = min((n for n in runs if n > most), default=total)
        own, rest = divmod(whole, -(-whole // most))
        run = run if rest else own
    lines = -(-total // (most // run * run))
    return -(-total // (run * lines)) * run


def _shown(m: IndexMap, levels: tuple[NestedTile, ...], size: int, limit: int) -> list[int]:
    """Return all offsets, or those at the start, at the first tile's end, and at the end."""
    if size <= limit:
        return list(range(size))
    head = min(_FIRST_SLOTS, max(limit - 8, 2))
    tile = _first_piece(m, levels)
    border = range(tile - 2, tile + 4) if head < tile < size - 6 else range(0)
    return sorted({*range(head), *border, size - 2, size - 1})


def _first_piece(m: IndexMap, levels: tuple[NestedTile, ...]) -> int:
    """Return the slots of a tile of the first level; 0 if there are no tiles."""
    if not levels:
        return 0
    shape = known(m.recipe.shapes[levels[0].stage])
    return prod(shape[levels[0].cut :])


def _slots(m: IndexMap, levels: tuple[NestedTile, ...], offsets: list[int]) -> list[Slot]:
    inside = within_axes(m.recipe, offsets)
    found: dict[int, Slot] = {}
    elements, tiles = elements_of(m.recipe, inside), _tiles(m, levels, inside)
    for offset, coordinate, tile in zip(inside, elements, tiles, strict=True):
        found[offset] = Slot(offset, coordinate, tile)
    return [found.get(offset) or Slot(offset, None, ()) for offset in offsets]


def _tiles(
    m: IndexMap, levels: Sequence[NestedTile], offsets: list[int]
) -> list[tuple[tuple[int, ...], ...]]:
    numbers = [tile_numbers(m.recipe, level, offsets) for level in levels]
    return list(zip(*numbers, strict=True)) if numbers else [()] * len(offsets)


def visible_indices(size: int, extent: int, tile: int | None, limit: int) -> tuple[int | None, ...]:
    """Return at most about ``limit`` indices of an axis, with None in place of those left out.

    Args:
        size: elements along the axis.
        extent: elements and padding; of more than 3 padding indices only the first and the last
            are shown.
        tile: the size of the outermost tiles; the first border between two is shown.
        limit: the most entries, with those that are None; at least 5 are used.

    >>> visible_indices(200, 256, 128, 12)
    (0, 1, 2, 3, None, 127, 128, None, 199, 200, None, 255)
    >>> visible_indices(5, 128, 128, 12)
    (0, 1, 2, 3, 4, 5, None, 127)
    """
    limit = max(limit, 5)
    padding = _padding(size, extent, limit)
    room = limit - len(padding) - (len(padding) == 2 and extent - size > 2)
    if size <= room:
        return _with_gaps([*range(size), *padding], extent)
    ends = {size - 1, *padding}
    border = {tile - 1, tile} if tile is not None and tile < size and room >= 7 else set()
    # One gap follows the head, and one the border.
    head = room - 2 - len(border) - bool(border)
    return _with_gaps(sorted({*range(max(head, 1)), *border, *ends}), extent)


def visible_in_tiles(
    size: int, extent: int, tile: int | None, limit: int
) -> tuple[int | None, ...]:
    """Return such indices with both ends of each tile if tiles are few; all if they fit.

    >>> visible_in_tiles(16, 16, 8, 12)
    (0, 1, 2, 3, None, 7, 8, 9, 10, 11, None, 15)
    >>> visible_in_tiles(10, 16, 8, 16)
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    """
    if extent <= limit:
        return tuple(range(extent))
    count = 0 if tile is None else -(-extent // tile)
    each = limit // count if count else 0
    if tile is None or each < 5 or tile <= each:
        return visible_indices(size, extent, tile, limit)
    head = min(each - 2, 4)
    starts = range(0, count * tile, tile)
    ends = {start + tile - 1 for start in starts}
    heads = {start + k for start in starts for k in range(head)}
    edge = {size - 1, size} if size < extent else {size - 1}
    return _with_gaps(sorted(k for k in heads | ends | edge if k < extent), extent)


def _padding(size: int, extent: int, limit: int) -> list[int]:
    if extent - size <= 3 and limit > 8:
        return list(range(size, extent))
    return sorted({size, extent - 1}) if extent > size and limit > 8 else [size][: extent - size]


def _with_gaps(indices: list[int], extent: int) -> tuple[int | None, ...]:
    shown: list[int | None] = []
    for before, index in zip([-1, *indices], indices, strict=False):
        if index > before + 1:
            shown.append(None)
        shown.append(index)
    if indices and indices[-1] < extent - 1:
        shown.append(None)
    return tuple(shown)


@frozen
class Cell:
    """One element of the array, or of the padding that completes its tiles."""

    json_keys: ClassVar = ("coordinate", "offset", "padding=is_padding", "tiles")

    coordinate: tuple[int, ...]  #: logical coordinate; past the end of a dimension for padding.
    offset: int  #: in elements from the buffer's start; padding has one too.
    is_padding: bool  #: whether it is padding.
    tiles: tuple[tuple[int, ...], ...]  #: the number of its tile at each level, outermost first.

    @property
    def tile(self) -> tuple[int, ...]:
        """The number of its outermost tile; () if there are no tiles."""
        return self.tiles[0] if self.tiles else ()


def border_between(a: Cell | Slot | None, b: Cell | Slot | None) -> int | None:
    """Return the outermost level at which two places lie in different tiles; None if at none.

    >>> one, other = Slot(3, (0, 3), ((0, 0), (0, 3))), Slot(4, (0, 4), ((0, 0), (0, 4)))
    >>> border_between(one, other), border_between(one, one), border_between(one, None)
    (1, None, None)
    """
    if a is None or b is None:
        return None
    levels = enumerate(zip(a.tiles, b.tiles, strict=False))
    return next((level for level, (one, other) in levels if one != other), None)


def borders(lines: Sequence[Sequence[Cell | None]]) -> list[list[int | None]]:
    """Return for each line of cells but the last the level of the border beside each cell.

    A gap in the line has a border if every shown cell of the line has one.
    """
    return [_between(before, after) for before, after in pairwise(lines)]


def _between(before: Sequence[Cell | None], after: Sequence[Cell | None]) -> list[int | None]:
    pairs = list(zip(before, after, strict=True))
    shown = [border_between(a, b) for a, b in pairs if a is not None and b is not None]
    through = shown[0] if shown and None not in shown else None
    if through is not None:
        through = max(level for level in shown if level is not None)
    found = iter(shown)
    return [through if a is None or b is None else next(found) for a, b in pairs]


@frozen
class Grid:
    """The last two dimensions at one coordinate of the others."""

    at: tuple[int, ...]  #: the coordinate of the other dimensions.
    #: indices of the rows shown, with None in place of those left out. One row 0 for rank 0 and 1.
    rows: tuple[int | None, ...]
    columns: tuple[int | None, ...]  #: the same for columns.
    #: one row of cells for each entry of ``rows``; None for a row or column left out.
    cells: tuple[tuple[Cell | None, ...], ...]

    json_keys: ClassVar[tuple[str, ...]] = ("at", "rows", "columns", "offsets")

    @property
    def offsets(self) -> list[list[int | None]]:
        """The offset of each cell; None for padding and for cells left out."""
        return [
            [None if cell is None or cell.is_padding else cell.offset for cell in row]
            for row in self.cells
        ]

    def shown(self) -> Iterator[tuple[int, int, Cell]]:
        """Yield each cell shown, after the positions of its row and column in the grid."""
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                if cell is not None:
                    yield row, column, cell


@frozen
class View:
    """Some slices of an array with the offset of each cell."""

    shape: tuple[int, ...]  #: logical sizes.
    extents: tuple[int, ...]  #: the same with the padding that completes the outermost tiles.
    levels: tuple[NestedTile, ...]  #: the levels of tiles, outermost first.
    grids: tuple[Grid, ...]  #: the slices shown.
    slices: int  #: the number of all slices.
    strip: Strip | None = None  #: the memory strip; None if it was not asked for.
    #: the names and sizes of the physical axes; none for memory.
    axes: tuple[tuple[str, int], ...] = ()
    #: the bits of an offset that an exclusive or changes in the cells shown; 0 without one.
    swizzled: int = 0

    json_keys: ClassVar[tuple[str, ...]] = ("slices", "grids")

    @property
    def long_axes(self) -> tuple[str, ...]:
        """The names of the axes with more than one value; of the last one if there are none."""
        return tuple(name for name, n in self.axes if n > 1) or tuple(n for n, _ in self.axes[-1:])

    def place(self, offset: int) -> dict[str, int]:
        """Return the coordinate along each named axis at an offset."""
        at = delinearize(offset, tuple(n for _, n in self.axes))
        return dict(zip((name for name, _ in self.axes), at, strict=False))

    def place_text(self, offset: int) -> str:
        """Return what stands for an offset: itself, or its coordinates along named axes."""
        if not self.axes:
            return str(offset)
        place = self.place(offset)
        return ":".join(str(place[name]) for name in self.long_axes)

    @property
    def hidden_slices(self) -> int:
        """The number of slices left out."""
        return self.slices - len(self.grids)

    @property
    def is_cut(self) -> bool:
        """Whether rows or columns are left out."""
        return any(None in grid.rows or None in grid.columns for grid in self.grids)

    def cells(self) -> Iterator[Cell]:
        """Yield every cell shown."""
        for grid in self.grids:
            yield from (cell for _, _, cell in grid.shown())

    def slots(self) -> Iterator[Slot]:
        """Yield every slot shown."""
        yield from () if self.strip is None else self.strip.shown()


def view_of(
    m: IndexMap,
    *,
    max_rows: int = 12,
    max_columns: int = 16,
    max_slices: int = 2,
    max_slots: int | None = None,
    first_slice: int = 0,
    in_tiles: bool = False,
) -> View:
    """Return what a picture shows of an index map, cut to a number of rows, columns and slices.

    Args:
        m: the index map, of known sizes.
        max_rows: of a slice, with those in place of rows left out; ``max_columns`` likewise.
        max_columns: of a slice.
        max_slices: of the array.
        max_slots: of the buffer; None for no memory strip.
        first_slice: the number of the first slice shown; less if fewer slices would follow.
        in_tiles: whether an axis that is cut shows the ends of each tile if tiles are few.

    >>> from morello_layouts import index_map
    >>> [cell.offset for cell in view_of(index_map("f32[3,5]{1,0:T(2,2)}")).grids[0].cells[2][:5]]
    [12, 13, 16, 17, 20]
    """
    shape = known(m.recipe.shape)
    if 0 in shape:
        return View(shape, shape, (), (), 0)
    rank, levels, tiles = len(shape), levels_of(m.recipe), OutermostTiles.of(m.recipe)
    choose = visible_in_tiles if in_tiles else visible_indices
    rows, columns = (
        choose(shape[dim], tiles.extents[dim], tiles.sizes[dim], limit) if dim >= 0 else (0,)
        for dim, limit in ((rank - 2, max_rows), (rank - 1, max_columns))
    )
    lead = shape[: max(rank - 2, 0)]
    slices = prod(lead)
    first = max(min(first_slice, slices - max_slices), 0)
    chosen = (delinearize(k, lead) for k in range(first, min(first + max_slices, slices)))
    grids = tuple(_grid(m, levels, at, rows, columns) for at in chosen)
    strip = None if max_slots is None else strip_of(m, levels, max_slots)
    sizes = known(m.recipe.physical_shape)
    axes = tuple(zip(m.recipe.axis_names, sizes, strict=False))
    swizzled = 0 if axes else _swizzled(m.recipe, grids)
    return View(shape, tiles.extents, levels, grids, slices, strip, axes, swizzled)


def _swizzled(recipe: Recipe, grids: Sequence[Grid]) -> int:
    """Return the bits in which offsets differ from those without exclusive ors."""
    plain = without_xors(recipe)
    if plain == recipe:
        return 0
    cells = [cell for grid in grids for _, _, cell in grid.shown()]
    at: Any = [Column(line) for line in zip(*(cell.coordinate for cell in cells), strict=True)]
    offsets = filled(offset_of(plain, at, 0), len(cells))
    return reduce(or_, (one ^ cell.offset for one, cell in zip(offsets, cells, strict=True)), 0)


def _grid(
    m: IndexMap,
    levels: Sequence[NestedTile],
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
    m: IndexMap, levels: Sequence[NestedTile], coordinates: Sequence[tuple[int, ...]]
) -> Iterator[Cell]:
    shape = known(m.recipe.shape)
    at: Any = [Column(line) for line in zip(*coordinates, strict=True)]
    offsets = filled(offset_of(m.recipe, at, 0), len(coordinates))
    tiles = _tiles(m, levels, offsets)
    for coordinate, offset, tile in zip(coordinates, offsets, tiles, strict=True):
        is_padding = any(x >= n for x, n in zip(coordinate, shape, strict=True))
        yield Cell(coordinate, offset, is_padding, tile)
