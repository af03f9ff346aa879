"""Where functions that pack an array put its elements, and where a buffer holds them.

A packer is called on the numbers of the elements. If these are not in what it returns, its items
are narrower than they: then each bit of an item is packed for itself, on and off by the bits of the
elements' numbers, so that a bit of the buffer spells the number of the element that it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import delinearize
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.recover.layouts import Observed

if TYPE_CHECKING:
    from morello_layouts.outputs.recover.tables import Numbers

_TYPES: Final = ("uint8", "uint32", "int32", "int64")
"""The types of arrays that a packer of narrow items is called on."""


def packed(function: Callable[..., Any], shape: Sequence[int], name: str) -> Observed:
    """Return where a function puts the elements of an array of a shape."""
    count = prod(shape)
    numbers = np.arange(1, count + 1).reshape(shape)
    buffer = _call(function, numbers, name).reshape(-1)
    if buffer.dtype.kind not in "iuf":
        raise LayoutError(
            f"{name}: expected an array of integers, got one of {buffer.dtype}",
            "a function that packs an array returns the buffer",
            "let it return the array of what the buffer holds",
        )
    found = spelled(buffer, count)
    again = numbers.reshape(-1)[::-1].reshape(shape)
    if found is not None:
        other = _call(function, again, name).reshape(-1)
        if other.shape == buffer.shape and (other[found] == again.reshape(-1, 1)).all():
            return copies_at(found, shape, len(buffer))
    bits = _bit_by_bit(function, shape, name)
    if bits is not None:
        return bits
    missing = np.flatnonzero(~np.isin(numbers.reshape(-1), buffer))
    at = delinearize(int(missing[0]) if len(missing) else 0, tuple(shape))
    raise LayoutError(
        f"{name}: the element at {at} is not in what it returns",
        "a function that packs an array moves its elements, or each of their bits",
        "give a function from an array to the buffer",
    )


def spelled(numbers: Any, count: int) -> Numbers | None:
    """Return the slots of each element, whose numbers from 1 are in slots.

    None if elements are missing, or have more copies than others.
    """
    slots = np.flatnonzero((numbers > 0) & (numbers <= count))
    each = np.bincount(numbers[slots].astype(np.int64), minlength=count + 1)[1:]
    if not each[0] or (each != each[0]).any():
        return None
    order = np.argsort(numbers[slots], kind="stable")
    return np.asarray(slots[order].reshape(count, each[0]), np.int64)


def copies_at(slots: Numbers, shape: Sequence[int], size: int) -> Observed:
    """Return the table of slots, with a dimension for the copies of an element if it has some."""
    if slots.shape[1] == 1:
        return Observed(slots.reshape(shape), size)
    return Observed(slots.reshape(*shape, -1), size, "copy")


def _bit_by_bit(function: Callable[..., Any], shape: Sequence[int], name: str) -> Observed | None:
    """The slots of the bits of items, for the type of array that fills the buffer the most."""
    found = list[Observed]()
    for kind in _TYPES:
        with suppress(LayoutError):
            one = _bits(function, tuple(shape), np.dtype(kind), name)
            found += [one] if one is not None else []
    return min(found, key=lambda one: (one.size or 0) * (one.bits or 1), default=None)


def _bits(
    function: Callable[..., Any], shape: tuple[int, ...], kind: Any, name: str
) -> Observed | None:
    count = prod(shape)
    numbers = np.arange(1, count + 1).reshape(shape)

    def of(values: Any) -> Any:
        result = np.ascontiguousarray(_call(function, values.astype(kind), name))
        if result.dtype.kind not in "iu":
            raise LayoutError(f"{name}: expected integers, got {result.dtype}")
        return np.unpackbits(result.reshape(-1).view(np.uint8), bitorder="little")

    zero = of(numbers * 0)
    taken, planes = np.zeros(len(zero), bool), list["Numbers"]()
    for bit in range(kind.itemsize * 8):
        numbered = np.zeros(len(zero), np.int64)
        for k in range(count.bit_length()):
            numbered += (of((numbers >> k & 1) << bit) ^ zero).astype(np.int64) << k
        slots = spelled(numbered, count)
        if slots is None or slots.shape[1] > 1 or taken[slots].any():
            break
        taken[slots] = True
        planes.append(slots[:, 0])
    width = len(planes)
    if not width:
        return None
    items = np.random.default_rng(0).integers(0, 1 << min(width, 62), shape)
    expected, slots = zero.copy(), np.stack(planes, -1)
    expected[slots] ^= (items.reshape(-1, 1) >> np.arange(width) & 1).astype(np.uint8)
    if not np.array_equal(of(items), expected):
        return None
    if (slots == slots[:, :1] + np.arange(width)).all() and not (slots[:, 0] % width).any():
        return Observed(slots[:, 0].reshape(shape) // width, len(zero) // width, bits=width)
    return Observed(slots.reshape(*shape, width), len(zero), "bit", 1)


def _call(function: Callable[..., Any], array: Numbers, name: str) -> Any:
    """Call a function that packs an array, which it may not write to."""
    kept = array.copy()
    kept.flags.writeable = False
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(kept))
    except Exception as error:
        changed = array.copy()
        with suppress(Exception):
            function(changed)
        if (written := np.flatnonzero((changed != array).reshape(-1))).size:
            at = delinearize(int(written[0]), array.shape)
            raise LayoutError(
                f"{name} writes to its argument, first at {at}",
                "a function that packs an array returns the buffer",
                "let it change a copy",
            ) from None
        what = f"{name}: {type(error).__name__}: {error}"
        raise LayoutError(what, "it was called on an array of the shape", "correct it") from error
