"""Plan a relayout: choose interleaving, transposition and prefetching."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from math import gcd, prod

from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.domains import (
    Axis,
    Box,
    cut,
    estimate,
    holds,
    left_of,
    resolved,
    upper,
)
from morello_layouts.kernels.nests import (
    MOST_LEVELS,
    SMALL_BLOCK,
    SOURCE_BLOCK,
    TARGET_BLOCK,
    WIDEST,
    Copy,
    Fill,
    Micro,
    Move,
    Nest,
    Plan,
    Transposition,
    Unzip,
    Zip,
    chain_of,
    levels_of,
    outermost,
    step_of,
    with_loops,
)

_LEAST, MOST_STRIPPED = 1 << 10, 1 << 14


def stripped(nest: Nest) -> Nest:
    """The nest with as many of its inner loops over a strip of the source as fit the first cache.

    Unchanged where the source is no whole strip; with gaps only where the call says how long it is.

    >>> loops = Axis(32, 8192, 8192), Axis(4, 2048, 512), Axis(4, 256, 2048), Axis(4, 64, 128)
    >>> nest = stripped(Nest(0, 0, loops, Zip(2, 2, 64, ((2, 1024),))))
    >>> nest.strip, nest.inner, [axis.target for axis in nest.loops]
    (8192, 3, [8192, 2048, 512, 128])
    """
    match nest.micro:
        case Zip(width=run, source=levels):
            within = [Axis(count, stride, 0) for count, stride in levels]
        case Unzip(rows=rows, width=width):
            run, within = rows * width, []
        case _:
            return nest
    for k in range(len(nest.loops)):
        inner = nest.loops[k:]
        size = _whole(run, [*within, *inner])
        if _LEAST <= size <= MOST_STRIPPED:
            ordered = sorted(inner, key=lambda axis: -_number(axis.target))
            return replace(nest, loops=(*nest.loops[:k], *ordered), strip=size, inner=len(inner))
    return _of_any_length(nest, run, within)


def _of_any_length(nest: Nest, run: int, within: list[Axis]) -> Nest:
    """The nest with a strip whose length only the call says; it may have a few gaps."""
    for k in range(1, len(nest.loops)):
        inner = nest.loops[k:]
        axes = [*within, *inner]
        fixed = all(isinstance(x, int) for axis in axes for x in (axis.count, axis.source))
        if fixed or any(axis.clamp or axis.source == 0 for axis in inner):
            return nest
        span = run + sum((axis.count - 1) * axis.source for axis in axes)
        moved = run * prod(axis.count for axis in axes)
        if estimate(span) * 4 <= estimate(moved) * 5:
            ordered = sorted(inner, key=lambda axis: -estimate(axis.target))
            return replace(nest, loops=(*nest.loops[:k], *ordered), strip=span, inner=len(inner))
    return nest


def _whole(run: int, axes: list[Axis]) -> int:
    """Bytes of the source that axes cover without a gap; 0 where they do not."""
    numbers = [x for axis in axes for x in (axis.count, axis.source, axis.target)]
    if any(axis.clamp for axis in axes) or not all(isinstance(x, int) for x in numbers):
        return 0
    for axis in sorted(axes, key=lambda axis: _number(axis.source)):
        if axis.source != run:
            return 0
        run *= _number(axis.count)
    return run


def _number(size: object) -> int:
    assert isinstance(size, int)
    return size


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
    columns: Int, rows: int, element: int, width: int, *, large: bool
) -> tuple[int, int]:
    """Rows and columns of the source that make a block, where rows are read where they lie."""
    assert isinstance(columns, int)
    unit = width // element
    if large:
        rows = min(rows, LARGE_ROWS if element == 1 else 2 * unit)
        return rows, min(columns, SOURCE_BLOCK // element)
    blocks = -(-rows // SMALL_ROWS)
    return (rows if blocks == 1 else -(-rows // blocks // unit) * unit), columns


def _places(stride: Int) -> int:
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


MOST_ROWS = 16


def zipped(box: Box, axes: list[Axis], element: int) -> Plan:
    """Interleaving, where rows of the source are dense in the target."""
    return _rows_in_turn(box, axes, element, source=True)


def unzipped(box: Box, axes: list[Axis], element: int) -> Plan:
    """Taking apart, where rows of the target are dense in the source."""
    return _rows_in_turn(box, axes, element, source=False)


def _rows_in_turn(box: Box, axes: list[Axis], element: int, *, source: bool) -> Plan:
    rows: list[Axis] = []
    for axis in chain_of(axes, element, source=not source):
        if (axis.source if source else axis.target) == element:
            break
        rows.append(axis)
    else:
        return None
    counts = [a.count for a in rows if isinstance(a.count, int) and a.clamp is None]
    count = prod(counts)
    if len(counts) < len(rows) or len(rows) > MOST_LEVELS:
        return None
    if count & (count - 1) or not 2 <= count <= MOST_ROWS:
        return None
    width = next((w for w in (64, 32, 16) if holds(axis, w // element)), None)
    if width is None or width <= element or step_of(axis) not in (1, width // element):
        return None
    boxes = cut(box, axis, width // element, width // element)
    if boxes:
        return boxes
    rest = resolved([a for a in axes if a is not axis and all(a is not b for b in rows)])
    step = width // element
    (inner,) = left_of([axis], [(axis, step)]) or [Axis(1, 0, 0)]
    levels = levels_of(list(zip(rows, counts, strict=True)), source=source)
    micro = (Zip if source else Unzip)(element, count, width, levels)
    loops = sorted(rest, key=outermost)
    return with_loops(box, [*loops, inner], micro)


def nests(box: Box, itemsize: int, block: int = TARGET_BLOCK) -> list[Nest]:
    """The loops that move a box of elements of a size.

    Args:
        box: what is moved, in elements.
        itemsize: bytes of an element.
        block: bytes along the target that are transposed at once.

    >>> box = Box(0, 0, (Axis(8, 1000, 128), Axis(128, 1, 1)))
    >>> (nest,) = nests(box, 4)
    >>> nest.loops, nest.micro
    ((Axis(count=8, source=4000, target=512, clamp=None),), Copy(size=512))
    """
    axes = [Axis(a.count, a.source * itemsize, a.target * itemsize) for a in box.axes]
    word = min(itemsize & -itemsize, 16)
    if word < itemsize:  # an item that no register holds is a run of words
        axes.append(Axis(itemsize // word, word, word))
    return list(
        _planned(Box(box.source * itemsize, box.target * itemsize, tuple(axes)), word, block)
    )


def fill_nest(box: Box, itemsize: int) -> Nest:
    """The loops that fill a box of padding."""
    axes = merged([Axis(a.count, 0, a.target * itemsize) for a in box.axes])
    size: Int = itemsize
    run = next((a for a in axes if a.target == itemsize), None)
    if run:
        axes.remove(run)
        size *= run.count
    return Nest(0, box.target * itemsize, tuple(sorted(axes, key=_by_target)), Fill(size))


def _by_target(axis: Axis) -> int:
    return -estimate(axis.target)


def merged(axes: list[Axis]) -> list[Axis]:
    """Join axes of which one continues the other in both buffers.

    >>> merged([Axis(8, 4, 32), Axis(3, 32, 256)])
    [Axis(count=24, source=4, target=32, clamp=None)]
    """
    axes = sorted((a for a in axes if a.count != 1), key=_by_strides)
    found = True
    while found:
        found = False
        for a in axes:
            for b in axes:
                joined = b.source == a.source * a.count and b.target == a.target * a.count
                if a is not b and joined and a.clamp is None and b.clamp is None:
                    axes[axes.index(a)] = Axis(a.count * b.count, a.source, a.target)
                    axes.remove(b)
                    found = True
                    break
            if found:
                break
    return axes


def _by_strides(axis: Axis) -> tuple[int, int]:
    return estimate(axis.target), estimate(axis.source)


def _planned(box: Box, element: int, block: int) -> Iterator[Nest]:
    axes = merged(list(box.axes))
    box = replace(box, axes=tuple(axes))
    run = next((a for a in axes if a.source == a.target == element), None)
    if run:
        size = run.count * element
        rest = [a for a in axes if a is not run]
        if isinstance(size, int) and size <= 16 and size & (size - 1) == 0:
            yield from _planned(replace(box, axes=tuple(rest)), size, block)
            return
        yield _nest(box, rest, Copy(size), size)
        return
    found = (
        zipped(box, axes, element)
        or unzipped(box, axes, element)
        or transposed(box, axes, element, block)
    )
    if isinstance(found, Nest):
        yield found
        return
    for part in found or ():
        yield from _planned(part, element, block)
    if not found:
        yield _nest(box, axes, Move(element), element)


def _nest(box: Box, axes: list[Axis], micro: Micro, run: Int, width: int = 0) -> Nest:
    """Loops over the axes: blocks of both buffers within, the rest outside."""
    around = resolved(axes)
    inner: list[Axis] = []
    for block, start, source in (
        (TARGET_BLOCK, width or run, False),
        (SOURCE_BLOCK, run, True),
    ):
        at: Int = start
        while isinstance(at, int) and at < block:
            axis = next((a for a in around if (a.source if source else a.target) == at), None)
            if axis is None:
                break
            around.remove(axis)
            steps = block // at
            longer = not isinstance(axis.count, int) or axis.count > steps
            if axis.clamp is None and longer and axis.count % steps == 0:
                inner.append(replace(axis, count=steps))
                around.append(Axis(axis.count // steps, axis.source * steps, axis.target * steps))
            else:
                inner.append(axis)
            at *= axis.count
    return with_loops(box, [*sorted(around, key=outermost), *inner], micro)
