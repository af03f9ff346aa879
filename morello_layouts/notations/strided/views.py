"""Layouts of arrays, and views of strided ones: the operations of PyTorch that move no element.

Source: ATen's ``computeStride``, ``inferUnsqueezeGeometry`` and ``inferExpandGeometry``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

from morello_layouts.core.checks import as_permutation, require_inside
from morello_layouts.core.layout import ElementType, short_name
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import known
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.notations.strided.layout import StridedLayout

_INTERFACES: Final = ("__array_interface__", "__cuda_array_interface__")


def of(array: Any) -> StridedLayout | None:
    """Return the layout of an array in its memory; None if it is not an array.

    Args:
        array: a NumPy array; one that has ``stride()``, ``storage_offset()`` and ``shape``, as
            PyTorch's have; or one with ``__array_interface__`` or ``__cuda_array_interface__``.

    Returns:
        Strides in elements. The buffer of a NumPy view is the memory of the array that it views.
        PyTorch's begins where the storage does, and those of others at the lowest address.

    Raises:
        UnsupportedError: if strides are not whole elements.

    >>> image = np.zeros((4, 6), np.float32)
    >>> layout = of(image[::2, ::-1])
    >>> print(layout, layout.shape, layout.buffer, layout.element)
    strided<[12, -1], offset: 5> (2, 6) 24 f32
    """
    if isinstance(array, np.ndarray):
        return _of_numpy(array)
    if callable(getattr(array, "stride", None)) and callable(
        getattr(array, "storage_offset", None)
    ):
        return _of_torch(array)
    if isinstance(array, type):
        return None
    found = (getattr(array, name, None) for name in _INTERFACES)
    interface = next((each for each in found if isinstance(each, dict)), None)
    return None if interface is None else _of_interface(interface)


def _of_numpy(array: np.ndarray[Any, Any]) -> StridedLayout:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start, end = _span(owner.ctypes.data, owner.shape, owner.strides, owner.itemsize)
    first = array.ctypes.data - start
    return _strided(array.shape, array.strides, first, array.dtype, end - start)


def _of_interface(interface: dict[str, Any]) -> StridedLayout:
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:  # in C order
        strides = tuple(dtype.itemsize * prod(shape[k + 1 :]) for k in range(len(shape)))
    start, _ = _span(0, shape, strides, dtype.itemsize)
    return _strided(shape, tuple(strides), -start, dtype, None)


def _of_torch(array: Any) -> StridedLayout:
    item = int(array.element_size())
    storage = getattr(array, "untyped_storage", None)
    size = storage().nbytes() // item if callable(storage) else None
    shape, strides = tuple(map(int, array.shape)), tuple(map(int, array.stride()))
    name = str(array.dtype).rpartition(".")[2]
    element = ElementType(_name(name), 8 * item)
    return StridedLayout(strides, int(array.storage_offset()), shape, size, element)


def _span(
    first: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> tuple[int, int]:
    """The lowest address of an array's elements, and the end of the highest."""
    if 0 in shape:
        return first, first
    reach = [stride * (n - 1) for n, stride in zip(shape, strides, strict=True)]
    low, high = (sum(f(0, x) for x in reach) for f in (min, max))
    return first + low, first + high + itemsize


def _strided(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    first: int,
    dtype: np.dtype[Any],
    size: int | None,
) -> StridedLayout:
    item = dtype.itemsize
    if item == 0 or any(step % item for step in (*strides, first)):
        raise UnsupportedError(
            f"strides: expected multiples of the {item} bytes of {dtype}, got {strides}",
            "offsets count whole elements",
            "take a view of the bytes, or of the whole record",
        )
    steps = tuple(step // item for step in strides)
    whole = None if size is None else size // item
    element = ElementType(_name(dtype.name), 8 * item)
    return StridedLayout(steps, first // item, shape, whole, element)


def _name(name: str) -> str | None:
    """The short name of an element type, f32 for float32; None for records and the like."""
    short = "pred" if name == "bool" else short_name(name)
    return None if short == name else short


def view(layout: StridedLayout, shape: Sequence[int]) -> StridedLayout | None:
    """Return the layout of an array's view of another shape, as ``Tensor.view`` gives it.

    Args:
        layout: the layout of an array with its shape.
        shape: the sizes of the view, whose product is that of the array's; no -1.

    Returns:
        The layout with PyTorch's strides; None if no strides say it, so that elements must move.

    Raises:
        ShapeError: if the shapes hold different numbers of elements.

    >>> rows = StridedLayout((1, 4), shape=(4, 6))
    >>> print(view(rows, (2, 2, 6)), view(rows, (24,)))
    strided<[2, 1, 4]> None
    """
    sizes, strides, to = _sizes(layout), known(layout.strides), tuple(shape)
    if prod(sizes) != prod(to) or any(n < 0 for n in to):
        raise ShapeError(
            f"view: expected {prod(sizes)} elements, got ({', '.join(map(str, to))})",
            "a view holds the elements of its array",
            "give sizes whose product is that, without -1",
        )
    found = _view_strides(sizes, strides, to)
    return None if found is None else replace(layout, strides=found, shape=to)


def _view_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], to: tuple[int, ...]
) -> tuple[int, ...] | None:
    if not sizes:
        return (1,) * len(to)
    if prod(sizes) == 0:
        dense = (prod(max(n, 1) for n in to[k + 1 :]) for k in range(len(to)))
        return strides if sizes == to else tuple(dense)
    left, found = list(to), list[int]()
    for count, step in _runs(sizes, strides):
        taken = 1
        while left and (taken < count or left[-1] == 1):
            found.insert(0, taken * step)
            taken *= left.pop()
        if taken != count:
            return None
    return None if left else tuple(found)


def _runs(sizes: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """The runs of dimensions that one step leads through, the innermost first: count and step."""
    runs: list[tuple[int, int]] = []
    count, step = 1, strides[-1]
    for k in reversed(range(len(sizes))):
        count *= sizes[k]
        if k == 0 or (sizes[k - 1] != 1 and strides[k - 1] != count * step):
            runs.append((count, step))
            count, step = 1, strides[k - 1]
    return runs


def permute(layout: StridedLayout, order: Sequence[int]) -> StridedLayout:
    """Return the layout with dimension ``order[k]`` as dimension k.

    >>> print(permute(StridedLayout((6, 1), shape=(4, 6)), (1, 0)))
    strided<[1, 6]>
    """
    dims = as_permutation(order, "order", len(layout.strides))
    shape, strides = _sizes(layout), layout.strides
    return replace(
        layout, strides=tuple(strides[d] for d in dims), shape=tuple(shape[d] for d in dims)
    )


def slice_dim(
    layout: StridedLayout, dim: int, start: int, stop: int, step: int = 1
) -> StridedLayout:
    """Return the layout of the elements from ``start`` to before ``stop`` along a dimension.

    As Python's slices do, ends past the array count as its end.

    >>> print(slice_dim(StridedLayout((6, 1), shape=(4, 6)), 1, 1, 6, 2))
    strided<[6, 2], offset: 1>
    """
    sizes = _sizes(layout)
    require_inside(dim, len(sizes), dim, dim)
    kept = range(sizes[dim])[slice(start, stop, step)]
    first = kept.start if len(kept) else 0
    shape, strides = list(sizes), list(layout.strides)
    shape[dim], strides[dim] = len(kept), strides[dim] * step
    offset = layout.offset + layout.strides[dim] * first
    return replace(layout, strides=tuple(strides), offset=offset, shape=tuple(shape))


def unsqueeze(layout: StridedLayout, dim: int) -> StridedLayout:
    """Return the layout with a new dimension of size 1 before a dimension.

    >>> print(unsqueeze(StridedLayout((6, 1), shape=(4, 6)), 1))
    strided<[6, 6, 1]>
    """
    sizes, strides = _sizes(layout), layout.strides
    step = strides[dim] * sizes[dim] if dim < len(sizes) else 1
    return replace(
        layout,
        strides=(*strides[:dim], step, *strides[dim:]),
        shape=(*sizes[:dim], 1, *sizes[dim:]),
    )


def expand(layout: StridedLayout, shape: Sequence[int]) -> StridedLayout:
    """Return the layout of the array broadcast to a shape: new places have stride 0.

    Raises:
        UnsupportedError: if a size other than 1 changes.

    >>> print(expand(StridedLayout((1, 1), shape=(4, 1)), (2, 4, 3)))
    strided<[0, 1, 0]>
    """
    while len(layout.strides) < len(shape):
        layout = unsqueeze(layout, 0)
    sizes, strides = _sizes(layout), list(layout.strides)
    for k, (n, m) in enumerate(zip(sizes, shape, strict=True)):
        if n not in (1, m):
            raise UnsupportedError(
                f"expand: expected size {n} or 1 of dimension {k}, got {m}",
                "only dimensions of size 1 are repeated",
                f"give ({', '.join(map(str, sizes))}) with other numbers in place of 1",
            )
        strides[k] = strides[k] if n == m else 0
    return replace(layout, strides=tuple(strides), shape=tuple(shape))


def _sizes(layout: StridedLayout) -> tuple[int, ...]:
    if layout.shape is None:
        raise ShapeError(
            f"{layout} carries no shape",
            "a view is one of an array, whose sizes must be known",
            "give the shape: StridedLayout(strides, offset, shape)",
        )
    return known(layout.shape)
