"""Plans of transpositions: runs of the source become columns, runs of the target rows."""

from __future__ import annotations

from itertools import takewhile
from math import gcd, prod

from morello_layouts.codegen.kernel.boxes import Axis, Box
from morello_layouts.codegen.kernel.cuts import cut, holds, left_of
from morello_layouts.codegen.kernel.extents import upper
from morello_layouts.codegen.kernel.micro import Transposition
from morello_layouts.codegen.kernel.nest import (
    MOST_LEVELS,
    SMALL_BLOCK,
    SOURCE_BLOCK,
    WIDEST,
    Plan,
    chain_of,
    levels_of,
    outermost,
    step_of,
    with_loops,
)
from morello_layouts.expr.size import Number

__all__ = ["transposed"]

STAGE = 1 << 15
# Rows of the source that are read where they lie, one piece of each after the other.
SMALL_ROWS = 384
LARGE_ROWS = 512


def transposed(box: Box, axes: list[Axis], element: int, block: int) -> Plan:
    """A transposition, of ``block`` bytes along the target at once."""
    if element > 8:
        return None
    x_chain, y_chain = (chain_of(axes, element, source=side) for side in (True, False))
    direct = _direct(box, axes, x_chain, y_chain, element, large=block > SMALL_BLOCK)
    if direct is not None:
        return direct
    least = _block(x_chain, 16 // element, 16 // element) or []
    y_chain = _until(y_chain, least)
    for width in (64, 32, 16):
        y = _block(y_chain, block // element, width // element)
        if y is None or (width == 32 and (upper(y[-1][0].count) or 64) * element < 64):
            continue
        rows = prod(count for _, count in y)
        most = min(SOURCE_BLOCK // element, STAGE // rows // element)
        x = _block(_until(x_chain, y), most, 16 // element)
        if x is None:
            continue
        for taken, unit in ((x, 16 // element), (y, width // element)):
            before = prod(count for _, count in taken[:-1])
            axis, count = taken[-1]
            boxes = cut(box, axis, count, max(1, unit // before), early=taken is x)
            if boxes:
                return boxes
        loops = sorted(left_of(axes, [*x, *y]), key=outermost)
        source, target = levels_of(y, source=True), levels_of(x, source=False)
        ahead = next((a.source * step_of(a) for a in reversed(loops) if a.source != 0), 0)
        return with_loops(box, loops, Transposition(element, width, source, target, ahead))
    return None


def _until(chain: list[Axis], taken: list[tuple[Axis, int]]) -> list[Axis]:
    """The axes of a chain before the first that the other side of a block takes."""
    return list(takewhile(lambda axis: all(axis is not other for other, _ in taken), chain))


def _direct(
    box: Box,
    axes: list[Axis],
    x_chain: list[Axis],
    y_chain: list[Axis],
    element: int,
    *,
    large: bool,
) -> Plan:
    """A transposition that reads rows where they lie, or the boxes to cut for it; None if staged.

    It does where rows of the target do not start at cache lines, and those of the source spread
    over the places of the first cache.
    """
    if not x_chain or not y_chain:
        return None
    x, y, across = x_chain[0], y_chain[0], 16 // element
    numbers = x.count, x.target, y.count, y.source
    if x is y or not all(isinstance(n, int) for n in numbers) or x.count < across:
        return None
    if x.target % WIDEST == 0:
        return None
    height = upper(y.count) or 0
    width = next((w for w in (64, 16) if w // element <= height), 0)
    if width == 0:
        return None
    rows, columns = _direct_block(x.count, height, element, width, large=large)
    if min(rows, SMALL_ROWS) > _places(y.source):
        return None
    for axis, count, unit in ((x, columns, across), (y, rows, width // element)):
        boxes = cut(box, axis, count, unit)
        if boxes:
            return boxes
    loops = sorted(left_of(axes, [(x, columns), (y, rows)]), key=outermost)
    levels = ((rows, y.source),), ((columns, x.target),)
    return with_loops(box, loops, Transposition(element, width, *levels, direct=True))


def _direct_block(
    columns: Number, rows: int, element: int, width: int, *, large: bool
) -> tuple[int, int]:
    """Rows and columns of the source that make a block, where rows are read where they lie."""
    assert isinstance(columns, int)
    unit = width // element
    if large:
        rows = min(rows, LARGE_ROWS if element == 1 else 2 * unit)
        return rows, min(columns, SOURCE_BLOCK // element)
    blocks = -(-rows // SMALL_ROWS)
    return (rows if blocks == 1 else -(-rows // blocks // unit) * unit), columns


def _places(stride: Number) -> int:
    """How many rows so far apart the first cache holds beside others: half of 12 for each set."""
    assert isinstance(stride, int)
    return 6 * min(64, 4096 // gcd(stride, 4096))


def _block(chain: list[Axis], most: int, unit: int) -> list[tuple[Axis, int]] | None:
    """Axes of a chain, and how many steps of each, that make a multiple of ``unit`` items.

    The last axis may have to be cut. None where there are fewer items, or where a unit of items
    would lie across two axes.
    """
    taken: list[tuple[Axis, int]] = []
    size = 1
    for axis in chain:
        if size >= most or (size % unit and unit % size):
            break
        step = max(1, unit // size)
        if not isinstance(axis.count, int):
            count = _symbolic_block(axis, step, most // size)
            if count == 0 or len(taken) == MOST_LEVELS:
                break
            taken.append((axis, count))
            size *= count
            break
        if axis.count < step and step % axis.count:
            return None
        count = min(axis.count, most // size) // step * step if axis.count >= step else axis.count
        if count == 0 or len(taken) == MOST_LEVELS:
            break
        taken.append((axis, count))
        size *= count
        if count != axis.count:
            break
    return taken if taken and size % unit == 0 else None


def _symbolic_block(axis: Axis, step: int, most: int) -> int:
    """How many items a block takes of an axis whose length only the call says; 0 if none."""
    if not holds(axis, step):
        return 0
    if axis.clamp is not None:
        return axis.clamp.unit
    largest = upper(axis.count)
    whole = most // step * step
    return step if largest is not None and largest < whole else whole
