"""Shardings as values: a mesh of devices, and how each dimension is cut along its axes.

All systems cut a dimension into digits of its coordinate. XLA, JAX and Shardy have one digit for
each dimension, of ``ceil(n / devices)`` elements, and split its number over mesh axes. DTensor's
``Shard`` is the same for one axis, ``_StridedShard`` cuts first into pieces that stay local.
ScaLAPACK's cyclic blocks are pieces of ``nb * P`` elements that stay local, cut into P blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

from morello_layouts.core.checks import Part, as_int, as_tuple, shown
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient
from morello_layouts.core.fields import frozen, settle
from morello_layouts.core.limits import DEVICE_IDS
from morello_layouts.core.recipe import delinearize, known, linear_index
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError

LocalRule: TypeAlias = Literal["padded", "own"]
"""How large a device's buffer is: as the largest part, or as its own part."""


@frozen(slots=False)
class Mesh:
    """Devices in a box of named axes.

    Raises:
        LayoutError: if two axes or two devices are the same, or sizes do not fit.

    >>> mesh = Mesh((("x", 2), ("y", 4)))
    >>> mesh.count, mesh.device((1, 2)), mesh.coordinate(6)
    (8, 6, (1, 2))
    """

    #: pairs (name, size), the most major first: the position of a device is the row-major number
    #: of its coordinate. A size may be symbolic.
    axes: tuple[tuple[str, Int], ...]
    #: the device at each position; empty (so made) if the position is the device.
    ids: tuple[int, ...] = ()
    #: the number of all devices; by default those of the mesh, or up to the last of ``ids``.
    devices: Int = 0

    def __post_init__(self) -> None:
        names = [name for name, _ in self.axes]
        for k, (name, size) in enumerate(self.axes):
            if name in names[:k]:
                raise LayoutError(
                    f"axis {name} of the mesh: expected one, got two",
                    "each axis of a mesh has its own name",
                    "rename one of them",
                    part=("axes", k),
                )
            if not isinstance(size, SizeExpr):
                why = "an axis has a device or more"
                as_int(size, f"the size of axis {name}", 1, part=("axes", k), why=why)
        self._require_ids()
        least = max(self.ids) + 1 if self.ids else self.count
        if not self.devices or isinstance(least, SizeExpr):
            settle(self, devices=self.devices or least)
        elif not isinstance(self.devices, SizeExpr) and self.devices < least:
            raise LayoutError(
                f"the number of devices: expected {least} or more, got {self.devices}",
                "a mesh has no device twice",
                f"give {least} devices",
                part=("devices",),
            )

    def _require_ids(self) -> None:
        if not self.ids:
            return
        if self.ids == tuple(range(len(self.ids))) and len(self.ids) == self.count:
            settle(self, ids=())
            return
        as_int(len(self.ids), "the number of listed devices", 1, DEVICE_IDS, part=("ids",))
        if len(self.ids) != self.count:
            raise LayoutError(
                f"devices: expected {self.count}, got {len(self.ids)}",
                "a mesh has one device at each position",
                "list a device for each position, the last axis fastest",
                part=("ids",),
            )
        seen = set[int]()
        for k, device in enumerate(self.ids):
            as_int(device, "a device", part=("ids", k))
            if device in seen:
                raise LayoutError(
                    f"device {device} stands at two positions",
                    "each device has one position in the mesh",
                    "list each device once",
                    part=("ids", k),
                )
            seen.add(device)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(name for name, _ in self.axes)

    @cached_property
    def sizes(self) -> tuple[Int, ...]:
        """The sizes of the axes."""
        return tuple(size for _, size in self.axes)

    @cached_property
    def count(self) -> Int:
        """The number of positions."""
        return prod(self.sizes)

    @cached_property
    def positions(self) -> Mapping[int, int]:
        """The position of each listed device."""
        return {device: k for k, device in enumerate(self.ids)}

    def size(self, axis: str, part: Part = ()) -> Int:
        """Return the size of an axis; errors name the part that asks.

        Raises:
            LayoutError: if the mesh has no such axis.
        """
        for name, size in self.axes:
            if name == axis:
                return size
        raise LayoutError(
            f"axis: expected one of the mesh ({', '.join(self.names) or 'none'}), got {axis!r}",
            "a dimension is cut along axes of the mesh",
            "give the name of an axis, or add it to the mesh",
            part=part,
        )

    def device(self, coordinate: Sequence[Any]) -> Any:
        """Return the device at a coordinate of ints, arrays or symbols.

        Raises:
            LayoutError: if the devices are listed and the coordinate is not of numbers.
        """
        position = linear_index(tuple(coordinate), self.sizes, 0)
        if not self.ids:
            return position
        if isinstance(position, int):
            return self.ids[position]
        import numpy as np

        return np.asarray(self.ids)[position]

    def coordinate(self, device: Any) -> tuple[Any, ...] | None:
        """Return the coordinate of a device; None if it is not in the mesh."""
        position = self.positions.get(device) if self.ids else device
        is_outside = isinstance(position, int) and isinstance(self.count, int)
        if position is None or (is_outside and not 0 <= position < self.count):
            return None
        return delinearize(position, self.sizes)

    def __str__(self) -> str:
        axes = ", ".join(f"{name}: {size}" for name, size in self.axes)
        listed = f" of devices {shown(list(self.ids))}" if self.ids else ""
        return f"mesh ({axes}){listed}"


class Level(NamedTuple):
    """One cut of an extent into blocks of equal size, of which the last ones may be padding."""

    #: the mesh axes that hold the number of the block, the most major first; empty if all blocks
    #: stay on the device.
    axes: tuple[str, ...] = ()
    #: the elements of a block; None to make ``parts`` of them: ``ceil(extent / parts)``.
    block: Int | None = None
    #: the number of blocks if they stay on the device; by default as many as the extent needs.
    #: Along axes, it is the number of their devices.
    parts: Int | None = None
    #: the coordinate along the axes of the device that has block 0; the next block is on the next
    #: device, and after the last one on device 0.
    first: int = 0
    #: whether a smaller part is cut by its own size, as ``torch.chunk`` of a chunk does.
    own: bool = False
    #: the elements of each block, if they are listed; all of them together are the extent or more.
    sizes: tuple[int, ...] = ()
    whole: Int = 1  #: the pieces of one size that a block is cut into further on.
    exact: bool = False  #: whether blocks have to be of one size, without padding.


Cut: TypeAlias = tuple[Level, ...]
"""How a dimension is cut: its levels, outermost first; none if it is whole on each device."""


@frozen
class MeshDigit:
    """A level at an extent: ``number = rest // block``, and inside of it ``rest % block``."""

    block: Int  #: the elements of a block.
    count: Int  #: the number of blocks.
    axes: tuple[str, ...]  #: the mesh axes that hold the number; empty if it stays on the device.
    first: int  #: as in :class:`Level`.
    #: where each block begins, and the last one ends, if they are not all of one size: no other
    #: digit of the dimension is beside it, and ``block`` is the largest.
    starts: tuple[int, ...] = ()

    def number(self, x: Any, extent: int) -> Any:
        """Return the number of the listed block of an element: how many begin before it."""
        return sum(((x + (extent - s)) // extent for s in self.starts[1:-1] if s < extent), 0 * x)


@frozen(slots=False)
class Sharding:
    """How an array lies on the devices of a mesh.

    Mesh axes that no dimension uses hold copies of the array's parts.

    Raises:
        LayoutError: if a cut uses an axis that the mesh has not, or an axis twice.

    >>> mesh = Mesh((("x", 2), ("y", 4)))
    >>> rows = Sharding(mesh, ((Level(("y",)),), ()))
    >>> rows.local_dims((10, 16)), rows.replicated_axes, rows.local_shape((10, 16), 3)
    ((3, 16), ('x',), (1, 16))
    >>> cyclic = Sharding(Mesh((("p", 2),)), ((Level((), 4), Level(("p",), 2)),), "own")
    >>> cyclic.local_dims((7,)), [cyclic.local_shape((7,), p) for p in range(2)]
    ((4,), [(4,), (3,)])
    """

    mesh: Mesh  #: the devices.
    cuts: tuple[Cut, ...]  #: how each dimension is cut.
    #: what a device's buffer is if parts differ in size: ``"padded"`` has the size of the largest
    #: part on each device (XLA, JAX), ``"own"`` that of the device's part (torch, ScaLAPACK).
    local_rule: LocalRule = "padded"

    def __post_init__(self) -> None:
        cuts = as_tuple(self.cuts, "cuts", "give a tuple of levels for each dimension", ("cuts",))
        settle(self, cuts=tuple(tuple(cut) for cut in cuts))
        used = set[str]()
        for k, level in ((k, level) for k, cut in enumerate(self.cuts) for level in cut):
            for axis in level.axes:
                self.mesh.size(axis, ("cuts", k))
                if axis in used:
                    raise LayoutError(
                        f"axis {axis} of the mesh is used twice",
                        "an axis holds the blocks of one dimension",
                        "use each axis once, or two axes",
                        part=("cuts", k, axis),
                    )
                used.add(axis)
            if level.block is None and level.parts is None and not level.axes:
                raise LayoutError(
                    f"level of dimension {k}: expected axes, a block or parts, got none",
                    "a level says into how many blocks, or into how large ones",
                    "give Level(('x',)) or Level(block=64)",
                    part=("cuts", k),
                )

    @cached_property
    def replicated_axes(self) -> tuple[str, ...]:
        """The mesh axes along which devices hold the same."""
        used = {axis for cut in self.cuts for level in cut for axis in level.axes}
        return tuple(name for name in self.mesh.names if name not in used)

    @property
    def replicas(self) -> Int:
        """The number of devices that hold each element."""
        return prod(self.mesh.size(axis) for axis in self.replicated_axes)

    def digits(self, dim: int, extent: Int) -> tuple[MeshDigit, ...]:
        """Return the levels of a dimension of ``extent`` elements, outermost first.

        Raises:
            ShapeError: if blocks of a given size are too few for the extent.
            UnsupportedError: if parts are cut again by their own sizes, and pieces stay on devices.

        >>> mesh = Mesh((("x", 2), ("y", 4)))
        >>> Sharding(mesh, ((Level(("x", "y")),),)).digits(0, 100)
        (MeshDigit(block=13, count=8, axes=('x', 'y'), first=0, starts=()),)
        """
        found = list[MeshDigit]()
        within = extent
        if (sizes := self._listed_sizes(dim, extent)) is not None:
            axes = tuple(axis for level in self.cuts[dim] for axis in level.axes)
            starts = (0, *accumulate(sizes))
            return (MeshDigit(max(*sizes, 1), len(sizes), axes, 0, starts),)
        for level in self.cuts[dim]:
            count = self._count(level)
            if level.block is not None:
                block = level.block
                needed = ceil_quotient(within, block)
                count = needed if count is None else count
                _require_blocks(dim, within, block, needed, count)
            else:
                assert count is not None
                rows = count * level.whole
                if level.exact:
                    _require_exact(dim, within, rows)
                pieces = ceil_quotient(within, rows)
                block = pieces * level.whole or 1  # of no elements, blocks of one
                if level.own:
                    _require_even(dim, extent, found, count)
            found.append(MeshDigit(block, count, level.axes, level.first))
            within = block
        return tuple(found)

    def _count(self, level: Level) -> Int | None:
        """The number of blocks of a level, unless the extent says it."""
        return prod(map(self.mesh.size, level.axes)) if level.axes else level.parts

    def _listed_sizes(self, dim: int, extent: Int) -> list[int] | None:
        """The sizes of blocks that are listed, or cut by sizes of their own; else None."""
        cut = self.cuts[dim]
        if len(cut) == 1 and cut[0].sizes:
            return _listed(dim, extent, cut[0].sizes, self._count(cut[0]))
        is_nested = len(cut) > 1 and cut[0].axes and all(x.own and x.axes for x in cut[1:])
        counts = [n for n in map(self._count, cut) if isinstance(n, int)]
        is_known = isinstance(extent, int) and len(counts) == len(cut)
        if not is_nested or not is_known or prod(counts) > DEVICE_IDS:
            return None
        (within,), is_even = known((extent,)), True
        sizes = [within]
        for n in counts:
            within = -(-within // n)
            blocks = [-(-size // n) for size in sizes]
            is_even &= all(b == within for b, size in zip(blocks, sizes, strict=True) if size)
            pairs = zip(blocks, sizes, strict=True)
            sizes = [min(max(size - k * b, 0), b) for b, size in pairs for k in range(n)]
        return None if is_even else sizes

    def parts(self, dim: int) -> Int:
        """Return the number of parts of a dimension on different devices.

        >>> Sharding(Mesh((("x", 4),)), ((Level(("x",)),), ())).parts(0)
        4
        """
        return prod(self.mesh.size(axis) for level in self.cuts[dim] for axis in level.axes)

    def is_uneven(self, dim: int, extent: int) -> bool:
        """Return whether some blocks of a dimension are not full.

        >>> rows = Sharding(Mesh((("x", 4),)), ((Level(("x",)),),))
        >>> rows.is_uneven(0, 12), rows.is_uneven(0, 10)
        (False, True)
        """
        for digit in self.digits(dim, extent):
            if digit.block * digit.count != extent:
                return True
            extent = digit.block  # type: ignore[assignment]
        return False

    def local_dims(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the sizes of the largest part, to which a padded buffer is rounded up."""
        return tuple(self._local_dim(dim, n) for dim, n in enumerate(shape))

    def _local_dim(self, dim: int, extent: Int) -> Int:
        size: Int = 1
        for digit in self.digits(dim, extent):
            size = size if digit.axes else size * digit.count
            extent = digit.block
        return size * extent

    def local_shape(self, shape: Sequence[int], device: int) -> tuple[int, ...]:
        """Return how many elements of each dimension a device holds.

        Raises:
            LayoutError: if the mesh does not have the device.
        """
        found = self.mesh.coordinate(device)
        if found is None:
            raise LayoutError(
                f"device: expected one of {self.mesh}, got {shown(device)}",
                "devices outside of the mesh hold nothing",
                "give a device of the mesh",
            )
        at = dict(zip(self.mesh.names, found, strict=True))
        return tuple(self.held(dim, n, at) for dim, n in enumerate(shape))

    def held(
        self,
        dim: int,
        extent: Int,
        at: Mapping[str, Any],
        end: Any = None,
        *,
        least: Callable[[Any, Any], Any] = min,
        most: Callable[[Any, Any], Any] = max,
        convert: Callable[[Int], Any] = lambda n: n,
    ) -> Any:
        """Return how many elements of a dimension are on a device, by its mesh coordinates.

        Args:
            dim: the dimension.
            extent: its size.
            at: the coordinate along each axis of the mesh.
            end: only elements before this one are counted; by default all are.
            least: the minimum of two values of the kind of the coordinates, such as ``sympy.Min``.
            most: the maximum.
            convert: makes a value of this kind from a size.
        """

        def below(digits: Sequence[MeshDigit], end: Any) -> Any:
            if not digits:
                return end
            digit, rest = digits[0], digits[1:]
            if starts := digit.starts:
                number = self.number(digit, at)
                return most(least(end, starts[number + 1]) - starts[number], 0)
            block = convert(digit.block)
            if digit.axes and end == block * convert(digit.count):
                return below(rest, block)  # all blocks are full
            if digit.axes:
                start = self.number(digit, at, convert) * block
                return below(rest, most(least(end - start, block), 0))
            return end // block * below(rest, block) + below(rest, end % block)

        return below(self.digits(dim, extent), convert(extent) if end is None else end)

    def number(
        self, digit: MeshDigit, at: Mapping[str, Any], convert: Callable[[Int], Any] = lambda n: n
    ) -> Any:
        """Return the number of the block that a mesh coordinate holds.

        >>> mesh = Mesh((("p", 3),))
        >>> late = Sharding(mesh, ((Level(("p",), first=1),),))
        >>> [late.number(late.digits(0, 9)[0], {"p": p}) for p in range(3)]
        [2, 0, 1]
        """
        sizes = [convert(self.mesh.size(axis)) for axis in digit.axes]
        number = linear_index([at[axis] for axis in digit.axes], sizes, 0)
        return (number - digit.first) % convert(digit.count) if digit.first else number


def _listed(dim: int, extent: Int, sizes: Sequence[int], count: Int | None) -> list[int]:
    """Return how much of an extent is in each listed block."""
    if len(sizes) != count or not isinstance(extent, int) or sum(sizes) < extent:
        raise ShapeError(
            f"dimension {dim}: expected {count} sizes that add up to {extent} or more, got "
            f"{len(sizes)} of {sum(sizes)}",
            "each device along the dimension has a block of its own size",
            "give a size for each device, and a number for the size of the dimension",
        )
    starts = accumulate(sizes, initial=0)
    return [min(max(extent - at, 0), size) for at, size in zip(starts, sizes, strict=False)]


def _require_even(dim: int, extent: Int, outer: Sequence[MeshDigit], parts: Int) -> None:
    """Refuse blocks of a part that is cut by its own size, where it is another one's."""
    numbers = (extent, parts, *(digit.block for digit in outer))
    if not outer or not all(isinstance(n, int) for n in numbers):
        return
    sizes = {*known((extent,))}
    for (size,) in (known((before.block,)) for before in outer):
        sizes = {part for n in sizes for part in (min(n, size), n % size) if part}
    block = outer[-1].block
    for other in sorted(sizes, reverse=True):
        if ceil_quotient(other, parts) == ceil_quotient(block, parts):
            continue
        raise UnsupportedError(
            f"dimension {dim}: parts of {block} and of {other} elements are cut again in {parts}",
            "the second cut is by the size of each part, so blocks have two sizes",
            "make the dimension a multiple of all devices along it, or shard it once",
        )


def _require_exact(dim: int, extent: Int, parts: Int) -> None:
    if not (isinstance(extent, int) and isinstance(parts, int)) or extent % parts:
        raise UnsupportedError(
            f"dimension {dim}: pieces of {extent} elements are cut again in {parts} rows",
            "a row then crosses pieces that are not beside each other",
            "make the dimension a number, and a multiple of all devices along it",
        )


def _require_blocks(dim: int, extent: Int, block: Int, needed: Int, count: Int) -> None:
    if isinstance(needed, int) and isinstance(count, int) and needed > count:
        raise ShapeError(
            f"dimension {dim}: expected up to {count} blocks of {block} in {extent} elements, "
            f"got {needed}",
            "without a cycle, each device has one block",
            f"give blocks of {ceil_quotient(extent, count)} or more, or make them cyclic",
        )
