"""Indexing maps from texts of XLA and MLIR; fewer range variables for the same elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from morello_layouts.notations.grammar import Terminal, Token, integer
from morello_layouts.programs.indexing.domain import Constraint
from morello_layouts.programs.indexing.expressions import (
    NAME,
    Expr,
    ExpressionParser,
    IndexOperation,
    add,
    factored,
    mod,
    names_of,
    substitute,
    summands,
    times,
)
from morello_layouts.programs.indexing.values import IndexingMap, Variable, reading

_IN: Final = Terminal("'in'", r"in\b")
_DOMAIN: Final = Terminal("'domain'", r"domain\b")
_EMPTY: Final = Terminal("KNOWN EMPTY", r"KNOWN EMPTY\b")
_NUMBER: Final = Terminal("a number", "-?[0-9]+")


def parse_indexing_map(
    text: str, dims: tuple[int, ...] | None = None, ranges: tuple[int, ...] = ()
) -> IndexingMap:
    """Read an indexing map; one without a domain takes the sizes of its variables.

    Args:
        text: the map.
        dims: a size for each dimension, for a text without a domain.
        ranges: a size for each range variable, likewise.

    >>> print(parse_indexing_map("(i)[j] -> (4*i + j / 2), domain: i in [0, 3], j in [0, 7]"))
    (i)[j] -> (i * 4 + j floordiv 2), domain: i in [0, 3], j in [0, 7]
    """
    return _MapParser(text).read(dims, ranges)


class _MapParser(ExpressionParser):
    def read(self, dims: tuple[int, ...] | None, ranges: tuple[int, ...]) -> IndexingMap:
        source = self.source
        if source.take(_EMPTY):
            source.end()
            return IndexingMap((), is_known_empty=True)
        is_wrapped = source.take("affine_map<", optional=True)
        source.need("(")
        given = self._names(")", "d")
        symbols = self._names("]", "s") if source.take("[") else []
        runtimes = self._names("}", "rt") if source.take("{") else []
        names = [*given, *symbols, *runtimes]
        source.need("->")
        source.need("(")
        results = source.series(self.expression, ")")
        if is_wrapped:
            source.need(">")
        ends = [(0, n - 1) for n in (*(dims or ()), *ranges)]
        if dims is None and names:
            ends = self._domain(names)
        elif len(ends) != len(names):
            wanted = f"{len(names)} size{'' if len(names) == 1 else 's'} for {', '.join(names[:9])}"
            fix = "give dims=(…) for the names in parentheses, ranges=(…) for those in brackets"
            self.refuse(f"expected {wanted}, got {len(ends)}", source.at, fix)
        constraints: list[Constraint] = []
        while source.take(",") and source.at < len(source.text):
            constraints.append(Constraint(self.expression(), *self._interval()))
        source.end()
        found = [
            Variable(*bounds, name="" if name == self.inner[name] else str(name))
            for name, bounds in zip(names, ends, strict=True)
        ]
        first, last = len(given), len(given) + len(symbols)
        groups = found[:first], found[first:last], found[last:]
        return IndexingMap.of(*groups, results, constraints)

    def _names(self, close: str, kind: str) -> list[Token]:
        found = self.source.series(lambda: self.source.need(NAME), close)
        for k, name in enumerate(found):
            if name in self.inner:
                self.refuse(f"the name {name} appears twice", name.start, "rename one of them")
            self.inner[str(name)] = f"{kind}{k}"
        return found

    def _domain(self, names: Sequence[Token]) -> list[tuple[int, int]]:
        source = self.source
        if source.at >= len(source.text.rstrip()):
            ends_of = ", ".join(f"{name} in [0, 7]" for name in names[:3])
            fix = f"write for example , domain: {ends_of} at the end, or give dims=(8,)"
            self.refuse("expected ', domain:', found the end of the text", source.at, fix)
        source.need(",")
        source.need(_DOMAIN)
        source.need(":")
        return [self._bounds(name, k > 0) for k, name in enumerate(names)]

    def _bounds(self, name: Token, is_later: bool) -> tuple[int, int]:
        """Read the bounds of a variable, which stand in the order of the variables."""
        if is_later:
            self.source.need(",")
        at = self.source.at
        found = self.source.need(NAME)
        if found != name:
            fix = "write the bounds in the order of the variables"
            self.refuse(f"the domain: expected {name}, got {found}", at, fix)
        return self._interval()

    def _interval(self) -> tuple[int, int]:
        source = self.source
        source.need(_IN)
        source.need("[")
        lo = integer(source.need(_NUMBER), source.text)
        source.need(",")
        hi = integer(source.need(_NUMBER), source.text)
        source.need("]")
        return lo, hi


def fewer_symbols(m: IndexingMap) -> IndexingMap:
    """Return a simplified map with fewer range variables that reads the same elements.

    How often an element is read may change: these maps say which are read.

    >>> from morello_layouts import indexing_map
    >>> m = indexing_map("(d0)[s0] -> ((d0 * 15 + s0) floordiv 16), domain: d0 in [0, 15], "
    ...                  "s0 in [0, 15], (d0 * 15 + s0) mod 16 in [0, 0]")
    >>> print(fewer_symbols(m))
    (d0) -> (d0), domain: d0 in [0, 15]
    """
    simple = m.simplify().without_unused_symbols()
    if simple.is_known_empty:
        return simple
    for found in (*_determined(simple), *_joined_symbols(simple), *_from_zero(simple)):
        after = found.simplify().without_unused_symbols()
        if after.cost <= simple.cost or len(after.constraints) < len(simple.constraints):
            return fewer_symbols(after)
    return simple


def _terms(x: Expr) -> dict[Expr, int]:
    """Return a sum as factors of its parts; its number belongs to the part 1."""
    return dict((1, part) if isinstance(part, int) else factored(part) for part in summands(x))


def _determined(m: IndexingMap) -> Iterator[IndexingMap]:
    """Yield the map without a variable that a constraint gives as a function of the others.

    ``(s + x) mod n in [r, r]`` gives s if it has n values at most, ``s + x in [r, r]`` always.
    """
    for constraint in m.constraints:
        x, lo, hi = constraint
        if lo != hi:
            continue
        modulus = x.parts[1] if isinstance(x, IndexOperation) and x.kind == "mod" else None
        terms = _terms(x.parts[0] if isinstance(x, IndexOperation) and modulus is not None else x)
        for name, factor in terms.items():
            if not isinstance(name, str) or name[0] != "s" or abs(factor) != 1:
                continue
            rest = add(*(times(y, c) for y, c in terms.items() if y != name))
            if name in names_of(rest):
                continue
            first, last = m.bounds[name]
            value = times(add(lo, times(rest, -1)), factor)
            if isinstance(modulus, int):
                if last - first >= modulus:
                    continue
                value = add(mod(add(value, -first), modulus), first)
            more = Constraint(value, first, last)
            yield _without(m, name, value, dropped=constraint, more=more)


def _joined_symbols(m: IndexingMap) -> Iterator[IndexingMap]:
    """Yield the map with one variable for a sum of two that occur in no other way."""
    every = (*m.results, *(constraint.expr for constraint in m.constraints))
    for k in range(len(m.ranges)):
        for j in range(k):
            one, other = f"s{j}", f"s{k}"
            (a, b), (c, d) = m.bounds[one], m.bounds[other]
            total = replace(m.ranges[j], lo=a + c, hi=b + d, name="")
            if all(_is_whole(x, one, other) for x in every):
                yield _without(m, other, 0, changed={one: total})


def _from_zero(m: IndexingMap) -> Iterator[IndexingMap]:
    """Yield the map with a variable that begins at 0 in place of one that does not."""
    for k, one in enumerate(m.ranges):
        if one.lo:
            name, moved = f"s{k}", replace(one, lo=0, hi=one.hi - one.lo)
            yield _without(m, name, add(name, one.lo), changed={name: moved})


def _is_whole(x: Expr, one: str, other: str) -> bool:
    """Return whether two variables occur in an expression only as their sum, or not at all."""
    names = set(names_of(x))
    if one not in names and other not in names:
        return True
    if not isinstance(x, IndexOperation):
        return False
    if x.kind == "+" and one in x.parts and other in x.parts:
        return all(_is_whole(part, one, other) for part in x.parts if part not in (one, other))
    return all(_is_whole(part, one, other) for part in x.parts)


def _without(
    m: IndexingMap,
    name: str,
    value: Expr,
    *,
    dropped: Constraint | None = None,
    more: Constraint | None = None,
    changed: dict[str, Variable] | None = None,
) -> IndexingMap:
    """Return the map with a value in place of a range variable."""
    at = {name: value}
    constraints = [
        Constraint(substitute(x, at), lo, hi)
        for x, lo, hi in (c for c in m.constraints if c != dropped)
    ]
    ranges = [(changed or {}).get(f"s{k}", one) for k, one in enumerate(m.ranges)]
    kept = (*constraints, *([more] if more is not None else []))
    results = (substitute(x, at) for x in m.results)
    return IndexingMap.of(m.dims, ranges, reading(m.runtimes, at), results, kept)
