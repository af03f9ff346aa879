"""From boxes to loops: merge and widen, choose a micro-kernel, order the loops.

Everything is in bytes here. A box is cut where a vector or a block does not divide it; the last
vector of a row then starts early, and some elements are moved twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from morello_layouts.codegen.kernel.boxes import Axis, Box
from morello_layouts.codegen.kernel.cuts import resolved
from morello_layouts.codegen.kernel.extents import estimate
from morello_layouts.codegen.kernel.micro import Copy, Fill, Micro, Move
from morello_layouts.codegen.kernel.nest import (
    SOURCE_BLOCK,
    TARGET_BLOCK,
    Nest,
    outermost,
    with_loops,
)
from morello_layouts.codegen.kernel.transpositions import transposed
from morello_layouts.codegen.kernel.zips import unzipped, zipped
from morello_layouts.expr.size import Number

__all__ = ["fill_nest", "merged", "nests"]


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


def _nest(box: Box, axes: list[Axis], micro: Micro, run: Number, width: int = 0) -> Nest:
    """Loops over the axes: blocks of both buffers within, the rest outside."""
    around = resolved(axes)
    inner: list[Axis] = []
    for block, start, source in (
        (TARGET_BLOCK, width or run, False),
        (SOURCE_BLOCK, run, True),
    ):
        at: Number = start
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
