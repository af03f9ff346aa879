"""Symbolic sizes: polynomials with integer coefficients in names that stand for positive integers.

Wherever a form holds an integer (a factor, a constant, a divisor, a modulus, a bound) it may hold
a size. A polynomial without names is never a :class:`Size` but an int, so forms without symbolic
sizes cost nothing extra. Nothing here decides more than it can prove: :func:`is_nonnegative` says
True only where every assignment of positive integers makes the value nonnegative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd as integer_gcd
from math import prod
from typing import Any, Final, TypeAlias

__all__ = ["Number", "Size", "absolute", "common_divisor", "is_nonnegative", "magnitude", "sign"]

Monomial: TypeAlias = tuple[tuple[str, int], ...]
"""Names with their powers, by name; the empty one is 1."""


class Size:
    """A polynomial in positive integers, with at least one name in it.

    >>> n = Size.named("N")
    >>> print(8 * n * n + n - 1, (8 * n) // 4, (8 * n) % 3)
    8*N**2 + N - 1 2*N 8*N
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        """Terms sorted, without zeros; :func:`_number` sees to it."""
        self.terms: Final = terms
        self._hash = hash(terms)

    @staticmethod
    def named(name: str) -> Size:
        """The size with this name."""
        return Size(((((name, 1),), 1),))

    def names(self) -> frozenset[str]:
        """The names in it."""
        return frozenset(name for monomial, _ in self.terms for name, _ in monomial)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value where the names have these values."""
        return sum(c * prod(values[name] ** p for name, p in m) for m, c in self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Number) -> bool:
        """The order of forms that holds them, not an order of values."""
        return isinstance(other, Size) and self.terms < other.terms

    def __gt__(self, other: Number) -> bool:
        """The order of forms that holds them, not an order of values."""
        return not isinstance(other, Size) or self.terms > other.terms

    def __add__(self, other: Number) -> Number:
        return _number((*self.terms, *_terms(other)))

    __radd__ = __add__

    def __neg__(self) -> Size:
        return Size(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Number) -> Number:
        return self + (-other)

    def __rsub__(self, other: int) -> Number:
        return -self + other

    def __mul__(self, other: Number) -> Number:
        return _number((_times(m, n), c * d) for m, c in self.terms for n, d in _terms(other))

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Number:
        result: Number = 1
        for _ in range(power):
            result = result * self
        return result

    def __divmod__(self, other: Number) -> tuple[Number, Number]:
        return _divmod(self, other)

    def __rdivmod__(self, other: int) -> tuple[Number, Number]:
        return _divmod(other, self)

    def __floordiv__(self, other: Number) -> Number:
        """The polynomial quotient; exact where ``%`` gives 0."""
        return _divmod(self, other)[0]

    def __rfloordiv__(self, other: int) -> Number:
        return _divmod(other, self)[0]

    def __mod__(self, other: Number) -> Number:
        """What the polynomial quotient leaves; 0 where the division is exact."""
        return _divmod(self, other)[1]

    def __rmod__(self, other: int) -> Number:
        return _divmod(other, self)[1]

    def __repr__(self) -> str:
        return f"Size({self})"

    def __str__(self) -> str:
        parts = []
        for monomial, c in sorted(self.terms, key=lambda t: (-_degree(t[0]), t[0])):
            body = "*".join(name if p == 1 else f"{name}**{p}" for name, p in monomial)
            size = str(abs(c)) if not body else body if abs(c) == 1 else f"{abs(c)}*{body}"
            parts.append(f"- {size}" if c < 0 else f"+ {size}")
        first, *rest = parts
        return " ".join([first[2:] if first[0] == "+" else f"-{first[2:]}", *rest])


Number: TypeAlias = int | Size
"""An integer, given or symbolic."""


def is_nonnegative(value: Number) -> bool:
    """Whether a value is proved to be at least 0, its names being at least 1.

    With each name n = 1 + t, a polynomial in the t's without negative coefficients is at least 0.

    >>> n, m = Size.named("N"), Size.named("M")
    >>> is_nonnegative(n * m - n), is_nonnegative(n - m), is_nonnegative(-1)
    (True, False, False)
    """
    if isinstance(value, int):
        return value >= 0
    shifted = value.evaluate({name: Size.named(name) + 1 for name in value.names()})
    return all(c >= 0 for _, c in _terms(shifted))


def sign(value: Number) -> int:
    """The sign that is written before a value: of an int its own, else of its first term."""
    if isinstance(value, int):
        return (value > 0) - (value < 0)
    return -1 if str(value).startswith("-") else 1


def absolute(value: Number) -> Number:
    """The value or its negative, whichever is written without a sign."""
    return -value if sign(value) < 0 else value


def magnitude(value: Number) -> tuple[int, int]:
    """What orders terms for printing, the largest strides first: degree, then leading factor."""
    if isinstance(value, int):
        return 0, abs(value)
    return max((_degree(m), abs(c)) for m, c in value.terms)


def common_divisor(a: Number, b: Number) -> Number:
    """A common divisor: the greatest of integers and of monomials, a common factor otherwise.

    >>> n = Size.named("N")
    >>> print(common_divisor(8 * n, 12 * n * n), common_divisor(8 * n + 8, 4))
    4*N 4
    """
    if isinstance(a, int) and isinstance(b, int):
        return integer_gcd(a, b)
    if not a or not b:
        return absolute(a or b)
    for small, large in ((a, b), (b, a)):
        if not large % small:
            return absolute(small)
    monomials = [m for m, _ in (*_terms(a), *_terms(b))]
    powers = [dict(m) for m in monomials]
    shared = [(n, min(p.get(n, 0) for p in powers)) for n, _ in monomials[0]]
    factor = integer_gcd(*(c for _, c in (*_terms(a), *_terms(b))))
    return _number([(tuple((n, p) for n, p in shared if p), factor)])


def _number(terms: Iterable[tuple[Monomial, int]]) -> Number:
    """The polynomial with these terms, equal ones added: an int if no name is left."""
    total: dict[Monomial, int] = {}
    for monomial, c in terms:
        total[monomial] = total.get(monomial, 0) + c
    kept = tuple(sorted((m, c) for m, c in total.items() if c))
    if not kept:
        return 0
    return kept[0][1] if len(kept) == 1 and not kept[0][0] else Size(kept)


def _terms(value: Number) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, Size):
        return value.terms
    return (((), value),) if value else ()


def _degree(monomial: Monomial) -> int:
    return sum(power for _, power in monomial)


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for name, p in b:
        powers[name] = powers.get(name, 0) + p
    return tuple(sorted(powers.items()))


def _over(a: Monomial, b: Monomial) -> Monomial | None:
    powers = dict(a)
    for name, p in b:
        powers[name] = powers.get(name, 0) - p
        if powers[name] < 0:
            return None
    return tuple(sorted((name, p) for name, p in powers.items() if p))


def _divmod(value: Number, by: Number) -> tuple[Number, Number]:
    """Long division by the leading term: value = quotient · by + rest."""
    if isinstance(value, int) and isinstance(by, int):
        return divmod(value, by)
    lead, factor = max(_terms(by), key=lambda t: (_degree(t[0]), t[0]))
    left, quotient, rest = value, [], []
    while left:
        monomial, c = max(_terms(left), key=lambda t: (_degree(t[0]), t[0]))
        over = _over(monomial, lead)
        if over is None or c % factor:
            rest.append((monomial, c))
            left = left - _number([(monomial, c)])
        else:
            quotient.append((over, c // factor))
            left = left - _number([(over, c // factor)]) * by
    return _number(quotient), _number(rest)
