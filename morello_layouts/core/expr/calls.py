"""What forms have beside digits: variables, and operations such as ``^``, ``min``, ``max``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, Final, Self, TypeVar

from morello_layouts.core.expr.bounds import UNBOUNDED, Interval, hull, range_of_xor
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import EXPR_NESTING
from morello_layouts.errors import LayoutError, UnsupportedError


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


class Whole:
    """An atom without a division."""

    __slots__ = ()
    divisor: ClassVar[int] = 1
    modulus: ClassVar[None] = None

    @property
    def whole(self) -> Self:
        return self


class Var(Whole):
    """A named integer with inclusive bounds."""

    __slots__ = ("_hash", "interval", "key", "name", "value")

    depth: ClassVar[int] = 0
    operands: ClassVar[tuple[Any, ...]] = ()  #: a variable computes with nothing.

    def __init__(self, name: str, interval: Interval = UNBOUNDED) -> None:
        self.name: Final = name  #: the variable's name; variables of one name are equal.
        self.interval: Final = interval  #: its bounds.
        #: its only value; None if it has several.
        self.value: Final = interval.lo if interval.lo == interval.hi else None
        self.key: Final[tuple[Any, ...]] = (0, name)
        self._hash = hash(name)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Var) and self.name == other.name)

    def __repr__(self) -> str:
        return f"Var({self.name!r}, {self.interval})"

    def __str__(self) -> str:
        return self.name


def require_positive(number: Int) -> None:
    if not is_nonnegative(number - 1):
        raise LayoutError(
            f"{number} is not a divisor",
            "the divisor of a floor or mod must be known to be a positive integer",
            "give a positive divisor; a name for it needs the bound 1 or more: M=1..",
        )


def too_deep() -> UnsupportedError:
    return UnsupportedError(
        f"floors, mods and ^ nest deeper than {EXPR_NESTING}",
        "simplifying them would take too long",
        "split the expression, or use fewer levels of tiling",
    )


def as_factor(number: Int) -> str:
    """Return a number as written before a product: a sum needs parentheses."""
    return f"({number})" if isinstance(number, SizeExpr) and len(number.terms) > 1 else str(number)


def as_divisor(number: Int) -> str:
    """Return a number as written after an operator: a product needs parentheses too."""
    text = str(number)
    is_call = (
        text.startswith("ceil(") and isinstance(number, SizeExpr) and number.as_atom() is not None
    )
    is_bare = isinstance(number, int) or is_call or text.replace("_", "a").isalnum()
    return text if is_bare else f"({text})"


def range_of_terms(terms: Iterable[tuple[Any, Int]], const: Int) -> Interval:
    """Return the range of a sum of terms that are independent of each other."""
    lo: Int | None = const
    hi: Int | None = const
    for atom, c in terms:
        least, largest = atom.interval if c == 1 else atom.interval.scale(c)
        lo = None if lo is None or least is None else lo + least
        hi = None if hi is None or largest is None else hi + largest
    return Interval(lo, hi)


TermT = TypeVar("TermT", bound=tuple[Any, ...])


def printing_order(terms: Iterable[TermT]) -> list[TermT]:
    """Return terms, an atom and a factor each, in the order of print: the largest factors first."""

    def order(term: TermT) -> tuple[Any, ...]:
        degree, leading = magnitude(term[1])
        return -degree, -leading, term[0].key

    found = list(terms)
    return sorted(found, key=order) if len(found) > 1 else found


def magnitude(value: Int) -> tuple[int, int]:
    """Return the sort key of factors in print: degree, then leading coefficient."""
    if isinstance(value, int):
        return 0, abs(value)
    return max((sum(power for _, power in m), abs(c)) for m, c in value.terms)
