"""Formulas of TVM's index maps in integers, read apart from forms' own arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any


def by_formulas(
    formulas: Sequence[Any], at: Mapping[str, int], sizes: Mapping[str, int]
) -> tuple[int, int]:
    """Return the row-major place in a box, and the size of the box by TVM's ``map_shape``.

    Args:
        formulas: trees of constants, names, floors and remainders: the coordinate in the box.
        at: the value of each name.
        sizes: the number of values of each name.

    >>> import morello_layouts as ml
    >>> layout = ml.parse("lambda i, j: (i//4, j, i%4)")
    >>> by_formulas(layout.forms, {"i": 5, "j": 2}, {"i": 6, "j": 3})
    (21, 24)
    """
    offset, size = 0, 1
    for formula in formulas:
        extent = _ends(formula, sizes)[1] + 1
        steps = [step for _, step in formula.terms]
        if steps and formula.const == 0:  # multiples of a number take up all its multiples
            extent += -extent % gcd(*steps)
        offset, size = offset * extent + _value(formula, at), size * extent
    return offset, size


def _value(formula: Any, at: Mapping[str, int]) -> int:
    total: int = formula.const
    for part, factor in formula.terms:
        if hasattr(part, "operand"):
            value = _value(part.operand, at) // part.divisor
            total += factor * (value if part.modulus is None else value % part.modulus)
        else:
            total += factor * at[part.name]
    return total


def _ends(formula: Any, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and largest value if each remainder takes all its values."""
    low = high = formula.const
    for part, factor in formula.terms:
        if not hasattr(part, "operand"):
            ends = 0, sizes[part.name] - 1
        elif part.modulus is not None:
            ends = 0, part.modulus - 1
        else:
            least, most = _ends(part.operand, sizes)
            ends = least // part.divisor, most // part.divisor
        first, last = sorted(factor * end for end in ends)
        low, high = low + first, high + last
    return low, high
