"""How many elements each device has, needs and keeps: exact counts, or formulas of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, prod
from typing import Any, ClassVar, TypeAlias

from morello_layouts.core.description import amount
from morello_layouts.core.expr import AffineExpr, canonicalize, variable
from morello_layouts.core.expr.conversions import size_to_sympy
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np, sympy
from morello_layouts.core.limits import RESHARD_DEVICES, RESHARD_PAIRS, RESHARD_STEPS
from morello_layouts.core.recipe import delinearize, known, linear_index
from morello_layouts.errors import UnsupportedError
from morello_layouts.machines.resharding.combs import CutLevel, intersection, part
from morello_layouts.machines.resharding.exchange import (
    End,
    Exchange,
    Values,
    exchange as exchange_of,
)
from morello_layouts.notations.sharding import MeshDigit

Array: TypeAlias = "np.ndarray[Any, Any]"
Cut: TypeAlias = Sequence[CutLevel]

_EXACT = 1 << 62  # elements up to which NumPy's integers do not overflow
_PRODUCT = 1 << 31  # numbers whose products do not


@frozen
class ExchangeTotals(Displayed):
    """What an exchange moves, in elements: ints, or SymPy expressions of symbolic sizes."""

    json_keys: ClassVar = ("held", "needed", "kept", "moved", "condition")

    held: Any  #: the elements on all devices before, copies counted.
    needed: Any  #: those on all devices afterwards.
    kept: Any  #: those that a device has before and afterwards.
    moved: Any  #: ``needed - kept``.
    #: what symbolic sizes must be, such as ``8 | M``; empty if nothing is left.
    condition: str = ""

    def __str__(self) -> str:
        return f"{self.moved} of {self.needed}{self.condition and f' if {self.condition}'}"


@frozen(slots=False, eq=False)
class Traffic:
    """What devices hold and move, in elements."""

    #: the elements that each device holds before, by its position in the mesh if both sides have
    #: the same axes, else by its number.
    held: Array
    needed: Array  #: those that it needs.
    kept: Array  #: those of them that it holds already.

    @property
    def received(self) -> Array:
        """The elements that each device receives."""
        return self.needed - self.kept

    @property
    def moved(self) -> int:
        """The elements that move: those that are needed and not held, of all receivers."""
        return int(self.received.sum())

    @property
    def totals(self) -> ExchangeTotals:
        """The sums over all devices."""
        held, needed, kept = (int(x.sum()) for x in (self.held, self.needed, self.kept))
        return ExchangeTotals(held, needed, kept, self.moved)


def traffic(exchange: Exchange) -> Traffic:
    """Return what every device holds, needs and keeps."""
    ends, devices = exchange.ends, exchange.devices
    if devices > RESHARD_DEVICES:
        raise UnsupportedError(
            f"{amount(devices)} devices",
            f"elements are counted on up to {amount(RESHARD_DEVICES)} devices",
            "ask for the messages of single devices",
        )
    sizes = known(exchange.shape)
    dtype = np.int64 if prod(sizes) * devices < _EXACT else object
    if exchange.is_common:  # each axis along a dimension of its own: most counts are of few axes
        axes = exchange.source.axes
        grid = np.ix_(*(np.arange(axis.size, dtype=dtype) for axis in axes.values()))
        here = there = dict(zip(axes, grid, strict=True))
        shape = tuple(axis.size for axis in axes.values())
    else:
        numbers, shape = np.arange(devices, dtype=dtype), (devices,)
        (inside, here), (wanted, there) = (
            (position >= 0, end.at(np.maximum(position, 0)))
            for end, position in ((end, end.positions(numbers)) for end in ends)
        )
    held = needed = kept = np.ones((), dtype)
    for n, a, b in zip(sizes, ends[0].cuts, ends[1].cuts, strict=True):
        held = held * below(a, here, n)
        needed = needed * below(b, there, n)
        kept = kept * shared(a, b, (here, there), n)
    if not exchange.is_common:
        held, needed, kept = held * inside, needed * wanted, kept * (inside & wanted)
    return Traffic(*(np.broadcast_to(x, shape).reshape(-1) for x in (held, needed, kept)))


def below(levels: Cut, at: Values, end: Any) -> Any:
    """Return how many indices below ``end`` a device holds: for ints, or arrays of devices.

    >>> below((CutLevel(6), CutLevel(2, axis=0, size=3)), {0: np.arange(3)}, 15).tolist()
    [6, 5, 4]
    """
    if not levels:
        return end
    level, rest = levels[0], levels[1:]
    if level.axis is None:
        whole = below(rest, at, level.block)
        return end // level.block * whole + below(rest, at, end % level.block)
    value = at[level.axis]
    return below(rest, at, np.clip(end - level.start_of(value), 0, level.room_of(value)))


def shared(a: Cut, b: Cut, at: tuple[Values, Values], extent: int) -> Any:
    """Return how many indices below ``extent`` devices hold by both of two cuts.

    >>> rows, blocks = (CutLevel(5, axis=0, size=3),), (CutLevel(8, axis=1, size=2),)
    >>> shared(rows, blocks, ({0: np.array([0, 1, 2])}, {1: np.array([0, 0, 0])}), 15).tolist()
    [5, 3, 0]
    """
    for one, other, here, there in ((a, b, at[0], at[1]), (b, a, at[1], at[0])):
        if _is_interval(one):
            low, size = _interval(one, here, extent)
            return below(other, there, low + size) - below(other, there, low)
    divisor = gcd(a[0].block, b[0].block)
    steps = (a[-1].block + b[-1].block) // divisor
    is_flat = a[0].axis is b[0].axis is None and _is_interval((*a[1:], *b[1:]))
    if is_flat and steps <= RESHARD_STEPS and b[0].block // divisor < _PRODUCT:
        return _by_periods(a, b, at, extent)
    return _one_by_one((a, b), at, extent)


def _interval(levels: Cut, at: Values, extent: int) -> tuple[Any, Any]:
    """Return the first index of parts that are intervals, and their sizes."""
    start, size = 0, extent
    for level in levels:
        value = at[level.axis or 0]
        offset = level.start_of(value)
        start, size = start + offset, np.clip(size - offset, 0, level.room_of(value))
    return np.minimum(start, extent), size


def _by_periods(a: Cut, b: Cut, at: tuple[Values, Values], extent: int) -> Any:
    """Return the same for two intervals that repeat, by the Chinese remainder theorem.

    Repetition k of one interval begins ``d`` before repetition j of the other if
    ``start + k*period + d = there + j*other``. The d that occur are equal modulo the greatest
    common divisor of both periods, and each occurs once in their least common multiple.
    """
    period, other = a[0].block, b[0].block
    start, size = _interval(a[1:], at[0], period)
    there, width = _interval(b[1:], at[1], other)
    divisor, common = gcd(period, other), lcm(period, other)
    turns = other // divisor
    inverse = pow(period // divisor, -1, turns) if turns > 1 else 0
    most = b[-1].block
    first = (there - start + most - 1) % divisor - (most - 1)
    found = 0 * (start + there)
    for d in range(0, a[-1].block + most - 1, divisor):
        ahead = first + d
        both = np.clip(np.minimum(size, ahead + width) - np.maximum(0, ahead), 0, None)
        k = (there - start - ahead) // divisor % turns * inverse % turns
        room = extent - (k * period + start + np.maximum(0, ahead))
        found += np.where(room > 0, room // common * both + np.minimum(room % common, both), 0)
    return found


def _one_by_one(cuts: tuple[Cut, Cut], at: tuple[Values, Values], extent: int) -> Any:
    """Return the same by the intersection of each pair of parts."""
    axes = [(k, level) for k, cut in enumerate(cuts) for level in cut if level.axis is not None]
    sizes = tuple(level.size for _, level in axes)
    keys = np.asarray(linear_index([at[k][level.axis or 0] for k, level in axes], sizes, 0))
    kinds, which = np.unique(keys, return_inverse=True)
    if len(kinds) > RESHARD_PAIRS:
        raise UnsupportedError(
            f"{amount(len(kinds))} pairs of parts that repeat in more than one way",
            f"elements are counted for up to {amount(RESHARD_PAIRS)} such pairs",
            "ask for the messages of single devices",
        )
    found = []
    for key in kinds.tolist():
        values: tuple[Values, Values] = ({}, {})
        for (side, level), value in zip(axes, delinearize(key, sizes), strict=True):
            values[side][level.axis or 0] = value
        one, other = (part(cut, here, extent) for cut, here in zip(cuts, values, strict=True))
        found.append(sum(comb.size for comb in intersection(one, other)))
    return np.array(found, keys.dtype)[which].reshape(keys.shape)


def counts_of_sizes(exchange: Exchange, symbols: Mapping[str, Any]) -> ExchangeTotals | None:
    """Return what devices hold, need, keep and get, for sizes that all parts divide, and which.

    Counts must be proportional to the sizes: they are taken at the smallest, and at twice these.
    """
    sizes, factor, conditions = list[int](), Fraction(1), list[str]()
    for dim, n in enumerate(exchange.shape):
        least = n if isinstance(n, int) else _divisor(exchange, dim, n)
        if least is None:
            return None
        sizes.append(least)
        if isinstance(n, SizeExpr):
            factor /= least
            conditions += [f"{least} | {n}"] if n % least != 0 else []
    pairs = list(zip(sizes, exchange.shape, strict=True))
    doubled = [k if isinstance(n, int) else 2 * k for k, n in pairs]
    found = [_counts(exchange, each) for each in (sizes, doubled)]
    symbolic = [n for n in exchange.shape if isinstance(n, SizeExpr)]
    if [2 ** len(symbolic) * x for x in found[0]] != found[1]:
        return None
    share = sympy.Rational(factor.numerator, factor.denominator)
    share *= size_to_sympy(prod(symbolic, start=1), symbols)
    held, needed, kept = (x * share for x in found[0])
    return ExchangeTotals(
        held, needed, kept, needed - kept, " and ".join(dict.fromkeys(conditions))
    )


def _divisor(exchange: Exchange, dim: int, n: Int) -> int | None:
    """Return a number that makes all parts equal if it divides the size; None if none does."""
    counts, periods = [1], [1]
    for end in exchange.ends:
        parts = 1
        levels = zip(end.sharding.cuts[dim], end.sharding.digits(dim, n), strict=True)
        for k, (level, digit) in enumerate(levels):
            if level.block is None:
                parts *= digit.count  # type: ignore[assignment]
            elif k == 0 and level.axes:
                return None
            else:
                periods.append(level.block)  # type: ignore[arg-type]
        counts.append(parts)
    if not all(isinstance(x, int) for x in (*counts, *periods)):
        return None
    return lcm(*counts) * lcm(*periods)


def _counts(exchange: Exchange, shape: Sequence[int]) -> list[int]:
    before, after = (end.sharding for end in exchange.ends)
    found = traffic(exchange_of(before, after, shape)).totals
    return [found.held, found.needed, found.kept]


@frozen
class Owner(Displayed):
    """The coordinate along an axis of devices of those that hold an element."""

    json_keys: ClassVar = ("axis", "formula=text")

    axis: str  #: the name of the axis; that of receivers ends with a prime.
    form: AffineExpr  #: the coordinate, as a formula of the element's coordinates.

    @property
    def text(self) -> str:
        """The formula."""
        return str(self.form)

    def __str__(self) -> str:
        return f"{self.axis} = {self.form}"


@frozen
class Indices(Displayed):
    """The indices of one dimension in the message from a device to another."""

    json_keys: ClassVar = ("dim", "text", "period")

    dim: int  #: the dimension.
    lows: tuple[AffineExpr, ...]  #: the first index is the largest of these.
    highs: tuple[AffineExpr, ...]  #: the index behind the last one is the smallest of these.
    #: what else holds, of cuts that repeat: these formulas of the index are these coordinates.
    owners: tuple[Owner, ...]
    period: (
        Int | None
    )  #: the number of indices after which the pattern repeats; None if it does not.

    @property
    def text(self) -> str:
        """The condition in words."""
        name, low, high = f"d{self.dim}", _one("max", self.lows), _one("min", self.highs)
        parts = [f"{name} in [{low}, {high})", *map(str, self.owners)]
        if self.owners and low == "0":
            parts = [" and ".join(parts[1:]), f"{name} < {high}"]
        repeats = "" if self.period is None else f" (repeats after {self.period})"
        return f"{' and '.join(parts)}{repeats}"

    def __str__(self) -> str:
        return self.text


def _one(name: str, forms: Sequence[AffineExpr]) -> str:
    texts = list(dict.fromkeys(map(str, forms)))
    return texts[0] if len(texts) == 1 else f"{name}({', '.join(texts)})"


@frozen(slots=False)
class TrafficFormulas(Displayed):
    """The formulas of an exchange; coordinates of receivers have a prime."""

    json_keys: ClassVar = ("sender", "receiver", "holds", "needs", "message")

    exchange: Exchange  #: who sends what to whom.

    @property
    def sender(self) -> str:
        """The number of a sender, of its coordinates."""
        return _device(self.exchange.source, "")

    @property
    def receiver(self) -> str:
        """The number of a receiver, of its coordinates."""
        return _device(self.exchange.target, "'")

    @cached_property
    def holds(self) -> tuple[Owner, ...]:
        """Which coordinates devices have that hold an element before."""
        return _owners(self.exchange.source, self.exchange.shape, "")

    @cached_property
    def needs(self) -> tuple[Owner, ...]:
        """Which coordinates devices have that need it."""
        return _owners(self.exchange.target, self.exchange.shape, "'")

    @cached_property
    def message(self) -> tuple[Indices, ...]:
        """The indices along each dimension in a message."""
        found = []
        ends = ((self.exchange.source, ""), (self.exchange.target, "'"))
        for dim, n in enumerate(self.exchange.shape):
            lows, highs, owners, periods = [], [], list[Owner](), []
            for end, prime in ends:
                cut = end.cuts[dim]
                if not _is_interval(cut):
                    owners += _owners_along(end, dim, n, prime)
                    periods += [cut[0].block] if cut[0].axis is None else []
                elif cut:
                    start, stops = _interval_bounds(end, dim, n, prime)
                    lows.append(start)
                    highs += stops
            zero = AffineExpr((), 0)
            bounds = tuple(lows) or (zero,), tuple(highs) or (zero + n,)
            whole = all(isinstance(m, int) for m in periods) and len(periods) > 0
            found.append(Indices(dim, *bounds, tuple(owners), lcm(*periods) if whole else None))
        return tuple(found)

    def __str__(self) -> str:
        before, after = (", ".join(map(str, x)) or "all" for x in (self.holds, self.needs))
        what = "; ".join(map(str, self.message))
        return f"before: {before}\nafter: {after}\nmessage: {what}"


def _is_interval(cut: Cut) -> bool:
    return all(level.axis is not None for level in cut)


def _names(end: End, prime: str) -> Mapping[int, AffineExpr]:
    return {k: variable(axis.name + prime, 0, axis.size - 1) for k, axis in end.axes.items()}


def _device(end: End, prime: str) -> str:
    values, zero = _names(end, prime), AffineExpr((), 0)
    if any(len(axis.digits) > 1 for axis in end.axes.values()):
        return "the device at its coordinate"
    position = sum((end.axes[k].position(x) for k, x in values.items()), zero)
    return f"ids[{position}]" if end.sharding.mesh.ids else str(position)


def _owners(end: End, shape: Sequence[Int], prime: str) -> tuple[Owner, ...]:
    every = {o.axis: o for dim, n in enumerate(shape) for o in _owners_along(end, dim, n, prime)}
    names = [axis.name + prime for axis in end.axes.values()]
    return tuple(every[name] for name in names if name in every)


def _owners_along(end: End, dim: int, n: Int, prime: str) -> list[Owner]:
    index, found = variable(f"d{dim}", 0, n - 1), []
    for level in end.cuts[dim]:
        if level.axis is not None:
            number = index // level.block
            if level.starts and isinstance(n, int):
                number = MeshDigit(1, 0, (), 0, level.starts).number(index, n)
            if level.shift:
                number = (number + level.shift) % level.size
            found.append(Owner(end.axes[level.axis].name + prime, canonicalize(number)))
        index = index % level.block
    return found


def _interval_bounds(end: End, dim: int, n: Int, prime: str) -> tuple[AffineExpr, list[AffineExpr]]:
    """Return the first index of a part, and bounds of its end: of each level that may cut it."""
    values, start, extent = _names(end, prime), AffineExpr((), 0), n
    stops: list[AffineExpr] = []
    for level in end.cuts[dim]:
        assert level.axis is not None  # of cuts that do not repeat
        if extent != level.block * level.size:
            stops.append(start + extent)
        start = start + level.start_of(values[level.axis])
        extent = level.block
    if end.cuts[dim] and end.cuts[dim][0].starts:
        level = end.cuts[dim][0]
        return start, [start + level.room_of(values[level.axis or 0])]
    return start, [start + extent, *stops]
