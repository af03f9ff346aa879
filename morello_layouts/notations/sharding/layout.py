"""Sharded arrays as layouts, in words: the outermost axis is the device, then comes its buffer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

from morello_layouts.core.checks import require_rank
from morello_layouts.core.description import (
    Description,
    Dimension,
    Part,
    dimensions,
    listed,
    memory_axes,
)
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Arrays, ElementType, Layout
from morello_layouts.core.limits import DEVICE_IDS, NUMBER_JUMPS
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Split,
    Step,
    Transpose,
    known,
    linear_index,
)
from morello_layouts.core.recipe.steps import too_many_jumps
from morello_layouts.core.recipe.views import with_outer_axes
from morello_layouts.errors import UnsupportedError
from morello_layouts.notations.sharding.sharding import Mesh, MeshDigit, Sharding
from morello_layouts.notations.xla import XlaLayout


class Placement(ABC):
    """What a system writes about an array on devices; its text is the system's own."""

    __slots__ = ()

    @property
    def rank(self) -> int | None:
        """The dimensions of the array, if the text tells them."""
        return None

    @abstractmethod
    def sharding(self, rank: int) -> Sharding:
        """Return the sharding of an array of this rank.

        Raises:
            ShapeError: if it is one of another number of dimensions.
        """

    @abstractmethod
    def document(
        self, coordinate: Sequence[int], shape: Sequence[int]
    ) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Return an element's first device, its coordinate there, and the sizes of the buffer.

        Plain integers, by the system's own document alone.
        """

    def notes(self, shape: Sequence[Int]) -> tuple[str, ...]:
        """Return what a reader should know: how sizes that do not divide are treated."""
        return ()


@frozen
class ShardedLayout(Layout):
    """An array on devices: its places are a device and the offset in the device's own buffer.

    The offset that the map itself gives is ``device * L + offset``, for buffers of L elements.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[10,16]{1,0:T(8,128)}, sharding={devices=[4,2]<=[8]}")
    >>> m.place(7, 9)["device"], m.place(7, 9)["offset"], m.element(device=5, offset=129)
    (5, 129, (7, 9))
    """

    placement: Placement  #: which device holds what, in the words of a system.
    #: the sizes of the array; None if they are given beside it.
    shape: tuple[Int, ...] | None = None
    local: Layout | None = None  #: the layout of a device's buffer; None for row-major order.
    type: ElementType | None = None  #: the type of the elements.
    array: str = ""  #: the text of the array.

    def __post_init__(self) -> None:
        if self.shape is not None:
            self.recipe(self.shape)

    def _parts(self, shape: Sequence[Int]) -> tuple[Sharding, Layout, tuple[Int, ...]]:
        rank = len(shape) if self.shape is None else len(self.shape)
        require_rank(shape, rank, str(self))
        sharding = self.placement.sharding(len(shape))
        local = self.local or XlaLayout.descending(len(shape))
        return sharding, local, sharding.local_dims(shape)

    @property
    def part_sizes(self) -> tuple[Int, ...]:
        """The sizes of a device's buffer, of an array whose sizes are given."""
        return self._parts(self.shape or ())[2]

    def local_recipe(self, shape: Sequence[Int]) -> Recipe:
        """Return the layout of a device's buffer, at the sizes of the largest part."""
        _, local, dims = self._parts(shape)
        found = local.recipe(dims)
        if found.offset != 0:
            raise UnsupportedError(
                f"{local} begins with {found.offset} slots of padding",
                "a device's buffer begins with its first element",
                "give the layout without an offset",
            )
        return found

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the steps to the axes ``device`` and ``offset``, or those of the local layout."""
        sharding, *_ = self._parts(shape)
        return full_recipe(sharding, shape, self.local_recipe(shape))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the device's number times the size of a buffer, plus the offset in it."""
        sharding, local, dims = self._parts(shape)
        device, at = local_coordinates(sharding, coordinates, shape)
        # The buffer's formula is that of its own coordinates.
        within = local.reference(at, dims)
        found: AffineExpr = device * self.local_recipe(shape).size + within
        return found

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return the place on the first device, and the places on all devices."""
        sharding, local, _ = self._parts(shape)
        if sharding.mesh.ids and sharding.replicas != 1:
            return None  # the first device of the mesh is not the one of the lowest number
        device, at, dims = self.placement.document(coordinate, shape)
        found = local.by_document(at, dims)
        if found is None or not isinstance(sharding.mesh.devices, int):
            return None
        return device * found[1] + found[0], sharding.mesh.devices * found[1]

    @property
    def sizes(self) -> tuple[Int | None, ...] | None:
        return self.shape

    @property
    def element(self) -> ElementType | None:
        return self.type

    def assumptions(self, shape: Sequence[Int], /) -> tuple[Assumption, ...]:
        """Return the divisibility that parts of parts need where each is cut by its own size."""
        sharding, *_ = self._parts(shape)
        found = []
        for dim, n in enumerate(shape):
            name = n.as_atom() if isinstance(n, SizeExpr) else None
            if any(level.own for level in sharding.cuts[dim]) and isinstance(name, str):
                parts = prod(digit.count for digit in sharding.digits(dim, n))
                if isinstance(parts, int):
                    found.append(Assumption(name, divisor=parts))
        return tuple(found)

    def with_numbers(self, values: Mapping[str, int], /) -> ShardedLayout:
        local = None if self.local is None else self.local.with_numbers(values)
        return self if local is self.local else replace(self, local=local)

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        sharding, local, dims = self._parts(shape)
        found = list(self.placement.notes(shape))
        own = [
            dim
            for dim, n in enumerate(shape)
            if isinstance(n, int) and dim and sharding.is_uneven(dim, n)
        ]
        if sharding.local_rule == "own" and self.local is None and own:
            found.append(
                f"offsets are those in buffers of [{', '.join(map(str, dims))}]; "
                "a device with a smaller part has smaller strides"
            )
        return (*found, *local.notes(dims))

    def __str__(self) -> str:
        text = str(self.placement)
        return f"{self.array}, {text}" if self.array else text


@frozen
class ShardedTuple(Arrays):
    """Several arrays, each with its sharding."""

    #: the arrays, with the position of each.
    parts: tuple[tuple[tuple[int, ...], ShardedLayout], ...]
    text: str  #: as it was written.

    def arrays(self) -> Iterator[tuple[tuple[int, ...], Layout]]:
        yield from self.parts

    def __str__(self) -> str:
        return self.text


def describe(layout: ShardedLayout, shape: Sequence[Int] | None = None) -> Description:
    sizes = shape or layout.shape
    if sizes is None:
        text = str(layout.placement)
        part = Part(text, "which device holds what; the sizes of the array say how much")
        return Description(text, "sharding", "an array on devices", (), (part,))
    dims = numbered(sizes)
    sharding = layout.placement.sharding(len(sizes))
    axes = memory_axes(layout.recipe(sizes if shape is None else tuple(sizes)), dims)
    parts = tuple(_parts(layout, sharding, sizes, dims))
    return Description(str(layout), "sharding", headline(sharding, dims), dims, parts, axes)


def numbered(sizes: Sequence[Int]) -> tuple[Dimension, ...]:
    """Return the dimensions as d0, d1, …: meshes too call their axes x and y."""
    return dimensions(sizes, names=[f"d{k}" for k in range(len(sizes))])


def headline(sharding: Sharding, dims: Sequence[Dimension]) -> str:
    pairs = zip(dims, sharding.cuts, strict=True)
    cut = [f"{dim.name} in {sharding.parts(k)} parts" for k, (dim, cut) in enumerate(pairs) if cut]
    copies = sharding.replicas
    if not cut:
        return "whole on each device" if copies != 1 else "whole on one device"
    each = "" if copies == 1 else f", each on {copies} devices"
    return f"{listed(cut)}{each}"


def _parts(
    layout: ShardedLayout, sharding: Sharding, sizes: Sequence[Int], dims: Sequence[Dimension]
) -> Iterator[Part]:
    mesh = sharding.mesh
    axes = ", ".join(f"{name} of {n}" for name, n in mesh.axes) or "one device"
    which = "in row-major order" if not mesh.ids else "in the order that the text lists"
    yield Part(str(layout.placement), f"{mesh.devices} devices: {axes}, {which}")
    for k, dim in enumerate(dims):
        digits = sharding.digits(k, sizes[k])
        words = [_level(digit) for digit in digits if digit.axes or digit.count != 1]
        local = sharding.local_dims(sizes)[k]
        whole = f"{', then '.join(words)}; a device has room for {local}" if words else "not cut"
        yield Part(f"{dim.name} = {sizes[k]}", whole)
    if same := sharding.replicated_axes:
        yield Part(f"copies along {listed(same)}", f"{sharding.replicas} devices hold the same")
    inner = layout.local or XlaLayout.descending(len(sizes))
    room = ", ".join(map(str, sharding.local_dims(sizes)))
    yield Part(str(inner), f"how [{room}] lies in a device's buffer")


def _level(digit: MeshDigit) -> str:
    blocks = f"{digit.count} blocks of {digit.block}"
    if not digit.axes:
        return f"{blocks}, of which a device has a part each"
    first = f", beginning at device {digit.first}" if digit.first else ""
    return f"{blocks} along {' and '.join(digit.axes)}{first}"


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


def _cut(axes: _Axes, digits: dict[int, MeshDigit], level: int) -> None:
    """Pad and split the rest of each dimension by a digit."""
    places = {dim: axes.labels.index(("rest", dim)) for dim in digits}
    axes.pad({places[dim]: digit.block * digit.count for dim, digit in digits.items()})
    for dim, digit in digits.items():
        if digit.starts:
            axes.steps.append(Renumber(places[dim], _spread(digit)))
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


def _spread(digit: MeshDigit) -> tuple[int, ...]:
    """Return the place of each index among blocks that all have the size of the largest one."""
    (block, room), n = known((digit.block, digit.block * digit.count)), digit.starts[-1]
    if room > DEVICE_IDS:
        raise UnsupportedError(
            f"{digit.count} parts of up to {block} elements, not all of one size",
            f"places of such parts are listed one by one, up to {DEVICE_IDS}",
            "give a size that the devices divide",
        )
    runs = enumerate(pairwise(digit.starts))
    used = [k * block + j for k, (a, b) in runs for j in range(b - a)]
    return (*used, *sorted({*range(room)} - {*used})) if room > n else tuple(used)


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
                inner = MeshDigit(1, 0, digit.axes[1:], 0)
                size = prod(mesh.size(axis) for axis in inner.axes)
                cuts[k] = (("number", MeshDigit(1, 0, digit.axes[:1], 0)), ("number", inner), size)
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
            number, inside, room = rest // digit.block, rest % digit.block, digit.block
            if digit.starts:
                number = zero + digit.number(rest, *known((n,)))
                inside = rest - sum(
                    ((rest + (n - s)) // n * (s - r) for r, s in pairwise(digit.starts) if s < n),
                    zero,
                )
            rest = inside
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
