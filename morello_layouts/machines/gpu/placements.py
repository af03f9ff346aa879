"""Ways to place a tile in shared memory: padding of the rows, and bits that flip others.

A placement without conflicts is found by linear algebra over F2. The lanes of a phase ask for a
*space*: the differences of their indices, sums of a few bits. A linear placement takes each index
to a bank and to a row of banks; a phase of a space takes ``2^(rank of the space - rank of its
banks)`` rounds. So a placement is without conflicts if its map to banks loses no vector of a space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.limits import SWIZZLE_NODES
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split, Step, Xor, bases
from morello_layouts.core.recipe.bases import recipe_of_bases
from morello_layouts.core.recipe.readings import delinearize, linear_index
from morello_layouts.errors import ShapeError
from morello_layouts.machines.gpu.access import Array, LaneRequests


def log2(n: int) -> int:
    """Return the exponent of a power of two."""
    return n.bit_length() - 1


class Flip(NamedTuple):
    """Bits that flip bits of the offset: a step of a swizzle."""

    source: Literal["row", "offset"]  #: whose bits they are; the offset is the one without flips.
    low: int  #: bits of the source below them.
    bits: int  #: how many they are.
    factor: int  #: by which they are multiplied, then added without carry.

    def of(self, row: Any, offset: Any) -> Any:
        """Return what is added, of ints, arrays or forms."""
        source = row if self.source == "row" else offset
        return source // (1 << self.low) % (1 << self.bits) * self.factor

    def text(self, pitch: int) -> str:
        """Return what is added in C."""
        source, low = "row", self.low
        if self.source == "offset":  # bits of the row alone, if rows have powers of two
            bits = log2(pitch) if pitch & (pitch - 1) == 0 else low + 1
            source, low = ("row", low - bits) if low >= bits else (f"(row * {pitch} + column)", low)
        shifted = f"({source} >> {low})" if low else source
        masked = f"({shifted} & {(1 << self.bits) - 1})"
        is_power = self.factor & (self.factor - 1) == 0
        base = f" << {log2(self.factor)}" if is_power else f" * {self.factor}"
        return masked if self.factor == 1 else f"({masked}{base})"


@frozen
class PlacedTile(Layout):
    """A placement of a tile of rows and columns, as a layout that every function takes.

    >>> print(swizzle((64, 64), 64, 3, 3, 3), row_xor((8, 48), 48, 1, 3, 2), sep=", ")
    (row * 64 + column) ^ ((row & 7) << 3), row * 48 + (column ^ (((row >> 2) & 1) << 3))
    """

    shape: tuple[int, ...]  #: the tile; all dimensions but the last are its rows.
    pitch: int  #: elements from one row to the next.
    flips: tuple[Flip, ...] = ()  #: what is added to the offset without carry.
    block: int = 1  #: elements that the flips permute; the buffer spans whole blocks.
    cute: str | None = field(default=None, compare=False)  #: its text in CuTe's notation, if known.

    @property
    def rows(self) -> int:
        """How many rows the tile has, over all dimensions but the last."""
        return prod(self.shape[:-1])

    @property
    def size(self) -> int:
        """Elements that the buffer spans."""
        return -(-self.rows * self.pitch // self.block) * self.block

    @property
    def padding(self) -> int:
        """Elements of the buffer that hold nothing."""
        return self.size - prod(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the tile."""
        return self.shape

    def offsets(self, row: Any, column: Any) -> Any:
        """Return the offsets of elements, of ints, arrays or forms."""
        plain = found = row * self.pitch + column
        for flip in self.flips:
            found = found ^ flip.of(row, plain)
        return found

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the placement as steps."""
        if tuple(shape) != self.shape:
            raise ShapeError(
                f"{self}: expected the shape {self.shape}, got {tuple(shape)}",
                "a placement is made for a tile of one size",
                "leave the shape out",
            )
        pads: list[Step] = [Pad((*shape[:-1], self.pitch))] if self.pitch != shape[-1] else []
        if not self.flips:
            return Recipe(self.shape, tuple(pads))
        if not self.padding and not any(n & (n - 1) for n in self.shape):
            units = (delinearize(1 << bit, self.shape) for bit in range(log2(self.size)))
            inverse = bases.inverse([self.offsets(*self._row(at)) for at in units])
            assert inverse is not None, "a placement has an inverse"
            return recipe_of_bases(
                self.shape, {"offset": [delinearize(x, self.shape) for x in inverse]}
            )
        ((source, low, bits, factor),), rank = self.flips, len(self.shape)
        if source == "row":
            merge: list[Step] = [Merge((rank - 1, 1))] if rank > 2 else []
            split = Split((None, factor << bits)), Split((None, None, factor))
            return Recipe(self.shape, (*pads, *merge, *split, Xor(2, 0, low), Merge((1, 3))))
        whole = 1 << low + bits
        count = -(-self.rows * self.pitch // whole) * whole
        tiles = whole, whole >> bits, factor << bits, factor
        splits = (Split((None,) * k + (tile,)) for k, tile in enumerate(tiles))
        steps = (*pads, Merge((rank,)), Pad((count,)), *splits, Xor(3, 1))
        return Recipe(self.shape, steps, tail_padding=self.size - count)

    def _row(self, at: Sequence[Any]) -> tuple[Any, Any]:
        """Return the row and the column of a coordinate."""
        return linear_index(at[:-1], self.shape[:-1], 0), at[-1]

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset by the formula in C."""
        row, column = self._row(coordinates)
        form: AffineExpr = self.offsets(AffineExpr((), 0) + row, column)
        return form

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        """Return the offset by the formula on plain integers, and the size of the buffer."""
        return self.offsets(*self._row(coordinate)), self.size

    @property
    def text(self) -> str:
        """The offset of ``row`` and ``column`` in C."""
        flips = [flip.text(self.pitch) for flip in self.flips]
        if any(flip.source == "row" for flip in self.flips):  # within a row
            return f"row * {self.pitch} + ({' ^ '.join(['column', *flips])})"
        plain = f"row * {self.pitch} + column"
        return " ^ ".join([f"({plain})" if flips else plain, *flips])

    def __str__(self) -> str:
        return self.cute or self.text


def swizzle(shape: tuple[int, ...], pitch: int, bits: int, base: int, shift: int) -> PlacedTile:
    """Return CuTe's ``Swizzle<bits, base, shift>`` of the offsets of rows one after the other."""
    flip = Flip("offset", base + shift, bits, 1 << base)
    return PlacedTile(shape, pitch, (flip,), 1 << base + bits)


def row_xor(shape: tuple[int, ...], pitch: int, bits: int, base: int, shift: int) -> PlacedTile:
    """Return blocks of ``2^base`` elements of a row, flipped by bits of the row from ``shift``."""
    return PlacedTile(shape, pitch, (Flip("row", shift, bits, 1 << base),))


def linear(shape: tuple[int, ...], columns: Sequence[int]) -> PlacedTile:
    """Return any linear placement: ``columns`` are the offsets at each bit of the index."""
    changed = ((bit, place ^ 1 << bit) for bit, place in enumerate(columns) if place != 1 << bit)
    flips = (Flip("offset", bit, 1, factor) for bit, factor in changed)
    return PlacedTile(shape, shape[-1], tuple(flips))


Space: TypeAlias = tuple[int, ...]
"""Independent vectors, each with a highest bit of its own, in ascending order."""


def row_echelon(vectors: Sequence[int]) -> Space:
    """Return the vectors of a space in ascending order, each with a highest bit of its own.

    >>> row_echelon([0b011, 0b110, 0b101])
    (3, 5)
    """
    found: list[int] = []
    for vector in vectors:
        rest = bases.Span(found).reduced(vector)[0]
        if rest:
            found.append(rest)
    return tuple(sorted(found))


def spaces_of(index: Array, phase_lanes: Array, requests: LaneRequests) -> set[Space] | None:
    """Return the spaces that phases ask for, in bits of the index; None if one is not linear."""
    found: set[Space] = set()
    if requests.vector & (requests.vector - 1):
        return None
    inner = [1 << k for k in range(log2(requests.vector))]
    for row, size, active in zip(index, phase_lanes.tolist(), requests.active, strict=True):
        for start in range(0, len(row), size):
            lanes = row[start : start + size][active[start : start + size]].tolist()
            if not lanes:
                continue
            space = _space([lane ^ lanes[0] for lane in lanes])
            if space is None:
                return None
            found.add(row_echelon([*inner, *space]))
    return found


def _space(lanes: list[int]) -> list[int] | None:
    """Return the differences at single bits of the lane's number, if they make up all others."""
    count = len(lanes)
    if count & (count - 1):
        return None
    columns = [lanes[1 << k] for k in range(log2(count))]
    sums = [0]
    for column in columns:
        sums += [x ^ column for x in sums]
    return columns if sums == lanes else None


def lost_rank(space: Space, banks: Sequence[int]) -> int:
    """Return how many dimensions of a space a map to banks loses.

    >>> lost_rank((1, 2, 4), [1, 2, 3])
    1
    """
    return len(space) - bases.rank(bases.apply(banks, vector) for vector in space)


def least_lost_rank(space: Space, low: int, high: int) -> int:
    """Return the dimensions that every map to banks loses if low bits of the index are its own.

    Args:
        space: the space.
        low: bits of the index that are bits of the bank.
        high: the other bits of the bank.

    >>> least_lost_rank((8, 16, 32, 64), 2, 3)
    1
    """
    kept = bases.rank(vector % (1 << low) for vector in space)
    return max(0, len(space) - kept - high)


@dataclass
class MapSearch:
    """A search for a map to banks that loses few dimensions of each space."""

    spaces: Sequence[Space]  #: the spaces.
    bits: int  #: bits of an index.
    banks: int  #: bits of a bank.
    low: int  #: bits of an index that stay bits of the bank, and to which nothing is added.
    nodes: int = 0  #: choices that were made.

    @property
    def is_exhausted(self) -> bool:
        """Whether the search ended because of its budget."""
        return self.nodes >= SWIZZLE_NODES

    @property
    def least(self) -> list[int]:
        """The dimensions that every map loses of each space."""
        return [least_lost_rank(space, self.low, self.banks - self.low) for space in self.spaces]

    def by_rows(self, allowed: Sequence[int]) -> tuple[int, ...] | None:
        """Return a map that keeps the low bits of the index and adds higher ones to them."""
        return self._find(self.spaces, min(self.banks, self.bits), allowed)

    def anyhow(self, allowed: Sequence[int]) -> tuple[int, ...] | None:
        """Return any map that loses no more dimensions than allowed; None without one.

        Without loss of generality some space of which nothing may be lost has bits of the bank.
        """
        low = [1 << k for k in range(self.low)]
        whole = [
            space
            for space, most in zip(self.spaces, allowed, strict=True)
            if most == 0 and {*low} <= {*space}
        ]
        basis = [*max(whole, key=len, default=low)]
        known, span = len(basis), bases.Span(basis)
        basis += [1 << k for k in range(self.bits) if span.add(1 << k)]
        to_basis = bases.inverse(basis)
        assert to_basis is not None, "independent vectors have an inverse"
        spaces = [row_echelon(bases.compose(to_basis, space)) for space in self.spaces]
        found = self._find(spaces, known, allowed)
        return None if found is None else bases.compose(found, to_basis)

    def _find(
        self, spaces: Sequence[Space], known: int, allowed: Sequence[int]
    ) -> tuple[int, ...] | None:
        """Return images of all bits, those of the first ``known`` being bits of the bank."""
        images = [1 << k for k in range(known)]
        used = 0
        for space in spaces:
            for vector in space:
                used |= vector
        every = range(0, 1 << self.banks, 1 << self.low)
        choices = sorted(every, key=lambda image: (image.bit_count(), image))

        def extended() -> bool:
            bit = len(images)
            if not self._fits(spaces, images, allowed):
                return False
            if bit == self.bits:
                return True
            for image in choices if used >> bit & 1 else (0,):
                self.nodes += 1
                if self.is_exhausted:
                    return False
                images.append(image)
                if extended():
                    return True
                images.pop()
            return False

        return tuple(images) if extended() else None

    def _fits(self, spaces: Sequence[Space], images: Sequence[int], allowed: Sequence[int]) -> bool:
        end = 1 << len(images)
        for space, most in zip(spaces, allowed, strict=True):
            inside = tuple(vector for vector in space if vector < end)
            if inside and lost_rank(inside, images) > most:
                return False
        return True


def extended_to_placement(banks: Sequence[int], bits: int) -> tuple[int, ...]:
    """Return a whole placement whose low bits are those of a map to banks.

    The bits that the banks do not tell apart follow in their order.

    >>> extended_to_placement([1, 2, 3], 2)
    (1, 2, 7)
    """
    span = bases.Span(banks)
    free = [1 << k for k in range(bits) if span.add(1 << k)]
    rows = iter([*free, *(1 << k for k in range(bits, bits + len(banks)))])
    told = bases.Span()
    return tuple(image if told.add(image) else image ^ next(rows) for image in banks)
