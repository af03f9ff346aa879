"""Read a table of offsets: the digits of each dimension, or the exclusive ors of bits.

A table is a sum of lines if the offset of an element is that of the first one plus a number for
each of its indices. The numbers of one dimension, its line, are digits in mixed radix: from index 0
on, blocks of neighbours repeat with a stride, and blocks of blocks with another one.

Orders of digits: layouts for all sizes that have the digits which are seen at one.

An order is a list of digits, the slowest varying first. A digit with modulus n has n places; the
highest digit of a dimension has no modulus, and as many places as the size needs. So an order says
the offsets of arrays of any size, as tiles do. The digits that are seen at one size leave choices:
the gap after a digit is room that only larger arrays fill, or room of a dimension that is too small
to show it; and a dimension may be cut where nothing lies between its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations, islice, permutations, product
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from morello_layouts.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64]

Rule: TypeAlias = Callable[[Any, Any], Any]
"""How the numbers of indices make an offset: they are added, or joined by exclusive or."""


class Visible(NamedTuple):
    """A digit ``d // unit % radix`` that elements have more than one value of.

    Of digits within tiles that they do not divide, d is first taken modulo these.
    """

    dim: int
    unit: int
    radix: int  #: its values at this size.
    stride: int  #: slots from one value to the next.
    is_top: bool  #: whether no digit of the dimension is above it.
    within: tuple[int, ...] = ()  #: the sizes of such tiles, the outermost first.


def lines_of(table: Numbers, inverse: Rule) -> list[Numbers]:
    """Return for each dimension how its indices change the offset of the first element."""
    dims = range(table.ndim)
    own = (table[tuple(slice(None) if k == dim else 0 for k in dims)] for dim in dims)
    return [inverse(line, table.flat[0]) for line in own]


def joined(lines: Sequence[Numbers], first: int, rule: Rule) -> Numbers:
    """Return the table of lines: an array of as many dimensions."""
    parts = [each.reshape([-1 if k == j else 1 for j in range(len(lines))])
             for k, each in enumerate(lines)]  # fmt: skip
    parts[-1] = rule(parts[-1], first)
    return reduce(rule, reversed(parts))


def is_joined(table: Numbers, lines: Sequence[Numbers], rule: Rule) -> bool:
    """Whether a table is that of its lines; only a part of it is made at a time."""
    first = int(table.flat[0])
    if table.ndim == 1:
        return True
    inner, sizes = joined(lines[1:], first, rule), table.shape
    step = max(1, _AT_ONCE * sizes[0] // table.size)
    for start in range(0, sizes[0], step):
        rows = lines[0][start : start + step].reshape(-1, *(1,) * (table.ndim - 1))
        if not np.array_equal(table[start : start + step], rule(rows, inner[None])):
            return False
    return True


_AT_ONCE = 1 << 16


def digits_along(numbers: Numbers, dim: int) -> list[Visible] | None:
    """Return the digits of a line, the highest first; None if it is not made of digits.

    Neighbouring digits that are one together are one: the digits are the fewest.

    >>> for digit in digits_along(np.array([0, 1, 8, 9, 16]), 0):
    ...     print(digit)
    Visible(dim=0, unit=2, radix=3, stride=8, is_top=True, within=())
    Visible(dim=0, unit=1, radix=2, stride=1, is_top=False, within=())
    >>> digits_along(np.array([0, 1, 8, 3]), 0)
    """
    found, within, size = list[Visible](), tuple[int, ...](), len(numbers)
    most = size.bit_length()
    while len(numbers) > 1:
        block, unit = len(numbers), _period(np.diff(numbers))
        if found and block % unit:  # tiles that others do not divide, as in T(6)(4)
            within += (block,)
            if size < 2 * block:
                return None
        if len(found) == most:
            return None
        found.append(Visible(dim, unit, -(-block // unit), int(numbers[unit]), not found, within))
        numbers = numbers[:unit]
    return found


def _period(steps: Numbers) -> int:
    """The least number after which steps repeat; all of them if they do not."""
    size = len(steps)
    if (steps == steps[0]).all():
        return 1
    # Sums of steps times powers of an odd number, modulo 2^64: those of equal runs are equal.
    powers = np.full(size + 1, _ODD, np.uint64)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    sums = np.zeros(size + 1, np.uint64)
    np.multiply(steps.view(np.uint64), powers[:-1], out=sums[1:])
    np.cumsum(sums, out=sums)
    powers *= sums[::-1]
    np.subtract(sums[-1], sums, out=sums)
    likely = (int(k) for k in np.flatnonzero(sums == powers) if k)
    return next(k for k in likely if np.array_equal(steps[k:], steps[: size - k]))


_ODD: Final = 0x9E3779B97F4A7C15


def is_of_bits(numbers: Numbers) -> bool:
    """Whether a line is linear over F2: each index has the exclusive or of its bits' numbers."""
    size, low = len(numbers), 1
    while low < size:
        high = min(2 * low, size)
        if not np.array_equal(numbers[low:high], numbers[: high - low] ^ numbers[low]):
            return False
        low = high
    return True


def visible_digits(lines: Iterable[Numbers]) -> list[Visible] | None:
    """Return the digits of all lines; None if one is not made of digits."""
    found = list[Visible]()
    for dim, numbers in enumerate(lines):
        own = digits_along(numbers, dim)
        if own is None:
            return None
        found += own
    return found


TRIED: Final = 4096
"""Orders that are made before the best of them are chosen."""

CUTS: Final = 6
"""Sizes of a tile that are tried where nothing tells it."""

_PERMUTED: Final = 6
"""Highest digits up to which all their orders are tried."""

MORE: Final = 2
"""Digits that an order may have more than the shortest one."""


class OrderDigit(NamedTuple):
    """A digit ``d // unit % modulus``; without a modulus it is the highest of its dimension."""

    dim: int
    unit: int
    modulus: int | None = None
    within: tuple[int, ...] = ()  #: tiles that it does not divide: d is first taken modulo these.
    room: int = 0  #: places, if they are more than the modulus: T(4)(5) pads each tile to 5.

    def value(self, index: Any) -> Any:
        """The digit of an index, of any kind of number."""
        for tile in self.within:
            index = index % tile
        digit = index if self.unit == 1 else index // self.unit
        return digit if self.modulus is None else digit % self.modulus

    def places(self, size: int) -> int:
        """The number of places for a size of the dimension."""
        return self.room or (-(-size // self.unit) if self.modulus is None else self.modulus)


Order: TypeAlias = tuple[OrderDigit, ...]
"""Digits, the slowest varying first."""


def offset_of(order: Order, shape: Sequence[int], at: Sequence[Any]) -> Any:
    """Return the offset of the element at a coordinate of numbers or arrays."""
    total, stride = 0, 1
    for part in reversed(order):
        total = total + stride * part.value(at[part.dim])
        stride *= part.places(shape[part.dim])
    return total


def line_of(order: Order, shape: Sequence[int], dim: int) -> Numbers:
    """Return the offsets along a dimension, from the first element on."""
    index = np.arange(shape[dim], dtype=np.int64)
    at = [index * (k == dim) for k in range(len(shape))]
    found: Numbers = offset_of(order, shape, at) + 0 * index
    return found


def size_of(order: Order, shape: Sequence[int]) -> int:
    """Return the slots of the buffer at a shape."""
    return prod(part.places(shape[part.dim]) for part in order)


class Ranked(NamedTuple):
    """An order and how it compares with others that fit; the least is the best."""

    digits: int
    inside: bool  #: whether a digit without a modulus lies inside one with a modulus.
    odd: int  #: moduli that are not powers of two.
    unlikely: int  #: how far down its choices are among the others of their kind.
    turned: int  #: pairs of dimensions in an order that is not usual.
    order: Order


def orders(visible: Sequence[Visible], shape: Sequence[int], size: int | None) -> list[Ranked]:
    """Return the orders that have the digits seen at a shape, the best first.

    Args:
        visible: the digits of all dimensions, with their strides.
        shape: the sizes of the array.
        size: the slots of the buffer, if they are known.
    """
    found: dict[Order, Ranked] = {}
    for order, unlikely in islice(_all(visible, shape, size), TRIED):
        one = _ranked(_joined(order, shape, size), shape, unlikely)
        found[one.order] = min(one, found.get(one.order, one))
    ranked = sorted(found.values())
    return [one for one in ranked if one.digits <= ranked[0].digits + MORE]


def _ranked(order: Order, shape: Sequence[int], unlikely: int) -> Ranked:
    moduli = [part.modulus for part in order if part.modulus is not None]
    opens = [part for part in order if part.modulus is None]
    pairs = [pair for pair in combinations(opens, 2) if any(x.unit >= shape[x.dim] for x in pair)]
    spread = sum(outer.unit > 1 == inner.unit for outer, inner in pairs)
    turned = sum(outer.dim > inner.dim for outer, inner in pairs)
    return Ranked(
        len(order) + min(spread, turned) + sum(part.room > 0 for part in order),
        any(part.modulus is None for part in order[len(opens) :]),
        sum(n.bit_count() != 1 for n in moduli),
        unlikely,
        spread + turned,
        order,
    )


def _joined(order: Sequence[OrderDigit], shape: Sequence[int], size: int | None) -> Order:
    """Digits without those that are one with their neighbour at every size.

    A cut of the slowest dimension pads the end of the buffer alone, which only its size tells.
    """
    found = list[OrderDigit]()
    for part in order:
        outer, n = (found[-1].modulus if found else None), part.modulus
        if outer and n and _continues(found[-1], part):
            found[-1] = part._replace(modulus=outer * n)
        elif n != 1:
            found.append(part)
    if len(found) > 1 and found[0].modulus is None and _continues(found[0], found[1]):
        whole = (found[1]._replace(modulus=None), *found[2:])
        if size is None or size_of(whole, shape) == size_of(tuple(found), shape):
            return whole
    return tuple(found)


def _continues(outer: OrderDigit, part: OrderDigit) -> bool:
    """Whether a digit begins where another one of its dimension ends."""
    unit = part.unit * (part.modulus or 0)
    return outer == part._replace(unit=unit, modulus=outer.modulus)


class _Choice(NamedTuple):
    """What a digit that is seen may be: parts, the slowest first, and room that is left above."""

    parts: Order
    left: int = 1
    unlikely: int = 0


def _all(
    visible: Sequence[Visible], shape: Sequence[int], size: int | None
) -> Iterator[tuple[list[OrderDigit], int]]:
    """Yield orders with the unlikeliness of their choices."""
    inner = sorted(visible, key=lambda digit: digit.stride)
    ends = [digit.stride for digit in inner[1:]]
    last = inner[-1].stride if inner else 1
    ends.append(size if size is not None and size % last == 0 and size else 0)
    if any(digit.stride < 1 or (end and end % digit.stride)
           for digit, end in zip(inner, ends, strict=False)):  # fmt: skip
        return
    rooms = [end // digit.stride for digit, end in zip(inner, ends, strict=False)]  # 0: unknown
    if any(room and room < digit.radix for room, digit in zip(rooms, inner, strict=True)):
        return
    tops = {digit.dim: k for k, digit in enumerate(inner) if digit.is_top}
    cut = {digit.dim for digit in inner} - {*tops}  # with a highest digit of stride 0
    exact = [dim for dim, k in tops.items() if rooms[k] in (0, inner[k].radix)]
    first = inner[0].stride if inner else (size or 1)
    for mask in range((1 << len(exact)) - 1, -1, -1):
        opens = {dim for k, dim in enumerate(exact) if mask >> k & 1}
        bounded = [k for k, x in enumerate(inner) if not x.is_top or x.dim not in opens]
        edge = max(bounded, default=-1)  # all above it have no modulus
        choices = [
            _choices(digit, room, opens, is_edge=k == edge)
            for k, (digit, room) in enumerate(zip(inner, rooms, strict=True))
        ]
        for chosen in product(*choices):
            base = [_Choice((), first), *chosen]
            yield from _with_hidden(base, shape, cut)


def _choices(digit: Visible, room: int, opens: set[int], *, is_edge: bool) -> list[_Choice]:
    """What a digit may be, given the dimensions whose highest digit is seen without a modulus."""
    dim, unit, radix = digit[:3]
    if not digit.is_top:
        part, left = OrderDigit(dim, unit, radix, digit.within), max(room, radix)
        found = [] if left % radix else [_Choice((part,), left // radix)]
        return found if left == radix else [*found, _Choice((part._replace(room=room),), 1, 2)]
    if dim in opens:
        return [_Choice((OrderDigit(dim, unit),))]
    sizes = _rooms(room, radix)
    found = [_Choice((OrderDigit(dim, unit, n),), room // n if room else 1, k)
             for k, n in enumerate(sizes)]  # fmt: skip
    if is_edge:
        found += (_Choice((OrderDigit(dim, unit * n), OrderDigit(dim, unit, n)), 1, k + 1)
                  for k, n in enumerate(_cuts(room, radix)))  # fmt: skip
    return found


def _likely_first(numbers: set[int]) -> list[int]:
    """Sizes of tiles: powers of two before others, and large ones before small ones."""
    return sorted(numbers, key=lambda n: (n.bit_count() != 1, -n))[:CUTS]


def _rooms(room: int, radix: int) -> list[int]:
    """The places that a digit may have, of a room that larger arrays fill."""
    power = 1 << (radix - 1).bit_length()
    if not room:
        return [*dict.fromkeys((power, 2 * power, 4 * power, radix))]
    return _likely_first({n for n in _divisors(room) if n >= radix})


def _cuts(room: int, radix: int) -> list[int]:
    """The sizes of tiles whose number is what is seen, and that fill the room."""
    if room:
        return _likely_first(
            {n for n in _divisors(room) if 1 < n < radix and -(-radix // n) * n == room}
        )
    return _likely_first({1 << k for k in range(1, (radix - 1).bit_length())})


def _divisors(n: int) -> list[int]:
    low = [k for k in range(1, int(n**0.5) + 1) if n % k == 0]
    return [*low, *(n // k for k in low)]


def _with_hidden(
    chosen: Sequence[_Choice], shape: Sequence[int], cut: set[int]
) -> Iterator[tuple[list[OrderDigit], int]]:
    """Yield orders with the digits that no element shows: those in gaps, and the highest ones."""
    units = [1] * len(shape)
    shown = {part.dim for each in chosen for part in each.parts}
    opened = {part.dim for each in chosen for part in each.parts if part.modulus is None}
    for each in chosen:
        for part in each.parts:
            if part.modulus is not None and not part.within:
                units[part.dim] = max(units[part.dim], part.unit * part.modulus)
    free = [dim for dim, n in enumerate(shape)
            if dim not in opened and dim not in cut and (n == 1 or dim in shown)]  # fmt: skip
    unlikely = sum(each.unlikely for each in chosen)
    gaps = [each.left for each in chosen if each.left > 1]
    for ways in product(*(_ways(gap, free) for gap in gaps)):
        own, filled, order = list(units), iter(ways), list[OrderDigit]()
        for each in chosen:
            order[:0] = each.parts
            for dim, n in next(filled) if each.left > 1 else ():
                order.insert(0, OrderDigit(dim, own[dim], n))
                own[dim] *= n
        lead = next((k for k, part in enumerate(order) if part.modulus is not None), len(order))
        hidden = [OrderDigit(dim, own[dim]) for dim in free]
        more = sum(len(way) - 1 for way in ways)
        for leading in _merged(order[:lead], hidden):
            yield [*leading, *order[lead:]], unlikely + more


def _ways(gap: int, dims: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield which dimensions may have the room of a gap: one, or two of them."""
    yield from (((dim, gap),) for dim in reversed(dims))
    pairs = _likely_first({*_divisors(gap)} - {1, gap})
    yield from (
        ((low, n), (high, gap // n)) for low, high in permutations(reversed(dims), 2) for n in pairs
    )


def _merged(seen: Sequence[OrderDigit], hidden: Sequence[OrderDigit]) -> Iterator[list[OrderDigit]]:
    """Yield the orders of the highest digits, with those that are seen in their order."""
    together = sorted([*seen, *hidden], key=lambda part: part.dim)
    if not hidden or len(together) > _PERMUTED:
        yield [*hidden, *seen]
        return
    rank = {part: k for k, part in enumerate(seen)}
    for order in permutations(together):
        ranks = [rank[part] for part in order if part in rank]
        if ranks == sorted(ranks):
            yield list(order)
