"""What each device holds: sizes, bytes, imbalance and empty devices, for numbers or all sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, Final, NamedTuple

from morello_layouts.core.checks import as_int, as_tuple
from morello_layouts.core.description import count, times
from morello_layouts.core.expr.conversions import size_to_sympy
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np, regex, sympy
from morello_layouts.core.limits import SHARD_SIZES
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.interfaces.api.layouts import Assuming, LayoutLike, Shape, index_map
from morello_layouts.machines.resharding.combs import Run, part, places_text, shape_of
from morello_layouts.machines.resharding.exchange import exchange
from morello_layouts.notations.sharding.layout import ShardedLayout, headline, numbered
from morello_layouts.notations.sharding.sharding import MeshDigit, Sharding
from morello_layouts.notations.xla import XlaLayout


@frozen(slots=False)
class CutBlock:
    """Whether the border between two parts of a dimension falls inside of a block."""

    dim: int  #: the dimension.
    #: the elements of a block, such as the rows of a tile or the elements of one scale.
    block: int
    is_cut: Any  #: whether one is cut; for symbolic sizes a SymPy condition.
    #: the smallest size of the dimension at which one is cut; None if that is not known, or none of
    #: the first sizes does so.
    first: int | None
    #: whether the block is a tile of the device's own buffer, which pads it.
    is_tile: bool = False

    @property
    def text(self) -> str:
        """The same in words."""
        if self.is_cut == False:  # noqa: E712  SymPy's false
            what = "tiles" if self.is_tile else "blocks"
            return f"{what} of {self.block} along dimension {self.dim} stay whole"
        which = "" if self.is_cut == True else f" if {_words(self.is_cut)}"  # noqa: E712
        first = "" if self.first is None else f"; the smallest size that does so is {self.first}"
        cut = f"a border cuts a block of {self.block} along dimension {self.dim}"
        if self.is_tile:
            cut = f"a part ends inside of a tile of {self.block} along dimension {self.dim}"
            which += ", and each device pads its last tile"
        return f"{cut}{which}{first}"


@frozen(slots=False)
class Shards(Displayed):
    """What devices hold of an array. Numbers are ints, or SymPy expressions of symbolic sizes."""

    text: str  #: the array and its sharding.
    headline: str  #: the sharding in a few words.
    devices: Any  #: the number of devices.
    copies: Any  #: the devices that hold each element.
    #: the sizes of a device's buffer before its layout, those of the largest part; if blocks go
    #: around, whole blocks.
    room: tuple[Any, ...]
    #: for each dimension the number of elements on a device, as a formula of its mesh coordinates,
    #: which are symbols of the axes' names.
    held: tuple[Any, ...]
    largest: Any  #: the elements of the largest part.
    #: bytes of the buffer of each device, padding included; None without a type.
    buffer_bytes: Any
    total_bytes: Any  #: those of all devices.
    imbalance: Any  #: elements of the largest part for each one of the average device: 1 if even.
    empty: Any  #: the number of devices without an element.
    #: whether borders cut the tiles of the local layout, or the blocks that were asked for.
    cuts: tuple[CutBlock, ...] = ()
    notes: tuple[str, ...] = ()  #: how uneven sizes are treated.

    json_keys: ClassVar = (
        *("text", "headline", "devices", "copies", "room", "held", "largest", "buffer_bytes"),
        *("total_bytes", "imbalance", "empty", "cuts", "notes"),
    )

    def __str__(self) -> str:
        rows = [
            ("devices", f"{_words(self.devices)}, each element on {_words(self.copies)}"),
            ("room", f"{times([*map(_words, self.room)])} elements on each device"),
            ("held", " by ".join(map(_words, self.held)) or "1"),
            (
                "largest",
                f"{_words(self.largest)} elements, {_words(self.imbalance)} times the average",
            ),
            ("empty", f"{_devices(self.empty)} without an element"),
        ]
        if self.buffer_bytes is not None:
            one, every = _words(self.buffer_bytes), _words(self.total_bytes)
            rows.insert(2, ("bytes", f"{one} on each device, {every} in all"))
        lines = [self.text, self.headline, *(f"  {name:<9}{words}" for name, words in rows)]
        return "\n".join([*lines, *(f"  {cut.text}" for cut in self.cuts), *self.notes])


@frozen(slots=False)
class DevicePart(Displayed):
    """What one device holds of a sharded array, and how it lies in the device's buffer."""

    json_keys: ClassVar = ("device", "shape", "runs", "buffer=map", "buffer_size=map.size")

    device: int  #: the device.
    #: for each dimension of the array the indices that the device holds, in ascending order.
    runs: tuple[tuple[Run, ...], ...]
    #: the offset in the device's buffer, of coordinates that count what the device holds.
    map: IndexMap
    sizes: tuple[int, ...]  #: the sizes of the whole array.

    @property
    def shape(self) -> tuple[int, ...]:
        """How many indices of each dimension the device holds."""
        return shape_of(self.runs)

    @property
    def index(self) -> tuple[slice, ...]:
        """The part as slices: what ``jax.make_array_from_callback`` gives its callback.

        A dimension that is not cut is ``slice(None)``, as in JAX.

        Raises:
            UnsupportedError: if blocks go around, which one slice cannot say.
        """
        pairs = zip(self.runs, self.sizes, strict=True)
        return tuple(_slice(dim, runs, n) for dim, (runs, n) in enumerate(pairs))

    @property
    def indices(self) -> tuple[Any, ...]:
        """The same as arrays of numbers, also for blocks that go around, for ``np.ix_``."""
        return tuple(np.array([x for run in runs for x in run], np.int64) for runs in self.runs)

    def __str__(self) -> str:
        if 0 in self.shape:
            return f"device {self.device} holds nothing"
        return (
            f"device {self.device} holds {places_text(self.runs)}: {times(self.shape)} elements\n"
            f"  in a buffer of {count(self.map.size, 'slot')}, counted within the part: {self.map}"
        )


def _slice(dim: int, runs: Sequence[Run], extent: int) -> slice:
    if len(runs) > 1 or any(run.count > 1 and run.block > 1 for run in runs):
        raise UnsupportedError(
            f"dimension {dim}: the device holds {' or '.join(map(str, runs))}",
            "a slice has indices at equal distances",
            "take all indices: x[np.ix_(*part.indices)]",
        )
    first = runs[0] if runs else Run(0, 0)
    if first.size == extent:
        return slice(None)
    stop = first.start + first.block + first.period * (first.count - 1)
    return slice(first.start, stop, first.period if first.count > 1 else None)


def local_part(m: IndexMap, device: int) -> DevicePart:
    """Return what a device holds, for ``IndexMap.local``."""
    layout, shape = _sharded(m), known(m.recipe.shape)
    sharding = layout.placement.sharding(len(shape))
    mesh, own = sharding.mesh, exchange(sharding, sharding, shape).source
    as_int(device, "device", 0, known((mesh.devices,))[0] - 1)
    at = own.values(device)
    cuts = zip(own.cuts, shape, strict=True)
    combs = [() if at is None else part(cut, at, n) for cut, n in cuts]
    runs = tuple(tuple(run for comb in each for run in comb.runs()) for each in combs)
    held = shape_of(runs)
    room = held if sharding.local_rule == "own" else sharding.local_dims(shape)
    local = index_map(layout.local or XlaLayout.descending(len(shape)), room)
    if room != held:
        local = local[tuple(slice(n) for n in held)]
    return DevicePart(device, runs, replace(local, element_type=layout.element), shape)


def _devices(number: Any) -> str:
    return count(number, "device") if isinstance(number, int) else f"{_words(number)} devices"


_FUNCTION: Final = regex(r"\b(?:Max|Min|ceiling)(?=\()")


def _words(value: Any) -> str:
    """Return a number, a formula or a condition with max, min, ceil, if, == and !=."""
    if isinstance(value, int | Fraction):
        return str(value)
    if isinstance(value, sympy.Piecewise):
        *some, (last, _) = value.args
        return " else ".join([*(f"{_words(x)} if {_words(c)}" for x, c in some), _words(last)])
    if isinstance(value, sympy.And | sympy.Or):
        joint = " and " if isinstance(value, sympy.And) else " or "
        return joint.join(map(_words, value.args))
    if isinstance(value, sympy.Rel):
        return f"{_words(value.lhs)} {value.rel_op} {_words(value.rhs)}"
    return _FUNCTION.sub(lambda found: found[0].lower().removesuffix("ing"), str(value))


class _SizeArithmetic(NamedTuple):
    """Arithmetic of sizes: of ints, or of SymPy's expressions."""

    of: Callable[[Int], Any]
    least: Callable[[Any, Any], Any]
    most: Callable[[Any, Any], Any]
    ceil: Callable[[Any, Any], Any]
    ratio: Callable[[Any, Any], Any]


def _kind_of(m: IndexMap, *, symbolic: bool) -> _SizeArithmetic:
    if not symbolic:
        return _SizeArithmetic(lambda n: n, min, max, lambda a, b: -(-a // b), Fraction)

    def of(n: Int) -> Any:
        return size_to_sympy(n, m.size_symbols)

    return _SizeArithmetic(
        of, sympy.Min, sympy.Max, lambda a, b: sympy.ceiling(a / b), lambda a, b: a / b
    )


def shards(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    blocks: Sequence[int | None] | None = None,
    assuming: Assuming | None = None,
) -> Shards:
    """Say what each device holds of a sharded array: sizes, bytes, imbalance, copies.

    Args:
        layout: an array on devices: text in any notation of shardings; or a layout or an index map.
        shape: the sizes, if the layout does not carry them; some may be symbolic.
        blocks: elements of a block along each dimension that no border should cut, such as those
            of one scale; by default the tiles of the device's buffer.
        assuming: assumptions about symbolic sizes, as for ``index_map``.

    Raises:
        UnsupportedError: if the layout has no devices.
        ShapeError: if there is not one block for each dimension.

    >>> print(shards("bf16[10,200]{1,0:T(8,128)}, sharding={devices=[4,1]<=[4]}"))
    bf16[10,200]{1,0:T(8,128)}, {devices=[4,1]<=[4]}
    d0 in 4 parts
      devices  4, each element on 1
      room     3 × 200 elements on each device
      bytes    4096 on each device, 16384 in all
      held     max(0, min(3, 10 - 3*m0)) by 200
      largest  600 elements, 6/5 times the average
      empty    0 devices without an element
      a part ends inside of a tile of 8 along dimension 0, and each device pads its last tile; \
the smallest size that does so is 2
    dimension 0 of 10 is uneven: each device has room for ceil = 3, the rest is padding
    >>> shards("f32[K], mesh={'x': 8}, spec=P('x')", blocks=[32]).cuts[0].is_cut
    (K/8 <= K - 1) & Ne(Mod(ceiling(K/8), 32), 0)
    """
    m = index_map(layout, shape, assuming=assuming)
    return _shards(m, _sharded(m), blocks)


def _sharded(m: IndexMap) -> ShardedLayout:
    own = None if m.origin is None else m.origin.layout
    if isinstance(own, ShardedLayout):
        return own
    raise UnsupportedError(
        f"{m.source or m}: expected an array on devices, got one in a single buffer",
        "a sharding says which device holds which part",
        "write one after the array: f32[8,16], sharding={devices=[2,4]<=[8]}",
    )


def _shards(m: IndexMap, layout: ShardedLayout, blocks: Sequence[int | None] | None) -> Shards:
    shape, dims = m.recipe.shape, range(len(m.recipe.shape))
    sharding = layout.placement.sharding(len(shape))
    kind = _kind_of(m, symbolic=bool(m.recipe.names))
    mesh, copies = sharding.mesh, kind.of(sharding.replicas)
    largest = prod(_largest(sharding, k, shape[k], kind) for k in dims)
    full = prod(_coordinates(sharding.digits(k, n), kind.of(n), kind) for k, n in enumerate(shape))
    elements, devices = prod(kind.of(n) for n in shape), kind.of(mesh.devices)
    one, rooms = None, sharding.local_dims(shape)
    if layout.element is not None:
        slots = kind.of(layout.local_recipe(shape).size) if elements != 0 else 0
        one = kind.ceil(slots * layout.element.bits, 8)
    found = layout if layout.shape is not None else f"{layout} of [{','.join(map(str, shape))}]"
    imbalance = kind.ratio(largest * devices, elements * copies) if elements else 1
    return Shards(
        str(found),
        headline(sharding, numbered(shape)),
        devices,
        copies,
        tuple(kind.of(room if n != 0 else 0) for n, room in zip(shape, rooms, strict=True)),
        tuple(_held(sharding, k, n, m) for k, n in enumerate(shape)),
        largest,
        one,
        None if one is None else one * devices,
        imbalance,
        devices - full * copies,
        tuple(_cuts(m, layout, sharding, blocks)),
        layout.notes(shape),
    )


def _held(sharding: Sharding, dim: int, n: Int, m: IndexMap) -> Any:
    """The elements of a dimension on a device, as a formula of its coordinate in the mesh."""
    if isinstance(n, int) and not sharding.is_uneven(dim, n):
        return _largest(sharding, dim, n, _kind_of(m, symbolic=False))
    at = {axis: sympy.Symbol(axis, integer=True, nonnegative=True) for axis in sharding.mesh.names}
    kind = _kind_of(m, symbolic=True)
    digits = sharding.digits(dim, n)
    if digits and digits[0].starts:
        number = sharding.number(digits[0], at)
        sizes = [b - a for a, b in pairwise(digits[0].starts)]
        each = [(size, sympy.Eq(number, k)) for k, size in enumerate(sizes[:-1])]
        return sympy.Piecewise(*each, (sizes[-1], True))

    def least(a: Any, b: Any) -> Any:  # SymPy looks long for which is the smaller one
        return sympy.Min(a, b, evaluate=False)

    def most(a: Any, b: Any) -> Any:
        return sympy.Max(a, b, evaluate=False)

    return sharding.held(dim, n, at, least=least, most=most, convert=kind.of)


def _largest(sharding: Sharding, dim: int, n: Int, kind: _SizeArithmetic) -> Any:
    """The elements on the device that has block 0 at each level, which has the most."""
    at: dict[str, Any] = {}
    for digit in sharding.digits(dim, n):
        if digit.starts:
            return min(known((digit.block, n)))
        left: Any = digit.first
        for axis in reversed(digit.axes):
            size = kind.of(sharding.mesh.size(axis))
            at[axis], left = (left % size, left // size) if left else (0, 0)
    return sharding.held(dim, n, at, least=kind.least, most=kind.most, convert=kind.of)


def _coordinates(digits: Sequence[MeshDigit], n: Any, kind: _SizeArithmetic) -> Any:
    """The number of coordinates along a dimension's mesh axes that hold an element."""
    if not digits:
        return kind.least(n, 1)
    first, *inner = digits
    block = kind.of(first.block)
    if first.starts:
        return sum(a < b for a, b in pairwise(first.starts))
    if not first.axes:
        return _coordinates(inner, kind.least(n, block), kind)
    if not any(digit.axes for digit in inner):
        return kind.ceil(n, block) if block != 0 else 0
    every = _coordinates(inner, block, kind)
    return n // block * every + _coordinates(inner, n % block, kind)


def _cuts(
    m: IndexMap, layout: ShardedLayout, sharding: Sharding, blocks: Sequence[int | None] | None
) -> Iterator[CutBlock]:
    """Yield whether borders cut blocks: those that were asked for, or the tiles of the buffer."""
    shape, local = m.recipe.shape, layout.local
    given: tuple[Any, ...] = (1,) * len(shape)
    if blocks is not None:
        given = as_tuple(blocks, "blocks", "give the elements of a block for each dimension")
    elif isinstance(local, XlaLayout) and local.tiles:
        tile = local.tile_numbers[0][-len(shape) :]
        inner = local.minor_to_major[: len(tile)][::-1]
        given = tuple(tile[inner.index(k)] if k in inner else 1 for k in range(len(shape)))
    if len(given) != len(shape):
        raise ShapeError(
            f"blocks: expected one for each of {len(shape)} dimensions, got {len(given)}",
            "a block has a size along each dimension",
            f"give {len(shape)} sizes, with 1 where blocks have no borders",
        )
    for dim, block in enumerate(given):
        size = as_int(1 if block is None else block, "a block", 1)
        if size > 1 and sharding.cuts[dim]:
            is_cut = _is_cut(sharding, dim, shape[dim], size, m)
            yield CutBlock(dim, size, is_cut, _first_cut(sharding, dim, size), blocks is None)


def _is_cut(sharding: Sharding, dim: int, n: Int, block: int, m: IndexMap | None) -> Any:
    """Whether a border is not at a multiple of a block; borders are multiples of all levels."""
    digits = sharding.digits(dim, n)
    if digits and digits[0].starts:
        return any(0 < s < digits[0].starts[-1] and s % block for s in digits[0].starts)
    sizes = [digit.block for digit in digits]
    spread = [
        d.axes and d.count != 1 and d.block != e for d, e in zip(digits, (n, *sizes), strict=False)
    ]
    while sizes and not spread[len(sizes) - 1]:  # inside, all blocks are on one device
        sizes.pop()
    pairs = list(zip(sizes, [n, *sizes], strict=False))
    if not any(isinstance(x, SizeExpr) for pair in pairs for x in pair):
        return any(b < min(known((e, n))) and b % block != 0 for b, e in pairs)
    assert m is not None
    of = _kind_of(m, symbolic=True).of
    return sympy.Or(
        *(
            sympy.And(of(b) < of(e), of(b) < of(n), sympy.Ne(sympy.Mod(of(b), block), 0))
            for b, e in pairs
            if b % block != 0
        )
    )


def _first_cut(sharding: Sharding, dim: int, block: int) -> int | None:
    """The smallest size at which a border cuts a block, if it is small enough to be found."""
    is_symbolic = any(isinstance(level.block, SizeExpr) for level in sharding.cuts[dim])
    if is_symbolic or isinstance(sharding.parts(dim), SizeExpr):
        return None
    for size in range(1, SHARD_SIZES):
        with suppress(UnsupportedError, ShapeError):  # sizes that the sharding does not take
            if _is_cut(sharding, dim, size, block, None):
                return size
    return None
