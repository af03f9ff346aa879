"""A rounded quotient of a symbolic size, such as ``ceil(N/8)``: what padding makes of a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from morello_layouts.expr.size import Size

__all__ = ["Quotient"]


class Quotient:
    """``⌈numerator / divisor⌉``, a positive integer that a polynomial holds as it holds a name.

    Attributes:
        numerator: a symbolic size, at least 1.
        divisor: an integer above 1.
        exact: whether the divisor is known to divide the numerator.

    >>> from morello_layouts.expr.size import Size
    >>> print(Quotient(Size.named("N"), 8), Quotient(Size.named("N"), 8, exact=True))
    ceil(N/8) N//8
    """

    __slots__ = ("_hash", "_text", "divisor", "exact", "numerator")

    def __init__(self, numerator: Size, divisor: int, exact: bool = False) -> None:
        self.numerator: Final = numerator
        self.divisor: Final = divisor
        self.exact: Final = exact
        over = str(numerator) if len(numerator.terms) == 1 else f"({numerator})"
        self._text = f"{over}//{divisor}" if exact else f"ceil({over}/{divisor})"
        self._hash = hash((numerator, divisor, exact))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Quotient)
            and self.divisor == other.divisor
            and self.exact == other.exact
            and self.numerator == other.numerator
        )

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: object) -> bool:
        """The order of names, by their text."""
        return self._text < str(other)

    def __gt__(self, other: object) -> bool:
        """The order of names, by their text."""
        return self._text > str(other)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Quotient({self._text})"
