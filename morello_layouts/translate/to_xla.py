"""Find the XLA layout with the same offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from morello_layouts.recipe.digits import Digit, Digits

Keys = tuple[int, ...]

_MOST_TILES = 5  # beyond these no search, but the construction
_MOST_NODES = 20_000  # that the search for each number of tiles visits


@dataclass(frozen=True, slots=True)
class Tiling:
    """The order of dimensions, most major first, and the tiles over it.

    Attributes:
        whole: how many sizes of tiles are what is left of a dimension: at another shape the same
            tiles would not do.
    """

    major_to_minor: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...]
    whole: int

    @property
    def cost(self) -> tuple[object, ...]:
        """What people prefer, the lesser the better."""
        return (
            self.whole,
            sum(map(len, self.tiles)),
            list(self.major_to_minor) != sorted(self.major_to_minor),
            sum(len(str(t)) for tile in self.tiles for t in tile),
            self.major_to_minor,
            self.tiles,
        )


def best_tiling(digits: Digits, rank: int) -> Tiling | None:
    """Tiles that bring the digits of an array of this rank into this order; the fewest, if few.

    Among tilings of equally many tiles: one that fits most shapes, then the shortest. Beyond the
    search's budget more tiles than needed may come back, never wrong ones.

    Returns:
        None where no tiles without ``*`` do, which takes a symbolic size: in memory order a low
        digit of a dimension comes before the whole or the highest digit of that size. Only what
        lies outside of all tiles has a stride that grows with a size, and no tile moves all of it.

    >>> best_tiling((Digit(1, 4, 2), Digit(0, 1, 6), Digit(1, 1, 4)), 2)
    Tiling(major_to_minor=(1, 0), tiles=((4, 1),), whole=0)
    """
    if any(not isinstance(digit.radix, int) for digit in digits[_leading(digits) :]):
        return None
    for count in range(_MOST_TILES + 1):
        tilings = (
            _tiling(digits, keys, count, order)
            for keys in _all_keys(digits, count)
            for order in _orders(digits, keys, rank)
        )
        best = min(tilings, key=lambda tiling: tiling.cost, default=None)
        if best is not None:
            return best
    keys, count = _constructed_keys(digits)
    (order, *_) = _orders(digits, keys, rank)
    return _tiling(digits, keys, count, order)


def _top(digits: Digits, k: int) -> bool:
    """Whether a digit is the highest of its dimension."""
    dim, unit = digits[k].dim, digits[k].unit
    return all(digit.unit <= unit for digit in digits if digit.dim == dim)


def _leading(digits: Digits) -> int:
    """How many digits, from the slowest varying on, are the highest of their dimensions."""
    return next((k for k in range(len(digits)) if not _top(digits, k)), len(digits))


def _reversed_bits(key: int, count: int) -> int:
    return sum(((key >> bit) & 1) << (count - 1 - bit) for bit in range(count))


def _all_keys(digits: Digits, count: int) -> Iterator[Keys]:
    """All keys of so many tiles that give the order, as far as the search's budget goes.

    Bit b of a key is set where tile b moves the digit.
    """
    backwards = [_reversed_bits(key, count) for key in range(2**count)]
    nodes = 0

    def extend(keys: Keys, after: dict[int, set[int]]) -> Iterator[Keys]:
        nonlocal nodes
        k = len(keys)
        if k == len(digits):
            yield keys
            return
        digit = digits[k]
        mine = [
            (digits[j].unit, backwards[keys[j]]) for j in range(k) if digits[j].dim == digit.dim
        ]
        least = max((key for unit, key in mine if unit > digit.unit), default=-1)
        most = min((key for unit, key in mine if unit < digit.unit), default=2**count)
        for key in range(keys[-1] if keys else 0, 2**count):
            nodes += 1
            if nodes > _MOST_NODES or (key and not isinstance(digit.radix, int)):
                return
            if not least < backwards[key] < most:
                continue
            if not keys or key != keys[-1]:
                yield from extend((*keys, key), after)
            elif not _reaches(after, digit.dim, digits[k - 1].dim):
                grown = {dim: set(later) for dim, later in after.items()}
                grown.setdefault(digits[k - 1].dim, set()).add(digit.dim)
                yield from extend((*keys, key), grown)

    return extend((), {})


def _reaches(after: dict[int, set[int]], start: int, end: int) -> bool:
    """Whether a dimension must come before another one."""
    seen, left = {start}, [start]
    while left:
        new = after.get(left.pop(), set()) - seen
        seen |= new
        left += new
    return end in seen


def _constructed_keys(digits: Digits) -> tuple[Keys, int]:
    """Keys for any order: first which digit of its dimension it is, then its place in memory."""
    leading = _leading(digits)
    places = [max(0, k - leading + 1) for k in range(len(digits))]
    ranks = [
        sum(other.dim == digit.dim and other.unit > digit.unit for other in digits)
        for digit in digits
    ]
    rank_bits = max(ranks, default=0).bit_length()
    place_bits = max(places, default=0).bit_length()
    keys = (
        _reversed_bits(rank, rank_bits) | place << rank_bits
        for rank, place in zip(ranks, places, strict=True)
    )
    return tuple(keys), rank_bits + place_bits


def _orders(digits: Digits, keys: Keys, rank: int) -> list[tuple[int, ...]]:
    """Orders of the dimensions that fit the keys: near row-major, and with few axes in tiles."""
    after: dict[int, set[int]] = {}
    for k in range(1, len(digits)):
        if keys[k] == keys[k - 1]:
            after.setdefault(digits[k - 1].dim, set()).add(digits[k].dim)
    moved = {digit.dim for digit, key in zip(digits, keys, strict=True) if key}
    staying = [dim not in moved for dim in range(rank)]
    row_major = _sorted_dims(after, range(rank))
    moved_last = _sorted_dims(after, sorted(range(rank), key=lambda dim: not staying[dim]))
    return [row_major] if row_major == moved_last else [row_major, moved_last]


def _sorted_dims(after: dict[int, set[int]], wished: Sequence[int]) -> tuple[int, ...]:
    """The dimensions as wished, as far as those that must come after others allow it."""
    order: list[int] = []
    while len(order) < len(wished):
        left = [dim for dim in wished if dim not in order]
        later = {dim for earlier in left for dim in after.get(earlier, ())}
        order.append(next(dim for dim in left if dim not in later))
    return tuple(order)


def _tiling(digits: Digits, keys: Keys, count: int, order: tuple[int, ...]) -> Tiling:
    """The tiles that the keys say, with as few sizes as they can have."""
    axes: list[list[tuple[Digit, int]]] = [
        sorted(
            (pair for pair in zip(digits, keys, strict=True) if pair[0].dim == dim),
            key=lambda pair: -pair[0].unit,
        )
        for dim in order
    ]
    tiles, whole = [], 0
    for bit in range(count):
        inner = [[pair for pair in axis if pair[1] >> bit & 1] for axis in axes]
        outer = [[pair for pair in axis if not pair[1] >> bit & 1] for axis in axes]
        first = next((k for k, moved in enumerate(inner) if moved), len(axes))
        if first == len(axes):
            continue
        tiles.append(tuple(_elements(moved) for moved in inner[first:]))
        whole += sum(
            bool(moved) and not stays and _top_of(digits, moved[0][0])
            for moved, stays in zip(inner, outer, strict=True)
        )
        axes = [*axes[:first], *outer[first:], *inner[first:]]
    return Tiling(order, tuple(tiles), whole)


def _top_of(digits: Digits, digit: Digit) -> bool:
    return _top(digits, digits.index(digit))


def _elements(moved: Sequence[tuple[Digit, int]]) -> int:
    sizes = [digit.radix for digit, _ in moved]
    return prod(size for size in sizes if isinstance(size, int))
