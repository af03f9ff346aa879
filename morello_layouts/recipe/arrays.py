"""The reading of a recipe on arrays: numpy.pad, reshape and transpose.

It shares no arithmetic with the formula, which makes it one of the formula's judges.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from morello_layouts.recipe.steps import Merge, Pad, Recipe, Split, Step, Transpose, known

__all__ = ["pack_array", "unpack_array"]


def pack_array(recipe: Recipe, array: NDArray[Any], fill: Any) -> NDArray[Any]:
    """The buffer, 1-D, that holds the array (of the recipe's shape); padding holds ``fill``."""
    given = array
    shapes = [known(shape) for shape in recipe.shapes]
    for step, before, after in zip(recipe.steps, shapes, shapes[1:], strict=False):
        match step:
            case Pad():
                widths = [(0, m - n) for n, m in zip(before, after, strict=True)]
                array = np.pad(array, widths, constant_values=fill)
            case Transpose(order):
                array = array.transpose(order)
            case Split() | Merge():
                array = array.reshape(after)
    buffer = array.reshape(-1)
    (tail,) = known((recipe.tail_padding,))
    if tail:
        buffer = np.pad(buffer, (0, tail), constant_values=fill)
    # A recipe without steps would hand the caller's own memory back.
    return buffer.copy() if np.may_share_memory(buffer, given) else buffer


def unpack_array(recipe: Recipe, buffer: NDArray[Any]) -> NDArray[Any]:
    """The array of the recipe's shape that lies in a 1-D buffer of ``recipe.size`` items."""
    shapes = [known(shape) for shape in recipe.shapes]
    array = buffer[: prod(shapes[-1])].reshape(shapes[-1])
    for step, before in reversed(list(zip(recipe.steps, shapes, strict=False))):
        array = _undo(step, array, before)
    return array.copy()


def _undo(step: Step, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    match step:
        case Pad():
            return array[tuple(slice(n) for n in shape)]
        case Transpose(order):
            return array.transpose(np.argsort(order))
        case Split() | Merge():
            return array.reshape(shape)
