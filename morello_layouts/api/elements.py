"""Arrays as elements of XLA's types, before they become bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from morello_layouts.errors import LayoutError
from morello_layouts.xla import XlaShape, numpy_type

__all__ = ["as_elements"]


def as_elements(array: NDArray[Any], shape: XlaShape) -> NDArray[Any]:
    """An array's values in the type of an XLA shape.

    Integers and booleans keep their values; other numbers are rounded to a type that NumPy has. Of
    a type that NumPy lacks, such as bf16, the array holds the bits: unsigned integers of its width,
    or a type of another library of that name.

    Raises:
        LayoutError: where a value does not fit, or the array is of another kind.

    >>> as_elements(np.array([1, 2]), XlaShape("f32", (2,)))
    array([1., 2.], dtype=float32)
    """
    kind = shape.element_type
    held = np.dtype(numpy_type(kind))
    if kind == "pred" or (kind[0] in "su" and kind[1:].isdigit()):
        _require(array.dtype.kind in "biu", array, kind, "give integers or booleans")
        signed = kind[0] == "s"
        bits = 1 if kind == "pred" else min(int(kind[1:]), shape.bits)
        least, largest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if array.size and not (least <= int(array.min()) and int(array.max()) <= largest):
            value = int(array.min()) if int(array.min()) < least else int(array.max())
            raise LayoutError(
                f"{value} is no {kind}",
                f"an element of {kind} in {shape.bits} bits holds {least} to {largest}",
                "give values in that range, or a wider type",
            )
        return array.astype(held)
    if held.kind in "fc":
        allowed = "biufc" if held.kind == "c" else "biuf"
        _require(array.dtype.kind in allowed, array, kind, f"give an array of {held}")
        return array.astype(held)
    named = array.dtype.name.replace("_", "").replace("bfloat", "bf").replace("float", "f")
    fits = array.dtype == held or named == kind
    _require(fits, array, kind, f"give the bits, as an array of {held}")
    return array.view(held)


def _require(fits: bool, array: NDArray[Any], kind: str, fix: str) -> None:
    if not fits:
        raise LayoutError(
            f"an array of {array.dtype} does not hold elements of {kind}",
            "the bytes of a buffer depend on the element type",
            fix,
        )
