"""oneDNN's layouts: an order of dimensions, some of them in blocks.

Source: oneDNN's developer guide, "Understanding Memory Formats", and ``dnnl_types.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from morello_layouts.checks import as_int, as_permutation, as_tuple
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int
from morello_layouts.layout import Layout
from morello_layouts.limits import NESTED_TILES
from morello_layouts.notations.onednn import lowering
from morello_layouts.recipe import Recipe

LETTERS: Final = "abcdefghijkl"
"""oneDNN's letters for the logical dimensions of any array; no array has more."""

NAMES: Final = (
    *("x", "nc", "ncw", "nchw", "ncdhw"),
    *("oi", "oiw", "oihw", "oidhw", "goiw", "goihw", "goidhw"),
    *("tn", "tnc", "ldnc", "ldio", "ldgo", "ldigo"),
)
"""oneDNN's letters for the logical dimensions of activations, weights and states, in order."""


@dataclass(frozen=True, slots=True)
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
    letters: str = LETTERS

    def __post_init__(self) -> None:
        fix = "give pairs (dimension, size), such as ((1, 16),)"
        order = as_permutation(self.order, "order", part=("order",))
        given = as_tuple(self.blocks, "blocks", fix)
        if len(given) > NESTED_TILES:
            raise UnsupportedError(
                f"blocks: expected at most {NESTED_TILES}, got {len(given)}",
                "each is one more level of the formula",
                "leave out blocks of 1, which change nothing",
                part=("blocks", NESTED_TILES),
            )
        pairs = [as_tuple(pair, "a block", fix) for pair in given]
        if not 0 < len(order) <= len(LETTERS) or any(len(pair) != 2 for pair in pairs):
            raise LayoutError(
                f"{len(order)} dimensions in blocks {pairs}",
                f"oneDNN's arrays have 1 to {len(LETTERS)} dimensions, a block has one of them",
                fix,
            )
        blocks = tuple(
            (
                as_int(dim, "a block's dimension", 0, len(order) - 1, part=("blocks", k, 0)),
                as_int(size, "a block's size", 1, part=("blocks", k, 1)),
            )
            for k, (dim, size) in enumerate(pairs)
        )
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "blocks", blocks)
        letters = self.letters[: len(order)] if self.letters == LETTERS else self.letters
        object.__setattr__(self, "letters", letters)
        if letters != LETTERS[: len(order)] and (
            letters not in NAMES or len(letters) != len(order)
        ):
            raise LayoutError(
                f"letters: expected one for each of {len(order)} dimensions, got {letters!r}",
                f"they are {LETTERS[: len(order)]}, or names of oneDNN's",
                f"give one of {', '.join(NAMES)}",
            )

    def padded_dims(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return oneDNN's padded dimensions: multiples of the blocks.

        >>> OnednnLayout((0, 1, 2), ((1, 16),)).padded_dims((2, 20, 3))
        (2, 32, 3)
        """
        self._require_rank(shape)
        return lowering.padded_dims(shape, self.blocks)

    def strides(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return oneDNN's strides: elements from one block of a dimension to the next.

        >>> OnednnLayout((0, 1, 2), ((1, 16),)).strides((2, 20, 3))
        (96, 48, 16)
        """
        self._require_rank(shape)
        return lowering.strides(shape, self.order, self.blocks)

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout at a shape as pad, split and transpose steps.

        Raises:
            ShapeError: if the shape has another number of dimensions.
        """
        self._require_rank(shape)
        return lowering.recipe(shape, self.order, self.blocks)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset as oneDNN computes it: blocks from the innermost, then strides."""
        self._require_rank(shape)
        return lowering.reference(coordinates, shape, self.order, self.blocks)

    def _require_rank(self, shape: Sequence[Int]) -> None:
        if len(shape) != len(self.order):
            raise ShapeError(
                f"{self}: expected {len(self.order)} sizes, got {len(shape)}",
                "a tag has a letter for each dimension",
                f"give the sizes of {', '.join(self.letters)}",
            )

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each axis in memory, the slowest varying first.

        >>> OnednnLayout((0, 1, 2), ((1, 16),)).texts
        ('a', 'B', 'c', '16b')
        """
        blocked = {dim for dim, _ in self.blocks}
        letters = self.letters
        outer = (letters[dim].upper() if dim in blocked else letters[dim] for dim in self.order)
        return *outer, *(f"{size}{letters[dim]}" for dim, size in self.blocks)

    def __str__(self) -> str:
        return "".join(self.texts)
