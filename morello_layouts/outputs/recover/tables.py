"""Read a table of offsets: the digits of each dimension, or the exclusive ors of bits.

A table is a sum of lines if the offset of an element is that of the first one plus a number for
each of its indices. The numbers of one dimension, its line, are digits in mixed radix: from index 0
on, blocks of neighbours repeat with a stride, and blocks of blocks with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
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


def line(table: Numbers, dim: int) -> Numbers:
    """Return the offsets along one dimension, from the first element."""
    return table[tuple(slice(None) if k == dim else 0 for k in range(table.ndim))]


def lines_of(table: Numbers, inverse: Rule) -> list[Numbers]:
    """Return for each dimension how its indices change the offset of the first element."""
    first = table.flat[0]
    return [inverse(line(table, dim), first) for dim in range(table.ndim)]


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
