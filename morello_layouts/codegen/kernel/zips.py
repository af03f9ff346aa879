"""Plans of interleaving, and of taking apart: rows of one buffer that are dense in the other."""

from __future__ import annotations

from math import prod

from morello_layouts.codegen.kernel.boxes import Axis, Box
from morello_layouts.codegen.kernel.cuts import cut, holds, left_of, resolved
from morello_layouts.codegen.kernel.micro import Unzip, Zip
from morello_layouts.codegen.kernel.nest import (
    MOST_LEVELS,
    Plan,
    chain_of,
    levels_of,
    outermost,
    step_of,
    with_loops,
)

__all__ = ["unzipped", "zipped"]

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
