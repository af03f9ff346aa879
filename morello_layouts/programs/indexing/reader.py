"""The text of indexing maps, as XLA prints it; of affine maps, as MLIR prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from morello_layouts.notations.grammar import Terminal, Token, integer
from morello_layouts.programs.indexing.domain import Constraint
from morello_layouts.programs.indexing.expressions import NAME, ExpressionParser
from morello_layouts.programs.indexing.values import IndexingMap, Variable

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
            constraints.append(self._constraint())
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

    def _constraint(self) -> Constraint:
        return Constraint(self.expression(), *self._interval())

    def _interval(self) -> tuple[int, int]:
        source = self.source
        source.need(_IN)
        source.need("[")
        lo = integer(source.need(_NUMBER), source.text)
        source.need(",")
        hi = integer(source.need(_NUMBER), source.text)
        source.need("]")
        return lo, hi
