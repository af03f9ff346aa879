"""A builder of a nest's statements: its loops in order, and the edges of partial tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from morello_layouts.core.expr import AffineExpr, canonicalize, digit
from morello_layouts.core.expr.sizes import Int, ceil_quotient, evaluated, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import LOOP_PARTS
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.codegen.statements import (
    Guard,
    Loop,
    LoopAxis,
    NamedValue,
    NestPlan,
    PrintedNest,
    Statement,
    VectorBlock,
    Visit,
)
from morello_layouts.outputs.loop_nests.space import Digits, Limit

Edges: TypeAlias = Literal["bounds", "guards", "peel"]
"""What partial tiles have: loops that end early, conditions, or copies of their own."""


@frozen
class PlannedNest(PrintedNest):
    """A nest as it is printed, proved and run."""

    digits: Digits  #: the coordinates as digits.

    def visits(self, sizes: Mapping[str, int]) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
        """Yield each coordinate that is visited, with its offset in each array."""
        at = dict(sizes)
        for _ in self._turns(self.statements, at):
            element = tuple(form.evaluate(at) for form in self.digits.coordinates.values())
            names = (access.name for access in self.space.accesses)
            yield element, {name: self.plan.results[name].evaluate(at) for name in names}

    def _turns(self, statements: Sequence[Statement], at: dict[str, int]) -> Iterator[None]:
        """Yield at each visit, with the values of all names."""
        for one in statements:
            match one:
                case NamedValue():
                    at[one.name] = one.form.evaluate(at)
                case Loop():
                    start, stop = one.start.evaluate(at), min(x.evaluate(at) for x in one.stops)
                    for counter in one.counters:
                        first = counter.starts(one.axis, AffineExpr((), start))
                        at |= {name: form.evaluate(at) for name, form in first}
                    for turn in range(start, stop):
                        at[one.axis.name] = turn
                        yield from self._turns(one.body, at)
                        for counter in one.counters:
                            counter.next(at)
                case Guard():
                    if all(form.evaluate(at) < evaluated(n, at) for form, n in one.conditions):
                        yield from self._turns(one.body, at)
                case Visit():
                    yield


_ZERO: Final = AffineExpr((), 0)


@frozen
class _Edge:
    """What is left of a limit inside of some loops."""

    weights: Mapping[str, Int]  #: the weights of the axes of inner loops.
    rest: AffineExpr  #: their sum is below this.
    is_last: bool = False  #: true inside the partial last tile.

    def inside(self, axis: LoopAxis, at: AffineExpr) -> _Edge:
        weights = {name: w for name, w in self.weights.items() if name != axis.name}
        return replace(
            self, weights=weights, rest=canonicalize(self.rest - at * self.weights[axis.name])
        )

    def turns(self, axis: LoopAxis, reserve: Int) -> AffineExpr:
        """Return for how many turns of an axis the sum of the others may be ``reserve``."""
        weight = self.weights[axis.name]
        if any(c % weight != 0 for _, c in self.rest.terms):
            return canonicalize((self.rest + (weight - 1 - reserve)) // weight)
        linear = AffineExpr.from_terms((atom, c // weight) for atom, c in self.rest.terms)
        return linear + _turns(self.rest.const - reserve, weight)


def _turns(size: Int, weight: Int) -> AffineExpr:
    """Return ⌈size / weight⌉; sizes without names may be negative."""
    if isinstance(size, int) and isinstance(weight, int):
        return AffineExpr((), -(-size // weight))
    if is_nonnegative(size - 1):
        return AffineExpr((), ceil_quotient(size, weight))
    raised = size + (weight - 1)
    quotient, rest = divmod(raised, weight)
    if rest == 0:
        return AffineExpr((), quotient)
    return digit(AffineExpr((), raised), weight, None)


class Builder:
    """A builder of a nest's statements from axes in order."""

    def __init__(
        self,
        axes: Sequence[LoopAxis],
        limits: Sequence[Limit],
        plan: NestPlan,
        edges: Edges,
        about: Mapping[str, str],
        *,
        vectors: int = 0,
    ) -> None:
        self.axes, self.edges, self.about = axes, edges, about
        self.values, self.counters = plan.values, plan.counters
        self.sizes = {axis.name: axis.size for axis in axes}
        self.limits = limits
        self.order = list(self.sizes)
        self.parts = 0
        self.first_vector = max(len(self.axes) - vectors, 0) if vectors else None

    def statements(self) -> tuple[Statement, ...]:
        edges = [_Edge(limit.weights, AffineExpr((), limit.size)) for limit in self.limits]
        return (*self.values[0], *self._inside(0, edges))

    def _inside(self, level: int, edges: Sequence[_Edge]) -> tuple[Statement, ...]:
        """Return what is inside of the first ``level`` loops, without the values there."""
        if level == self.first_vector:
            return (self._block(level),)
        if level == len(self.axes):
            self.parts += 1
            if self.parts > LOOP_PARTS:
                raise UnsupportedError(
                    f"peel: expected up to {LOOP_PARTS} copies of the body, got more",
                    "each partial tile has a copy of the loops inside of it",
                    'give edges="bounds", or tiles that divide the sizes',
                )
            return (Visit(),)
        axis = self.axes[level]
        if self.edges == "guards":
            return self._guarded(axis, level)
        concerned = [edge for edge in edges if axis.name in edge.weights]
        others = [edge for edge in edges if axis.name not in edge.weights]
        if self.edges == "peel" and len(concerned) == 1:
            peeled = self._peeled(axis, level, concerned[0], others)
            if peeled is not None:
                return peeled
        inner = [replace(edge.inside(axis, axis.variable), is_last=False) for edge in concerned]
        stops = [edge.turns(axis, 0) for edge in concerned]
        if not any(self._ends_early(edge, axis) for edge in concerned):
            stops.append(AffineExpr((), axis.size))
        body = self._body(level, [*others, *(edge for edge in inner if edge.weights)])
        return (self._loop(axis, _ZERO, least(stops), body),)

    def _guarded(self, axis: LoopAxis, level: int) -> tuple[Statement, ...]:
        last = {k: max(map(self.order.index, limit.weights)) for k, limit in enumerate(self.limits)}
        bounds = [self._condition(x) for k, x in enumerate(self.limits) if last[k] == level]
        body = self._body(level, ())
        body = (Guard(tuple(bounds), body),) if bounds else body
        return (self._loop(axis, _ZERO, (AffineExpr((), axis.size),), body),)

    def _block(self, level: int) -> VectorBlock:
        axes = tuple(self.axes[level:])
        names = {axis.name for axis in axes}
        limits = [limit for limit in self.limits if names & {*limit.weights}]
        values = (value for values in self.values[level + 1 :] for value in values)
        return VectorBlock(axes, tuple(map(self._condition, limits)), (*values, Visit()))

    def _reserve(self, edge: _Edge, axis: LoopAxis) -> Int:
        """Return the largest sum of the other axes of a limit."""
        found: Int = 0
        for name, weight in edge.weights.items():
            found = found + (weight * (self.sizes[name] - 1) if name != axis.name else 0)
        return found

    def _ends_early(self, edge: _Edge, axis: LoopAxis) -> bool:
        """Whether a limit alone ends a loop: in a partial tile whose inner loops fill one turn."""
        fill = edge.weights[axis.name] - self._reserve(edge, axis)
        return edge.is_last and is_nonnegative(fill)

    def _condition(self, limit: Limit) -> tuple[AffineExpr, Int]:
        total = _ZERO
        for axis in self.axes:
            total = total + axis.variable * limit.weights.get(axis.name, 0)
        return total, limit.size

    def _peeled(
        self, axis: LoopAxis, level: int, edge: _Edge, others: Sequence[_Edge]
    ) -> tuple[Statement, ...] | None:
        """Return the loop over whole tiles, and that over partial ones; None if it has no use."""
        reserve = self._reserve(edge, axis)
        whole, all_turns = edge.turns(axis, reserve), edge.turns(axis, 0)
        low, high = whole.interval.lo, all_turns.interval.hi
        # The rest is at least 1: a partial turn leaves no whole one below 0.
        is_positive = is_nonnegative(edge.weights[axis.name] - reserve)
        if not is_positive and (low is None or not is_nonnegative(low)):
            return None
        if whole == all_turns:
            return None
        is_within = high is not None and is_nonnegative(axis.size - high)
        if not is_within and not self._ends_early(edge, axis):
            return None
        first = self._loop(axis, _ZERO, (whole,), self._body(level, others))
        is_one = not whole.terms and not all_turns.terms and all_turns.const - whole.const == 1
        last = edge.inside(axis, whole if is_one else axis.variable)
        edges = [*others, *([replace(last, is_last=True)] if last.weights else [])]
        body = self._body(level, edges)
        if is_one:
            rest: tuple[Statement, ...] = (NamedValue(axis.name, whole, "the partial tile"), *body)
            if level == len(self.axes) - 1:
                counts = (c.starts(axis, axis.variable) for c in self.counters)
                rest = (
                    rest[0],
                    *(NamedValue(*start) for count in counts for start in count),
                    *body,
                )
        else:
            rest = (self._loop(axis, whole, (all_turns,), body, "the partial tile, if any"),)
        return rest if whole == _ZERO else (first, *rest)

    def _body(self, level: int, edges: Sequence[_Edge]) -> tuple[Statement, ...]:
        return (*self.values[level + 1], *self._inside(level + 1, edges))

    def _loop(
        self,
        axis: LoopAxis,
        start: AffineExpr,
        stops: tuple[AffineExpr, ...],
        body: tuple[Statement, ...],
        about: str = "",
    ) -> Loop:
        counters = self.counters if axis is self.axes[-1] else ()
        return Loop(axis, start, stops, body, about or self.about.get(axis.name, ""), counters)


def least(stops: Sequence[AffineExpr]) -> tuple[AffineExpr, ...]:
    """Return the ends that may be the least, without those that are never below another."""
    kept: list[AffineExpr] = []
    for k, stop in enumerate(stops):
        below = [*kept, *stops[k + 1 :]]
        if not any(is_never_above(other, stop) for other in below):
            kept.append(stop)
    return tuple(kept)


def is_never_above(a: AffineExpr, b: AffineExpr) -> bool:
    """Whether a form is proved to be at most another one."""
    lo = canonicalize(b - a).interval.lo
    return lo is not None and is_nonnegative(lo)
