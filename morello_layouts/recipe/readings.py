"""Readings of a recipe: coordinates, their inverse, arrays and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from morello_layouts.errors import LayoutError
from morello_layouts.expr.sizes import Int
from morello_layouts.recipe.steps import Merge, Pad, Recipe, Shape, Split, Step, Transpose, known


def pack_array(recipe: Recipe, array: NDArray[Any], fill: Any) -> NDArray[Any]:
    """Return the 1-D buffer that holds an array of the recipe's shape; padding holds ``fill``."""
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
    # Without steps the buffer would be the caller's own memory.
    return buffer.copy() if np.may_share_memory(buffer, given) else buffer


def unpack_array(recipe: Recipe, buffer: NDArray[Any]) -> NDArray[Any]:
    """Return the array of the recipe's shape in a 1-D buffer of ``recipe.size`` items."""
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


class Arithmetic(Protocol):
    """A coordinate: an int, an array, an affine expression or a value of ISL."""

    def __add__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Arithmetic)


def physical_coordinates(recipe: Recipe, coordinate: Sequence[T], zero: T) -> tuple[T, ...]:
    """Return the physical coordinate of the element at a logical one.

    Args:
        recipe: the layout at its shape.
        coordinate: one value for each logical dimension.
        zero: the zero of the coordinate's kind, for an axis that a merge of no axes makes.

    >>> from morello_layouts.recipe.steps import Pad, Split, Transpose
    >>> tiled = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> physical_coordinates(tiled, (2, 3), 0)
    (1, 1, 0, 1)
    """
    at = list(coordinate)
    for step, shape in zip(recipe.steps, recipe.shapes, strict=False):
        match step:
            case Pad():
                pass
            case Split(tiles):
                at = [
                    part
                    for x, t in zip(at, tiles, strict=True)
                    for part in ((x,) if t is None else (x // t, x % t))
                ]
            case Transpose(order):
                at = [at[axis] for axis in order]
            case Merge():
                runs = step.groups(range(len(at)))
                at = [linear_index([at[i] for i in r], [shape[i] for i in r], zero) for r in runs]
    return tuple(at)


def linear_index(coordinate: Sequence[T], sizes: Sequence[Int], zero: T) -> T:
    """Return the row-major position of a coordinate in a box: ``(…(c0·n1 + c1)·n2 + …)``.

    >>> linear_index((1, 1, 0, 1), (2, 3, 2, 2), 0)
    17
    """
    total: Any = None
    for x, n in zip(coordinate, sizes, strict=True):
        total = x if total is None else total * n + x
    return zero if total is None else total


def logical_coordinates(
    recipe: Recipe, physical: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[tuple[Any, Int], ...]]:
    """Return the logical coordinate at a physical one, and the conditions for an element there.

    Coordinates are of any kind, as for :func:`physical_coordinates`.

    Returns:
        The coordinate, and pairs (x, n): the place holds an element, not padding, if every x < n.

    >>> from morello_layouts.recipe.steps import Pad, Split, Transpose
    >>> tiled = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> logical_coordinates(tiled, (1, 1, 0, 1))
    ((2, 3), ((2, 3), (3, 5)))
    """
    at = list(physical)
    limits: list[tuple[Any, Int]] = []
    for step, before in reversed(list(zip(recipe.steps, recipe.shapes, strict=False))):
        match step:
            case Pad(sizes):
                axes = zip(at, before, sizes, strict=True)
                limits += [(x, n) for x, n, padded in axes if n != padded]
            case Split(tiles):
                parts = iter(at)
                at = [next(parts) if t is None else next(parts) * t + next(parts) for t in tiles]
            case Transpose(order):
                at = [at[order.index(axis)] for axis in range(len(order))]
            case Merge():
                groups = zip(at, step.groups(before), strict=True)
                at = [digit for x, sizes in groups for digit in delinearize(x, sizes)]
    return tuple(at), tuple(limits)


def delinearize(position: Any, sizes: Shape) -> tuple[Any, ...]:
    """Return the coordinate at a row-major position in a box: the inverse of ``linear_index``.

    >>> delinearize(17, (2, 3, 2, 2))
    (1, 1, 0, 1)
    """
    digits: list[Any] = []
    for size in reversed(sizes[1:]):
        digits.append(position % size)
        position = position // size
    return (position, *reversed(digits)) if sizes else ()


def to_bytes(buffer: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Return the bytes of a 1-D buffer with elements of ``bits`` bits each, little-endian.

    Elements wider in the array than in the buffer keep their low bits; narrower ones are extended.
    Only integers and booleans change width.

    Raises:
        LayoutError: if other elements would have to change their width.

    >>> to_bytes(np.array([1, 2, 3], np.uint8), 4)
    array([33,  3], dtype=uint8)
    """
    if buffer.dtype.itemsize * 8 == bits:
        little = buffer.astype(buffer.dtype.newbyteorder("<"), copy=False)
        return np.frombuffer(little.tobytes(), np.uint8).copy()
    if buffer.dtype.kind not in "biu":
        raise LayoutError(
            f"buffer: expected elements of {bits} bits, got {buffer.dtype}",
            "only integers and booleans change their width",
            f"give an array with items of {bits} bits, or integers that hold the bits",
        )
    wide = buffer.astype("<u8" if buffer.dtype.kind != "i" else "<i8").view("<u8")
    as_bits = np.unpackbits(wide.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    if bits > 64:
        as_bits = np.pad(as_bits, ((0, 0), (0, bits - 64)))
    return np.packbits(as_bits[:, :bits].reshape(-1), bitorder="little")


def from_bytes(data: NDArray[np.uint8], bits: int, count: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return the first ``count`` elements of ``bits`` bits each in bytes, as a NumPy type.

    A signed type takes the highest of the bits as its sign.

    Raises:
        LayoutError: if the elements would have to change their width and are not integers.

    >>> from_bytes(np.array([0xF1, 3], np.uint8), 4, 3, np.int8)
    array([ 1, -1,  3], dtype=int8)
    """
    kind = np.dtype(dtype)
    if kind.itemsize * 8 == bits:
        return np.frombuffer(data.tobytes(), kind.newbyteorder("<"), count).astype(kind)
    if kind.kind not in "biu" or bits > 64:
        raise LayoutError(
            f"dtype: expected a type of {bits} bits, got {kind}",
            "only integers and booleans of up to 64 bits change their width",
            f"ask for a type of {bits} bits, or an integer type",
        )
    as_bits = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    sign = as_bits[:, -1:] if kind.kind == "i" else np.zeros((count, 1), np.uint8)
    wide = np.concatenate([as_bits, np.repeat(sign, 64 - bits, axis=1)], axis=1)
    values = np.packbits(wide, axis=1, bitorder="little").reshape(-1).view("<i8")
    return values.astype(kind)
