"""Strips: what is interleaved is first copied, in its order, to where the first cache holds it.

A processor fetches lines ahead of one load that walks through memory, and not of many loads that
take turns. So within the caches a strip of the source is copied by such a load, and from there on
the target is written in its own order.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.extents import estimate
from morello_layouts.codegen.kernel.micro import Unzip, Zip
from morello_layouts.codegen.kernel.nest import Nest

__all__ = ["MOST_STRIPPED", "stripped"]

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
