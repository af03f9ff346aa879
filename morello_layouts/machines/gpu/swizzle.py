"""The swizzle, or padding, of a tile in shared memory with the fewest bank conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import lcm, prod
from typing import ClassVar, Literal

from morello_layouts.core.description import count
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import (
    SWIZZLE_CHECKED,
    SWIZZLE_GLANCE,
    SWIZZLE_SAMPLE,
    SWIZZLE_TRIED,
)
from morello_layouts.core.recipe import linear_index
from morello_layouts.machines.gpu.access import WIDEST, Access, Array, Fragment, LaneRequests, Sizes
from morello_layouts.machines.gpu.phases import WORD, SharedMemory, alignment, pieces_of, rounds_of
from morello_layouts.machines.gpu.placements import (
    MapSearch,
    PlacedTile,
    Space,
    extended_to_placement,
    linear,
    log2,
    lost_rank,
    row_echelon,
    row_xor,
    spaces_of,
    swizzle,
)


@frozen(eq=False)
class SampledAccess:
    """Instructions of an access of a tile."""

    requests: LaneRequests  #: what they ask for.
    bits: int  #: bits of an element.
    row: Array  #: the row of each lane's first element, all dimensions but the last being rows.
    index: Array  #: its row-major index.
    phase_lanes: Array  #: the lanes of a phase in each instruction; equal addresses merge phases.
    banks: int  #: banks that serve a phase.

    @staticmethod
    def of(access: Access, shape: Sizes, bits: int, memory: SharedMemory) -> SampledAccess:
        """Return an access of a tile; lanes of a phase are neighbours in it."""
        requests = access.requests(shape, bits, None)
        at = np.moveaxis(requests.coordinates, -1, 0)
        row = linear_index([*at[:-1]], shape[:-1], np.zeros_like(at[-1]))
        index = row * shape[-1] + at[-1]
        order, lanes, banks = memory.phases(pieces_of(index, requests, bits), access)
        parts = len(lanes) // max(1, len(index))
        coordinates, active = requests.coordinates[:, order], requests.active[:, order]
        requests = replace(requests, coordinates=coordinates, active=active)
        row, index = row[:, order], index[:, order]
        return SampledAccess(requests, bits, row, index, lanes[::parts], banks)

    def sample(self, most: int) -> SampledAccess:
        """Return a few of its instructions: the first ones, and others at random."""
        count = len(self.index)
        if count <= most:
            return self
        half = most // 2
        others = np.random.default_rng(1).choice(np.arange(half, count), half, replace=False)
        which = np.concatenate([np.arange(half), np.sort(others)])
        of = self.requests
        few = replace(of, coordinates=of.coordinates[which], active=of.active[which])
        row, index, lanes = (x[which] for x in (self.row, self.index, self.phase_lanes))
        return SampledAccess(few, self.bits, row, index, lanes, self.banks)

    def rounds(self, candidates: Sequence[PlacedTile]) -> Array:
        """Return the rounds of all phases in each placement: placements by phases."""
        column = self.requests.coordinates[..., -1]
        offsets = [each.offsets(self.row, column) for each in candidates]
        count = len(candidates)
        active = np.tile(self.requests.active, (count, 1))
        every = replace(self.requests, active=active)
        addresses = pieces_of(np.concatenate(offsets), every, self.bits)
        parts = len(addresses.first) // max(1, len(active))
        lanes = np.tile(np.repeat(self.phase_lanes, parts), count)
        return rounds_of(addresses, lanes, self.banks).reshape(count, -1)

    def least_ways(self, vector: int) -> int:
        """Return the ways that every placement has which moves whole vectors of a row.

        A word keeps its place in its vector, and few banks have words of that place: of vectors of
        four words every fourth. So we count the words of a phase at one place.
        """
        words = vector * self.bits // (8 * WORD)
        if words <= 1 or words * 8 * WORD != vector * self.bits or self.banks % words:
            return 1
        column = self.requests.coordinates[..., -1]
        number = self.row * (int(column.max(initial=0)) // vector + 1) + column // vector
        spread = pieces_of(number * vector + column % vector, self.requests, self.bits)
        whole, place = np.divmod(spread.first, words * WORD)
        asked = replace(spread, first=whole * self.banks * WORD + place)
        lanes = np.repeat(self.phase_lanes, len(spread.first) // max(1, len(number)))
        return -(-int(rounds_of(asked, lanes, self.banks).max(initial=1)) // (self.banks // words))


@dataclass(frozen=True, order=True)
class Score:
    """The cost of a placement, the most important part first."""

    ways: int  #: the rounds of the worst phase.
    rounds: int  #: the rounds of the phases of a few instructions.
    padding: int  #: elements of padding.


@dataclass
class SwizzleSearch:
    """A tile and its accesses, and what was tried."""

    shape: tuple[int, ...]  #: the sizes of the tile.
    bits: int  #: bits of an element.
    asked: tuple[SampledAccess, ...]  #: the accesses.
    tried: int = 0  #: placements that were tried.
    #: whether no linear placement has the fewest ways that accesses allow.
    is_searched: bool = False

    @cached_property
    def unit(self) -> int:
        """Elements to a multiple of which every vector begins."""
        units = (alignment(each.requests.vector * self.bits) for each in self.asked)
        return lcm(*(lcm(unit, self.bits) // self.bits for unit in units))

    @cached_property
    def plain(self) -> PlacedTile:
        """Rows one after the other, each beginning at a multiple of the unit."""
        return PlacedTile(self.shape, -(-self.shape[-1] // self.unit) * self.unit)

    @cached_property
    def base(self) -> int | None:
        """Bits of an offset that a swizzle must keep; None if vectors are not powers of two."""
        return None if self.vector & (self.vector - 1) else log2(self.vector)

    @cached_property
    def round(self) -> int:
        """Bits that the banks give at a time: of all accesses the most."""
        return max(each.banks for each in self.asked) * 8 * WORD

    @cached_property
    def end(self) -> int:
        """Bits of an offset that tell banks and bytes apart."""
        return max(0, log2(self.round // self.bits))

    def pitches(self) -> list[PlacedTile]:
        """Return rows with more and more padding, up to that of all banks."""
        most = max(1, self.round // (self.bits * self.unit))
        return [PlacedTile(self.shape, self.plain.pitch + k * self.unit) for k in range(most + 1)]

    @cached_property
    def sample(self) -> tuple[SampledAccess, ...]:
        """A few instructions of each access."""
        return tuple(each.sample(SWIZZLE_SAMPLE) for each in self.asked)

    @cached_property
    def glance(self) -> tuple[SampledAccess, ...]:
        """Very few instructions of each access."""
        return tuple(each.sample(SWIZZLE_GLANCE) for each in self.asked)

    def scores(
        self, candidates: Sequence[PlacedTile], accesses: Sequence[SampledAccess] | None = None
    ) -> list[Score]:
        """Return the cost of placements, from a few instructions of each access."""
        if not candidates:
            return []
        every = [each.rounds(candidates) for each in accesses or self.sample]
        ways = np.array([rounds.max(axis=1, initial=1) for rounds in every]).max(axis=0)
        rounds = np.array([rounds.sum(axis=1) for rounds in every]).sum(axis=0)
        costs = zip(ways.tolist(), rounds.tolist(), candidates, strict=True)
        return [Score(way, sums, each.padding) for way, sums, each in costs]

    def hopeful(self, candidates: Sequence[PlacedTile], most: int) -> list[PlacedTile]:
        """Return the placements that do not have more ways at a glance."""
        self.tried += len(candidates)
        found = zip(candidates, self.scores(candidates, self.glance), strict=True)
        return [each for each, cost in found if cost.ways <= most]

    def ways(self, candidate: PlacedTile) -> tuple[int, ...]:
        """Return the ways of each access in a placement, from all of its instructions."""
        is_linear = self.spaces is not None and not candidate.padding
        every = self.sample if is_linear else self.asked  # if linear, all are alike
        return tuple(int(each.rounds([candidate]).max(initial=1)) for each in every)

    def rounds(self, candidate: PlacedTile) -> int:
        """Return the rounds of all instructions that are looked at."""
        return sum(int(each.rounds([candidate]).sum()) for each in self.asked)

    def is_least(self, ways: Sequence[int]) -> bool:
        """Whether no placement that keeps vectors whole has fewer ways for an access."""
        return all(n <= least for n, least in zip(ways, self.least, strict=True))

    def best(self) -> tuple[PlacedTile, tuple[int, ...]]:
        """Return the best placement, and the ways of each access."""
        best: PlacedTile = self.plain
        (score,), ways = self.scores([best]), self.ways(best)
        score = replace(score, ways=max(ways))
        for group in self.groups():
            if self.is_least(ways):
                break
            kept = self.hopeful(group, score.ways)
            costs = sorted(zip(self.scores(kept), range(len(kept)), strict=True))
            for cost, k in costs[:SWIZZLE_CHECKED]:
                if cost < score and not self.is_least(ways):
                    found = self.ways(kept[k])
                    exact = replace(cost, ways=max(found))
                    if exact < score:
                        best, score, ways = kept[k], exact, found
        return best, ways

    def padded(self) -> int | None:
        """Return the smallest pitch with as few ways as can be; None if there is none."""
        for each in self.hopeful(self.pitches(), max(self.least, default=1)):
            if self.is_least(self.ways(each)):
                return each.pitch
        return None

    @cached_property
    def least(self) -> tuple[int, ...]:
        """The fewest ways of each access: words at one place of a vector have few banks."""
        return tuple(each.least_ways(self.vector) for each in self.sample)

    @cached_property
    def vector(self) -> int:
        """Elements that stay together: those of the widest vector, and of the unit."""
        return lcm(self.unit, *(each.requests.vector for each in self.asked))

    def groups(self) -> Iterator[list[PlacedTile]]:
        """Yield placements, the simplest and those without padding first."""
        spaces = self.spaces
        if spaces is not None:
            yield from ([each] for each in self._linear(spaces))
        if self.base is not None:
            pitch = self.plain.pitch
            every = [*self._row_xors(pitch), *self._swizzles(pitch)]
            yield [
                *sorted(every, key=lambda each: (each.padding, each.flips[0].bits))[:SWIZZLE_TRIED]
            ]
        rows = self.pitches()
        both = (each for row in rows for each in self._row_xors(row.pitch))
        yield [*rows, *islice(both, SWIZZLE_TRIED // 4)] if self.base is not None else [*rows]

    @cached_property
    def spaces(self) -> tuple[Space, ...] | None:
        """The spaces that phases ask for, in bits of words; None if not all is linear."""
        sizes = (*self.shape, self.bits)
        if any(n & (n - 1) for n in sizes) or self.bits > 128 or self.base is None:
            return None
        if prod(sizes) < 8 * WORD or len({each.banks for each in self.asked}) > 1:
            return None  # less than a word, or maps to other banks
        found: set[Space] = set()
        for each in self.sample:
            some = spaces_of(each.index, each.phase_lanes, each.requests)
            if some is None:
                return None
            found |= {row_echelon([vector >> self.below for vector in space]) for space in some}
        return tuple(sorted(found, key=lambda space: (-len(space), space)))

    @cached_property
    def below(self) -> int:
        """Bits of an offset that count elements of one word."""
        return max(0, log2(8 * WORD) - log2(self.bits))

    def _linear(self, spaces: tuple[Space, ...]) -> Iterator[PlacedTile]:
        """Yield a linear placement with few conflicts, the simplest first."""
        assert self.base is not None
        bits, banks = log2(prod(self.shape)) - self.below, self.end - self.below
        search = MapSearch(spaces, bits, banks, max(0, min(self.base, self.end) - self.below))
        every = [
            each for each in self._swizzles(self.plain.pitch) if each.flips[0].factor >> self.below
        ]
        self.tried += len(every)
        lost = {each: self._lost(each, spaces, bits) for each in every}
        simplest = min(
            every,
            key=lambda each: (lost[each], each.flips[0].bits, each.flips[0].factor),
            default=None,
        )
        if simplest is not None:
            yield simplest
        found = search.by_rows(search.least) or search.anyhow(search.least)
        self.is_searched = found is None and not search.is_exhausted
        self.tried += search.nodes
        if found is None:
            found = _few_lost(replace(search, nodes=0))
        if found is not None:
            words = (place << self.below for place in extended_to_placement(found, banks))
            yield linear(self.shape, (*(1 << k for k in range(self.below)), *words))

    def _lost(self, each: PlacedTile, spaces: tuple[Space, ...], bits: int) -> tuple[int, int]:
        """Return the most dimensions that a swizzle loses of a space, and its rounds in all."""
        units = (1 << k for k in range(self.below, self.below + bits))
        places = (unit ^ sum(flip.of(0, unit) for flip in each.flips) for unit in units)
        images = [(place & (1 << self.end) - 1) >> self.below for place in places]
        deficits = [lost_rank(space, images) for space in spaces]
        return max(deficits, default=0), sum(1 << each for each in deficits)

    def _swizzles(self, pitch: int) -> Iterator[PlacedTile]:
        """Yield CuTe's swizzles that move vectors between banks."""
        total = (prod(self.shape[:-1]) * pitch - 1).bit_length()
        for bits, base in self._blocks():
            for shift in range(bits, total - base):
                yield swizzle(self.shape, pitch, bits, base, shift)

    def _row_xors(self, pitch: int) -> Iterator[PlacedTile]:
        """Yield exclusive ors of blocks of a row with bits of the row."""
        rows = (prod(self.shape[:-1]) - 1).bit_length()
        for bits, base in self._blocks():
            if pitch % (1 << base + bits) == 0:
                for shift in range(rows):
                    yield row_xor(self.shape, pitch, bits, base, shift)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the bits of an offset that may change: how many, and how many lie below them."""
        assert self.base is not None
        for bits in range(1, self.end - self.base + 1):
            for base in range(self.base, self.end - bits + 1):
                yield bits, base

    def reason(self, is_least: bool) -> str:
        """Return why no placement is better, or what was tried."""
        if is_least and max(self.least, default=1) == 1:
            return "nothing is better: each phase takes one round"
        if is_least:
            size = self.vector * self.bits // 8
            return f"nothing is better: vectors of {size} bytes stay whole, so banks are too few"
        if self.is_searched:
            return "no linear placement is better: the search was complete"
        return f"the best of {count(self.tried, 'placement')}: swizzles, and padding of the rows"


def _few_lost(search: MapSearch) -> tuple[int, ...] | None:
    """Return a map to banks that loses as little more than it must as can be found."""
    for more in range(1, search.banks + 1):
        found = search.by_rows([n + more for n in search.least])
        if found is not None or search.is_exhausted:
            return found
    return None


@frozen
class BestSwizzle(Displayed):
    """A placement of a tile with as few bank conflicts as can be."""

    json_keys: ClassVar = ("verdict", "*", "padding_bytes")

    shape: tuple[int, ...]  #: the sizes of the tile.
    bits: int  #: bits of an element.
    accesses: tuple[str, ...]  #: the accesses in words.
    ways: tuple[int, ...]  #: the ways of each access.
    plain_ways: tuple[int, ...]  #: their ways in rows without swizzle and padding.
    padding: int  #: elements of padding in the buffer.
    pitch: int  #: elements from one row to the next.
    layout: PlacedTile  #: the placement as a layout, which every function takes.
    cute: str | None  #: the placement in CuTe's notation, on elements; None if it has none.
    triton: str | None  #: the placement as an attribute of Triton; None if it has none.
    cuda: str  #: the offset of ``row`` and ``column`` in C.
    reason: str  #: why no placement is better, or what was tried.
    #: whether it is known that none is better, among all linear placements if sizes are powers of
    #: two, and among those of the reason if not.
    is_best: bool
    tried: int  #: the placements that were tried.
    #: the smallest pitch with as few ways as vectors that stay whole allow, if there is one:
    #: without conflicts unless an access is down a column and another one is wide.
    padded: int | None
    gpu: str  #: the GPU whose shared memory it is.

    @property
    def padding_bytes(self) -> int:
        """Bytes of padding in the buffer."""
        return -(-self.padding * self.bits // 8)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        worst = max(self.ways)
        return "no conflicts" if worst == 1 else f"{worst}-way conflict"

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        told = f" on {self.gpu}, by rules that no GPU of ours confirmed"
        where = "" if self.gpu == "nvidia" else told
        lines = [f"{self.verdict}: {sizes} elements of {self.bits} bits{where}"]
        each = zip(self.accesses, self.plain_ways, self.ways, strict=True)
        lines += [
            f"  {access}: {count(after, 'way')}{'' if after == before else f' instead of {before}'}"
            for access, before, after in each
        ]
        lines.append(f"  offset: {self.cuda}")
        lines += [
            f"  {name}: {text}"
            for name, text in (("CuTe", self.cute), ("Triton", self.triton))
            if text
        ]
        if self.padding:
            lines.append(f"  {count(self.padding_bytes, 'byte')} of padding")
        lines.append(f"  {self.reason}")
        return "\n".join(lines)


def best_swizzle_of(
    shape: tuple[int, ...],
    bits: int,
    accesses: Sequence[Access],
    written: Callable[[PlacedTile, Literal["cute", "triton"]], str | None],
    memory: SharedMemory,
) -> BestSwizzle:
    """Return the placement of a tile with the fewest conflicts and, among those, least padding.

    Args:
        shape: the sizes of the tile.
        bits: bits of an element.
        accesses: what warps read and write.
        written: returns the text of a placement in a notation, or None if it has none.
        memory: the shared memory.
    """
    search, accesses = _search(shape, bits, accesses, memory), tuple(accesses)
    best, ways = search.best()
    for widest in (8, 4, 2, 1) if max(ways) > 1 and not memory.served else ():
        narrow = _narrowed(accesses, widest)
        if narrow == accesses:
            continue
        # Narrower vectors of a fragment take more instructions, but not more rounds.
        other = _search(shape, bits, narrow, memory)
        found, fewer = other.best()
        if max(fewer) < max(ways) and other.rounds(found) <= search.rounds(best):
            search, accesses, best, ways = other, narrow, found, fewer
    is_least, cute = search.is_least(ways), written(best, "cute")
    return BestSwizzle(
        shape,
        bits,
        tuple(str(access) for access in accesses),
        ways,
        search.ways(search.plain),
        best.padding,
        best.pitch,
        replace(best, cute=cute),
        cute,
        written(best, "triton"),
        best.text,
        search.reason(is_least),
        is_least or search.is_searched,
        search.tried,
        search.padded(),
        memory.name,
    )


def _search(
    shape: tuple[int, ...], bits: int, accesses: Sequence[Access], memory: SharedMemory
) -> SwizzleSearch:
    asked = tuple(SampledAccess.of(access, shape, bits, memory) for access in accesses)
    return SwizzleSearch(shape, bits, asked)


def _narrowed(accesses: tuple[Access, ...], widest: int) -> tuple[Access, ...]:
    """Return accesses with fewer elements in the vectors of fragments."""
    return tuple(
        replace(each, widest=widest)
        if isinstance(each, Fragment) and widest < (each.widest or WIDEST)
        else each
        for each in accesses
    )
