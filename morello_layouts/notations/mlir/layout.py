"""MLIR's shaped types, affine maps, and the packs of ``linalg.pack``.

Source: MLIR's "Builtin Dialect" (MemRefType, StridedLayoutAttr, AffineMapAttr), "Affine Dialect",
and the sizes that its pass ``-normalize-memrefs`` gives to a map's results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import Any

from morello_layouts.core.checks import LARGEST, Part, as_int, as_permutation, require_rank
from morello_layouts.core.description import count
from morello_layouts.core.expr import AffineExpr, canonicalize, standard
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, evaluated
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import checked, frozen, several
from morello_layouts.core.layout import ElementType, Layout
from morello_layouts.core.recipe import Pad, Recipe, known
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.coordinates import CoordinateLayout, blocked_recipe
from morello_layouts.notations.documents import place_in_blocks
from morello_layouts.notations.mlir.types import bits_of, type_name
from morello_layouts.notations.strided import StridedLayout


@frozen
class MlirMap(CoordinateLayout):
    """An affine map: coordinates in a row-major box, as expressions of the array's coordinates.

    A memref's elements lie where the map puts them. The box is as large as the map reaches
    (:meth:`box`).

    >>> from morello_layouts.notations.mlir.text import parse_mlir
    >>> print(parse_mlir("affine_map<(i, j)[] -> (j floordiv 4, i, j mod 4)>"))
    affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>
    """

    rank: int  #: the number of dimensions, ``d0, d1, …``.
    forms: tuple[AffineExpr, ...]  #: an expression for each coordinate in the box.
    symbols: tuple[str, ...] = ()  #: the names of its symbols, which are sizes.

    kind = "MLIR affine map"

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        require_rank(shape, self.rank, str(self))
        values = {f"d{k}": x for k, x in enumerate(coordinates)}
        return tuple(substitute(form, values) for form in self.forms)

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the sizes that MLIR's normalization gives to the results.

        A size is one more than the largest value, and a remainder by n has all values below n.

        Raises:
            ShapeError: if a coordinate is negative for an element.

        >>> from morello_layouts.notations.mlir.text import parse_mlir
        >>> parse_mlir("affine_map<(d0) -> (d0 floordiv 16, d0 mod 16)>").box((20,))
        (2, 16)
        """
        require_rank(shape, self.rank, str(self))
        return self.extents([*map(canonicalize, self.forms)], shape, whole_steps=False)

    def names(self, rank: int) -> tuple[str, ...]:
        return standard(rank or self.rank)

    def texts(self, rank: int = 0) -> tuple[str, ...]:
        return tuple(str(f).replace("//", " floordiv ").replace("%", " mod ") for f in self.forms)

    @property
    def headline(self) -> str:
        if len(self.forms) == 1:
            return f"the offset is {self.texts()[0]}"
        return f"{self.texts()[-1]} varies fastest" if self.forms else "one element"

    def __str__(self) -> str:
        dims = ", ".join(f"d{k}" for k in range(self.rank))
        symbols = f"[{', '.join(self.symbols)}]" if self.symbols else ""
        return f"affine_map<({dims}){symbols} -> ({', '.join(self.texts())})>"


@frozen
class MlirType(Layout):
    """A memref, tensor or vector type: sizes, element type, and how the elements lie.

    Tensors and vectors, and memrefs without a layout, are row-major.

    >>> x = MlirType("memref", (4, None), "f32", StridedLayout((64, 1)))
    >>> print(x, *x.sizes)
    memref<4x?xf32, strided<[64, 1]>> 4 N1
    """

    kind: str  #: ``memref``, ``tensor``, ``vector`` or ``!xegpu.tensor_desc``.
    #: sizes in elements; None for ``?``, which is a symbolic size: N0, N1, … by dimension.
    dims: tuple[int | None, ...]
    element_type: str = checked(type_name)  #: MLIR's name of it, such as ``bf16``.
    #: a memref's layout, a tensor's encoding; each ``?`` in it is a symbolic size.
    layout: Layout | None = None
    #: a memref's memory space, which changes no offset: an integer, a string, or an attribute that
    #: a dialect defines for it. Text with another attribute is refused.
    space: str = ""
    #: sizes that are given beside a text with ``?``.
    given: tuple[Int, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        rank = len(self.dims)
        if isinstance(self.layout, MlirMap):
            rank = self.layout.rank
        elif (strides := getattr(self.layout, "strides", None)) is not None:
            rank = len(strides)
        if rank != len(self.dims):
            raise LayoutError(
                f"the layout: expected {len(self.dims)} dimensions, got {rank}",
                "a layout has a dimension for each one of the memref",
                f"write one for {len(self.dims)} dimensions",
                part=("layout",),
            )

    @property
    def sizes(self) -> tuple[Int, ...]:
        if self.given is not None:
            return self.given
        return tuple(SizeExpr.named(f"N{k}") if n is None else n for k, n in enumerate(self.dims))

    def bound(self, shape: Sequence[Int], /) -> MlirType | None:
        if (
            None not in self.dims
            or len(shape) != len(self.dims)
            or any(n not in (None, given) for n, given in zip(self.dims, shape, strict=True))
        ):
            return None
        return replace(self, given=tuple(shape))

    @property
    def element(self) -> ElementType:
        own = self.layout.element if self.kind == "vector" and self.layout else None
        return ElementType(self.element_type, own.bits if own else bits_of(self.element_type))

    def at(self, shape: Sequence[Int]) -> Layout:
        """Return how the elements lie at a shape; row-major if the type does not say."""
        require_rank(shape, len(self.dims), str(self))
        return self.layout or StridedLayout(
            tuple(prod(shape[k:]) for k in range(1, len(shape) + 1))
        )

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        return self.at(shape).recipe(shape)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        return self.at(shape).reference(coordinates, shape)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        return self.at(shape).by_document(coordinate, shape)

    def __str__(self) -> str:
        dims = "".join(f"{'?' if n is None else n}x" for n in self.dims)
        layout = "" if self.layout is None else str(self.layout)
        if isinstance(self.layout, StridedLayout):
            layout = re.sub(r"[A-Z]\w*", "?", layout)  # MLIR has no names
        after = (self.space, layout) if self.kind.startswith("!xegpu") else (layout, self.space)
        parts = filter(None, (dims + self.element_type, *after))
        return f"{self.kind}<{', '.join(parts)}>"


def _tile(given: Any, name: str, part: Part) -> Int:
    return given if isinstance(given, SizeExpr) else as_int(given, name, 1, part=part)


@frozen
class MlirPack(CoordinateLayout):
    """The layout that ``linalg.pack`` writes and ``linalg.unpack`` reads: tiles of an array.

    >>> pack = MlirPack((0, 1), (8, 2), (1, 0))
    >>> print(pack)
    outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]
    >>> pack.packed_shape((13, 15))
    (8, 2, 8, 2)
    """

    #: the dimensions in tiles, in the order of the tiles' own axes; without any, the array is only
    #: transposed.
    inner_dims_pos: tuple[int, ...]
    #: the size of each tile along its dimension in elements, a number or a symbolic size.
    inner_tiles: tuple[Int, ...] = checked(several(_tile, "give a tuple of sizes"))
    #: the dimensions of the array of tiles, the slowest varying first; empty if they are in order.
    outer_dims_perm: tuple[int, ...] = ()
    unpacked: MlirType | None = None  #: the type of the array that is packed, if it is known.

    def __post_init__(self) -> None:
        rank = len(self.outer_dims_perm if self.unpacked is None else self.unpacked.dims)
        for k, dim in enumerate(self.inner_dims_pos):
            part = ("inner_dims_pos", k)
            as_int(dim, f"inner_dims_pos[{k}]", most=rank - 1 if rank else LARGEST, part=part)
            if dim in self.inner_dims_pos[:k]:
                what = f"inner_dims_pos: dimension {dim} appears twice"
                why = "each dimension is tiled once; pack again to tile the tiles"
                raise LayoutError(what, why, "name another dimension", part=part)
        if len(self.inner_dims_pos) != len(self.inner_tiles):
            raise LayoutError(
                f"inner_tiles: expected {count(len(self.inner_dims_pos), 'size')}, "
                f"got {len(self.inner_tiles)}",
                "each dimension of inner_dims_pos has one tile size",
                "write for example inner_dims_pos = [0, 1] inner_tiles = [8, 2]",
                part=("inner_tiles",),
            )
        if self.outer_dims_perm:
            as_permutation(self.outer_dims_perm, name := "outer_dims_perm", rank, part=(name,))

    @property
    def sizes(self) -> tuple[Int, ...] | None:
        return None if self.unpacked is None else self.unpacked.sizes

    @property
    def element(self) -> ElementType | None:
        return None if self.unpacked is None else self.unpacked.element

    def order(self, shape: Sequence[object]) -> tuple[int, ...]:
        """Return the dimensions of the array of tiles, the slowest varying first.

        Raises:
            ShapeError: if the attributes do not fit the number of dimensions.
        """
        if self.outer_dims_perm:
            require_rank(shape, len(self.outer_dims_perm), " ".join(self.texts()))
        elif max(self.inner_dims_pos, default=-1) >= len(shape):
            raise ShapeError(
                f"inner_dims_pos: dimension {max(self.inner_dims_pos)} of {len(shape)}",
                "inner_dims_pos names dimensions of the array, from 0",
                "give a size for each dimension of the array",
            )
        return self.outer_dims_perm or tuple(range(len(shape)))

    @property
    def _tiles(self) -> tuple[tuple[int, Int], ...]:
        return tuple(zip(self.inner_dims_pos, self.inner_tiles, strict=True))

    def packed_shape(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the shape of the result: the numbers of tiles, then the sizes of a tile."""
        tiles = dict(self._tiles)
        counts = (ceil_quotient(shape[dim], tiles.get(dim, 1)) for dim in self.order(shape))
        return (*counts, *self.inner_tiles)

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        return self.packed_shape(shape)

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        tiles = dict(self._tiles)
        outer = (coordinates[dim] // tiles.get(dim, 1) for dim in self.order(shape))
        inner = (coordinates[dim] % tile for dim, tile in tiles.items())
        return (*outer, *inner)

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        return blocked_recipe(shape, self.order(shape), self._tiles)

    def with_numbers(self, values: Mapping[str, int], /) -> MlirPack:
        return replace(self, inner_tiles=tuple(evaluated(n, values) for n in self.inner_tiles))

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        order = self.outer_dims_perm or range(len(shape))
        tiles = [(dim, known((n,))[0]) for dim, n in self._tiles]
        return place_in_blocks(coordinate, shape, order, tiles)

    def texts(self, rank: int = 0) -> tuple[str, ...]:
        names = ("outer_dims_perm", "inner_dims_pos", "inner_tiles")
        values = (self.outer_dims_perm, self.inner_dims_pos, self.inner_tiles)
        lists = zip(names, values, strict=True)
        return tuple(
            f"{name} = [{', '.join(map(str, each))}]"
            for name, each in lists
            if each or name != "outer_dims_perm"
        )

    @property
    def packed(self) -> MlirType | None:
        """The type of the result, if that of the array is known."""
        if self.unpacked is None:
            return None
        shape = self.packed_shape(self.unpacked.sizes)
        dims = tuple(n if isinstance(n, int) else None for n in shape)
        return MlirType(self.unpacked.kind, dims, self.unpacked.element_type)

    def __str__(self) -> str:
        attributes = " ".join(self.texts())
        if self.unpacked is None:
            return attributes
        padded = any(isinstance(step, Pad) for step in self.recipe(self.unpacked.sizes).steps)
        padding = f"padding_value(%pad : {self.unpacked.element_type}) " if padded else ""
        operands = f"%source {padding}{attributes} into %dest"
        return f"linalg.pack {operands} : {self.unpacked} -> {self.packed}"
