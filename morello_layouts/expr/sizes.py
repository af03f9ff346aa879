"""Symbolic sizes: polynomials in named sizes and rounded-up quotients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import gcd as integer_gcd
from math import prod
from typing import Any, Final, TypeAlias

from morello_layouts.errors import ShapeError, UnsupportedError


class Quotient:
    """``⌈numerator / divisor⌉``, a positive integer that a polynomial holds as it holds a name.

    Attributes:
        numerator: a symbolic size, at least 1.
        divisor: an integer above 1.
        exact: whether the divisor is known to divide the numerator.

    >>> from morello_layouts.expr.sizes import SizeExpr
    >>> print(Quotient(SizeExpr.named("N"), 8), Quotient(SizeExpr.named("N"), 8, exact=True))
    ceil(N/8) N//8
    """

    __slots__ = ("_hash", "_text", "divisor", "exact", "numerator")

    def __init__(self, numerator: SizeExpr, divisor: int, exact: bool = False) -> None:
        self.numerator: Final = numerator
        self.divisor: Final = divisor
        self.exact: Final = exact
        over = str(numerator) if len(numerator.terms) == 1 else f"({numerator})"
        self._text = f"{over}//{divisor}" if exact else f"ceil({over}/{divisor})"
        self._hash = hash((numerator, divisor, exact))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Quotient)
            and self.divisor == other.divisor
            and self.exact == other.exact
            and self.numerator == other.numerator
        )

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: object) -> bool:
        """The order of names, by their text."""
        return self._text < str(other)

    def __gt__(self, other: object) -> bool:
        """The order of names, by their text."""
        return self._text > str(other)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Quotient({self._text})"


Name: TypeAlias = "str | Quotient"
"""What a polynomial is made of: a size's name, or a rounded quotient of sizes."""

_MOST_TERMS: Final = 500
_MOST_BOUNDS: Final = 32  # polynomials tried in the place of one that holds quotients

Monomial: TypeAlias = tuple[tuple[Name, int], ...]
"""Names with their powers, by name; the empty one is 1."""


class SizeExpr:
    """A polynomial in positive integers, with at least one name in it.

    >>> n = SizeExpr.named("N")
    >>> print(8 * n * n + n - 1, (8 * n + 6) // 4, (8 * n + 6) % 4)
    8*N**2 + N - 1 2*N + 1 2
    >>> n % 4 == 0    # not for every size
    False
    >>> -(-n // 4)    # rounded up: no polynomial
    Traceback (most recent call last):
    morello_layouts.errors.UnsupportedError: (-N) // (4) is no polynomial for all sizes
    a size is a polynomial in its names, and it is not known that 4 divides -N
    write ceil_quotient(n, 4) to round n/4 up, assume that 4 divides it, or give numbers
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        """Terms sorted, without zeros; :func:`_number` sees to it."""
        self.terms: Final = terms
        self._hash = hash(terms)

    @staticmethod
    def named(name: str) -> SizeExpr:
        """The size with this name."""
        return SizeExpr(((((name, 1),), 1),))

    def as_atom(self) -> Name | None:
        """The name or quotient that this is, if it is one and nothing else."""
        (monomial, c), *others = self.terms
        if others or c != 1 or len(monomial) != 1 or monomial[0][1] != 1:
            return None
        return monomial[0][0]

    def names(self) -> frozenset[str]:
        """The names in it, those inside of quotients too."""
        return frozenset(
            inner
            for name in self.atoms()
            for inner in ((name,) if isinstance(name, str) else name.numerator.names())
        )

    def atoms(self) -> frozenset[Name]:
        """The names and quotients that it is a polynomial of."""
        return frozenset(name for monomial, _ in self.terms for name, _ in monomial)

    def fold(self, value_of: Callable[[Name], Any]) -> Any:
        """The polynomial of what a function makes of its names and quotients."""
        values = {name: value_of(name) for name in self.atoms()}
        return sum(c * prod(values[name] ** p for name, p in m) for m, c in self.terms)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value where the names have these values, which may be sizes again."""

        def value_of(name: Name) -> Any:
            if isinstance(name, str):
                return values[name]
            numerator = name.numerator.evaluate(values)
            if isinstance(numerator, SizeExpr):
                divide = exact_quotient if name.exact else ceil_quotient
                return divide(numerator, name.divisor)
            return -(-numerator // name.divisor)

        return self.fold(value_of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizeExpr) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Int) -> bool:
        """The order of forms that holds them, not an order of values."""
        return isinstance(other, SizeExpr) and self.terms < other.terms

    def __gt__(self, other: Int) -> bool:
        """The order of forms that holds them, not an order of values."""
        return not isinstance(other, SizeExpr) or self.terms > other.terms

    def __add__(self, other: Int) -> Int:
        if not isinstance(other, int | SizeExpr):  # a form, which knows how
            return NotImplemented
        return _number((*self.terms, *_terms(other)))

    __radd__ = __add__

    def __neg__(self) -> SizeExpr:
        return SizeExpr(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Int) -> Int:
        return self + (-other)

    def __rsub__(self, other: int) -> Int:
        return -self + other

    def __mul__(self, other: Int) -> Int:
        if not isinstance(other, int | SizeExpr):
            return NotImplemented
        if isinstance(other, SizeExpr) and len(self.terms) * len(other.terms) > _MOST_TERMS:
            raise UnsupportedError(
                f"a size of up to {len(self.terms) * len(other.terms)} terms",
                f"products of sizes are multiplied out, up to {_MOST_TERMS} terms",
                "name the product, and say what is known of it",
            )
        return _number((_times(m, n), c * d) for m, c in self.terms for n, d in _terms(other))

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Int:
        result: Int = 1
        for _ in range(power):
            result = result * self
        return result

    def __divmod__(self, other: Int) -> tuple[Int, Int]:
        """The quotient of polynomials and what it leaves, which need not be below the divisor."""
        return _divmod(self, other)

    def __rdivmod__(self, other: int) -> tuple[Int, Int]:
        return _divmod(other, self)

    def __floordiv__(self, other: Int) -> Int:
        """The quotient rounded down, where it is a polynomial: else an error, never a guess."""
        return _floor(self, other)

    def __rfloordiv__(self, other: int) -> Int:
        return _floor(other, self)

    def __mod__(self, other: Int) -> Int:
        """The remainder where it is known; else what may be held against 0, and is not 0."""
        return _remainder(self, other)

    def __rmod__(self, other: int) -> Int:
        return _remainder(other, self)

    def printing_order(self) -> list[tuple[Monomial, int]]:
        """The terms as people write them, those of most factors first."""
        return sorted(self.terms, key=lambda t: (-_degree(t[0]), t[0]))

    def __repr__(self) -> str:
        return f"SizeExpr({self})"

    def __str__(self) -> str:
        parts = []
        for monomial, c in self.printing_order():
            size, factors = _without_quotients(abs(c), monomial)
            body = "*".join(factors)
            size_text = str(size) if not body else body if size == 1 else f"{size}*{body}"
            parts.append(f"- {size_text}" if c < 0 else f"+ {size_text}")
        first, *rest = parts
        return " ".join([first[2:] if first[0] == "+" else f"-{first[2:]}", *rest])


Int: TypeAlias = int | SizeExpr
"""An integer, given or symbolic."""


class _UnknownRemainder(SizeExpr):
    """What ``n % 4`` is where it is no polynomial: not 0 for all sizes, and no number to add.

    >>> n = SizeExpr.named("N")
    >>> n + -n % 4    # a way to round up that is right for integers
    Traceback (most recent call last):
    morello_layouts.errors.UnsupportedError: what % 4 leaves is no polynomial for all sizes
    a size is a polynomial in its names, and it is not known that 4 divides -N
    write ceil_quotient(n, 4) to round n/4 up, assume that 4 divides it, or give numbers
    """

    __slots__ = ("by",)

    def __init__(self, value: SizeExpr | int, by: Int) -> None:
        super().__init__(_terms(value))
        self.by: Final = by

    def _refuse(self, *_: object) -> Any:
        raise _not_exact(f"what % {self.by} leaves", SizeExpr(self.terms), self.by)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __pow__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _refuse

    def __rdivmod__(self, other: int) -> Any:
        return self._refuse(other)


def is_nonnegative(value: Int) -> bool:
    """Whether a value is proved to be at least 0, its names being at least 1.

    With each name n = 1 + t, a polynomial in the t's without negative coefficients is at least 0.
    Where that does not show it, quotients are bounded by n/d ≤ ⌈n/d⌉ ≤ (n + d - 1)/d.

    >>> n, m = SizeExpr.named("N"), SizeExpr.named("M")
    >>> is_nonnegative(n * m - n), is_nonnegative(n - m)
    (True, False)
    >>> is_nonnegative(8 * ceil_quotient(n, 8) - n)
    True
    """
    return value >= 0 if isinstance(value, int) else _is_nonnegative(value)


@lru_cache(maxsize=4096)  # one layout asks the same of its few sizes thousands of times
def _is_nonnegative(value: SizeExpr) -> bool:
    tried = {value: None}
    left = [value]
    while left:
        one = left.pop()
        if _is_plainly_nonnegative(one):
            return True
        for smaller in _smaller(one):
            if isinstance(smaller, int):
                if smaller >= 0:
                    return True
            elif smaller not in tried and len(tried) < _MOST_BOUNDS:
                tried[smaller] = None
                left.append(smaller)
    return False


def _is_plainly_nonnegative(value: SizeExpr) -> bool:
    """Whether no coefficient is negative, of the names or of what they have above 1."""
    if all(c >= 0 for _, c in value.terms):
        return True
    if all(c <= 0 for _, c in value.terms):
        return False
    shifted = value.fold(lambda name: SizeExpr(((((), 1)), (((name, 1),), 1))))
    return all(c >= 0 for _, c in _terms(shifted))


def _smaller(value: SizeExpr) -> Iterator[Int]:
    """Values that are not above the given one, with a bound in place of a quotient."""
    for monomial, c in value.terms:
        for name, _ in monomial:
            if not isinstance(name, Quotient) or name.exact:
                continue
            rest = _over(monomial, ((name, 1),))
            assert rest is not None
            for numerator, d in _readings(name, value):
                if c % d == 0:
                    bound = numerator if c > 0 else numerator + (d - 1)
                    others = value - _number([(monomial, c)])
                    yield others + bound * _number([(rest, c // d)])


def _readings(name: Quotient, value: SizeExpr) -> Iterator[tuple[SizeExpr, int]]:
    """A quotient ⌈n/d⌉ as pairs (n, d): its own, and those of other quotients of n in the value."""
    yield name.numerator, name.divisor
    for other in value.atoms():
        if (
            isinstance(other, Quotient)
            and not other.exact
            and other.numerator == name.numerator
            and other.divisor != name.divisor
            and name.divisor % other.divisor == 0
        ):
            yield _atom(other), name.divisor // other.divisor


def ceil_quotient(value: Int, divisor: int) -> Int:
    """``⌈value / divisor⌉`` of a positive value.

    >>> n = SizeExpr.named("N")
    >>> tiles = ceil_quotient(n, 8)
    >>> print(tiles, ceil_quotient(16 * n + 3, 8), ceil_quotient(tiles, 16))
    ceil(N/8) 2*N + 1 ceil(N/128)
    """
    if isinstance(value, int):
        return -(-value // divisor)
    whole = _number([(m, c // divisor) for m, c in value.terms if m and c % divisor == 0])
    rest = value - whole * divisor
    if isinstance(rest, int):
        return whole - (-rest // divisor)
    if not is_nonnegative(rest - 1):
        whole, rest = 0, value
    factor = integer_gcd(divisor, *(c for _, c in rest.terms))
    if factor > 1:
        rest, divisor = _number([(m, c // factor) for m, c in rest.terms]), divisor // factor
    assert isinstance(rest, SizeExpr)
    inner = rest.as_atom()
    if isinstance(inner, Quotient) and not inner.exact:
        return whole + _atom(Quotient(inner.numerator, inner.divisor * divisor))
    return whole + (rest if divisor == 1 else _atom(Quotient(rest, divisor)))


def exact_quotient(value: Int, divisor: int) -> Int:
    """``value / divisor``, which is known to be an integer.

    >>> print(exact_quotient(SizeExpr.named("N"), 8), 8 * exact_quotient(SizeExpr.named("N"), 8))
    N//8 N
    """
    quotient, rest = divmod(value, divisor)
    if rest == 0:
        return quotient
    if isinstance(value, int):
        raise ShapeError(
            f"{divisor} does not divide {value}",
            "it was assumed to",
            f"give a multiple of {divisor}",
        )
    return _atom(Quotient(value, divisor, exact=True))


def _atom(quotient: Quotient) -> SizeExpr:
    return SizeExpr(((((quotient, 1),), 1),))


def sign(value: Int) -> int:
    """The sign that is written before a value: of an int its own, else of its first term."""
    if isinstance(value, int):
        return (value > 0) - (value < 0)
    return -1 if str(value).startswith("-") else 1


def absolute(value: Int) -> Int:
    """The value or its negative, whichever is written without a sign."""
    return -value if sign(value) < 0 else value


def magnitude(value: Int) -> tuple[int, int]:
    """What orders terms for printing, the largest strides first: degree, then leading factor."""
    if isinstance(value, int):
        return 0, abs(value)
    return max((_degree(m), abs(c)) for m, c in value.terms)


def common_divisor(a: Int, b: Int) -> Int:
    """A common divisor: the greatest of integers and of monomials, a common factor otherwise.

    >>> n = SizeExpr.named("N")
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


def _number(terms: Iterable[tuple[Monomial, int]]) -> Int:
    """The polynomial with these terms, equal ones added: an int if no name is left."""
    total: dict[Monomial, int] = {}
    for monomial, c in terms:
        total[monomial] = total.get(monomial, 0) + c
    kept = tuple(sorted((m, c) for m, c in total.items() if c))
    if not kept:
        return 0
    return kept[0][1] if len(kept) == 1 and not kept[0][0] else SizeExpr(kept)


def _terms(value: Int) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, SizeExpr):
        return value.terms
    return (((), value),) if value else ()


def _degree(monomial: Monomial) -> int:
    return sum(power for _, power in monomial)


def _without_quotients(c: int, monomial: Monomial) -> tuple[int, list[str]]:
    """A factor and a monomial as they are printed: 8·(N//8) as N, 4·(N//8) as N//2."""
    factors = []
    for name, p in monomial:
        if isinstance(name, Quotient) and name.exact and p == 1:
            shared = integer_gcd(c, name.divisor)
            c //= shared
            if shared == name.divisor:
                text = str(name.numerator)
                factors.append(text if len(name.numerator.terms) == 1 else f"({text})")
                continue
            factors.append(f"({Quotient(name.numerator, name.divisor // shared, exact=True)})")
        else:
            text = f"({name})" if isinstance(name, Quotient) and name.exact else str(name)
            factors.append(text if p == 1 else f"{text}**{p}")
    if c == 1 and len(factors) == 1 and factors[0].startswith("(") and "//" in factors[0]:
        factors = [factors[0][1:-1]]
    return c, factors


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


def _not_exact(what: str, value: Int, by: Int) -> UnsupportedError:
    return UnsupportedError(
        f"{what} is no polynomial for all sizes",
        f"a size is a polynomial in its names, and it is not known that {by} divides {value}",
        f"write ceil_quotient(n, {by}) to round n/{by} up, assume that {by} divides it, "
        "or give numbers",
    )


def _floor(value: Int, by: Int) -> Int:
    quotient, rest = _divmod(value, by)
    if isinstance(by, int) and isinstance(rest, int):
        return quotient + rest // by
    if rest != 0:
        raise _not_exact(f"({value}) // ({by})", value, by)
    return quotient


def _remainder(value: Int, by: Int) -> Int:
    rest = _divmod(value, by)[1]
    if isinstance(by, int) and isinstance(rest, int):
        return rest % by
    return _UnknownRemainder(value, by) if rest != 0 else 0


def _divmod(value: Int, by: Int) -> tuple[Int, Int]:
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
