"""The layouts of arrays that exist: NumPy's, PyTorch's, and whatever has an array interface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any, Final

from morello_layouts.errors import UnsupportedError
from morello_layouts.layout import ElementType
from morello_layouts.lazy import numpy as np
from morello_layouts.notations.strided.layout import StridedLayout

_INTERFACES: Final = ("__array_interface__", "__cuda_array_interface__")
_TYPE: Final = re.compile(r"(?:(bool)|(b?float|u?int|complex)([0-9]+))(_?e\w+)?_?")
_LETTERS: Final = {"float": "f", "bfloat": "bf", "int": "s", "uint": "u", "complex": "c"}


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
    match = _TYPE.fullmatch(name)
    if match is None:
        return None
    boolean, kind, bits, rest = match.groups()
    return "pred" if boolean else f"{_LETTERS[kind]}{bits}{(rest or '').lstrip('_')}"
