"""Mixed-radix digits: a recipe as strides, and digits that two recipes have in common.

A coordinate d is written over units u0 = 1 < u1 < …: the digit of a unit u is (d mod v) // u with
v the next larger unit. An axis in memory is such a digit times a stride. The units need not
divide one another, as 2 and 3 of the tiles (3,5)(2,2): each digit is taken from what the larger
ones leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.expr.sizes import Int
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose


@dataclass(frozen=True, slots=True)
class Digit:
    """One axis in memory, as a digit of one logical dimension.

    Attributes:
        unit: what one step of the digit adds to the coordinate.
        extent: values that the axis has room for, those of padding included.
        stride: elements that one step moves in the buffer.

    >>> Digit(unit=2, extent=4, stride=12)
    Digit(unit=2, extent=4, stride=12)
    """

    unit: int
    extent: Int
    stride: Int


@dataclass(frozen=True, slots=True)
class Digits:
    """A recipe as digits: for each dimension its size, and its digits from the smallest unit on.

    Dimensions past the array's rank are of size 1; they are axes that hold padding only.
    """

    sizes: tuple[Int, ...]
    chains: tuple[tuple[Digit, ...], ...]


@dataclass(frozen=True, slots=True)
class Mixed:
    """A digit that two layouts have in common: its unit, and the stride in either buffer.

    >>> Mixed(unit=8, source=1024, target=64)
    Mixed(unit=8, source=1024, target=64)
    """

    unit: int
    source: Int
    target: Int


# A digit while the recipe is read: its dimension, unit, extent, and the next larger unit, which is
# what the coordinate is below here; None where there is no larger.
_Piece: TypeAlias = tuple[int, int, Int, int | None]


class _ApartError(Exception):
    """The axes are no digits of single dimensions."""


def digits_of(recipe: Recipe) -> Digits | None:
    """The digits of a recipe; None where an axis is no digit of one dimension.

    That is so where a tile joins dimensions and cuts across the joint.

    >>> from morello_layouts import index_map
    >>> for chain in digits_of(index_map("f32[3,5]{1,0:T(2,2)}").recipe).chains:
    ...     print(chain)
    (Digit(unit=1, extent=2, stride=2), Digit(unit=2, extent=2, stride=12))
    (Digit(unit=1, extent=2, stride=1), Digit(unit=2, extent=3, stride=4))
    """
    sizes = list(recipe.shape)
    axes: list[list[_Piece]] = [
        [(dim, 1, n, None)] if n != 1 else [] for dim, n in enumerate(sizes)
    ]
    shapes = recipe.shapes
    try:
        for step, before, after in zip(recipe.steps, shapes, shapes[1:], strict=False):
            match step:
                case Pad():
                    grown = zip(axes, before, after, strict=True)
                    axes = [_pad(axis, n, m, sizes) for axis, n, m in grown]
                case Split(tiles):
                    parts = zip(axes, tiles, strict=True)
                    axes = [part for axis, t in parts for part in _split(axis, t, sizes)]
                case Transpose(order):
                    axes = [axes[axis] for axis in order]
                case Merge():
                    runs = step.groups(range(len(axes)))
                    axes = [[piece for i in run for piece in axes[i]] for run in runs]
    except _ApartError:
        return None
    chains: list[list[Digit]] = [[] for _ in sizes]
    stride: Int = 1
    for dim, unit, extent, _ in reversed([piece for axis in axes for piece in axis]):
        chains[dim].append(Digit(unit, extent, stride))
        stride *= extent
    return Digits(tuple(sizes), tuple(tuple(sorted(c, key=lambda d: d.unit)) for c in chains))


def _pad(axis: list[_Piece], size: Int, padded: Int, sizes: list[Int]) -> list[_Piece]:
    if size == padded:
        return axis
    if not axis:
        return [_padding(padded, sizes)]
    (dim, unit, extent, below), *minor = axis
    within = size // extent if extent else 0
    if minor and (within == 0 or padded % within):
        raise _ApartError
    return [(dim, unit, padded // within if minor else padded, below), *minor]


def _padding(extent: Int, sizes: list[Int]) -> _Piece:
    """An axis of padding only, as a digit of one more dimension of size 1."""
    sizes.append(1)
    return (len(sizes) - 1, 1, extent, None)


def _split(axis: list[_Piece], tile: int | None, sizes: list[Int]) -> list[list[_Piece]]:
    if tile is None:
        return [axis]
    major, minor, left = list(axis), list[_Piece](), tile
    while left > 1:
        dim, unit, extent, below = major.pop()
        if isinstance(extent, int) and extent and left % extent == 0:
            minor.append((dim, unit, extent, below))
            left //= extent
        elif extent % left == 0:
            larger = unit * left
            is_zero = below is not None and larger >= below  # of what was padded, padding only
            minor.append((dim, unit, left, below if is_zero or extent == left else larger))
            if extent != left:
                rest = extent // left
                major.append(_padding(rest, sizes) if is_zero else (dim, larger, rest, below))
            left = 1
        else:
            raise _ApartError
    return [major, minor[::-1]]


def common_digits(source: Digits, target: Digits) -> tuple[tuple[Mixed, ...], ...] | None:
    """For each dimension digits that make up those of both layouts, from the smallest unit on.

    Returns:
        None where there are none: tiles of 3 and of 8 share no digits but the coordinate itself.

    >>> from morello_layouts import index_map
    >>> rows = digits_of(index_map("f32[16]{0}").recipe)
    >>> common_digits(rows, digits_of(index_map("f32[16]{0:T(2)(4)}").recipe))
    ((Mixed(unit=1, source=1, target=1), Mixed(unit=2, source=2, target=4)),)
    >>> thirds = digits_of(index_map("f32[16]{0:T(3)(2)}").recipe)
    >>> common_digits(thirds, digits_of(index_map("f32[16]{0:T(8)(4)}").recipe))
    """
    rank = min(len(source.sizes), len(target.sizes))
    if source.sizes[:rank] != target.sizes[:rank]:
        return None
    found = []
    for size, a, b in zip(source.sizes, source.chains, target.chains, strict=False):
        units = sorted({digit.unit for digit in (*a, *b) if digit.unit < size})
        strides = [(_stride(a, unit), _stride(b, unit)) for unit in units]
        if any(s is None or t is None for s, t in strides):
            return None
        found.append(
            tuple(Mixed(u, s or 0, t or 0) for u, (s, t) in zip(units, strides, strict=True))
        )
    return tuple(found)


def _stride(chain: Sequence[Digit], unit: int) -> Int | None:
    """How far a step of the unit moves; None where it is no multiple of the chain's own unit."""
    own = next((digit for digit in reversed(chain) if digit.unit <= unit), None)
    if own is None:
        return 0
    return None if unit % own.unit else own.stride * (unit // own.unit)
