"""Conflict-free placements as linear algebra over F2.

The lanes of a phase ask for a *space*: the differences of their indices, sums of a few bits. A
linear placement takes each index to a bank and to a row of banks; a phase of a space takes
``2^(rank of the space - rank of its banks)`` rounds. So a placement is without conflicts if its map
to banks loses no vector of a space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.core.limits import SWIZZLE_NODES
from morello_layouts.core.recipe import binary
from morello_layouts.machines.gpu.access import Array, LaneRequests
from morello_layouts.machines.gpu.placements import log2

Space: TypeAlias = tuple[int, ...]
"""Independent vectors, each with a highest bit of its own, in ascending order."""


def row_echelon(vectors: Sequence[int]) -> Space:
    """Return the vectors of a space in ascending order, each with a highest bit of its own.

    >>> row_echelon([0b011, 0b110, 0b101])
    (3, 5)
    """
    found: list[int] = []
    for vector in vectors:
        rest = binary.Span(found).reduced(vector)[0]
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
    return len(space) - binary.rank(binary.apply(banks, vector) for vector in space)


def least_lost_rank(space: Space, low: int, high: int) -> int:
    """Return the dimensions that every map to banks loses if low bits of the index are its own.

    Args:
        space: the space.
        low: bits of the index that are bits of the bank.
        high: the other bits of the bank.

    >>> least_lost_rank((8, 16, 32, 64), 2, 3)
    1
    """
    kept = binary.rank(vector % (1 << low) for vector in space)
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
        known, span = len(basis), binary.Span(basis)
        basis += [1 << k for k in range(self.bits) if span.add(1 << k)]
        to_basis = binary.inverse(basis)
        assert to_basis is not None, "independent vectors have an inverse"
        spaces = [row_echelon(binary.compose(to_basis, space)) for space in self.spaces]
        found = self._find(spaces, known, allowed)
        return None if found is None else binary.compose(found, to_basis)

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
    span = binary.Span(banks)
    free = [1 << k for k in range(bits) if span.add(1 << k)]
    rows = iter([*free, *(1 << k for k in range(bits, bits + len(banks)))])
    told = binary.Span()
    return tuple(image if told.add(image) else image ^ next(rows) for image in banks)
