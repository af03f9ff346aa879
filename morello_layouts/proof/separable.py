"""Offsets as sums of functions of one coordinate each, and where two of them differ.

A function of one coordinate that is made by factors, // and % has increments that repeat: f(x + L)
is f(x) plus a constant, for a period L. So two sums of such functions are equal everywhere if they
are equal at the origin, and if along each dimension their increments are equal within one period.
No rule of the simplifier is used, and no set of ISL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr.sizes import Int, is_nonnegative
from morello_layouts.limits import PROOF_PERIOD
from morello_layouts.recipe import known


class NotSeparableError(UnsupportedError):
    """An offset that is not a sum of functions of one coordinate each.

    >>> issubclass(NotSeparableError, UnsupportedError)
    True
    """


@dataclass(frozen=True, slots=True)
class Floor:
    """``(const + Σ factor · atom) // divisor``.

    Attributes:
        terms: pairs (atom, factor); factors that are numbers are below the divisor.
        const: the constant.
        divisor: at least 2.
        dims: the dimensions of its coordinates. If there are several, all that is known about the
            floor is that it equals itself.
    """

    terms: tuple[tuple[Atom, Int], ...]
    const: Int
    divisor: Int
    dims: frozenset[int]


Atom: TypeAlias = "int | Floor"
"""The coordinate of a dimension, by its number, or a floor of such."""


@dataclass(frozen=True, slots=True)
class Separable:
    """``const + Σ factor · atom`` over the coordinates of an array.

    It has ``+``, ``*``, ``//`` and ``%``, so a recipe can be read with it, and a formula.

    Attributes:
        terms: the factor of each atom.
        const: the constant.
        shape: the sizes of the array.

    >>> x, y = Separable.coordinates((6, 8))
    >>> (4 * 6 * 2 * x + y) // 48 == x, (x * 8 + y) % 8 == y, (y % 4) // 2 == (y // 2) % 2
    (True, True, True)
    """

    terms: Mapping[Atom, Int]
    const: Int
    shape: tuple[Int, ...]

    @staticmethod
    def coordinates(shape: Sequence[Int]) -> list[Separable]:
        """Return the coordinates of an array; one along a size of 1 is 0."""
        sizes = tuple(shape)
        return [Separable({k: 1} if n != 1 else {}, 0, sizes) for k, n in enumerate(sizes)]

    def __add__(self, other: Separable | Int) -> Separable:
        if not isinstance(other, Separable):
            return Separable(self.terms, self.const + other, self.shape)
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            total = terms.pop(atom, 0) + c
            if total != 0:
                terms[atom] = total
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
            floor = Floor(atom.terms, atom.const, atom.divisor * divisor, atom.dims)
        else:
            ordered = tuple(sorted(rest, key=lambda term: str(term[0])))
            dims = frozenset[int]().union(*(_dims(atom) for atom, _ in rest))
            floor = Floor(ordered, left, divisor, dims)
        return outside + Separable({floor: 1}, 0, self.shape)

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


def _divided(c: Int, divisor: Int) -> tuple[Int, Int]:
    """Return quotient and remainder of a factor; all of a size that is no multiple remains."""
    if isinstance(c, int) and isinstance(divisor, int):
        return divmod(c, divisor)
    if c != 0 and not isinstance(c, int) and c % divisor == 0:
        return c // divisor, 0
    return 0, c


def _dims(atom: Atom) -> frozenset[int]:
    return frozenset((atom,)) if isinstance(atom, int) else atom.dims


def _most(atom: Atom, shape: Sequence[Int]) -> int | None:
    """Return the largest value of an atom; None if it is unknown. The smallest one is 0."""
    if isinstance(atom, int):
        size = shape[atom]
        return size - 1 if isinstance(size, int) else None
    total = atom.const
    for inner, c in atom.terms:
        most = _most(inner, shape)
        if most is None or not is_nonnegative(c):
            return None
        total += c * most
    return (
        total // atom.divisor if isinstance(total, int) and isinstance(atom.divisor, int) else None
    )


@dataclass(frozen=True, slots=True)
class Increment:
    """Where a function changes: along a dimension, first from ``at - 1`` to ``at``.

    Attributes:
        dim: the dimension; None for the value at the origin.
        at: the first coordinate behind such a change.
        by: what the change is; it may hold symbolic sizes.
    """

    dim: int | None
    at: int
    by: Int


def increments(function: Separable) -> list[Increment]:
    """Return the changes of a function, each kind once, at its first place; no zeros.

    The function is 0 everywhere if there are none, or none within the sizes. They are sorted: the
    last dimension first, and along a dimension by place, so that the first one with numbers for
    sizes is the lexicographically first coordinate at which the function is not 0.

    Raises:
        NotSeparableError: if a period is too long.

    >>> x, y = Separable.coordinates((6, 8))
    >>> [(c.dim, c.at, c.by) for c in increments(y // 2 * 8 - y // 4 * 16)]
    [(1, 2, 8), (1, 4, -8)]
    """
    floors = list(_floors(function.terms))
    if not all(_is_separable(one) for one in floors):
        raise NotSeparableError(
            "a floor of several coordinates, or of symbolic sizes",
            "increments are those of functions of one coordinate",
            "ask ISL",
        )
    found = [Increment(None, 0, _at_origin(function))]
    for dim in reversed(range(len(function.shape))):
        terms = [(atom, c) for atom, c in function.terms.items() if dim in _dims(atom)]
        if terms:
            found += _increments_along(dim, terms, function.shape[dim])
    return [one for one in found if one.by != 0]


def _at_origin(function: Separable) -> Int:
    first = np.zeros(1, np.int64)
    total = function.const
    for atom, c in function.terms.items():
        total = total + c * int(_values(atom, first)[0])
    return total


def _increments_along(
    dim: int, terms: Sequence[tuple[Atom, Int]], size: Int
) -> Iterator[Increment]:
    atoms = [atom for atom, _ in terms]
    length = lcm(*(_period(atom)[0] for atom in atoms)) + 1
    length = min(length, size) if isinstance(size, int) else length
    if length > PROOF_PERIOD or any(_numbers(one)[2] > 2**40 for one in _floors(atoms)):
        raise NotSeparableError(
            f"increments along dimension {dim} repeat after {length - 1} elements",
            f"at most {PROOF_PERIOD} of them are looked at",
            "ask ISL",
        )
    x = np.arange(length, dtype=np.int64)
    table = np.stack([np.diff(_values(atom, x)) for atom in atoms])
    if not table.size:
        return
    kinds, first = np.unique(table, axis=1, return_index=True)
    for k in np.argsort(first):
        pairs = zip(terms, kinds[:, k].tolist(), strict=True)
        by = sum((c * n for (_, c), n in pairs), 0)
        yield Increment(dim, int(first[k]) + 1, by)


def _is_separable(floor: Floor) -> bool:
    numbers = (floor.const, floor.divisor, *(c for _, c in floor.terms))
    return len(floor.dims) == 1 and all(isinstance(n, int) for n in numbers)


def _floors(atoms: Iterable[Atom]) -> Iterator[Floor]:
    for atom in atoms:
        if isinstance(atom, Floor):
            yield atom
            yield from _floors(inner for inner, _ in atom.terms)


def _numbers(floor: Floor) -> tuple[list[tuple[Atom, int]], int, int]:
    """Return terms, constant and divisor of a floor without symbolic sizes."""
    const, divisor, *factors = known((floor.const, floor.divisor, *(c for _, c in floor.terms)))
    atoms = (atom for atom, _ in floor.terms)
    return list(zip(atoms, factors, strict=True)), const, divisor


def _period(atom: Atom) -> tuple[int, int]:
    """Return a period, and by how much the atom grows in it."""
    if isinstance(atom, int):
        return 1, 1
    terms, _, divisor = _numbers(atom)
    inner = [(_period(one), c) for one, c in terms]
    length = lcm(*(n for (n, _), _ in inner))
    growth = sum(c * g * (length // n) for (n, g), c in inner)
    times = divisor // gcd(growth, divisor)
    return length * times, growth * times // divisor


def _values(atom: Atom, x: NDArray[np.int64]) -> NDArray[np.int64]:
    if isinstance(atom, int):
        return x
    terms, const, divisor = _numbers(atom)
    total = np.full(len(x), const, np.int64)
    for inner, c in terms:
        total += c * _values(inner, x)
    return total // divisor
