"""What is not a layout: the layout that most elements have, and the first one that has not.

A few wrong offsets spoil lines that pass through them. So lines are read through elements drawn at
random: the layout in which most elements lie where the table has them is the nearest that is found.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import delinearize
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.recover.layouts import Found, Observed, found_in
from morello_layouts.outputs.recover.tables import (
    Rule,
    digits_along,
    is_joined,
    joined,
    lines_of,
)

if TYPE_CHECKING:
    from morello_layouts.outputs.recover.tables import Numbers

_DRAWN: Final = 12
"""Elements through which lines are read."""

_LOOKED_AT: Final = 1024
"""Elements at which tables of such lines are compared first."""


class NoLayoutError(LayoutError):
    """Offsets that no layout has; most elements may be those of one."""

    def __init__(
        self, what: str, why: str = "", fix: str = "", *, near: Found | None = None, unlike: int = 0
    ) -> None:
        super().__init__(what, why, fix)
        self.near = near  #: the nearest layout that was found.
        self.unlike = unlike  #: the elements that it has elsewhere.


def no_layout(one: Observed) -> NoLayoutError:
    """Return the error about a table that no layout has."""
    table, count = one.table, one.table.size
    for unlike, near in _nearest(table):
        found = next(found_in([Observed(near)]), None)
        if found is None:
            continue
        at = delinearize(int((table != near).argmax()), table.shape)
        return NoLayoutError(
            f"the element at {at} lies at {table[at]}, where {found.layout} has {near[at]}",
            f"all but {unlike:,} of {count:,} elements fit this layout, the nearest that was found",
            "correct these elements; or give them apart, if they have a layout of their own",
            near=found,
            unlike=unlike,
        )
    at = delinearize(_first(table), table.shape)
    return NoLayoutError(
        f"no layout was found: the element at {at} breaks the pattern of those before it",
        "each layout tried differs in half of the elements or more",
        "give offsets in elements, from the start of the buffer",
    )


@frozen
class Box:
    """A box of coordinates whose offsets are one number for each step along a dimension."""

    json_keys: ClassVar = ("*",)

    start: tuple[int, ...]  #: its first coordinate.
    shape: tuple[int, ...]  #: its sizes.
    offset: int  #: the offset of its first element.
    strides: tuple[int, ...]  #: the step of the offset along each dimension.

    def __str__(self) -> str:
        sides = ", ".join(f"{at}..{at + n - 1}" if n > 1 else str(at)
                          for at, n in zip(self.start, self.shape, strict=True))  # fmt: skip
        steps = [f"{step}*{'d' + str(k)}" for k, step in enumerate(self.strides) if step]
        return f"({sides}) at {' + '.join([str(self.offset), *steps])}"


def boxes_of(table: Numbers, most: int) -> tuple[Box, ...]:
    """Return boxes that a table is cut into, by the best cut each time; none if they are many.

    >>> table = np.array([[0, 1, 8], [2, 3, 9]])
    >>> print(*boxes_of(table, 4), sep="; ")
    (0..1, 0..1) at 0 + 2*d0 + 1*d1; (0..1, 2) at 8 + 1*d0
    """
    found, left = list[Box](), [((0,) * table.ndim, table)]
    if sum(table.shape) > _CUTS:
        return ()
    while left:
        at, part = left.pop()
        if (strides := _steps(part)) is not None:
            found.append(Box(at, part.shape, int(part.flat[0]), strides))
        else:
            _, dim, cut = max(
                (sum((_steps(half) is not None) * half.size for half in np.split(part, [cut], dim)),
                 dim, cut) for dim, n in enumerate(part.shape) for cut in range(1, n)
            )  # fmt: skip
            low, high = np.split(part, [cut], dim)
            left += [((*at[:dim], at[dim] + cut, *at[dim + 1 :]), high), (at, low)]
        if len(found) + len(left) > most:
            return ()
    return tuple(found)


_CUTS: Final = 600
"""Sizes of a table together, up to which it is cut into boxes."""


def _steps(table: Numbers) -> tuple[int, ...] | None:
    """The step of the offset along each dimension; None if it is not the same everywhere."""
    lines = lines_of(table, operator.sub)
    steps = tuple(int(own[1]) if len(own) > 1 else 0 for own in lines)
    straight = [step * np.arange(len(own)) for step, own in zip(steps, lines, strict=True)]
    is_one = all(map(np.array_equal, straight, lines)) and is_joined(table, lines, operator.add)
    return steps if is_one else None


class _Near(NamedTuple):
    unlike: int
    lines: list[Numbers]
    first: int
    rule: Rule


def _nearest(table: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Yield the tables nearest to one, with the number of elements that differ."""
    random = np.random.default_rng(0)
    sample = random.integers(0, table.size, _LOOKED_AT)
    near = list[_Near]()
    for shape in dict.fromkeys(_shapes(table.shape)):
        parts = table.reshape(shape)
        at = np.unravel_index(sample, shape)
        for k in (0, *random.integers(0, table.size, _DRAWN)):
            base = np.unravel_index(k, shape)
            for rule, inverse in ((operator.add, operator.sub), (operator.xor, operator.xor)):
                lines = [
                    inverse(parts[(*base[:d], slice(None), *base[d + 1 :])], parts[base])
                    for d in range(len(shape))
                ]
                guess = reduce(rule, (x[i] for x, i in zip(lines, at, strict=True)), parts[base])
                unlike = np.count_nonzero(guess != parts[at])
                near.append(_Near(int(unlike), lines, int(parts[base]), rule))
    for each in sorted(near, key=lambda each: each.unlike)[:4]:
        if 2 * each.unlike < _LOOKED_AT:
            whole = joined(each.lines, each.first, each.rule).reshape(table.shape)
            count = int(np.count_nonzero(whole != table))
            if 0 < 2 * count < table.size:
                yield count, whole


def _shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the shape, and it with each size cut into primes, the lowest digit last or first."""
    if len(shape) > 1:
        yield shape
    primes = [[*_primes(n)] or [1] for n in shape]
    yield tuple(p for own in primes for p in own)
    yield tuple(p for own in primes for p in reversed(own))


def _primes(n: int) -> Iterator[int]:
    """Yield the prime factors of a number, the least first."""
    p = 2
    while p * p <= n:
        while n % p == 0:
            yield p
            n //= p
        p += 1
    if n > 1:
        yield n


def _first(table: Numbers) -> int:
    """The number of the first element that is not where those before it say."""
    lines, found = lines_of(table, operator.sub), list[int]()
    for dim, numbers in enumerate(lines):
        low, high = 1, len(numbers)  # so many are digits, so many are not
        if digits_along(numbers, dim) is not None:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            is_whole = digits_along(numbers[:middle], dim) is not None
            low, high = (middle, high) if is_whole else (low, middle)
        found.append((high - 1) * prod(table.shape[dim + 1 :]))
    unlike = joined(lines, int(table.flat[0]), operator.add) != table
    return min([*found, *([int(unlike.argmax())] if unlike.any() else [])], default=0)
