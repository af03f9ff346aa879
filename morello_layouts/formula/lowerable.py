"""What a layout must be able to do, so that a notation from outside is taken like our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from morello_layouts.expr import Linear
from morello_layouts.expr.size import Number
from morello_layouts.recipe import Recipe

__all__ = ["Lowerable"]


@runtime_checkable
class Lowerable(Protocol):
    """A layout of any notation: it gives its recipe, and its own formula apart from it.

    ``index_map`` and every function that takes a layout take such a value together with a shape.
    ``verify`` proves that the formula and the recipe agree. So write the formula from the document
    of the notation, without a look at the recipe.

    >>> import morello_layouts as ml
    >>> class EvenFirst:
    ...     "Even columns first, then odd ones."
    ...     def recipe(self, shape):
    ...         return ml.Recipe(shape, (ml.Split((None, 2)), ml.Transpose((2, 0, 1))))
    ...     def textbook(self, coordinates, shape):
    ...         (i, j), (m, n) = coordinates, shape
    ...         return (j % 2) * m * (n // 2) + i * (n // 2) + j // 2
    >>> m = ml.index_map(EvenFirst(), (3, 4))
    >>> m(1, 3), ml.verify(m).holds
    (9, True)
    """

    def recipe(self, shape: Sequence[Number], /) -> Recipe:
        """The steps from an array of a shape to its buffer.

        Args:
            shape: sizes in elements; some may be symbolic.
        """
        ...

    def textbook(self, coordinates: Sequence[Linear], shape: Sequence[Number], /) -> Linear:
        """The offset in elements, of ``+``, ``*``, ``//`` and ``%`` of coordinates and sizes.

        Args:
            coordinates: one form for each dimension.
            shape: sizes in elements.
        """
        ...
