"""Fragments in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from morello_layouts.description import Description, MemoryAxis, Part, count, dimensions
from morello_layouts.notations.fragments.layout import Axis, FragmentLayout
from morello_layouts.recipe import known
from morello_layouts.recipe.digits import AxisDigit, axis_text

_REGISTER = 32


def describe(layout: FragmentLayout, sizes: Sequence[int] | None = None) -> Description:
    """Say what lanes and registers hold."""
    if sizes is not None:
        layout.recipe(tuple(sizes))
    dims = dimensions(layout.shape, names=layout.dims)
    axes = tuple(_memory_axis(axis, layout) for axis in layout.axes)
    parts = tuple(Part(f"{axis.name}s", _meaning(axis, layout)) for axis in layout.axes)
    return Description(str(layout), "fragment", _headline(layout), dims, parts, axes)


def _memory_axis(axis: Axis, layout: FragmentLayout) -> MemoryAxis:
    digits = tuple(
        AxisDigit(
            digit.dim, unit, radix, None if unit * radix == layout.shape[digit.dim] else radix
        )
        for digit in axis.digits
        if digit.dim is not None and digit.radix != 1
        for unit, radix in [known(digit[1:3])]
    )
    return MemoryAxis(f"{axis.name} {axis_text(digits, layout.dims)}", axis.size, digits)


def _meaning(axis: Axis, layout: FragmentLayout) -> str:
    own = _memory_axis(axis, layout)
    formula = axis_text(own.digits, layout.dims)
    copies = prod(known([digit.radix for digit in axis.digits if digit.dim is None]))
    same = f"; {count(copies, axis.name)} hold the same element" if copies > 1 else ""
    (held,) = known([prod(digit.radix for digit in axis.digits)])
    some = f"; {held} of them hold elements" if held < axis.size else ""
    return f"{count(axis.size, axis.name)}: {formula}, the first part slowest{same}{some}"


def _headline(layout: FragmentLayout) -> str:
    """The operand, its type, and how elements are packed into registers."""
    size = " by ".join(map(str, layout.shape))
    if layout.type is None:
        return f"{layout.words}: {size}"
    bits, per = layout.type.bits, layout.axes[-1].size
    what = f"{layout.words}: {size} of {layout.type}, {per} in each {layout.axes[-2].name}"
    if bits >= _REGISTER:
        registers = bits // _REGISTER
        held = "each in a register" if registers == 1 else f"each in {registers} registers"
        return f"{what}, {held} of {_REGISTER} bits"
    return f"{what}, {min(per, _REGISTER // bits)} in a register of {_REGISTER} bits"
