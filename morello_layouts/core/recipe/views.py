"""Reshapes and transposes as steps of a recipe, elements in parts, and columns without NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import repeat
from math import prod
from typing import Any

from morello_layouts.core.checks import as_permutation
from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.recipe.readings import (
    coordinates_at,
    delinearize,
    elements_by_slot,
    has_inverse,
    offset_of,
)
from morello_layouts.core.recipe.steps import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Scatter,
    Shape,
    Split,
    Step,
    Transpose,
    Window,
    Xor,
    brackets,
    known,
)
from morello_layouts.errors import ShapeError, UnsupportedError


def _binary(operation: Callable[[Any, Any], Any]) -> Any:
    """Return the methods of an operator, from the left and from the right."""

    def apply(left: Column, right: Any) -> Column:
        return Column(map(operation, left.values, _entries(right)))

    def applied(right: Column, left: Any) -> Column:
        return Column(map(operation, _entries(left), right.values))

    return apply, applied


def _entries(value: Any) -> Iterable[Any]:
    return value.values if isinstance(value, Column) else repeat(value)


class Column:
    """Integers side by side, with the operators of one integer.

    >>> column = Column([0, 5, 9])
    >>> (column // 4 * 10 + column % 4).values, (column < 6).values
    ([0, 11, 21], [True, True, False])
    """

    __slots__ = ("values",)

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)  #: the integers, or truth values.

    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __xor__, __rxor__ = _binary(operator.xor)
    __and__, __rand__ = _binary(operator.and_)
    __lt__, __gt__ = _binary(operator.lt)


def filled(value: Any, count: int) -> list[Any]:
    """Return the values of a column, or as many of one number.

    >>> filled(Column([1, 2]), 2), filled(5, 2)
    ([1, 2], [5, 5])
    """
    return value.values if isinstance(value, Column) else [value] * count


def elements_of(recipe: Recipe, offsets: list[int]) -> list[tuple[int, ...] | None]:
    """Return the coordinate of the first element at each offset; None at padding.

    >>> from morello_layouts.core.recipe import Pad
    >>> elements_of(Recipe((3,), (Pad((4,)),)), [1, 3])
    [(1,), None]
    """
    count = len(offsets)
    if not has_inverse(recipe):
        first, sizes = elements_by_slot(recipe)[0], known(recipe.shape)
        return [None if first[p] < 0 else delinearize(int(first[p]), sizes) for p in offsets]
    found, limits = coordinates_at(recipe, Column(offsets))
    there = [True] * count
    for x, n in limits:
        there = [a and b < n for a, b in zip(there, filled(x, count), strict=True)]
    columns = [filled(x, count) for x in found]
    coordinates = zip(*columns, strict=True) if columns else repeat((), count)
    return [at if is_there else None for at, is_there in zip(coordinates, there, strict=True)]


def reshape_steps(shape: Shape, to: Shape, *, symbolic: bool = False) -> tuple[Step, ...]:
    """Return the merges and splits that take an array to another shape, in row-major order.

    Runs of dimensions whose sizes have one product are joined and split by themselves.
    """
    if tuple(shape) == tuple(to):
        return ()
    _require_reshape(shape, to)
    runs = _runs(shape, to)
    merge = Merge(tuple(count for count, _ in runs))
    steps: list[Step] = [] if all(count == 1 for count, _ in runs) else [merge]
    for done in range(max(len(sizes) for _, sizes in runs) - 1):
        tiles: list[Int | None] = []
        for _, sizes in runs:
            if done + 1 < len(sizes):
                tile = sizes[-1 - done :][:1]
                tiles += [*(tile if symbolic else known(tile)), *(None,) * done]
            else:
                tiles += (None,) * len(sizes)
        steps.append(Split(tuple(tiles)))
    return tuple(steps)


def _require_reshape(shape: Shape, to: Shape) -> None:
    if not to:
        raise UnsupportedError(
            f"{brackets(shape)} cannot be reshaped to a scalar",
            "a merge leaves at least one axis",
            "reshape it to [1]",
        )
    if prod(shape) != prod(to):
        raise ShapeError(
            f"{brackets(shape)} cannot be reshaped to {brackets(to)}",
            f"they hold {prod(shape)} and {prod(to)} elements",
            f"give a shape of {prod(shape)} elements",
        )
    if prod(shape) == 0:
        raise UnsupportedError(
            f"{brackets(shape)} cannot be reshaped",
            "it has no elements, so no step says how its dimensions correspond",
            "use sizes of 1 and more",
        )


def _runs(shape: Shape, to: Shape) -> list[tuple[int, Shape]]:
    """The number of dimensions that join into each run, and the sizes that it splits into."""
    runs: list[tuple[int, Shape]] = []
    start, end = 0, 0
    while start < len(shape) or end < len(to):
        a, b = start + (start < len(shape)), end + (end < len(to))
        while prod(shape[start:a]) != prod(to[end:b]):
            n, m = prod(shape[start:a]), prod(to[end:b])
            grow_a = n < m if isinstance(n, int) and isinstance(m, int) else m % n == 0
            if (grow_a and a < len(shape)) or b == len(to):
                a += 1
            else:
                b += 1
        # Sizes of 1 at the end belong to the last run.
        if a < len(shape) and prod(shape[a:]) == 1:
            a = len(shape)
        if b < len(to) and prod(to[b:]) == 1:
            b = len(to)
        runs.append((a - start, tuple(to[end:b])))
        start, end = a, b
    return runs


def reshape_recipe(shape: Shape, recipe: Recipe, order: Sequence[int] | None = None) -> Recipe:
    """Return a recipe for another shape: reshape and transpose to the recipe's own, then follow it.

    >>> print(reshape_recipe((24,), Recipe((6, 4)), (1, 0)))
    [24] → split [4,6] → transpose [6,4]
    """
    if not recipe.shape:
        recipe = _of_one_element(recipe)
    rank = len(recipe.shape)
    moved = as_permutation(range(rank) if order is None else order, "order", rank)
    before = tuple(recipe.shape[moved.index(axis)] for axis in range(len(moved)))
    steps = list(reshape_steps(tuple(shape), before))
    if moved != tuple(range(len(moved))):
        steps.append(Transpose(moved))
    return replace(recipe, shape=tuple(shape), steps=(*steps, *recipe.steps))


def _of_one_element(recipe: Recipe) -> Recipe:
    """The recipe of a scalar as one for the shape [1]: a merge cannot lead from [1] to []."""
    begun = next((k for k, shape in enumerate(recipe.shapes) if shape), None)
    if begun is None:
        return Recipe((1,), (), recipe.tail_padding, recipe.offset)
    first, *rest = recipe.steps[begun - 1 :]
    # A scatter of no axes has a constant formula, which any axes may have.
    steps = (Merge((1, *first.counts[1:])) if isinstance(first, Merge) else first, *rest)
    return replace(recipe, shape=(1,), steps=steps)


def with_ignored_dims(recipe: Recipe, sizes: Shape) -> Recipe:
    """Return a recipe for more dimensions at the end, along which elements share their slots.

    >>> print(with_ignored_dims(Recipe((3, 4), (Transpose((1, 0)),)), (2,)))
    [3,4,2] → scatter 3*d1 + d0 in [12]
    """
    form = offset_of(recipe, coordinate_variables(recipe.shape), AffineExpr((), 0))
    scatter = Scatter((canonicalize(form),), (recipe.size,))
    return Recipe((*recipe.shape, *sizes), (scatter,))


def without_xors(recipe: Recipe) -> Recipe:
    """Return a recipe without its exclusive ors: it uses as many slots, if nothing is cut off."""
    steps = tuple(step for step in recipe.steps if not isinstance(step, Xor))
    return replace(recipe, steps=steps)


def _widened(step: Step, before: Shape, outer: Shape, inner: Shape) -> list[Step]:
    """Return what a step is with more axes around those that it acts on, of sizes ``before``."""
    first, rank, last = len(outer), len(before), len(inner)
    match step:
        case Pad(sizes, cut):
            return [Pad((*outer, *sizes, *inner), cut)]
        case Split(tiles):
            return [Split((*(None,) * first, *tiles, *(None,) * last))]
        case Transpose(order):
            end, moved = first + rank, (axis + first for axis in order)
            return [Transpose((*range(first), *moved, *range(end, end + last)))]
        case Merge(counts):
            return [Merge((*(1,) * first, *counts, *(1,) * last))]
        case Xor(target, source, shift):
            return [Xor(target + first, source + first, shift)]
        case Renumber(axis, numbers):
            return [Renumber(axis + first, numbers)]
        case Replicate(sizes):
            end, new = first + rank, len(sizes)
            order = (*range(end), *range(end + last, end + last + new), *range(end, end + last))
            return [step, Transpose(order)] if last else [step]
        case Scatter(forms, sizes):
            at = coordinate_variables((*outer, *before, *inner))
            values = {f"d{k}": x for k, x in enumerate(at[first : first + rank])}
            own = tuple(substitute(form, values) for form in forms) if first else forms
            around = (*at[:first], *own, *at[first + rank :])
            return [Scatter(around, (*outer, *sizes, *inner))]
        case Window():
            return [step.with_axes(outer, inner)]


def with_replicas_as_dims(recipe: Recipe) -> Recipe:
    """Return a recipe without replicas, whose last dimensions say which holder is meant."""
    left, steps = recipe.replica_sizes, list[Step]()
    for step, before in zip(recipe.steps, recipe.shapes, strict=False):
        if isinstance(step, Replicate):
            left = left[len(step.sizes) :]
        else:
            steps += _widened(step, before, (), left)
    return replace(recipe, shape=(*recipe.shape, *recipe.replica_sizes), steps=tuple(steps))


def with_inner_axis(recipe: Recipe, size: int) -> Recipe:
    """Return the recipe with each element split into ``size`` parts, a new innermost dimension.

    Its axes have no names.
    """
    pairs = zip(recipe.steps, recipe.shapes, strict=False)
    steps = [x for step, before in pairs for x in _widened(step, before, (), (size,))]
    shape, tail, offset = (*recipe.shape, size), recipe.tail_padding * size, recipe.offset * size
    return Recipe(shape, tuple(steps), tail, offset)


def with_outer_axes(recipe: Recipe, outer: Shape) -> Recipe:
    """Return a recipe for arrays side by side, along new outermost dimensions.

    Its axes have no names, and the padding at the ends of the buffer is left out.
    """
    pairs = zip(recipe.steps, recipe.shapes, strict=False)
    steps = [x for step, before in pairs for x in _widened(step, before, outer, ())]
    return Recipe((*outer, *recipe.shape), tuple(steps))
