"""A sharding at a shape as steps, and as the formula of each system's document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.limits import NUMBER_JUMPS
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Split,
    Step,
    Transpose,
    linear_index,
)
from morello_layouts.core.recipe.steps import too_many_jumps
from morello_layouts.core.recipe.views import with_outer_axes
from morello_layouts.notations.sharding.sharding import Digit, Mesh, Sharding

DEVICE = "device"
"""The name of the axis of devices."""


class _Axes:
    """Axes between the steps: a label for each, and its size."""

    def __init__(self, shape: Sequence[Int]) -> None:
        self.steps: list[Step] = []
        self.labels: list[Any] = [("rest", dim) for dim in range(len(shape))]
        self.sizes: list[Int] = list(shape)

    def pad(self, sizes: dict[int, Int]) -> None:
        new = [sizes.get(k, n) for k, n in enumerate(self.sizes)]
        if new != self.sizes:
            self.steps.append(Pad(tuple(new)))
            self.sizes = new

    def split(self, cuts: dict[int, tuple[Any, Any, Int]]) -> None:
        """Split axes in two, of which the second has a size: (label, label, size) by axis."""
        if not cuts:
            return
        self.steps.append(Split(tuple(cuts[k][2] if k in cuts else None for k in self._range())))
        labels, sizes = list[Any](), list[Int]()
        for k, (label, n) in enumerate(zip(self.labels, self.sizes, strict=True)):
            outer, inner, size = cuts.get(k, (label, None, 1))
            labels += [outer, inner] if k in cuts else [outer]
            sizes += [n // size, size] if k in cuts else [n]
        self.labels, self.sizes = labels, sizes

    def _range(self) -> range:
        return range(len(self.sizes))


def device_recipe(sharding: Sharding, shape: Sequence[Int]) -> tuple[Recipe, int]:
    """Return the steps from an array to its devices and, for each dimension, its local one.

    Returns:
        The steps, and the number of axes that make up the device; the other axes are the
        dimensions of the largest part.

    >>> from morello_layouts.notations.sharding import Level
    >>> rows = Sharding(Mesh((("x", 2), ("y", 4))), ((Level(("y",)),), ()))
    >>> print(*device_recipe(rows, (10, 16)))
    [10,16] → pad [12,16] → split [4,3,16] → replicate [4,3,16,2] → transpose [2,4,3,16] 2
    """
    mesh, axes = sharding.mesh, _Axes(shape)
    runs = [list(sharding.digits(dim, n)) for dim, n in enumerate(shape)]
    for level in range(max(map(len, runs), default=0)):
        _cut(axes, {dim: run[level] for dim, run in enumerate(runs) if level < len(run)}, level)
    _split_numbers(axes, mesh)
    if replicated := sharding.replicated_axes:
        axes.steps.append(Replicate(tuple(mesh.size(axis) for axis in replicated)))
        axes.labels += [("mesh", axis) for axis in replicated]
    order = [axes.labels.index(("mesh", axis)) for axis in mesh.names]
    devices, counts = len(order), list[int]()
    for dim in range(len(shape)):
        own = [k for k, label in enumerate(axes.labels) if label[0] != "mesh" and label[1] == dim]
        order += own
        counts.append(len(own))
    if order != sorted(order):
        axes.steps.append(Transpose(tuple(order)))
    is_listed = bool(mesh.ids) or mesh.devices != mesh.count
    counts = [devices, *counts] if is_listed or not devices else [*(1,) * devices, *counts]
    if {*counts} != {1}:
        axes.steps.append(Merge(tuple(counts)))
    found = Recipe(tuple(shape), tuple(axes.steps))
    if not is_listed:
        return found, devices or 1
    steps = (*found.steps, *_numbering(mesh, found.physical_shape))
    return Recipe(found.shape, steps), 1


def _cut(axes: _Axes, digits: dict[int, Digit], level: int) -> None:
    """Pad and split the rest of each dimension by a digit."""
    places = {dim: axes.labels.index(("rest", dim)) for dim in digits}
    axes.pad({places[dim]: digit.block * digit.count for dim, digit in digits.items()})
    axes.split(
        {
            places[dim]: (
                ("number", digit) if digit.axes else ("local", dim, level),
                ("rest", dim),
                digit.block,
            )
            for dim, digit in digits.items()
        }
    )


def _split_numbers(axes: _Axes, mesh: Mesh) -> None:
    """Split the numbers of blocks into coordinates along the axes of the mesh."""
    for k, (kind, digit, *_) in enumerate(axes.labels):
        if kind == "number" and digit.first:
            count = digit.count
            numbers = tuple((digit.first + n) % count for n in range(count))
            axes.steps.append(Renumber(k, numbers))
    while any(label[0] == "number" and len(label[1].axes) > 1 for label in axes.labels):
        cuts = {}
        for k, (kind, digit, *_) in enumerate(axes.labels):
            if kind == "number" and len(digit.axes) > 1:
                inner = Digit(1, 0, digit.axes[1:], 0)
                size = prod(mesh.size(axis) for axis in inner.axes)
                cuts[k] = (("number", Digit(1, 0, digit.axes[:1], 0)), ("number", inner), size)
        axes.split(cuts)
    axes.labels = [
        ("mesh", label[1].axes[0]) if label[0] == "number" else label for label in axes.labels
    ]


def _numbering(mesh: Mesh, shape: Sequence[Int]) -> Iterator[Step]:
    """Yield the steps from positions in the mesh to devices."""
    rest = tuple(shape[1:])
    digits = digits_of_ids(mesh.ids) if mesh.ids and mesh.devices == mesh.count else None
    if mesh.devices != mesh.count:
        yield Pad((mesh.devices, *rest))
    if digits is None and mesh.ids:
        assert isinstance(mesh.devices, int)
        others = [k for k in range(mesh.devices) if k not in mesh.positions]
        yield Renumber(0, (*mesh.ids, *others))
    elif digits is not None and len(digits) > 1:
        for k in range(1, len(digits)):
            inner = prod(radix for radix, _ in digits[k:])
            yield Split((*(None,) * (k - 1), inner, *(None,) * len(rest)))
        order = sorted(range(len(digits)), key=lambda k: -digits[k][1])
        own = range(len(digits), len(digits) + len(rest))
        yield Transpose((*order, *own))
        yield Merge((len(digits), *(1,) * len(rest)))


def digits_of_ids(ids: Sequence[int]) -> list[tuple[int, int]] | None:
    """Return listed devices as digits of their positions; None if they are not.

    Returns:
        Pairs (radix, step in the number of the device), the most major first.

    >>> digits_of_ids((0, 2, 4, 6, 1, 3, 5, 7)), digits_of_ids((0, 1, 3, 2))
    ([(2, 1), (4, 2)], None)
    """
    if not ids or ids[0] != 0:
        return None
    found, left = list[tuple[int, int]](), list(ids)
    while len(left) > 1:
        step, radix = left[1], 1
        while radix < len(left) and left[radix] == radix * step:
            radix += 1
        if len(left) % radix:
            return None
        outer = left[::radix]
        if any(x != outer[k // radix] + k % radix * step for k, x in enumerate(left)):
            return None
        found.insert(0, (radix, step))
        left = outer
    steps = sorted((step, radix) for radix, step in found)
    below = 1
    for step, radix in steps:
        if step != below:
            return None
        below *= radix
    return found


def full_recipe(sharding: Sharding, shape: Sequence[Int], local: Recipe) -> Recipe:
    """Return the steps from an array to its devices and the places of their buffers."""
    outer, devices = device_recipe(sharding, shape)
    inner = with_outer_axes(local, outer.physical_shape[:devices])
    steps = [*outer.steps, *inner.steps]
    if local.axis_names:
        steps += _merged((devices, *(1,) * len(local.physical_shape)))
        return Recipe(tuple(shape), tuple(steps), axis_names=(DEVICE, *local.axis_names))
    steps += _merged((devices, len(local.physical_shape)))
    if local.tail_padding != 0:
        steps.append(Pad((prod(outer.physical_shape[:devices]), local.size), cut=True))
    return Recipe(tuple(shape), tuple(steps), axis_names=(DEVICE, "offset"))


def _merged(counts: tuple[int, ...]) -> list[Step]:
    return [] if {*counts} == {1} else [Merge(counts)]


def local_coordinates(
    sharding: Sharding, coordinates: Sequence[Any], shape: Sequence[Int]
) -> tuple[Any, list[Any]]:
    """Return the number of an element's first device, and its coordinate on it.

    Blocks are counted as the documents count them: quotients and remainders of the coordinate.
    """
    at: dict[str, Any] = {}
    local = []
    zero = AffineExpr((), 0)
    for dim, (x, n) in enumerate(zip(coordinates, shape, strict=True)):
        rest, here, room = x, zero, n
        for digit in sharding.digits(dim, n):
            number, rest, room = rest // digit.block, rest % digit.block, digit.block
            if not digit.axes:
                here = here * digit.count + number
                continue
            if digit.first:
                number = (number + digit.first) % digit.count
            for axis in reversed(digit.axes[1:]):
                size = sharding.mesh.size(axis)
                at[axis], number = number % size, number // size
            at[digit.axes[0]] = number
        local.append(here * room + rest)
    places = [at.get(axis, zero) for axis in sharding.mesh.names]
    position = zero + linear_index(places, sharding.mesh.sizes, zero)
    return _device(sharding.mesh, position), local


def _device(mesh: Mesh, position: AffineExpr) -> AffineExpr:
    """The device at a position: by digits, or each listed one from where its position begins."""
    if not mesh.ids:
        return position
    device = AffineExpr((), 0)
    if digits := digits_of_ids(mesh.ids):
        for radix, step in reversed(digits):
            device, position = device + position % radix * step, position // radix
        return device
    count = len(mesh.ids)
    if count > NUMBER_JUMPS:
        raise too_many_jumps(count, count - 1)
    device = device + mesh.ids[0]
    for k in range(1, count):
        device += (position + (count - k)) // count * (mesh.ids[k] - mesh.ids[k - 1])
    return device
