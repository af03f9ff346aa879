"""Numbers that a kernel computes when it is called: how many tiles fit into a size, what is left.

An :class:`Extent` stands in a polynomial as a size's name does, so strides and counts stay
:class:`~morello_layouts.expr.size.Size` or int, and everything that plans loops reads both alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from morello_layouts.expr.quotient import Quotient
from morello_layouts.expr.size import Name, Number, Size

__all__ = [
    "Extent",
    "Kind",
    "below",
    "estimate",
    "parted",
    "positive",
    "quotient",
    "reaches",
    "upper",
    "value_of",
]

Kind: TypeAlias = Literal["/", "%", ">", "<", ">="]

# What orders loops where sizes are not known: any size that is large and no multiple of a tile.
_TYPICAL: Final = 1000


class Extent(str):
    """A count that depends on sizes in a way that no polynomial does; at least 0.

    Attributes:
        kind: ``"/"`` a // b, ``"%"`` a mod b, ``">"`` whether a > b, ``"<"`` a where a < b and
            else 0, ``">="`` whether a >= b.
        of: a.
        by: b.
        most: the largest value, None where there is none.

    >>> full = Extent("/", Size.named("N"), 8)
    >>> full, full.value({"N": 20})
    ('(N / 8)', 2)
    """

    __slots__ = ("by", "kind", "most", "of")
    kind: Kind
    of: Size
    by: int
    most: int | None

    def __new__(cls, kind: Kind, of: Size, by: int) -> Extent:
        """The number, and its text, by which equal ones are equal."""
        self = super().__new__(cls, f"({of} {kind} {by})")
        self.kind, self.of, self.by = kind, of, by
        largest = upper(of)
        whole = None if largest is None else largest // by if kind == "/" else largest
        bound = {"/": None, "%": by - 1, "<": by - 1, ">": 1, ">=": 1}[kind]
        self.most = min((n for n in (whole, bound) if n is not None), default=None)
        return self

    def value(self, values: Mapping[str, int]) -> int:
        """The number where the sizes have these values."""
        a = value_of(self.of, values)
        match self.kind:
            case "/":
                return a // self.by
            case "%":
                return a % self.by
            case ">":
                return int(a > self.by)
            case "<":
                return a if a < self.by else 0
            case _:
                return int(a >= self.by)


def _extent(kind: Kind, of: Size, by: int) -> Size:
    return Size.named(Extent(kind, of, by))


def value_of(number: Number, values: Mapping[str, int]) -> int:
    """The number where the sizes have these values.

    >>> value_of(3 * quotient(Size.named("N"), 8) + 1, {"N": 20})
    7
    """
    if isinstance(number, int):
        return number

    def value(name: Name) -> Any:
        if isinstance(name, Quotient):
            return -(-value_of(name.numerator, values) // name.divisor)
        return name.value(values) if isinstance(name, Extent) else values[name]

    return int(number.fold(value))


class _Typical(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return _TYPICAL


def estimate(number: Number) -> int:
    """The number itself, or what it is at sizes in the thousands: only speed may depend on it.

    >>> estimate(8 * Size.named("N")), estimate(5)
    (8000, 5)
    """
    return value_of(number, _Typical())


def upper(number: Number) -> int | None:
    """A number that is not below this one at any sizes; None where there is none.

    >>> upper(16 - 2 * positive(Size.named("N"))), upper(Size.named("N"))
    (16, None)
    """
    if isinstance(number, int):
        return number
    total = 0
    for monomial, c in number.terms:
        most = 1
        for name, power in monomial:
            bound = name.most if isinstance(name, Extent) else None
            if bound is None and c > 0:
                return None
            most *= (bound or 0) ** power
        total += c * most if c > 0 else 0
    return total


def parted(number: Number, unit: int) -> tuple[Number, Number]:
    """How many whole units there are, and what is left.

    >>> parted(20, 8), parted(8 * Size.named("N"), 8)
    ((2, 4), (Size(N), 0))
    """
    if isinstance(number, int):
        return divmod(number, unit)
    if unit == 1 or number % unit == 0:
        return number // unit, 0
    most = upper(number)
    if most is not None and most < unit:
        return 0, number
    return _extent("/", number, unit), _extent("%", number, unit)


def quotient(number: Number, unit: int) -> Number:
    """How many whole units there are.

    >>> print(quotient(Size.named("N"), 8))
    (N / 8)
    """
    return parted(number, unit)[0]


def positive(number: Number) -> Number:
    """1 where the number is not 0, else 0."""
    if isinstance(number, int):
        return int(number > 0)
    return number if upper(number) == 1 else _extent(">", number, 0)


def reaches(number: Number, least: int) -> Number:
    """1 where the number is at least another, else 0."""
    return int(number >= least) if isinstance(number, int) else _extent(">=", number, least)


def below(number: Number, end: int) -> Number:
    """The number where it is less than another, else 0."""
    if isinstance(number, int):
        return number if number < end else 0
    most = upper(number)
    return number if most is not None and most < end else _extent("<", number, end)
