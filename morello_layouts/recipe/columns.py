"""Columns of integers, at which recipes and forms are read without NumPy, exactly."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from morello_layouts.recipe.readings import (
    coordinates_at,
    delinearize,
    elements_by_slot,
    has_inverse,
)
from morello_layouts.recipe.recipe import Recipe
from morello_layouts.recipe.steps import known


def _binary(operation: Callable[[Any, Any], Any]) -> Any:
    """Return the methods of an operator, from the left and from the right."""

    def apply(left: Column, right: Any) -> Column:
        return Column(map(operation, left.values, _entries(right)))

    def applied(right: Column, left: Any) -> Column:
        return Column(map(operation, _entries(left), right.values))

    return apply, applied


def _entries(value: Any) -> Iterable[Any]:
    return value.values if isinstance(value, Column) else repeat(value)


class Column:
    """Integers side by side, with the operators of one integer.

    Attributes:
        values: the integers, or truth values.

    >>> column = Column([0, 5, 9])
    >>> (column // 4 * 10 + column % 4).values, (column < 6).values
    ([0, 11, 21], [True, True, False])
    """

    __slots__ = ("values",)

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)

    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __xor__, __rxor__ = _binary(operator.xor)
    __and__, __rand__ = _binary(operator.and_)
    __lt__, __gt__ = _binary(operator.lt)


def filled(value: Any, count: int) -> list[Any]:
    """Return the values of a column, or as many of one number.

    >>> filled(Column([1, 2]), 2), filled(5, 2)
    ([1, 2], [5, 5])
    """
    return value.values if isinstance(value, Column) else [value] * count


def elements_of(recipe: Recipe, offsets: list[int]) -> list[tuple[int, ...] | None]:
    """Return the coordinate of the first element at each offset; None at padding.

    >>> from morello_layouts.recipe import Pad
    >>> elements_of(Recipe((3,), (Pad((4,)),)), [1, 3])
    [(1,), None]
    """
    count = len(offsets)
    if not has_inverse(recipe):
        first, sizes = elements_by_slot(recipe)[0], known(recipe.shape)
        return [None if first[p] < 0 else delinearize(int(first[p]), sizes) for p in offsets]
    found, limits = coordinates_at(recipe, Column(offsets))
    there = [True] * count
    for x, n in limits:
        there = [a and b < n for a, b in zip(there, filled(x, count), strict=True)]
    columns = [filled(x, count) for x in found]
    coordinates = zip(*columns, strict=True) if columns else repeat((), count)
    return [at if is_there else None for at, is_there in zip(coordinates, there, strict=True)]
