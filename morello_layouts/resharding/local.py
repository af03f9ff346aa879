"""The buffer of one device: its shape, and where it has each coordinate of the array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from morello_layouts.layout import Layout
from morello_layouts.notations.sharding import Digit, Sharding
from morello_layouts.recipe import Recipe, known
from morello_layouts.resharding.moves import LocalBuffer


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
    cuts = [sharding.digits(dim, n) for dim, n in enumerate(shape)]
    local = [partial(sharding.held_below, x, at) if is_own else partial(_padded, x) for x in cuts]
    sizes = sharding.local_shape(shape, device) if is_own else sharding.local_dims(shape)
    recipe = Recipe(sizes) if layout is None else layout.recipe(sizes)
    return LocalBuffer(recipe, tuple(local))


def _padded(digits: Sequence[Digit], x: int) -> int:
    """Return the coordinate in a buffer whose blocks are all of full size."""
    found = 0
    for digit in digits:
        block, count = known((digit.block, digit.count))
        number, x = divmod(x, block)
        if not digit.axes:
            found = found * count + number
    return found * (known((digits[-1].block,))[0] if digits else 1) + x
