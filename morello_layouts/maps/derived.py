"""Index maps made from others: of a reshaped array, of its first elements, of parts of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from morello_layouts.expr import AffineExpr, coordinate_variables
from morello_layouts.expr.sizes import Int
from morello_layouts.maps.affine_map import AffineMap
from morello_layouts.maps.index_map import IndexMap
from morello_layouts.maps.names import without_offset
from morello_layouts.maps.view import seen_through
from morello_layouts.recipe import Pad, linear_index, recipe_of_coordinates, recipe_of_formula
from morello_layouts.recipe.views import reshape_recipe, with_inner_axis


def reshape_view(m: IndexMap, shape: Sequence[Int], order: Sequence[int] | None = None) -> IndexMap:
    """Return the index map of an array that becomes m's array by reshape and transpose.

    Args:
        m: the index map of the reshaped and transposed array.
        shape: the sizes of the array before both.
        order: the transpose after the reshape, as NumPy's: dimension k of m's array is dimension
            ``order[k]`` before it. None means no transpose.

    >>> from morello_layouts import index_map
    >>> print(reshape_view(index_map("f32[6,4]{1,0}"), (24,), (1, 0)))
    (d0) -> 4*(d0%6) + d0//6
    """
    recipe = reshape_recipe(tuple(shape), m.recipe, order)
    steps = recipe.steps[: len(recipe.steps) - len(m.recipe.steps)]
    how = f" transposed by {list(order)}" if order is not None else ""
    source = f"[{','.join(map(str, shape))}]{how} as {m.source}"
    found: IndexMap = seen_through(m, recipe, steps, source)
    return found


def cropped(m: IndexMap, shape: tuple[Int, ...]) -> IndexMap:
    """Return the index map on the first elements along each dimension."""
    if m.recipe.shape == shape:
        return m
    recipe = replace(m.recipe, shape=shape, steps=(Pad(m.recipe.shape), *m.recipe.steps))
    return replace(m, recipe=recipe, origin=None)


def shifted(m: IndexMap, slots: Int) -> IndexMap:
    """Return the index map with a number of slots before the first one.

    >>> from morello_layouts import index_map
    >>> print(shifted(index_map("f32[4,6]{1,0}"), 3))
    (d0, d1) -> 6*d0 + d1 + 3
    """
    recipe = replace(m.recipe, offset=m.recipe.offset + slots)
    return replace(m, recipe=recipe, reference_form=m.reference_form + slots, origin=None)


def split_elements(m: IndexMap, parts: int) -> IndexMap:
    """Split every element into ``parts`` smaller ones along a new innermost dimension."""
    recipe = with_inner_axis(m.recipe, parts)
    part = coordinate_variables(recipe.shape)[-1]
    return replace(
        m,
        recipe=recipe,
        reference_form=m.reference_form * parts + part,
        source=f"{m.source} in {parts} parts",
        element_type=None,
        names=(*m.names, f"d{len(m.names)}") if m.names else (),
        origin=None,
    )


def map_of_formula(f: AffineMap) -> IndexMap:
    """Return the index map whose offset a formula gives, or whose place several give.

    >>> from morello_layouts import from_sympy
    >>> m = map_of_formula(from_sympy({"shape": (6, 8)}, "24*(d1//4) + 4*d0 + d1%4"))
    >>> print(m.recipe)
    [6,8] → split [6,2,4] → transpose [2,6,4]
    """
    size, names = f.buffer_size, without_offset(f.names)
    if len(f.given) == 1:
        recipe, form = recipe_of_formula(f.sizes, f.given[0], size), f.given[0]
    else:
        ends = tuple(form.interval.hi for form in f.forms)
        sizes = tuple(0 if end is None else end + 1 for end in ends)
        recipe = recipe_of_coordinates(f.sizes, f.given, sizes)
        form = linear_index(f.given, sizes, AffineExpr((), 0))
    return IndexMap(recipe, form, "a formula", (), f.assumptions, f.size_symbols, names=names)
