"""The index map: a layout at a shape, as a function from coordinates to buffer offsets."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import Linear, rewrite, variable
from morello_layouts.expr.latex import latex
from morello_layouts.expr.sympy_bridge import symbol, to_sympy
from morello_layouts.formula.derivation import Derivation
from morello_layouts.formula.inverse import Inverse
from morello_layouts.recipe import (
    Recipe,
    delinearize,
    logical_coordinates,
    physical_coordinates,
)

if TYPE_CHECKING:
    import sympy

__all__ = ["IndexMap"]

_INT64_END = 2**63


@dataclass(frozen=True)
class IndexMap:
    """Where each element of an array lies in its buffer, in elements from the buffer's start.

    Attributes:
        recipe: the pad, split, transpose, merge steps.
        textbook_form: the notation's own formula, over ``d0, d1, …``, unsimplified.
        source: the layout as text, at its shape.
        warnings: what a reader should know before he relies on the sizes.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[3,5]{1,0:T(2,2)}")
    >>> m.size, m.physical_coordinates(2, 3), m(2, 3), m.coordinates(17)
    (24, (1, 1, 0, 1), 17, (2, 3))
    """

    recipe: Recipe
    textbook_form: Linear
    source: str = ""
    warnings: tuple[str, ...] = ()

    @staticmethod
    def of(
        recipe: Recipe,
        textbook: Callable[[Sequence[Linear], Sequence[int]], Linear],
        source: str = "",
        warnings: tuple[str, ...] = (),
    ) -> IndexMap:
        """An index map of a recipe and a notation's textbook formula."""
        # Along a dimension of size 0 there is no coordinate; 0 stands in, so bounds stay ordered.
        names = [variable(f"d{k}", 0, max(n - 1, 0)) for k, n in enumerate(recipe.shape)]
        return IndexMap(recipe, textbook(names, recipe.shape), source, warnings)

    @property
    def shape(self) -> tuple[int, ...]:
        """Logical sizes, in elements."""
        return self.recipe.shape

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """Sizes of the axes in memory, most major first, in elements."""
        return self.recipe.physical_shape

    @property
    def size(self) -> int:
        """Elements that the buffer spans, padding included."""
        return self.recipe.size

    @property
    def padding(self) -> int:
        """Elements of the buffer that hold nothing."""
        return self.size - prod(self.shape)

    @cached_property
    def form(self) -> Linear:
        """The simplified formula, in the simplifier's own form."""
        return rewrite(self.textbook_form)

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The SymPy symbols ``d0, d1, …`` of the formula."""
        return tuple(symbol(f"d{k}") for k in range(len(self.shape)))

    @cached_property
    def expr(self) -> sympy.Expr:
        """The simplified offset as a SymPy expression in ``d0, d1, …``."""
        return to_sympy(self.form)

    @cached_property
    def textbook(self) -> sympy.Expr:
        """The offset as the notation's own formula gives it, as a SymPy expression."""
        return to_sympy(self.textbook_form)

    @cached_property
    def inverse(self) -> Inverse:
        """From offsets back to coordinates, and where the buffer holds padding."""
        return Inverse.of(self.recipe)

    @cached_property
    def derivation(self) -> Derivation:
        """How the textbook formula became the simplified one."""
        return Derivation.of(self.textbook_form)

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of the element at a coordinate, in elements.

        Args:
            coordinate: one int for each dimension, or integer arrays that broadcast.

        Raises:
            ShapeError: where a coordinate is outside of its dimension.
        """
        at = self._checked(coordinate)
        value = self.form.evaluate({f"d{k}": x for k, x in enumerate(at)})
        return _broadcast(value, at)

    def physical_coordinates(self, *coordinate: Any) -> tuple[Any, ...]:
        """The coordinate over the physical axes, of ints or of integer arrays.

        Raises:
            ShapeError: where a coordinate is outside of its dimension.
        """
        return physical_coordinates(self.recipe, self._checked(coordinate), 0)

    def coordinates(self, offset: int) -> tuple[int, ...] | None:
        """The coordinate of the element at an offset, None where the offset is padding.

        Raises:
            ShapeError: where the offset is outside of the buffer.
        """
        p = _index(offset)
        if not 0 <= p < self.size:
            raise ShapeError(
                f"offset {p} is outside of the buffer",
                f"the buffer spans {self.size} elements",
                f"give an offset from 0 to {self.size - 1}",
            )
        if p >= self.size - self.recipe.tail_padding:
            return None
        at, limits = logical_coordinates(self.recipe, delinearize(p, self.physical_shape))
        return at if all(x < n for x, n in limits) else None

    def _checked(self, coordinate: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(coordinate) != len(self.shape):
            raise ShapeError(
                f"{len(coordinate)} coordinates for {len(self.shape)} dimensions",
                f"the array has the shape {self.shape}",
                "give one coordinate for each dimension",
            )
        if all(type(x) is int for x in coordinate):
            for k, (x, n) in enumerate(zip(coordinate, self.shape, strict=True)):
                _require_inside(k, n, x, x)
            return coordinate
        return self._checked_arrays(coordinate)

    def _checked_arrays(self, coordinate: tuple[Any, ...]) -> tuple[Any, ...]:
        import numpy as np

        if all(np.ndim(x) == 0 for x in coordinate):
            return self._checked(tuple(_index(x) for x in coordinate))
        # Offsets past 2^63 do not fit an int64; Python's integers do.
        kind = np.int64 if self.size <= _INT64_END else object
        arrays = [np.asarray(x) for x in coordinate]
        for k, (x, n) in enumerate(zip(arrays, self.shape, strict=True)):
            if x.dtype.kind not in "iuO":
                raise LayoutError(
                    f"coordinate {k} is an array of {x.dtype}",
                    "coordinates are integers",
                    "give an integer array",
                )
            if x.size:
                _require_inside(k, n, int(x.min()), int(x.max()))
        return tuple(x.astype(kind) for x in arrays)

    def __str__(self) -> str:
        names = ", ".join(f"d{k}" for k in range(len(self.shape)))
        return f"({names}) -> {self.form}"

    def __repr__(self) -> str:
        return f"<IndexMap {self.source or self.shape}: {self}>"

    def _repr_latex_(self) -> str:
        return f"$$ {latex(self.form)} $$"


def _index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise LayoutError(
            f"{value!r} is not an integer",
            "coordinates and offsets count elements",
            "give an int, or an integer array",
        ) from None


def _require_inside(k: int, n: int, smallest: int, largest: int) -> None:
    if smallest < 0 or largest >= n:
        raise ShapeError(
            f"coordinate {k} is {smallest if smallest < 0 else largest}",
            f"dimension {k} has {n} elements",
            f"give a coordinate from 0 to {n - 1}" if n else "the array has no elements",
        )


def _broadcast(value: Any, at: tuple[Any, ...]) -> Any:
    """An offset that depends on no coordinate still has the coordinates' common shape."""
    if all(type(x) is int for x in at):
        return value
    import numpy as np

    return value + np.zeros(np.broadcast_shapes(*(x.shape for x in at)), dtype=at[0].dtype)
