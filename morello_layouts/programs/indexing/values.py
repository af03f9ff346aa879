"""Indexing maps, as XLA has them: from an index of one array to the indices of another.

Source: XLA's docs/indexing.md and xla/hlo/analysis/indexing_map.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice, product
from math import prod
from typing import Any, Final, NamedTuple

from morello_layouts.core.checks import LARGEST, as_int, require_type
from morello_layouts.core.expr import Interval, canonicalize
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import INDEXING_POINTS, INDEXING_SEARCH
from morello_layouts.core.maps import AffineMap
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.programs.indexing.domain import (
    Constraint,
    EmptyDomainError,
    IndexDomain,
    always,
    hidden,
    simplest,
)
from morello_layouts.programs.indexing.expressions import (
    Expr,
    Forms,
    IndexOperation,
    add,
    cost_of,
    evaluate,
    names_of,
    parse_expression,
    substitute,
    text_of,
    times,
)

KINDS: Final = ("d", "s", "rt")
"""What the names of dimensions, range variables and run-time variables begin with."""


class Read(NamedTuple):
    """Where a run-time value comes from: an element of an instruction's result."""

    instruction: str  #: its name.
    at: tuple[Expr, ...]  #: the element's index there, over the map's variables.


@frozen
class Variable:
    """A variable of an indexing map, with its smallest and largest value."""

    lo: int  #: its smallest value.
    hi: int  #: its largest value.
    #: the name that the user gave it; empty for d0, s0, rt0.
    name: str = field(default="", compare=False)
    source: Read | None = None  #: where a run-time value comes from; None if it is not known.


@frozen(slots=False)
class IndexingMap(Displayed):
    """A function from the indices of one array, range and run-time variables to those of another.

    Inside, the variables are ``d0, d1, …``, ``s0, s1, …`` and ``rt0, rt1, …``; names that the user
    gave are put on in the text. Equality ignores names.

    >>> from morello_layouts import indexing_map
    >>> rows = indexing_map("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 7]")
    >>> flat = indexing_map("(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]")
    >>> print(flat.compose(rows))
    (d0)[s0] -> (d0 * 8 + s0), domain: d0 in [0, 3], s0 in [0, 7]
    >>> flat(2, 5)
    (21,)
    """

    dims: tuple[Variable, ...]  #: the dimensions of the array that the map starts from.
    ranges: tuple[Variable, ...] = ()  #: for one index of it, each value of these is read.
    runtimes: tuple[Variable, ...] = ()  #: numbers that only the running program has.
    results: tuple[Expr, ...] = ()  #: the index in the other array.
    constraints: tuple[Constraint, ...] = ()  #: further conditions on the variables.
    is_known_empty: bool = False  #: whether no point satisfies the conditions.

    @staticmethod
    def of(
        dims: Iterable[Variable],
        ranges: Iterable[Variable],
        runtimes: Iterable[Variable],
        results: Iterable[Expr],
        constraints: Iterable[Constraint] = (),
    ) -> IndexingMap:
        """Return a map; constraints on single variables become bounds, empty ones KNOWN EMPTY."""
        raw = IndexingMap(tuple(dims), tuple(ranges), tuple(runtimes), tuple(results))
        try:
            return raw._with(IndexDomain(raw.bounds, constraints))
        except EmptyDomainError:
            return raw._emptied()

    @staticmethod
    def from_sizes(
        sizes: Sequence[int],
        results: Iterable[Expr],
        range_sizes: Sequence[int] = (),
        constraints: Iterable[Constraint] = (),
    ) -> IndexingMap:
        """Return a map from an array of these sizes.

        >>> print(IndexingMap.from_sizes((4, 8), ("d1", "d0")))
        (d0, d1) -> (d1, d0), domain: d0 in [0, 3], d1 in [0, 7]
        """
        dims, ranges = ([Variable(0, n - 1) for n in each] for each in (sizes, range_sizes))
        return IndexingMap.of(dims, ranges, (), results, constraints)

    def _with(self, domain: IndexDomain, results: Iterable[Expr] | None = None) -> IndexingMap:

        def bounded(kind: str, group: tuple[Variable, ...]) -> tuple[Variable, ...]:
            ends = (domain.bounds[f"{kind}{k}"] for k in range(len(group)))
            return tuple(replace(v, lo=lo, hi=hi) for v, (lo, hi) in zip(group, ends, strict=True))

        found = self.results if results is None else tuple(results)
        dims, ranges, runtimes = map(bounded, KINDS, self.groups)
        return IndexingMap(dims, ranges, runtimes, found, domain.listed())

    def _emptied(self) -> IndexingMap:
        dims, ranges, runtimes = (
            tuple(replace(one, lo=0, hi=-1) for one in group) for group in self.groups
        )
        zeros = (0,) * len(self.results)
        return IndexingMap(dims, ranges, runtimes, zeros, (), is_known_empty=True)

    @property
    def groups(self) -> tuple[tuple[Variable, ...], tuple[Variable, ...], tuple[Variable, ...]]:
        """Dimensions, range variables and run-time variables."""
        return self.dims, self.ranges, self.runtimes

    @property
    def variables(self) -> dict[str, Variable]:
        """All variables by their inner names: d0, d1, …, s0, …, rt0, …."""
        named = zip(KINDS, self.groups, strict=True)
        return {f"{kind}{k}": one for kind, group in named for k, one in enumerate(group)}

    @property
    def names(self) -> dict[str, str]:
        """The name of each variable in the text, by its inner name."""
        return {inner: one.name or inner for inner, one in self.variables.items()}

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """The smallest and largest value of each variable, by its inner name."""
        return {name: (one.lo, one.hi) for name, one in self.variables.items()}

    @property
    def cost(self) -> int:
        """Operations of the results, each division and remainder counted twice."""
        return sum(map(cost_of, self.results))

    def __str__(self) -> str:
        if self.is_known_empty:
            return "KNOWN EMPTY"
        parts = [f"{self._name(name)} in [{lo}, {hi}]" for name, (lo, hi) in self.bounds.items()]
        parts += sorted(f"{self._text(c.expr)} in [{c.lo}, {c.hi}]" for c in self.constraints)
        return self.function + (f", domain: {', '.join(parts)}" if parts else "")

    @property
    def function(self) -> str:
        """The map without its domain, as text."""
        named = zip(KINDS, self.groups, strict=True)
        dims, ranges, runtimes = (
            ", ".join(self._name(f"{kind}{k}") for k in range(len(group))) for kind, group in named
        )
        results = ", ".join(map(self._text, self.results))
        ranges = f"[{ranges}]" if ranges else ""
        return f"({dims}){ranges}{f'{{{runtimes}}}' if runtimes else ''} -> ({results})"

    def _name(self, inner: str) -> str:
        return self.names[inner]

    def _text(self, x: Expr) -> str:
        return text_of(x, self.names)

    @property
    def sources(self) -> tuple[str, ...]:
        """Where each run-time variable comes from, in words; empty for one of unknown source."""
        found = []
        for k, one in enumerate(self.runtimes):
            if one.source is not None:
                at = ", ".join(map(self._text, one.source.at))
                found.append(f"{self._name(f'rt{k}')} is {one.source.instruction}[{at}]")
        return tuple(found)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Return the results at values of all variables: dimensions, ranges, run-time variables.

        The domain is not asked; :meth:`contains` does. Values are ints, or arrays that broadcast.

        Raises:
            ShapeError: if the number of values is wrong.
        """
        given = self._given(values)
        return tuple(evaluate(x, given) for x in self.results)

    def satisfies(self, *values: Any) -> Any:
        """Return whether values satisfy the constraints; bounds of variables are not asked."""
        return self._holds(values, self.constraints)

    def contains(self, *values: Any) -> Any:
        """Return whether values are a point of the domain: bounds and constraints.

        >>> from morello_layouts import indexing_map
        >>> even = indexing_map("(d0) -> (d0), domain: d0 in [0, 9], d0 mod 2 in [0, 0]")
        >>> even.contains(4), even.contains(5), even.satisfies(12)
        (True, False, True)
        """
        bounds = (Constraint(name, *ends) for name, ends in self.bounds.items())
        return self._holds(values, (*bounds, *self.constraints))

    def _holds(self, values: Sequence[Any], conditions: Iterable[Constraint]) -> Any:
        given = self._given(values)
        holds: Any = not self.is_known_empty
        for x, lo, hi in conditions:
            found = evaluate(x, given)
            holds = holds & (found >= lo) & (found <= hi)
        return holds

    def _given(self, values: Sequence[Any]) -> dict[str, Any]:
        if len(values) != len(self.variables):
            names = ", ".join(self.names.values())
            raise ShapeError(
                f"the map takes {len(self.variables)} values, got {len(values)}",
                "it takes the dimensions, then the range variables, then the run-time variables",
                f"give a value for each of {names}" if names else "give no values",
            )
        return dict(zip(self.variables, values, strict=True))

    def points(self) -> tuple[Any, ...]:
        """Return the points of the domain as NumPy arrays, one for each variable.

        Raises:
            UnsupportedError: if the bounds hold too many.

        >>> from morello_layouts import indexing_map
        >>> even = indexing_map("(d0) -> (d0), domain: d0 in [0, 9], d0 mod 2 in [0, 0]")
        >>> print(*even.points())
        [0 2 4 6 8]
        """
        import numpy as np

        sizes = [max(hi - lo + 1, 0) for lo, hi in self.bounds.values()]
        if prod(sizes) > INDEXING_POINTS:
            raise UnsupportedError(
                f"the domain: expected up to {INDEXING_POINTS:,} points, got {prod(sizes):,}",
                "each is enumerated",
                "call the map at the points that you need",
            )
        grid = np.indices(sizes, dtype=np.int64).reshape(len(sizes), prod(sizes))
        moved = [g + lo for g, (lo, _) in zip(grid, self.bounds.values(), strict=True)]
        kept = np.broadcast_to(self.contains(*moved), (prod(sizes),))
        return tuple(values[kept] for values in moved)

    def simplify(self) -> IndexingMap:
        """Return the map with a tighter domain, fewer constraints, and results of fewer operations.

        Both maps agree at each point, and have the same points.

        >>> from morello_layouts import indexing_map
        >>> m = indexing_map("(d0) -> (d0 mod 42), domain: d0 in [53, 99], d0 mod 64 in [53, 63]")
        >>> print(m.simplify())
        (d0) -> (d0 - 42), domain: d0 in [53, 63]
        """
        if self.is_known_empty:
            return self
        try:
            domain = IndexDomain(self.bounds, self.constraints)
            domain.simplify()
        except EmptyDomainError:
            return self._emptied()
        constraints = domain.listed()
        results = (simplest(x, domain.bounds, constraints) for x in self.results)
        return self._with(domain, results)

    def result_ranges(self) -> tuple[Interval, ...]:
        """Return bounds of each result over the domain.

        >>> from morello_layouts import indexing_map
        >>> m = indexing_map("(d0, d1) -> ((d0 * 86 + d1) floordiv 64), domain: d0 in [0, 11], "
        ...                  "d1 in [0, 85], d0 * 86 + d1 in [0, 1023]")
        >>> print(*m.result_ranges())
        0..15
        """
        found = []
        for x in self.results:
            ranges = []
            for constraints in ((), self.constraints):
                forms = Forms(self.bounds)
                ranges.append(canonicalize(forms.form(hidden(x, constraints, forms))).interval)
            los, his = zip(*ranges, strict=True)
            found.append(Interval(max(los), min(his)))
        return tuple(found)

    def compose(self, inner: IndexingMap) -> IndexingMap:
        """Return the map that applies ``inner`` first, then this one: ``inner * self`` in XLA.

        Its range variables are this map's, then those of ``inner``; so are the run-time variables.
        That the results of ``inner`` lie in this map's domain becomes a condition.

        Raises:
            ShapeError: if ``inner`` has another number of results than this map has dimensions.
        """
        require_type(inner, IndexingMap, "compose", "make one with indexing_map(text)")
        if len(inner.results) != len(self.dims):
            raise ShapeError(
                f"the inner map gives {len(inner.results)} numbers, the outer takes"
                f" {len(self.dims)}",
                "composed maps share one array: the inner gives its index, the outer takes it",
                "compose maps whose arrays have the same rank",
            )
        later = {f"s{k}": f"s{k + len(self.ranges)}" for k in range(len(inner.ranges))}
        later |= {f"rt{k}": f"rt{k + len(self.runtimes)}" for k in range(len(inner.runtimes))}
        at = {f"d{k}": substitute(x, later) for k, x in enumerate(inner.results)}
        raw = IndexingMap(
            inner.dims,
            (*self.ranges, *inner.ranges),
            (*reading(self.runtimes, at), *reading(inner.runtimes, later)),
            tuple(substitute(x, at) for x in self.results),
        )
        if self.is_known_empty or inner.is_known_empty:
            return raw._emptied()
        bounds = (Constraint(f"d{k}", one.lo, one.hi) for k, one in enumerate(self.dims))
        groups = ((self.constraints, at), (inner.constraints, later), (tuple(bounds), at))
        conditions = [
            Constraint(substitute(x, values), lo, hi)
            for constraints, values in groups
            for x, lo, hi in constraints
        ]
        return IndexingMap.of(raw.dims, raw.ranges, raw.runtimes, raw.results, conditions)

    __matmul__ = compose

    def __mul__(self, outer: IndexingMap) -> IndexingMap:
        return outer.compose(self) if isinstance(outer, IndexingMap) else NotImplemented

    def constrain(self, x: Expr | str, lo: int, hi: int) -> IndexingMap:
        """Return the map under one more constraint, given as text over its variables.

        >>> from morello_layouts import indexing_map
        >>> m = indexing_map("(row) -> (row), domain: row in [0, 9]")
        >>> print(m.constrain("row mod 4", 0, 0))
        (row) -> (row), domain: row in [0, 9], row mod 4 in [0, 0]
        """
        if isinstance(x, str):
            x = parse_expression(x, {name: inner for inner, name in self.names.items()})
        more = Constraint(x, as_int(lo, "lo", -LARGEST), as_int(hi, "hi", -LARGEST))
        return IndexingMap.of(*self.groups, self.results, (*self.constraints, more))

    def without_unused_symbols(self) -> IndexingMap:
        """Return the map without range and run-time variables that nothing depends on."""
        return self._without_unused("s", "rt")

    def without_unused_variables(self) -> IndexingMap:
        """Return the map without any variable that nothing depends on, dimensions included."""
        return self._without_unused(*KINDS)

    def _without_unused(self, *kinds: str) -> IndexingMap:
        """Drop variables of these kinds that no result needs, and constraints on them alone.

        Constraints stay if the search for a point that satisfies them finds none soon.
        """
        if self.is_known_empty:
            return self
        needed = {name for x in self.results for name in names_of(x)}
        needed |= {name for name in self.variables if _kind(name) not in kinds}
        for k in range(len(self.runtimes)):  # what a run-time variable that stays is read at
            source = self.runtimes[k].source if f"rt{k}" in needed else None
            needed.update(*(names_of(x) for x in (() if source is None else source.at)))
        used = {c: set(names_of(c.expr)) for c in self.constraints}
        kept: set[Constraint] = set()
        while more := [c for c, names in used.items() if c not in kept and names & needed]:
            kept.update(more)
            needed.update(*(used[c] for c in more))
        dropped = [c for c in self.constraints if c not in kept]
        found = _is_satisfied(dropped, self.bounds)
        if found is False:
            return self._emptied()
        if found is None:
            kept.update(dropped)
            needed.update(*(used[c] for c in dropped))
        renamed: dict[str, Expr] = {}
        groups: list[list[Variable]] = []
        for kind, group in zip(KINDS, self.groups, strict=True):
            stay = [k for k in range(len(group)) if f"{kind}{k}" in needed]
            renamed |= {f"{kind}{old}": f"{kind}{new}" for new, old in enumerate(stay)}
            groups.append([group[k] for k in stay])
        constraints = [c for c in self.constraints if c in kept]
        return self._renamed(renamed, groups, constraints)

    def _renamed(
        self,
        renamed: Mapping[str, Expr],
        groups: Sequence[Sequence[Variable]],
        constraints: Iterable[Constraint],
    ) -> IndexingMap:
        """Return the map with other variables in place of its own."""
        dims, ranges, runtimes = groups
        return IndexingMap.of(
            dims,
            ranges,
            reading(runtimes, renamed),
            (substitute(x, renamed) for x in self.results),
            (Constraint(substitute(x, renamed), lo, hi) for x, lo, hi in constraints),
        )

    def ranges_to_dims(self, positions: Iterable[int] | None = None) -> IndexingMap:
        """Return the map with some range variables as dimensions, after the others.

        By default, all range variables become dimensions.

        >>> from morello_layouts import indexing_map
        >>> m = indexing_map("(d0)[s0, s1] -> (d0, s0, s1), domain: d0 in [0, 3], s0 in [0, 4], "
        ...                  "s1 in [0, 5]")
        >>> print(m.ranges_to_dims([1]))
        (d0, d1)[s0] -> (d0, s0, d1), domain: d0 in [0, 3], d1 in [0, 5], s0 in [0, 4]
        """
        moved = [*range(len(self.ranges))] if positions is None else [*positions]
        for k in moved:
            as_int(k, "position", 0, len(self.ranges) - 1)
        stay = [k for k in range(len(self.ranges)) if k not in moved]
        renamed: dict[str, Expr] = {f"s{old}": f"s{new}" for new, old in enumerate(stay)}
        renamed |= {f"s{old}": f"d{len(self.dims) + new}" for new, old in enumerate(moved)}
        dims = (*self.dims, *(self.ranges[k] for k in moved))
        groups = (dims, [self.ranges[k] for k in stay], self.runtimes)
        return self._renamed(renamed, groups, self.constraints)

    def symbols_to_dims(self) -> IndexingMap:
        """Return the map with all range and run-time variables as dimensions."""
        first = self.ranges_to_dims()
        rank = len(first.dims)
        renamed: dict[str, Expr] = {f"rt{k}": f"d{rank + k}" for k in range(len(self.runtimes))}
        dims = (*first.dims, *(replace(one, source=None) for one in first.runtimes))
        return first._renamed(renamed, (dims, (), ()), first.constraints)

    def rescale_symbols(self) -> IndexingMap:
        """Return the map with range variables that count the values that a remainder allows.

        >>> from morello_layouts import indexing_map
        >>> m = indexing_map("(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 41], "
        ...                  "s0 mod 6 in [3, 3]")
        >>> print(m.rescale_symbols())
        (d0)[s0] -> (s0 * 6 + 3), domain: d0 in [0, 3], s0 in [0, 6]
        """
        simple = self.simplify()
        bounds, scaled = simple.bounds, dict[str, Expr]()
        for x, lo, hi in simple.constraints:
            if not isinstance(x, IndexOperation) or x.kind != "mod" or lo != hi:
                continue
            name, step = x.parts
            if isinstance(name, str) and _kind(name) != "d" and isinstance(step, int):
                first, last = ((end - lo) // step for end in bounds[name])
                bounds[name] = (0, last - first)
                scaled[name] = add(times(name, step), first * step + lo)
        if not scaled:
            return simple
        kept = [(substitute(x, scaled), lo, hi) for x, lo, hi in simple.constraints]
        try:
            domain = IndexDomain(bounds, (Constraint(*c) for c in kept if not always(c, bounds)))
        except EmptyDomainError:
            return self._emptied()
        return simple._with(domain, (substitute(x, scaled) for x in simple.results))

    def affine_map(self) -> AffineMap:
        """Return the results as formulas of the dimensions, for the rest of the package.

        Range and run-time variables become dimensions after the others.

        >>> from morello_layouts import indexing_map
        >>> m = indexing_map("(row)[s0] -> (row * 8 + s0), domain: row in [0, 3], s0 in [0, 7]")
        >>> print(m.affine_map())
        (row, d1) -> 8*row + d1

        Raises:
            UnsupportedError: if there are constraints, or bounds that do not begin at 0.
        """
        whole = self.symbols_to_dims()
        if whole.constraints or whole.is_known_empty or any(one.lo for one in whole.dims):
            raise UnsupportedError(
                "the domain is not a whole array",
                "an affine map is defined at each index of an array",
                "drop the constraints with IndexingMap.from_sizes, if they do not matter",
            )
        forms = Forms(whole.bounds)
        given = tuple(forms.form(x) for x in whole.results)
        if forms.hidden:
            raise UnsupportedError(
                "a product, minimum or maximum of variables is not an affine formula",
                "affine formulas have +, -, and *, // and % by numbers",
                "call the indexing map itself",
            )
        found = AffineMap(tuple(one.hi + 1 for one in whole.dims), given)
        is_named = any(one.name for one in whole.dims)
        return found.named(*whole.names.values()) if is_named else found


def _is_satisfied(
    constraints: Sequence[Constraint], bounds: Mapping[str, tuple[int, int]]
) -> bool | None:
    """Return whether some values within bounds satisfy constraints; None if none is found soon."""
    names = sorted({name for c in constraints for name in names_of(c.expr)})
    every = product(*(range(bounds[name][0], bounds[name][1] + 1) for name in names))
    for values in islice(every, INDEXING_SEARCH):
        at = dict(zip(names, values, strict=True))
        if all(lo <= evaluate(x, at) <= hi for x, lo, hi in constraints):
            return True
    return False if next(every, None) is None else None


def _kind(name: str) -> str:
    return name.rstrip("0123456789")


def reading(runtimes: Iterable[Variable], values: Mapping[str, Expr]) -> Iterator[Variable]:
    """Return run-time variables whose indices are over other variables."""
    for one in runtimes:
        if one.source is None:
            yield one
        else:
            index = tuple(substitute(x, values) for x in one.source.at)
            yield replace(one, source=Read(one.source.instruction, index))
