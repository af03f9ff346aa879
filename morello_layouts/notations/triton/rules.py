"""Triton's rules from an encoding to the bases of its places, one for each kind of encoding.

Source: ``lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp`` of triton 3.9, and of Intel's
backend its namesake and ``TritonIntelGPUAttrDefs.td``. An *operand* of a
dot is A (0), of rows and k, or B (1), of k and columns; dimensions before these two are batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.notations.triton.encoding import ORDERS, Encoding

Vector: TypeAlias = tuple[int, ...]
"""A coordinate in an array."""

Vectors: TypeAlias = Sequence[Vector]


class Tile:
    """Bases of registers, lanes, warps and blocks, or of offsets, and the tile that they cover.

    >>> tile = Tile(2).spread("register", 2, dim=1)
    >>> tile = tile.spread("lane", 4, dim=1).spread("lane", 2, dim=0)
    >>> tile.bases["lane"], tile.sizes
    ([(0, 2), (0, 4), (1, 0)], [2, 8])
    """

    def __init__(self, rank: int, order: Sequence[int] = (), inner: str = "register") -> None:
        self.sizes = [1] * rank
        self.order = list(order) or list(range(rank))[::-1]
        """The dimensions in the order in which a small tile is repeated, the first one first."""
        self.inner = inner
        self.bases: dict[str, list[Vector]] = {inner: []}

    def spread(self, name: str, count: int, dim: int) -> Tile:
        """Put ``count`` tiles side by side along a dimension: one each for another ``name``."""
        for _ in range(count.bit_length() - 1):
            self._add(name, _unit(len(self.sizes), dim, self.sizes[dim]))
            self.sizes[dim] *= 2
        return self

    def spread_all(self, name: str, counts: Sequence[int], order: Iterable[int]) -> Tile:
        """Spread along each dimension, in an order of them."""
        for dim in order:
            self.spread(name, counts[dim], dim)
        return self

    def repeat(self, name: str, count: int) -> Tile:
        """Replicate the tile over ``count`` lanes, warps or registers."""
        for _ in range(count.bit_length() - 1):
            self._add(name, (0,) * len(self.sizes))
        return self

    def times(self, bases: Mapping[str, Vectors]) -> Tile:
        """Arrange copies of the tile: bases count them along each dimension."""
        for name, vectors in bases.items():
            self.bases.setdefault(name, [])
            for vector in vectors:
                self._add(name, tuple(x * n for x, n in zip(vector, self.sizes, strict=True)))
        every = [vector for vectors in bases.values() for vector in vectors]
        counts = extents(every, len(self.sizes))
        self.sizes = [n * count for n, count in zip(self.sizes, counts, strict=True)]
        return self

    def fit(self, shape: Sequence[int]) -> Tile:
        """Repeat the tile up to a shape; where it is larger, several places hold one element."""
        for dim in self.order:
            self.spread(self.inner, max(shape[dim] // self.sizes[dim], 1), dim)
        for dim, n in enumerate(shape):
            while self.sizes[dim] > n:
                self.sizes[dim] //= 2
                for vectors in self.bases.values():
                    vectors[:] = [_without(v, dim, self.sizes[dim]) for v in vectors]
        return self

    def _add(self, name: str, vector: Vector) -> None:
        self.bases.setdefault(name, []).append(vector)


def extents(vectors: Iterable[Vector], rank: int) -> list[int]:
    """The sizes of the least box of powers of two that has the sums of all vectors.

    >>> extents([(1, 0), (4, 0)], 2)
    [8, 1]
    """
    return [1 << max((v[dim].bit_length() for v in vectors), default=0) for dim in range(rank)]


def reshaped(vector: Vector, shape: Sequence[int]) -> Vector:
    """The coordinate in a shape of a number counted in row-major order, then a last coordinate."""
    number, last = vector
    found = [last]
    for n in reversed(shape[:-1]):
        found.append(number % n)
        number //= n
    return tuple(reversed(found))


def _unit(rank: int, dim: int, value: int) -> Vector:
    return tuple(value if k == dim else 0 for k in range(rank))


def _without(vector: Vector, dim: int, value: int) -> Vector:
    return tuple(0 if k == dim and x == value else x for k, x in enumerate(vector))


Bases: TypeAlias = Mapping[str, Vectors]
"""For each axis the coordinates at its bits, the lowest bit first."""


def bases_of(e: Encoding, shape: Sequence[int]) -> Bases:
    """Return the bases of an encoding at a shape: the coordinate of each place's bit."""
    return _RULES[e.kind](e, list(shape))


def _with_blocks(tile: Tile, blocks: Vectors, shape: list[int]) -> Bases:
    """Fit a block's tile to its part of the array, and give each block its part."""
    rank = len(shape)
    every = Tile(rank, inner="block").times({"block": blocks}) if blocks else Tile(rank)
    parts = every.fit([min(n, m) for n, m in zip(every.sizes, shape, strict=True)])
    tile.fit([max(1, n // count) for n, count in zip(shape, parts.sizes, strict=True)])
    return dict(tile.times({"block": parts.bases.get("block", [])}).bases)


def _blocks(e: Encoding, rank: int) -> Vectors:
    """Return the bases of the blocks of a cluster, counted in parts of the array."""
    if e.kind == "slice":
        at = e.number("dim")
        return [(*v[:at], *v[at + 1 :]) for v in _blocks(e.encoding(), rank + 1)]
    if e.kind == "dot_op":
        k = rank - 1 - e.number("opIdx")
        return [(*v[:k], 0, *v[k + 1 :]) for v in _blocks(e.encoding(), rank)]
    if "CTAsPerCGA" not in e:
        return e.numbers("CGALayout")
    counts, parts = e.numbers("CTAsPerCGA"), e.numbers("CTASplitNum")
    tile = Tile(rank, inner="block")
    for dim in e.numbers("CTAOrder"):
        tile.spread("block", parts[dim], dim).repeat("block", counts[dim] // parts[dim])
    return tile.bases["block"]


def _row_major(rank: int) -> list[int]:
    return list(range(rank))[::-1]


def _k_first(rank: int, operand: int) -> list[int]:
    """The order of an operand's dimensions: k, then rows or columns, then batches."""
    order = _row_major(rank)
    return order if operand == 0 else [order[1], order[0], *order[2:]]


def _without_k(tile: Tile, name: str, counts: Sequence[int], order: Sequence[int], k: int) -> Tile:
    """Spread along each dimension but k, along which all hold the same."""
    for dim in order:
        if dim == k:
            tile.repeat(name, counts[dim])
        else:
            tile.spread(name, counts[dim], dim)
    return tile


def _blocked(e: Encoding, shape: list[int]) -> Bases:
    order = e.numbers("order")
    tile = Tile(len(shape), order)
    for name, field in (("register", "sizePerThread"), ("lane", "threadsPerWarp"), _WARPS):
        tile.spread_all(name, e.numbers(field), order)
    return _own_registers(_with_blocks(tile, _blocks(e, len(shape)), shape))


def _own_registers(bases: Bases) -> Bases:
    """Leave out registers that hold what others hold."""
    return {**bases, "register": [v for v in bases["register"] if any(v)]}


_WARPS = ("warp", "warpsPerCTA")


def _slice(e: Encoding, shape: list[int]) -> Bases:
    at = e.number("dim")
    found = bases_of(e.encoding(), [*shape[:at], 1, *shape[at:]])
    return _own_registers(
        {name: [(*v[:at], *v[at + 1 :]) for v in vectors] for name, vectors in found.items()}
    )


def _dot(e: Encoding, shape: list[int]) -> Bases:
    return _DOTS[e.encoding().kind](e, e.encoding(), shape)


def _nvidia_tile(shape: Sequence[int], width: int, order: list[int], grows: list[int]) -> Tile:
    """An NVIDIA tensor core's matrix: 4 lanes along its inner dimension, 8 along the other one."""
    inner, outer = order[:2]
    tile = Tile(len(order), grows).spread("register", width, inner)
    tile.spread("lane", 4, inner).spread("lane", 8, outer)
    tile.spread("register", shape[outer] // 8, outer)
    return tile.spread("register", shape[inner] // (4 * width), inner)


def _nvidia_mma(e: Encoding, shape: list[int]) -> Bases:
    order = _row_major(len(shape))
    is_hopper = e.number("versionMajor") == 3
    sizes = e.numbers("instrShape")[: 2 if is_hopper else None]
    if sizes[-1].bit_count() != 1:
        raise UnsupportedError(
            f"nvidia_mma: {sizes[-1]} columns have no layout of bits",
            "Triton gives places to results of a power of two of columns alone",
            "give an operand of the instruction, or instrShape with a power of two",
        )
    tile = _nvidia_tile(sizes, 2, order, order)
    tile.spread_all("warp", e.numbers("warpsPerCTA"), _k_first(len(shape), int(is_hopper)))
    return _with_blocks(tile, _blocks(e, len(shape)), shape)


def _nvidia_dot(e: Encoding, parent: Encoding, shape: list[int]) -> Bases:
    rank, operand, width = len(shape), e.number("opIdx"), e.number("kWidth")
    matrix = (16, 8 * width) if operand == 0 else (8 * width, 8)
    order, k = _k_first(rank, operand), rank - 1 - operand
    tile = _nvidia_tile((1,) * (rank - 2) + matrix, width, order, order)
    warps = _k_first(rank, int(parent.number("versionMajor") == 3))
    _without_k(tile, "warp", parent.numbers("warpsPerCTA"), warps, k)
    return _with_blocks(tile, _blocks(e, rank), shape)


def _fma_dot(e: Encoding, parent: Encoding, shape: list[int]) -> Bases:
    """An operand of a dot without tensor cores: each thread holds all of k."""
    k, order = len(shape) - 1 - e.number("opIdx"), parent.numbers("order")
    sizes = [*parent.numbers("sizePerThread")]
    sizes[k] = shape[k]
    tile = Tile(len(shape), order).spread_all("register", sizes, order)
    for name, field in (("lane", "threadsPerWarp"), _WARPS):
        _without_k(tile, name, parent.numbers(field), order, k)
    return _with_blocks(tile, _blocks(e, len(shape)), shape)


def _mfma(e: Encoding, shape: list[int]) -> Bases:
    rank = len(shape)
    order = _row_major(rank)
    n, m = order[:2]
    rows, columns = e.numbers("instrShape")[:2]
    if (rows, columns) == (64, 4) and not e.number("isTransposed"):
        raise UnsupportedError(
            "amd_mfma: instrShape [64, 4] is not transposed",
            "Triton computes 64x4 as a transposed 4x64",
            "write isTransposed = true",
        )
    height = 1 if e.get("elementBitWidth", 32) == 64 else 4
    lanes, dims = (rows, (n, m)) if e.number("isTransposed") else (columns, (m, n))
    tile = Tile(rank, order).spread("register", height, dims[0])
    tile.spread("lane", lanes, dims[1]).spread("lane", 64 // lanes, dims[0])
    tile.spread("register", rows * columns // (64 * height), dims[0])
    tiles, warps = e.numbers("tilesPerWarp") or (1,) * rank, e.numbers("warpsPerCTA")
    tile.spread("register", tiles[n], n).spread("warp", warps[n], n)
    tile.spread("register", shape[n] // (columns * warps[n] * tiles[n]), n)
    tile.spread("register", tiles[m], m).spread("warp", warps[m], m)
    tile.spread_all("warp", warps, order[2:])
    return _with_blocks(tile, _blocks(e, rank), shape)


def _mfma_dot(e: Encoding, parent: Encoding, shape: list[int]) -> Bases:
    rank, operand, width = len(shape), e.number("opIdx"), e.number("kWidth")
    order = _k_first(rank, operand)
    k, other = order[:2]
    size = parent.numbers("instrShape")[operand]
    tile = Tile(rank, order).spread("register", width, k)
    tile.spread("lane", size, other).spread("lane", 64 // size, k)
    if size == 64:  # 64x4 and 4x64: the operand of 64x64
        tile.spread("register", 16, k)
    tile.spread("register", shape[k] // tile.sizes[k], k)
    tile.spread("register", (parent.numbers("tilesPerWarp") or (1,) * rank)[other], other)
    tile.spread_all("warp", parent.numbers("warpsPerCTA"), _row_major(rank))
    return _with_blocks(tile, _blocks(parent, rank), shape)


def _wmma_warps(e: Encoding, rank: int) -> Bases:
    """How the tiles of a block's registers and warps are arranged."""
    if "ctaLayout" in e:
        return dict(e.numbers("ctaLayout"))
    tile = Tile(rank)
    tiles = e.numbers("tilesPerWarp") or (1,) * rank
    for dim in _row_major(rank):
        tile.spread("register", tiles[dim], dim)
        tile.spread("warp", e.numbers("warpsPerCTA")[dim], dim)
    return dict(tile.bases)


def _wmma(e: Encoding, shape: list[int]) -> Bases:
    rank = len(shape)
    order = _row_major(rank)
    inner, outer = order[1::-1] if e.number("isTranspose") else order[:2]
    tile = Tile(rank, order)
    if e.number("version") == 1:  # even rows, then odd ones
        unit = [0] * rank
        rows = [tuple(n if d == outer else 0 for d, _ in enumerate(unit)) for n in (1, 2, 4, 8)]
        columns = [tuple(n if d == inner else 0 for d, _ in enumerate(unit)) for n in (1, 2, 4, 8)]
        tile.times({"register": rows[1:], "lane": [*columns, rows[0]]})
    else:
        tile.spread("register", 8, outer).spread("lane", 16, inner).spread("lane", 2, outer)
        if tuple(e.numbers("instrShape")[:2]) == (32, 16):
            tile.spread("register", 2, outer)
    tile.times(_wmma_warps(e, rank))
    return _with_blocks(tile, _blocks(e, rank), shape)


def _wmma_dot(e: Encoding, parent: Encoding, shape: list[int]) -> Bases:
    rank, operand, width = len(shape), e.number("opIdx"), e.number("kWidth")
    order = _k_first(rank, operand)
    k, other = order[:2]
    instruction = parent.numbers("instrShape") or (16, 16, 16)
    tile = Tile(rank, order).spread("register", width, k).spread("lane", 16, other)
    if parent.number("version") == 1:
        tile.repeat("lane", 2)
    else:
        tile.spread("lane", 2, k)
    tile.spread("register", instruction[2] // (2 * width), k)
    tile.spread("register", instruction[operand ^ parent.number("isTranspose")] // 16, other)
    warps = _wmma_warps(parent, rank)
    cut = {name: [(*v[:k], 0, *v[k + 1 :]) for v in part] for name, part in warps.items()}
    tile.times(_own_registers({"register": [], **cut}))
    return _with_blocks(tile, _blocks(e, rank), shape)


def _linear(e: Encoding, shape: list[int]) -> Bases:
    given = {name: e.numbers(name) for name in ("register", "lane", "warp", "block")}
    first = [dim for v in given["register"] for dim, x in enumerate(v) if x]
    tile = Tile(len(shape), list(dict.fromkeys((*first, *_row_major(len(shape))))))
    found = tile.times(given).fit(shape).bases
    kept = [
        v
        for v, old in zip(found["register"], given["register"], strict=False)
        if any(v) or not any(old)
    ]
    return {**found, "register": [*kept, *found["register"][len(given["register"]) :]]}


def _part(e: Encoding, shape: list[int]) -> list[int]:
    counts = extents(_blocks(e, len(shape)), len(shape))
    return [max(1, n // count) for n, count in zip(shape, counts, strict=True)]


def _swizzled(e: Encoding, shape: list[int]) -> Bases:
    """Rows of vectors, whose place in the row is xored with the row's phase."""
    rank, order, part = len(shape), list(e.numbers("order")), _part(e, shape)
    tile = Tile(rank, order, "offset")
    if rank == 1:
        return _with_blocks(tile.spread("offset", part[0], 0), _blocks(e, 1), shape)
    vec, per_phase, most = (e.number(name) for name in ("vec", "perPhase", "maxPhase"))
    columns, rows = order[:2]
    tile.spread("offset", part[columns], columns)
    for k in range(part[rows].bit_length() - 1):
        phase = (1 << k) // per_phase % most
        if e.kind == "amd_rotating_shared":
            phase ^= (1 << k) // most // per_phase % most
        at = {rows: 1 << k, columns: vec * phase % part[columns]}
        tile.bases["offset"].append(tuple(at.get(dim, 0) for dim in range(rank)))
    tile.sizes[rows] = part[rows]  # the other dimensions follow in order
    return _with_blocks(tile, _blocks(e, rank), shape)


def _tma_box(e: Encoding, part: list[int]) -> list[int]:
    """The box that one TMA instruction moves: up to 256 along each dimension, a swizzle's width."""
    box = [min(n, 256) for n in part]
    inner = 0 if e.number("transposed") else len(part) - 1
    pairs = 2 if e.number("fp4Padded") else 1
    if width := e.number("swizzlingByteWidth"):
        box[inner] = 8 * width // e.number("elementBitWidth") // pairs
    else:
        box[inner] = min(part[inner] * pairs, 256) // pairs
    return box


def _nvmma(e: Encoding, shape: list[int]) -> Bases:
    """Matrices of 8 rows, whose chunks of 16 bytes are xored with the row, in boxes of TMA."""
    rank, part = len(shape), _part(e, shape)
    box, width = _tma_box(e, part), e.number("swizzlingByteWidth")
    turned = [*box[1:], box[0]] if e.number("transposed") else box
    if not width:  # with three dimensions or more, a transposed box is not turned back
        tile = Tile(rank, inner="offset")
        for dim in _row_major(rank):
            tile.spread("offset", turned[dim], (dim - e.number("transposed")) % rank)
        return _with_blocks(tile.fit(part), _blocks(e, rank), shape)
    rows = prod(turned[:-1])
    if rows < 8 or turned[-1] > max(part[0 if e.number("transposed") else -1], 1):
        raise ShapeError(
            f"nvmma_shared: expected 8 rows of {width} bytes, got a part of {part}",
            "a swizzle acts on matrices of 8 rows",
            "give a larger shape, or a narrower swizzlingByteWidth",
        )
    bits, pairs = e.number("elementBitWidth"), bool(e.number("fp4Padded"))
    matrix = Tile(2, (0, 1), "offset")
    for k in range((8 * width // bits).bit_length() - 1):
        matrix.bases["offset"].append((0, _packed(1 << k, pairs)))
    for row in (1, 2, 4):
        chunk = 128 // bits * (row * width // 128)
        matrix.bases["offset"].append((row, _packed(chunk, pairs)))
    matrix.sizes = [8, turned[-1]]
    matrix.fit([rows, turned[-1]])
    vectors = matrix.bases["offset"]
    if e.number("transposed"):  # the last dimension of the rows becomes their first one
        last = turned[-2]
        vectors = [(row % last * (rows // last) + row // last, x) for row, x in vectors]
    vectors = [reshaped(v, turned) for v in vectors]
    if e.number("transposed"):
        vectors = [(v[-1], *v[:-1]) for v in vectors]
    tile = Tile(rank, range(rank), "offset").times({"offset": vectors})
    tile.sizes = [*box]
    return _with_blocks(tile.fit(part), _blocks(e, rank), shape)


def _dpas(e: Encoding, shape: list[int]) -> Bases:
    rank, threads, size = len(shape), e.number("threadsPerWarp"), e.number("executionSize")
    order = _row_major(rank)
    tile = Tile(rank).spread("lane", size, order[0]).spread("lane", threads // size, order[1])
    tile.spread("register", e.number("repeatCount") * size // threads, order[1])
    tile.spread_all("register", e.numbers("repCluster") or (1,) * rank, order[:2])
    tile.spread_all("warp", e.numbers("warpsPerCTA"), order)
    return _with_blocks(tile, (), shape)


def _dpas_dot(e: Encoding, parent: Encoding, shape: list[int]) -> Bases:
    """A: a row of 16 or 32 bits to a lane; B: the operands of a channel, then the next rows."""
    rank, operand, number = len(shape), e.number("opIdx"), parent.number
    order = _k_first(rank, operand)
    k, other = order[:2]
    threads, depth, operands = (
        number(x) for x in ("threadsPerWarp", "systolicDepth", "opsPerChan")
    )
    if operand == 0:
        packed = 2 if operands == 4 else 1
        size, lines, along, across = depth * operands // packed, number("repeatCount"), k, other
    else:
        packed, size, lines, along, across = operands, number("executionSize"), depth, other, k
    tile = Tile(rank, order).spread("register", packed, k).spread("lane", size, along)
    tile.spread("lane", threads // size, across)
    tile.spread("register", lines * size // threads, across)
    tile.spread("register", (parent.numbers("repCluster") or (1,) * rank)[other], other)
    _without_k(tile, "warp", parent.numbers("warpsPerCTA"), _row_major(rank), k)
    return _with_blocks(tile, (), shape)


def _packed(column: int, in_pairs: bool) -> int:
    """The column of a slot; of 16 slots for pairs of 4-bit floats, 8 hold what the others do."""
    return column // 16 * 8 + column % 8 if in_pairs else column


def _tensor_memory(e: Encoding, shape: list[int]) -> Bases:
    """Columns of 32 bits in 128 rows; of 64 rows in one block, each 16 take turns with others."""
    part, rows, stride = _part(e, shape), e.number("blockM"), e.number("colStride")
    columns = min(e.number("blockN"), part[1])
    if part[0] < rows:
        raise ShapeError(
            f"tensor_memory_encoding: expected {rows} rows or more of a block, got {part[0]}",
            "an instruction has blockM rows",
            "give more rows, or a smaller blockM",
        )
    tile = Tile(2, (0, 1), "col").repeat("col", stride << e.number("fp4Padded"))
    if rows == 128 or e.number("twoCTAs"):
        tile.spread("row", rows, 0).spread("col", columns, 1)
        if rows == 64:
            tile.bases["row"].append(tile.bases["col"].pop())
    else:
        tile.spread("row", 16, 0).spread("col", columns, 1)
        other = (64, 0) if part[0] > 64 else (0, columns) if part[1] > columns else (0, 0)
        tile.bases["row"] += [other, (16, 0), (32, 0)]
        tile.sizes = extents([v for own in tile.bases.values() for v in own], 2)
    return dict(tile.fit(part).times({"block": _blocks(e, 2)}).bases)


def _scales(e: Encoding, shape: list[int]) -> Bases:
    """Blocks of 128 by 4 scale factors in 32 rows; each quarter of the rows has them all."""
    part, k_first = _part(e, shape), e.get("blockRepOrder", "") == ORDERS[1]
    tile = Tile(2, (1, 0) if k_first else (0, 1), "col").spread("row", 32, 0).repeat("row", 4)
    tile.spread("col", 4, 1).spread("col", 4 if part[0] > 64 else 2, 0)
    return dict(tile.fit(part).times({"block": _blocks(e, 2)}).bases)


def _shared_linear(e: Encoding, _: list[int]) -> Bases:
    return {"offset": e.numbers("offset"), "block": e.numbers("block")}


def _padded(e: Encoding, shape: list[int]) -> Bases:
    if "offset" in e:
        return _shared_linear(e, shape)
    order, part = list(e.numbers("order")), _part(e, shape)
    tile = Tile(len(shape), order, "offset").spread_all("offset", part, order)
    return _with_blocks(tile, _blocks(e, len(shape)), shape)


_RULES = {
    "blocked": _blocked,
    "slice": _slice,
    "dot_op": _dot,
    "nvidia_mma": _nvidia_mma,
    "amd_mfma": _mfma,
    "amd_wmma": _wmma,
    "dpas": _dpas,
    "linear": _linear,
    "generic_linear": _linear,
    "swizzled_shared": _swizzled,
    "amd_rotating_shared": _swizzled,
    "nvmma_shared": _nvmma,
    "shared_linear": _shared_linear,
    "padded_shared": _padded,
    "tensor_memory_encoding": _tensor_memory,
    "tensor_memory_scales_encoding": _scales,
}
_DOTS = {
    "blocked": _fma_dot,
    "nvidia_mma": _nvidia_dot,
    "amd_mfma": _mfma_dot,
    "amd_wmma": _wmma_dot,
    "dpas": _dpas_dot,
}
