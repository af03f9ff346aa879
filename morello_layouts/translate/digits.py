"""The digits of a layout's elements, with their strides: what every notation writes in its way.

A layout is read once, as digits with strides (`placed_digits`). A notation of strides writes these.
A notation of orders needs each digit to begin where the digits inside it end: `nested_digits` makes
room for what lies between them, as padding at the end of dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from morello_layouts.expr.sizes import Int, ceil_quotient, is_nonnegative
from morello_layouts.maps import IndexMap
from morello_layouts.recipe.digits import AxisDigit, Digits, digits_of, row_major


def placed_digits(m: IndexMap) -> Digits | None:
    """Return the fewest digits that the elements of a layout have, each with its stride.

    A digit has as many values as elements need, whatever the room; the slowest varying is first.

    Returns:
        None if the steps cut across dimensions, and sizes are symbolic.

    >>> from morello_layouts import index_map
    >>> digits = placed_digits(index_map("f32[3,5]{1,0:T(2,2)}"))
    >>> [(str(digit), digit.radix, digit.stride) for digit in digits]
    [('d0//2', 2, 12), ('d1//2', 3, 4), ('d0%2', 2, 2), ('d1%2', 2, 1)]
    """
    found = [digit for digit in digits_of(m.recipe) if digit.radix != 1 and not digit.is_zero]
    if any(not isinstance(digit.of, int) for digit in found):
        return None if m.recipe.names else probed_places(m)
    return joined(found, m.recipe.shape)


def probed_places(m: IndexMap) -> Digits:
    """The only digits that a map of known sizes could have, with their strides.

    In a layout of digits, index T of a dimension lies at the stride of the digit that begins at T,
    and this digit ends at the first divisor q of the remaining extent for which index T·q does not
    lie at q times that stride. So the offsets asked for here leave one list of digits; if the map
    differs from that list, no list has the map's offsets.
    """
    found: list[AxisDigit] = []
    for dim, n in enumerate(m.recipe.shape):
        assert isinstance(n, int)
        begin = 1
        while begin < n:
            stride = _offset(m, dim, begin)
            left = n // begin
            inner = (q for q in _divisors(left) if 1 < q < left)
            ends = (q for q in inner if _offset(m, dim, begin * q) != q * stride)
            radix = next(ends, left)
            found.append(
                AxisDigit(dim, begin, radix, None if begin * radix == n else radix, stride)
            )
            begin *= radix
    return tuple(sorted(found, key=lambda digit: -digit.stride))


def _offset(m: IndexMap, dim: int, index: int) -> int:
    coordinate = [0] * len(m.recipe.shape)
    coordinate[dim] = index
    offset: int = m(*coordinate)
    return offset


def _divisors(n: int) -> Sequence[int]:
    from sympy import divisors

    return [int(d) for d in divisors(n)]


def joined(digits: Iterable[AxisDigit], shape: Sequence[Int]) -> Digits:
    """Return digits with the values that elements need, those joined that are one together.

    >>> halves = AxisDigit(0, 4, 4, stride=8), AxisDigit(0, 1, 4, 4, stride=2)
    >>> [(str(digit), digit.radix, digit.stride) for digit in joined(halves, (6,))]
    [('d0', 6, 2)]
    """
    found: list[tuple[int, AxisDigit]] = []
    order = sorted(enumerate(digits), key=lambda pair: (pair[1].dim, pair[1].unit))
    for place, digit in order:
        size = shape[digit.dim]
        if is_nonnegative(digit.unit - size):
            continue  # no element has an index as large as the unit
        needed = _needed(digit, size)
        low = found[-1][1] if found else needed
        is_next = (low.dim, low.unit * low.radix) == (digit.dim, digit.unit)
        if is_next and digit.stride == low.stride * low.radix:
            whole = replace(low, radix=low.radix * needed.radix, modulus=None)
            if needed.modulus is not None and low.modulus is not None:
                whole = replace(whole, modulus=low.modulus * needed.modulus)
            found[-1] = found[-1][0], _needed(whole, size)
        else:
            found.append((place, needed))
    return tuple(digit for _, digit in sorted(found, key=lambda pair: pair[0]))


def _needed(digit: AxisDigit, size: Int) -> AxisDigit:
    """The digit with as many values as the indices below a size need."""
    modulus = digit.modulus
    if modulus is not None and not is_nonnegative(digit.unit * modulus - size):
        return replace(digit, radix=modulus)
    if digit.unit * digit.radix == size:  # an exact quotient of a symbolic size stays one
        return replace(digit, modulus=None)
    return replace(digit, radix=ceil_quotient(size, digit.unit), modulus=None)


def nested_digits(placed: Digits, shape: Sequence[Int], size: Int = 0) -> Digits | str:
    """Return digits of which each begins where those inside it end, with room for padding.

    The highest digit of a dimension may get more room than it needs, then it has a modulus; or
    there is one more digit above it, always 0. With the size of the buffer there is also room for
    padding after the last element, if such digits can have it.

    Returns:
        The digits, or the reason in words why padding at the end of dimensions does not make them.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[3,5]{1,0:T(1,8)}")
    >>> [(str(digit), digit.radix) for digit in nested_digits(placed_digits(m), (3, 5))]
    [('d0', 3), ('d1%8', 8)]
    """
    ended = {dim: 1 for dim in range(len(shape)) if shape[dim] == 1}  # the room of whole dimensions
    found: list[AxisDigit] = []
    volume: Int = 1
    for digit in reversed(placed):
        if digit.stride != volume:
            filled = _filled(found, ended, digit.stride, volume)
            if filled is None:
                return misplaced(digit, volume)
            found = filled
        found.append(digit)
        if digit.modulus is None and isinstance(digit.radix, int):
            ended[digit.dim] = digit.unit * digit.radix
        volume = digit.stride * digit.radix
    filled = _filled(found, ended, size, volume) if size != volume else None
    return row_major(reversed(filled or found))


def _filled(
    found: list[AxisDigit], ended: dict[int, int], stride: Int, volume: Int
) -> list[AxisDigit] | None:
    """The digits, the innermost first, with room up to a stride; None if none can have it."""
    last = found[-1] if found else None
    if not isinstance(stride, int) or not isinstance(volume, int) or stride < volume:
        return None
    inner = volume // last.radix if last and isinstance(last.radix, int) else 0
    if last and inner and last.modulus is None and stride % inner == 0:
        room = stride // inner
        ended[last.dim] = last.unit * room
        return [*found[:-1], replace(last, radix=room, modulus=room)]
    if stride % volume or not ended:
        return None
    dim, factor = min(ended), stride // volume
    unit, ended[dim] = ended[dim], ended[dim] * factor
    return [*found, AxisDigit(dim, unit, factor, factor)]


def misplaced(digit: AxisDigit, volume: Int) -> str:
    """Return the words for a digit that does not begin where the digits inside it end."""
    inside = f"the digits inside it have {volume} element{'' if volume == 1 else 's'}"
    return f"{digit} has stride {digit.stride}, and {inside}"
