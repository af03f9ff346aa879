"""oneDNN's layouts: an order of dimensions, some of them in blocks.

Source: oneDNN's developer guide, "Understanding Memory Formats", and ``dnnl_types.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from morello_layouts.checks import as_int, as_permutation, require_rank
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int, ceil_quotient
from morello_layouts.layout import Layout
from morello_layouts.limits import NESTED_TILES
from morello_layouts.notations.blocks import blocked_recipe, blocks_of, padded_dims, place_in_blocks
from morello_layouts.recipe import Recipe


@dataclass(frozen=True, slots=True, repr=False)
class OnednnLayout(Layout):
    """A layout of oneDNN: ``aBcd16b`` is four dimensions, the second one in blocks of 16.

    Attributes:
        order: logical dimensions, the slowest varying first; of a dimension in blocks, the blocks.
        blocks: pairs (logical dimension, size), outermost first. Several blocks of one dimension
            nest. A dimension is padded to a multiple of the product of its blocks.
        letters: the letter of each logical dimension.

    Raises:
        LayoutError: if the order is not a permutation, or a block has no elements or no dimension.

    >>> print(OnednnLayout((0, 1, 2, 3), ((1, 16),), "nchw"))
    nChw16c
    """

    order: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...] = ()
    letters: str = "abcdefghijkl"

    def __post_init__(self) -> None:
        order = as_permutation(self.order, "order", part=("order",))
        rank, depth = len(order), len(self.blocks)
        as_int(rank, "the number of dimensions", 1, len(self.letters), part=("order",))
        as_int(depth, "the number of blocks", 0, NESTED_TILES, part=("blocks", NESTED_TILES))
        for k, (dim, size) in enumerate(self.blocks):
            as_int(dim, "a block's dimension", 0, rank - 1, part=("blocks", k))
            as_int(size, "a block's size", 1, part=("blocks", k))
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "letters", self.letters[:rank])

    def padded_dims(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return oneDNN's padded dimensions: multiples of the blocks.

        >>> OnednnLayout((0, 1, 2), ((1, 16),)).padded_dims((2, 20, 3))
        (2, 32, 3)
        """
        require_rank(shape, len(self.order), str(self))
        return padded_dims(shape, self.blocks)

    def strides(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return oneDNN's strides: elements from one block of a dimension to the next.

        >>> OnednnLayout((0, 1, 2), ((1, 16),)).strides((2, 20, 3))
        (96, 48, 16)
        """
        require_rank(shape, len(self.order), str(self))
        found: dict[int, Int] = {}
        stride: Int = prod(size for _, size in self.blocks)
        for dim in reversed(self.order):
            found[dim] = stride
            stride *= ceil_quotient(shape[dim], prod(blocks_of(dim, self.blocks)))
        return tuple(found[dim] for dim in range(len(shape)))

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout at a shape as pad, split and transpose steps.

        Raises:
            ShapeError: if the shape has another number of dimensions.
        """
        require_rank(shape, len(self.order), str(self))
        return blocked_recipe(shape, self.order, self.blocks)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset as oneDNN computes it: blocks from the innermost, then strides."""
        left, offset = list(coordinates), AffineExpr((), 0)
        stride: Int = 1
        for dim, size in reversed(self.blocks):
            offset += left[dim] % size * stride
            left[dim] //= size
            stride *= size
        for x, step in zip(left, self.strides(shape), strict=True):
            offset += x * step
        return offset

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return an element's offset and the buffer's size: the blocks, then the order."""
        return place_in_blocks(coordinate, shape, self.order, self.blocks)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each axis in memory, the slowest varying first."""
        blocked, letters = {dim for dim, _ in self.blocks}, self.letters
        outer = (letters[dim].upper() if dim in blocked else letters[dim] for dim in self.order)
        return *outer, *(f"{size}{letters[dim]}" for dim, size in self.blocks)

    def names(self, rank: int) -> tuple[str, ...]:
        """Return the letters."""
        return tuple(self.letters)

    def __str__(self) -> str:
        return "".join(self.texts)
