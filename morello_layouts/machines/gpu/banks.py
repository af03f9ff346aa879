"""Bank conflicts: how many times the shared memory of a GPU serves one access of a warp.

Shared memory has 32 banks of 4-byte words: word w lies in bank ``w % 32``. A bank gives one word at
a time, to all lanes that ask for it, so an access takes as many rounds as one bank has different
words to give. Lanes of 8 or 16 bytes are served in phases of 16 or 8 lanes, as the banks give 128
bytes at a time. Two phases of a load merge if in the whole warp each lane l asks for the same
address as lane l xor 1, or each as lane l xor 2: NVIDIA's engineers say so of compute capability
7.x, and public microbenchmarks find it on later ones. Of a symbolic pitch the ways are a formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import compress, product
from math import gcd
from typing import ClassVar, Final, NamedTuple, TypeAlias

from morello_layouts.core.description import amount, count, listed
from morello_layouts.core.expr.sizes import Int, SizeExpr, common_divisor
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import has_numpy, numpy as np
from morello_layouts.core.limits import ACCESS_INSTRUCTIONS
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import bases, known
from morello_layouts.core.recipe.readings import offset_of
from morello_layouts.core.recipe.views import Column, filled
from morello_layouts.errors import UnsupportedError
from morello_layouts.machines.gpu.access import (
    Access,
    Array,
    LaneRequests,
    Numbered,
    Numbering,
    Start,
    no_vector,
)
from morello_layouts.machines.gpu.phases import (
    BANKS,
    NVIDIA,
    ROUND,
    WORD,
    Addresses,
    SharedMemory,
    addresses_of,
    alignment,
    pieces_of,
    rounds_of,
)

_SHOWN: Final = 8  # lanes or words that a text lists


@frozen
class Collision:
    """A word that a bank gives in a round of its own."""

    word: int  #: its number, from the start of the buffer.
    lanes: tuple[int, ...]  #: the lanes that ask for it.
    coordinate: tuple[int, ...] = ()  #: the first element of the first of them.


@frozen
class BankConflicts(Displayed):
    """What an access of a warp costs in shared memory."""

    json_keys: ClassVar = (
        *("verdict", "access", "layout", "bits", "ways", "wavefronts", "phases", "instructions"),
        *("counted", "at", "bank", "collisions", "ranks", "reason", "vector", "past_edge"),
        *("gpu", "unmerged"),
    )

    access: str  #: the access in words.
    layout: str  #: the layout in shared memory.
    bits: int  #: bits of an element.
    ways: int  #: the rounds of the worst phase: 1 means no conflict.
    wavefronts: int  #: the rounds of all instructions together.
    phases: int  #: the rounds that they need without conflicts.
    instructions: int  #: the instructions of the access.
    counted: int  #: those that were looked at: all, unless there are very many.
    at: tuple[int, ...]  #: the coordinate of the first lane of the worst instruction.
    bank: int  #: the bank with the most words in the worst phase.
    collisions: tuple[Collision, ...]  #: these words, with the lanes that ask for each.
    #: the independent bits of word addresses and of banks in the worst phase if addresses are
    #: linear in the bits of the lane: then there are 2^(words - banks) ways. None if not.
    ranks: tuple[int, int] | None
    vector: int = 1  #: elements that a lane touches in an instruction.
    #: lanes, of all instructions that were looked at, whose vectors reach past the edge of the
    #: array: what they get there is not an element.
    past_edge: int = 0
    gpu: str = "nvidia"  #: the kind of GPU.
    #: the rounds if two phases with equal addresses did not merge; 0 if this changes neither them
    #: nor the ways.
    unmerged: int = 0

    @property
    def has_conflicts(self) -> bool:
        """Whether a bank has to give more than one word in a phase."""
        return self.ways > 1

    @property
    def verdict(self) -> str:
        """The answer in words: ``no conflicts`` or ``8-way conflict``."""
        return f"{self.ways}-way conflict" if self.has_conflicts else "no conflicts"

    @property
    def reason(self) -> str:
        """The reason for the number of ways."""
        if self.ranks is None:
            return "counted: addresses are not linear in the bits of the lane"
        words, banks = self.ranks
        equals = f"2^({words} - {banks}) = {self.ways}"
        return f"words have rank {words} in the bits of the lane, banks rank {banks}: {equals}"

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.verdict}: {self.access} of {self.layout}, {self.bits} bits", *self._lines()]
        )

    def _lines(self) -> list[str]:
        lines: list[str] = []
        if self.has_conflicts:
            words = _few([each.word for each in self.collisions])
            lanes = _few([each.lanes[0] for each in self.collisions])
            where = "" if self.instructions == 1 else f" at {self.at}"
            lines.append(f"  lanes {lanes} ask for words {words} of bank {self.bank}{where}")
        lines.append(f"  {self.reason}")
        lines.append(f"  {self.cost}")
        if self.unmerged:
            merged = "two phases merge, since lanes ask for equal addresses in pairs"
            other = count(self.unmerged, "wavefront")
            if self.unmerged == self.wavefronts:
                other = "as many wavefronts, in phases of fewer ways,"
            lines.append(f"  {merged}: {other} without this rule")
        if self.gpu != NVIDIA.name:
            lines.append(f"  on {self.gpu}, by rules that no GPU of ours confirmed")
        return lines + _past_edge(self.past_edge, self.vector)

    @property
    def cost(self) -> str:
        """The rounds of all instructions in words."""
        asked = count(self.counted, "instruction")
        if self.counted < self.instructions:
            asked = f"the first {asked} of {amount(self.instructions)}"
        rounds = count(self.wavefronts, "wavefront")
        fewest = "the fewest" if self.wavefronts == self.phases else f"{self.phases:,} at best"
        return f"{rounds} for {asked}: {fewest}"


def _past_edge(lanes: int, vector: int) -> list[str]:
    """Return the line of text about lanes whose vectors leave the array."""
    if not lanes:
        return []
    return [f"  past the array's edge: {count(lanes, 'lane')} with vectors of {vector} elements"]


def _few(numbers: list[int]) -> str:
    """Return numbers as text, those in the middle left out if there are many."""
    if len(numbers) <= _SHOWN:
        return listed([*map(str, numbers)])
    return f"{', '.join(map(str, numbers[: _SHOWN - 1]))}, … {numbers[-1]}"


def conflicts_of(
    m: IndexMap, access: Access, bits: int, at: Start, memory: SharedMemory = NVIDIA
) -> BankConflicts:
    """Return what an access of a layout in shared memory costs."""
    if not has_numpy() and isinstance(access, Numbered) and memory is NVIDIA:
        return _by_lane(m, access, bits, at)
    requests = access.requests(m.shape, bits, at)
    addresses = addresses_of(m, requests, bits, access)
    order, phase_lanes, banks = memory.phases(addresses, access)
    served = Addresses(addresses.first[:, order], addresses.active[:, order], addresses.width)
    rounds = rounds_of(served, phase_lanes, banks)
    totals = int(rounds.sum()), int((rounds > 0).sum())
    kept = len(requests.coordinates)
    asked: PhaseLanes = {}
    if totals[0]:
        worst, phase = map(int, np.unravel_index(rounds.argmax(), rounds.shape))
        inside = (np.arange(len(order)) // phase_lanes[worst] == phase) & served.active[worst]
        first = requests.coordinates[worst * kept // len(addresses.first)].tolist()
        starts = addresses.first[worst].tolist()
        asked = {k: (starts[k], tuple(first[k])) for k in order[inside].tolist()}
    past = requests.past_edge(known(m.recipe.shape))
    width = addresses.width
    found = Counted(*totals, requests.total, kept, asked, width, requests.vector, past, banks)
    apart = rounds_of(addresses, np.minimum(phase_lanes, ROUND // max(width, WORD)), banks)
    report = replace(_report(m, access, bits, found), gpu=memory.name)
    most = int(apart.max(initial=0))
    return _apart(report, int(apart.sum()), most) if memory is NVIDIA else report


def _apart(report: BankConflicts, rounds: int, ways: int) -> BankConflicts:
    """Return the report with the rounds of phases that do not merge, if this changes anything."""
    is_same = (rounds, ways) == (report.wavefronts, report.ways)
    return replace(report, unmerged=0 if is_same else rounds)


PhaseLanes: TypeAlias = dict[int, tuple[int, tuple[int, ...]]]
"""The lanes of a phase: the first byte and the first element of each."""


class Counted(NamedTuple):
    """The rounds and phases of an access, its instructions, and the lanes of a worst phase.

    A lane has pieces of ``width`` bytes; the last two are those of the answer.
    """

    rounds: int
    phases: int
    total: int
    kept: int
    worst: PhaseLanes
    width: int
    vector: int
    past_edge: int
    banks: int = BANKS


def _report(m: IndexMap, access: Access, bits: int, found: Counted) -> BankConflicts:
    """Return what an access costs, and why."""
    worst, width = found.worst, found.width
    counts = (found.rounds, found.phases, found.total, found.kept)
    tail = (found.vector, found.past_edge)
    head = (str(access), m.source or str(m.shape), bits)
    if not worst:
        return BankConflicts(*head, 1, *counts, (), 0, (), (0, 0), *tail)
    by_bank = _by_bank(worst, width, found.banks)
    bank = max(sorted(by_bank), key=lambda b: len(by_bank[b]))
    lanes_of = sorted(by_bank[bank].items())
    collisions = tuple(Collision(w, tuple(lanes), worst[lanes[0]][1]) for w, lanes in lanes_of)
    at = next(at for _, at in worst.values())
    ranks = _ranks([start for start, _ in worst.values()], width, found.banks)
    return BankConflicts(*head, len(collisions), *counts, at, bank, collisions, ranks, *tail)


def _by_bank(asked: PhaseLanes, width: int, banks: int = BANKS) -> dict[int, dict[int, list[int]]]:
    """Return the words that each bank gives, and the lanes of each word."""
    found: dict[int, dict[int, list[int]]] = {}
    for lane, (start, _) in asked.items():
        for word in range(start // WORD, start // WORD + max(1, width // WORD)):
            found.setdefault(word % banks, {}).setdefault(word, []).append(lane)
    return found


def _by_lane(m: IndexMap, access: Numbered, bits: int, at: Start) -> BankConflicts:
    """Return the same without NumPy, lane by lane."""
    numbering = access.numbering(known(m.recipe.shape), bits, at)
    kept, lanes = min(numbering.total, ACCESS_INSTRUCTIONS), access.lanes
    every = _lanes(m, access, bits, numbering, kept * lanes)
    width = max(8, numbering.vector * bits)
    piece = alignment(width) // 8
    rounds = phases = most = 0
    apart = list[int]()
    worst: PhaseLanes = {}
    for k in range(0, kept * lanes, lanes):
        for step in range(0, width // 8, piece):
            here = ((lane, every.get(k + lane)) for lane in range(lanes))
            asked = {lane: (x[0] + step, x[1]) for lane, x in here if x is not None}
            size, plain = (
                _phase_lanes(asked, lanes, piece, access),
                min(BANKS, ROUND // max(piece, WORD)),
            )
            for begin in range(0, lanes, size):
                own = _phase(asked, begin, size)
                ways = _ways(own, piece)
                rounds, phases = rounds + ways, phases + (ways > 0)
                if ways > most:
                    most, worst = ways, own
            apart += [_ways(_phase(asked, begin, plain), piece) for begin in range(0, lanes, plain)]
    ends = (at[-1] + numbering.vector for _, at in every.values())
    past = sum(end > m.shape[-1] for end in ends)
    counts = (rounds, phases, numbering.total, kept)
    report = _report(m, access, bits, Counted(*counts, worst, piece, numbering.vector, past))
    return _apart(report, sum(apart), max(apart, default=0))


def _phase(asked: PhaseLanes, begin: int, size: int) -> PhaseLanes:
    return {lane: x for lane, x in asked.items() if begin <= lane < begin + size}


def _ways(asked: PhaseLanes, width: int) -> int:
    return max(map(len, _by_bank(asked, width).values()), default=0)


def _lanes(m: IndexMap, access: Access, bits: int, numbering: Numbering, count: int) -> PhaseLanes:
    """Return what each lane asks for, by its number; errors as of ``addresses_of``."""
    place, start, _, vector = numbering
    coordinate, active = place(Column(range(start, start + count)))
    *others, last = coordinate
    first = filled(offset_of(m.recipe, coordinate, 0), count)
    places = list(zip(*(x.values for x in coordinate), strict=True))
    for step in range(1, vector):
        inside = active & (last + step < m.shape[-1])
        there = filled(offset_of(m.recipe, [*others, last + step * inside], 0), count)
        for k in compress(range(count), inside.values):
            if there[k] != first[k] + step:
                raise no_vector(m, access, vector, places[k])
    own = [*compress(range(count), active.values)]
    for k in own:
        if first[k] * bits % alignment(vector * bits):
            raise no_vector(m, access, vector, places[k])
    return {k: (first[k] * bits // 8, places[k]) for k in own}


def _phase_lanes(asked: PhaseLanes, lanes: int, width: int, access: Access) -> int:
    """Return the lanes of a phase, as :func:`phases_of` does for many instructions."""
    size = min(BANKS, ROUND // max(width, WORD))
    if not access.merges_equal_pairs or size == BANKS:
        return size

    def agrees(flip: int) -> bool:
        pairs = ((asked[k], asked.get(min(k ^ flip, lanes - 1))) for k in asked)
        return all(other is None or mine[0] == other[0] for mine, other in pairs)

    return 2 * size if agrees(1) or agrees(2) else size


def _ranks(first: list[int], width: int, banks: int) -> tuple[int, int] | None:
    """Return the ranks of words and banks in the bits of the lane; None if they are not linear."""
    lanes = len(first)
    if lanes & (lanes - 1):
        return None
    start = first[0]
    columns = [first[1 << k] ^ start for k in range(lanes.bit_length() - 1)]
    if any(x ^ start != bases.apply(columns, lane) for lane, x in enumerate(first)):
        return None
    words = [column // WORD for column in columns]
    words += [1 << k for k in range(max(1, width // WORD).bit_length() - 1)]
    return bases.rank(words), bases.rank(word % banks for word in words)


_FREE_SHOWN: Final = 6  # remainders that a text lists
_POWERS: Final = tuple(1 << k for k in range(11))
_ROOM: Final = 1 << 20  # a size for those that are names, when lanes are placed


@frozen
class BankFormula(Displayed):
    """The ways of an access in shared memory for every value of a symbolic pitch."""

    json_keys: ClassVar = (
        *("verdict", "access", "layout", "bits", "pitch", "formula", "ways", "least"),
        *("vector", "past_edge"),
    )

    access: str  #: the access in words.
    layout: str  #: the layout in shared memory.
    bits: int  #: bits of an element.
    pitch: str  #: the size that decides, as text; it is a whole number.
    #: the ways as a formula of the pitch; None if no greatest common divisor gives them.
    formula: str | None
    ways: tuple[int, ...]  #: the ways for each remainder of the pitch, divided by their number.
    least: int  #: the smallest pitch for which this holds; smaller ones share words.
    vector: int  #: elements that a lane touches in an instruction.
    past_edge: int  #: lanes whose vectors reach past the edge of the array.
    _map: IndexMap
    _access: Access
    _memory: SharedMemory

    def at(self, /, **sizes: int) -> BankConflicts:
        """Return what the access costs for values of the sizes.

        Raises:
            ShapeError: unless each symbolic size has a value, and no other name.
        """
        return conflicts_of(self._map.at(**sizes), self._access, self.bits, None, self._memory)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if len(set(self.ways)) == 1:
            return "no conflicts" if self.ways[0] == 1 else f"{self.ways[0]}-way conflict"
        if self.formula is not None:
            return f"{self.formula}-way conflict"
        free = [str(k) for k, ways in enumerate(self.ways) if ways == 1]
        if not free:
            return f"{min(self.ways)}-way to {max(self.ways)}-way conflict"
        which = (
            " or ".join(free) if len(free) < _FREE_SHOWN else f"{', '.join(free[:3])}, … {free[-1]}"
        )
        return f"no conflicts if {self.pitch} % {len(self.ways)} is {which}"

    def __str__(self) -> str:
        head = f"{self.verdict}: {self.access} of {self.layout}, {self.bits} bits"
        lines = [head]
        if self.formula is not None and len(set(self.ways)) > 1:
            lines.append(f"  no conflicts if {self.formula} = 1")
        if self.least > 1:
            lines.append(f"  for {self.pitch} from {self.least} on")
        return "\n".join(lines + _past_edge(self.past_edge, self.vector))


def formula_of(
    m: IndexMap, access: Access, bits: int, memory: SharedMemory = NVIDIA
) -> BankFormula:
    """Return the ways of an access, from the start of the tile on, for every pitch."""
    shape = tuple(n if isinstance(n, int) else _ROOM for n in m.recipe.shape)
    requests = access.requests(shape, bits, (0,) * len(shape))
    pitch, factors, rests = _by_pitch(m, requests, access)
    aligned = alignment(requests.vector * bits)
    if (factors * bits % aligned).any() or (rests * bits % aligned).any():
        unit = aligned // gcd(aligned, bits)
        raise UnsupportedError(
            f"{access}: lanes are not aligned for every value of {pitch}",
            f"a lane begins at a multiple of {unit} elements, {aligned // 8} bytes",
            f'give for example assuming="N % {unit} == 0" for the size of a row',
        )
    shared = reduce(gcd, factors.reshape(-1).tolist(), 0)
    whole = 16 * ROUND if memory.served else 8 * ROUND  # bits of a round of all banks
    period = whole // gcd(whole, bits * shared)
    words_apart = int(rests.max() - rests.min()) + requests.vector + 8 * WORD
    start = -(-words_apart // period) * period

    def ways(value: int) -> int:
        addresses = pieces_of(factors * value + rests, requests, bits)
        order, sizes, banks = memory.phases(addresses, access)
        served = Addresses(addresses.first[:, order], addresses.active[:, order], addresses.width)
        return int(rounds_of(served, sizes, banks).max(initial=1))

    found = tuple(ways(start + k) for k in range(period))
    least = start
    while least > 1 and ways(least - 1) == found[(least - 1) % period]:
        least -= 1
    formula = _as_divisor(found, str(pitch))
    past = requests.past_edge(shape)
    head = (str(access), m.source, bits, str(pitch), formula, found, least)
    return BankFormula(*head, requests.vector, past, m, access, memory)


def _by_pitch(m: IndexMap, requests: LaneRequests, access: Access) -> tuple[Int, Array, Array]:
    """Return a size, and for each lane its factor and the rest: offset = factor * size + rest."""
    factors, rests = (np.zeros(requests.active.shape, np.int64) for _ in range(2))
    elements = [requests.element(k) for k in range(requests.vector)]
    offsets = {
        lane: _vector_at(m, [tuple(map(int, at[lane])) for at in elements], access)
        for lane in map(tuple, np.argwhere(requests.active).tolist())
    }
    constants = {
        lane: x if isinstance(x, int) else sum(c for term, c in x.terms if not term)
        for lane, x in offsets.items()
    }
    symbolic = {lane: x - constants[lane] for lane, x in offsets.items()}
    nothing: Int = 0
    pitch = reduce(common_divisor, {*symbolic.values()}, nothing)
    if isinstance(pitch, SizeExpr):  # 4 * (N//4) counts in units of N//4
        pitch = pitch // gcd(*(c for _, c in pitch.terms))
    for lane, x in symbolic.items():
        factor = x // pitch if isinstance(pitch, SizeExpr) else 0
        if not isinstance(factor, int):
            raise UnsupportedError(
                f"{access}: lanes are not whole numbers of one size apart, but {x} elements",
                "ways are a formula of one pitch",
                "give numbers for some of the sizes",
            )
        factors[lane], rests[lane] = factor, constants[lane]
    return pitch, factors, rests


def _vector_at(m: IndexMap, places: Sequence[tuple[int, ...]], access: Access) -> Int:
    """Return the offset of a lane's first element; the others must follow it."""
    first: Int
    first, *others = (offset_of(m.recipe, at, 0) for at in places)
    if any(there - first != k for k, there in enumerate(others, 1)):
        raise no_vector(m, access, len(places), places[0])
    return first


def _as_divisor(ways: tuple[int, ...], pitch: str) -> str | None:
    """Return ways by remainder as a greatest common divisor of the pitch, if they are one.

    >>> _as_divisor((4, 1, 2, 1), "N"), _as_divisor((2, 1, 1, 2), "N")
    ('gcd(N, 4)', None)
    """
    for divisor, factor, end in product(_POWERS, _POWERS, _POWERS):
        if all(max(1, gcd(factor * k, end) // divisor) == n for k, n in enumerate(ways)):
            inner = pitch if factor == 1 else f"{factor}*{pitch}"
            text = f"gcd({inner}, {end})"
            return text if divisor == 1 else f"max(1, {text}/{divisor})"
    return None
