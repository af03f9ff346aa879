"""Sectors and lines of global memory, and lines of a CPU's cache, that an access touches."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, ClassVar, Final

from morello_layouts.core.checks import as_int
from morello_layouts.core.description import amount, count
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError
from morello_layouts.machines.gpu.access import Access, Array, Copy, LaneRequests, first_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    m: IndexMap, access: Access, bits: int, at: tuple[int, ...] | None, sector: int = SECTOR
) -> Coalescing:
    """Return what an access of a warp moves; arguments as for ``conflicts_of``."""
    requests, first, last = _bytes(m, access, bits, at)
    sectors, wanted, worst = _touched(first, last, requests.active, sector)
    lines, _, _ = _touched(first, last, requests.active, LINE)
    return Coalescing(*_head(m, access, bits), lines, wanted, *_tail(requests, worst), sectors)


def lines_of(
    m: IndexMap, access: Access, bits: int, at: tuple[int, ...] | None, line: int
) -> CacheLines:
    """Return the lines of a cache that each run of an access touches."""
    requests, first, last = _bytes(m, access, bits, at)
    lines, wanted, worst = _touched(first, last, requests.active, line)
    return CacheLines(*_head(m, access, bits), lines, wanted, *_tail(requests, worst))


def with_lanes(access: Access, lanes: int | None, shape: tuple[int, ...]) -> Access:
    """Return an access of ``lanes`` lanes: by default a whole row or column at a time."""
    if isinstance(access, Copy):
        if lanes is None:
            along = shape[-1:] if access.order == "row" else shape[:1]
            lanes = max(1, prod(along))
        return replace(access, lanes=as_int(lanes, "lanes", 1, 1 << 20))
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


def _bytes(
    m: IndexMap, access: Access, bits: int, at: tuple[int, ...] | None
) -> tuple[LaneRequests, Array, Array]:
    """Return the first and the last byte that each lane asks for: instructions by lanes."""
    requests = access.requests(known(m.recipe.shape), bits, at)
    first = first_offsets(m, requests, access) * bits
    return requests, first // 8, (first + requests.vector * bits - 1) // 8


def _touched(
    first: Array, last: Array, active: NDArray[np.bool_], unit: int
) -> tuple[Touched, int, int]:
    """Return the units that instructions touch, the bytes that they want, and the worst one."""
    found, wanted = _distinct(first, last, active, unit), _distinct(first, last, active, 1)
    least = -(-wanted // unit)
    if not len(found):
        return Touched(unit, 0, 0, 0, 0), 0, 0
    worst = int(np.argmax(found))
    totals = int(found.sum()), int(least.sum())
    return Touched(unit, int(found[worst]), int(least[worst]), *totals), int(wanted.sum()), worst


def _distinct(first: Array, last: Array, active: NDArray[np.bool_], unit: int) -> Array:
    """Return how many different units each instruction touches."""
    low, high = first // unit, last // unit
    steps = np.arange(int((high - low).max(initial=0)) + 1)
    units = low[..., None] + steps
    inside = active[..., None] & (units <= high[..., None])
    kept = np.where(inside, units, -1).reshape(len(first), prod(units.shape[1:]))
    kept.sort(axis=1)
    found: Array = (np.diff(kept, axis=1, prepend=-1) != 0).sum(axis=1)
    return found
