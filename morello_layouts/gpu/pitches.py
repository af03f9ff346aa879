"""Bank conflicts as a formula of a symbolic pitch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd
from typing import ClassVar, Final

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr.sizes import Int, SizeExpr, common_divisor
from morello_layouts.gpu.access import Access, Array, Requests
from morello_layouts.gpu.banks import (
    ROUND,
    WORD,
    BankConflicts,
    alignment,
    conflicts_of,
    phases_of,
    pieces_of,
    rounds_of,
)
from morello_layouts.lazy import numpy as np
from morello_layouts.maps import IndexMap
from morello_layouts.plain import Displayed
from morello_layouts.recipe.readings import offset_of

_ROOM: Final = 1 << 20  # a size for those that are names, when lanes are placed
_SHOWN: Final = 6  # remainders that a text lists
_POWERS: Final = tuple(1 << k for k in range(11))


@dataclass(frozen=True, slots=True, repr=False)
class BankFormula(Displayed):
    """The ways of an access in shared memory for every value of a symbolic pitch.

    Attributes:
        access: the access in words.
        layout: the layout in shared memory.
        bits: bits of an element.
        pitch: the size that decides, as text; it is a whole number.
        formula: the ways as a formula of the pitch; None if they are no greatest common divisor.
        ways: the ways for each remainder of the pitch, divided by their number.
        least: the smallest pitch for which this holds; smaller ones share words.
    """

    json_keys: ClassVar = (
        *("verdict", "access", "layout", "bits", "pitch", "formula", "ways", "least"),
    )

    access: str
    layout: str
    bits: int
    pitch: str
    formula: str | None
    ways: tuple[int, ...]
    least: int
    _map: IndexMap
    _access: Access

    def at(self, /, **sizes: int) -> BankConflicts:
        """Return what the access costs for values of the sizes.

        Raises:
            ShapeError: unless each symbolic size has a value, and no other name.
        """
        return conflicts_of(self._map.at(**sizes), self._access, self.bits, None)

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
        which = " or ".join(free) if len(free) < _SHOWN else f"{', '.join(free[:3])}, … {free[-1]}"
        return f"no conflicts if {self.pitch} % {len(self.ways)} is {which}"

    def __str__(self) -> str:
        head = f"{self.verdict}: {self.access} of {self.layout}, {self.bits} bits"
        lines = [head]
        if self.formula is not None and len(set(self.ways)) > 1:
            lines.append(f"  no conflicts if {self.formula} = 1")
        if self.least > 1:
            lines.append(f"  for {self.pitch} from {self.least} on")
        return "\n".join(lines)


def formula_of(m: IndexMap, access: Access, bits: int) -> BankFormula:
    """Return the ways of an access, from the start of the tile on, for every pitch.

    Raises:
        UnsupportedError: if addresses depend on several sizes, or a vector is not aligned for some.
    """
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
    period = 8 * ROUND // gcd(8 * ROUND, bits * shared)
    words_apart = int(rests.max() - rests.min()) + requests.vector + 8 * WORD
    start = -(-words_apart // period) * period

    def ways(value: int) -> int:
        addresses = pieces_of(factors * value + rests, requests, bits)
        return int(rounds_of(addresses, phases_of(addresses, access)).max(initial=1))

    found = tuple(ways(start + k) for k in range(period))
    least = start
    while least > 1 and ways(least - 1) == found[(least - 1) % period]:
        least -= 1
    formula = _as_divisor(found, str(pitch))
    return BankFormula(str(access), m.source, bits, str(pitch), formula, found, least, m, access)


def _by_pitch(m: IndexMap, requests: Requests, access: Access) -> tuple[Int, Array, Array]:
    """Return a size, and for each lane its factor and the rest: offset = factor * size + rest."""
    factors, rests = (np.zeros(requests.active.shape, np.int64) for _ in range(2))
    offsets = {
        lane: _vector_at(m, tuple(map(int, requests.coordinates[0, lane])), requests.vector, access)
        for lane in np.flatnonzero(requests.active[0])
    }
    constants = {lane: _constant(x) for lane, x in offsets.items()}
    symbolic = {lane: x - constants[lane] for lane, x in offsets.items()}
    nothing: Int = 0
    pitch = reduce(common_divisor, symbolic.values(), nothing)
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
        factors[0, lane], rests[0, lane] = factor, constants[lane]
    return pitch, factors, rests


def _vector_at(m: IndexMap, at: tuple[int, ...], vector: int, access: Access) -> Int:
    """Return the offset of a lane's first element; the others must follow it."""
    first: Int = offset_of(m.recipe, at, 0)
    for k in range(1, vector):
        if offset_of(m.recipe, (*at[:-1], at[-1] + k), 0) - first != k:
            raise UnsupportedError(
                f"{access}: the {vector} elements at {at} of {m.source} are not one vector",
                "elements of a vector follow each other along the last dimension",
                "give a narrower access, or ask vector_width for the widest",
            )
    return first


def _constant(value: Int) -> int:
    return value if isinstance(value, int) else sum(c for term, c in value.terms if not term)


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
