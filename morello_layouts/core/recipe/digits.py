"""A recipe as digits, both ways: each axis in memory is one digit, or a few, of logical indices.

Steps only cut indices into digits, order the digits, join them, and leave room for padding. One
pass over the steps reads all of that off; kernels, pictures, translation, the order of dimensions
and the axes in words use the result. ``recipe_of_axes`` goes the other way: notations whose text
says an order of digits, and formulas that are sums of digits, get their steps from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from math import gcd, lcm, prod
from typing import Any, Final, NamedTuple, TypeAlias

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.recipe.steps import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Scatter,
    Split,
    Step,
    Transpose,
    Window,
    Xor,
    known,
)
from morello_layouts.errors import LayoutError, UnsupportedError


@frozen
class AxisDigit:
    """A digit of an index in mixed radix: ``index // unit % modulus``.

    >>> print(AxisDigit(of=1, unit=4, radix=2), AxisDigit(of=1, unit=1, radix=4, modulus=4))
    d1//4 d1%4
    """

    #: the index: a logical dimension; or digits that were joined and then cut elsewhere than
    #: between two of them (the index is their sum of ``stride * digit``). No digits at all are the
    #: index of an axis that holds padding only: it is always 0.
    of: int | tuple[AxisDigit, ...]
    unit: int  #: the step of the index for which the digit grows by one.
    #: the number of values that the axis has room for. Those from ``modulus`` on, or past the end
    #: of the index, are padding.
    radix: Int
    #: the number of values before the digit begins again; None if it never does, as it is the
    #: highest digit of its index. A digit of modulus 1 is always 0.
    modulus: int | None = None
    #: elements from one value to the next, in the buffer or in the index of an axis.
    stride: Int = 1

    @property
    def dims(self) -> tuple[int, ...]:
        """The logical dimensions of its index."""
        if isinstance(self.of, int):
            return (self.of,)
        return tuple(dict.fromkeys(dim for digit in self.of for dim in digit.dims))

    @property
    def dim(self) -> int:
        """The logical dimension of its index, the first if there are several."""
        return self.dims[0]

    @property
    def is_zero(self) -> bool:
        """Whether the digit is always 0: all other values of its axis are padding."""
        return self.modulus == 1 or (
            isinstance(self.of, tuple) and all(digit.is_zero for digit in self.of)
        )

    @property
    def is_exact(self) -> bool:
        """Whether it is a digit of one logical dimension, in which only the end is padding."""
        return isinstance(self.of, int) and self.modulus in (None, self.radix)

    def value(self, coordinate: Sequence[Any]) -> Any:
        """The digit of the element at a logical coordinate, of ints or arrays.

        >>> AxisDigit(of=1, unit=4, radix=2).value((2, 6))
        1
        """
        index = coordinate[self.of] if isinstance(self.of, int) else index_of(self.of, coordinate)
        quotient = index if self.unit == 1 else index // self.unit
        return quotient if self.modulus is None else quotient % self.modulus

    def text(self, names: Sequence[str]) -> str:
        """The digit as a formula of the dimensions' names.

        >>> AxisDigit(of=(AxisDigit(0, 1, 6, modulus=6),), unit=4, radix=2).text(["y", "x"])
        '(y%6)//4'
        """
        if self.is_zero:
            return "0"
        if isinstance(self.of, int):
            index = names[self.of]
        elif len(self.of) == 1:
            index = f"({axis_text(self.of, names)})"
        else:
            index = axis_text(self.of, names)
        inner = index if self.unit == 1 else f"{index}//{self.unit}"
        if self.modulus is None:
            return inner
        return f"{inner}%{self.modulus}" if self.unit == 1 else f"({inner})%{self.modulus}"

    def __str__(self) -> str:
        return self.text([f"d{dim}" for dim in range(max(self.dims, default=0) + 1)])


Digits: TypeAlias = tuple[AxisDigit, ...]
"""Digits of an axis, of an index or of a buffer, the slowest varying first."""


def index_of(digits: Digits, coordinate: Sequence[Any]) -> Any:
    """The index that digits make up: the sum of each digit times its stride."""
    terms = [digit.value(coordinate) * digit.stride for digit in digits if not digit.is_zero]
    return sum(terms[1:], terms[0]) if terms else 0


def axis_text(digits: Digits, names: Sequence[str]) -> str:
    """The index that digits make up, as text: the digits that have more than one value.

    >>> axis_text((AxisDigit(0, 1, 4), AxisDigit(1, 8, 2)), ["y", "x"])
    '(y,x//8)'
    """
    parts = [digit.text(names) for digit in digits if digit.radix != 1]
    if len(parts) > 1:
        return f"({','.join(parts)})"
    return parts[0] if parts else next((digit.text(names) for digit in digits), "0")


@lru_cache(maxsize=256)
def digits_of(recipe: Recipe) -> Digits:
    """The digits of a buffer, with their strides in it.

    >>> from morello_layouts.core.recipe.steps import Pad
    >>> tiled = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> [(str(digit), digit.radix, digit.stride) for digit in digits_of(tiled)]
    [('d0//2', 2, 12), ('d1//2', 3, 4), ('d0%2', 2, 2), ('d1%2', 2, 1)]
    """
    return row_major(digit for axis in axes_of(recipe) for digit in axis)


class DimDigit(NamedTuple):
    """The digit ``index // unit % radix`` of a dimension's index, from which axes are made."""

    dim: int | None  #: the logical dimension; None is a copy: each value has the same elements.
    unit: Int  #: the step of the index for which the digit grows by one.
    radix: Int  #: the number of its values.
    room: int = 0  #: places along its axis, if there are more than values.
    stride: Int = 1  #: elements from one value to the next, where digits do not follow each other.

    @property
    def places(self) -> Int:
        """The number of places along its axis; those past its values hold nothing."""
        return self.room or self.radix


def recipe_of_axes(
    shape: Sequence[Int], axes: Sequence[Sequence[DimDigit]], names: tuple[str, ...] = ()
) -> Recipe:
    """The steps to axes of digits: pad, split off the lowest digits first, copy, transpose, merge.

    Args:
        shape: the sizes of the array.
        axes: the digits of each axis in memory, the slowest varying first. Those of a dimension
            make up its index: each one's unit is the product of the radices below it, and the
            highest leaves room for the whole index. Strides are not read.
        names: the names of the axes; by default they are memory.

    Raises:
        LayoutError: if the digits of a dimension leave a part of its index out, or have it twice.

    >>> rows, columns = DimDigit(0, 1, 4), (DimDigit(1, 16, 2), DimDigit(1, 1, 16))
    >>> print(recipe_of_axes((4, 20), [columns[:1], [rows], columns[1:]]))
    [4,20] → pad [4,32] → split [4,2,16] → transpose [2,4,16]
    """
    shape = tuple(shape)
    places = [(axis, k) for axis, digits in enumerate(axes) for k in range(len(digits))]
    digit_at = {place: axes[place[0]][place[1]] for place in places}
    parts = [_in_order(dim, n, digit_at) for dim, n in enumerate(shape)]
    tops = [digit_at[part[0]] for part in parts]
    padded = tuple(top.unit * top.radix for top in tops)
    steps: list[Step] = [] if padded == shape else [Pad(padded)]
    cut = [digit_at[place] for part in parts for place in part]
    steps += splits_into([[digit_at[place].radix for place in part] for part in parts])
    if any(digit.room for digit in cut):
        steps.append(Pad(tuple(digit.places for digit in cut)))
    if copies := [place for place, digit in digit_at.items() if digit.dim is None]:
        steps.append(Replicate(tuple(known([digit_at[place].radix for place in copies]))))
    axis_at = {place: k for k, place in enumerate([*chain(*parts), *copies])}
    order = tuple(axis_at[place] for place in places)
    if order != tuple(range(len(order))):
        steps.append(Transpose(order))
    counts = tuple(map(len, axes))
    if {*counts} - {1}:
        steps.append(Merge(counts))
    return Recipe(shape, tuple(steps), axis_names=names)


def splits_into(cuts: Sequence[Sequence[Int]]) -> list[Step]:
    """The splits of each axis into axes of the given sizes, the last ones first.

    >>> print(*splits_into([[4, 2], [8], [2, 3, 5]]))
    Split(tiles=(2, None, 5)) Split(tiles=(None, None, None, 3, None))
    """
    steps: list[Step] = []
    parts = [list(sizes) for sizes in cuts]
    while any(len(part) > 1 for part in parts):
        steps.append(Split(tuple(part[-1] if len(part) > 1 else None for part in parts)))
        halves = ((part[:-1], part[-1:]) if len(part) > 1 else (part,) for part in parts)
        parts = [half for pair in halves for half in pair]
    return steps


def _in_order(
    dim: int, n: Int, digit_at: Mapping[tuple[int, int], DimDigit]
) -> list[tuple[int, int]]:
    """Return the places of a dimension's digits, the highest first."""
    left = [place for place, digit in digit_at.items() if digit.dim == dim]
    found: list[tuple[int, int]] = []
    unit: Int = 1
    while left:
        now = [place for place in left if digit_at[place].unit == unit]
        place = next((x for x in now if digit_at[x].radix == 1), now[0] if now else None)
        if place is None:
            break
        left.remove(place)
        found.insert(0, place)
        unit *= digit_at[place].radix
    if left or not found:
        raise LayoutError(
            f"dimension {dim} of {n}: expected digits that make up its coordinates, "
            f"got units {', '.join(str(digit_at[x].unit) for x in left) or 'none'} beside {unit}",
            "each element has a place, and no place has two elements",
            "give sizes whose product is the size of the dimension",
        )
    return found


def axes_of(recipe: Recipe) -> tuple[Digits, ...]:
    """The digits of each axis in memory, with their strides in the index of the axis.

    An axis of no digits is one that a merge of no axes made; it has one value.

    >>> cut_across = Recipe((4, 6), (Merge((2,)), Split((4,))))
    >>> [axis_text(axis, "yx") for axis in axes_of(cut_across)]
    ['(y,x)//4', '(y,x)%4']
    """
    return stages_of(recipe)[-1]


def has_digits(recipe: Recipe) -> bool:
    """Return whether each physical axis is made of digits: no step is of another kind."""
    return not any(isinstance(step, tuple(_WITHOUT_DIGITS)) for step in recipe.steps)


def stages_of(recipe: Recipe) -> list[tuple[Digits, ...]]:
    """The digits of each axis before the first step, and after each one."""
    axes: list[Digits] = [(AxisDigit(dim, 1, n),) for dim, n in enumerate(recipe.shape)]
    stages = [tuple(axes)]
    for step, before in zip(recipe.steps, recipe.shapes, strict=False):
        axes = [row_major(axis) for axis in _after(step, axes, before)]
        stages.append(tuple(axes))
    return stages


_WITHOUT_DIGITS: Final[Mapping[type, str]] = {
    Scatter: "its elements overlap, interleave or run backwards",
    Xor: "an axis after it depends on two digits at once",
    Window: "its elements begin inside of the array, or run backwards",
    Renumber: "its places lie in an order without strides",
    Replicate: "each element has several places",
}
"""The steps that make no digits, and why."""


def _after(step: Step, axes: list[Digits], shape: tuple[Int, ...]) -> list[Iterable[AxisDigit]]:
    match step:
        case Pad(sizes):
            grown = zip(axes, shape, sizes, strict=True)
            return [axis if n == padded else _pad(axis, padded) for axis, n, padded in grown]
        case Split():
            pairs = zip(axes, step.numbers, strict=True)
            return [part for axis, t in pairs for part in ((axis,) if t is None else _cut(axis, t))]
        case Transpose(order):
            return [axes[axis] for axis in order]
        case Merge():
            return [[digit for axis in run for digit in axis] for run in step.groups(axes)]
        case _:
            reason = next(why for kind, why in _WITHOUT_DIGITS.items() if isinstance(step, kind))
            raise UnsupportedError(
                f"{step} is not digits in nested strides",
                reason,
                "ask for offsets, coordinates or proofs, which need no digits",
            )


def row_major(digits: Iterable[AxisDigit]) -> Digits:
    """Digits with the strides that they have one after the other, without gaps."""
    stride: Int = 1
    found: list[AxisDigit] = []
    for digit in reversed(list(digits)):
        found.append(digit if digit.stride == stride else replace(digit, stride=stride))
        stride *= digit.radix
    return tuple(reversed(found))


def fused(digits: Iterable[AxisDigit]) -> Digits:
    """Digits without those of one value, neighbours joined that are one digit together.

    >>> halves = AxisDigit(0, 4, 2), AxisDigit(1, 1, 1, 1), AxisDigit(0, 1, 4, 4)
    >>> [str(digit) for digit in fused(halves)]
    ['d0']
    """
    kept: list[AxisDigit] = []
    for digit in digits:
        if digit.radix == 1:
            continue
        outer = kept[-1] if kept else digit
        size = digit.modulus
        if size and size == digit.radix and (outer.of, outer.unit) == (digit.of, digit.unit * size):
            modulus = None if outer.modulus is None else outer.modulus * size
            kept[-1] = AxisDigit(digit.of, digit.unit, outer.radix * size, modulus)
        else:
            kept.append(digit)
    return row_major(kept)


Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""For each digit of an index, the highest first, its first value and the number of its values."""


def ranges_between(units: Sequence[int], low: int, high: int) -> Iterator[Ranges]:
    """Yield the boxes of digits that the indices from ``low`` on and below ``high`` are, in order.

    Args:
        units: those of the digits, the largest first; each is a multiple of the next one.
        low: the first index.
        high: the end.

    >>> [*ranges_between((8, 1), 6, 17)]
    [((0, 1), (6, 2)), ((1, 1), (0, 8)), ((2, 1), (0, 1))]
    """
    if not units:
        yield from [()] if low < high else ()
        return
    unit, (first, start), (last, end) = units[0], divmod(low, units[0]), divmod(high, units[0])
    blocks = [(first, 1, start, min(unit, high - first * unit))] if start else []
    first += len(blocks)
    blocks += [(first, last - first, 0, unit), (last, int(first <= last), 0, end)]
    for block, count, *ends in blocks:
        if count > 0:
            yield from (((block, count), *inner) for inner in ranges_between(units[1:], *ends))


def refined(
    one: Sequence[int], other: Sequence[int]
) -> list[tuple[int, list[tuple[int, int]]]] | None:
    """Return the common digits of two mixed radices, the lowest first.

    Returns:
        The radix of each, and for both sides the number of the digit that it is a part of with its
        unit there; None if the digits are not cut at the same places.

    >>> refined((6, 4), (2, 12))
    [(4, [(1, 1), (1, 1)]), (3, [(0, 1), (1, 4)]), (2, [(0, 3), (0, 1)])]
    """
    found, sides = [], [[[k, 1, n] for k, n in enumerate(side) if n != 1] for side in (one, other)]
    while all(sides):
        lowest = [side[-1] for side in sides]
        radix = min(n for _, _, n in lowest)
        if any(n % radix for _, _, n in lowest):
            return None
        found.append((radix, [(k, unit) for k, unit, _ in lowest]))
        for side in sides:
            side[-1][1:] = side[-1][1] * radix, side[-1][2] // radix
            if side[-1][2] == 1:
                side.pop()
    return None if any(sides) else found


def fused_axes(axes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return axes without those of one step, neighbours joined that continue each other.

    An axis is its steps, and how far one goes in each of some buffers; the outermost comes first.

    >>> fused_axes([(3, 40, 20), (4, 5, 5), (5, 1, 1)])
    [(3, 40, 20), (20, 1, 1)]
    """
    found: list[tuple[int, ...]] = []
    for steps, *strides in axes:
        if found and found[-1][1:] == tuple(steps * stride for stride in strides):
            found[-1] = (found[-1][0] * steps, *strides)
        elif steps != 1:
            found.append((steps, *strides))
    return found


class Period(NamedTuple):
    """After how many values a function of integers repeats itself, and by how much it has grown.

    >>> Period(1, 6).floor(4), Period.of_sum([(1, Period(2, 3)), (5, Period(3, 0))])
    (Period(length=2, growth=3), Period(length=6, growth=9))
    """

    length: int
    growth: int

    def floor(self, divisor: int) -> Period:
        """Return that of the quotient by a divisor, rounded down."""
        times = divisor // gcd(self.growth, divisor)
        return Period(self.length * times, self.growth * times // divisor)

    @staticmethod
    def of_sum(parts: Sequence[tuple[int, Period]]) -> Period:
        """Return that of a sum of functions times factors."""
        length = lcm(*(each.length for _, each in parts))
        return Period(length, sum(c * x.growth * (length // x.length) for c, x in parts))


def _pad(axis: Digits, size: Int) -> Iterable[AxisDigit]:
    """An axis with room for ``size`` values: more of its highest digit, or of its whole index."""
    if not axis:
        return [AxisDigit((), 1, size)]
    first = next((k for k, digit in enumerate(axis) if digit.radix != 1), len(axis) - 1)
    within = prod(digit.radix for digit in axis[first + 1 :])
    if within != 0 and size % within == 0:
        grown = replace(axis[first], radix=size // within)
        return [*axis[:first], grown, *axis[first + 1 :]]
    return [AxisDigit(fused(axis), 1, size)]


def _cut(axis: Digits, tile: int) -> tuple[Iterable[AxisDigit], Iterable[AxisDigit]]:
    """The digits of an axis's tiles, and those within a tile."""
    major, minor, left = list(axis), list[AxisDigit](), tile
    while major and (left > 1 or not minor):
        digit = major.pop()
        if digit.radix % left == 0:
            outer, inner = _halves(digit, left)
            return [*major, outer], [inner, *minor]
        if isinstance(digit.radix, int) and left % digit.radix == 0:
            minor.insert(0, digit)
            left //= digit.radix
            continue
        block, size = [digit], digit.radix
        while size % left != 0:
            block.insert(0, major.pop())
            size *= block[0].radix
        major.append(AxisDigit(fused(block), 1, size))
    return major, minor


def _halves(digit: AxisDigit, tile: int) -> tuple[AxisDigit, AxisDigit]:
    """A digit in blocks of ``tile`` values, which divides its radix: the block, and the rest."""
    of, unit, modulus = digit.of, digit.unit, digit.modulus
    rest = digit.radix // tile
    if modulus is None or modulus % tile == 0:
        over = None if modulus is None else modulus // tile
        return AxisDigit(of, unit * tile, rest, over), AxisDigit(of, unit, tile, tile)
    if modulus < tile:  # all that is not padding lies in the first block
        return AxisDigit(of, unit * tile, rest, 1), AxisDigit(of, unit, tile, modulus)
    index = fused([digit])
    return AxisDigit(index, tile, rest), AxisDigit(index, 1, tile, tile)


def major_order(recipe: Recipe) -> tuple[int, ...]:
    """The logical dimensions by their first digit in memory, the most major first.

    >>> major_order(Recipe((6, 8), (Split((None, 4)), Transpose((1, 0, 2)))))
    (1, 0)
    """
    return tuple(dict.fromkeys(dim for digit in digits_of(recipe) for dim in digit.dims))
