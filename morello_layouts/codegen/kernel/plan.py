"""From boxes to loops: merge and widen, choose a micro-kernel, order the loops.

Everything is in bytes here. A box is cut where a vector or a block does not divide it; the last
vector of a row then starts early, and some elements are moved twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd, prod

from morello_layouts.codegen.kernel.boxes import Axis, Box, Clamp
from morello_layouts.codegen.kernel.extents import (
    below,
    estimate,
    parted,
    positive,
    quotient,
    reaches,
    upper,
)
from morello_layouts.codegen.kernel.micro import (
    Copy,
    Fill,
    Levels,
    Micro,
    Move,
    Transposition,
    Unzip,
    Zip,
)
from morello_layouts.expr.size import Number

__all__ = ["SMALL_BLOCK", "TARGET_BLOCK", "WIDEST", "Nest", "fill_nest", "merged", "nests"]

SOURCE_BLOCK = 128
TARGET_BLOCK = 256
SMALL_BLOCK = 128  # where the target stays in the caches
STAGE = 1 << 15
# Rows of the source that are read where they lie, one piece of each after the other.
SMALL_ROWS = 384
LARGE_ROWS = 512
WIDEST = 64
MOST_LEVELS = 3
MOST_ROWS = 16


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops around one micro-kernel.

    Attributes:
        source, target: where it starts, in bytes.
        loops: from the outermost on, strides in bytes.
        micro: what the innermost loop does.
        stream: whether its stores may go past the caches, where the target starts at a line.
        box: which box it is part of; nests of one box may write some places twice. None where no
            other nest writes to its places.
        strip: bytes of the source that are first copied to the first cache; 0 if none are. Where
            only the call says how many, they are if they are at most ``MOST_STRIPPED``.
        inner: how many of the innermost loops are over such a strip.
    """

    source: Number
    target: Number
    loops: tuple[Axis, ...]
    micro: Micro
    stream: bool = False
    box: int | None = None
    strip: Number = 0
    inner: int = 0


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
    size: Number = itemsize
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
    for attempt in (_zip, _unzip, _transposition):
        found = attempt(box, axes, element, block)
        if found is not None:
            yield from found
            return
    yield _nest(box, axes, Move(element), element)


def _chain(axes: list[Axis], start: int, *, source: bool) -> list[Axis]:
    """The axes that are neighbours in one buffer, each continuing the one before."""
    chain: list[Axis] = []
    at: Number = start
    left = list(axes)
    while True:
        following = next((a for a in left if (a.source if source else a.target) == at), None)
        if following is None:
            return chain
        chain.append(following)
        left.remove(following)
        at *= following.count


def _levels(taken: list[tuple[Axis, int]], *, source: bool) -> Levels:
    return tuple((count, axis.source if source else axis.target) for axis, count in taken)


def _left(axes: list[Axis], taken: list[tuple[Axis, int]]) -> list[Axis]:
    """The axes without what a block takes of them; the last one taken must be a multiple."""
    rest = _resolved([a for a in axes if all(a is not b for b, _ in taken)])
    for axis, count in taken:
        if axis.clamp is not None:
            rest.append(replace(axis, count=axis.count // count))
        elif axis.count != count:
            rest.append(Axis(axis.count // count, axis.source * count, axis.target * count))
    return rest


def _resolved(axes: list[Axis]) -> list[Axis]:
    """The axes as loops: a clamped one of items becomes steps, and the items of a step."""
    found = []
    for axis in axes:
        if axis.clamp is None:
            found.append(axis)
        else:
            found.append(replace(axis, count=axis.count // axis.clamp.unit))
            found.append(Axis(axis.clamp.unit, axis.source, axis.target))
    return found


def _cut(box: Box, axis: Axis, whole: int, unit: int, *, early: bool = False) -> list[Box] | None:
    """Two boxes, where an axis is longer than ``whole`` and no multiple of it.

    The second is the smallest multiple of ``unit`` that holds the rest; it may start within the
    first. None where nothing needs to be cut. ``early``: where only the call says how long the axis
    is, whole blocks may start early too.
    """
    if axis.count % whole == 0:
        return None
    others = tuple(a for a in box.axes if a is not axis)
    if not isinstance(axis.count, int):
        parts = _early_parts if early and unit < whole and axis.clamp is None else _parts
        return [replace(box, axes=(*others, *part)) for part in parts(axis, whole, unit)]
    if axis.count < whole:
        whole = unit
    if axis.count % whole == 0:
        return None
    main = axis.count // whole * whole
    rest = -(-(axis.count - main) // unit) * unit
    start = axis.count - rest
    return [
        replace(box, axes=(*others, replace(axis, count=main))),
        Box(
            box.source + start * axis.source,
            box.target + start * axis.target,
            (*others, replace(axis, count=rest)),
        ),
    ]


def _parts(axis: Axis, whole: int, unit: int) -> Iterator[tuple[Axis, ...]]:
    """The parts of an axis whose length only the call says, each perhaps empty.

    They are multiples of ``whole``; vectors of ``unit`` items over the rest, the last of which ends
    with the axis; and where not even one such vector fits, the items.
    """
    most, left = upper(axis.count), axis.count
    main: Number = 0
    if most is None or most >= (4 * whole if whole == unit else whole):
        blocks, left = parted(axis.count, whole)
        main = blocks * whole
        yield (replace(axis, count=main),)
    fits = reaches(axis.count, unit)
    vectors = quotient(left + (unit - 1), unit)
    if upper(vectors) == 1:
        vectors = positive(left)
    clamp = Clamp(unit, main, axis.count - unit)
    guard = () if fits == 1 else (Axis(fits, 0, 0),)
    yield (*guard, replace(axis, count=vectors * unit, clamp=clamp))
    if unit > 1:
        yield (replace(axis, count=below(axis.count, unit)),)


def _early_parts(axis: Axis, whole: int, unit: int) -> Iterator[tuple[Axis, ...]]:
    """The same, but a rest of more than a quarter of a block is a block that starts early."""
    if upper(axis.count) is not None:
        yield from _parts(axis, whole, unit)
        return
    n, few = axis.count, whole // 4
    steps = quotient(n + (whole - 1 - few), whole)
    guard = Axis(reaches(n, whole), 0, 0)
    yield (guard, replace(axis, count=steps * whole, clamp=Clamp(whole, 0, n - whole)))
    full, rest = parted(n, whole)
    left = guard.count * below(rest, few + 1) + below(n, whole)
    clamp = Clamp(unit, full * whole, n - unit)
    vectors = quotient(left + (unit - 1), unit)
    yield (Axis(reaches(n, unit), 0, 0), replace(axis, count=vectors * unit, clamp=clamp))
    if unit > 1:
        yield (replace(axis, count=below(n, unit)),)


def _replanned(boxes: list[Box], element: int, block: int) -> Iterator[Nest]:
    for box in boxes:
        yield from _planned(box, element, block)


def _zip(box: Box, axes: list[Axis], element: int, block: int) -> Iterator[Nest] | None:
    return _zipped(box, axes, element, block, source=True)


def _unzip(box: Box, axes: list[Axis], element: int, block: int) -> Iterator[Nest] | None:
    return _zipped(box, axes, element, block, source=False)


def _zipped(
    box: Box, axes: list[Axis], element: int, block: int, *, source: bool
) -> Iterator[Nest] | None:
    """Interleaving, where rows of one buffer are dense in the other; ``source``: rows of it."""
    rows: list[Axis] = []
    for axis in _chain(axes, element, source=not source):
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
    width = next((w for w in (64, 32, 16) if _holds(axis, w // element)), None)
    if width is None or width <= element or _step(axis) not in (1, width // element):
        return None
    boxes = _cut(box, axis, width // element, width // element)
    if boxes:
        return _replanned(boxes, element, block)
    rest = _resolved([a for a in axes if a is not axis and all(a is not b for b in rows)])
    step = width // element
    (inner,) = _left([axis], [(axis, step)]) or [Axis(1, 0, 0)]
    levels = _levels(list(zip(rows, counts, strict=True)), source=source)
    micro = (Zip if source else Unzip)(element, count, width, levels)
    loops = sorted(rest, key=_outer)
    return iter([_with_loops(box, [*loops, inner], micro)])


def _holds(axis: Axis, unit: int) -> bool:
    """Whether an axis may be cut into vectors of so many items."""
    if isinstance(axis.count, int):
        return unit <= axis.count
    if axis.clamp is not None:
        return axis.clamp.unit % unit == 0
    most = upper(axis.count)
    return most is None or most >= unit


def _transposition(box: Box, axes: list[Axis], element: int, block: int) -> Iterator[Nest] | None:
    if element > 8:
        return None
    x_chain, y_chain = (_chain(axes, element, source=side) for side in (True, False))
    direct = _direct(box, axes, x_chain, y_chain, element, large=block > SMALL_BLOCK)
    if direct is not None:
        return _replanned(direct, element, block) if isinstance(direct, list) else iter([direct])
    for width in (64, 32, 16):
        y = _block(y_chain, block // element, width // element)
        if y is None or (width == 32 and (upper(y[-1][0].count) or 64) * element < 64):
            continue
        rows = prod(count for _, count in y)
        most = min(SOURCE_BLOCK // element, STAGE // rows // element)
        x = _block(x_chain, most, 16 // element)
        if x is None or any(a is b for a, _ in x for b, _ in y):
            continue
        for taken, unit in ((x, 16 // element), (y, width // element)):
            before = prod(count for _, count in taken[:-1])
            axis, count = taken[-1]
            boxes = _cut(box, axis, count, max(1, unit // before), early=taken is x)
            if boxes:
                return _replanned(boxes, element, block)
        loops = sorted(_left(axes, [*x, *y]), key=_outer)
        source, target = _levels(y, source=True), _levels(x, source=False)
        ahead = next((a.source * _step(a) for a in reversed(loops) if a.source != 0), 0)
        return iter([_with_loops(box, loops, Transposition(element, width, source, target, ahead))])
    return None


def _direct(
    box: Box,
    axes: list[Axis],
    x_chain: list[Axis],
    y_chain: list[Axis],
    element: int,
    *,
    large: bool,
) -> list[Box] | Nest | None:
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
        boxes = _cut(box, axis, count, unit)
        if boxes:
            return boxes
    loops = sorted(_left(axes, [(x, columns), (y, rows)]), key=_outer)
    levels = ((rows, y.source),), ((columns, x.target),)
    return _with_loops(box, loops, Transposition(element, width, *levels, direct=True))


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
    if not _holds(axis, step):
        return 0
    if axis.clamp is not None:
        return axis.clamp.unit
    largest = upper(axis.count)
    whole = most // step * step
    return step if largest is not None and largest < whole else whole


def _step(axis: Axis) -> int:
    return 1 if axis.clamp is None else axis.clamp.unit


def _nest(box: Box, axes: list[Axis], micro: Micro, run: Number, width: int = 0) -> Nest:
    """Loops over the axes: blocks of both buffers within, the rest outside."""
    outer = _resolved(axes)
    inner: list[Axis] = []
    for block, start, source in (
        (TARGET_BLOCK, width or run, False),
        (SOURCE_BLOCK, run, True),
    ):
        at: Number = start
        while isinstance(at, int) and at < block:
            axis = next((a for a in outer if (a.source if source else a.target) == at), None)
            if axis is None:
                break
            outer.remove(axis)
            steps = block // at
            longer = not isinstance(axis.count, int) or axis.count > steps
            if axis.clamp is None and longer and axis.count % steps == 0:
                inner.append(replace(axis, count=steps))
                outer.append(Axis(axis.count // steps, axis.source * steps, axis.target * steps))
            else:
                inner.append(axis)
            at *= axis.count
    return _with_loops(box, [*sorted(outer, key=_outer), *inner], micro)


def _outer(axis: Axis) -> tuple[int, int]:
    source, target = (_step(axis) * estimate(x) for x in (axis.source, axis.target))
    return -min(source, target), -source


def _with_loops(box: Box, loops: list[Axis], micro: Micro) -> Nest:
    return Nest(box.source, box.target, tuple(a for a in loops if a.count != 1), micro)
