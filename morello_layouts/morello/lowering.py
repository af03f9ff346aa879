"""From physical dimensions to the recipe, and to the book's own formula."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from morello_layouts.expr import Linear
from morello_layouts.expr.size import Number
from morello_layouts.morello.dims import OddEven, PhysDims
from morello_layouts.morello.expand import physical_shape
from morello_layouts.recipe import Merge, Recipe, Split, Step, Transpose, known

__all__ = ["recipe", "textbook"]


def textbook(dims: PhysDims, coordinates: Sequence[Linear], shape: Sequence[Number]) -> Linear:
    """Back to front, add α·(⌊d/v⌋ mod p) for each physical dimension.

    α is the volume covered so far, v the volume covered so far of this logical dimension, p the
    physical size. For an OddEven the digit y = ⌊d/v⌋ mod p lies at ⌊y/2⌋ + p/2·(y mod 2). (Morello
    separates even from odd before it divides by v, which is not a bijection where v > 1.)

    >>> from morello_layouts.expr import variable
    >>> print(textbook(((0, OddEven(8)),), [variable("d0", 0, 7)], (8,)))
    4*((d0%8)%2) + (d0%8)//2
    """
    offset = Linear((), 0)
    volume: Number = 1
    within: list[Number] = [1] * len(shape)
    sizes = physical_shape(dims, tuple(shape))
    for (dim, phys), size in reversed(list(zip(dims, sizes, strict=True))):
        index = coordinates[dim]
        if within[dim] != 1:
            index = index // within[dim]
        index = index % size
        if isinstance(phys, OddEven) and size > 1:
            index = index // 2 + (size // 2) * (index % 2)
        offset = offset + volume * index
        volume *= size
        within[dim] *= size
    return offset


def recipe(dims: PhysDims, shape: Sequence[Number]) -> Recipe:
    """The steps: split each logical dimension into its digits, bring them into physical order.

    An OddEven is split once more, into halves and (even, odd), and these two change places.

    >>> print(recipe(((0, OddEven(8)),), (8,)))
    [8] → split [4,2] → transpose [2,4] → merge [8]
    """
    sizes = physical_shape(dims, tuple(shape))
    mentions = [[k for k, (d, _) in enumerate(dims) if d == dim] for dim in range(len(shape))]
    steps: list[Step] = []
    # An axis is named by the physical dimensions that it still holds, outermost first.
    axes = list(mentions)
    while any(len(axis) > 1 for axis in axes):
        # Only the outermost of a dimension's sizes may be symbolic.
        steps.append(Split(tuple(known((sizes[a[-1]],))[0] if len(a) > 1 else None for a in axes)))
        axes = [part for a in axes for part in ((a[:-1], a[-1:]) if len(a) > 1 else (a,))]
    # From here each axis holds one physical dimension, or none (a logical size of 1).
    order = sorted(range(len(axes)), key=lambda i: axes[i] or [-1])
    halved = [a != [] and isinstance(dims[a[0]][1], OddEven) and sizes[a[0]] > 1 for a in axes]
    if any(halved):
        steps.append(Split(tuple(2 if h else None for h in halved)))
    start = [i + sum(halved[:i]) for i in range(len(axes))]
    moved = [j for i in order for j in ((start[i] + 1, start[i]) if halved[i] else (start[i],))]
    if moved != sorted(moved):
        steps.append(Transpose(tuple(moved)))
    counts = [2 if halved[i] else 1 for i in order if axes[i]]
    ones = sum(not a for a in axes)  # they stand first, and join the outermost axis
    if ones:
        counts[:1] = [ones + sum(counts[:1])]
    if any(count > 1 for count in counts):
        steps.append(Merge(tuple(counts)))
    result = Recipe(tuple(shape), tuple(steps))
    assert prod(result.physical_shape) == prod(sizes)
    return result
