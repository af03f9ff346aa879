"""What an access costs memory: phases and rounds of banks, sectors and lines.

Phases are the lanes that the banks of shared memory serve together, in one or more rounds.

NVIDIA's banks give 128 bytes at a time, to lanes that are neighbours, and two phases of a load may
merge. AMD's waves have 64 lanes. Which of them share a phase depends on the instruction: of loads
of 16 bytes they are not neighbours. What AMD's documents do not say was measured in public on an
MI300X (gfx942) and an MI355X (gfx950); what nobody measured is refused. Nothing here ran on a GPU
of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

from morello_layouts.core.checks import as_int
from morello_layouts.core.description import amount, count
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.machines.gpu.access import (
    Access,
    Array,
    Copy,
    LaneRequests,
    Mask,
    Start,
    first_offsets,
    require_vectors,
)

BANKS: Final = 32
"""Banks of shared memory."""

WORD: Final = 4
"""Bytes of a word."""

ROUND: Final = BANKS * WORD
"""Bytes that the banks give in one round."""


@frozen(eq=False)
class Addresses:
    """The bytes that lanes ask for."""

    first: Array  #: the first byte of each lane in the buffer: instructions by lanes.
    active: Mask  #: which lanes take part.
    width: int  #: bytes of a lane: 1, 2, 4, 8 or 16.

    @property
    def words(self) -> Array:
        """The words of each lane: instructions by lanes by words."""
        return self.first[..., None] // WORD + np.arange(max(1, self.width // WORD))


def addresses_of(m: IndexMap, requests: LaneRequests, bits: int, access: Access) -> Addresses:
    """Return the bytes that lanes ask for; a wide element takes several instructions."""
    first = first_offsets(m, requests, access)
    unaligned = first * bits % alignment(requests.vector * bits) != 0
    require_vectors(requests, requests.active & unaligned, m, access)
    return pieces_of(first, requests, bits)


def alignment(width: int) -> int:
    """Return the bits to a multiple of which an access of a width is aligned.

    >>> alignment(128), alignment(96), alignment(4)
    (128, 32, 1)
    """
    return min(128, width & -width) if width >= 8 else 1


def pieces_of(first: Array, requests: LaneRequests, bits: int) -> Addresses:
    """Return the bytes of lanes whose first elements have these offsets.

    Lanes of no power of two of bytes take several instructions: 12 bytes are three words.
    """
    width = max(8, requests.vector * bits)
    piece = alignment(width) // 8
    parts = width // 8 // piece
    active = np.repeat(requests.active, parts, axis=0)
    steps = np.tile(np.arange(parts) * piece, len(first))
    starts = np.repeat(first * bits // 8, parts, axis=0) + steps[:, None]
    return Addresses(starts, active, piece)


def phases_of(addresses: Addresses, access: Access) -> Array:
    """Return the lanes of a phase in each instruction: 8 for an instruction of 16 bytes a lane."""
    size = min(BANKS, ROUND // max(addresses.width, WORD))
    found = np.full(len(addresses.first), size)
    if access.merges_equal_pairs and size < BANKS:
        lane = np.arange(addresses.first.shape[1])
        merged = np.zeros(len(found), bool)
        for flip in (1, 2):
            other = np.minimum(lane ^ flip, len(lane) - 1)
            same = addresses.first == addresses.first[:, other]
            absent = ~(addresses.active & addresses.active[:, other])
            merged |= (same | absent).all(axis=1)
        found = np.where(merged, 2 * found, found)
    return found


def rounds_of(addresses: Addresses, phase_lanes: Array, banks: int = BANKS) -> Array:
    """Return the rounds of each phase: instructions by phases, 0 for a phase without lanes."""
    instructions, lanes = addresses.first.shape
    most = -(-lanes // int(phase_lanes.min(initial=BANKS)))
    found = np.zeros((instructions, most), np.int64)
    for size in np.unique(phase_lanes).tolist():
        which = np.flatnonzero(phase_lanes == size)
        active = addresses.active[which]
        words = np.where(active[..., None], addresses.words[which], -1)
        phases = -(-lanes // size)
        if phases * size != lanes:
            words = np.pad(words, ((0, 0), (0, phases * size - lanes), (0, 0)), constant_values=-1)
        words = np.sort(words.reshape(len(which) * phases, -1), axis=1)
        is_new = words >= 0
        is_new[:, 1:] &= words[:, 1:] != words[:, :-1]
        row = np.repeat(np.arange(len(words)), is_new.sum(axis=1))
        counts = np.bincount(row * banks + words[is_new] % banks, minlength=len(words) * banks)
        found[which, :phases] = counts.reshape(len(which), phases, banks).max(axis=2)
    return found


class Phases(NamedTuple):
    """Which lanes share a phase: ``sizes`` of them, one after the other in an order."""

    order: Array  #: the lanes in the order in which they are served.
    sizes: Array  #: the lanes of a phase, for each instruction.
    banks: int  #: banks that serve a phase.


@frozen
class SharedMemory:
    """The shared memory of a kind of GPU."""

    name: str  #: as users write it.
    lanes: int  #: lanes of a warp or wave.
    #: the least bytes that its caches move. The documents of AMD's profiler name lines of 128 bytes
    #: in both caches of an MI300, of which all requests are; an MI350 is taken to have the same.
    sector: int
    #: AMD's: for loads, stores and bytes of a lane the banks, and the first lanes of each run of
    #: four in a phase, in the first half of the wave; one number for phases of neighbours.
    served: Mapping[tuple[bool, int], tuple[int, int | tuple[int, ...]]] = MappingProxyType({})

    def phases(self, addresses: Addresses, access: Access) -> Phases:
        """Return the phases of each instruction.

        Raises:
            UnsupportedError: if nobody says or measured which lanes share one.
        """
        lanes = np.arange(addresses.first.shape[1])
        if not self.served:
            return Phases(lanes, phases_of(addresses, access), BANKS)
        found = self.served.get((access.is_store, max(addresses.width, WORD)))
        if found is None:
            kind, known = _served(access.is_store, addresses.width), sorted(self.served)
            raise UnsupportedError(
                f"{access} on {self.name}: nobody says which lanes of {kind} share a phase",
                "neither AMD's documents nor a public measurement that we know",
                f"known are {', '.join(_served(*each) for each in known)}",
            )
        banks, runs = found
        size = runs if isinstance(runs, int) else 4 * _PHASE_RUNS[len(runs), banks]
        if not isinstance(runs, int):
            half = np.add.outer(runs, np.arange(4)).reshape(-1)
            lanes = np.concatenate([half, half + 32])
        return Phases(lanes, np.full(len(addresses.first), size), banks)


def _served(is_store: bool, width: int) -> str:
    return f"{'stores' if is_store else 'loads'} of {8 * width} bits"


# Runs of four lanes that share a phase, of 8 runs in half a wave: two on 32 banks, four on 64.
_PHASE_RUNS: Final = {(8, 32): 2, (8, 64): 4}
_QUARTERS: Final = (0, 20, 4, 16, 8, 28, 12, 24)
_EIGHTHS: Final = (0, 12, 20, 24, 4, 8, 16, 28)

NVIDIA: Final = SharedMemory("nvidia", 32, 32)
"""Any NVIDIA GPU from compute capability 5.0 on."""

MEMORIES: Final = {
    each.name: each
    for each in (
        NVIDIA,
        # Loads and stores of 16 bytes: AMD's page on LDS bank conflicts of CK Tile. Of 4 bytes:
        # AMD's OpenCL guide, half a wave at a time.
        SharedMemory("gfx942", 64, 128, MappingProxyType({
            (False, 4): (32, 32), (True, 4): (32, 32),
            (False, 16): (32, _QUARTERS), (True, 16): (32, 8),
        })),
        # Measured on an MI355X by the authors of HipKittens; stores of 16 bytes by AMD's page.
        SharedMemory("gfx950", 64, 128, MappingProxyType({
            (False, 8): (64, 32), (True, 8): (32, 16),
            (False, 16): (64, _EIGHTHS), (True, 16): (32, 8),
        })),
    )
}  # fmt: skip
"""The kinds of GPU whose shared memory is known, by name."""


SECTOR: Final = 32
"""Bytes of a sector: the least that a GPU moves from memory."""

LINE: Final = 128
"""Bytes of a line of a GPU's L1 and L2 caches: four sectors."""


@frozen
class Touched:
    """The units of memory that an access touches: sectors or lines."""

    unit: int  #: bytes of a unit.
    worst: int  #: units of the worst instruction.
    least: int  #: the fewest that would hold what this instruction asks for.
    total: int  #: units of all instructions.
    total_least: int  #: the fewest for all, each for itself.

    @property
    def is_best(self) -> bool:
        """Whether no instruction touches more units than it must."""
        return self.total == self.total_least

    @property
    def at_best(self) -> str:
        """How many units hold what the worst instruction asks for, in words."""
        return "the fewest" if self.worst == self.least else f"{self.least} at best"


@frozen
class CacheLines(Displayed):
    """The lines of a cache that an access touches."""

    json_keys: ClassVar[tuple[str, ...]] = ("verdict", "*", "efficiency")
    instruction: ClassVar = "run"

    access: str  #: the access in words.
    layout: str  #: the layout in memory.
    bits: int  #: bits of an element.
    lines: Touched  #: the lines that it touches: of a GPU 128 bytes each.
    wanted_bytes: int  #: different bytes that all instructions ask for, each for itself.
    #: the instructions of the access; for a CPU runs, its rows or columns, or vectors of lanes.
    instructions: int
    counted: int  #: those that were looked at: all, unless there are very many.
    at: tuple[int, ...]  #: the coordinate of the first lane of the worst instruction, or run.

    @property
    def moved_bytes(self) -> int:
        """The bytes of the units that all instructions touch."""
        return self.lines.total * self.lines.unit

    @property
    def efficiency(self) -> float:
        """The part of the moved bytes that is asked for; 1 if nothing is moved."""
        return self.wanted_bytes / self.moved_bytes if self.moved_bytes else 1.0

    @property
    def verdict(self) -> str:
        """The answer in words."""
        lines = self.lines
        return f"{count(lines.worst, 'line')} of {lines.unit} bytes: {lines.at_best}"

    def _units(self) -> list[str]:
        """Return lines of text about the units of the worst instruction."""
        return []

    def __str__(self) -> str:
        head = f"{self.verdict}: {self.access} of {self.layout}, {self.bits} bits"
        asked = count(self.counted, self.instruction)
        if self.counted < self.instructions:
            asked = f"the first {asked} of {amount(self.instructions)}"
        moved = f"{self.moved_bytes:,} bytes moved for {self.wanted_bytes:,} wanted by {asked}"
        return "\n  ".join([head, *self._units(), f"{moved}: {self.efficiency:.0%}"])


@frozen
class Coalescing(CacheLines):
    """What an access of a warp moves from global memory; the worst instruction has most sectors."""

    json_keys: ClassVar = (
        *("verdict", "access", "layout", "bits", "sectors", "lines", "wanted_bytes"),
        *("instructions", "counted", "at", "moved_bytes", "efficiency"),
    )
    instruction: ClassVar = "instruction"

    #: the sectors that it touches, the least that the GPU moves: 32 bytes, on AMD's a line. The
    #: other attributes are as in CacheLines.
    sectors: Touched

    @property
    def moved_bytes(self) -> int:
        """The bytes of the sectors that all instructions touch."""
        return self.sectors.total * self.sectors.unit

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.sectors.is_best:
            return "coalesced"
        return f"not coalesced: {self.efficiency:.0%} of the bytes moved are used"

    def _units(self) -> list[str]:
        where = "" if self.instructions == 1 else f", at {self.at}"
        return [
            f"{count(each.worst, name)} of {each.unit} bytes in the worst instruction{where}: "
            f"{each.at_best}"
            for name, each in (("sector", self.sectors), ("line", self.lines))
            if name == "line" or each.unit != self.lines.unit
        ]


def coalescing_of(
    m: IndexMap, access: Access, bits: int, at: Start, sector: int = SECTOR
) -> Coalescing:
    """Return what an access of a warp moves; arguments as for ``conflicts_of``."""
    requests, first, last = _bytes(m, access, bits, at)
    sectors, wanted, worst = _touched(first, last, requests.active, sector)
    lines, _, _ = _touched(first, last, requests.active, LINE)
    return Coalescing(*_head(m, access, bits), lines, wanted, *_tail(requests, worst), sectors)


def lines_of(m: IndexMap, access: Access, bits: int, at: Start, line: int) -> CacheLines:
    """Return the lines of a cache that each run of an access touches."""
    requests, first, last = _bytes(m, access, bits, at)
    lines, wanted, worst = _touched(first, last, requests.active, line)
    return CacheLines(*_head(m, access, bits), lines, wanted, *_tail(requests, worst))


def with_lanes(access: Access, lanes: int | None, shape: tuple[int, ...]) -> Access:
    """Return an access of ``lanes`` lanes: by default a whole row or column at a time."""
    if isinstance(access, Copy):
        along = shape[-1:] if access.order == "row" else shape[:1]
        lanes = max(1, prod(along)) if lanes is None else lanes
    if lanes is None:
        raise LayoutError(
            f"{access}: the number of lanes is missing",
            "only rows and columns tell by themselves how far a run goes",
            "give lanes=16, the elements of a vector register",
        )
    return replace(access, lanes=as_int(lanes, "lanes", 1, 1 << 20))  # type: ignore[type-var]


def _head(m: IndexMap, access: Access, bits: int) -> tuple[str, str, int]:
    return str(access), m.source or str(m.shape), bits


def _tail(requests: LaneRequests, worst: int) -> tuple[int, int, tuple[int, ...]]:
    first = requests.coordinates[worst, 0] if len(requests.coordinates) else ()
    return requests.total, len(requests.coordinates), tuple(map(int, first))


def _bytes(m: IndexMap, access: Access, bits: int, at: Start) -> tuple[LaneRequests, Array, Array]:
    """Return the first and the last byte that each lane asks for: instructions by lanes."""
    requests = access.requests(known(m.recipe.shape), bits, at)
    first = first_offsets(m, requests, access) * bits
    return requests, first // 8, (first + requests.vector * bits - 1) // 8


def _touched(first: Array, last: Array, active: Mask, unit: int) -> tuple[Touched, int, int]:
    """Return the units that instructions touch, the bytes that they want, and the worst one."""
    found, wanted = _distinct(first, last, active, unit), _distinct(first, last, active, 1)
    least = -(-wanted // unit)
    if not len(found):
        return Touched(unit, 0, 0, 0, 0), 0, 0
    worst = int(np.argmax(found))
    totals = int(found.sum()), int(least.sum())
    return Touched(unit, int(found[worst]), int(least[worst]), *totals), int(wanted.sum()), worst


def _distinct(first: Array, last: Array, active: Mask, unit: int) -> Array:
    """Return how many different units each instruction touches."""
    low, high = first // unit, last // unit
    steps = np.arange(int((high - low).max(initial=0)) + 1)
    units = low[..., None] + steps
    inside = active[..., None] & (units <= high[..., None])
    kept = np.where(inside, units, -1).reshape(len(first), prod(units.shape[1:]))
    kept.sort(axis=1)
    found: Array = (np.diff(kept, axis=1, prepend=-1) != 0).sum(axis=1)
    return found
