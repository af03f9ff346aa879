"""CuTe's layouts in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from morello_layouts.notations.cute.swizzle import ComposedLayout


def describe(
    layout: CuteLayout | ComposedLayout,
    sizes: Sequence[int] | None = None,  # noqa: ARG001
) -> Description:
    """Say what each swizzle, size and stride means."""
    dims = dimensions([n if isinstance(n, int) else str(n) for n in layout.sizes])
    parts, plain = list[Part](), layout
    while isinstance(plain, ComposedLayout):
        parts.append(Part(str(plain.swizzle), plain.words))
        if plain.offset:
            parts.append(Part(str(plain.offset), "added to the offset before the swizzle"))
        plain = plain.layout
    pairs = zip(plain.modes, dims, strict=True)
    parts += (part for mode, dim in pairs for part in _parts(mode, dim))
    axes = () if plain is not layout else memory_axes(layout.recipe(layout.sizes), dims)
    modes, kind = count(plain.rank, "mode"), "CuTe layout"
    headline = f"{modes}, {_amount(plain.size)} elements in {_amount(plain.cosize)} slots"
    if isinstance(layout, ComposedLayout):
        kind = "CuTe layout with a swizzle"
    return Description(str(layout), kind, headline, dims, tuple(parts), axes)


def _amount(n: Any) -> str:
    return amount(n) if isinstance(n, int) else str(n)


def _parts(mode: CuteLayout, dim: Dimension) -> list[Part]:
    """Each size of a mode with its stride: a digit of the coordinate, the fastest first."""
    found, unit = list[Part](), 1
    for size, stride in mode.leaves:
        if size == mode.size:
            what = f"all {_amount(size)} of {dim.name}"
        else:
            things = (
                _count(size, "neighbour") if unit == 1 else f"{_count(size, 'block')} of {unit}"
            )
            what = f"{things} along {dim.name}"
        slots = _count(stride, "slot") if "@" not in str(stride) else stride  # @: a coordinate
        where = f"{slots} apart" if stride != 0 else "in one slot"
        found.append(Part(f"{size}:{stride}", f"{what}, {where}"))
        unit = size * unit
    return found


def _count(n: Any, noun: str) -> str:
    return count(n, noun) if isinstance(n, int) else f"{n} {noun}s"
