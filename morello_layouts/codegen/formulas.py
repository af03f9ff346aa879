"""What is to be printed: formulas with their variables, whatever they came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from morello_layouts.errors import LayoutError
from morello_layouts.expr import Interval, Linear, Var
from morello_layouts.expr.assumption import Assumption
from morello_layouts.expr.size import Number, Size

__all__ = ["PADDING", "PADDING_LAST", "Formulas"]

PADDING = "is_padding"
"""The name of the padding condition among the results."""

PADDING_LAST = "The last result is whether the offset holds padding."
"""What comments say of it where results are a tuple."""


@dataclass(frozen=True, slots=True)
class Formulas:
    """Formulas over the same variables.

    Attributes:
        name: what a function of them is called.
        about: what they give, for the function's comment.
        variables: the arguments, with their bounds; sizes follow them as arguments.
        results: each with its name.
        limits: pairs (form, n): padding is where a form is at least its n. None where no padding
            condition is asked for.
        more_sizes: symbolic sizes that are arguments even where no result needs them.
        assumptions: what is known of symbolic sizes.

    >>> from morello_layouts.expr import variable
    >>> i = variable("i", 0, 7)
    >>> Formulas("f", "a third", i.variables(), (("value", i // 3),)).arguments
    ('i',)
    """

    name: str
    about: str
    variables: tuple[Var, ...]
    results: tuple[tuple[str, Linear], ...]
    limits: tuple[tuple[Linear, Number], ...] | None = None
    more_sizes: frozenset[str] = frozenset()
    assumptions: tuple[Assumption, ...] = ()

    @property
    def sizes(self) -> tuple[str, ...]:
        """The symbolic sizes, by name."""
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
        known = {one.name: one for one in self.assumptions}
        return ", ".join([*parts, *(str(known.get(n, Assumption(n))) for n in self.sizes)])

    def comment(self, padding: str = "") -> list[str]:
        """What a function is for, and its bounds, in lines without ends that escape.

        Args:
            padding: what is said of the padding condition, if there is one.
        """
        lines = [*self.about.splitlines(), self.domain]
        if self.limits is not None:
            lines.append(padding)
        # A backslash at a line's end makes C read the next line as comment too.
        flat = [" ".join(line.split()).rstrip("\\ ") for line in lines]
        return [line for line in flat if line]

    @property
    def size_bounds(self) -> dict[str, Interval]:
        """The smallest and largest value of each size that something is assumed of."""
        return {one.name: Interval(one.lo, one.hi) for one in self.assumptions}

    @property
    def is_single(self) -> bool:
        """Whether there is one result and no padding condition: what an expression can say."""
        return self.limits is None and len(self.results) == 1

    def require_names(self, target: str, is_name: Callable[[str], bool]) -> None:
        """See that every name may stand in the target's text.

        Raises:
            LayoutError: where one is no identifier, or means something else there.
        """
        # A single result has no name of its own in any text.
        results = [] if self.is_single else [name for name, _ in self.results]
        own = [self.name, *self.arguments, *results, *([] if self.limits is None else [PADDING])]
        for name in own:
            if not isinstance(name, str) or not is_name(name):
                raise LayoutError(
                    f"{name!r} is no name in {target}",
                    "names are letters, digits and underscores, and none of the language's words",
                    "rename it",
                )
            if own.count(name) > 1:
                raise LayoutError(
                    f"{name!r} names two things",
                    "the function, its arguments and its results have names of their own",
                    "give another name, or rename the variable",
                )


def _names(number: Number | None) -> frozenset[str]:
    return number.names() if isinstance(number, Size) else frozenset()
