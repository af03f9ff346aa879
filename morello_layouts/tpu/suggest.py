"""Dimension orders, foldings of adjacent dimensions and tiles of an array, by their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod
from typing import Final, NamedTuple, TypeAlias

from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.tpu.defaults import default_layout, fewest_rows, pairs, tiled
from morello_layouts.tpu.generations import LANES, Packing, packing, sizes_of
from morello_layouts.tpu.hints import hint_of
from morello_layouts.tpu.waste import Waste, waste
from morello_layouts.xla import XlaShape
from morello_layouts.xla.checks import LARGEST
from morello_layouts.xla.size import bytes_of

__all__ = ["Suggestion", "suggest"]

Groups: TypeAlias = tuple[tuple[int, ...], ...]

_MOST_DIMENSIONS: Final = 8  # of these there are 128 foldings


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One way to lay out an array.

    Attributes:
        shape: the array, with folded dimensions where it has some, and the layout.
        waste: its bytes, factor and padding.
        groups: for each dimension of ``shape`` the dimensions that are folded into it.
        changes: what differs from what the compiler does unasked: some of ``fold``, ``order``
            and ``tile``; none where nothing does.
        hint: what to write in the program, in words.

    >>> best = suggest("s32", (8388608, 8, 4), "v5e")[0]
    >>> print(best.shape, best.factor, best.changes)
    s32[8388608,8,4]{0,2,1:T(4,128)} 1.0 ()
    """

    shape: XlaShape
    waste: Waste
    groups: Groups
    changes: tuple[str, ...]
    hint: str

    @property
    def byte_size(self) -> int:
        """Bytes that XLA reserves.

        >>> suggest("f32", (3, 5), "v5e")[0].byte_size
        512
        """
        return self.waste.reserved_bytes

    @property
    def factor(self) -> float:
        """Bytes reserved over bytes of data.

        >>> suggest("f32", (4, 128), "v5e")[0].factor
        1.0
        """
        return self.waste.factor


class _Candidate(NamedTuple):
    """A candidate, in the order in which candidates rank.

    Few bytes come first; then what the compiler does unasked, another order, a folding, both, and
    last another tile; then the fewest folded dimensions, and the order that the compiler prefers.
    """

    bytes: int
    cost: int
    folded: int
    place: int
    groups: Groups
    pair: tuple[int, int] | None
    rows: int
    changes: tuple[str, ...]


def suggest(
    element_type: str, shape: Sequence[int], generation: str, *, limit: int | None = 10
) -> tuple[Suggestion, ...]:
    """Layouts of an array that cost the fewest bytes, the cheapest first.

    Tried are each folding of adjacent dimensions, for each of them every pair of minor and
    second-minor dimensions, and every tile of a power of two rows up to a whole vector register.
    Of layouts of as many bytes that which asks for the smallest change comes first.

    Args:
        element_type: XLA's name of it; one of :data:`TYPES`.
        shape: sizes in elements, dimension 0 first.
        generation: one of :data:`GENERATIONS`.
        limit: how many to return at most; None for all.

    Raises:
        LayoutError, UnsupportedError: as of :func:`default_layout`; and for more than eight
            dimensions.

    >>> for each in suggest("f32", (9, 1024), "v5e", limit=3):
    ...     print(each.shape, each.byte_size, each.changes)
    f32[9216]{0:T(1024)} 36864 ('fold',)
    f32[9,1024]{1,0:T(1,128)} 36864 ('tile',)
    f32[9,1024]{1,0:T(8,128)} 65536 ()
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise LayoutError(
            f"limit is {limit!r}",
            "it is a number of suggestions, or None for all of them",
            "give an int from 1",
        )
    kind = packing(element_type, generation)
    sizes = sizes_of(element_type, shape)
    if len(sizes) > _MOST_DIMENSIONS:
        raise UnsupportedError(
            f"the array has {len(sizes)} dimensions",
            f"the orders and foldings of at most {_MOST_DIMENSIONS} are tried",
            "fold some of them first",
        )
    candidates = sorted(_candidates(element_type, sizes, generation, kind))
    return tuple(
        _suggestion(each, element_type, sizes, generation, kind) for each in candidates[:limit]
    )


def _candidates(
    element_type: str, shape: tuple[int, ...], generation: str, kind: Packing
) -> Iterator[_Candidate]:
    by_sizes: dict[tuple[int, ...], Groups] = {}  # dimensions of 1 fold to one shape in many ways
    for groups in _foldings(len(shape)):
        sizes = _folded(shape, groups)
        if max(sizes, default=0) <= LARGEST:
            by_sizes.setdefault(sizes, groups)
    for sizes, groups in by_sizes.items():
        folded = len(shape) - len(groups)
        fold, cost = (("fold",), 2) if folded else ((), 0)
        chosen = default_layout(element_type, sizes, generation)
        if len(sizes) < 2 or 0 in sizes:
            yield _Candidate(chosen.byte_size, cost, folded, 0, groups, None, 0, fold)
            continue
        assert chosen.layout is not None
        for place, pair in enumerate(pairs(len(sizes))):
            is_chosen = pair == chosen.layout.minor_to_major[:2]
            changes = fold if is_chosen else (*fold, "order")
            usual, best = _rows(sizes[pair[1]], kind)
            size = _bytes(sizes, pair, usual, kind)
            more = cost + (not is_chosen)
            yield _Candidate(size, more, folded, place, groups, pair, usual, changes)
            if best is not None:
                size = _bytes(sizes, pair, best, kind)
                tile = (*changes, "tile")
                yield _Candidate(size, more + 4, folded, place, groups, pair, best, tile)


def _suggestion(
    candidate: _Candidate,
    element_type: str,
    shape: tuple[int, ...],
    generation: str,
    kind: Packing,
) -> Suggestion:
    groups, pair = candidate.groups, candidate.pair
    sizes = _folded(shape, groups)
    if pair is None:
        x = default_layout(element_type, sizes, generation)
    else:
        x = tiled(element_type, sizes, pair, candidate.rows, kind)
    changes = candidate.changes
    return Suggestion(x, waste(x), groups, changes, hint_of(x, groups, changes))


def _foldings(rank: int) -> Iterator[Groups]:
    """Each way to fold adjacent dimensions, as the dimensions that become one.

    >>> list(_foldings(2))
    [((0,), (1,)), ((0, 1),)]
    """
    if rank == 0:
        yield ()
    for count in range(rank - 1, -1, -1):
        for cuts in combinations(range(1, rank), count):
            yield tuple(tuple(range(i, j)) for i, j in pairwise((0, *cuts, rank)))


def _folded(shape: Sequence[int], groups: Groups) -> tuple[int, ...]:
    return tuple(prod(shape[dim] for dim in group) for group in groups)


def _rows(size: int, kind: Packing) -> tuple[int, int | None]:
    """Rows of the compiler's tile, and of the largest tile that pads less; None for none.

    >>> _rows(9, packing("f32", "v5e")), _rows(16, packing("f32", "v5e"))
    ((8, 1), (8, None))
    """

    def padded(rows: int) -> int:
        return -(-size // rows) * rows

    usual, powers = fewest_rows(size, kind), kind.register_rows.bit_length()
    tiles = [1 << k for k in range(powers) if 1 << k >= kind.least_rows]
    best = min(reversed(tiles), key=padded)
    return usual, best if padded(best) < padded(usual) else None


def _bytes(sizes: Sequence[int], pair: tuple[int, int], rows: int, kind: Packing) -> int:
    minor, second = sizes[pair[0]], sizes[pair[1]]
    tiles = -(-minor // LANES) * -(-second // rows)
    return bytes_of(prod(sizes) // (minor * second) * tiles * rows * LANES, kind.stored)
