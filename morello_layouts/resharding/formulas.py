"""Formulas of an exchange: who holds an index, and which indices one device sends to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar

from morello_layouts.expr import AffineExpr, canonicalize, variable
from morello_layouts.expr.conversions import size_to_sympy, symbol, to_sympy
from morello_layouts.expr.sizes import Int
from morello_layouts.plain import Displayed
from morello_layouts.resharding.combs import Level
from morello_layouts.resharding.exchange import End, Exchange

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, slots=True)
class Owner(Displayed):
    """The coordinate along an axis of devices of those that hold an element.

    Attributes:
        axis: the name of the axis; that of receivers ends with a prime.
        form: the coordinate, as a formula of the element's coordinates.
    """

    json_keys: ClassVar = ("axis", "formula=text")

    axis: str
    form: AffineExpr

    @property
    def text(self) -> str:
        """The formula."""
        return str(self.form)

    @property
    def expr(self) -> sympy.Expr:
        """The formula as a SymPy expression."""
        return to_sympy(self.form)

    def __str__(self) -> str:
        return f"{self.axis} = {self.form}"


@dataclass(frozen=True, slots=True)
class Indices(Displayed):
    """The indices of one dimension in the message from a device to another.

    Attributes:
        dim: the dimension.
        lows: the first index is the largest of these.
        highs: the index behind the last one is the smallest of these.
        owners: what else holds, of cuts that repeat: these formulas of the index are these
            coordinates.
        period: after so many indices the pattern repeats; None if it does not.
    """

    json_keys: ClassVar = ("dim", "text", "period")

    dim: int
    lows: tuple[AffineExpr, ...]
    highs: tuple[AffineExpr, ...]
    owners: tuple[Owner, ...]
    period: Int | None

    @property
    def expr(self) -> sympy.Expr:
        """The condition on the index as a SymPy Boolean."""
        import sympy

        index = symbol(f"d{self.dim}")
        low, high = _of("Max", self.lows), _of("Min", self.highs)
        others = [sympy.Eq(each.expr, symbol(each.axis)) for each in self.owners]
        return sympy.And(low <= index, index < high, *others)

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


def _of(name: str, forms: Sequence[AffineExpr]) -> sympy.Expr:
    """Return the maximum or minimum as SymPy, unevaluated: to compare sizes takes it long."""
    import sympy

    parts = list(dict.fromkeys(map(to_sympy, forms)))
    return parts[0] if len(parts) == 1 else getattr(sympy, name)(*parts, evaluate=False)


def _one(name: str, forms: Sequence[AffineExpr]) -> str:
    texts = list(dict.fromkeys(map(str, forms)))
    return texts[0] if len(texts) == 1 else f"{name}({', '.join(texts)})"


@dataclass(frozen=True)
class Formulas(Displayed):
    """The formulas of an exchange; coordinates of receivers have a prime.

    Attributes:
        exchange: who sends what to whom.
    """

    json_keys: ClassVar = ("sender", "receiver", "holds", "needs", "message")

    exchange: Exchange

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
                    start, stops = _interval(end, dim, n, prime)
                    lows.append(start)
                    highs += stops
            zero = AffineExpr((), 0)
            bounds = tuple(lows) or (zero,), tuple(highs) or (zero + n,)
            whole = all(isinstance(m, int) for m in periods) and len(periods) > 0
            found.append(Indices(dim, *bounds, tuple(owners), lcm(*periods) if whole else None))
        return tuple(found)

    @cached_property
    def elements(self) -> sympy.Expr | None:
        """The elements of a message, of the coordinates of sender and receiver, as SymPy.

        None if both cuts of a dimension repeat: the number is then not one formula, but that of a
        message is known (``size``).
        """
        import sympy

        found = [self._along(dim, each) for dim, each in enumerate(self.message)]
        counts = [each for each in found if each is not None]
        return sympy.Mul(*counts) if len(counts) == len(found) else None

    def _along(self, dim: int, indices: Indices) -> sympy.Expr | None:
        """Return how many indices of a dimension a message has."""
        import sympy

        low, high = _of("Max", indices.lows), _of("Min", indices.highs)
        ends = ((self.exchange.source, ""), (self.exchange.target, "'"))
        repeated = [(end, prime) for end, prime in ends if not _is_interval(end.cuts[dim])]
        if not repeated and len(indices.lows) == len(indices.highs) == 1:
            return high - low
        if not repeated:
            return sympy.Max(0, high - low, evaluate=False)
        if len(repeated) == 2:
            return None
        ((end, prime),) = repeated
        values = {k: to_sympy(x) for k, x in _names(end, prime).items()}
        cut = [level._replace(block=size_to_sympy(level.block, {})) for level in end.cuts[dim]]
        return _below(cut, values, sympy.Max(low, high, evaluate=False)) - _below(cut, values, low)

    def __str__(self) -> str:
        before, after = (", ".join(map(str, x)) or "all" for x in (self.holds, self.needs))
        what = "; ".join(map(str, self.message))
        return f"before: {before}\nafter: {after}\nmessage: {what}"


def _is_interval(cut: Sequence[Level]) -> bool:
    return all(level.axis is not None for level in cut)


def _below(levels: Sequence[Level], at: Mapping[int, Any], end: Any) -> Any:
    """Return how many indices below ``end`` a device holds, as SymPy."""
    from sympy import Max, Min

    from morello_layouts.expr.sympy_functions import Mod, floor

    if not levels:
        return end
    level, rest = levels[0], levels[1:]
    if level.axis is None:
        whole = _below(rest, at, level.block)
        return floor(end / level.block) * whole + _below(rest, at, Mod(end, level.block))
    number = at[level.axis]
    number = Mod(number - level.shift, level.size) if level.shift else number
    inside = Max(0, end - number * level.block, evaluate=False)
    return _below(rest, at, Min(level.block, inside, evaluate=False))


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
            if level.shift:
                number = (number + level.shift) % level.size
            found.append(Owner(end.axes[level.axis].name + prime, canonicalize(number)))
        index = index % level.block
    return found


def _interval(end: End, dim: int, n: Int, prime: str) -> tuple[AffineExpr, list[AffineExpr]]:
    """Return the first index of a part, and bounds of its end: of each level that may cut it."""
    values, start, extent = _names(end, prime), AffineExpr((), 0), n
    stops: list[AffineExpr] = []
    for level in end.cuts[dim]:
        assert level.axis is not None  # of cuts that do not repeat
        if extent != level.block * level.size:
            stops.append(start + extent)
        start = start + level.block_of(values[level.axis]) * level.block
        extent = level.block
    return start, [start + extent, *stops]
