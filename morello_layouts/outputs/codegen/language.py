"""Formulas and loop nests as values, and what every language does with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from typing import ClassVar, TypeAlias

from morello_layouts.core.expr import AffineExpr, Digit, Interval, Var, canonicalize, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError, UnsupportedError


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
        return *self.size_names, *self.arrays

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(access.name for access in self.accesses)

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
    """A value that a nest computes once, at the loop where it is known, and uses by its name."""

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


Below: TypeAlias = tuple[AffineExpr, Int]
"""A condition: the form is below the bound."""


@frozen
class Guard:
    """Statements under conditions."""

    conditions: tuple[Below, ...]
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
    conditions: tuple[Below, ...]
    body: tuple[Statement, ...]


Statement: TypeAlias = "NamedValue | Guard | Loop | VectorBlock | Visit"
Body: TypeAlias = tuple[Statement, ...]


@frozen
class NestPlan:
    """What a nest computes where."""

    values: tuple[tuple[NamedValue, ...], ...]  #: the values before the loops, and inside of each.
    results: Mapping[str, AffineExpr]  #: offsets and coordinates over these, for the body.
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
    """Return a name that is not used, with underscores after it if need be."""
    while name in used:
        name += "_"
    return name


PADDING = "is_padding"
"""The name of the padding condition among the results."""

PADDING_LAST = "The last result is whether the offset holds padding."
"""The comment on it in languages whose results are a tuple."""


@frozen
class Formulas:
    """Formulas over the same variables."""

    name: str  #: the name of a function of them.
    about: str  #: a description of them, for the function's comment.
    variables: tuple[Var, ...]  #: the arguments, with their bounds; then come sizes.
    results: tuple[tuple[str, AffineExpr], ...]  #: the formulas, each with its name.
    #: pairs (form, n): an offset is padding if some form is at least its n. None if there is no
    #: padding condition.
    limits: tuple[tuple[AffineExpr, Int], ...] | None = None
    more_sizes: frozenset[str] = frozenset()  #: sizes that are arguments in any case.
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions on symbolic sizes.

    @property
    def sizes(self) -> tuple[str, ...]:
        found = set(self.more_sizes)
        for _, form in self.results:
            found |= form.sizes()
        for form, n in self.limits or ():
            found |= form.sizes() | _names(n)
        for var in self.variables:
            found |= _names(var.interval.lo) | _names(var.interval.hi)
        return tuple(sorted(found))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the variables, then of the sizes."""
        return (*(var.name for var in self.variables), *self.sizes)

    @property
    def size_assumptions(self) -> tuple[Assumption, ...]:
        """The assumption on each size; without one a size is at least 1."""
        known = {one.name: one for one in self.assumptions}
        return tuple(known.get(name, Assumption(name)) for name in self.sizes)

    @property
    def domain(self) -> str:
        """The bounds of the variables, as one line of mathematics."""
        parts = []
        for var in self.variables:
            lo, hi = var.interval
            if lo == 0 and hi == -1:
                parts.append(f"{var.name} has no values")
            elif lo is not None and hi is not None:
                parts.append(f"{lo} <= {var.name} <= {hi}")
            elif lo is not None or hi is not None:
                parts.append(
                    f"{var.name} {'>=' if hi is None else '<='} {hi if lo is None else lo}"
                )
        return ", ".join([*parts, *map(str, self.size_assumptions)])

    def comment(self, padding: str = "") -> list[str]:
        """Return the lines of a function's comment: its purpose and bounds."""
        lines = [*self.about.splitlines(), self.domain]
        if self.limits is not None:
            lines.append(padding)
        # A backslash at a line's end makes C read the next line as comment too.
        flat = [" ".join(line.split()).rstrip("\\ ") for line in lines]
        return [line for line in flat if line]

    @property
    def size_bounds(self) -> dict[str, Interval]:
        """The smallest and largest value of each size that has an assumption."""
        return {one.name: Interval(one.lo, one.hi) for one in self.assumptions}

    @property
    def is_single(self) -> bool:
        """Whether there is one result and no padding condition, as in an expression."""
        return self.limits is None and len(self.results) == 1

    def require_names(self, target: str, is_name: Callable[[str], bool]) -> None:
        """Check that the target's text can use every name."""
        # A single result has no name of its own in any text.
        results = [] if self.is_single else [name for name, _ in self.results]
        own = [self.name, *self.arguments, *results, *([] if self.limits is None else [PADDING])]
        for name in own:
            if not isinstance(name, str) or not is_name(name):
                raise LayoutError(
                    f"{name!r} is not a name in {target}",
                    "a name has letters, digits and underscores, and is not a reserved word",
                    'rename it; a layout takes names of coordinates, such as names=("y", "x")',
                )
            if own.count(name) > 1:
                raise LayoutError(
                    f"{name!r} names two things",
                    "the function, its arguments and its results have names of their own",
                    "give another name, or rename the variable",
                )


def _names(number: Int | None) -> frozenset[str]:
    return number.names() if isinstance(number, SizeExpr) else frozenset()


_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")


class Language(ABC):
    """A target language."""

    name: ClassVar[str]  #: the name that users write.
    title: ClassVar[str]  #: the name in texts.
    reserved: ClassVar[frozenset[str]] = frozenset()  #: the words that are not names in it.
    #: the pattern of names that its libraries define, which functions of whole files cannot have.
    headers: ClassVar[str] = ""
    #: whether it can write shifts instead of products and quotients.
    shifts: ClassVar[bool] = False
    asserts: ClassVar[bool] = False  #: whether its functions can check their arguments.

    def __init__(self, *, shift: bool = False) -> None:
        self.require(self.shifts or not shift, "shifts", "leave shift=True out")

    def require(self, has: bool, what: str, fix: str) -> None:
        """Raise an UnsupportedError if the language lacks a feature."""
        if not has:
            why = f"{self.title} states a map, not the operations that compute it"
            raise UnsupportedError(f"{self.title} has no {what}", why, fix)

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return _NAME.fullmatch(name) is not None and name not in self.reserved

    @abstractmethod
    def expression(self, formulas: Formulas) -> str:
        """Return the only result, as an expression."""

    @abstractmethod
    def statements(self, formulas: Formulas) -> str:
        """Return every result and the padding condition, each with its name, outside a function.

        Parts that results share come first.
        """

    @abstractmethod
    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a whole function."""


def words(text: str) -> frozenset[str]:
    """Return the reserved words of a language from a text, separated by spaces."""
    return frozenset(text.split())
