"""A row-major position in a box, by its digits: what an offset is to its inverse.

Row-major order of a box is one-to-one: the quotient and the remainder of a position by the size of
its innermost digits are the positions of the outer and of the inner ones. So offsets of symbolic
strides divide without a product of sizes being divided.
"""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts.expr.size import Number
from morello_layouts.proof.relation import row_major
from morello_layouts.proof.space import Space
from morello_layouts.proof.value import Value

__all__ = ["Position"]


@dataclass(frozen=True, slots=True)
class Position:
    """A position by its digits, the most major first.

    Attributes:
        digits: values from 0 up to below their sizes.
        sizes: the sizes.
        space: the space of the digits.
    """

    digits: tuple[Value, ...]
    sizes: tuple[Number, ...]
    space: Space

    @property
    def value(self) -> Value:
        """The position as a sum of its digits times strides."""
        return row_major(self.digits, self.sizes, self.space)

    def __floordiv__(self, divisor: Number) -> Position | Value:
        """The position of the outer digits, where inner ones have the divisor as their size."""
        cut = self._cut(divisor)
        return cut[0] if cut is not None else self.value // divisor

    def __mod__(self, modulus: Number) -> Position | Value:
        """The position of the inner digits, where they have the modulus as their size."""
        cut = self._cut(modulus)
        return cut[1] if cut is not None else self.value % modulus

    def _cut(self, size: Number) -> tuple[Position, Position] | None:
        """The outer and the inner digits, these of a size in all; a digit may be split."""
        outer = list(zip(self.digits, self.sizes, strict=True))
        inner: list[tuple[Value, Number]] = []
        while size != 1:
            if not outer:
                return None
            x, n = outer.pop()
            if size % n == 0:
                inner.insert(0, (x, n))
                size = size // n
            elif isinstance(size, int) and n % size == 0:
                outer.append((x // size, n // size))
                inner.insert(0, (x % size, size))
                size = 1
            else:
                return None
        return self._of(outer), self._of(inner)

    def _of(self, pairs: list[tuple[Value, Number]]) -> Position:
        return Position(tuple(x for x, _ in pairs), tuple(n for _, n in pairs), self.space)
