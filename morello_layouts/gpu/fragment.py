"""An access by a register layout: each lane's registers, vector by vector."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from morello_layouts.description import count
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.gpu.access import LANES, WIDEST, Access, Array, Requests, places
from morello_layouts.layout import Layout
from morello_layouts.lazy import numpy as np
from morello_layouts.limits import ACCESS_INSTRUCTIONS
from morello_layouts.recipe import Recipe, known
from morello_layouts.recipe.readings import logical_coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, repr=False)
class Fragment(Access):
    """The registers of a fragment, loaded from a tile or stored to it.

    Registers whose elements are neighbours along the last dimension come in one vector, whatever
    their numbers: a compiler is free to name registers.

    Attributes:
        layout: the fragment: a layout with an axis ``lane`` and others, such as ``register``.
        is_store: whether it writes.
        widest: elements that a vector has at most; None for as many as fit 128 bits.

    >>> from morello_layouts.notations import parse
    >>> pairs = Fragment(parse("SM80_16x8x16_F32F16F16F32_TN A")).requests((16, 16), 16, None)
    >>> pairs.vector, pairs.coordinates[:, 5].tolist()
    (2, [[1, 2], [1, 10], [9, 2], [9, 10]])
    """

    layout: Layout
    is_store: bool = False
    widest: int | None = None

    @property
    def lanes(self) -> int:  # type: ignore[override]
        """Lanes of an instruction."""
        return LANES

    def requests(self, shape: tuple[int, ...], bits: int, at: tuple[int, ...] | None) -> Requests:
        """Return what each instruction asks for: one vector of registers at one place."""
        recipe = self.recipe(shape)
        block = known(recipe.shape)
        if len(block) != len(shape):
            raise ShapeError(
                f"{self}: expected a tile of {len(block)} dimensions, got {len(shape)}",
                "a fragment is a part of a tile",
                "give a layout with as many dimensions",
            )
        elements, held = _in_order(*_elements(recipe))
        vector = self._vector(elements, bits)
        first = elements[:, :, ::vector].transpose(0, 2, 1, 3).reshape(-1, LANES, len(block))
        inside = held[:, :, ::vector].transpose(0, 2, 1).reshape(-1, LANES)
        most = max(1, ACCESS_INSTRUCTIONS // len(first))
        origins, count = places(shape, block, at, most)
        coordinates = (origins[:, None, None] + first).reshape(-1, LANES, len(block))
        active = np.less(coordinates, shape).all(axis=-1) & np.tile(inside, (len(origins), 1))
        kept = np.where(active[..., None], coordinates, 0)
        return Requests(kept, active, vector, count * len(first))

    def recipe(self, shape: tuple[int, ...]) -> Recipe:
        """Return the fragment's recipe: at its own shape, or at that of the tile.

        Raises:
            UnsupportedError: if it has no 32 lanes.
        """
        own = self.layout.sizes
        recipe = self.layout.recipe(shape if own is None else known(tuple(n or 0 for n in own)))
        sizes = dict(zip(recipe.axis_names, recipe.physical_shape, strict=False))
        if sizes.get("lane") != LANES:
            raise UnsupportedError(
                f"{self.layout}: expected an axis lane of 32, got {sizes or 'plain memory'}",
                "an access by a fragment says which lane of a warp has which element",
                "give a fragment, such as SM80_16x8x16_F32F16F16F32_TN A",
            )
        return recipe

    def _vector(self, elements: Array, bits: int) -> int:
        """Return how many registers after each other hold neighbours along the last dimension."""
        count, most = elements.shape[2], max(1, WIDEST // bits)
        width = 1
        while 2 * width <= min(most, self.widest or most) and count % (2 * width) == 0:
            groups = elements.reshape(*elements.shape[:2], -1, 2 * width, elements.shape[3])
            first = groups[..., :1, :]
            steps = np.zeros((2 * width, elements.shape[3]), np.int64)
            steps[:, -1] = np.arange(2 * width)
            if (groups != first + steps).any() or (first[..., -1] % (2 * width)).any():
                break
            width *= 2
        return width

    def __str__(self) -> str:
        width = "" if self.widest is None else f", up to {count(self.widest, 'element')} at once"
        return f"{'store' if self.is_store else 'load'} {self.layout}{width}"


def _in_order(elements: Array, held: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Return places with the registers in the order of the first lane's elements."""
    first = elements[0, 0]
    order = np.lexsort(first.T[::-1])
    return elements[:, :, order], held[:, :, order]


def _elements(recipe: Recipe) -> tuple[Array, NDArray[np.bool_]]:
    """Return the element at each place and whether there is one: warps by lanes by registers."""
    names, sizes = recipe.axis_names, known(recipe.physical_shape)
    lane = names.index("lane")
    inner = [k for k, name in enumerate(names) if name == "register"]
    order = [*(k for k in range(len(names)) if k not in (lane, *inner)), lane, *inner]
    grid = np.indices(sizes).transpose(0, *(k + 1 for k in order))
    shape = (-1, LANES, prod(sizes[k] for k in inner))
    found, limits = logical_coordinates(recipe, [axis.reshape(shape) for axis in grid])
    held = np.ones(grid[0].reshape(shape).shape, bool)
    for x, n in limits:
        held &= np.asarray(x < n, bool)
    spread = [np.broadcast_to(np.asarray(x, np.int64), held.shape) for x in found]
    return np.stack(spread, axis=-1), held
