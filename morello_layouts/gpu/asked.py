"""An access of a tile, ready to be counted in many placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from morello_layouts.gpu.access import Access, Array, Requests
from morello_layouts.gpu.banks import BANKS, ROUND, WORD, phases_of, pieces_of, rounds_of
from morello_layouts.gpu.candidates import Candidate
from morello_layouts.lazy import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Instructions of an access of a tile.

    Attributes:
        requests: what they ask for.
        bits: bits of an element.
        row: the row of each lane's first element, all dimensions but the last being rows.
        index: its row-major index.
        phase_lanes: the lanes of a phase in each instruction; equal addresses merge phases.
    """

    requests: Requests
    bits: int
    row: Array
    index: Array
    phase_lanes: Array

    @staticmethod
    def of(access: Access, shape: tuple[int, ...], bits: int) -> Asked:
        """Return an access of a tile."""
        requests = access.requests(shape, bits, None)
        at = np.moveaxis(requests.coordinates, -1, 0)
        row = np.zeros_like(at[-1])
        for x, n in zip(at[:-1], shape[:-1], strict=True):
            row = row * n + x
        index = row * shape[-1] + at[-1]
        lanes = phases_of(pieces_of(index, requests, bits), access)
        parts = len(lanes) // max(1, len(index))
        return Asked(requests, bits, row, index, lanes[::parts])

    def sample(self, most: int) -> Asked:
        """Return a few of its instructions: the first ones, and others at random."""
        count = len(self.index)
        if count <= most:
            return self
        half = most // 2
        others = np.random.default_rng(1).choice(np.arange(half, count), half, replace=False)
        which = np.concatenate([np.arange(half), np.sort(others)])
        of = self.requests
        few = replace(of, coordinates=of.coordinates[which], active=of.active[which])
        rest = (each[which] for each in (self.row, self.index, self.phase_lanes))
        return Asked(few, self.bits, *rest)

    def rounds(self, candidates: Sequence[Candidate]) -> Array:
        """Return the rounds of all phases in each placement: placements by phases."""
        column = self.requests.coordinates[..., -1]
        offsets = [each.offsets(self.row, column) for each in candidates]
        count = len(candidates)
        active = np.tile(self.requests.active, (count, 1))
        every = replace(self.requests, active=active)
        addresses = pieces_of(np.concatenate(offsets), every, self.bits)
        parts = len(addresses.first) // max(1, len(active))
        lanes = np.tile(np.repeat(self.phase_lanes, parts), count)
        return rounds_of(addresses, lanes).reshape(count, -1)

    def least_ways(self, vector: int) -> int:
        """Return the ways that every placement has which moves whole vectors of a row.

        A word keeps its place in its vector, and few banks have words of that place: of vectors of
        four words every fourth. So we count the words of a phase at one place.
        """
        words = vector * self.bits // (8 * WORD)
        if words <= 1 or words * 8 * WORD != vector * self.bits or BANKS % words:
            return 1
        column = self.requests.coordinates[..., -1]
        number = self.row * (int(column.max(initial=0)) // vector + 1) + column // vector
        spread = pieces_of(number * vector + column % vector, self.requests, self.bits)
        whole, place = np.divmod(spread.first, words * WORD)
        asked = replace(spread, first=whole * ROUND + place)
        lanes = np.repeat(self.phase_lanes, len(spread.first) // max(1, len(number)))
        return -(-int(rounds_of(asked, lanes).max(initial=1)) // (BANKS // words))
