"""The layout protocol: what a notation must give so that everything else understands it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int
from morello_layouts.recipe import Recipe


@runtime_checkable
class Layout(Protocol):
    """A layout of any notation: it gives its recipe, and its own formula apart from it.

    ``index_map`` and every function that takes a layout take such a value together with a shape.
    ``verify`` proves that the formula and the recipe agree. So write the formula from the document
    of the notation, without a look at the recipe.

    >>> import morello_layouts as ml
    >>> class EvenFirst:
    ...     "Even columns first, then odd ones."
    ...     def recipe(self, shape):
    ...         return ml.Recipe(shape, (ml.Split((None, 2)), ml.Transpose((2, 0, 1))))
    ...     def reference(self, coordinates, shape):
    ...         (i, j), (m, n) = coordinates, shape
    ...         return (j % 2) * m * (n // 2) + i * (n // 2) + j // 2
    >>> m = ml.index_map(EvenFirst(), (3, 4))
    >>> m(1, 3), ml.verify(m).holds
    (9, True)
    """

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """The steps from an array of a shape to its buffer.

        Args:
            shape: sizes in elements; some may be symbolic.
        """
        ...

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """The offset in elements, of ``+``, ``*``, ``//`` and ``%`` of coordinates and sizes.

        Args:
            coordinates: one form for each dimension.
            shape: sizes in elements.
        """
        ...
