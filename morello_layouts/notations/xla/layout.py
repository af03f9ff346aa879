"""XLA's layout: dimension order, tiles, and the rest of LayoutProto.

Source: XLA's ``layout.h``, ``tile.h`` and the document "Tiled layout".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, Final, TypeVar, overload

from morello_layouts.checks import Part, as_int, as_permutation, as_tuple, require_type, whole
from morello_layouts.description import count
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int, SizeExpr, evaluated, round_up
from morello_layouts.layout import ElementType, Layout
from morello_layouts.notations.xla import lowering
from morello_layouts.notations.xla.document import by_tiles
from morello_layouts.notations.xla.types import COMBINE, Tile, check_type
from morello_layouts.recipe import Recipe, known

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """The places at which a physical dimension is cut into pieces with buffers of their own.

    Attributes:
        dimension: the physical dimension, 0 the most major.
        split_indices: the start of each new piece, in elements along that dimension.

    Raises:
        LayoutError: if one of them is not an integer or too small.

    >>> print(SplitConfig(0, (16, 32)))
    (0:16,32)
    """

    dimension: int
    split_indices: tuple[int, ...]

    def __post_init__(self) -> None:
        dimension = as_int(self.dimension, "the split dimension", part=("dimension",))
        part = ("split_indices",)
        cuts = as_tuple(self.split_indices, "split_indices", "give a tuple of ints", part)
        indices = tuple(
            as_int(
                cut, f"split index {k}", 1, part=(*part, k), fix="start a new piece at 1 or more"
            )
            for k, cut in enumerate(cuts)
        )
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "split_indices", indices)

    def __str__(self) -> str:
        return f"({self.dimension}:{','.join(map(str, self.split_indices))})"


@dataclass(frozen=True, slots=True, repr=False)
class XlaLayout(Layout):
    """The part of a shape's text in braces, by XLA's field names.

    Attributes:
        minor_to_major: logical dimensions, the fastest varying first.
        tiles: tiles, each acting on the last dimensions of the physical shape that the tiles
            before it leave; most major size first, COMBINE for ``*``.
        tail_padding_alignment_in_elements: ``L(n)``; acts only if there are tiles.
        index_primitive_type: ``#(type)``; as XLA's parser takes any type here and its printer only
            integers, one that is not an integer is printed as ``#(invalid)``.
        pointer_primitive_type: ``*(type)``; printed alike.
        element_size_in_bits: ``E(n)``; 0 is the type's own size.
        memory_space: ``S(n)``: 0 HBM, 1 VMEM, 2 SMEM, 4 host (TPU compiler), 5 host (XLA).
        split_configs: ``SC(…)``.
        dynamic_shape_metadata_prefix_bytes: ``M(n)``.

    Raises:
        LayoutError: if a field has a wrong value.

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
        order = as_permutation(
            self.minor_to_major,
            "minor_to_major",
            part=("minor_to_major",),
            fix="name each dimension once, the fastest varying first, such as (1, 0)",
        )
        set_field(self, "minor_to_major", order)
        set_field(self, "tiles", _tiles(self.tiles))
        set_field(self, "split_configs", _splits(self.split_configs, len(self.minor_to_major)))
        for name, least in _LEAST.items():
            set_field(self, name, as_int(getattr(self, name), name, least, part=(name,)))
        for name in ("index_primitive_type", "pointer_primitive_type"):
            if getattr(self, name) is not None:
                check_type(getattr(self, name), (name,))

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

    @property
    def tile_numbers(self) -> tuple[tuple[int, ...], ...]:
        """The tiles as numbers.

        Raises:
            UnsupportedError: if a tile has a name for a size.
        """
        return tuple(map(known, self.tiles))

    def with_numbers(self, values: Mapping[str, int], /) -> XlaLayout:
        """The layout with numbers in place of names in tiles."""
        tiles = tuple(tuple(evaluated(t, values) for t in tile) for tile in self.tiles)
        return self if tiles == self.tiles else replace(self, tiles=tiles)

    @property
    def sparse_types(self) -> tuple[tuple[str, str], ...]:
        """The signs ``#`` and ``*`` of the fields that are set, each with the type that XLA prints.

        XLA reads no ``invalid``: such a text does not come back.

        >>> XlaLayout((0,), index_primitive_type="f32", pointer_primitive_type="u8").sparse_types
        (('#', 'invalid'), ('*', 'u8'))
        """
        fields = (("#", self.index_primitive_type), ("*", self.pointer_primitive_type))
        return tuple((sign, t if t[0] in "su" else "invalid") for sign, t in fields if t)

    @property
    def splits_array(self) -> bool:
        """Whether SC cuts the array into pieces with buffers of their own."""
        return any(config.split_indices for config in self.split_configs)

    def physical_sizes(self, shape: Sequence[S]) -> tuple[S, ...]:
        """A shape's sizes in physical order, most major first.

        Raises:
            ShapeError: if the shape's rank is another than the layout's.
        """
        if len(shape) != len(self.minor_to_major):
            raise rank_error(len(shape), len(self.minor_to_major))
        return tuple(shape[dim] for dim in self.major_to_minor)

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """The layout at a shape as pad, split, transpose, merge steps.

        Raises:
            ShapeError: if the shape's rank is another than the layout's.
            UnsupportedError: if SC splits the array.
        """
        self._require_one_buffer()
        self.physical_sizes(shape)  # raises if the ranks differ
        tail = self.tail_padding_alignment_in_elements
        return lowering.recipe(shape, self.major_to_minor, self.tiles, tail)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """The offset by the document's formula, level by level, unsimplified."""
        self._require_one_buffer()
        self.physical_sizes(shape)
        return lowering.reference(coordinates, shape, self.major_to_minor, self.tiles)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return an element's offset and the buffer's size, by the document "Tiled layout"."""
        tail = self.tail_padding_alignment_in_elements
        return by_tiles(coordinate, shape, self.minor_to_major, self.tile_numbers, tail)

    def _require_one_buffer(self) -> None:
        if self.splits_array:
            raise UnsupportedError(
                f"{self} splits the array over several buffers",
                "SC gives each piece a buffer of its own, so no single formula gives the offsets",
                "leave SC out to see the layout inside a piece; byte_size counts SC",
            )

    @property
    def element(self) -> ElementType | None:
        """The width that ``E(n)`` gives."""
        bits = self.element_size_in_bits
        return ElementType(None, bits) if bits else None

    @overload
    def reserved_elements(self, shape: Sequence[int]) -> int: ...

    @overload
    def reserved_elements(self, shape: Sequence[Int]) -> Int: ...

    def reserved_elements(self, shape: Sequence[Int]) -> Int:
        """Elements that XLA reserves for an array; of one that SC splits, for the largest piece.

        In XLA's rule only the first tile pads.

        >>> XlaLayout((1, 0), ((8, 128), (2, 1))).reserved_elements((10, 200))
        4096
        """
        sizes = largest_piece(self.physical_sizes(shape), self.split_configs)
        if not self.tiles:
            return prod(sizes)
        elements = lowering.padded_elements(sizes, self.tiles[0])
        return round_up(elements, self.tail_padding_alignment_in_elements)

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        """Return warnings about the sizes."""
        return self.size_notes(shape, 0)

    def size_notes(self, shape: Sequence[Int], bits: int) -> tuple[str, ...]:
        """Notes on the buffer's size, in bytes if the bits of an element are known."""
        if not all(isinstance(n, int) for sizes in (shape, *self.tiles) for n in sizes):
            return ()
        if self.splits_array:
            return ("SC splits the array over several buffers; byte_size is that of the largest",)
        tail = self.tail_padding_alignment_in_elements
        if not self.tiles and tail != 1:
            return (f"XLA ignores L({tail}) if there are no tiles: the buffer does not grow",)
        (spanned,) = known((self.recipe(shape).size,))
        (reserved,) = known((self.reserved_elements(shape),))
        if bits:
            spanned, reserved = (lowering.bytes_of(n, bits) for n in (spanned, reserved))
        if spanned == reserved:
            return ()
        unit = "bytes" if bits else "elements"
        what = f"XLA reserves {reserved} {unit}, the tiles span {spanned}: a later tile does not "
        return (f"{what}divide the block before it, and in XLA's size only the first tile pads",)

    def __str__(self) -> str:
        return f"{{{','.join(map(str, self.minor_to_major))}{self._attributes()}}}"

    def _attributes(self) -> str:
        parts = []
        if self.tiles:
            parts.append("T" + "".join(map(tile_text, self.tiles)))
        if self.tail_padding_alignment_in_elements != 1:
            parts.append(f"L({self.tail_padding_alignment_in_elements})")
        parts += [f"{sign}({name})" for sign, name in self.sparse_types]
        if self.element_size_in_bits:
            parts.append(f"E({self.element_size_in_bits})")
        if self.memory_space:
            parts.append(f"S({self.memory_space})")
        if self.split_configs:
            parts.append("SC" + "".join(map(str, self.split_configs)))
        if self.dynamic_shape_metadata_prefix_bytes:
            parts.append(f"M({self.dynamic_shape_metadata_prefix_bytes})")
        return ":" + "".join(parts) if parts else ""


@overload
def largest_piece(sizes: Sequence[int], configs: Sequence[SplitConfig]) -> tuple[int, ...]: ...


@overload
def largest_piece(sizes: Sequence[Int], configs: Sequence[SplitConfig]) -> tuple[Int, ...]: ...


def largest_piece(sizes: Sequence[Int], configs: Sequence[SplitConfig]) -> tuple[Int, ...]:
    """Return sizes of the largest piece, by ``LayoutUtil::MaxSplitSize``.

    XLA takes cuts in the order in which they are written, and of two configs for one dimension
    the first.

    >>> largest_piece((8, 10), (SplitConfig(1, (3,)),))
    (8, 7)
    """
    largest = list(sizes)
    for config in reversed(configs):
        cuts = (0, *config.split_indices, sizes[config.dimension])
        largest[config.dimension] = max(end - start for start, end in pairwise(cuts))
    return tuple(largest)


def tile_text(tile: Iterable[Int]) -> str:
    """A tile as XLA writes it.

    >>> tile_text((COMBINE, 2, 128))
    '(*,2,128)'
    """
    return f"({','.join('*' if size == COMBINE else str(size) for size in tile)})"


def rank_error(dims: int, ordered: int) -> ShapeError:
    """Return the error of a layout that orders another number of dimensions than a shape has."""
    return ShapeError(
        f"minor_to_major: expected {count(dims, 'dimension')}, got {ordered}",
        "minor_to_major names every dimension once",
        f"order the dimensions 0 to {dims - 1}, the fastest varying first"
        if dims
        else "leave a scalar's layout out, or begin it with ':'",
        part=("minor_to_major",),
    )


# The smallest value of each field that is a number.
_LEAST: Final = {
    "tail_padding_alignment_in_elements": 1,
    "element_size_in_bits": 0,
    "memory_space": 0,
    "dynamic_shape_metadata_prefix_bytes": 0,
}


def _tiles(given: Any) -> tuple[Tile, ...]:
    fix = "give a tuple of tiles, such as ((8, 128), (2, 1))"
    return tuple(
        _tile(k, as_tuple(tile, f"tile {k}", fix, ("tiles", k)))
        for k, tile in enumerate(as_tuple(given, "tiles", fix, ("tiles",)))
    )


def _tile(k: int, given: tuple[Any, ...]) -> Tile:
    if not given:
        raise LayoutError(
            "the tile has no sizes",
            "a tile acts on the last dimensions, one size for each",
            "write at least one size, such as T(128), or leave the tile out",
            part=("tiles", k),
        )
    tile = tuple(_tile_size(value, ("tiles", k, j)) for j, value in enumerate(given))
    if tile[-1] == COMBINE:
        raise LayoutError(
            "'*' is in the tile's last place",
            "'*' combines a dimension with the next more minor one, and there is none",
            "end the tile with a size",
            part=("tiles", k, len(tile) - 1),
        )
    return tile


def _tile_size(value: Any, part: Part) -> Int:
    if isinstance(value, SizeExpr) or whole(value) == COMBINE:
        return value if isinstance(value, SizeExpr) else COMBINE
    why = "a tile holds at least one element in each dimension"
    fix = "write a size from 1, or '*' (COMBINE) to join the next more minor dimension"
    return as_int(value, "a tile size", 1, part=part, why=why, fix=fix)


def _splits(given: Any, rank: int) -> tuple[SplitConfig, ...]:
    fix = "give a tuple of SplitConfig(dimension, split_indices)"
    configs = as_tuple(given, "split_configs", fix, ("split_configs",))
    for k, config in enumerate(configs):
        require_type(config, SplitConfig, f"split_configs[{k}]", fix)
        if config.dimension >= rank:
            raise LayoutError(
                f"SC: expected one of {count(rank, 'dimension')}, got dimension {config.dimension}",
                "SC names a physical dimension, 0 the most major",
                f"name a dimension from 0 to {rank - 1}" if rank else "leave SC out",
                part=("split_configs", k),
            )
    return configs
