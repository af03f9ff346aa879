"""Judges of the best swizzle: counting by hand, exhaustive searches, other people's choices.

They know no layout of the package: an access is a list of coordinates, a placement a function from
row and column to an offset in elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from random import Random
from typing import NamedTuple

Placement = Callable[[int, int], int]


class Tile(NamedTuple):
    """A tile and what warps read of it."""

    rows: int
    columns: int
    bits: int
    accesses: tuple[str, ...]

    @property
    def vector(self) -> int:
        """Elements of the widest vector."""
        return max(lane_elements(access, self.bits) for access in self.accesses)


def lane_elements(access: str, bits: int) -> int:
    """The elements that a lane takes."""
    if access.startswith("ldmatrix"):
        return 128 // bits
    return int(access.partition(".b")[2] or bits) // bits


def instructions(tile: Tile, access: str) -> Iterator[list[tuple[int, int] | None]]:
    """The first element of each lane, instruction by instruction; None past the tile's end."""
    rows, columns, bits, _ = tile
    vector = lane_elements(access, bits)
    vectors = range(0, columns, vector)
    runs: list[list[tuple[int, int] | None]]
    if access.startswith("ldmatrix"):
        for i, j in product(range(0, rows, 16), range(0, columns, 2 * vector)):
            block = [(i + lane % 16, j + lane // 16 * vector) for lane in range(32)]
            yield [at if at[0] < rows and at[1] < columns else None for at in block]
        return
    kind = access.partition(".")[0]
    if kind in ("row", "column"):
        if kind == "row":
            runs = [[(i, j) for j in vectors] for i in range(rows)]
        else:
            runs = [[(i, j) for i in range(rows)] for j in vectors]
    elif kind == "rows":
        runs = [[(i, j) for i in range(rows) for j in vectors]]
    else:
        runs = [[(i, j) for j in vectors for i in range(rows)]]
    for run in runs:
        for k in range(0, len(run), 32):
            yield run[k : k + 32]


def ways(tile: Tile, access: str, place: Placement) -> int:
    """The rounds of the worst phase, counted with sets."""
    vector = lane_elements(access, tile.bits)
    width = max(1, vector * tile.bits // 8)
    lanes = min(32, 128 // max(width, 4))
    worst = 1
    for lane_at in instructions(tile, access):
        for k in range(0, len(lane_at), lanes):
            banks: dict[int, set[int]] = {}
            for at in filter(None, lane_at[k : k + lanes]):
                first = place(*at) * tile.bits // 8
                for word in range(first // 4, (first + width - 1) // 4 + 1):
                    banks.setdefault(word % 32, set()).add(word)
            worst = max([worst, *map(len, banks.values())])
    return worst


def worst(tile: Tile, place: Placement) -> int:
    """The ways of the worst access."""
    return max(ways(tile, access, place) for access in tile.accesses)


def swizzled(tile: Tile, bits: int, base: int, shift: int) -> Placement:
    """CuTe's ``Swizzle<bits, base, shift>`` of rows one after the other."""

    def place(i: int, j: int) -> int:
        offset = i * tile.columns + j
        return offset ^ (offset >> base + shift & (1 << bits) - 1) << base

    return place


def all_swizzles(tile: Tile) -> Iterator[Placement]:
    """Every swizzle of CuTe's that keeps vectors whole and moves elements at all."""
    low = (tile.vector - 1).bit_length()
    total = (tile.rows * tile.columns - 1).bit_length()
    for base in range(low, total):
        for bits in range(1, total - base):
            for shift in range(bits, total - base):
                yield swizzled(tile, bits, base, shift)


def atoms(tile: Tile) -> Iterator[Placement]:
    """CuTe's canonical layouts of K-major operands, rows of 32, 64 or 128 bytes, swizzled."""
    for log_chunks in (0, 1, 2, 3):
        wide = (128 << log_chunks) // tile.bits  # elements of a row of the atom
        if tile.bits > 128 or tile.columns % wide or tile.rows % 8 or wide % tile.vector:
            continue

        def place(i: int, j: int, wide: int = wide, mask: int = (1 << log_chunks) - 1) -> int:
            offset = (j // wide * tile.rows + i) * wide + j % wide
            byte = offset * tile.bits // 8
            return (byte ^ (byte >> 7 & mask) << 4) * 8 // tile.bits

        yield place


def image_of(images: Sequence[int], vector: int) -> int:
    """The sum of the images of a vector's bits."""
    total = 0
    for bit, image in enumerate(images):
        total ^= image * (vector >> bit & 1)
    return total


def random_tile(random: Random) -> Tile:
    """A tile, a type and a set of accesses."""
    bits = random.choice((8, 16, 16, 16, 32, 32, 64, 128))
    sizes = (8, 16, 32, 64, 64, 128) if random.random() < 0.7 else (3, 10, 12, 24, 48, 50, 96, 100)
    rows, columns = random.choice(sizes), random.choice(sizes)
    wide = [w for w in (32, 64, 128) if w > bits and columns % (w // bits) == 0]
    names = ["row", "column", "rows", "columns"]
    names += [f"{kind}.b{w}" for w in wide for kind in ("row", "column", "rows", "columns")]
    if bits < 128 and columns % (128 // bits) == 0:
        names += ["ldmatrix"] * 3
    chosen = random.sample(names, random.choice((1, 2, 2, 3)))
    return Tile(rows, columns, bits, tuple(dict.fromkeys(chosen)))


class Registers(NamedTuple):
    """A layout of registers: for each bit of a place a bit of the row-major index.

    As Triton's blocked layouts and operands of matrix instructions have them.
    """

    register: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...]

    def text(self, columns: int) -> str:
        """The layout in Triton's notation, over rows of 2^k columns."""
        axes = (
            f"{name} = {[[*divmod(1 << bit, columns)] for bit in bits]}"
            for name, bits in self._asdict().items()
        )
        return f"#ttg.linear<{{{', '.join(axes)}, block = []}}>"

    def ways(self, columns: int, bits: int, vector: int, place: Placement) -> int:
        """The rounds of the worst phase if lanes take so many registers at a time."""
        worst = 1
        size = max(1, vector * bits // 8)
        phase = min(32, 128 // max(4, size))
        held = sorted(_index(self.register, r) for r in range(1 << len(self.register)))
        for warp in range(1 << len(self.warp)):
            bases = [_index(self.warp, warp) + _index(self.lane, lane) for lane in range(32)]
            rows = [[place(*divmod(base + r, columns)) for r in held] for base in bases]
            for k in range(0, len(rows[0]), vector):
                assert all(row[k + vector - 1] == row[k] + vector - 1 for row in rows)
                for start in range(0, 32, phase):
                    banks: dict[int, set[int]] = {}
                    for row in rows[start : start + phase]:
                        for byte in range(row[k] * bits // 8, row[k] * bits // 8 + size):
                            banks.setdefault(byte // 4 % 32, set()).add(byte // 4)
                    worst = max(worst, *map(len, banks.values()))
        return worst


def _index(bits: Sequence[int], number: int) -> int:
    """The index whose given bits are those of a number."""
    return sum((number >> k & 1) << bit for k, bit in enumerate(bits))


def random_registers(random: Random, bits: int, warps: int) -> Registers:
    """A layout of registers of 2^bits elements in 2^warps warps, often with vectors."""
    order = random.sample(range(bits), bits)
    registers = bits - 5 - warps
    if random.random() < 0.6:
        start, low = random.choice((0, bits // 2)), random.randint(1, min(registers, 3))
        kept = range(start, start + low)
        order = [*kept, *(bit for bit in order if bit not in kept)]
    lanes = order[registers : registers + 5]
    return Registers(tuple(order[:registers]), tuple(lanes), tuple(order[registers + 5 :]))
