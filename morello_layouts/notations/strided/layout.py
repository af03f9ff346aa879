"""Layouts by strides: the elements from one coordinate of a dimension to the next.

Source: NumPy's "The N-dimensional array" (internal memory layout), PyTorch's "Tensor Attributes"
(``torch.memory_format``) and MLIR's StridedLayoutAttr.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from morello_layouts.checks import as_int, require_rank
from morello_layouts.errors import ShapeError
from morello_layouts.expr import AffineExpr, coordinate_variables
from morello_layouts.expr.sizes import Int
from morello_layouts.layout import ElementType, Layout
from morello_layouts.limits import NESTED_TILES
from morello_layouts.recipe import Recipe, recipe_of_formula


@dataclass(frozen=True, slots=True, repr=False)
class StridedLayout(Layout):
    """A layout that gives the offset as ``offset + Σ stride * coordinate``, in elements.

    Strides may be 0 (elements are shared), negative (a dimension runs backwards) and symbolic.

    Attributes:
        strides: elements from one coordinate to the next, for each dimension.
        offset: the offset of the element at coordinate 0.
        shape: the sizes, if the layout is an array's; else they are given beside it.
        buffer: the elements of the buffer; by default it ends behind the largest offset.
        element: the type of an element.

    Raises:
        LayoutError: if there is a shape of another rank.

    >>> m = StridedLayout((5, 1), 2).recipe((2, 3))
    >>> print(m)
    [2,3] → pad [2,5] → start at 2 → cut to 10 elements
    """

    strides: tuple[Int, ...]
    offset: Int = 0
    shape: tuple[Int, ...] | None = None
    buffer: Int | None = None
    element: ElementType | None = None

    def __post_init__(self) -> None:
        part = ("strides", NESTED_TILES)
        as_int(len(self.strides), "the number of strides", 0, NESTED_TILES, part=part)
        if self.shape is not None:
            require_rank(self.shape, len(self.strides), str(self))

    @property
    def sizes(self) -> tuple[Int, ...] | None:
        """The sizes that the layout carries."""
        return self.shape

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout at a shape as steps; as a scatter if the strides are not nested.

        Raises:
            ShapeError: if the shape has another number of dimensions, or an offset is negative.
        """
        form = self.reference(coordinate_variables(shape), shape)
        return recipe_of_formula(tuple(shape), form, self.buffer)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset plus each coordinate times its stride."""
        require_rank(shape, len(self.strides), str(self))
        total = AffineExpr((), self.offset)
        for x, stride in zip(coordinates, self.strides, strict=True):
            total = total + x * stride
        return total

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return the offset and the buffer's size in integers; None if strides are symbolic."""
        offset, *steps = (s for s in (self.offset, *self.strides) if isinstance(s, int))
        if len(steps) < len(self.strides):
            return None
        end = offset + sum(max(s * (n - 1), 0) for n, s in zip(shape, steps, strict=True)) + 1
        size = self.buffer if isinstance(self.buffer, int) else end if prod(shape) else 0
        return offset + sum(x * s for x, s in zip(coordinate, steps, strict=True)), size

    def __str__(self) -> str:
        offset = "" if self.offset == 0 else f", offset: {self.offset}"
        return f"strided<[{', '.join(map(str, self.strides))}]{offset}>"


_ORDERS: Final = {
    "contiguous_format": {},
    "channels_last": {3: (1, 2, 0), 4: (0, 2, 3, 1)},
    "channels_last_3d": {4: (1, 2, 3, 0), 5: (0, 2, 3, 4, 1)},
}
"""The dimensions in memory order, the slowest first, by the number of dimensions."""

MEMORY_FORMATS: Final = tuple(_ORDERS)
"""The names of PyTorch's memory formats."""


@dataclass(frozen=True, slots=True, repr=False)
class MemoryFormat(Layout):
    """A memory format of PyTorch: ``contiguous_format``, ``channels_last``, ``channels_last_3d``.

    Attributes:
        name: the format. The batch may be missing from channels_last formats.

    >>> MemoryFormat("channels_last").strides((2, 3, 4, 5))
    (60, 1, 15, 3)
    """

    name: str

    def order(self, rank: int) -> tuple[int, ...]:
        """Return the dimensions in memory order, the slowest varying first.

        Raises:
            ShapeError: if the format has no order of so many dimensions.
        """
        found = _ORDERS[self.name].get(rank)
        if found is None and self.name != "contiguous_format":
            least, most = _ORDERS[self.name]
            raise ShapeError(
                f"{self.name}: expected {least} or {most} dimensions, got {rank}",
                "the dimensions are batch (or none), channels, and those of space",
                f"give such a shape, or {'contiguous_format' if rank < 4 else 'another format'}",
            )
        return tuple(range(rank)) if found is None else found

    def strides(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the strides that PyTorch gives a dense array of the format."""
        found: dict[int, Int] = {}
        step: Int = 1
        for dim in reversed(self.order(len(shape))):
            found[dim] = step
            step *= shape[dim] if shape[dim] != 0 else 1
        return tuple(found[dim] for dim in range(len(shape)))

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the strides at a shape as steps."""
        return StridedLayout(self.strides(shape)).recipe(shape)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the position in row-major order of the dimensions in memory order."""
        total = AffineExpr((), 0)
        for dim in self.order(len(shape)):
            total = total * shape[dim] + coordinates[dim]
        return total

    def __str__(self) -> str:
        return self.name
