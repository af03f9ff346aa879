"""XLA's sharding as HLO prints it: tiles, and the devices in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Final, NamedTuple

from morello_layouts.core.checks import as_permutation
from morello_layouts.core.description import listed
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import checked, frozen, number, several
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.sharding import document
from morello_layouts.notations.sharding.layout import Placement
from morello_layouts.notations.sharding.sharding import Level, Mesh, Sharding

USES: Final = {
    "replicated": "",
    "manual": "along manual axes each device has an array of its own: the program says which",
    "unreduced": "along unreduced axes devices hold parts of a sum",
}
"""What devices hold along axes that cut no dimension, with a note of what is not copies."""


_SIZES: Final = several(number(1, why="an axis has 1 or more devices"), "give the sizes of a box")


@frozen(slots=False)
class HloSharding(Placement):
    """XLA's sharding as HLO prints it: tiles, and the devices in their order.

    Raises:
        LayoutError: if sizes do not fit, or a device appears twice.

    >>> x = HloSharding((2, 1, 4), (4, 2), (1, 0), uses=("replicated",))
    >>> print(x, x.sharding(2).mesh)
    {devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate} mesh (m0: 4, m1: 2)
    """

    #: the number of tiles along each dimension, then along each of ``uses``; empty for an array
    #: that is whole on each device.
    tiles: tuple[int, ...] = checked(_SIZES, default=())
    #: the box of devices 0, 1, 2, … before it is transposed, as ``<=[4,2]``.
    reshape: tuple[int, ...] = checked(_SIZES, default=())
    transpose: tuple[int, ...] = ()  #: the order of its axes, as ``T(1,0)``.
    #: the devices in the order of the tiles, if they are written out; of a maximal sharding the
    #: only one.
    devices: tuple[int, ...] = ()
    uses: tuple[str, ...] = ()  #: what devices hold along the last axes of ``tiles``.
    count: int = 0  #: the number of all devices if the text says it beside the sharding.

    def __post_init__(self) -> None:
        for k, use in enumerate(self.uses):
            if use not in USES:
                raise LayoutError(
                    f"last_tile_dims: expected {listed([*USES], 'or')}, got {use}",
                    "the last tile dimensions cut no dimension of the array",
                    "write last_tile_dims={replicated}",
                    part=("uses", k),
                )
        if self.transpose:
            fix = "leave T(…) out, or name each axis of the box once"
            rank = len(self.reshape)
            as_permutation(self.transpose, "T", rank, part=("transpose",), fix=fix)
        given = prod(self.reshape) if self.reshape else len(self.devices)
        if self.tiles and given != prod(self.tiles):
            raise LayoutError(
                f"devices of {prod(self.tiles)} tiles: expected {prod(self.tiles)}, got {given}",
                "each tile has one device",
                f"write <=[{prod(self.tiles)}], or as many devices",
                part=("reshape",) if self.reshape else ("devices",),
            )
        self._mesh()  # raises if a device appears twice

    @property
    def rank(self) -> int | None:
        """The dimensions that have tiles."""
        return len(self.tiles) - len(self.uses) if self.tiles else None

    def _mesh(self) -> tuple[Mesh, tuple[tuple[str, ...], ...]]:
        """The mesh, and its axes along each dimension of the tiles."""
        if not self.tiles:
            ids = self.devices
            return Mesh(() if ids else (("all", self.count or 1),), ids, self.count), ()
        order = self.transpose or tuple(range(len(self.reshape)))
        runs = common_digits(self.tiles, [(self.reshape[k], k) for k in order])
        if not self.reshape or runs is None:
            ids = self.devices or tuple(self._listed(order))
            axes = tuple((f"m{k}", n) for k, n in enumerate(self.tiles) if n > 1)
            used = tuple((f"m{k}",) if n > 1 else () for k, n in enumerate(self.tiles))
            return Mesh(axes, ids, self.count), used
        # The digits of a device's number are the axes, the most major first.
        names = {run: f"m{k}" for k, run in enumerate(sorted(runs, key=lambda run: run.within))}
        mesh = Mesh(tuple((name, run.size) for run, name in names.items()), (), self.count)
        dims = range(len(self.tiles))
        return mesh, tuple(tuple(names[run] for run in runs if run.tile == k) for k in dims)

    def _listed(self, order: Sequence[int]) -> Iterator[int]:
        steps = [prod(self.reshape[k + 1 :]) for k in order]
        for at in product(*(range(self.reshape[k]) for k in order)):
            yield sum(x * step for x, step in zip(at, steps, strict=True))

    def sharding(self, rank: int) -> Sharding:
        """Return the sharding: each dimension is cut into as many tiles of one size."""
        mesh, axes = self._mesh()
        if not self.tiles:
            return Sharding(mesh, ((),) * rank)
        if rank != self.rank:
            raise ShapeError(
                f"{self}: expected an array of rank {self.rank}, got rank {rank}",
                "devices=[…] has the number of parts along each dimension, then last_tile_dims",
                "write a number for each dimension of the array, 1 where it is not cut",
            )
        return Sharding(mesh, tuple((Level(names),) if names else () for names in axes[:rank]))

    def document(self, coordinate: Sequence[int], shape: Sequence[int]) -> document.Place:
        """Return the place by XLA's list of tiles."""
        if not self.tiles:
            return self.devices[0] if self.devices else 0, tuple(coordinate), tuple(shape)
        order = self.transpose or tuple(range(len(self.reshape)))
        iota = (self.reshape, order) if self.reshape else None
        return document.by_tile_list(coordinate, shape, self.tiles, iota, self.devices)

    def notes(self, shape: Sequence[Int]) -> tuple[str, ...]:
        found = use_notes(self.uses)
        if not self.tiles and not self.count:
            found = ("the text does not say how many devices there are", *found)
        return (*padding_notes(self.sharding(len(shape)), shape, "XLA"), *found)

    def __str__(self) -> str:
        if not self.tiles:
            return f"{{maximal device={self.devices[0]}}}" if self.devices else "{replicated}"
        devices = ",".join(map(str, self.devices))
        if self.reshape:
            order = f"T({commas(self.transpose)})" if self.transpose else ""
            devices = f"<=[{commas(self.reshape)}]{order}"
        last = f" last_tile_dims={{{', '.join(self.uses)}}}" if self.uses else ""
        last = " last_tile_dim_replicate" if self.uses == ("replicated",) else last
        return f"{{devices=[{commas(self.tiles)}]{devices}{last}}}"


class Run(NamedTuple):
    """A digit that tiles and devices share."""

    size: int  #: the number of its values.
    tile: int  #: the dimension of the tiles.
    #: its place in the number of the device: an axis of the box, then from the end.
    within: tuple[int, int]


def common_digits(
    tiles: Sequence[int], digits: Sequence[tuple[int, int]]
) -> tuple[Run, ...] | None:
    """Cut two ways to write one number, from the fastest digit on, into digits of both.

    Args:
        tiles: radices, the slowest first.
        digits: radices with the axis of each, the slowest first.

    Returns:
        The digits, slowest first; None if some would have to be cut across.

    >>> [run.size for run in common_digits((2, 12), [(4, 1), (6, 0)])], common_digits(
    ...     (6, 4), [(8, 1), (3, 0)])
    ([2, 2, 6], None)
    """
    left = [(k, n) for k, n in enumerate(tiles) if n > 1]
    others = [(axis, n) for n, axis in digits if n > 1]
    found: list[Run] = []
    while left and others:
        (k, n), (axis, m) = left.pop(), others.pop()
        size = min(n, m)
        if max(n, m) % size:
            return None
        left += [(k, n // size)] if n > size else []
        others += [(axis, m // size)] if m > size else []
        depth = sum(run.within[0] == axis for run in found)
        found.append(Run(size, k, (axis, -depth)))
    return tuple(reversed(found))


def padding_notes(sharding: Sharding, shape: Sequence[Int], system: str) -> Iterator[str]:
    """Yield how XLA, or JAX, treats each size that does not divide."""
    for dim, n in enumerate(shape):
        if isinstance(n, int) and sharding.is_uneven(dim, n):
            size = sharding.local_dims(shape)[dim]
            refused = "; JAX refuses to make such an array" if system == "JAX" else ""
            yield (
                f"dimension {dim} of {n} is uneven: each device has room for ceil = {size}, the "
                f"rest is padding{refused}"
            )


def use_notes(uses: Sequence[str]) -> tuple[str, ...]:
    """Return what devices hold along axes that do not hold copies."""
    return tuple(USES[use] for use in dict.fromkeys(uses) if USES.get(use))


def commas(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
