"""What each system writes about an array on devices, as values: their text is the system's own.

XLA's is HLO's: tiles, and the devices in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import Final, Literal, NamedTuple, TypeAlias

from morello_layouts.core.checks import as_int, as_permutation, require_rank
from morello_layouts.core.description import listed
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import checked, frozen, number, several
from morello_layouts.core.layout import Layout
from morello_layouts.core.recipe import Pad, Recipe, Transpose, known
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.notations.sharding import document
from morello_layouts.notations.sharding.layout import Placement
from morello_layouts.notations.sharding.sharding import Cut, Level, Mesh, Sharding

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


class SharedDigit(NamedTuple):
    """A digit that tiles and devices share."""

    size: int  #: the number of its values.
    tile: int  #: the dimension of the tiles.
    #: its place in the number of the device: an axis of the box, then from the end.
    within: tuple[int, int]


def common_digits(
    tiles: Sequence[int], digits: Sequence[tuple[int, int]]
) -> tuple[SharedDigit, ...] | None:
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
    found: list[SharedDigit] = []
    while left and others:
        (k, n), (axis, m) = left.pop(), others.pop()
        size = min(n, m)
        if max(n, m) % size:
            return None
        left += [(k, n // size)] if n > size else []
        others += [(axis, m // size)] if m > size else []
        depth = sum(run.within[0] == axis for run in found)
        found.append(SharedDigit(size, k, (axis, -depth)))
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


class Ref(NamedTuple):
    """A mesh axis, or a part of one: Shardy's ``"b":(2)2``."""

    axis: str  #: the name of the axis.
    before: int = 1  #: the product of the sizes of its slower parts.
    size: int = 0  #: the size of the part; 0 for the whole axis.

    def text(self, quote: str) -> str:
        """Return the axis as it is printed."""
        part = f":({self.before}){self.size}" if self.size else ""
        return f"{quote}{self.axis}{quote}{part}"


Style: TypeAlias = Literal["jax", "sdy", "hlo"]
"""Whose text a sharding by mesh axes is: JAX's, Shardy's, or that of HLO's named shardings."""


@frozen(slots=False)
class AxisSharding(Placement):
    """A sharding by the names of mesh axes, as JAX and Shardy have it.

    Raises:
        LayoutError: if an axis is missing, is used twice, or has no such part.

    >>> mesh = Mesh((("x", 2), ("y", 4)))
    >>> print(AxisSharding(mesh, ((Ref("y"), Ref("x")), ())))
    mesh={'x': 2, 'y': 4}, spec=P(('y', 'x'), None)
    >>> AxisSharding(mesh, ((Ref("y", 2, 2),),)).sharding(1).mesh.axes
    (('x', 2), ('y:(1)2', 2), ('y:(2)2', 2))
    """

    mesh: Mesh  #: the devices.
    #: for each dimension its axes, the slowest first; fewer than the array's dimensions if the
    #: others are whole.
    dims: tuple[tuple[Ref, ...], ...]
    style: Style = "jax"  #: whose text it is.
    #: kinds of axes that cut no dimension, with these axes, such as ``unreduced``.
    kept: tuple[tuple[str, tuple[Ref, ...]], ...] = ()

    def __post_init__(self) -> None:
        self.sharding(len(self.dims))

    @property
    def rank(self) -> int | None:
        """The dimensions that the text has axes for; JAX may leave the last ones out."""
        return len(self.dims)

    def _parts(self) -> dict[str, list[tuple[Ref, Int]]]:
        """The parts of each axis, the slowest first, with their sizes."""
        found: dict[str, list[tuple[Ref, Int]]] = {}
        every = [*self.dims, *(refs for _, refs in self.kept)]
        refs = [((k, "refs", j), ref) for k, dim in enumerate(every) for j, ref in enumerate(dim)]
        for at, ref in refs:
            self.mesh.size(ref.axis, ("cuts", *at))  # refuses an axis that the mesh has not
        for name, size in self.mesh.axes:
            own = [(at, ref) for at, ref in refs if ref.axis == name and ref.size]
            ends = sorted({1, *(n for _, r in own for n in (r.before, r.before * r.size))})
            if not own or not isinstance(size, int):
                found[name] = [(Ref(name), size)]
                continue
            ends += [size] if size not in ends else []
            for at, ref in own:
                if any(n % m for m, n in pairwise(ends)) or ends[-1] > size:
                    raise LayoutError(
                        f"part {ref.text('')} of an axis of {size}: expected parts that divide it",
                        "(m)k is the part of k devices after slower parts of m in all",
                        f"write numbers whose product divides {size}",
                        part=("cuts", *at),
                    )
            found[name] = [(Ref(name, m, n // m), n // m) for m, n in pairwise(ends)]
        return found

    def sharding(self, rank: int) -> Sharding:
        """Return the sharding: all axes of a dimension together number its parts."""
        if rank < len(self.dims):
            require_rank((0,) * rank, len(self.dims), str(self))
        parts = self._parts()
        mesh = Mesh(
            tuple((ref.text(""), n) for own in parts.values() for ref, n in own),
            self.mesh.ids,
            self.mesh.devices,
        )
        cuts = list[Cut]()
        for dim in self.dims:
            axes = tuple(part.text("") for ref in dim for part, _ in _within(ref, parts[ref.axis]))
            cuts.append((Level(axes),) if axes else ())
        return Sharding(mesh, (*cuts, *((),) * (rank - len(cuts))))

    def document(self, coordinate: Sequence[int], shape: Sequence[int]) -> document.Place:
        sizes = dict(zip(self.mesh.names, known(self.mesh.sizes), strict=True))
        dims = [[(r.axis, r.before, r.size or sizes[r.axis]) for r in dim] for dim in self.dims]
        dims += [[]] * (len(shape) - len(dims))
        return document.by_mesh_axes(coordinate, shape, [*sizes.items()], self.mesh.ids, dims)

    def notes(self, shape: Sequence[Int]) -> tuple[str, ...]:
        system = "JAX" if self.style == "jax" else "XLA"
        found = padding_notes(self.sharding(len(shape)), shape, system)
        return (*found, *use_notes([kind for kind, _ in self.kept]))

    def __str__(self) -> str:
        if self.style == "jax":
            axes = ", ".join(f"{name!r}: {n}" for name, n in self.mesh.axes)
            return f"mesh={{{axes}}}{_ids(self.mesh)}, spec=P({', '.join(map(_entry, self.dims))})"
        is_hlo = self.style == "hlo"
        quote, comma = ("'", ",") if is_hlo else ('"', ", ")
        axes = comma.join(f"{quote}{name}{quote}={n}" for name, n in self.mesh.axes)
        texts = [", ".join(ref.text(quote) for ref in dim) for dim in self.dims]
        rest = "".join(
            f", {kind}={{{', '.join(ref.text(quote) for ref in refs)}}}" for kind, refs in self.kept
        )
        dims = f"[{', '.join(f'{{{text}}}' for text in texts)}]{rest}"
        if is_hlo:
            ids = f", device_ids=({commas(self.mesh.ids)})" if self.mesh.ids else ""
            return f"{{mesh[{axes}]{ids}, {dims}}}"
        return f"#sdy.sharding<mesh<[{axes}]{_ids(self.mesh, 'device_ids')}>, {dims}>"


def _ids(mesh: Mesh, name: str = "devices") -> str:
    """The devices of a mesh, if the text lists them."""
    return f", {name}={[*mesh.ids]}" if mesh.ids else ""


def _within(ref: Ref, parts: Sequence[tuple[Ref, Int]]) -> Iterator[tuple[Ref, Int]]:
    """Yield the parts that a part of an axis is made of."""
    for part, n in parts:
        end = ref.before * ref.size
        if not ref.size or (ref.before <= part.before and part.before * part.size <= end):
            yield part, n


def _entry(dim: Sequence[Ref]) -> str:
    names = [repr(ref.axis) for ref in dim]
    if len(names) > 1:
        return f"({', '.join(names)})"
    return names[0] if names else "None"


@frozen(slots=False)
class DTensorSharding(Placement):
    """DTensor's placements, one for each axis of the mesh, applied from left to right.

    >>> strided = DTensorSharding(Mesh((("dp", 2),)), ((0, 2),))
    >>> print(strided, [strided.document((x,), (5,))[0] for x in range(5)])
    placements=(_StridedShard(dim=0, sf=2),), mesh=(dp=2) [0, 0, 1, 0, 0]
    """

    mesh: Mesh  #: the devices.
    #: for each axis of the mesh the dimension that it cuts and its split factor, 1 for a plain
    #: ``Shard``; None for ``Replicate``.
    placements: tuple[tuple[int, int] | None, ...]
    partial: tuple[str, ...] = ()  #: the axes along which devices hold parts of a sum.

    def __post_init__(self) -> None:
        if len(self.placements) != len(self.mesh.axes):
            raise LayoutError(
                f"placements: expected {len(self.mesh.axes)}, got {len(self.placements)}",
                "each axis of the mesh has one placement",
                "write one for each axis, Replicate() for copies, or another mesh",
                part=("placements",),
            )
        for k, placement in enumerate(self.placements):
            for name, n, least in zip(("dim", "sf"), placement or (), (0, 1), strict=False):
                as_int(n, name, least, part=("placements", k))
        self.sharding(1 + max((p[0] for p in self.placements if p), default=-1))

    def sharding(self, rank: int) -> Sharding:
        """Return the sharding; a later placement cuts what the earlier ones left on a device.

        Raises:
            ShapeError: if a placement cuts a dimension that the array has not.
            UnsupportedError: if pieces of a strided shard would be cut across.
        """
        cuts: list[list[Level]] = [[] for _ in range(rank)]
        for k, (axis, placement) in enumerate(zip(self.mesh.names, self.placements, strict=True)):
            if placement is None:
                continue
            dim, factor = placement
            if dim >= rank:
                raise ShapeError(
                    f"placement {k}: expected a dimension below {rank}, got {dim}",
                    "a shard cuts a dimension of the array",
                    f"give a dimension from 0 to {rank - 1}",
                    part=("placements", k),
                )
            _add_shard(cuts[dim], axis, self.mesh.size(axis), factor)
        return Sharding(self.mesh, tuple(map(tuple, cuts)), "own")

    def document(self, coordinate: Sequence[int], shape: Sequence[int]) -> document.Place:
        """Return the place by ``torch.chunk``, placement after placement."""
        sizes = known(self.mesh.sizes)
        return document.by_chunks(coordinate, shape, sizes, self.mesh.ids, self.placements)

    def notes(self, shape: Sequence[Int]) -> tuple[str, ...]:
        sharding, found = self.sharding(len(shape)), list[str]()
        for dim, n in enumerate(shape):
            if not isinstance(n, int) or not sharding.is_uneven(dim, n):
                continue
            found.append(
                f"dimension {dim} of {n} is uneven: torch.chunk gives parts of "
                f"{sharding.local_dims(shape)[dim]}, a smaller one, and empty ones at the end"
                + ("" if len(sharding.cuts[dim]) < 2 else ", for each axis of what is there")
            )
            if any(p and p[0] == dim and p[1] > 1 for p in self.placements):
                found.append(
                    "torch up to 2.14 places such a _StridedShard wrongly (pytorch#168134); this "
                    "is what its authors want: unflatten with padding, chunk, flatten"
                )
        if self.partial:
            found.append(f"devices along {listed(self.partial)} hold parts of a sum")
        return tuple(found)

    def __str__(self) -> str:
        words = []
        for axis, placement in zip(self.mesh.names, self.placements, strict=True):
            if placement is None:
                words.append("Partial()" if axis in self.partial else "Replicate()")
            else:
                dim, factor = placement
                strided = f"_StridedShard(dim={dim}, sf={factor})"
                words.append(strided if factor > 1 else f"Shard(dim={dim})")
        placements = f"{', '.join(words)}{',' if len(words) == 1 else ''}"
        axes = ", ".join(f"{name}={n}" for name, n in self.mesh.axes)
        return f"placements=({placements}), mesh=({axes}){_ids(self.mesh)}"


def _add_shard(levels: list[Level], axis: str, size: Int, factor: int) -> None:
    """Cut the part of a device into ``factor`` rows, and each of them along an axis.

    Rows are pieces that earlier strided shards left, so many of them that the axis divides these,
    or one, which is cut inside.
    """
    if size == 1 and factor == 1:
        levels += [] if levels else [Level((axis,))]
        return
    rows, is_first = factor, all(level.axes for level in levels)
    for k, piece in enumerate(levels):
        if piece.axes or not isinstance(piece.parts, int):
            continue
        row, rest = divmod(piece.parts, rows)
        if rows % piece.parts == 0:
            rows //= piece.parts
            continue
        if rest or not isinstance(size, int) or row % size:
            raise UnsupportedError(
                f"{piece.parts} pieces of a _StridedShard are cut again in {size}"
                + (f", strided by {factor}" if factor > 1 else ""),
                "a device's part is then not blocks of one size",
                "give a split factor that the later axes of the dimension divide",
            )
        left = row // size
        levels[k : k + 1] = [
            *([piece._replace(parts=rows, whole=row * piece.whole)] if rows > 1 else []),
            piece._replace(axes=(axis,), parts=None, whole=left * piece.whole),
            *([Level((), None, left, whole=piece.whole)] if left > 1 else []),
        ]
        return
    is_again = is_first and len(levels) > 0
    levels += [Level((), None, rows, own=is_again, exact=not is_first)] if rows > 1 else []
    levels.append(Level((axis,), own=is_again and rows == 1))


class Cyclic(NamedTuple):
    """Blocks of one dimension on a row of processes, one after the other, again and again."""

    #: the elements of a block; None for one block on each process, ``ceil(n / P)``.
    block: Int | None
    first: int  #: the process that has block 0.
    processes: Int | None  #: their number; None if the dimension is whole on each process.
    cycles: bool = True  #: whether blocks go around.
    sizes: tuple[int, ...] = ()  #: the elements of each process, if they are listed.

    def __str__(self) -> str:
        if self.processes is None:
            return "*"
        if self.sizes:
            return f"GEN_BLOCK({', '.join(map(str, self.sizes))})"
        block = [] if self.block is None or (self.cycles and self.block == 1) else [str(self.block)]
        block = ["1"] if self.first and self.cycles and not block else block
        own = ", ".join([*block, *([f"first={self.first}"] if self.first else [])])
        return ("CYCLIC" if self.cycles else "BLOCK") + (f"({own})" if own else "")


@frozen(slots=False)
class BlockCyclic(Placement):
    """Block-cyclic distributions of ScaLAPACK and High Performance Fortran.

    >>> grid = BlockCyclic((Cyclic(64, 0, 2), Cyclic(64, 0, 4)))
    >>> print(grid)
    (CYCLIC(64), CYCLIC(64)) ONTO (2, 4)
    >>> grid.sharding(2).local_shape((1000, 800), 5)
    (488, 192)
    """

    #: each dimension's blocks and processes. Processes are numbered in row-major order.
    dims: tuple[Cyclic, ...]
    descriptor: tuple[int, ...] = ()  #: ScaLAPACK's nine numbers, if the text has them.
    sizes: tuple[Int, ...] = ()  #: the sizes of the array, if the text has them beside ``nb``.

    def __post_init__(self) -> None:
        for k, (block, first, processes, _, sizes) in enumerate(self.dims):
            for size in sizes:
                as_int(size, "the size of a block", 0, part=("dims", k))
            for name, n, least in (("block", block, 1), ("the number of processes", processes, 1)):
                if n is not None and not isinstance(n, SizeExpr):
                    as_int(n, name, least, part=("dims", k, name))
            most = processes - 1 if isinstance(processes, int) else 0
            as_int(first, "the first process", 0, most, part=("dims", k, "first"))

    @property
    def rank(self) -> int | None:
        """The dimensions that have blocks."""
        return len(self.dims)

    def sharding(self, rank: int) -> Sharding:
        """Return the sharding: cycles stay on a process, blocks of a cycle are on all of them."""
        require_rank((0,) * rank, len(self.dims), str(self))
        names = "pqrstuvw" if rank <= 8 else [f"p{k}" for k in range(rank)]
        axes, cuts = list[tuple[str, Int]](), list[Cut]()
        for name, (block, first, processes, cycles, sizes) in zip(names, self.dims, strict=False):
            if processes is None:
                cuts.append(())
                continue
            axes.append((name, processes))
            outer = [Level((), block * processes)] if cycles and block is not None else []
            cuts.append((*outer, Level((name,), block, None, first, sizes=sizes)))
        return Sharding(Mesh(tuple(axes)), tuple(cuts), "own")

    def document(self, coordinate: Sequence[int], shape: Sequence[int]) -> document.Place:
        """Return the place by INDXG2P and INDXG2L."""
        dims = list[tuple[int, int, int] | list[int]]()
        for n, (block, first, processes, _, sizes) in zip(shape, self.dims, strict=True):
            if processes is None or sizes:
                dims.append((n, 0, 1) if processes is None else [*sizes])
                continue
            nb, p = known((-(-n // processes) if block is None else block, processes))
            dims.append((nb or 1, first, p))
        return document.by_block_cyclic(coordinate, shape, dims)

    def notes(self, shape: Sequence[Int]) -> tuple[str, ...]:
        sharding = self.sharding(len(shape))
        uneven = [k for k, n in enumerate(shape) if isinstance(n, int) and sharding.is_uneven(k, n)]
        return tuple(
            f"dimension {k} of {shape[k]} is uneven: processes have the sizes that "
            f"{'are listed' if self.dims[k].sizes else 'NUMROC gives'}, "
            "and local arrays of their own size"
            for k in uneven
        )

    def __str__(self) -> str:
        counts = ", ".join(str(one.processes) for one in self.dims if one.processes is not None)
        if self.descriptor:
            return f"desc={[*self.descriptor]}, grid=({counts})"
        if self.sizes:
            rows = zip(*self.dims, strict=True)
            named = zip(("n", "nb", "src", "P"), (self.sizes, *rows), strict=False)
            return ", ".join(f"{name}=({', '.join(map(str, row))})" for name, row in named)
        return f"({', '.join(map(str, self.dims))}) ONTO ({counts})"


@frozen
class ColumnMajor(Layout):
    """A process's matrix in ScaLAPACK: columns one after the other, with a leading dimension.

    >>> print(ColumnMajor(8).recipe((5, 3)))
    [5,3] → pad [8,3] → transpose [3,8]
    """

    lead: int  #: the elements from one column to the next.

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the steps; room for rows beyond the leading dimension holds none."""
        columns = shape[1]
        return Recipe(tuple(shape), (Pad((self.lead, columns), cut=True), Transpose((1, 0))))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the row plus the column times the leading dimension."""
        row, column = coordinates
        return row + column * self.lead

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        return coordinate[0] + coordinate[1] * self.lead, self.lead * shape[1]

    def __str__(self) -> str:
        return f"column-major with LLD {self.lead}"
