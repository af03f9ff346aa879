"""A builder of a nest's statements: its loops in order, and the edges of partial tiles.

A value is computed at the outermost loop at which it is known; counters replace divisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from morello_layouts.core.expr import (
    OPERATIONS,
    AffineExpr,
    Atom,
    Digit,
    Var,
    canonicalize,
    digit,
    variable,
)
from morello_layouts.core.expr.affine import with_operands
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, evaluated, is_nonnegative
from morello_layouts.core.expr.substitution import replace_digits
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import LOOP_PARTS
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.codegen.language import (
    Below,
    Body,
    Counter,
    Guard,
    Loop,
    LoopAxis,
    NamedValue,
    NestPlan,
    PrintedNest,
    Statement,
    VectorBlock,
    Visit,
    fresh,
)
from morello_layouts.outputs.codegen.printer import fresh_names
from morello_layouts.outputs.loop_nests.space import Digits, Limit


@dataclass
class Hoist:
    """The values to compute at each level: before the loops, and inside of each loop."""

    axes: Sequence[LoopAxis]  #: the loops in order.
    taken: set[str]  #: names that values cannot have.
    values: list[list[NamedValue]] = field(init=False)  #: level k is inside of the first k loops.
    _levels: dict[str, int] = field(init=False)
    _known: dict[AffineExpr, AffineExpr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = [[] for _ in range(len(self.axes) + 1)]
        self._levels = {axis.name: k + 1 for k, axis in enumerate(self.axes)}

    def level(self, *forms: AffineExpr) -> int:
        names = (v.name for form in forms for v in form.variables())
        return max((self._levels.get(name, 0) for name in names), default=0)

    def at(self, form: AffineExpr, level: int, stem: str) -> AffineExpr:
        """Return a form for a level whose parts of outer levels are named values there.

        >>> from morello_layouts.core.expr import variable
        >>> i, j = LoopAxis("i", "i", 1, 4), LoopAxis("j", "j", 1, 8)
        >>> hoist = Hoist((i, j), {"i", "j"})
        >>> print(hoist.at(8 * i.variable + j.variable, 2, "a"), "with", hoist.values[1][0])
        a1 + j with a1 = 8*i
        """
        parts: dict[int, list[tuple[Atom, Int]]] = {}
        for atom, c in form.terms:
            own = self.level(AffineExpr(((atom, 1),), 0))
            factor = self._factor(c, f"{stem}_{atom}" if isinstance(atom, Var) else stem)
            parts.setdefault(own, []).append((self._atom(atom, own, stem), factor))
        base = AffineExpr((), form.const)
        for own in sorted(parts):
            base = base + AffineExpr.from_terms(parts[own])
            if own < level:
                base = self._named(base, own, stem)
        return base

    def whole(self, form: AffineExpr, level: int, name: str) -> AffineExpr:
        """Return a form for a level; of an outer level, as a value with a name of its own."""
        own = self.level(form)
        if own == level or not form.terms or isinstance(form.as_atom(), Var):
            return form
        self.values[own].append(NamedValue(name, form))
        return variable(name, *form.interval)

    def _atom(self, atom: Atom, level: int, stem: str) -> Atom:
        if isinstance(atom, Var):
            return atom
        return with_operands(atom, lambda part: self.at(part, level, f"{stem}_"))

    def _factor(self, factor: Int, stem: str) -> Int:
        """Return a factor; a polynomial of sizes as a value before the loops, if its sign is known.

        The value has a name like that of a size, which is never negative.
        """
        if isinstance(factor, int) or str(factor).lstrip("-").isidentifier():
            return factor
        negated = not is_nonnegative(factor)
        if negated and not is_nonnegative(-factor):
            return factor
        form = AffineExpr((), -factor if negated else factor)
        if form not in self._known:
            name = self._unused(stem)
            self.values[0].append(NamedValue(name, form))
            self._known[form] = AffineExpr((), SizeExpr.named(name))
        return self._known[form].const * (-1 if negated else 1)

    def _named(self, form: AffineExpr, level: int, stem: str) -> AffineExpr:
        """Return the value of a form at its level; a variable or a number needs none."""
        atom = form.as_atom()
        if not form.terms or isinstance(atom, Var):
            return form
        known = self._known.get(form)
        if known is None:
            name = self._unused(f"{stem}{level}")
            self.values[level].append(NamedValue(name, form))
            known = self._known[form] = variable(name, *form.interval)
            self._levels[name] = level
        return known

    def _unused(self, stem: str) -> str:
        name = fresh(stem, self.taken)
        self.taken.add(name)
        return name


_LARGEST = 2**31
"""Counters stay below this, so that their type never depends on a step."""


def counted(
    forms: Mapping[str, AffineExpr], axis: LoopAxis, taken: set[str]
) -> tuple[dict[str, AffineExpr], tuple[Counter, ...]]:
    """Return forms with counters of an innermost loop in place of digits, where that is less work.

    >>> from morello_layouts.core.expr import variable
    >>> i, j = variable("i", 0, 9), LoopAxis("j", "j", 1, 9)
    >>> forms, (counter,) = counted({"x": 8 * ((i + j.variable) // 4)}, j, {"i", "j"})
    >>> print(forms["x"], "with", counter.operand, counter.step, counter.divisor)
    8*q0 with i + j 1 4
    """
    found = _Counters(axis, taken)
    changed = {name: replace_digits(form, found.change) for name, form in forms.items()}
    before = sum(map(OPERATIONS.cost, forms.values()))
    after = sum(map(OPERATIONS.cost, changed.values())) + sum(c.cost for c in found.counters())
    return (changed, found.counters()) if after < before else (dict(forms), ())


class _Counters:
    """The counters of a loop so far, by operand and divisor."""

    def __init__(self, axis: LoopAxis, taken: set[str]) -> None:
        self.axis = axis
        self.quotients, self.rests = (fresh_names(taken, stem) for stem in "qr")
        self.known: dict[tuple[AffineExpr, int, int | None], list[str]] = {}

    def change(self, digit: Digit) -> AffineExpr:
        is_rest = digit.divisor == 1 and digit.modulus is not None
        s, n = (digit.modulus, None) if is_rest else (digit.divisor, digit.modulus)
        step = dict(digit.operand.terms).get(self.axis.variable.as_atom() or digit, 0)
        if not self._is_counted(digit.operand, step, s, n):
            operand = replace_digits(digit.operand, self.change)
            return AffineExpr(((Digit(operand, digit.divisor, digit.modulus), 1),), 0)
        assert isinstance(s, int)
        key = self._key(digit.operand, s, n if isinstance(n, int) else None, is_rest)
        names = self.known.setdefault(key, ["", next(self.rests)])
        if is_rest:
            return variable(names[1], *digit.interval)
        names[0] = names[0] or next(self.quotients)
        return variable(names[0], *digit.interval)

    def _key(
        self, operand: AffineExpr, s: int, n: int | None, is_rest: bool
    ) -> tuple[AffineExpr, int, int | None]:
        """Return the key of a counter; a rest is that of any quotient."""
        same = [key for key in self.known if key[:2] == (operand, s)]
        return same[0] if is_rest and same else (operand, s, n)

    def _is_counted(self, operand: AffineExpr, step: object, s: object, n: object) -> bool:
        if not isinstance(step, int) or not isinstance(s, int) or not 0 < step < _LARGEST - s:
            return False
        if operand.has_digits or not (n is None or isinstance(n, int)):
            return False
        lo = operand.interval.lo
        if lo is None or not is_nonnegative(lo):
            return False
        return step % s != 0 and (n is None or step // s + 1 <= n)

    def counters(self) -> tuple[Counter, ...]:
        found = []
        for (operand, s, n), (quotient, rest) in self.known.items():
            step = dict(operand.terms)[self.axis.variable.terms[0][0]]
            assert isinstance(step, int)
            found.append(Counter(quotient, rest, operand, step, s, n))
        return tuple(found)


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
            offsets = ((name, self.plan.results[name]) for name in self.space.arrays)
            yield element, {name: form.evaluate(at) for name, form in offsets}

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


@dataclass
class Builder:
    """A builder of a nest's statements."""

    axes: Sequence[LoopAxis]  #: the loops in order.
    limits: Sequence[Limit]  #: the conditions of partial tiles.
    plan: NestPlan  #: what is computed where.
    edges: Edges  #: how loops over partial tiles end.
    about: Mapping[str, str]  #: for each loop what it walks over.
    vectors: int = 0  #: the number of inner loops that are vectors.
    parts: int = 0  #: copies of the body so far.

    def statements(self) -> Body:
        edges = [_Edge(limit.weights, AffineExpr((), limit.size)) for limit in self.limits]
        return (*self.plan.values[0], *self._inside(0, edges))

    def _inside(self, level: int, edges: Sequence[_Edge]) -> Body:
        """Return what is inside of the first ``level`` loops, without the values there."""
        if self.vectors and level == max(len(self.axes) - self.vectors, 0):
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

    def _guarded(self, axis: LoopAxis, level: int) -> Body:
        order = [each.name for each in self.axes]
        bounds = [
            self._condition(x) for x in self.limits if max(map(order.index, x.weights)) == level
        ]
        body = self._body(level, ())
        body = (Guard(tuple(bounds), body),) if bounds else body
        return (self._loop(axis, _ZERO, (AffineExpr((), axis.size),), body),)

    def _block(self, level: int) -> VectorBlock:
        axes = tuple(self.axes[level:])
        names = {axis.name for axis in axes}
        limits = [limit for limit in self.limits if names & {*limit.weights}]
        values = (value for values in self.plan.values[level + 1 :] for value in values)
        return VectorBlock(axes, tuple(map(self._condition, limits)), (*values, Visit()))

    def _reserve(self, edge: _Edge, axis: LoopAxis) -> Int:
        """Return the largest sum of the other axes of a limit."""
        found: Int = 0
        for other in self.axes:
            if other is not axis and other.name in edge.weights:
                found = found + edge.weights[other.name] * (other.size - 1)
        return found

    def _ends_early(self, edge: _Edge, axis: LoopAxis) -> bool:
        """Whether a limit alone ends a loop: in a partial tile whose inner loops fill one turn."""
        fill = edge.weights[axis.name] - self._reserve(edge, axis)
        return edge.is_last and is_nonnegative(fill)

    def _condition(self, limit: Limit) -> Below:
        total = _ZERO
        for axis in self.axes:
            total = total + axis.variable * limit.weights.get(axis.name, 0)
        return total, limit.size

    def _peeled(
        self, axis: LoopAxis, level: int, edge: _Edge, others: Sequence[_Edge]
    ) -> Body | None:
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
            rest: Body = (NamedValue(axis.name, whole, "the partial tile"), *body)
            if level == len(self.axes) - 1:
                counts = (c.starts(axis, axis.variable) for c in self.plan.counters)
                rest = (
                    rest[0],
                    *(NamedValue(*start) for count in counts for start in count),
                    *body,
                )
        else:
            last_turns = self._loop(axis, whole, (all_turns,), body)
            rest = (replace(last_turns, about="the partial tile, if any"),)
        return rest if whole == _ZERO else (first, *rest)

    def _body(self, level: int, edges: Sequence[_Edge]) -> Body:
        return (*self.plan.values[level + 1], *self._inside(level + 1, edges))

    def _loop(
        self, axis: LoopAxis, start: AffineExpr, stops: tuple[AffineExpr, ...], body: Body
    ) -> Loop:
        counters = self.plan.counters if axis is self.axes[-1] else ()
        return Loop(axis, start, stops, body, self.about.get(axis.name, ""), counters)


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
