"""Rows written past the caches though they start anywhere: made in a small buffer, then streamed.

A streaming store must be of whole cache lines. Where rows of the target do not start at lines, the
kernel makes long pieces of rows in a buffer that stays in the cache, and a copy that knows where
lines begin writes them out.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.micro import Copy, Levels, Unzip, Zip
from morello_layouts.codegen.kernel.plan import STAGE, Nest, Stage

__all__ = ["staged"]

_SHORTEST = 1024  # bytes of a piece of a row, below which the way round costs more than it saves


def staged(nest: Nest) -> Nest:
    """The nest with its innermost loops writing to a stage, where rows of the target allow it.

    >>> from morello_layouts.codegen.kernel.plan import Nest
    >>> nest = Nest(0, 0, (Axis(9, 512, 7001), Axis(13, 4608, 512)), Copy(512))
    >>> print(staged(nest).stage)
    Stage(loops=1, rows=(), length=6656)
    """
    match nest.micro:
        case Copy(size):
            rows: Levels = ()
            length = size
        case Zip():
            rows, length = (), nest.micro.rows * nest.micro.width
        case Unzip():
            rows, length = nest.micro.target, nest.micro.width
        case _:
            return nest
    room = STAGE // prod(count for count, _ in rows)
    loops = list(nest.loops)
    inner: list[Axis] = []
    while axis := next((a for a in loops if a.target == length), None):
        count = next(n for n in range(min(axis.count, room // length), 0, -1) if not axis.count % n)
        if count == 1:
            break
        loops[loops.index(axis)] = Axis(
            axis.count // count, axis.source * count, axis.target * count
        )
        inner.insert(0, replace(axis, count=count))
        length *= count
        if count < axis.count:
            break
    if length < _SHORTEST or length > room:
        return nest
    outer = [axis for axis in loops if axis.count > 1]
    return replace(nest, loops=(*outer, *inner), stage=Stage(len(inner), rows, length))
