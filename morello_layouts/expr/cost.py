"""The cost of computing a form: operations and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from morello_layouts.expr.affine import AffineExpr, Digit
from morello_layouts.expr.sizes import Int, SizeExpr


@dataclass(frozen=True, slots=True)
class CostModel:
    """The cost of each operation, in any unit.

    An expression costs the sum over its tree, without sharing. A sum of k terms takes k - 1
    additions; a factor of -1 in a sum is free.

    Attributes:
        add: an addition or subtraction.
        multiply: a multiplication by a constant.
        divide: a floor division by a constant.
        modulo: a remainder by a constant.
        power_of_two: a multiplication, division or remainder by a power of two, if it is cheaper
            (a shift or a mask); otherwise None.

    >>> from morello_layouts.expr.affine import variable
    >>> CostModel().cost(24 * (variable("d1") // 4) + variable("d1") % 4)
    6
    """

    add: int = 1
    multiply: int = 1
    divide: int = 2
    modulo: int = 2
    power_of_two: int | None = None

    def cost(self, form: AffineExpr) -> int:
        """Return the cost of computing a form as written."""
        return self._cost(form, {})

    def _cost(self, form: AffineExpr, known: dict[AffineExpr, int]) -> int:
        # Forms share parts: a form may be exponentially longer in print than in memory.
        total = self.add * max(len(form.terms) + (form.const != 0) - 1, 0)
        for atom, factor in form.terms:
            total += self.times(factor)
            if isinstance(atom, Digit):
                inner = known.get(atom.operand)
                if inner is None:
                    inner = known[atom.operand] = self._cost(atom.operand, known)
                total += inner + self.digit(atom.divisor, atom.modulus)
        return total

    def times(self, factor: Int) -> int:
        """Return the cost of multiplying by a constant."""
        return 0 if factor in (1, -1) else self._by(factor, self.multiply)

    def digit(self, divisor: Int, modulus: Int | None) -> int:
        """Return the cost of a division and a remainder, either of which may be absent."""
        total = 0 if divisor == 1 else self._by(divisor, self.divide)
        return total if modulus is None else total + self._by(modulus, self.modulo)

    def _by(self, number: Int, cost: int) -> int:
        if self.power_of_two is None or isinstance(number, SizeExpr):
            return cost
        return self.power_of_two if abs(number).bit_count() == 1 else cost


OPERATIONS: Final = CostModel()
"""Operations, with each division and remainder counted twice."""

SHIFTS: Final = CostModel(multiply=3, divide=12, modulo=12, power_of_two=1)
"""A machine with shifts and masks for powers of two, and slow other divisions."""
