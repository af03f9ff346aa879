"""Layouts of blocks: an order of the dimensions, then blocks split off from some of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, TypeAlias

from morello_layouts.core.expr.sizes import Int, ceil_quotient, round_up
from morello_layouts.core.recipe import DimDigit, Recipe, recipe_of_axes

Blocks: TypeAlias = Sequence[tuple[int, Int]]
"""Pairs (logical dimension, size), outermost first."""


def blocks_of(dim: int, blocks: Blocks) -> list[Int]:
    """Return the sizes of a dimension's blocks, the innermost first."""
    return [size for each, size in reversed(blocks) if each == dim]


def padded_dims(shape: Sequence[Int], blocks: Blocks) -> tuple[Int, ...]:
    """Return the sizes rounded up to the product of each dimension's blocks."""
    return tuple(round_up(n, prod(blocks_of(dim, blocks))) for dim, n in enumerate(shape))


def blocked_recipe(shape: Sequence[Int], order: Sequence[int], blocks: Blocks) -> Recipe:
    """Return the steps: pad, split off the blocks from the innermost on, transpose.

    >>> print(blocked_recipe((2, 20, 3), (0, 1, 2), [(1, 16)]))
    [2,20,3] → pad [2,32,3] → split [2,2,16,3] → transpose [2,2,3,16]
    """
    axes: list[list[DimDigit]] = []
    units: dict[int, Int] = dict.fromkeys(order, 1)
    for dim, size in blocks[::-1]:
        axes.insert(0, [DimDigit(dim, units[dim], size)])
        units[dim] *= size
    rest = [[DimDigit(dim, units[dim], ceil_quotient(shape[dim], units[dim]))] for dim in order]
    return recipe_of_axes(shape, [*rest, *axes])


ALPHABET: Final = "abcdefghijkl"
"""Letters of the dimensions of any array, in their order."""

ORDERS: Final = (
    *("x", "nc", "ncw", "nchw", "ncdhw"),
    *("oi", "oiw", "oihw", "oidhw", "goiw", "goihw", "goidhw"),
    *("tn", "tnc", "ldnc", "ldio", "ldgo", "ldigo"),
)
"""Letters of activations, weights and states, in the order of the dimensions."""

NAMES: Final = {
    "n": "batch", "c": "channels", "d": "depth", "h": "height", "w": "width",
    "g": "groups", "o": "output channels", "i": "input channels", "t": "time", "l": "layers",
}  # fmt: skip
"""What each letter of these means."""


def logical_order(letters: str) -> str:
    """Return letters in the order of the array's dimensions; unknown ones keep theirs.

    >>> logical_order("nhwc"), logical_order("hwio"), logical_order("ba"), logical_order("mk")
    ('nchw', 'oihw', 'ab', 'mk')
    """
    known = (ALPHABET[: len(letters)], *ORDERS)
    return next((order for order in known if sorted(order) == sorted(letters)), letters)
