"""Iteration domains: their axes, counts known only at run time, and how loops are peeled.

The counts of a domain may depend on symbolic sizes. No loop over a domain tests a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import prod
from typing import Any, Final, Literal, TypeAlias

from morello_layouts.core.expr.sizes import Int, Quotient, SizeAtom, SizeExpr
from morello_layouts.core.fields import frozen

Kind: TypeAlias = Literal["/", "%", ">", "<", ">="]

# The value that estimates give an unknown size: a large number that is not a multiple of a tile.
_TYPICAL: Final = 1000


class DerivedCount(str):
    """A count of at least 0 that is not a polynomial in the sizes.

    >>> full = DerivedCount("/", SizeExpr.named("N"), 8)
    >>> full, full.value({"N": 20})
    ('(N / 8)', 2)
    """

    __slots__ = ("by", "kind", "most", "of")
    #: ``"/"`` a // b, ``"%"`` a mod b, ``">"`` 1 if a > b and else 0, ``"<"`` a if a < b and else
    #: 0, ``">="`` 1 if a >= b and else 0.
    kind: Kind
    of: SizeExpr  #: a.
    by: int  #: b.
    most: int | None  #: the largest value, None if there is none.

    def __new__(cls, kind: Kind, of: SizeExpr, by: int) -> DerivedCount:
        """Make the name of the count: two counts are equal if their names are."""
        self = super().__new__(cls, f"({of} {kind} {by})")
        self.kind, self.of, self.by = kind, of, by
        largest = upper_bound(of)
        whole = None if largest is None else largest // by if kind == "/" else largest
        bound = {"/": None, "%": by - 1, "<": by - 1, ">": 1, ">=": 1}[kind]
        self.most = min((n for n in (whole, bound) if n is not None), default=None)
        return self

    def value(self, values: Mapping[str, int]) -> int:
        a = evaluate(self.of, values)
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


def _derived(kind: Kind, of: SizeExpr, by: int) -> SizeExpr:
    return SizeExpr.named(DerivedCount(kind, of, by))


def evaluate(number: Int, values: Mapping[str, int]) -> int:
    """Return a number at given sizes.

    >>> evaluate(3 * floor_quotient(SizeExpr.named("N"), 8) + 1, {"N": 20})
    7
    """
    if isinstance(number, int):
        return number

    def value(name: SizeAtom) -> Any:
        if isinstance(name, Quotient):
            return -(-evaluate(name.numerator, values) // evaluate(name.divisor, values))
        return name.value(values) if isinstance(name, DerivedCount) else values[name]

    return int(number.fold(value))


class _Typical(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return _TYPICAL


def estimate(number: Int) -> int:
    """Return the number itself, or its value at sizes in the thousands. Only speed depends on it.

    >>> estimate(8 * SizeExpr.named("N")), estimate(5)
    (8000, 5)
    """
    return evaluate(number, _Typical())


def upper_bound(number: Int) -> int | None:
    """Return an upper bound of a number for all sizes; None if there is none.

    >>> upper_bound(16 - 2 * nonzero(SizeExpr.named("N"))), upper_bound(SizeExpr.named("N"))
    (16, None)
    """
    if isinstance(number, int):
        return number
    total = 0
    for monomial, c in number.terms:
        most = 1
        for name, power in monomial:
            bound = name.most if isinstance(name, DerivedCount) else None
            if bound is None and c > 0:
                return None
            most *= (bound or 0) ** power
        total += c * most if c > 0 else 0
    return total


def divide(number: Int, unit: int) -> tuple[Int, Int]:
    """Divide a number by a unit: return the quotient and the remainder.

    >>> divide(20, 8), divide(8 * SizeExpr.named("N"), 8)
    ((2, 4), (SizeExpr(N), 0))
    """
    if isinstance(number, int):
        return divmod(number, unit)
    if unit == 1 or number % unit == 0:
        return number // unit, 0
    most = upper_bound(number)
    if most is not None and most < unit:
        return 0, number
    return _derived("/", number, unit), _derived("%", number, unit)


def floor_quotient(number: Int, unit: int) -> Int:
    """Return the number divided by a unit, rounded down.

    >>> print(floor_quotient(SizeExpr.named("N"), 8))
    (N / 8)
    """
    return divide(number, unit)[0]


def nonzero(number: Int) -> Int:
    """Return 1 if the number is not 0, else 0."""
    if isinstance(number, int):
        return int(number > 0)
    return number if upper_bound(number) == 1 else _derived(">", number, 0)


def at_least(number: Int, least: int) -> Int:
    """Return 1 if the number is at least another, else 0."""
    return int(number >= least) if isinstance(number, int) else _derived(">=", number, least)


def if_below(number: Int, end: int) -> Int:
    """Return the number if it is less than another, else 0."""
    if isinstance(number, int):
        return number if number < end else 0
    most = upper_bound(number)
    return number if most is not None and most < end else _derived("<", number, end)


@frozen
class Clamp:
    """Steps of ``unit`` items, clamped to the last one: step k is at min(first + k·unit, last).

    The last vector of a row then starts early, so a loop of vectors covers a row of any length.
    """

    unit: int
    first: Int
    last: Int


@frozen
class CopyAxis:
    """An axis of a domain, which becomes a loop: its count, and its stride in either buffer."""

    #: the number of steps; of a clamped axis, the number of items until it is strip-mined.
    count: Int
    #: the strides of a step; of an item if the axis is clamped.
    source: Int
    target: Int
    clamp: Clamp | None = None  #: the positions of steps of several items that may overlap.
    #: the loops that it stands for, whose offsets are not sums of theirs.
    xor: LoopSwizzle | None = field(default=None, repr=False)


@frozen
class XorTerm:
    """What an exclusive or of digits adds to an offset: ``stride * (2^a * (d + i) ^ …)``."""

    stride: Int
    #: the digits: the number of a loop of the swizzle, None for none, the digit's first value, and
    #: the power of two by which it is multiplied.
    digits: tuple[tuple[int | None, Int, int], ...]


@frozen
class LoopSwizzle:
    """Loops over digits of which offsets have an exclusive or, the outermost first."""

    loops: tuple[CopyAxis, ...]
    source: tuple[XorTerm, ...]
    target: tuple[XorTerm, ...]

    def axis(self, itemsize: int = 1) -> CopyAxis:
        """Return the loops as one axis, with strides in bytes of items."""
        loops = tuple(
            replace(a, source=a.source * itemsize, target=a.target * itemsize) for a in self.loops
        )
        source, target = (
            tuple(replace(term, stride=term.stride * itemsize) for term in terms)
            for terms in (self.source, self.target)
        )
        own = LoopSwizzle(loops, source, target)
        return CopyAxis(prod(a.count for a in loops), loops[0].source, loops[0].target, xor=own)


@frozen
class Domain:
    """An iteration domain without bound checks: the offsets at which it starts, and its axes."""

    source: Int
    target: Int
    axes: tuple[CopyAxis, ...]

    @property
    def size(self) -> Int:
        """The number of places."""
        return prod(axis.count for axis in self.axes)


def peel(
    domain: Domain, axis: CopyAxis, whole: int, unit: int, *, overlap_last: bool = False
) -> list[Domain] | None:
    """Peel an axis that is longer than ``whole`` and not a multiple of it.

    The second domain is the smallest multiple of ``unit`` that covers the rest; it may start within
    the first. None if nothing needs to be peeled. With ``overlap_last``, the last whole block may
    start early too, if the length of the axis is known only at run time.
    """
    if axis.count % whole == 0:
        return None
    others = tuple(a for a in domain.axes if a is not axis)
    if not isinstance(axis.count, int):
        parts = _peeled_early if overlap_last and unit < whole and axis.clamp is None else _peeled
        return [replace(domain, axes=(*others, *part)) for part in parts(axis, whole, unit)]
    if axis.count < whole:
        whole = unit
    if axis.count % whole == 0:
        return None
    main = axis.count // whole * whole
    rest = -(-(axis.count - main) // unit) * unit
    start = axis.count - rest
    return [
        replace(domain, axes=(*others, replace(axis, count=main))),
        Domain(
            domain.source + start * axis.source,
            domain.target + start * axis.target,
            (*others, replace(axis, count=rest)),
        ),
    ]


def _peeled(axis: CopyAxis, whole: int, unit: int) -> Iterator[tuple[CopyAxis, ...]]:
    """Return the parts of an axis whose length is known only at run time; each may be empty.

    First multiples of ``whole``; then vectors of ``unit`` items over the rest, the last vector
    ending with the axis; then single items, for an axis that is shorter than a vector.
    """
    most, left = upper_bound(axis.count), axis.count
    main: Int = 0
    if most is None or most >= (4 * whole if whole == unit else whole):
        blocks, left = divide(axis.count, whole)
        main = blocks * whole
        yield (replace(axis, count=main),)
    fits = at_least(axis.count, unit)
    vectors = floor_quotient(left + (unit - 1), unit)
    if upper_bound(vectors) == 1:
        vectors = nonzero(left)
    clamp = Clamp(unit, main, axis.count - unit)
    guard = () if fits == 1 else (CopyAxis(fits, 0, 0),)
    yield (*guard, replace(axis, count=vectors * unit, clamp=clamp))
    if unit > 1:
        yield (replace(axis, count=if_below(axis.count, unit)),)


def _peeled_early(axis: CopyAxis, whole: int, unit: int) -> Iterator[tuple[CopyAxis, ...]]:
    """Return the parts of :func:`_peeled`; a rest above a quarter of a block starts early."""
    if upper_bound(axis.count) is not None:
        yield from _peeled(axis, whole, unit)
        return
    n, few = axis.count, whole // 4
    steps = floor_quotient(n + (whole - 1 - few), whole)
    guard = CopyAxis(at_least(n, whole), 0, 0)
    yield (guard, replace(axis, count=steps * whole, clamp=Clamp(whole, 0, n - whole)))
    full, rest = divide(n, whole)
    left = guard.count * if_below(rest, few + 1) + if_below(n, whole)
    clamp = Clamp(unit, full * whole, n - unit)
    vectors = floor_quotient(left + (unit - 1), unit)
    yield (CopyAxis(at_least(n, unit), 0, 0), replace(axis, count=vectors * unit, clamp=clamp))
    if unit > 1:
        yield (replace(axis, count=if_below(n, unit)),)


def remaining_axes(axes: list[CopyAxis], taken: list[tuple[CopyAxis, int]]) -> list[CopyAxis]:
    """Return the axes without the counts that a block takes of them, which divide theirs."""
    rest = strip_mined([a for a in axes if all(a is not b for b, _ in taken)])
    for axis, count in taken:
        if axis.clamp is not None:
            rest.append(replace(axis, count=axis.count // count))
        elif axis.count != count:
            rest.append(CopyAxis(axis.count // count, axis.source * count, axis.target * count))
    return rest


def strip_mined(axes: list[CopyAxis]) -> list[CopyAxis]:
    """Strip-mine clamped axes: an axis of items becomes one of steps and one within a step."""
    found = []
    for axis in axes:
        if axis.clamp is None:
            found.append(axis)
        else:
            found.append(replace(axis, count=axis.count // axis.clamp.unit))
            found.append(CopyAxis(axis.clamp.unit, axis.source, axis.target))
    return found


def holds_vectors(axis: CopyAxis, unit: int) -> bool:
    """Whether an axis has room for a vector of ``unit`` items."""
    if isinstance(axis.count, int):
        return unit <= axis.count
    if axis.clamp is not None:
        return axis.clamp.unit % unit == 0
    most = upper_bound(axis.count)
    return most is None or most >= unit
