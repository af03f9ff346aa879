"""Readings of a recipe: coordinates, their inverse, arrays and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, islice
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from morello_layouts.core.expr import AffineExpr, canonicalize
from morello_layouts.core.expr.affine import digit
from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.expr.substitution import value_of
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import SCATTERED
from morello_layouts.core.recipe.recognize import recipe_of_coordinates
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
    known,
)
from morello_layouts.errors import LayoutError, UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


def pack_array(recipe: Recipe, array: NDArray[Any], fill: Any) -> NDArray[Any]:
    """Return the 1-D buffer that holds an array of the recipe's shape; padding holds ``fill``."""
    given = array
    shapes = [known(shape) for shape in recipe.shapes]
    for step, before, after in zip(recipe.steps, shapes, shapes[1:], strict=False):
        match step:
            case Pad():
                array = _resized(array, before, after, fill)
            case Transpose(order):
                array = array.transpose(order)
            case Split() | Merge():
                array = array.reshape(after)
            case Xor():
                array = _xored(step, array)
            case Renumber(axis):
                array = np.take(array, step.inverse.numbers, axis)
            case Replicate(sizes):
                array = np.broadcast_to(array.reshape(*before, *(1,) * len(sizes)), after)
            case Scatter():
                slots = _slots(step, before)
                _require_own_slots(slots, before, after)
                array, values = np.full(after, fill, array.dtype), array
                array[slots] = values
            case Window():
                array, values = np.full(after, fill, array.dtype), array
                array[step.slices(before)] = values
    buffer = array.reshape(-1)
    start, tail, size = known((recipe.offset, recipe.tail_padding, recipe.size))
    if start or tail > 0:
        buffer = np.pad(buffer, (start, max(tail, 0)), constant_values=fill)
    buffer = buffer[:size]
    # Without steps the buffer would be the caller's own memory.
    return buffer.copy() if np.may_share_memory(buffer, given) else buffer


def unpack_array(recipe: Recipe, buffer: NDArray[Any]) -> NDArray[Any]:
    """Return the array of the recipe's shape in a 1-D buffer of ``recipe.size`` items."""
    shapes = [known(shape) for shape in recipe.shapes]
    start, end = known((recipe.offset, prod(shapes[-1])))
    axes = buffer[start : start + end]
    if len(axes) < end:
        axes = np.pad(axes, (0, end - len(axes)))
    array = axes.reshape(shapes[-1])
    for step, before in reversed(list(zip(recipe.steps, shapes, strict=False))):
        array = _undo(step, array, before)
    return array.copy()


def _resized(
    array: NDArray[Any], shape: tuple[int, ...], to: tuple[int, ...], fill: Any
) -> NDArray[Any]:
    """Return an array with other ends of its axes: with ``fill`` where they grow."""
    widths = [(0, max(m - n, 0)) for n, m in zip(shape, to, strict=True)]
    kept = array[tuple(slice(m) for m in to)]
    return np.pad(kept, widths, constant_values=fill) if any(w for _, w in widths) else kept


def _undo(step: Step, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    match step:
        case Pad():
            return _resized(array, array.shape, shape, 0)
        case Transpose(order):
            return array.transpose(np.argsort(order))
        case Split() | Merge():
            return array.reshape(shape)
        case Xor():
            return _xored(step, array)
        case Renumber(axis, numbers):
            return np.take(array, numbers, axis)
        case Replicate(sizes):
            return array[(slice(None),) * len(shape) + (0,) * len(sizes)]
        case Scatter():
            return array[_slots(step, shape)]
        case Window():
            return array[step.slices(shape)]


def _xored(step: Xor, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with its elements moved along the target of an xor, its own inverse."""
    at = np.indices(array.shape, sparse=True)
    return np.take_along_axis(array, step.new_target(at, array.shape), step.target)


def _slots(step: Scatter, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """The place of each element of the axes before a scatter."""
    at = {f"d{k}": x for k, x in enumerate(np.indices(shape, sparse=True))}
    found = (np.asarray(form.evaluate(at), np.int64) for form in step.forms)
    return tuple(np.broadcast_to(x, shape) for x in found)


def require_own_slots(recipe: Recipe) -> None:
    """Refuse a layout into which no array can be written: some elements share a slot."""
    if has_inverse(recipe):
        return
    elements_by_slot(recipe)  # raises if there are too many to look at
    for step, shape, after in zip(recipe.steps, recipe.shapes, recipe.shapes[1:], strict=False):
        if isinstance(step, Scatter):
            _require_own_slots(_slots(step, known(shape)), known(shape), known(after))


def _require_own_slots(
    places: tuple[NDArray[np.int64], ...], shape: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    slots = np.asarray(linear_index(places, sizes, np.zeros(shape, np.int64)))
    order = np.argsort(slots, axis=None, kind="stable")
    same = np.flatnonzero(np.diff(slots.reshape(-1)[order]) == 0)
    if len(same):
        k = same[0]
        one, other = (tuple(map(int, np.unravel_index(order[i], shape))) for i in (k, k + 1))
        raise UnsupportedError(
            f"elements {one} and {other} share slot {slots[one]}",
            "a slot holds one element, so the array would lose the others",
            "read from such a layout, or write to one that is injective",
        )


class Arithmetic(Protocol):
    """A coordinate: an int, an array, an affine expression or a value of ISL."""

    def __add__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Arithmetic)


def physical_coordinates(
    recipe: Recipe, coordinate: Sequence[T], zero: T, replica: Sequence[T] = ()
) -> tuple[T, ...]:
    """Return the physical coordinate of the element at a logical one.

    Args:
        recipe: the layout at its shape.
        coordinate: one value for each logical dimension.
        zero: the zero of the coordinate's kind, for an axis that a merge of no axes makes.
        replica: the coordinate along each axis of ``recipe.replica_sizes``; by default 0, the
            element's first holder.

    >>> from morello_layouts.core.recipe.steps import Pad, Split, Transpose
    >>> tiled = Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3))))
    >>> physical_coordinates(tiled, (2, 3), 0)
    (1, 1, 0, 1)
    """
    at = list(coordinate)
    replicas = iter(replica or [zero] * len(recipe.replica_sizes))
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
            case Xor(target):
                at[target] = step.new_target(at, shape)
            case Renumber(axis):
                at[axis] = step.value(at[axis])
            case Replicate(sizes):
                at += islice(replicas, len(sizes))
            case Scatter(forms):
                values = {f"d{k}": x for k, x in enumerate(at)}
                at = [value_of(form, values, lambda n: zero + n) for form in forms]
            case Window():
                at = step.outer(at)
    return tuple(at)


def named_forms(recipe: Recipe, offset: AffineExpr) -> tuple[tuple[str, AffineExpr], ...]:
    """Return a formula for each named axis, cut from that of the offset; none without names.

    >>> from morello_layouts.core.expr import variable
    >>> lanes = Recipe((8, 4), axis_names=("lane", "register"))
    >>> [f"{name}: {form}" for name, form in named_forms(lanes, 4 * variable("i", 0, 7) + 1)]
    ['lane: i', 'register: 1']
    """
    if not recipe.axis_names:
        return ()
    shape: tuple[Int, ...] = recipe.physical_shape
    digits = delinearize(offset - recipe.offset, shape)
    forms = (canonicalize(one) for one in digits)
    return tuple(zip(recipe.axis_names, forms, strict=True))


def linear_index(coordinate: Sequence[T], sizes: Sequence[Int], zero: T) -> T:
    """Return the row-major position of a coordinate in a box: ``… + c1·n2 + c2``.

    >>> linear_index((1, 1, 0, 1), (2, 3, 2, 2), 0)
    17
    """
    total: Any = None
    stride: Int = 1
    for x, n in zip(reversed(coordinate), reversed(sizes), strict=True):
        total = x if total is None else x * stride + total
        stride = stride * n
    return zero if total is None else total


def is_inside(index: Sequence[int | None], sizes: Sequence[int]) -> bool:
    """Return whether an index has a number for each size, from 0 and below it.

    >>> is_inside((1, 2), (2, 3)), is_inside((1, 3), (2, 3)), is_inside((1,), (2, 3))
    (True, False, False)
    """
    pairs = zip(index, sizes, strict=False)
    return len(index) == len(sizes) and all(x is not None and 0 <= x < n for x, n in pairs)


Limits: TypeAlias = tuple[tuple[Any, Int], ...]
"""Pairs (x, n): a place holds an element if every x is below its n."""


def logical_coordinates(recipe: Recipe, physical: Sequence[Any]) -> tuple[tuple[Any, ...], Limits]:
    """Return the logical coordinate at a physical one, and the conditions for an element there.

    Coordinates are of any kind, as for :func:`physical_coordinates`.

    Returns:
        The coordinate, and pairs (x, n): the place holds an element, not padding, if every x < n.

    >>> from morello_layouts.core.recipe.steps import Pad, Split, Transpose
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
                limits += [(x, n) for x, n, now in axes if not is_nonnegative(n - now)]
            case Split(tiles):
                parts = iter(at)
                at = [next(parts) if t is None else next(parts) * t + next(parts) for t in tiles]
            case Transpose(order):
                at = [at[order.index(axis)] for axis in range(len(order))]
            case Merge():
                groups = zip(at, step.groups(before), strict=True)
                at = [one for x, sizes in groups for one in delinearize(x, sizes)]
            case Xor(target):
                at[target] = step.new_target(at, before)
            case Renumber(axis):
                at[axis] = step.inverse.value(at[axis])
            case Replicate(sizes):
                at = at[: len(at) - len(sizes)]
            case Scatter():
                raise UnsupportedError(
                    f"{step} has no inverse formula",
                    "coordinates are read off an offset if it is a sum of digits in nested strides",
                    "ask for the coordinates of an offset at sizes that are numbers",
                )
            case Window():
                at, within = step.inner(at, before)
                limits += within
    return tuple(at), tuple(limits)


def offset_of(recipe: Recipe, coordinate: Sequence[T], zero: T, replica: Sequence[T] = ()) -> T:
    """Return the offset in the buffer of the element at a logical coordinate.

    Arguments are those of :func:`physical_coordinates`.

    >>> offset_of(Recipe((2, 3), offset=5), (1, 2), 0)
    10
    """
    at = physical_coordinates(recipe, coordinate, zero, replica)
    position = linear_index(at, recipe.physical_shape, zero)
    found: T = position if recipe.offset == 0 else position + recipe.offset
    return found


def coordinates_at(recipe: Recipe, offset: Any) -> tuple[tuple[Any, ...], Limits]:
    """Return the logical coordinate at an offset, and the conditions for an element there.

    Offsets are of any kind, and the conditions as those of :func:`logical_coordinates`.

    >>> coordinates_at(Recipe((2, 3), (Pad((2, 4)),), offset=5), 11)
    ((1, 2), ((2, 3), (-7, 0)))
    """
    start, end = recipe.offset, recipe.size - recipe.tail_padding
    inside = offset if start == 0 else offset - start
    at, limits = logical_coordinates(recipe, delinearize(inside, recipe.physical_shape))
    if recipe.has_tail:
        limits = (*limits, (offset, end))
    if start != 0:
        limits = (*limits, (offset * -1 + (start - 1), 0))
    return at, limits


def has_inverse(recipe: Recipe) -> bool:
    """Return whether coordinates are formulas of the offset."""
    return not any(isinstance(step, Scatter) for step in recipe.steps)


@lru_cache(maxsize=64)
def elements_by_slot(recipe: Recipe) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each slot its first element, in row-major order, or -1; and how many it holds."""
    shape, (size,) = known(recipe.shape), known((recipe.size,))
    sizes = known((*shape, *recipe.replica_sizes))
    if max(size, prod(sizes)) > SCATTERED:
        raise UnsupportedError(
            f"{recipe} has more than {SCATTERED} slots or elements",
            "the elements of a layout without inverse formula are looked up one by one",
            "ask at smaller sizes",
        )
    at = np.indices(sizes, sparse=True)
    slots = np.asarray(offset_of(recipe, at[: len(shape)], 0, at[len(shape) :]))
    slots = np.broadcast_to(slots, sizes).reshape(-1)
    if slots.dtype == object:  # a formula has a name that no size has
        slots = np.array(known(slots.tolist()))
    first = np.full(size, -1)
    first[slots[::-1]] = np.arange(slots.size)[::-1] // prod(sizes[len(shape) :])
    return first, np.bincount(slots, minlength=size)


def elements_at(
    recipe: Recipe, offsets: NDArray[Any]
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.bool_]]:
    """Return the coordinate of the first element at each offset, and whether there is one.

    >>> at, there = elements_at(Recipe((3,), (Pad((4,)),)), np.arange(4))
    >>> at[0][there]
    array([0, 1, 2])
    """
    if not has_inverse(recipe):
        first = elements_by_slot(recipe)[0][offsets.astype(np.int64)]
        shape = tuple(max(n, 1) for n in known(recipe.shape))
        return np.unravel_index(np.maximum(first, 0), shape), first >= 0
    found, limits = coordinates_at(recipe, offsets)
    there = np.ones(offsets.shape, bool)
    for x, n in limits:
        there = there & np.asarray(x < n, bool)
    return tuple(np.broadcast_to(x, offsets.shape) for x in found), there


def occupied(recipe: Recipe) -> Int:
    """Return the number of slots that hold an element, or several."""
    if has_inverse(recipe):
        return prod(recipe.shape) * recipe.replicas
    step, shape = recipe.steps[0], recipe.shape
    if prod(shape) == 0:
        return 0
    rest = Recipe(recipe.shapes[1], recipe.steps[1:], recipe.tail_padding, recipe.offset)
    if isinstance(step, Scatter) and has_inverse(rest):  # along a stride of 0 elements share slots
        used = {var.name for form in step.forms for var in form.variables()}
        kept = tuple(n if f"d{k}" in used else 1 for k, n in enumerate(shape))
        found = recipe_of_coordinates(kept, step.forms, step.sizes)
        if has_inverse(found) and not found.requires:  # a pitch may be shorter than a row
            return prod(kept)
    return int((elements_by_slot(recipe)[1] > 0).sum())


def delinearize(position: Any, sizes: Shape) -> tuple[Any, ...]:
    """Return the coordinate at a row-major position in a box: the inverse of ``linear_index``.

    >>> delinearize(17, (2, 3, 2, 2))
    (1, 1, 0, 1)
    """
    digits: list[Any] = []
    if isinstance(position, AffineExpr):  # a quotient of quotients would be as deep as the axes
        strides = [*accumulate(reversed(sizes[1:]), mul, initial=1)]
        moduli = (*reversed(sizes[1:]), None)
        digits += (digit(position, s, n) for s, n in zip(strides, moduli, strict=True))
        return tuple(reversed(digits)) if sizes else ()
    for size in reversed(sizes[1:]):
        digits.append(position % size)
        position = position // size
    return (position, *reversed(digits)) if sizes else ()


def to_bytes(buffer: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Return the bytes of a 1-D buffer with elements of ``bits`` bits each, little-endian.

    Elements wider in the array than in the buffer keep their low bits; narrower ones are extended.
    Only integers and booleans change width.

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
