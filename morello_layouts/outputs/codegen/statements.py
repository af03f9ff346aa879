"""Loop nests as values: arrays over coordinates, and the statements that languages write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from typing import TypeAlias

from morello_layouts.core.expr import AffineExpr, Digit, canonicalize, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType


@frozen
class ArrayAccess:
    """A map in a nest: the offset of an array's element at a point of the iteration space."""

    name: str  #: the name of the array.
    over: tuple[str, ...]  #: the coordinates that the map takes, in its order.
    form: AffineExpr  #: the offset over these names, simplified.
    source: str = ""  #: the map as text.
    element: ElementType | None = None  #: the type of the array's elements, if the map tells.


@frozen(slots=False)
class IterationSpace:
    """All points of a box of named coordinates, and the arrays that are visited there."""

    sizes: Mapping[str, Int]  #: the number of values of each coordinate, by name.
    accesses: tuple[ArrayAccess, ...]  #: the arrays.
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions about symbolic sizes.
    more_sizes: frozenset[str] = frozenset()  #: names of sizes that only tiles have.

    @property
    def names(self) -> tuple[str, ...]:
        """The names of coordinates, symbolic sizes and arrays."""
        return *self.sizes, *self.taken

    @property
    def taken(self) -> tuple[str, ...]:
        """The names that no loop can have: those of symbolic sizes and arrays."""
        return *self.size_names, *(access.name for access in self.accesses)

    @cached_property
    def size_names(self) -> tuple[str, ...]:
        """The names of the symbolic sizes."""
        found = set(self.more_sizes)
        for n in self.sizes.values():
            found |= n.names() if isinstance(n, SizeExpr) else frozenset()
        for access in self.accesses:
            found |= access.form.sizes()
        return tuple(sorted(found))


@frozen
class LoopAxis:
    """A loop: one digit of a coordinate."""

    name: str  #: the loop's variable.
    coordinate: str  #: the coordinate of which it is a digit.
    unit: Int  #: what the coordinate grows by from one turn to the next.
    size: Int  #: the number of turns, in a whole tile.

    @property
    def variable(self) -> AffineExpr:
        """The loop's variable within its bounds."""
        return variable(self.name, 0, self.size - 1 if self.size != 0 else 0)


@frozen
class NamedValue:
    """A named value."""

    name: str
    form: AffineExpr
    about: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {self.form}"


@frozen
class Counter:
    """Quotient and rest of a sum that grows by the same in each turn of a loop."""

    quotient: str  #: the name of ``operand // divisor % modulus``; empty if nothing needs it.
    rest: str  #: the name of ``operand % divisor``.
    operand: AffineExpr  #: the sum, over values of outer loops and the loop's variable.
    step: int  #: by how much it grows; at least 1.
    divisor: int  #: the divisor, above 1.
    modulus: int | None  #: the modulus of the quotient, or None.

    @property
    def digits(self) -> dict[str, Digit]:
        found = {self.rest: Digit(self.operand, 1, self.divisor)}
        if self.quotient:
            found[self.quotient] = Digit(self.operand, self.divisor, self.modulus)
        return found

    @property
    def cost(self) -> int:
        """Operations in each turn, without those of a carry."""
        wraps = self.modulus is not None and self.step >= self.divisor
        return 2 + (self.step >= self.divisor) + wraps

    def starts(self, axis: LoopAxis, at: AffineExpr) -> Iterator[tuple[str, AffineExpr]]:
        """Yield the names with their first values, if the loop of an axis starts at a number."""
        for name, digit in self.digits.items():
            yield name, canonicalize(substitute(AffineExpr(((digit, 1),), 0), {axis.name: at}))

    def next(self, values: dict[str, int]) -> None:
        rest = values[self.rest] + self.step % self.divisor
        values[self.rest] = rest % self.divisor
        if self.quotient:
            grown = values[self.quotient] + self.step // self.divisor + rest // self.divisor
            is_over = self.modulus is not None and grown >= self.modulus
            values[self.quotient] = grown - (self.modulus or 0) * is_over


@frozen
class Visit:
    """The body, at one element."""


@frozen
class Guard:
    """Statements under a condition: each form is below its bound."""

    conditions: tuple[tuple[AffineExpr, Int], ...]
    body: tuple[Statement, ...]


@frozen
class Loop:
    """A loop from ``start`` up to the least of ``stops``, not included."""

    axis: LoopAxis
    start: AffineExpr
    stops: tuple[AffineExpr, ...]
    body: tuple[Statement, ...]
    about: str = ""
    counters: tuple[Counter, ...] = ()


@frozen
class VectorBlock:
    """Loops at once, as vectors of elements; ``conditions`` hold where there is an element."""

    axes: tuple[LoopAxis, ...]
    conditions: tuple[tuple[AffineExpr, Int], ...]
    body: tuple[Statement, ...]


Statement: TypeAlias = "NamedValue | Guard | Loop | VectorBlock | Visit"


@frozen
class NestPlan:
    """What a nest computes where."""

    values: tuple[tuple[NamedValue, ...], ...]  #: the values before the loops, and inside of each.
    #: what the body may use, over these: offsets and coordinates.
    results: Mapping[str, AffineExpr]
    counters: tuple[Counter, ...]  #: the counters of the innermost loop.


@frozen
class PrintedNest:
    """A loop nest as a language writes it."""

    space: IterationSpace  #: the coordinates and arrays.
    axes: Sequence[LoopAxis]  #: the loops, the outermost first.
    forms: tuple[AffineExpr, ...]  #: the offset of each array over the loops.
    plan: NestPlan  #: what is computed where.
    statements: tuple[Statement, ...]  #: the loops, values and conditions.
    body: str  #: the text of the body; empty for one by default.

    @property
    def is_copy(self) -> bool:
        """Whether a nest without a body copies: of two arrays, the second has all coordinates."""
        arrays = self.space.accesses
        return len(arrays) == 2 and {*arrays[0].over} <= {*arrays[1].over} and not self.body


def fresh(name: str, used: AbstractSet[str]) -> str:
    """Return a name that is not used, with underscores behind it if need be."""
    while name in used:
        name += "_"
    return name
