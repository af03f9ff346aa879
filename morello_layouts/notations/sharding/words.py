"""Sharded arrays in words: the cuts of each dimension, and what devices hold together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from morello_layouts.core.description import (
    Description,
    Dimension,
    Part,
    dimensions,
    listed,
    memory_axes,
)
from morello_layouts.core.expr.sizes import Int
from morello_layouts.notations.sharding.layout import ShardedLayout
from morello_layouts.notations.sharding.sharding import Digit, Sharding
from morello_layouts.notations.xla import XlaLayout


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
