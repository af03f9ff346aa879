"""Axes cut into what vectors and blocks divide, and what is left of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from morello_layouts.codegen.kernel.boxes import Axis, Box, Clamp
from morello_layouts.codegen.kernel.extents import (
    below,
    parted,
    positive,
    quotient,
    reaches,
    upper,
)
from morello_layouts.expr.size import Number

__all__ = ["cut", "holds", "left_of", "resolved"]


def cut(box: Box, axis: Axis, whole: int, unit: int, *, early: bool = False) -> list[Box] | None:
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


def left_of(axes: list[Axis], taken: list[tuple[Axis, int]]) -> list[Axis]:
    """The axes without what a block takes of them; the last one taken must be a multiple."""
    rest = resolved([a for a in axes if all(a is not b for b, _ in taken)])
    for axis, count in taken:
        if axis.clamp is not None:
            rest.append(replace(axis, count=axis.count // count))
        elif axis.count != count:
            rest.append(Axis(axis.count // count, axis.source * count, axis.target * count))
    return rest


def resolved(axes: list[Axis]) -> list[Axis]:
    """The axes as loops: a clamped one of items becomes steps, and the items of a step."""
    found = []
    for axis in axes:
        if axis.clamp is None:
            found.append(axis)
        else:
            found.append(replace(axis, count=axis.count // axis.clamp.unit))
            found.append(Axis(axis.clamp.unit, axis.source, axis.target))
    return found


def holds(axis: Axis, unit: int) -> bool:
    """Whether an axis may be cut into vectors of so many items."""
    if isinstance(axis.count, int):
        return unit <= axis.count
    if axis.clamp is not None:
        return axis.clamp.unit % unit == 0
    most = upper(axis.count)
    return most is None or most >= unit
