"""Operations on whole forms: ``^``, ``min``, ``max``, a choice and comparisons, each in one row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from morello_layouts.core.expr.bounds import Interval, hull, range_of_xor
from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import frozen


@frozen
class Operation:
    """What an operation means.

    >>> OPERATIONS["max"].value(3, 5), str(OPERATIONS["max"].interval([Interval(0, 9)] * 2))
    (5, '0..9')
    """

    #: the value at integers, or at NumPy arrays of them.
    value: Callable[..., Any]
    interval: Callable[[Sequence[Interval]], Interval]  #: its bounds, from those of the parts.
    is_commutative: bool = True  #: whether the order of the parts has no meaning.


def _choice(condition: Any, x: Any, y: Any) -> Any:
    return y + (x - y) * (condition != 0)


def _minimum(*parts: Any) -> Any:
    return reduce(lambda x, y: _choice(x < y, x, y), parts)


def _maximum(*parts: Any) -> Any:
    return reduce(lambda x, y: _choice(x > y, x, y), parts)


def _range_of_max(parts: Sequence[Interval]) -> Interval:
    lo: Int | None = None
    hi: Int | None = parts[0].hi
    for least, most in parts:  # each least value is a bound; the largest one that is known counts
        if least is not None and (lo is None or is_nonnegative(least - lo)):
            lo = least
        if hi is not None and (most is None or not is_nonnegative(hi - most)):
            hi = most if most is not None and is_nonnegative(most - hi) else None
    return Interval(lo, hi)


def _range_of_min(parts: Sequence[Interval]) -> Interval:
    return _range_of_max([part.scale(-1) for part in parts]).scale(-1)


_BIT: Final = Interval(0, 1)

OPERATIONS: Final[Mapping[str, Operation]] = {
    "xor": Operation(lambda *parts: reduce(operator.xor, parts), range_of_xor),
    "min": Operation(_minimum, _range_of_min),
    "max": Operation(_maximum, _range_of_max),
    "select": Operation(_choice, lambda parts: hull(parts[1:]), False),
    ">=": Operation(lambda x: (x >= 0) * 1, lambda _: _BIT),
    "==": Operation(lambda x: (x == 0) * 1, lambda _: _BIT),
    "!=": Operation(lambda x: (x != 0) * 1, lambda _: _BIT),
}
"""Each operation. ``select`` is its second part where the first is not 0, else the third; the
comparisons compare their only part with 0, and are 1 or 0."""
