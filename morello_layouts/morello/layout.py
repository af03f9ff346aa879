"""Morello's layout: a list of (logical dimension, physical dimension), outermost first.

Source: Morello's ``layout.rs`` and the "Data Layouts" page of its book.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.errors import LayoutError
from morello_layouts.expr import Linear
from morello_layouts.morello import canonical, contiguity, expand, lowering
from morello_layouts.morello.dims import Dynamic, PhysDim
from morello_layouts.recipe import Recipe

__all__ = ["MorelloLayout"]

PhysDims: TypeAlias = tuple[tuple[int, PhysDim], ...]

_NHWC = ((0, Dynamic()), (2, Dynamic()), (3, Dynamic()), (1, Dynamic()))


@dataclass(frozen=True, slots=True, init=False)
class MorelloLayout:
    """Physical dimensions from slowest to fastest varying, each of one logical dimension.

    Built back to front: the innermost physical dimension of a logical dimension takes the low
    digit of the index, the next one the next digit, until the whole dimension is covered. A
    logical dimension that no physical dimension names must be of size 1.

    Attributes:
        phys_dims: pairs (logical dimension, Dynamic | Packed | OddEven), outermost first.
        contig: how many of the innermost physical dimensions lie contiguously in memory;
            all of them unless the layout is that of a tile of a larger array.

    Raises:
        LayoutError: where no shape could fit, such as two Dynamics of one dimension.

    >>> layout = MorelloLayout([(1, Dynamic()), (0, Dynamic()), (1, Packed(4))])
    >>> print(layout)
    [1, 0, 1 p(4)]
    >>> layout.physical_shape((6, 8))
    (2, 6, 4)
    """

    phys_dims: PhysDims
    contig: int

    def __init__(
        self, phys_dims: Iterable[tuple[int, PhysDim]], contig: int | None = None
    ) -> None:
        dims = tuple((dim, phys) for dim, phys in phys_dims)
        object.__setattr__(self, "phys_dims", dims)
        object.__setattr__(self, "contig", len(dims) if contig is None else contig)
        expand.check_dims(dims)
        if not 0 <= self.contig <= len(dims):
            raise LayoutError(
                f"c{self.contig} says that {self.contig} dimensions are contiguous",
                f"the layout has {len(dims)} physical dimensions",
                f"give a number from 0 to {len(dims)}",
                part=("contig",),
            )

    def physical_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of the physical dimensions at a logical shape, in elements.

        Raises:
            ShapeError: where the layout does not fit the shape.
        """
        return expand.physical_shape(self.phys_dims, tuple(shape))

    def applies_to(self, shape: Sequence[int]) -> bool:
        """Whether the layout fits a logical shape.

        >>> MorelloLayout([(0, Dynamic()), (0, OddEven(4))]).applies_to((6,))
        False
        """
        return expand.applies_to(self.phys_dims, tuple(shape))

    @property
    def is_row_major(self) -> bool:
        """Whether every physical dimension is Dynamic, logical dimensions ascending.

        Morello's own test asks that none be left out before the last one named... of size 1 too.
        """
        dims = [d for d, phys in self.phys_dims if isinstance(phys, Dynamic)]
        return len(dims) == len(self.phys_dims) and dims == sorted(dims)

    @property
    def is_col_major(self) -> bool:
        """Whether every physical dimension is Dynamic, logical dimensions n-1 down to 0."""
        reverse = tuple((d, Dynamic()) for d in range(len(self.phys_dims) - 1, -1, -1))
        return self.phys_dims == reverse

    @property
    def is_fully_contiguous(self) -> bool:
        """Whether the elements lie in one run without gaps."""
        return self.contig == len(self.phys_dims)

    def for_tile(self, parent_shape: Sequence[int], tile_shape: Sequence[int]) -> MorelloLayout:
        """The layout of a tile of an array that has this layout, with what stays contiguous.

        Tiles start at multiples of their size. The claim of contiguity holds for every tile: where
        a tile may straddle a pack (3 of ``p(4)``), Morello still counts the packed dimension as
        contiguous; this does not.

        Raises:
            ShapeError: where the layout fits the parent or the tile not.

        >>> layout = MorelloLayout([(0, Dynamic()), (1, Dynamic())])
        >>> print(layout.for_tile((6, 8), (2, 4)))
        ([0, 1], c1)
        """
        parent, tile = tuple(parent_shape), tuple(tile_shape)
        contig = contiguity.contig_of_tile(self.phys_dims, self.contig, parent, tile)
        return MorelloLayout(self.phys_dims, contig).canonicalize(tile)

    def canonicalize(self, shape: Sequence[int]) -> MorelloLayout:
        """The shortest list with the same offsets at a shape, by Morello's rules.

        Logical dimensions of size 1 go, a Packed that takes all that remains becomes Dynamic,
        neighbours of one logical dimension are joined.

        >>> print(MorelloLayout([(1, Dynamic()), (0, Dynamic()), (1, Packed(4))]).canonicalize((6, 4)))
        [0, 1]
        """
        dims, contig = canonical.canonical_dims(self.phys_dims, self.contig, tuple(shape))
        return MorelloLayout(dims, contig)

    def drop_dims(self, dropped: Iterable[int]) -> MorelloLayout:
        """The layout without some logical dimensions, the others renumbered, neighbours joined.

        >>> print(MorelloLayout([(1, Packed(2)), (0, Dynamic()), (1, Packed(3))]).drop_dims([0]))
        [0 p(6)]
        """
        dims, contig = canonical.without_dims(self.phys_dims, self.contig, frozenset(dropped))
        return MorelloLayout(dims, contig)

    def swap_dims(self, first: int, second: int) -> MorelloLayout:
        """The layout of the array with two logical dimensions exchanged.

        >>> print(MorelloLayout([(0, Dynamic()), (1, Packed(4))]).swap_dims(0, 1))
        [1, 0 p(4)]
        """
        other = {first: second, second: first}
        return MorelloLayout([(other.get(d, d), phys) for d, phys in self.phys_dims], self.contig)

    def estimate_cache_lines(
        self, shape: Sequence[int], element_bytes: int, line_bytes: int = 64
    ) -> int:
        """Cache lines that the array touches: lines of one contiguous run, times the runs.

        >>> MorelloLayout([(0, Dynamic()), (1, Dynamic())]).estimate_cache_lines((6, 8), 4)
        3
        """
        sizes = self.physical_shape(shape)
        return contiguity.cache_lines(sizes, self.contig, element_bytes, line_bytes)

    def recipe(self, shape: Sequence[int]) -> Recipe:
        """The layout at a shape as pad, split, transpose, merge steps."""
        return lowering.recipe(self.phys_dims, tuple(shape))

    def textbook(self, coordinates: Sequence[Linear], shape: Sequence[int]) -> Linear:
        """The offset by the book's formula: Σ α·(⌊d/v⌋ mod p), back to front, unsimplified."""
        return lowering.textbook(self.phys_dims, tuple(coordinates), tuple(shape))

    def __str__(self) -> str:
        if self.phys_dims == _NHWC and self.is_fully_contiguous:
            return "NHWC"
        text = f"[{', '.join(f'{dim}{phys}' for dim, phys in self.phys_dims)}]"
        return text if self.is_fully_contiguous else f"({text}, c{self.contig})"
