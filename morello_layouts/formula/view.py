"""Index maps of arrays that are reshaped or transposed before the layout places them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from morello_layouts.expr import Linear
from morello_layouts.expr.size import Number
from morello_layouts.expr.substitute import substitute
from morello_layouts.formula.index_map import IndexMap, coordinates_of
from morello_layouts.recipe import Recipe, physical_coordinates
from morello_layouts.recipe.views import seen_from, with_inner_axis

__all__ = ["of_parts", "viewed"]


def viewed(m: IndexMap, shape: Sequence[Number], order: Sequence[int] | None = None) -> IndexMap:
    """The index map from the coordinates of an array that becomes m's by reshape and transpose.

    Args:
        m: where the elements of the reshaped and transposed array lie.
        shape: the sizes of the array itself.
        order: the transpose after the reshape, as NumPy's: dimension k of m's array is dimension
            ``order[k]`` before it. None for none.

    Raises:
        ShapeError: where the shape and m's hold different numbers of elements.

    >>> from morello_layouts import index_map
    >>> print(viewed(index_map("f32[6,4]{1,0}"), (24,), (1, 0)))
    (d0) -> 4*(d0%6) + d0//6
    """
    recipe = seen_from(tuple(shape), m.recipe, order)
    steps = recipe.steps[: len(recipe.steps) - len(m.recipe.steps)]
    view = Recipe(recipe.shape, steps)
    zero = Linear((), 0)
    at = [zero + x for x in physical_coordinates(view, coordinates_of(recipe.shape), zero)]
    form = substitute(m.textbook_form, {f"d{k}": x for k, x in enumerate(at)})
    how = f" transposed by {list(order)}" if order is not None else ""
    source = f"[{','.join(map(str, shape))}]{how} as {m.source}"
    return replace(m, recipe=recipe, textbook_form=form, source=source)


def of_parts(m: IndexMap, parts: int) -> IndexMap:
    """The index map where each element is so many smaller ones, in a dimension of their own.

    >>> from morello_layouts import index_map
    >>> print(of_parts(index_map("[1, 0]", (2, 3)), 4))
    (d0, d1, d2) -> 8*d1 + 4*d0 + d2
    """
    recipe = with_inner_axis(m.recipe, parts)
    part = coordinates_of(recipe.shape)[-1]
    return replace(
        m,
        recipe=recipe,
        textbook_form=m.textbook_form * parts + part,
        source=f"{m.source} in {parts} parts",
    )
