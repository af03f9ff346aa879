"""XLA's layout: dimension order, tiles, and the rest of LayoutProto.

Source: XLA's ``layout.h``, ``tile.h`` and the document "Tiled layout".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.xla.types import INTEGER_TYPES

__all__ = ["COMBINE", "SplitConfig", "Tile", "XlaLayout"]

Tile: TypeAlias = tuple[int, ...]

COMBINE: Final = -1
"""A tile's ``*``: combine this dimension with the next more minor one."""


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Where a physical dimension (0 is the most major) is cut into pieces, each its own buffer."""

    dimension: int
    split_indices: tuple[int, ...]

    def __str__(self) -> str:
        return f"({self.dimension}:{','.join(map(str, self.split_indices))})"


@dataclass(frozen=True, slots=True)
class XlaLayout:
    """The part of a shape's text in braces, by XLA's field names.

    Attributes:
        minor_to_major: logical dimensions, the fastest varying first.
        tiles: tiles, each acting on the last dimensions of the physical shape that the tiles
            before it leave; most major size first, COMBINE for ``*``.
        tail_padding_alignment_in_elements: ``L(n)``; acts only where there are tiles.
        index_primitive_type: ``#(type)``; pointer_primitive_type: ``*(type)``.
        element_size_in_bits: ``E(n)``; 0 is the type's own size.
        memory_space: ``S(n)``: 0 HBM, 1 VMEM, 2 SMEM, 4 host (TPU compiler), 5 host (XLA).
        split_configs: ``SC(…)``.
        dynamic_shape_metadata_prefix_bytes: ``M(n)``.

    Raises:
        LayoutError: where a field's value means nothing.

    >>> print(XlaLayout((1, 0), tiles=((8, 128), (2, 1))))
    {1,0:T(8,128)(2,1)}
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[Tile, ...] = ()
    tail_padding_alignment_in_elements: int = 1
    index_primitive_type: str | None = None
    pointer_primitive_type: str | None = None
    element_size_in_bits: int = 0
    memory_space: int = 0
    split_configs: tuple[SplitConfig, ...] = ()
    dynamic_shape_metadata_prefix_bytes: int = 0

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "minor_to_major", tuple(self.minor_to_major))
        set_field(self, "tiles", tuple(tuple(tile) for tile in self.tiles))
        set_field(self, "split_configs", tuple(self.split_configs))
        _check_order(self.minor_to_major)
        for k, tile in enumerate(self.tiles):
            _check_tile(k, tile)
        _check_numbers(self)
        for config in self.split_configs:
            _check_split(config, len(self.minor_to_major))

    @staticmethod
    def descending(rank: int) -> XlaLayout:
        """The layout of a shape that writes none: row-major.

        >>> print(XlaLayout.descending(3))
        {2,1,0}
        """
        return XlaLayout(tuple(range(rank - 1, -1, -1)))

    @property
    def major_to_minor(self) -> tuple[int, ...]:
        """Logical dimensions in physical order, the slowest varying first."""
        return self.minor_to_major[::-1]

    def physical_sizes(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape's sizes in physical order, most major first.

        Raises:
            ShapeError: where the shape's rank is another than the layout's.
        """
        if len(shape) != len(self.minor_to_major):
            raise ShapeError(
                f"the layout orders {len(self.minor_to_major)} dimensions, the shape has "
                f"{len(shape)}",
                "minor_to_major names every dimension of the shape once",
                "give one number for each dimension, the fastest varying first",
            )
        return tuple(shape[dim] for dim in self.major_to_minor)

    def __str__(self) -> str:
        return f"{{{','.join(map(str, self.minor_to_major))}{self._attributes()}}}"

    def _attributes(self) -> str:
        parts = []
        if self.tiles:
            parts.append("T" + "".join(map(tile_text, self.tiles)))
        if self.tail_padding_alignment_in_elements != 1:
            parts.append(f"L({self.tail_padding_alignment_in_elements})")
        if self.index_primitive_type:
            parts.append(f"#({self.index_primitive_type})")
        if self.pointer_primitive_type:
            parts.append(f"*({self.pointer_primitive_type})")
        if self.element_size_in_bits:
            parts.append(f"E({self.element_size_in_bits})")
        if self.memory_space:
            parts.append(f"S({self.memory_space})")
        if self.split_configs:
            parts.append("SC" + "".join(map(str, self.split_configs)))
        if self.dynamic_shape_metadata_prefix_bytes:
            parts.append(f"M({self.dynamic_shape_metadata_prefix_bytes})")
        return ":" + "".join(parts) if parts else ""


def tile_text(tile: Iterable[int]) -> str:
    """A tile as XLA writes it.

    >>> tile_text((COMBINE, 2, 128))
    '(*,2,128)'
    """
    return f"({','.join('*' if size == COMBINE else str(size) for size in tile)})"


def _check_order(order: tuple[int, ...]) -> None:
    for k, dim in enumerate(order):
        part = ("minor_to_major", k)
        fix = f"name each of the dimensions 0 to {len(order) - 1} once, the fastest varying first"
        if not 0 <= dim < len(order):
            raise LayoutError(
                f"dimension {dim} of minor_to_major is out of range",
                f"the layout has {len(order)} dimensions, numbered from 0",
                fix,
                part=part,
            )
        if dim in order[:k]:
            raise LayoutError(
                f"dimension {dim} stands twice in minor_to_major",
                "each dimension has one place in memory order",
                fix,
                part=part,
            )


def _check_tile(k: int, tile: Tile) -> None:
    if not tile:
        raise LayoutError(
            "the tile has no sizes",
            "a tile acts on the last dimensions, one size for each",
            "write at least one size, such as T(128), or leave the tile out",
            part=("tiles", k),
        )
    for j, size in enumerate(tile):
        if size == COMBINE and j == len(tile) - 1:
            raise LayoutError(
                "'*' stands in the tile's last place",
                "'*' combines a dimension with the next more minor one, and there is none",
                "end the tile with a size",
                part=("tiles", k, j),
            )
        if size < 1 and size != COMBINE:
            raise LayoutError(
                f"a tile size of {size}",
                "a tile holds at least one element in each dimension",
                "write a positive size, or '*' to combine with the next dimension",
                part=("tiles", k, j),
            )


def _check_numbers(layout: XlaLayout) -> None:
    least = {
        "tail_padding_alignment_in_elements": 1,
        "element_size_in_bits": 0,
        "memory_space": 0,
        "dynamic_shape_metadata_prefix_bytes": 0,
    }
    for name, smallest in least.items():
        value = getattr(layout, name)
        if value < smallest:
            raise LayoutError(
                f"{name} is {value}",
                f"it is at least {smallest}",
                f"write a number from {smallest}, or leave it out",
                part=(name,),
            )
    for name in ("index_primitive_type", "pointer_primitive_type"):
        value = getattr(layout, name)
        if value is not None and value not in INTEGER_TYPES:
            raise LayoutError(
                f"{name} is {value!r}",
                "indices and pointers are integers",
                f"write one of {', '.join(INTEGER_TYPES)}",
                part=(name,),
            )


def _check_split(config: SplitConfig, rank: int) -> None:
    if not 0 <= config.dimension < rank:
        raise LayoutError(
            f"SC splits dimension {config.dimension}, the layout has {rank}",
            "SC names a physical dimension, 0 the most major",
            f"name a dimension from 0 to {rank - 1}" if rank else "leave SC out",
            part=("split_configs",),
        )
    if not config.split_indices or min(config.split_indices) < 1:
        raise LayoutError(
            f"SC{config} cuts nothing off",
            "each index is where a new piece starts, at least 1",
            "write positive indices",
            part=("split_configs",),
        )
