"""Symbolic sizes: polynomials in names of positive integers and rounded-up quotients.

PyTorch calls such a number a ``SymInt``, JAX a ``_DimExpr``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import comb, gcd as integer_gcd, prod
from typing import Any, Final, TypeAlias, overload

from morello_layouts.core.limits import SIZE_BOUNDS, SIZE_TERMS
from morello_layouts.errors import ShapeError, UnsupportedError


class Quotient:
    """``⌈numerator / divisor⌉``, a positive integer that appears in polynomials as a name does.

    >>> print(Quotient(SizeExpr.named("N"), 8), Quotient(SizeExpr.named("N"), 8, exact=True))
    ceil(N/8) N//8
    """

    __slots__ = ("_hash", "_text", "divisor", "exact", "numerator")

    def __init__(self, numerator: Int, divisor: Int, exact: bool = False) -> None:
        self.numerator: Final = numerator  #: a symbolic size, at least 1.
        self.divisor: Final = divisor  #: an integer above 1, or a symbolic size.
        self.exact: Final = exact  #: whether the divisor is known to divide the numerator.
        is_sum = isinstance(numerator, SizeExpr) and len(numerator.terms) > 1
        over = f"({numerator})" if is_sum else str(numerator)
        alone = isinstance(divisor, int) or divisor.as_atom() is not None
        under = str(divisor) if alone else f"({divisor})"
        self._text = f"{over}//{under}" if exact else f"ceil({over}/{under})"
        self._hash = hash((numerator, divisor, exact))

    def names(self) -> frozenset[str]:
        """Return the names in the numerator and in the divisor."""
        parts = (self.numerator, self.divisor)
        return frozenset([n for x in parts if isinstance(x, SizeExpr) for n in x.names()])

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
        """Order names by their text."""
        return self._text < str(other)

    def __gt__(self, other: object) -> bool:
        return self._text > str(other)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Quotient({self._text})"


SizeAtom: TypeAlias = "str | Quotient"
"""A variable of a polynomial: the name of a size, or a rounded quotient of sizes."""

Monomial: TypeAlias = tuple[tuple[SizeAtom, int], ...]
"""Names with their powers, by name; the empty one is 1."""


class SizeExpr:
    """A polynomial in positive integers, with at least one name in it.

    >>> n = SizeExpr.named("N")
    >>> print(8 * n * n + n - 1, (8 * n + 6) // 4, (8 * n + 6) % 4)
    8*N**2 + N - 1 2*N + 1 2
    >>> n % 4 == 0    # not for every size
    False
    >>> -(-n // 4)    # rounded up: not a polynomial
    Traceback (most recent call last):
    morello_layouts.errors.UnsupportedError: (-N) // (4) is not a polynomial for all sizes
    a size is a polynomial in its names, and nothing says that 4 divides -N
    write ceil_quotient(n, 4) to round n/4 up, assume that 4 divides it, or give numbers
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        """Terms sorted, without zeros; :func:`_polynomial` sees to it."""
        self.terms: Final = terms
        self._hash = hash(terms)

    @staticmethod
    def named(name: SizeAtom) -> SizeExpr:
        """Return the size with this name, or the quotient."""
        return SizeExpr(((((name, 1),), 1),))

    def as_atom(self) -> SizeAtom | None:
        """Return the name or quotient that equals this, or None."""
        (monomial, c), *others = self.terms
        if others or c != 1 or len(monomial) != 1 or monomial[0][1] != 1:
            return None
        return monomial[0][0]

    def names(self) -> frozenset[str]:
        """Return the names, those inside of quotients too."""
        return frozenset(
            inner
            for name in self.atoms()
            for inner in ((name,) if isinstance(name, str) else name.names())
        )

    def atoms(self) -> frozenset[SizeAtom]:
        """Return the names and quotients that are the variables of the polynomial."""
        return frozenset([name for monomial, _ in self.terms for name, _ in monomial])

    def fold(self, value_of: Callable[[SizeAtom], Any]) -> Any:
        """Evaluate the polynomial at the values that a function gives to names and quotients.

        Those for which it gives None stay as they are.
        """
        values = {name: value_of(name) for name in self.atoms()}
        kept = {name for name, value in values.items() if value is None}
        if not kept:
            return sum(c * prod(values[name] ** p for name, p in m) for m, c in self.terms)
        if len(kept) == len(values):
            return self
        total: Any = 0
        for m, c in self.terms:
            rest = tuple(power for power in m if power[0] in kept)
            factor = SizeExpr(((rest, c),)) if rest else c
            total += prod((values[name] ** p for name, p in m if name not in kept), start=factor)
        return total

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Return the value at these values of names, which may be sizes again; others stay."""

        def value_of(name: SizeAtom) -> Any:
            if isinstance(name, str):
                return values.get(name)
            numerator, divisor = (evaluated(n, values) for n in (name.numerator, name.divisor))
            if numerator is name.numerator and divisor is name.divisor:
                return None
            if isinstance(numerator, SizeExpr) or isinstance(divisor, SizeExpr):
                divide = exact_quotient if name.exact else ceil_quotient
                return divide(numerator, divisor)
            return -(-numerator // divisor)

        return self.fold(value_of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizeExpr) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Int) -> bool:
        """Order forms that hold sizes; this is not an order of values."""
        return isinstance(other, SizeExpr) and self.terms < other.terms

    def __gt__(self, other: Int) -> bool:
        return not isinstance(other, SizeExpr) or self.terms > other.terms

    def __add__(self, other: Int) -> Int:
        if not isinstance(other, int | SizeExpr):  # a form, which adds sizes itself
            return NotImplemented
        return self if other == 0 else _polynomial((*self.terms, *_terms(other)))

    __radd__ = __add__

    def __neg__(self) -> SizeExpr:
        return SizeExpr(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Int) -> Int:
        return self + (-other)

    def __rsub__(self, other: int) -> Int:
        return -self + other

    def __mul__(self, other: Int) -> Int:
        if isinstance(other, int):
            more = tuple((m, c * other) for m, c in self.terms) if other != 1 else ()
            return 0 if other == 0 else SizeExpr(more) if more else self
        if not isinstance(other, SizeExpr):
            return NotImplemented
        if (count := len(self.terms) * len(other.terms)) > SIZE_TERMS:
            raise UnsupportedError(
                f"a product of sizes: expected up to {SIZE_TERMS} terms, got {count}",
                "products of sizes are multiplied out",
                "give the product a name of its own, with its divisor and range",
            )
        return _polynomial(
            (_multiply_monomials(m, n), c * d) for m, c in self.terms for n, d in other.terms
        )

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Int:
        return self * self ** (power - 1) if power > 1 else self if power else 1

    def __divmod__(self, other: Int) -> tuple[Int, Int]:
        """Return the quotient of polynomials and the rest, which may exceed the divisor."""
        return _divmod(self, other)

    def __rdivmod__(self, other: int) -> tuple[Int, Int]:
        return _divmod(other, self)

    def __floordiv__(self, other: Int) -> Int:
        """Return the quotient rounded down if it is a polynomial; raise an error otherwise."""
        return _floor(self, other)

    def __rfloordiv__(self, other: int) -> Int:
        return _floor(other, self)

    def __mod__(self, other: Int) -> Int:
        """Return the remainder if it is a polynomial, otherwise a value that differs from 0."""
        return _remainder(self, other)

    def __rmod__(self, other: int) -> Int:
        return _remainder(other, self)

    def printing_order(self) -> list[tuple[Monomial, int]]:
        """Return the terms in the order of print, those of the highest degree first."""
        return sorted(self.terms, key=lambda t: (-_degree(t[0]), t[0]))

    def __repr__(self) -> str:
        return f"SizeExpr({self})"

    def __str__(self) -> str:
        parts: list[tuple[Int, str]] = []
        for monomial, c in self.printing_order():
            count, powers = cancel_quotients(abs(c), monomial)
            alone = count == 1 and len(powers) == 1
            factors = [_power_text(base, power, alone) for base, power in powers]
            lead = [str(count)] if count != 1 or not factors else []
            parts.append((c, "*".join([*lead, *factors])))
        return join_signed(parts)


Int: TypeAlias = int | SizeExpr
"""An integer, given or symbolic."""


def evaluated(value: Int, values: Mapping[str, Any]) -> Any:
    """Return a number at these values of its names, which may be sizes again."""
    return value.evaluate(values) if isinstance(value, SizeExpr) else value


class _UnknownRemainder(SizeExpr):
    """A remainder such as ``n % 4`` that is not a polynomial: it differs from 0, and has no sum.

    >>> n = SizeExpr.named("N")
    >>> n + -n % 4    # rounds integers up
    Traceback (most recent call last):
    morello_layouts.errors.UnsupportedError: (-N) % (4) is not a polynomial for all sizes
    a size is a polynomial in its names, and nothing says that 4 divides -N
    write ceil_quotient(n, 4) to round n/4 up, assume that 4 divides it, or give numbers
    """

    __slots__ = ("by",)

    def __init__(self, value: SizeExpr | int, by: Int) -> None:
        super().__init__(_terms(value))
        self.by: Final = by

    def _refuse(self, *_: object) -> Any:
        raise _not_a_polynomial("%", SizeExpr(self.terms), self.by)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __pow__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _refuse
    __rdivmod__ = _refuse  # type: ignore[assignment]


def is_nonnegative(value: Int) -> bool:
    """Return whether a value is proved to be at least 0 for names of at least 1.

    With each name n = 1 + t, a polynomial in the t's without negative coefficients is at least 0.
    If that does not prove it, quotients are bounded by n/d ≤ ⌈n/d⌉ ≤ (n + d - 1)/d.

    >>> n, m = SizeExpr.named("N"), SizeExpr.named("M")
    >>> is_nonnegative(n * m - n), is_nonnegative(n - m)
    (True, False)
    >>> is_nonnegative(8 * ceil_quotient(n, 8) - n)
    True
    """
    return value >= 0 if isinstance(value, int) else _is_nonnegative(value)


@lru_cache(maxsize=4096)  # one layout asks the same about its few sizes thousands of times
def _is_nonnegative(value: SizeExpr) -> bool:
    tried = {value: None}
    left = [value]
    while left:
        one = left.pop()
        if _has_nonnegative_coefficients(one):
            return True
        for smaller in _lower_bounds(one):
            if isinstance(smaller, int):
                if smaller >= 0:
                    return True
            elif smaller not in tried and len(tried) < SIZE_BOUNDS:
                tried[smaller] = None
                left.append(smaller)
    return False


def _has_nonnegative_coefficients(value: SizeExpr) -> bool:
    """Return whether no coefficient is negative, in the names n or in n - 1."""
    if all(c >= 0 for _, c in value.terms):
        return True
    if sum(c for _, c in value.terms) < 0:  # the value if each name is 1
        return False
    if _is_dominated(value):
        return True
    if sum(prod(power + 1 for _, power in m) for m, _ in value.terms) > SIZE_TERMS:
        return False
    shifted: dict[Monomial, int] = {}
    for monomial, c in value.terms:
        parts: list[tuple[Monomial, int]] = [((), c)]
        for name, power in monomial:  # name^power is (1 + t)^power
            parts = [((*m, (name, k)) if k else m, factor * comb(power, k))
                     for m, factor in parts for k in range(power + 1)]  # fmt: skip
        for m, factor in parts:
            shifted[m] = shifted.get(m, 0) + factor
    return all(c >= 0 for c in shifted.values())


def _is_dominated(value: SizeExpr) -> bool:
    """Return whether each negative term has a positive one that it divides."""
    left = {m: c for m, c in value.terms if c > 0}
    for smaller, c in value.terms:
        missing = -c
        for larger in left if missing > 0 else ():
            if left[larger] and _divide_monomial(larger, smaller) is not None:
                taken = min(left[larger], missing)
                left[larger] -= taken
                missing -= taken
        if missing > 0:
            return False
    return True


def _lower_bounds(value: SizeExpr) -> Iterator[Int]:
    """Yield values that are at most the given one, with a bound in place of a quotient."""
    for monomial, c in value.terms:
        for name, _ in monomial:
            if not isinstance(name, Quotient) or name.exact:
                continue
            rest = _divide_monomial(monomial, ((name, 1),))
            assert rest is not None
            for numerator, d in _as_quotients(name, value):
                times, left = _divmod(_polynomial([(rest, c)]), d)
                if left == 0:
                    bound = numerator if c > 0 else numerator + (d - 1)
                    others = value - _polynomial([(monomial, c)])
                    yield others + bound * times


def _as_quotients(name: Quotient, value: SizeExpr) -> Iterator[tuple[Int, Int]]:
    """Yield ⌈n/d⌉ as pairs (n, d): its own, and those of other quotients of n in the value."""
    yield name.numerator, name.divisor
    for other in value.atoms():
        if (
            isinstance(other, Quotient)
            and not other.exact
            and other.numerator == name.numerator
            and other.divisor != name.divisor
            and not name.divisor % other.divisor
        ):
            yield SizeExpr.named(other), name.divisor // other.divisor


def ceil_quotient(value: Int, divisor: Int) -> Int:
    """Return ``⌈value / divisor⌉`` for positive values.

    >>> n = SizeExpr.named("N")
    >>> tiles = ceil_quotient(n, 8)
    >>> print(tiles, ceil_quotient(16 * n + 3, 8), ceil_quotient(tiles, 16))
    ceil(N/8) 2*N + 1 ceil(N/128)
    >>> t = SizeExpr.named("T")
    >>> print(ceil_quotient(n, t), ceil_quotient(n * t + 5, t), ceil_quotient(tiles, t))
    ceil(N/T) N + ceil(5/T) ceil(N/(8*T))
    """
    if isinstance(value, int) and (isinstance(divisor, int) or value <= 1):
        return -(-value // divisor) if isinstance(divisor, int) else value
    whole, rest = _whole_and_rest(value, divisor)
    if isinstance(rest, int) and isinstance(divisor, int):
        return whole - (-rest // divisor)
    if rest == 0:
        return whole
    if not is_nonnegative(rest - 1):
        whole, rest = 0, value
    if isinstance(divisor, int) and isinstance(rest, SizeExpr):
        factor = integer_gcd(divisor, *(c for _, c in rest.terms))
        rest, divisor = _polynomial([(m, c // factor) for m, c in rest.terms]), divisor // factor
    inner = rest.as_atom() if isinstance(rest, SizeExpr) else None
    if isinstance(inner, Quotient) and not inner.exact:
        return whole + SizeExpr.named(Quotient(inner.numerator, inner.divisor * divisor))
    return whole + (rest if divisor == 1 else SizeExpr.named(Quotient(rest, divisor)))


def _whole_and_rest(value: Int, divisor: Int) -> tuple[Int, Int]:
    """Return the terms of a size that a divisor divides, divided, and the other terms."""
    if isinstance(divisor, SizeExpr):
        return _divmod(value, divisor)
    whole = _polynomial([(m, c // divisor) for m, c in _terms(value) if m and c % divisor == 0])
    return whole, value - whole * divisor


@overload
def round_up(value: int, multiple: int) -> int: ...


@overload
def round_up(value: Int, multiple: Int) -> Int: ...


def round_up(value: Int, multiple: Int) -> Int:
    """Return the smallest multiple that is not below a number.

    >>> round_up(10, 8), str(round_up(SizeExpr.named("N"), 8))
    (16, '8*ceil(N/8)')
    """
    return ceil_quotient(value, multiple) * multiple


def exact_quotient(value: Int, divisor: int) -> Int:
    """Return ``value / divisor``, which must be an integer.

    >>> print(exact_quotient(SizeExpr.named("N"), 8), 8 * exact_quotient(SizeExpr.named("N"), 8))
    N//8 N
    """
    quotient, rest = divmod(value, divisor)
    if rest == 0:
        return quotient
    if isinstance(value, int):
        raise ShapeError(
            f"{divisor} does not divide {value}",
            "an exact quotient is an integer",
            f"give a multiple of {divisor}",
        )
    return SizeExpr.named(Quotient(value, divisor, exact=True))


def sign(value: Int) -> int:
    """Return the sign that is written before a value: for a size, that of its first term."""
    if isinstance(value, int):
        return (value > 0) - (value < 0)
    return -1 if str(value).startswith("-") else 1


def absolute(value: Int) -> Int:
    """Return the value or its negative, whichever is written without a sign."""
    return -value if sign(value) < 0 else value


def common_divisor(a: Int, b: Int) -> Int:
    """Return a common divisor: the greatest for integers and monomials, else a common factor.

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
    return _polynomial([(tuple((n, p) for n, p in shared if p), factor)])


def _power_text(base: SizeAtom | SizeExpr, power: int, alone: bool) -> str:
    """Return a power as a factor of a product, or as a term if it is alone."""
    is_sum = isinstance(base, SizeExpr) and len(base.terms) > 1
    is_quotient = isinstance(base, Quotient) and base.exact and not (alone and power == 1)
    text = f"({base})" if is_sum or is_quotient else str(base)
    return text if power == 1 else f"{text}**{power}"


def join_signed(parts: Iterable[tuple[Int, str]]) -> str:
    """Return a sum from pairs of a number with the sign and the text without the sign.

    >>> join_signed([(-2, "2*x"), (1, "y")])
    '-2*x + y'
    """
    text = "".join(f" {'-' if sign(number) < 0 else '+'} {part}" for number, part in parts)
    return text[3:] if text.startswith(" +") else f"-{text[3:]}"


def _polynomial(terms: Iterable[tuple[Monomial, int]]) -> Int:
    """Return the polynomial with these terms, equal ones added: an int if no name is left."""
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


def cancel_quotients(
    factor: int, monomial: Monomial
) -> tuple[int, list[tuple[SizeAtom | SizeExpr, int]]]:
    """Cancel a factor and exact quotients: 8·(N//8) is N, 4·(N//8) is N//2.

    Return the rest of the factor, and each base of the monomial with its power.

    >>> ((monomial, _),) = exact_quotient(SizeExpr.named("N"), 8).terms
    >>> cancel_quotients(24, monomial), cancel_quotients(4, monomial)
    ((3, [(SizeExpr(N), 1)]), (1, [(Quotient(N//2), 1)]))
    """
    powers: list[tuple[SizeAtom | SizeExpr, int]] = []
    for name, power in monomial:
        base: SizeAtom | SizeExpr = name
        if isinstance(name, Quotient) and isinstance(name.divisor, int) and name.exact:
            shared = integer_gcd(factor, name.divisor) if power == 1 else 1
            factor, divisor = factor // shared, name.divisor // shared
            base = Quotient(name.numerator, divisor, exact=True)
            if divisor == 1 and isinstance(name.numerator, SizeExpr):
                base = name.numerator
        powers.append((base, power))
    return factor, powers


def _multiply_monomials(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for name, p in b:
        powers[name] = powers.get(name, 0) + p
    return tuple(sorted(powers.items()))


def _divide_monomial(a: Monomial, b: Monomial) -> Monomial | None:
    powers = dict(a)
    for name, p in b:
        powers[name] = powers.get(name, 0) - p
        if powers[name] < 0:
            return None
    return tuple(sorted((name, p) for name, p in powers.items() if p))


def _not_a_polynomial(operator: str, value: Int, by: Int) -> UnsupportedError:
    return UnsupportedError(
        f"({value}) {operator} ({by}) is not a polynomial for all sizes",
        f"a size is a polynomial in its names, and nothing says that {by} divides {value}",
        f"write ceil_quotient(n, {by}) to round n/{by} up, assume that {by} divides it, "
        "or give numbers",
    )


def _floor(value: Int, by: Int) -> Int:
    quotient, rest = _divmod(value, by)
    if isinstance(by, int) and isinstance(rest, int):
        return quotient + rest // by
    if rest != 0:
        raise _not_a_polynomial("//", value, by)
    return quotient


def _remainder(value: Int, by: Int) -> Int:
    rest = _divmod(value, by)[1]
    if isinstance(by, int) and isinstance(rest, int):
        return rest % by
    return _UnknownRemainder(value, by) if rest != 0 else 0


def _divmod(value: Int, by: Int) -> tuple[Int, Int]:
    """Divide by the leading term as long as it divides: value = quotient · by + rest."""
    if isinstance(value, int) and isinstance(by, int):
        return divmod(value, by)
    lead, factor = max(_terms(by), key=lambda t: (_degree(t[0]), t[0]))
    left, quotient, rest = value, [], []
    while left:
        monomial, c = max(_terms(left), key=lambda t: (_degree(t[0]), t[0]))
        over = _divide_monomial(monomial, lead)
        if over is None or c % factor:
            rest.append((monomial, c))
            left = left - _polynomial([(monomial, c)])
        else:
            quotient.append((over, c // factor))
            left = left - _polynomial([(over, c // factor)]) * by
    return _polynomial(quotient), _polynomial(rest)
