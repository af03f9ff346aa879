"""Offsets as sums of functions of one coordinate each, and where two of them differ.

A function of one coordinate that is made by factors, // and % has increments that repeat: f(x + L)
is f(x) plus a constant, for a period L. So two sums of such functions are equal everywhere if they
are equal at the origin, and if along each dimension their increments are equal within one period.
No rule of the simplifier is used, and no set of ISL.

Exclusive ors are cut into bits. A bit is a value mod 2, or the parity of several such values, which
depends on several coordinates: it is known to equal itself, whatever the order of its bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import gcd, lcm
from threading import local
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from morello_layouts.core.expr.sizes import Int, is_nonnegative, sign
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import has_numpy, numpy as np
from morello_layouts.core.limits import PROOF_PERIOD, PROOF_WIDE, PROOF_XOR_BITS
from morello_layouts.core.recipe import known
from morello_layouts.core.recipe.digits import Period
from morello_layouts.core.recipe.views import Column
from morello_layouts.errors import UnsupportedError


class NotSeparableError(UnsupportedError):
    """An offset that is not a sum of functions of one coordinate each."""


class Floor:
    """``(const + Σ factor · atom) // divisor``; equal ones are one object.

    A floor in which two floors share a third one, level by level, would else be as large as two to
    the power of its levels.
    """

    __slots__ = (
        "__weakref__", "_most", "const", "dims", "divisor", "is_separable", "number", "terms",
    )  # fmt: skip

    #: pairs (atom, factor); factors that are numbers are below the divisor.
    terms: tuple[tuple[Atom, Int], ...]
    const: Int  #: the constant.
    divisor: Int  #: at least 2.
    #: the dimensions of its coordinates. If there are several, all that is known about the floor is
    #: that it equals itself.
    dims: frozenset[int]
    number: int  #: counts the floors of a thread, which orders them.
    is_separable: bool  #: whether it is a function of one coordinate, of numbers alone.
    _most: tuple[Sequence[Int], int | None] | None  # of the last array that was asked about

    @staticmethod
    def of(terms: tuple[tuple[Atom, Int], ...], const: Int, divisor: Int) -> Floor:
        """Return the floor, the one that the thread has if it has it."""
        found: Floor | None = _FLOORS.table.get((terms, const, divisor))
        if found is None:
            found = Floor()
            found.terms, found.const, found.divisor = terms, const, divisor
            found.dims = frozenset[int]().union(*(_dims(atom) for atom, _ in terms))
            found.number = _FLOORS.count = _FLOORS.count + 1
            numbers = (const, divisor, *(c for _, c in terms))
            found.is_separable = (
                len(found.dims) == 1
                and all(isinstance(n, int) for n in numbers)
                and all(_is_separable(atom) for atom, _ in terms)
            )
            found._most = None
            _FLOORS.table[terms, const, divisor] = found
        return found

    def most(self, shape: Sequence[Int]) -> int | None:
        """Return the largest value in an array; None if it is unknown."""
        if self._most is None or self._most[0] != shape:
            self._most = (shape, self._largest(shape))
        return self._most[1]

    def _largest(self, shape: Sequence[Int]) -> int | None:
        total = self.const
        for inner, c in self.terms:
            most = _most(inner, shape)
            if most is None or not is_nonnegative(c):
                return None
            total += c * most
        if isinstance(total, int) and isinstance(self.divisor, int):
            return total // self.divisor
        return None


class _Floors(local):
    """The floors of a thread that somebody holds, and how many there were."""

    def __init__(self) -> None:
        self.table: WeakValueDictionary[Any, Floor] = WeakValueDictionary()
        self.count = 0


_FLOORS: Final = _Floors()


Bit: TypeAlias = "tuple[tuple[tuple[Atom, Int], ...], Int]"
"""A value of 0 or 1: its terms in a canonical order, and its constant."""


@frozen
class Parity:
    """The exclusive or of two or more bits."""

    bits: frozenset[Bit]  #: the bits.
    dims: frozenset[int]  #: the dimensions of their coordinates.


Atom: TypeAlias = "int | Floor | Parity"
"""The coordinate of a dimension, by its number, a floor of atoms, or a parity of bits."""


Fraction: TypeAlias = "tuple[dict[Atom, Int], Int, int]"
"""Terms, a constant, and the number by which their sum is divided."""


@frozen
class Separable:
    """``const + Σ factor · atom`` over the coordinates of an array.

    It has ``+``, ``*``, ``//``, ``%`` and ``^``, so a recipe can be read with it, and a formula.

    >>> x, y = Separable.coordinates((6, 8))
    >>> (4 * 6 * 2 * x + y) // 48 == x, (x * 8 + y) % 8 == y, (y % 4) // 2 == (y // 2) % 2
    (True, True, True)
    """

    terms: Mapping[Atom, Int]  #: the factor of each atom.
    const: Int  #: the constant.
    shape: tuple[Int, ...]  #: the sizes of the array.

    @staticmethod
    def coordinates(shape: Sequence[Int]) -> list[Separable]:
        """Return the coordinates of an array; one along a size of 1 is 0."""
        sizes = tuple(shape)
        return [Separable({k: 1} if n != 1 else {}, 0, sizes) for k, n in enumerate(sizes)]

    def __add__(self, other: Separable | Int) -> Separable:
        if not isinstance(other, Separable):
            return Separable(self.terms, self.const + other, self.shape)
        more, less = self.terms, other.terms
        if len(more) < len(less):
            more, less = less, more
        terms = dict(more)
        for atom, c in less.items():
            terms[atom] = terms[atom] + c if atom in terms else c
            if terms[atom] == 0:
                del terms[atom]
        return Separable(terms, self.const + other.const, self.shape)

    def __sub__(self, other: Separable | Int) -> Separable:
        return self + other * -1

    def __mul__(self, factor: Int) -> Separable:
        terms = {atom: c * factor for atom, c in self.terms.items()} if factor != 0 else {}
        return Separable(terms, self.const * factor, self.shape)

    __rmul__ = __mul__

    def __mod__(self, modulus: Int) -> Separable:
        return self - self // modulus * modulus

    def __floordiv__(self, divisor: Int) -> Separable:
        """Return the quotient: multiples of the divisor leave the floor, the rest stays in it."""
        if isinstance(divisor, int) and divisor % 2 == 0 and self._has_parity:
            half = self.halves()[0]
            return half if divisor == 2 else half // (divisor // 2)
        whole: dict[Atom, Int] = {}
        rest: list[tuple[Atom, Int]] = []
        for atom, c in self.terms.items():
            quotient, left = _divided(c, divisor)
            if quotient != 0:
                whole[atom] = quotient
            if left != 0:
                rest.append((atom, left))
        const, left = _divided(self.const, divisor)
        outside = Separable(whole, const, self.shape)
        if self._is_below(rest, left, divisor):
            return outside
        atom, c = rest[0] if rest else (0, 0)
        if len(rest) == 1 and c == 1 and left == 0 and isinstance(atom, Floor):
            floor = Floor.of(atom.terms, atom.const, atom.divisor * divisor)
        elif len(rest) > 1 and (halved := self._by_halves(rest, left, divisor)):
            return outside + halved
        elif split := self._by_dims(rest, left, divisor):
            return outside + split
        elif simpler := self._coarser(rest, left, divisor) or _flattened(rest, left, divisor):
            terms, const, whole_divisor = simpler
            return outside + Separable(terms, const, self.shape) // whole_divisor
        else:
            floor = Floor.of(_ordered(rest), left, divisor)
        return outside + Separable({floor: 1}, 0, self.shape)

    def __xor__(self, other: Separable | int) -> Separable:
        """Return the exclusive or, bit by bit up to the last one of the smaller value."""
        x, y = self, other if isinstance(other, Separable) else self * 0 + other
        total = self * 0
        for k in range(PROOF_XOR_BITS):
            if x.is_zero or y.is_zero:
                return total + (x + y) * (1 << k)
            (x, one), (y, two) = x.halves(), y.halves()
            total = total + one._parity_with(two) * (1 << k)
        raise _no_bits("an exclusive or of values without a bound")

    __rxor__ = __xor__

    @property
    def key(self) -> Bit:
        """The terms in a canonical order, and the constant."""
        return _ordered(self.terms.items()), self.const

    @property
    def is_zero(self) -> bool:
        """Whether the value is always 0."""
        return self.const == 0 and not self.terms

    @property
    def _has_parity(self) -> bool:
        return any(isinstance(atom, Parity) for atom in self.terms)

    def halves(self) -> tuple[Separable, Separable]:
        """Return the value // 2, and its lowest bit."""
        odd: dict[Atom, Int] = {}
        for atom, c in self.terms.items():
            if isinstance(atom, Parity) and c % 2 != 0:
                odd[atom] = 1
        if not all(isinstance(self.terms[atom], int) for atom in odd):
            raise _no_bits("a bit times a symbolic size")
        if not odd:
            half = self // 2 if not self._has_parity else self._half()
            return half, self - half * 2
        parity = Separable(odd, 0, self.shape)
        half, bit = (self - parity).halves()
        if len(odd) > 1 or not bit.is_zero:
            raise _no_bits("a sum of bits that carries")
        return half, parity

    def _half(self) -> Separable:
        """Return the value // 2, all of whose parities have even factors."""
        parities: dict[Atom, Int] = {}
        others: dict[Atom, Int] = {}
        for atom, c in self.terms.items():
            if isinstance(atom, Parity):
                parities[atom] = c // 2
            else:
                others[atom] = c
        half = Separable(others, self.const, self.shape) // 2
        return half + Separable(parities, 0, self.shape)

    def _parity_with(self, other: Separable) -> Separable:
        """Return the exclusive or of two bits."""
        (one, flip), (two, flop) = self._bits(), other._bits()
        bits = one ^ two
        if len(bits) > 1:
            dims = frozenset[int]().union(*(_dims(a) for terms, _ in bits for a, _ in terms))
            found = Separable({Parity(bits, dims): 1}, 0, self.shape)
        else:
            found = sum((Separable(dict(t), c, self.shape) for t, c in bits), start=self * 0)
        return found * -1 + 1 if flip ^ flop else found

    def _bits(self) -> tuple[frozenset[Bit], int]:
        """Return the bits of which a bit is the exclusive or, and whether it is inverted."""
        inverted = int(self.const == 1 and all(sign(c) < 0 for c in self.terms.values()))
        bit = self * -1 + 1 if inverted else self
        ((atom, c), *more) = bit.terms.items() if bit.terms else ((0, 0),)
        if isinstance(atom, Parity) and c == 1 and not more:
            return atom.bits, inverted
        return frozenset[Bit]() if bit.is_zero else frozenset((bit.key,)), inverted

    @property
    def most(self) -> Int | None:
        """An upper bound, exact for one atom; None if a factor is negative or it is unknown."""
        total = self.const
        for atom, c in self.terms.items():
            most = self.shape[atom] - 1 if isinstance(atom, int) else _most(atom, self.shape)
            if most is None or not is_nonnegative(c):
                return None
            total = total + c * most
        return total

    def _by_halves(
        self, rest: Iterable[tuple[Atom, Int]], const: Int, divisor: Int
    ) -> Separable | None:
        """Return a quotient by a power of two, if at most one term is odd at each halving."""
        if not all(isinstance(n, int) for n in (const, divisor, *(c for _, c in rest))):
            return None
        left = Separable(dict(rest), const, self.shape)
        while divisor % 2 == 0:
            odd = [atom for atom, c in left.terms.items() if c % 2 != 0]
            if len(odd) > 1 or (odd and left.const % 2 != 0):
                return None
            whole = {atom: c // 2 for atom, c in left.terms.items() if c // 2 != 0}
            left = Separable(whole, left.const // 2, self.shape)
            for atom in odd:
                left += Separable({atom: 1}, 0, self.shape) // 2
            divisor //= 2
        return left if divisor == 1 else None

    def _coarser(
        self, rest: Sequence[tuple[Atom, Int]], const: Int, divisor: Int
    ) -> Fraction | None:
        """Return ``(g·y + r) // (g·s)`` as y and s, if 0 <= r < g; None if no g does it."""
        if not isinstance(const, int) or not isinstance(divisor, int):
            return None
        steps = {gcd(c, divisor) for _, c in rest if isinstance(c, int)} - {1}
        for g in sorted(steps, reverse=True):
            low = [(atom, c) for atom, c in rest if c % g != 0]
            if self._is_below(low, const % g, g):
                high = {atom: c // g for atom, c in rest if c % g == 0}
                return high, const // g, divisor // g
        return None

    def _is_below(self, rest: Sequence[tuple[Atom, Int]], const: Int, divisor: Int) -> bool:
        """Return whether a sum of a remainder is certainly below the divisor, and not negative."""
        if len(rest) == 1 and rest[0][1] == 1 and const == 0 and isinstance(rest[0][0], int):
            return is_nonnegative(divisor - self.shape[rest[0][0]])
        if not is_nonnegative(const) or not all(is_nonnegative(c) for _, c in rest):
            return False
        total = const
        for atom, c in rest:
            most = _most(atom, self.shape)
            if most is None:
                return False
            total += c * most
        return is_nonnegative(divisor - 1 - total)

    def _by_dims(
        self, rest: Sequence[tuple[Atom, Int]], const: Int, divisor: Int
    ) -> Separable | None:
        """Return a quotient as a sum of one for each dimension, if remainders do not carry."""
        by_dim: dict[int, list[tuple[Atom, Int]]] = {}
        for atom, c in rest:
            if not _is_separable(atom):
                return None
            by_dim.setdefault(min(_dims(atom)), []).append((atom, c))
        if len(by_dim) < 2 or not isinstance(const, int) or not isinstance(divisor, int):
            return None
        total = const
        for dim, terms in by_dim.items():
            largest = _largest_remainder(_ordered(terms), self.shape[dim], divisor)
            if largest is None or total + largest >= divisor:
                return None
            total += largest
        parts = (Separable(dict(terms), 0, self.shape) // divisor for terms in by_dim.values())
        return sum(parts, Separable({}, 0, self.shape))


@lru_cache(maxsize=1024)
def _largest_remainder(terms: tuple[tuple[Atom, Int], ...], size: Int, divisor: int) -> int | None:
    """Return the largest remainder of a function of one coordinate; None if it is not looked at."""
    if not isinstance(size, int):
        return None
    factors = known([c for _, c in terms])
    if len(terms) == 1 and isinstance(terms[0][0], int):
        step = gcd(factors[0], divisor)
        if size >= divisor // step:  # every multiple of it is a remainder
            return divisor - step
    periods: dict[Atom, Period] = {}
    parts_of = zip(factors, (_period(atom, periods) for atom, _ in terms), strict=True)
    whole = Period.of_sum([*parts_of]).floor(divisor)
    wide = sum(map(abs, factors)) * size > 2**60 or divisor > 2**60
    length = min(whole.length, size)
    x = _places(length, wide or _has_large_divisor(periods))
    if x is None:
        return None
    found: dict[Atom, Any] = {}
    parts = (c * _values(atom, x, found) for c, (atom, _) in zip(factors, terms, strict=True))
    remainders = sum(parts, x * 0) % divisor
    return max(remainders.values) if isinstance(x, Column) else int(remainders.max())


def _places(length: int, wide: bool) -> Any:
    """Return the first coordinates: few in Python, which need no NumPy; None if they are many."""
    if length <= PROOF_WIDE + 1:  # a period, and where the next one begins
        return Column(range(length))
    return None if wide or length > PROOF_PERIOD or not has_numpy() else np.arange(length)


def _has_large_divisor(atoms: Iterable[Atom]) -> bool:
    return any(isinstance(one, Floor) and _numbers(one)[2] > 2**40 for one in atoms)


def _divided(c: Int, divisor: Int) -> tuple[Int, Int]:
    """Return quotient and remainder of a factor; all of a size that is no multiple remains."""
    if isinstance(c, int) and isinstance(divisor, int):
        return divmod(c, divisor)
    if c != 0 and not isinstance(c, int) and c % divisor == 0:
        return c // divisor, 0
    return 0, c


def _flattened(rest: Sequence[tuple[Atom, Int]], const: Int, divisor: Int) -> Fraction | None:
    """Return ``(y + x // d) // s`` as numerator and divisor of ``(d·y + x) // (d·s)``."""
    for floor, c in rest:
        if not isinstance(floor, Floor) or c != 1:
            continue
        if any(isinstance(atom, Parity) for atom, _ in (*rest, *floor.terms)):
            return None  # an even divisor would take it apart again
        if isinstance(floor.divisor, int) and isinstance(divisor, int):
            by = floor.divisor
            terms = {atom: factor * by for atom, factor in rest if atom is not floor}
            for atom, factor in floor.terms:
                terms[atom] = terms.get(atom, 0) + factor
            return terms, const * by + floor.const, by * divisor
    return None


def _ordered(terms: Iterable[tuple[Atom, Int]]) -> tuple[tuple[Atom, Int], ...]:
    return tuple(sorted(terms, key=lambda term: _place(term[0])))


def _place(atom: Atom) -> tuple[int, int, str]:
    """Return what atoms are sorted by: coordinates, floors, parities."""
    if isinstance(atom, int):
        return 0, atom, ""
    return (1, atom.number, "") if isinstance(atom, Floor) else (2, 0, _name(atom))


def _name(atom: Atom) -> str:
    """Return a text of an atom, the same whatever the order in which its bits were found."""
    if isinstance(atom, Parity):
        return "^".join(sorted(f"{_names(terms)}{const}" for terms, const in atom.bits))
    return str(atom) if isinstance(atom, int) else f"({atom.number})"


def _names(terms: Iterable[tuple[Atom, Int]]) -> str:
    return "".join(f"{c}*{_name(atom)}+" for atom, c in terms)


def _no_bits(what: str) -> NotSeparableError:
    return NotSeparableError(
        what, "bits are known one by one if no sum of them carries", "ask at numbers"
    )


def _dims(atom: Atom) -> frozenset[int]:
    return frozenset((atom,)) if isinstance(atom, int) else atom.dims


def _most(atom: Atom, shape: Sequence[Int]) -> int | None:
    """Return the largest value of an atom; None if it is unknown. The smallest one is 0."""
    if isinstance(atom, int):
        size = shape[atom]
        return size - 1 if isinstance(size, int) else None
    if isinstance(atom, Parity):
        return 1
    return atom.most(shape)


@frozen
class Increment:
    """Where a function changes: along a dimension, first from ``at - 1`` to ``at``."""

    dim: int | None  #: the dimension; None for the value at the origin.
    at: int  #: the first coordinate behind such a change.
    by: Int  #: what the change is; it may hold symbolic sizes.


def increments(function: Separable) -> list[Increment]:
    """Return the changes of a function, each kind once, at its first place; no zeros.

    The function is 0 everywhere if there are none, or none within the sizes. They are sorted: the
    last dimension first, and along a dimension by place, so that the first one with numbers for
    sizes is the lexicographically first coordinate at which the function is not 0.

    >>> x, y = Separable.coordinates((6, 8))
    >>> [(c.dim, c.at, c.by) for c in increments(y // 2 * 8 - y // 4 * 16)]
    [(1, 2, 8), (1, 4, -8)]
    """
    _require_separable(function)
    found = [Increment(None, 0, _at_origin(function))]
    for dim in reversed(range(len(function.shape))):
        terms = [(atom, c) for atom, c in function.terms.items() if dim in _dims(atom)]
        if terms:
            found += _increments_along(dim, terms, function.shape[dim])
    return [one for one in found if one.by != 0]


def is_increasing(function: Separable) -> bool:
    """Return whether a function certainly grows along the only dimension of several elements.

    >>> (x,) = Separable.coordinates((6,))
    >>> is_increasing(x % 2 + x * 2), is_increasing(x % 2 * 3 + x)
    (True, False)
    """
    long = [dim for dim, size in enumerate(function.shape) if size != 1]
    _require_separable(function)
    if len(long) != 1 or not function.terms:
        return False
    changes = _increments_along(long[0], list(function.terms.items()), function.shape[long[0]])
    return all(is_nonnegative(one.by - 1) for one in changes)


def _require_separable(function: Separable) -> None:
    if not all(map(_is_separable, function.terms)):
        raise NotSeparableError(
            "a floor of several coordinates, or of symbolic sizes",
            "increments are those of functions of one coordinate",
            "ask ISL",
        )


def _at_origin(function: Separable) -> Int:
    found: dict[Atom, Any] = {}
    terms: Int = sum(c * _values(atom, 0, found) for atom, c in function.terms.items())
    return function.const + terms


def _increments_along(
    dim: int, terms: Sequence[tuple[Atom, Int]], size: Int
) -> Iterator[Increment]:
    atoms = [atom for atom, _ in terms]
    periods: dict[Atom, Period] = {}
    length = lcm(*(_period(atom, periods).length for atom in atoms)) + 1
    length = min(length, size) if isinstance(size, int) else length
    x, found = _places(length, _has_large_divisor(periods)), dict[Atom, Any]()
    if x is None:
        raise NotSeparableError(
            f"increments along dimension {dim} repeat after {length - 1} elements",
            f"at most {PROOF_PERIOD} of them are looked at",
            "ask ISL",
        )
    values = [_values(atom, x, found) for atom in atoms]
    first: dict[tuple[int, ...], int] = {}  # of each kind of change, where it is first
    if isinstance(x, Column):
        steps = ([b - a for a, b in pairwise(one.values)] for one in values)
        for k, kind in enumerate(zip(*steps, strict=True), 1):
            first.setdefault(kind, k)
    else:
        kinds, at = np.unique(np.diff(np.stack(values)), axis=1, return_index=True)
        first = {tuple(kinds[:, k].tolist()): int(at[k]) + 1 for k in np.argsort(at)}
    for kind, place in first.items():
        pairs = zip(terms, kind, strict=True)
        yield Increment(dim, place, sum((c * n for (_, c), n in pairs), 0))


def _is_separable(atom: Atom) -> bool:
    return isinstance(atom, int) or (isinstance(atom, Floor) and atom.is_separable)


def _numbers(floor: Floor) -> tuple[list[tuple[Atom, int]], int, int]:
    const, divisor, *factors = known((floor.const, floor.divisor, *(c for _, c in floor.terms)))
    atoms = (atom for atom, _ in floor.terms)
    return list(zip(atoms, factors, strict=True)), const, divisor


def _period(atom: Atom, found: dict[Atom, Period]) -> Period:
    """Return the period of an atom; those found before, and its parts', are kept."""
    if atom not in found:
        if isinstance(atom, int):
            found[atom] = Period(1, 1)
        else:
            assert isinstance(atom, Floor)
            terms, _, divisor = _numbers(atom)
            parts = [(c, _period(one, found)) for one, c in terms]
            found[atom] = Period.of_sum(parts).floor(divisor)
    return found[atom]


def _values(atom: Atom, x: Any, found: dict[Atom, Any]) -> Any:
    """Return the values of an atom at coordinates; those found before, and its parts', are kept."""
    if isinstance(atom, int):
        return x
    if atom not in found:
        assert isinstance(atom, Floor)
        terms, const, divisor = _numbers(atom)
        total = x * 0 + const
        for inner, c in terms:
            total += c * _values(inner, x, found)
        found[atom] = total // divisor
    return found[atom]
