"""Iteration domains: the boxes of elements that a kernel visits, and how they are cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, Final, Literal, TypeAlias

from morello_layouts.expr.sizes import Int, Quotient, SizeAtom, SizeExpr, ceil_quotient
from morello_layouts.kernels.digits import DigitChains, SharedDigit
from morello_layouts.recipe.digits import Digit

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

    >>> full = Extent("/", SizeExpr.named("N"), 8)
    >>> full, full.value({"N": 20})
    ('(N / 8)', 2)
    """

    __slots__ = ("by", "kind", "most", "of")
    kind: Kind
    of: SizeExpr
    by: int
    most: int | None

    def __new__(cls, kind: Kind, of: SizeExpr, by: int) -> Extent:
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


def _extent(kind: Kind, of: SizeExpr, by: int) -> SizeExpr:
    return SizeExpr.named(Extent(kind, of, by))


def value_of(number: Int, values: Mapping[str, int]) -> int:
    """The number where the sizes have these values.

    >>> value_of(3 * quotient(SizeExpr.named("N"), 8) + 1, {"N": 20})
    7
    """
    if isinstance(number, int):
        return number

    def value(name: SizeAtom) -> Any:
        if isinstance(name, Quotient):
            return -(-value_of(name.numerator, values) // name.divisor)
        return name.value(values) if isinstance(name, Extent) else values[name]

    return int(number.fold(value))


class _Typical(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return _TYPICAL


def estimate(number: Int) -> int:
    """The number itself, or what it is at sizes in the thousands: only speed may depend on it.

    >>> estimate(8 * SizeExpr.named("N")), estimate(5)
    (8000, 5)
    """
    return value_of(number, _Typical())


def upper(number: Int) -> int | None:
    """A number that is not below this one at any sizes; None where there is none.

    >>> upper(16 - 2 * positive(SizeExpr.named("N"))), upper(SizeExpr.named("N"))
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


def parted(number: Int, unit: int) -> tuple[Int, Int]:
    """How many whole units there are, and what is left.

    >>> parted(20, 8), parted(8 * SizeExpr.named("N"), 8)
    ((2, 4), (SizeExpr(N), 0))
    """
    if isinstance(number, int):
        return divmod(number, unit)
    if unit == 1 or number % unit == 0:
        return number // unit, 0
    most = upper(number)
    if most is not None and most < unit:
        return 0, number
    return _extent("/", number, unit), _extent("%", number, unit)


def quotient(number: Int, unit: int) -> Int:
    """How many whole units there are.

    >>> print(quotient(SizeExpr.named("N"), 8))
    (N / 8)
    """
    return parted(number, unit)[0]


def positive(number: Int) -> Int:
    """1 where the number is not 0, else 0."""
    if isinstance(number, int):
        return int(number > 0)
    return number if upper(number) == 1 else _extent(">", number, 0)


def reaches(number: Int, least: int) -> Int:
    """1 where the number is at least another, else 0."""
    return int(number >= least) if isinstance(number, int) else _extent(">=", number, least)


def below(number: Int, end: int) -> Int:
    """The number where it is less than another, else 0."""
    if isinstance(number, int):
        return number if number < end else 0
    most = upper(number)
    return number if most is not None and most < end else _extent("<", number, end)


# Above this many, elements are moved one by one: each box is a loop nest of its own.
MOST_BOXES = 200

# For each digit, from the largest unit on, the first value and how many.
_Ranges = tuple[tuple[Int, Int], ...]


@dataclass(frozen=True, slots=True)
class Clamp:
    """Steps of ``unit`` items that stop at a last one: step k is at min(first + k·unit, last).

    So the last vector of a row starts early, where only the call says how long rows are.
    """

    unit: int
    first: Int
    last: Int


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of a box: how many steps, and how far each moves in either buffer.

    Attributes:
        count: steps; items as long as a clamped axis is no loop yet.
        source, target: how far a step moves; an item where the axis is clamped.
        clamp: where steps of several items are, if they do not lie side by side.

    >>> Axis(8, source=4, target=32)
    Axis(count=8, source=4, target=32, clamp=None)
    """

    count: Int
    source: Int
    target: Int
    clamp: Clamp | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """Places moved, or filled, by loops without bound checks: where they start, and the loops."""

    source: Int
    target: Int
    axes: tuple[Axis, ...]

    @property
    def size(self) -> Int:
        """How many places the box has.

        >>> Box(0, 0, (Axis(8, 4, 32), Axis(3, 1, 1))).size
        24
        """
        return prod(axis.count for axis in self.axes)


def element_boxes(
    sizes: Sequence[Int], shared: Sequence[Sequence[SharedDigit]]
) -> list[Box] | None:
    """Boxes that together hold every element once, over common digits; None for very many.

    >>> boxes = element_boxes((20,), ((SharedDigit(1, 1, 4), SharedDigit(8, 8, 1)),))
    >>> [(box.target, box.size) for box in boxes]
    [(0, 16), (2, 4)]
    """
    per_dim = [
        _within([digit.unit for digit in reversed(chain)], size)
        for size, chain in zip(sizes, shared, strict=False)
    ]
    if prod(map(len, per_dim)) > MOST_BOXES:
        return None
    digits = [digit for chain in shared for digit in reversed(chain)]
    boxes = []
    for choice in product(*per_dim):
        ranges = [r for part in choice for r in part]
        pairs = list(zip(digits, ranges, strict=True))
        boxes.append(
            Box(
                sum(digit.source * lo for digit, (lo, _) in pairs),
                sum(digit.target * lo for digit, (lo, _) in pairs),
                tuple(_axis(n, d.source, d.target) for d, (_, n) in pairs if n != 1),
            )
        )
    return boxes


def _axis(count: Int, source: Int, target: Int) -> Axis:
    """An axis; one of at most a single step moves nowhere, and only says whether there is a box."""
    return Axis(count, 0, 0) if upper(count) == 1 else Axis(count, source, target)


def padding_boxes(target: DigitChains, tail: Int, size: Int) -> list[Box] | None:
    """Boxes of the places that hold no element, ``tail`` of them at the end of ``size`` places.

    None for very many.

    >>> from morello_layouts import index_map
    >>> from morello_layouts.kernels.digits import chains_of
    >>> digits = chains_of(index_map("f32[3,5]{1,0:T(2,2)}").recipe)
    >>> first, *_ = padding_boxes(digits, 0, 24)
    >>> first.target, [(axis.count, axis.target) for axis in first.axes]
    (14, [(3, 4), (2, 1)])
    """
    order = sorted(range(len(target.sizes)), key=lambda dim: _reach(target.chains[dim]))[::-1]
    boxes: list[Box] = []
    for k in range(len(order)):
        parts: list[list[_Ranges]] = []
        for j, dim in enumerate(order):
            chain = target.chains[dim][::-1]
            if j < k:
                parts.append(_within([digit.unit for digit in chain], target.sizes[dim]))
            elif j == k:
                parts.append(_outside(chain, target.sizes[dim]))
            else:
                parts.append([tuple((0, digit.radix) for digit in chain)])
        if prod(map(len, parts)) + len(boxes) > MOST_BOXES:
            return None
        digits = [digit for dim in order for digit in target.chains[dim][::-1]]
        for choice in product(*parts):
            pairs = list(zip(digits, [r for part in choice for r in part], strict=True))
            start = sum(digit.stride * lo for digit, (lo, _) in pairs)
            axes = [_axis(n, 0, digit.stride) for digit, (_, n) in pairs if n != 1]
            axes.sort(key=lambda axis: -estimate(axis.target))
            boxes.append(Box(0, start, tuple(axes)))
    if tail:
        boxes.append(Box(0, size - tail, (Axis(tail, 0, 1),) if tail != 1 else ()))
    return boxes


def _reach(chain: Sequence[Digit]) -> int:
    return max((estimate(digit.stride) for digit in chain), default=0)


def _within(units: Sequence[int], size: Int) -> list[_Ranges]:
    """Boxes of digits of 0 … size - 1, units from the largest on."""
    if size == 0:
        return []
    if not units:
        return [()]
    full, rest = parted(size, units[0])
    boxes: list[_Ranges] = []
    if full:
        boxes += [((0, full), *inner) for inner in _within(units[1:], units[0])]
    if rest:
        boxes += [((full, 1), *inner) for inner in _within(units[1:], rest)]
    return boxes


def _outside(chain: Sequence[Digit], size: Int) -> list[_Ranges]:
    """Boxes of digits that no coordinate below the size has, digits from the largest unit on."""
    if not chain:
        return [] if size != 0 else [()]
    first, *minor = chain
    full, rest = parted(size, first.unit)
    boxes: list[_Ranges] = []
    if full:
        boxes += [((0, full), *inner) for inner in _outside(minor, first.unit)]
    if rest:
        boxes += [((full, positive(rest)), *inner) for inner in _outside(minor, rest)]
    start = ceil_quotient(size, first.unit) if _is_size(size) else full + positive(rest)
    if start != first.radix:
        every: _Ranges = tuple((0, digit.radix) for digit in minor)
        boxes.append(((start, first.radix - start), *every))
    return boxes


def _is_size(size: Int) -> bool:
    """Whether a symbolic size is at least 1, as recipes' are."""
    return isinstance(size, SizeExpr) and not any(isinstance(name, Extent) for name in size.atoms())


def cut(box: Box, axis: Axis, whole: int, unit: int, *, early: bool = False) -> list[Box] | None:
    """Two boxes, where an axis is longer than ``whole`` and no multiple of it.

    The second is the smallest multiple of ``unit`` that holds the rest; it may start within the
    first. None where nothing needs to be cut. ``early``: where only the call says how long the axis
    is, whole blocks may start early too.
    """
    if axis.count % whole == 0:
        return None
    others = tuple(a for a in box.axes if a is not axis)
    if not isinstance(axis.count, int):
        parts = _early_parts if early and unit < whole and axis.clamp is None else _parts
        return [replace(box, axes=(*others, *part)) for part in parts(axis, whole, unit)]
    if axis.count < whole:
        whole = unit
    if axis.count % whole == 0:
        return None
    main = axis.count // whole * whole
    rest = -(-(axis.count - main) // unit) * unit
    start = axis.count - rest
    return [
        replace(box, axes=(*others, replace(axis, count=main))),
        Box(
            box.source + start * axis.source,
            box.target + start * axis.target,
            (*others, replace(axis, count=rest)),
        ),
    ]


def _parts(axis: Axis, whole: int, unit: int) -> Iterator[tuple[Axis, ...]]:
    """The parts of an axis whose length only the call says, each perhaps empty.

    They are multiples of ``whole``; vectors of ``unit`` items over the rest, the last of which ends
    with the axis; and where not even one such vector fits, the items.
    """
    most, left = upper(axis.count), axis.count
    main: Int = 0
    if most is None or most >= (4 * whole if whole == unit else whole):
        blocks, left = parted(axis.count, whole)
        main = blocks * whole
        yield (replace(axis, count=main),)
    fits = reaches(axis.count, unit)
    vectors = quotient(left + (unit - 1), unit)
    if upper(vectors) == 1:
        vectors = positive(left)
    clamp = Clamp(unit, main, axis.count - unit)
    guard = () if fits == 1 else (Axis(fits, 0, 0),)
    yield (*guard, replace(axis, count=vectors * unit, clamp=clamp))
    if unit > 1:
        yield (replace(axis, count=below(axis.count, unit)),)


def _early_parts(axis: Axis, whole: int, unit: int) -> Iterator[tuple[Axis, ...]]:
    """The same, but a rest of more than a quarter of a block is a block that starts early."""
    if upper(axis.count) is not None:
        yield from _parts(axis, whole, unit)
        return
    n, few = axis.count, whole // 4
    steps = quotient(n + (whole - 1 - few), whole)
    guard = Axis(reaches(n, whole), 0, 0)
    yield (guard, replace(axis, count=steps * whole, clamp=Clamp(whole, 0, n - whole)))
    full, rest = parted(n, whole)
    left = guard.count * below(rest, few + 1) + below(n, whole)
    clamp = Clamp(unit, full * whole, n - unit)
    vectors = quotient(left + (unit - 1), unit)
    yield (Axis(reaches(n, unit), 0, 0), replace(axis, count=vectors * unit, clamp=clamp))
    if unit > 1:
        yield (replace(axis, count=below(n, unit)),)


def left_of(axes: list[Axis], taken: list[tuple[Axis, int]]) -> list[Axis]:
    """The axes without what a block takes of them; the last one taken must be a multiple."""
    rest = resolved([a for a in axes if all(a is not b for b, _ in taken)])
    for axis, count in taken:
        if axis.clamp is not None:
            rest.append(replace(axis, count=axis.count // count))
        elif axis.count != count:
            rest.append(Axis(axis.count // count, axis.source * count, axis.target * count))
    return rest


def resolved(axes: list[Axis]) -> list[Axis]:
    """The axes as loops: a clamped one of items becomes steps, and the items of a step."""
    found = []
    for axis in axes:
        if axis.clamp is None:
            found.append(axis)
        else:
            found.append(replace(axis, count=axis.count // axis.clamp.unit))
            found.append(Axis(axis.clamp.unit, axis.source, axis.target))
    return found


def holds(axis: Axis, unit: int) -> bool:
    """Whether an axis may be cut into vectors of so many items."""
    if isinstance(axis.count, int):
        return unit <= axis.count
    if axis.clamp is not None:
        return axis.clamp.unit % unit == 0
    most = upper(axis.count)
    return most is None or most >= unit
