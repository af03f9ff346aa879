"""A recipe as digits of coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from morello_layouts.expr.sizes import Int
from morello_layouts.maps import IndexMap
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose


@dataclass(frozen=True, slots=True)
class Digit:
    """The digit ``(x // stride) mod size`` of the index x along a logical dimension.

    >>> print(Digit(1, 4, 2))
    (d1//4)%2
    """

    dim: int
    stride: int
    size: Int

    def __str__(self) -> str:
        index = f"d{self.dim}" if self.stride == 1 else f"(d{self.dim}//{self.stride})"
        return f"{index}%{self.size}"


Digits = tuple[Digit, ...]
"""Digits in memory order, the slowest varying first."""


def traced(recipe: Recipe) -> Digits | None:
    """The canonical digits of a recipe, read off its steps; sizes may be symbolic.

    None where a step pads, or splits an axis within a digit: that is not known to be a layout of
    digits, though it may be one.

    >>> from morello_layouts import index_map
    >>> [str(digit) for digit in traced(index_map("[1, 0, 1 p(4)]", (6, 8)).recipe)]
    ['(d1//4)%2', 'd0%6', 'd1%4']
    """
    axes: list[Digits] = [(Digit(dim, 1, n),) for dim, n in enumerate(recipe.shape)]
    for step, before in zip(recipe.steps, recipe.shapes, strict=False):
        match step:
            case Pad():
                if step.sizes != before:
                    return None
            case Transpose():
                axes = [axes[axis] for axis in step.order]
            case Merge():
                axes = [tuple(d for axis in run for d in axis) for run in step.groups(axes)]
            case Split():
                pieces = [_cut(axis, t) for axis, t in zip(axes, step.tiles, strict=True)]
                if None in pieces:
                    return None
                axes = [axis for piece in pieces if piece is not None for axis in piece]
    return joined(digit for axis in axes for digit in axis)


def _cut(axis: Digits, t: int | None) -> tuple[Digits, ...] | None:
    """An axis cut into what lies outside its innermost t elements, and these."""
    if t is None:
        return (axis,)
    outer, inner, left = list(axis), [], t
    while left > 1:
        if not outer:
            return None
        digit = outer.pop()
        if isinstance(digit.size, int) and left % digit.size == 0:
            inner.append(digit)
            left //= digit.size
        elif digit.size % left == 0:
            inner.append(Digit(digit.dim, digit.stride, left))
            outer.append(Digit(digit.dim, digit.stride * left, digit.size // left))
            left = 1
        else:
            return None
    return tuple(outer), tuple(reversed(inner))


def joined(digits: Iterable[Digit]) -> Digits:
    """The digits without those of size 1, neighbours joined that are one digit together.

    >>> [str(digit) for digit in joined([Digit(0, 4, 2), Digit(1, 1, 1), Digit(0, 1, 4)])]
    ['d0%8']
    """
    kept: list[Digit] = []
    for digit in digits:
        if digit.size == 1:
            continue
        if kept and kept[-1].dim == digit.dim and kept[-1].stride == digit.stride * digit.size:
            kept[-1] = Digit(digit.dim, digit.stride, kept[-1].size * digit.size)
        else:
            kept.append(digit)
    return tuple(kept)


def probed(m: IndexMap) -> Digits | str:
    """The only canonical digits that a map of known sizes could have, from some of its offsets.

    In a layout of digits, index T of a dimension lies at the stride of the digit that begins at T,
    and this digit ends at the first divisor q of what is left at which index T·q does not lie at q
    times that stride. So the offsets asked for here leave one list of digits, and whoever finds
    that the map is not that of the list knows that it is that of no list.

    Returns:
        The digits; where the strides found are those of no list, the reason, in words.

    >>> from morello_layouts import index_map
    >>> [str(digit) for digit in probed(index_map("f32[3]{0:T(4)}"))]
    ['d0%3']
    >>> probed(index_map("f32[2,3]{1,0:T(1,4)}"))
    'd0%2 has stride 4 where the digits inside it have 3 elements'
    """
    found: list[tuple[int, Digit]] = []
    shape = m.recipe.shape
    for dim, n in enumerate(shape):
        assert isinstance(n, int)
        begin = 1
        while begin < n:
            stride = _offset(m, dim, begin)
            size = next(
                (
                    q
                    for q in _divisors(n // begin)
                    if 1 < q < n // begin and _offset(m, dim, begin * q) != q * stride
                ),
                n // begin,
            )
            found.append((stride, Digit(dim, begin, size)))
            begin *= size
    found.sort(key=lambda pair: pair[0])
    volume: Int = 1
    for stride, digit in found:
        if stride != volume:
            return f"{digit} has stride {stride} where the digits inside it have {volume} elements"
        volume *= digit.size
    assert volume == prod(shape)
    return joined(digit for _, digit in reversed(found))


def _offset(m: IndexMap, dim: int, index: int) -> int:
    coordinate = [0] * len(m.recipe.shape)
    coordinate[dim] = index
    offset: int = m(*coordinate)
    return offset


def _divisors(n: int) -> Sequence[int]:
    from sympy import divisors

    return [int(d) for d in divisors(n)]
