"""The order of the loops of a nest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from morello_layouts.errors import LayoutError
from morello_layouts.expr import AffineExpr, Var
from morello_layouts.expr.affine import operands_of
from morello_layouts.expr.sizes import Int, absolute, is_nonnegative, magnitude
from morello_layouts.loop_nests.space import Axis, Digits, Space


def physical(digits: Digits, form: AffineExpr) -> tuple[Axis, ...]:
    """Return the axes by their strides in a buffer, the largest first.

    Axes along which the offset does not change come last: the nest stays at a place until all that
    needs it is done. Tiles that a user asked for come first, each level by itself.

    >>> from morello_layouts import index_map
    >>> from morello_layouts.loop_nests.space import Space
    >>> m = index_map("[1, 0]", (6, 8)).affine_map
    >>> found = Digits.of(Space.of({"x": m}, {"x": ("i", "j")}))
    >>> [axis.name for axis in physical(found, found.forms[0])]
    ['j', 'i']
    """

    def later(a: Axis, b: Axis) -> int:
        return _compare(stride_in(form, b.name), stride_in(form, a.name))

    by_stride = sorted(digits.axes.values(), key=cmp_to_key(later))
    return _by_tiles(digits, by_stride)


def falling(space: Space, which: int) -> frozenset[str]:
    """Return the coordinates along which the offset in an array falls."""
    form = space.accesses[which].form
    return frozenset(name for name in space.sizes if is_nonnegative(-1 - stride_in(form, name)))


def named(digits: Digits, order: Sequence[str]) -> tuple[Axis, ...]:
    """Return the axes in the order of their names; a coordinate's name stands for its other axes.

    Raises:
        LayoutError: if a name is unknown, comes twice, or an axis is left out.
    """
    axes = digits.axes
    known = [*axes, *(name for name in digits.coordinates if name not in axes)]
    for name in order:
        if name not in known or order.count(name) > 1:
            raise LayoutError(
                f"order: expected each of {', '.join(known)} at most once, got {name!r}",
                "an order names coordinates or loops; physical is the order of a buffer",
                f"give for example {','.join(digits.coordinates)}, or physical",
            )
    found: list[Axis] = []
    for name in order:
        if name in axes:
            found.append(axes[name])
        else:
            found += [a for a in axes.values() if a.coordinate == name and a.name not in order]
    left = [axis.name for axis in axes.values() if axis not in found]
    if left:
        raise LayoutError(
            f"order: expected all loops, got none of {', '.join(left)}",
            "a nest visits each element",
            f"name {', '.join(dict.fromkeys(axes[name].coordinate for name in left))} too",
        )
    is_split = any(name in axes and axes[name].coordinate != name for name in order)
    return tuple(found) if is_split else _by_tiles(digits, found)


def _by_tiles(digits: Digits, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the axes over outer tiles first, then those over inner tiles, then the others."""
    found: list[Axis] = []
    for level in digits.tiles:
        found += [axis for axis in axes if axis.name in level]
    return (*found, *(axis for axis in axes if axis not in found))


def stride_in(form: AffineExpr, name: str) -> Int:
    """Return the factor of an axis in a form; inside of digits, a bound of it."""
    total: Int = 0
    for atom, c in form.terms:
        if isinstance(atom, Var):
            total = total + c if atom.name == name else total
            continue
        inner = [stride_in(operand, name) for operand in operands_of(atom)]
        total = total + next((c * k for k in inner if k != 0), 0)
    return total


def _compare(a: Int, b: Int) -> int:
    """Compare strides without their signs; a stride of 0 is the smallest."""
    a, b = absolute(a), absolute(b)
    if a == b:
        return 0
    if is_nonnegative(a - b):
        return 1
    if is_nonnegative(b - a):
        return -1
    return 1 if magnitude(a) > magnitude(b) else -1
