"""Sharded arrays as layouts: the device is the outermost axis, then comes its own buffer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

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
from morello_layouts.core.recipe import Recipe
from morello_layouts.errors import UnsupportedError
from morello_layouts.notations.sharding import lowering
from morello_layouts.notations.sharding.sharding import Digit, Sharding
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
        """Return the sharding of an array of so many dimensions.

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
        return lowering.full_recipe(sharding, shape, self.local_recipe(shape))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the device's number times the size of a buffer, plus the offset in it."""
        sharding, local, dims = self._parts(shape)
        device, at = lowering.local_coordinates(sharding, coordinates, shape)
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
    names = [f"d{k}" for k in range(len(sizes))]
    return dimensions([n if isinstance(n, int) else str(n) for n in sizes], names=names)


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


def _level(digit: Digit) -> str:
    blocks = f"{digit.count} blocks of {digit.block}"
    if not digit.axes:
        return f"{blocks}, of which a device has a part each"
    first = f", beginning at device {digit.first}" if digit.first else ""
    return f"{blocks} along {' and '.join(digit.axes)}{first}"
