"""Pack NumPy arrays into buffers and unpack them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from morello_layouts.core import recipe
from morello_layouts.core.checks import shown
from morello_layouts.core.layout import ElementType
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps import IndexMap
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.interfaces.api.layouts import LayoutLike, index_map
from morello_layouts.notations.xla import numpy_type
from morello_layouts.outputs.kernels import compiled_relayout, thread_count
from morello_layouts.outputs.kernels.relayout import held_as_bits, item_type, padding_item

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_elements(array: NDArray[Any], element: ElementType) -> NDArray[Any]:
    """Return an array's values in an element type of XLA.

    Integers and booleans keep their values; other numbers are rounded to a type that NumPy has. For
    a type that NumPy lacks, such as bf16, the array holds the bits: unsigned integers of its width,
    or a type of another library of that name.

    >>> as_elements(np.array([1, 2]), ElementType("f32", 32))
    array([1., 2.], dtype=float32)
    """
    kind = element.name
    assert kind is not None
    held = np.dtype(numpy_type(kind))
    if kind == "pred" or (kind[0] in "su" and kind[1:].isdigit()):
        _require(array.dtype.kind in "biu", array, kind, "give integers or booleans")
        bits = 1 if kind == "pred" else min(int(kind[1:]), element.bits)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, 2**bits - 1)
        least, largest = (int(array.min()), int(array.max())) if array.size else (low, high)
        if least < low or largest > high:
            raise LayoutError(
                f"expected values of {kind}, got {least if least < low else largest}",
                f"an element of {kind} in {element.bits} bits holds {low} to {high}",
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
            f"expected an array of {kind}, got {array.dtype}",
            "the bytes of a buffer depend on the element type",
            fix,
        )


def pack(
    layout: LayoutLike,
    array: Any,
    *,
    fill: Any = 0,
    as_bytes: bool = False,
    compiled: bool = False,
    threads: int | None = None,
    notation: str | None = None,
) -> NDArray[Any]:
    """Return the buffer that holds an array in a layout: 1-D, one item for each slot.

    Args:
        layout: text, a layout, or an index map.
        array: the array, of the layout's shape.
        fill: the value of padding; with ``as_bytes`` the bits of types that NumPy lacks.
        as_bytes: return bytes, each element in the layout's element type and in as many bits as the
            device uses (``E(4)``: 4, low bits first); without an element type as an item of the
            array.
        compiled: build a kernel for the layout by the system's C compiler, once, and run that.
        threads: the most threads that share the work of the kernel; by default one.
        notation: the notation of a text, as for ``parse``.

    Raises:
        ShapeError: if the array does not have the layout's shape.
        LayoutError: if a value does not fit the element type of the bytes, padding cannot hold the
            fill, ``threads`` is not a number, or threads have no kernel to run.

    >>> pack("{1,0:T(2,2)}", [[1, 2, 3]], fill=0)
    array([1, 2, 0, 0, 3, 0, 0, 0])
    >>> pack("u4[4]{0:E(4)}", [1, 2, 3, 4], as_bytes=True)
    array([33, 67], dtype=uint8)
    """
    if isinstance(array, str):
        raise LayoutError(
            f"array: expected an array, got the text {shown(array)}",
            "the layout comes first, the array second",
            "write pack(layout, array)",
        )
    array = _array(array)
    m = index_map(layout, array.shape, notation=notation)
    element = _named(m) if as_bytes else None
    if element is not None:
        array = as_elements(array, element)
    item = _padding(fill, array.dtype, element) if m.padding else np.zeros((), array.dtype)
    count = _threads(threads, compiled=compiled)
    _require_memory(m, array.dtype)
    if compiled:
        recipes = recipe.Recipe(array.shape), m.recipe
        dtype = item_type(array.dtype)
        move = compiled_relayout(*recipes, dtype, item.tobytes(), threads=count)
        buffer = move(np.ascontiguousarray(array).reshape(-1))
    else:
        buffer = recipe.pack_array(m.recipe, array, item[()])
    return recipe.to_bytes(buffer, _bits(m, array.dtype)) if as_bytes else buffer


def _require_memory(m: IndexMap, dtype: np.dtype[Any]) -> None:
    """Raise a LayoutError if the machine has no room for a map's buffer."""
    try:
        np.empty(m.size, dtype)
    except (MemoryError, ValueError) as error:
        raise LayoutError(
            f"the buffer has {m.size:,} items of {dtype.itemsize} bytes",
            str(error),
            "pack an array that fits, or choose smaller tiles",
        ) from None


def unpack(
    layout: LayoutLike,
    buffer: Any,
    shape: Sequence[int] | None = None,
    *,
    as_bytes: bool = False,
    dtype: Any = None,
    compiled: bool = False,
    threads: int | None = None,
    notation: str | None = None,
) -> NDArray[Any]:
    """Return the array that a 1-D buffer holds in a layout; padding may hold any value.

    Args:
        layout: text, a layout, or an index map.
        buffer: one item for each slot; bytes with ``as_bytes``.
        shape: the sizes, if the layout does not carry them.
        as_bytes: the buffer is bytes, as :func:`pack` returns them.
        dtype: the NumPy type of the items that bytes become; by default that of the element type.
        compiled: build a kernel for the layout by the system's C compiler, once, and run that.
        threads: the most threads that share the work of the kernel; by default one.
        notation: the notation of a text, as for ``parse``.

    Raises:
        ShapeError: if the buffer does not have the layout's size.
        LayoutError: if the type of bytes is unknown, ``threads`` is not a number, or threads have
            no kernel to run.

    >>> unpack("u8[1,3]{1,0:T(2,2)}", [1, 2, 9, 9, 3, 9, 9, 9])
    array([[1, 2, 3]])
    >>> unpack("u4[4]{0:E(4)}", b"!C", as_bytes=True)
    array([1, 2, 3, 4], dtype=uint8)
    """
    m = index_map(layout, shape, notation=notation)
    if as_bytes:
        buffer = _items(m, buffer, _dtype(m, dtype))
    buffer = np.asarray(buffer)
    if buffer.shape != (m.size,):
        raise ShapeError(
            f"the buffer: expected {m.size} items, got an array of shape {buffer.shape}",
            f"the layout spans {m.size} elements",
            f"give a 1-D array of {m.size} items",
        )
    count = _threads(threads, compiled=compiled)
    if compiled:
        shape, items = recipe.known(m.recipe.shape), item_type(buffer.dtype)
        move = compiled_relayout(m.recipe, recipe.Recipe(shape), items, threads=count)
        return move(buffer).reshape(shape)
    return recipe.unpack_array(m.recipe, buffer)


def _array(given: Any) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:
        raise LayoutError(
            "expected an array, got lists of different lengths",
            "an array has one length along each dimension",
            "give an array, or lists of one length",
        ) from None


def _named(m: IndexMap) -> ElementType | None:
    """Return the element type if the layout names it; some give its bits alone."""
    return None if m.element_type is None or m.element_type.name is None else m.element_type


def _padding(fill: Any, dtype: np.dtype[Any], element: ElementType | None) -> NDArray[Any]:
    """Return an item of padding; it is a value of the element type, if there is one."""
    if element is None:
        return padding_item(fill, dtype, None)
    item = padding_item(fill, dtype, element.name if held_as_bits(element.name or "") else None)
    as_elements(item, element)
    return item


def _threads(threads: Any, *, compiled: bool) -> int:
    count = thread_count(threads)
    if threads is not None and not compiled:
        raise LayoutError(
            "threads were given without a kernel",
            "NumPy works on one thread",
            "give compiled=True too, or leave out the argument threads",
        )
    return count


def _bits(m: IndexMap, dtype: np.dtype[Any]) -> int:
    element = _named(m)
    return dtype.itemsize * 8 if element is None else element.bits


def _dtype(m: IndexMap, given: Any) -> np.dtype[Any]:
    element = _named(m)
    if given is None and element is None:
        raise LayoutError(
            f"no type given for the bytes of {m.source}",
            "the layout does not name its element type",
            "give the type, such as dtype='float32'",
        )
    if given is None and element is not None:
        given = numpy_type(element.name or "")
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except (TypeError, ValueError, SyntaxError):  # the last two of texts with commas
        raise LayoutError(
            f"dtype: expected a type of NumPy, got {shown(given)}",
            "bytes become items of a type",
            "give the type, such as dtype='float32'",
        ) from None
    return dtype


def _items(m: IndexMap, data: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the items of a buffer of bytes."""
    if isinstance(data, bytes | bytearray | memoryview):
        data = np.frombuffer(data, np.uint8)
    data, bits = np.asarray(data), _bits(m, dtype)
    size = -(-m.size * bits // 8)
    if data.dtype != np.uint8 or data.shape != (size,):
        raise ShapeError(
            f"the buffer: expected {size} bytes, got an array of {data.dtype} and shape "
            f"{data.shape}",
            f"the layout spans {m.size} elements of {bits} bits",
            f"give {size} bytes",
        )
    return recipe.from_bytes(data, bits, m.size, dtype)
