"""CuTe's layouts in words."""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.description import (
    Description,
    Dimension,
    Part,
    amount,
    count,
    dimensions,
    memory_axes,
)
from morello_layouts.notations.cute.layout import CuteLayout


def describe(layout: CuteLayout, sizes: Sequence[int] | None = None) -> Description:  # noqa: ARG001
    """Say what each size and stride means.

    Raises:
        UnsupportedError: if an offset is negative.
    """
    dims = dimensions(layout.sizes)
    axes = memory_axes(layout.recipe(layout.sizes), dims)
    pairs = zip(layout.modes, dims, strict=True)
    parts = tuple(part for mode, dim in pairs for part in _parts(mode, dim))
    modes, size = count(layout.rank, "mode"), f"{amount(layout.size)} elements"
    headline = f"{modes}, {size} in {amount(layout.cosize)} slots"
    return Description(str(layout), "CuTe layout", headline, dims, parts, axes)


def _parts(mode: CuteLayout, dim: Dimension) -> list[Part]:
    """Each size of a mode with its stride: a digit of the coordinate, the fastest first."""
    found, unit = list[Part](), 1
    for size, stride in mode.leaves:
        if size == mode.size:
            what = f"all of {dim.name}, {amount(size)}"
        else:
            things = count(size, "neighbour") if unit == 1 else f"{count(size, 'block')} of {unit}"
            what = f"{things} along {dim.name}"
        apart = f"{count(stride, 'slot')} apart" if isinstance(stride, int) else f"{stride} apart"
        found.append(Part(f"{size}:{stride}", f"{what}, {apart if stride != 0 else 'in one slot'}"))
        unit *= int(size)
    return found
