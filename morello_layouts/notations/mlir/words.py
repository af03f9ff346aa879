"""MLIR's layouts in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from morello_layouts.description import (
    Description,
    Dimension,
    Part,
    count,
    dimensions,
    listed,
    memory_axes,
    sizes_in,
    times,
)
from morello_layouts.expr.sizes import Int
from morello_layouts.layout import checked_recipe
from morello_layouts.notations.coordinates import describe as describe_coordinates
from morello_layouts.notations.mlir.layout import MlirMap, MlirPack, MlirType


def describe(
    layout: MlirType | MlirMap | MlirPack, shape: Sequence[int] | None = None
) -> Description:
    """Say what each part of a type, an affine map or linalg.pack means."""
    if isinstance(layout, MlirMap):
        return describe_coordinates(layout, shape)
    if isinstance(layout, MlirPack):
        kind = "MLIR pack"
        rank = len(layout.outer_dims_perm) or max(layout.inner_dims_pos, default=0) + 1
    else:
        kind, rank = "MLIR array", len(layout.dims)
    given = layout.sizes if shape is None else shape
    sizes = (None,) * rank if given is None else given
    dims = dimensions([n if isinstance(n, int) or n is None else str(n) for n in sizes])
    recipe = checked_recipe(layout, sizes_in(dims))
    axes = memory_axes(recipe, dims)
    parts = (
        _pack_in_words(layout, dims)
        if isinstance(layout, MlirPack)
        else _type_in_words(layout, dims, recipe.shape)
    )
    headline = f"{axes[-1].label} varies fastest" if axes else "one element"
    return Description(str(layout), kind, headline, dims, tuple(parts), axes)


def _type_in_words(
    layout: MlirType, dims: Sequence[Dimension], shape: Sequence[Int]
) -> Iterator[Part]:
    names = [dim.name for dim in dims]
    sizes = "x".join("?" if n is None else str(n) for n in layout.dims)
    yield Part(sizes or "no sizes", f"sizes of {listed(names)}" if names else "one element")
    yield Part(layout.element_type, f"{count(layout.element.bits, 'bit')} an element")
    if isinstance(layout.layout, MlirMap):
        box = layout.layout.box(shape)
        yield Part("affine_map", f"where an element lies in a row-major box of {times(box)}")
        for text, n in zip(layout.layout.texts(), box, strict=True):
            yield Part(text, f"a coordinate in the box, 0 to {n - 1}")
    elif layout.layout is not None:
        steps = zip(layout.layout.strides, names, strict=True)
        words = listed([f"{n} along {name}" for n, name in steps])
        yield Part(str(layout.layout), f"elements from one coordinate to the next: {words}")
    else:
        yield Part("row-major", f"{names[-1] if names else 'it'} varies fastest", True)
    if layout.space:
        yield Part(layout.space, "memory space")


def _pack_in_words(layout: MlirPack, dims: Sequence[Dimension]) -> Iterator[Part]:
    order = [dims[dim].name for dim in layout.outer_dims_perm]
    tiled = [dims[dim].name for dim in layout.inner_dims_pos]
    tiles = [f"{n} of {name}" for n, name in zip(layout.inner_tiles, tiled, strict=True)]
    what = "tiles" if tiles else "elements"
    meanings = (
        f"the {what} lie in order of {listed(order)}, the last one fastest",
        f"{listed(tiled)} {'is' if len(tiled) == 1 else 'are'} cut into tiles"
        if tiles
        else "no dimension is cut into tiles",
        f"a tile holds {listed(tiles)}; {tiled[-1]} varies fastest" if tiles else "no tile",
    )
    yield from map(Part, layout.texts(), meanings[-len(layout.texts()) :])
    if layout.unpacked is not None:
        yield Part(str(layout.unpacked), "the array that is packed")
