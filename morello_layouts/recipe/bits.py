"""Buffers of elements as bytes, elements narrower than a byte packed low bits first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from morello_layouts.errors import LayoutError

__all__ = ["elements_of", "to_bytes"]


def to_bytes(buffer: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """The bytes of a 1-D buffer whose elements take ``bits`` bits each, little-endian.

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
            f"elements of {buffer.dtype} do not fit {bits} bits",
            "only integers and booleans change their width",
            f"give an array whose items take {bits} bits, or integers that hold the bits",
        )
    wide = buffer.astype("<u8" if buffer.dtype.kind != "i" else "<i8").view("<u8")
    as_bits = np.unpackbits(wide.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    if bits > 64:
        as_bits = np.pad(as_bits, ((0, 0), (0, bits - 64)))
    return np.packbits(as_bits[:, :bits].reshape(-1), bitorder="little")


def elements_of(data: NDArray[np.uint8], bits: int, count: int, dtype: DTypeLike) -> NDArray[Any]:
    """The first ``count`` elements of ``bits`` bits each in bytes, as items of a NumPy type.

    A signed type takes the highest of the bits as its sign.

    >>> elements_of(np.array([0xF1, 3], np.uint8), 4, 3, np.int8)
    array([ 1, -1,  3], dtype=int8)
    """
    kind = np.dtype(dtype)
    if kind.itemsize * 8 == bits:
        return np.frombuffer(data.tobytes(), kind.newbyteorder("<"), count).astype(kind)
    if kind.kind not in "biu" or bits > 64:
        raise LayoutError(
            f"elements of {bits} bits do not make items of {kind}",
            "only integers and booleans change their width",
            f"ask for a type of {bits} bits, or an integer type",
        )
    as_bits = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    sign = as_bits[:, -1:] if kind.kind == "i" else np.zeros((count, 1), np.uint8)
    wide = np.concatenate([as_bits, np.repeat(sign, 64 - bits, axis=1)], axis=1)
    values = np.packbits(wide, axis=1, bitorder="little").reshape(-1).view("<i8")
    return values.astype(kind)
