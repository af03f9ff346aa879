"""Find the XLA layout that has given digits: the fewest tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Final, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import TRANSLATION_NODES, TRANSLATION_TILES
from morello_layouts.core.recipe.digits import AxisDigit, Digits
from morello_layouts.notations.xla import XlaLayout
from morello_layouts.outputs.translate.source import Source

Keys: TypeAlias = tuple[int, ...]

_INT64_END: Final = 2**63


def xla_layout_of(source: Source) -> XlaLayout:
    """Return an XLA layout with the digits of a layout, in the same order."""
    shape = source.shape
    large = [n for n in shape if isinstance(n, int) and n >= _INT64_END]
    if large:
        raise source.none(
            f"XLA's sizes are signed 64-bit integers, {large[0]} is larger", "use a smaller array"
        )
    tiling = best_tiling(source.nested, len(shape))
    if tiling is None:
        raise source.not_found(
            _obstacle(source.nested),
            "give numbers for the symbolic sizes: a layout without padding always has one then",
        )
    return XlaLayout(tiling.major_to_minor[::-1], tiling.tiles)


def _obstacle(digits: Digits) -> str:
    """Return the reason why no tiles give the order of these digits."""
    symbolic = max(k for k, digit in enumerate(digits) if not isinstance(digit.radix, int))
    low = next(digit for digit in digits[:symbolic] if digit.modulus is not None)
    return (
        f"{low}, a low part of dimension {low.dim}, comes before {digits[symbolic]} in memory "
        "order; a tile has a fixed size and cannot hold it, so no layout without '*' exists for "
        "all sizes, and others were not tried"
    )


@frozen
class Tiling:
    """The order of dimensions, most major first, and the tiles over it."""

    major_to_minor: tuple[int, ...]  #: the dimensions.
    tiles: tuple[tuple[int, ...], ...]  #: the sizes of each tile.
    #: the number of tile sizes that are the rest of a dimension of this very shape, so that the
    #: tiles do not serve another one.
    fitted: int

    @property
    def cost(self) -> tuple[object, ...]:
        """The sort key of tilings: the one that people prefer is least."""
        return (
            self.fitted,
            sum(map(len, self.tiles)),
            list(self.major_to_minor) != sorted(self.major_to_minor),
            sum(len(str(t)) for tile in self.tiles for t in tile),
            self.major_to_minor,
            self.tiles,
        )


def best_tiling(digits: Digits, rank: int) -> Tiling | None:
    """Return tiles that bring the digits of an array of this rank into this order.

    A search finds the fewest tiles; of tilings with equally many it takes the one that fits most
    shapes, then the shortest. Past the search's budget a construction gives correct tiles, but
    possibly more than needed.

    Returns:
        None if no tiles without ``*`` give the order. That takes a symbolic size: in memory order a
        low digit of some dimension comes before the highest digit of the symbolic one. Only digits
        outside of all tiles have strides that grow with a size, and no tile moves all of these.

    >>> best_tiling((AxisDigit(1, 4, 2), AxisDigit(0, 1, 6), AxisDigit(1, 1, 4, modulus=4)), 2)
    Tiling(major_to_minor=(1, 0), tiles=((4, 1),), fitted=0)
    """
    if any(not isinstance(digit.radix, int) for digit in digits[_leading(digits) :]):
        return None
    for count in range(TRANSLATION_TILES + 1):
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


def _leading(digits: Digits) -> int:
    """The number of digits, from the slowest varying on, that are highest of their dimensions."""
    lower = (k for k, digit in enumerate(digits) if digit.modulus is not None)
    return next(lower, len(digits))


def _reversed_bits(key: int, count: int) -> int:
    return sum(((key >> bit) & 1) << (count - 1 - bit) for bit in range(count))


def _all_keys(digits: Digits, count: int) -> Iterator[Keys]:
    """Yield the keys of ``count`` tiles that give the order, until the search's budget is spent.

    Bit b of a digit's key is set if tile b moves the digit.
    """
    backwards = [_reversed_bits(key, count) for key in range(2**count)]
    # A dimension without a highest digit is padded to what tiles hold, so all of it is in tiles.
    untiled = {digit.dim for digit in digits if digit.modulus is None}
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
        outside = -1 if digit.dim in untiled else 0
        least = max((key for unit, key in mine if unit > digit.unit), default=outside)
        most = min((key for unit, key in mine if unit < digit.unit), default=2**count)
        for key in range(keys[-1] if keys else 0, 2**count):
            nodes += 1
            if nodes > TRANSLATION_NODES or (key and not isinstance(digit.radix, int)):
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
    """Keys for any order: the rank of the digit in its dimension, then its place in memory."""
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
    """The orders of dimensions that fit the keys: near row-major, and with few axes in tiles."""
    after: dict[int, set[int]] = {}
    for k in range(1, len(digits)):
        if keys[k] == keys[k - 1]:
            after.setdefault(digits[k - 1].dim, set()).add(digits[k].dim)
    moved = {digit.dim for digit, key in zip(digits, keys, strict=True) if key}
    staying = [dim not in moved for dim in range(rank)]
    row_major = _sorted_dims(after, range(rank))
    moved_last = _sorted_dims(after, sorted(range(rank), key=lambda dim: not staying[dim]))
    return [row_major] if row_major == moved_last else [row_major, moved_last]


def _sorted_dims(after: dict[int, set[int]], preferred: Sequence[int]) -> tuple[int, ...]:
    """The order nearest to the preferred one in which each dimension precedes those after it."""
    order: list[int] = []
    while len(order) < len(preferred):
        left = [dim for dim in preferred if dim not in order]
        later = {dim for earlier in left for dim in after.get(earlier, ())}
        order.append(next(dim for dim in left if dim not in later))
    return tuple(order)


def _tiling(digits: Digits, keys: Keys, count: int, order: tuple[int, ...]) -> Tiling:
    """The tiles of the keys, each with as few sizes as possible."""
    axes: list[list[tuple[AxisDigit, int]]] = [
        sorted(
            (pair for pair in zip(digits, keys, strict=True) if pair[0].dim == dim),
            key=lambda pair: -pair[0].unit,
        )
        for dim in order
    ]
    tiles, fitted = [], 0
    for bit in range(count):
        inner = [[pair for pair in axis if pair[1] >> bit & 1] for axis in axes]
        outer = [[pair for pair in axis if not pair[1] >> bit & 1] for axis in axes]
        first = next((k for k, moved in enumerate(inner) if moved), len(axes))
        if first == len(axes):
            continue
        tiles.append(tuple(_elements(moved) for moved in inner[first:]))
        fitted += sum(
            bool(moved) and not stays and moved[0][0].modulus is None
            for moved, stays in zip(inner, outer, strict=True)
        )
        axes = [*axes[:first], *outer[first:], *inner[first:]]
    return Tiling(order, tuple(tiles), fitted)


def _elements(moved: Sequence[tuple[AxisDigit, int]]) -> int:
    sizes = [digit.radix for digit, _ in moved]
    return prod(size for size in sizes if isinstance(size, int))
