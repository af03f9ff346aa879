"""Exact boxes: the digits that elements have, and those that only padding has.

A dimension of size 20 over the units 1 and 8 has two boxes of digits: 2 by 8, and 1 by 4. Loops
over boxes test no bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from morello_layouts.codegen.kernel.digits import Digit, Digits, Mixed
from morello_layouts.codegen.kernel.extents import Extent, estimate, parted, positive, upper
from morello_layouts.expr.size import Number, Size, ceil_quotient

__all__ = ["Axis", "Box", "Clamp", "element_boxes", "padding_boxes"]

# Above this many, elements are moved one by one: each box is a loop nest of its own.
MOST_BOXES = 200

# For each digit, from the largest unit on, the first value and how many.
_Ranges = tuple[tuple[Number, Number], ...]


@dataclass(frozen=True, slots=True)
class Clamp:
    """Steps of ``unit`` items that stop at a last one: step k is at min(first + k·unit, last).

    So the last vector of a row starts early, where only the call says how long rows are.
    """

    unit: int
    first: Number
    last: Number


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of a box: how many steps, and how far each moves in either buffer.

    Attributes:
        count: steps; items as long as a clamped axis is no loop yet.
        source, target: how far a step moves; an item where the axis is clamped.
        clamp: where steps of several items are, if they do not lie side by side.

    >>> Axis(8, source=4, target=32)
    Axis(count=8, source=4, target=32, clamp=None)
    """

    count: Number
    source: Number
    target: Number
    clamp: Clamp | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """Places moved, or filled, by loops without bound checks: where they start, and the loops."""

    source: Number
    target: Number
    axes: tuple[Axis, ...]

    @property
    def size(self) -> Number:
        """How many places the box has.

        >>> Box(0, 0, (Axis(8, 4, 32), Axis(3, 1, 1))).size
        24
        """
        return prod(axis.count for axis in self.axes)


def element_boxes(sizes: Sequence[Number], mixed: Sequence[Sequence[Mixed]]) -> list[Box] | None:
    """Boxes that together hold every element once, over common digits; None for very many.

    >>> boxes = element_boxes((20,), ((Mixed(1, 1, 4), Mixed(8, 8, 1)),))
    >>> [(box.target, box.size) for box in boxes]
    [(0, 16), (2, 4)]
    """
    per_dim = [
        _within([digit.unit for digit in reversed(chain)], size)
        for size, chain in zip(sizes, mixed, strict=False)
    ]
    if prod(map(len, per_dim)) > MOST_BOXES:
        return None
    digits = [digit for chain in mixed for digit in reversed(chain)]
    boxes = []
    for choice in product(*per_dim):
        ranges = [r for part in choice for r in part]
        pairs = list(zip(digits, ranges, strict=True))
        boxes.append(
            Box(
                sum(digit.source * lo for digit, (lo, _) in pairs),
                sum(digit.target * lo for digit, (lo, _) in pairs),
                tuple(_axis(n, d.source, d.target) for d, (_, n) in pairs if n != 1),
            )
        )
    return boxes


def _axis(count: Number, source: Number, target: Number) -> Axis:
    """An axis; one of at most a single step moves nowhere, and only says whether there is a box."""
    return Axis(count, 0, 0) if upper(count) == 1 else Axis(count, source, target)


def padding_boxes(target: Digits, tail: Number, size: Number) -> list[Box] | None:
    """Boxes of the places that hold no element, ``tail`` of them at the end of ``size`` places.

    None for very many.

    >>> from morello_layouts import index_map
    >>> from morello_layouts.codegen.kernel.digits import digits_of
    >>> digits = digits_of(index_map("f32[3,5]{1,0:T(2,2)}").recipe)
    >>> first, *_ = padding_boxes(digits, 0, 24)
    >>> first.target, [(axis.count, axis.target) for axis in first.axes]
    (14, [(3, 4), (2, 1)])
    """
    order = sorted(range(len(target.sizes)), key=lambda dim: _reach(target.chains[dim]))[::-1]
    boxes: list[Box] = []
    for k in range(len(order)):
        parts: list[list[_Ranges]] = []
        for j, dim in enumerate(order):
            chain = target.chains[dim][::-1]
            if j < k:
                parts.append(_within([digit.unit for digit in chain], target.sizes[dim]))
            elif j == k:
                parts.append(_outside(chain, target.sizes[dim]))
            else:
                parts.append([tuple((0, digit.extent) for digit in chain)])
        if prod(map(len, parts)) + len(boxes) > MOST_BOXES:
            return None
        digits = [digit for dim in order for digit in target.chains[dim][::-1]]
        for choice in product(*parts):
            pairs = list(zip(digits, [r for part in choice for r in part], strict=True))
            start = sum(digit.stride * lo for digit, (lo, _) in pairs)
            axes = [_axis(n, 0, digit.stride) for digit, (_, n) in pairs if n != 1]
            axes.sort(key=lambda axis: -estimate(axis.target))
            boxes.append(Box(0, start, tuple(axes)))
    if tail:
        boxes.append(Box(0, size - tail, (Axis(tail, 0, 1),) if tail != 1 else ()))
    return boxes


def _reach(chain: Sequence[Digit]) -> int:
    return max((estimate(digit.stride) for digit in chain), default=0)


def _within(units: Sequence[int], size: Number) -> list[_Ranges]:
    """Boxes of digits of 0 … size - 1, units from the largest on."""
    if size == 0:
        return []
    if not units:
        return [()]
    full, rest = parted(size, units[0])
    boxes: list[_Ranges] = []
    if full:
        boxes += [((0, full), *inner) for inner in _within(units[1:], units[0])]
    if rest:
        boxes += [((full, 1), *inner) for inner in _within(units[1:], rest)]
    return boxes


def _outside(chain: Sequence[Digit], size: Number) -> list[_Ranges]:
    """Boxes of digits that no coordinate below the size has, digits from the largest unit on."""
    if not chain:
        return [] if size != 0 else [()]
    first, *minor = chain
    full, rest = parted(size, first.unit)
    boxes: list[_Ranges] = []
    if full:
        boxes += [((0, full), *inner) for inner in _outside(minor, first.unit)]
    if rest:
        boxes += [((full, positive(rest)), *inner) for inner in _outside(minor, rest)]
    start = ceil_quotient(size, first.unit) if _is_size(size) else full + positive(rest)
    if start != first.extent:
        every: _Ranges = tuple((0, digit.extent) for digit in minor)
        boxes.append(((start, first.extent - start), *every))
    return boxes


def _is_size(size: Number) -> bool:
    """Whether a symbolic size is at least 1, as recipes' are."""
    return isinstance(size, Size) and not any(isinstance(name, Extent) for name in size.atoms())
