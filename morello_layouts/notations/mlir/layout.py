"""MLIR's shaped types and affine maps.

Source: MLIR's "Builtin Dialect" (MemRefType, StridedLayoutAttr, AffineMapAttr), "Affine Dialect",
and the sizes that its pass ``-normalize-memrefs`` gives to a map's results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from morello_layouts.checks import require_rank
from morello_layouts.errors import LayoutError
from morello_layouts.expr import AffineExpr, canonicalize, standard
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.expr.substitution import substitute
from morello_layouts.layout import ElementType, Layout
from morello_layouts.notations.coordinates import CoordinateLayout
from morello_layouts.notations.mlir.types import bits_of
from morello_layouts.notations.strided.layout import StridedLayout
from morello_layouts.recipe import Recipe


@dataclass(frozen=True, slots=True, repr=False)
class MlirMap(CoordinateLayout):
    """An affine map: coordinates in a row-major box, as expressions of the array's coordinates.

    A memref's elements lie where the map puts them. The box is as large as the map reaches
    (:meth:`box`).

    Attributes:
        rank: the number of dimensions, ``d0, d1, …``.
        forms: an expression for each coordinate in the box.
        symbols: the names of its symbols, which are sizes.

    >>> from morello_layouts.notations.mlir.reader import parse_mlir
    >>> print(parse_mlir("affine_map<(i, j)[] -> (j floordiv 4, i, j mod 4)>"))
    affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>
    """

    rank: int
    forms: tuple[AffineExpr, ...]
    symbols: tuple[str, ...] = ()

    kind = "MLIR affine map"

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        """Return the map's results at coordinates."""
        require_rank(shape, self.rank, str(self))
        values = {f"d{k}": x for k, x in enumerate(coordinates)}
        return tuple(substitute(form, values) for form in self.forms)

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the sizes that MLIR's normalization gives to the results.

        A size is one more than the largest value, and a remainder by n has all values below n.

        Raises:
            ShapeError: if a coordinate is negative for an element.

        >>> from morello_layouts.notations.mlir.reader import parse_mlir
        >>> parse_mlir("affine_map<(d0) -> (d0 floordiv 16, d0 mod 16)>").box((20,))
        (2, 16)
        """
        require_rank(shape, self.rank, str(self))
        return self.extents([*map(canonicalize, self.forms)], shape, whole_steps=False)

    def names(self, rank: int) -> tuple[str, ...]:
        """Return the names of the dimensions."""
        return standard(rank or self.rank)

    def texts(self, rank: int = 0) -> tuple[str, ...]:  # noqa: ARG002
        """Return the results as MLIR writes them."""
        return tuple(str(f).replace("//", " floordiv ").replace("%", " mod ") for f in self.forms)

    @property
    def headline(self) -> str:
        """The layout in a few words."""
        if len(self.forms) == 1:
            return f"the offset is {self.texts()[0]}"
        return f"{self.texts()[-1]} varies fastest" if self.forms else "one element"

    def __str__(self) -> str:
        dims = ", ".join(f"d{k}" for k in range(self.rank))
        symbols = f"[{', '.join(self.symbols)}]" if self.symbols else ""
        return f"affine_map<({dims}){symbols} -> ({', '.join(self.texts())})>"


@dataclass(frozen=True, slots=True, repr=False)
class MlirType(Layout):
    """A memref, tensor or vector type: sizes, element type, and how the elements lie.

    Tensors and vectors, and memrefs without a layout, are row-major.

    Attributes:
        kind: ``memref``, ``tensor`` or ``vector``.
        dims: sizes in elements; None for ``?``, which is a symbolic size: N0, N1, … by dimension.
        element_type: MLIR's name of it, such as ``bf16``.
        layout: a memref's layout; each ``?`` in it is a symbolic size.
        space: a memref's memory space, which changes no offset.

    Raises:
        LayoutError: if the element type is not MLIR's, or the layout is of another rank.

    >>> x = MlirType("memref", (4, None), "f32", StridedLayout((64, 1)))
    >>> print(x, *x.sizes)
    memref<4x?xf32, strided<[64, 1]>> 4 N1
    """

    kind: str
    dims: tuple[int | None, ...]
    element_type: str
    layout: MlirMap | StridedLayout | None = None
    space: str = ""

    def __post_init__(self) -> None:
        bits_of(self.element_type, ("element_type",))
        rank = len(self.dims)
        if isinstance(self.layout, MlirMap):
            rank = self.layout.rank
        elif self.layout is not None:
            rank = len(self.layout.strides)
        if rank != len(self.dims):
            raise LayoutError(
                f"the layout: expected {len(self.dims)} dimensions, got {rank}",
                "a layout has a dimension for each one of the memref",
                f"write one for {len(self.dims)} dimensions",
                part=("layout",),
            )

    @property
    def sizes(self) -> tuple[Int, ...]:
        """The sizes; each ``?`` is a symbolic one."""
        return tuple(SizeExpr.named(f"N{k}") if n is None else n for k, n in enumerate(self.dims))

    @property
    def element(self) -> ElementType:
        """The element type, with the width at which an element is stored."""
        return ElementType(self.element_type, bits_of(self.element_type))

    def at(self, shape: Sequence[Int]) -> MlirMap | StridedLayout:
        """Return how the elements lie at a shape; row-major if the type does not say."""
        require_rank(shape, len(self.dims), str(self))
        return self.layout or StridedLayout(
            tuple(prod(shape[k:]) for k in range(1, len(shape) + 1))
        )

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout at a shape as steps."""
        return self.at(shape).recipe(shape)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset as MLIR's documents define it for the layout."""
        return self.at(shape).reference(coordinates, shape)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return an element's offset and the buffer's size, by strides; None for an affine map."""
        return self.at(shape).by_document(coordinate, shape)

    def __str__(self) -> str:
        dims = "".join(f"{'?' if n is None else n}x" for n in self.dims)
        layout = "" if self.layout is None else str(self.layout)
        if isinstance(self.layout, StridedLayout):
            layout = re.sub(r"[A-Z]\w*", "?", layout)  # MLIR has no names
        parts = filter(None, (dims + self.element_type, layout, self.space))
        return f"{self.kind}<{', '.join(parts)}>"
