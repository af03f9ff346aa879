"""The buffer of one device: its shape, and where it has each coordinate of the array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from morello_layouts.layout import Layout
from morello_layouts.notations.sharding import Sharding
from morello_layouts.recipe import Recipe, known
from morello_layouts.resharding.moves import LocalBuffer


class _Digit(NamedTuple):
    """A level of a cut on one device.

    Attributes:
        block: the elements of a block.
        blocks: the number of blocks.
        number: the block that the device holds; None if it holds all of them.
    """

    block: int
    blocks: int
    number: int | None


def local_buffer(
    sharding: Sharding, shape: Sequence[int], layout: Layout | None, device: int
) -> LocalBuffer | None:
    """Return the buffer of a device; None if the mesh does not have the device.

    Args:
        sharding: how the array lies on the devices.
        shape: the sizes of the array.
        layout: the local layout; None for row-major order.
        device: the number of the device.

    >>> from morello_layouts.notations.sharding import Level, Mesh
    >>> rows = Sharding(Mesh((("x", 4),)), ((Level(("x",)),), ()))
    >>> found = local_buffer(rows, (10, 16), None, 1)
    >>> found.recipe.shape, found.local[0](5)
    ((3, 16), 2)
    """
    found = sharding.mesh.coordinate(device)
    if found is None:
        return None
    at = dict(zip(sharding.mesh.names, found, strict=True))
    is_own = sharding.local_rule == "own"
    place = _held_before if is_own else _padded
    local = []
    for dim, n in enumerate(shape):
        digits = []
        for each in sharding.digits(dim, n):
            block, blocks = known((each.block, each.count))
            digits.append(_Digit(block, blocks, sharding.number(each, at) if each.axes else None))
        local.append(partial(place, digits))
    sizes = sharding.local_shape(shape, device) if is_own else sharding.local_dims(shape)
    recipe = Recipe(sizes) if layout is None else layout.recipe(sizes)
    return LocalBuffer(recipe, tuple(local))


def _padded(digits: Sequence[_Digit], x: int) -> int:
    """Return the coordinate in a buffer whose blocks are all of full size."""
    found = 0
    for digit in digits:
        number, x = divmod(x, digit.block)
        if digit.number is None:
            found = found * digit.blocks + number
    return found * (digits[-1].block if digits else 1) + x


def _held_before(digits: Sequence[_Digit], end: int) -> int:
    """Return how many coordinates before another one the device holds."""
    if not digits:
        return end
    (block, _, number), *rest = digits
    if number is not None:
        return _held_before(rest, max(min(end - number * block, block), 0))
    full, left = divmod(end, block)
    return full * _held_before(rest, block) + _held_before(rest, left)
