"""Texts that take a search: XLA's tiles, Morello's dimensions, the swizzles of CuTe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final, TypeAlias

from morello_layouts import proof
from morello_layouts.core import limits
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr, round_up
from morello_layouts.core.fields import frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Split,
    Step,
    Transpose,
    Xor,
    has_inverse,
    offset_of,
)
from morello_layouts.core.recipe.digits import AxisDigit, Digits
from morello_layouts.errors import NoTranslationError, ShapeError, TranslationNotFoundError
from morello_layouts.notations.cute import Swizzle
from morello_layouts.notations.morello import Dynamic, MorelloLayout, OddEven, Packed, PhysDim
from morello_layouts.notations.xla import XlaLayout
from morello_layouts.outputs.translate.source import Writable, have_same_offsets
from morello_layouts.proof.verdict import sizes_text


def morello_layout_of(source: Writable) -> MorelloLayout:
    """Return the Morello layout with the offsets of a layout, proved equal."""
    if 0 in source.shape:
        raise source.none(
            "a size is 0, and Morello's dimensions have at least one element", "use sizes from 1"
        )
    return _for_all_sizes(source) if source.m.recipe.names else _at_numbers(source)


def _at_numbers(source: Writable) -> MorelloLayout:
    """The Morello layout of a map without symbolic sizes."""
    digits = source.dense
    if isinstance(digits, str):
        _require_no_gap(source)
    found = digits if isinstance(digits, str) else morello_of_digits(digits, len(source.shape))
    if isinstance(found, str):
        raise source.none(found, _KEEP_OR_TILE)
    answer = have_same_offsets(source.m, found)
    if answer.holds is False:
        raise source.none(
            f"its strides admit only {found}, which has another offset at {answer.counterexample}",
            _KEEP_OR_TILE,
        )
    if answer.holds is None:
        raise source.not_found(
            f"only {found} can be; {answer.reason}", f"check {found} at smaller sizes"
        )
    return found


def _require_no_gap(source: Writable) -> None:
    """Raise if padding lies between elements."""
    m = source.m
    if not has_inverse(m.recipe):
        return
    surjective = proof.is_surjective(m)
    if surjective.holds is False and surjective.counterexample < m.size - surjective.padding:
        raise source.none(
            f"{surjective.padding} of {m.size} slots are padding, and the first, slot "
            f"{surjective.counterexample}, lies between elements",
            "choose sizes that the tiles divide",
        )


_KEEP_OR_TILE = "keep the layout in XLA's notation, or tile by sizes that divide one another"


def morello_of_digits(digits: Digits, rank: int) -> MorelloLayout | str:
    """Return the Morello layout with these canonical digits, or the reason why none has them.

    From the innermost on, each physical dimension takes the lowest remaining digit of its
    dimension. Only an OddEven differs: its two digits, of radix 2 and above it the rest, change
    places. Neither is ever joined with a neighbour, so no other list has these digits.

    >>> print(morello_of_digits((AxisDigit(0, 1, 2, modulus=2), AxisDigit(0, 2, 8)), 1))
    [0 oe(16)]
    """
    taken = [1] * rank
    dims: list[tuple[int, PhysDim]] = []
    left = list(digits)
    while left:
        digit = left.pop()
        phys = _phys(digit, left[-1] if left else None, taken[digit.dim])
        if phys is None:
            lower = next(d for d in left if (d.dim, d.unit) == (digit.dim, taken[digit.dim]))
            return (
                f"{digit} lies inside {lower}, a lower part of the same dimension; in Morello the "
                "lower parts lie inside the higher ones, but for the two of an OddEven"
            )
        if isinstance(phys, OddEven):
            left.pop()
        dims.append((digit.dim, phys))
        taken[digit.dim] *= _known(digit.radix) * (2 if isinstance(phys, OddEven) else 1)
    return MorelloLayout(reversed(dims))


def _phys(digit: AxisDigit, outer: AxisDigit | None, taken: int) -> PhysDim | None:
    """The physical dimension of a digit, or of it and the one outside it; None if none has it."""
    if digit.unit == taken:
        return Dynamic() if digit.modulus is None else Packed(digit.modulus)
    is_parity = outer is not None and (outer.dim, outer.unit, outer.radix) == (digit.dim, taken, 2)
    if is_parity and digit.unit == 2 * taken and isinstance(digit.radix, int):
        return OddEven(2 * digit.radix)
    return None


def _known(radix: int | SizeExpr) -> int:
    """The radix if it is a number; 1 for that of a highest digit, which no digit follows."""
    return radix if isinstance(radix, int) else 1


def _for_all_sizes(source: Writable) -> MorelloLayout:
    """A Morello layout for all sizes: that of the steps, or of some small sizes."""
    m, digits = source.m, source.dense
    read = digits if isinstance(digits, str) else morello_of_digits(digits, len(source.shape))
    if isinstance(read, MorelloLayout) and have_same_offsets(m, read).holds:
        return read
    found: dict[MorelloLayout, None] = {}
    for sizes in _witnesses(m):
        try:
            found[_at_numbers(Writable(m.at(**sizes), source.title))] = None
        except NoTranslationError as error:
            why = f"at {sizes_text(sizes)}: {error.why}"
            raise NoTranslationError(error.what, why, _remedy(m)) from None
        except (TranslationNotFoundError, ShapeError):  # or the sizes do not fit the strides
            continue
    for layout in reversed(found):  # those of larger sizes distinguish more
        try:
            if have_same_offsets(m, layout).holds:
                return layout
        except ShapeError:
            continue
    raise source.not_found(
        read if isinstance(read, str) else "one exists at each of the small sizes that were tried",
        _remedy(m),
    )


def _witnesses(m: IndexMap) -> Iterator[dict[str, int]]:
    """Yield some sizes within the assumptions, smallest first: small ones and just above tiles."""
    assumed = {one.name: one for one in m.assumptions}
    tiles = {t for step in m.recipe.steps if isinstance(step, Split) for t in step.numbers if t}
    names = m.recipe.names
    each = [_sizes(assumed.get(name, Assumption(name)), tiles) for name in names]
    grid = sorted(product(*each), key=sum)
    for sizes in (*grid[: limits.TRANSLATION_WITNESSES - 1], grid[-1]):
        yield dict(zip(names, sizes, strict=True))


def _sizes(one: Assumption, tiles: Iterable[int]) -> list[int]:
    """The first two sizes within an assumption, and the first above each of the largest tiles."""
    above = (t + 1 for t in sorted(tiles)[-limits.TRANSLATION_WITNESS_TILES :])
    small = (one.lo, one.lo + one.divisor, *above)
    multiples = {round_up(n, one.divisor) for n in small}
    return sorted(n for n in multiples if one.holds_for(n))


def _remedy(m: IndexMap) -> str:
    """The assumptions about symbolic sizes under which nothing is padded, if they are known."""
    condition = proof.is_surjective(m).condition
    if condition is None or condition.expr is None or not condition.depends:
        return "give numbers for the sizes"
    return f"assume that {condition}: then nothing is padded"


def without_swizzles(m: IndexMap) -> tuple[IndexMap, list[Swizzle]] | None:
    """Return a layout before its swizzles, and the swizzles of its offsets, the first one first.

    Returns:
        None if its exclusive ors are not swizzles after all other steps.

    >>> from morello_layouts import index_map
    >>> plain, swizzles = without_swizzles(index_map("Sw<3,3,3> o 0 o (10,50):(50,1)"))
    >>> print(plain.form, swizzles[0])
    50*d0 + d1 Sw<3,3,3>
    """
    if not _has_xor(m.recipe):
        return m, []
    recipe, xors = _last_steps(m.recipe)
    swizzles = _swizzles(recipe, xors)
    if swizzles is None or any(recipe.offset % swizzle.period != 0 for swizzle in swizzles):
        return None
    plain = _read(replace(recipe, steps=tuple(_unpadded(recipe)), offset=0, tail_padding=0), m)
    if not _has_xor(recipe):
        return plain, swizzles
    before = without_swizzles(plain)
    return before and (before[0], [*before[1], *swizzles])


def _has_xor(recipe: Recipe) -> bool:
    return any(isinstance(step, Xor) for step in recipe.steps)


def _read(recipe: Recipe, m: IndexMap) -> IndexMap:
    """The index map of a recipe alone, with the assumptions of another one."""
    zero = AffineExpr((), 0)
    return IndexMap.of(
        recipe, lambda x, _: offset_of(recipe, x, zero), m.source, assumptions=m.assumptions
    )


def _last_steps(recipe: Recipe) -> tuple[Recipe, list[Xor]]:
    """The recipe without its last xors, and these as if they were its last steps."""
    steps = _unmerged(recipe.steps)
    xors, orders = list[Xor](), list[Step]()
    last = list(range(len(recipe.shapes[len(steps)])))  # where each axis lies after all of them
    while steps:
        match steps.pop():
            case Xor(target, source, shift):
                xors.insert(0, Xor(last[target], last[source], shift))
            case Transpose(order) as step:
                orders.insert(0, step)
                last = [last[order.index(axis)] for axis in range(len(order))]
            case step:
                steps.append(step)
                break
    return replace(recipe, steps=(*steps, *orders), axis_names=()), xors


def _unmerged(steps: Iterable[Step]) -> list[Step]:
    """Steps without merges and splits at the end, which leave offsets as they are."""
    found = list(steps)
    while found and isinstance(found[-1], Merge | Split):
        found.pop()
    return found


def _unpadded(recipe: Recipe) -> list[Step]:
    """Steps without those at the end that leave offsets as they are: also a pad at the far end."""
    found = _unmerged(recipe.steps)
    while found and isinstance(found[-1], Pad):
        if found[-1].sizes[1:] != recipe.shapes[len(found) - 1][1:]:
            break
        found = _unmerged(found[:-1])
    return found


def _swizzles(recipe: Recipe, xors: Iterable[Xor]) -> list[Swizzle] | None:
    """The xors of a recipe's axes as swizzles of its offset; None if they change no bits of it."""
    shape = recipe.physical_shape
    pairs = list[tuple[int, int]]()  # of a bit that is read and one that is changed
    for xor in xors:
        low, base = (_exponent(prod(shape[axis + 1 :])) for axis in (xor.source, xor.target))
        count, size = _exponent(shape[xor.target]), shape[xor.source]
        if low is None or base is None or count is None:
            return None
        if prod(shape[: xor.source]) != 1 and size % (1 << count + xor.shift) != 0:
            bits = _exponent(size)  # those of the axes before it follow
            if bits is None:
                return None
            count = min(count, bits - xor.shift)
        pairs += ((low + xor.shift + k, base + k) for k in range(count))
    if {source for source, _ in pairs} & {target for _, target in pairs}:
        return [Swizzle(1, min(pair), pair[0] - pair[1]) for pair in pairs]
    return _joined(sorted(pairs, key=lambda pair: (pair[0] - pair[1], pair)))


def _exponent(n: Int) -> int | None:
    return n.bit_length() - 1 if isinstance(n, int) and n.bit_count() == 1 else None


def _joined(pairs: Iterable[tuple[int, int]]) -> list[Swizzle]:
    """Swizzles of neighbouring pairs of bits, which do not change what others read."""
    found = list[Swizzle]()
    for source, target in pairs:
        shift, place = source - target, min(source, target)
        one = found[-1] if found else Swizzle(0, 0, 0)
        if one.shift == shift and place == one.base + one.bits and one.bits < abs(shift):
            found[-1] = replace(one, bits=one.bits + 1)
        else:
            found.append(Swizzle(1, place, shift))
    return found


Keys: TypeAlias = tuple[int, ...]

_INT64_END: Final = 2**63


def xla_layout_of(source: Writable) -> XlaLayout:
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
    for count in range(limits.TRANSLATION_TILES + 1):
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
            if nodes > limits.TRANSLATION_NODES or (key and not isinstance(digit.radix, int)):
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
