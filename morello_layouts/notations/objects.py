"""Layouts of other libraries' objects, by the names of their types: no library is imported.

A reader stands in one table under the library's and the type's name, such as ``jax Format``; a
type counts for its subclasses. Values that are not in it are read by the protocols of arrays:
strides, ``__array_interface__`` and ``__dlpack__``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from math import prod
from typing import Any, Final, NoReturn

from morello_layouts.core.checks import shown
from morello_layouts.core.layout import (
    ELEMENT_BITS,
    Arrays,
    ElementType,
    Layout,
    as_layout,
    nearest_type,
    short_name,
)
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.notations import strided
from morello_layouts.notations.cute import ComposedLayout, CuteLayout, Swizzle
from morello_layouts.notations.cute.text import parse_cute
from morello_layouts.notations.functions import layout_of_sympy
from morello_layouts.notations.sharding.objects import sharding
from morello_layouts.notations.triton import TritonLayout
from morello_layouts.notations.triton.text import GLUON, encoding_of, nested
from morello_layouts.notations.xla import XlaLayout, XlaShape

Reader = Callable[[Any], Arrays | None]


def layout_of(value: Any) -> Arrays | None:
    """Return the layout that an object of another library has; None if none is known.

    Raises:
        LayoutError: if the object has a layout that cannot be said, or lacks what it needs.

    >>> import numpy as np
    >>> print(layout_of(np.zeros((4, 6))[:, ::2]))
    strided<[6, 2]>
    """
    read = _reader(type(value)) or _by_protocol
    try:
        return read(value)
    except LayoutError:
        raise
    except Exception as error:
        kind = type(value).__name__
        raise UnsupportedError(
            f"{kind}: expected the fields of a layout, got {type(error).__name__}: {error}",
            "an object is read by the fields that its library gives it",
            "give the library's own object, or a layout's text",
        ) from error


def _by_protocol(value: Any) -> Arrays | None:
    return strided.of(value) or as_layout(value) or _of_dlpack(value)


def _reader(kind: type) -> Reader | None:
    for each in kind.__mro__:
        library = each.__module__.partition(".")[0].replace("jaxlib", "jax")
        found = READERS.get(f"{library} {each.__name__.rpartition('.')[2]}")
        if found is not None:
            return found
    return None


# ---- JAX


def _refused(what: str, why: str, fix: str) -> NoReturn:
    raise UnsupportedError(what, why, fix)


def xla_element(dtype: Any) -> str:
    """Return XLA's name of a type that NumPy, JAX or PyTorch names.

    >>> xla_element("torch.bfloat16"), xla_element("float8_e4m3fn")
    ('bf16', 'f8e4m3fn')
    """
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    return nearest_type(name) or _refused(
        f"the elements: expected a type of numbers, got {name}",
        "XLA has layouts of numbers, bools and complex numbers",
        "ask about an array of these, such as the data behind a key",
    )


def _jax_layout(value: Any) -> Any:
    """Return the XLA layout of JAX's ``Layout``: its order and tiles."""
    order = getattr(value, "major_to_minor", None)
    if order is None:
        _refused(
            f"{shown(value)} is not a layout yet",
            "the compiler chooses a layout that is left open",
            "ask the array, or compiled.input_formats, which have the layout that was chosen",
        )
    tiles = tuple(tuple(map(int, tile)) for tile in value.tiling or ())
    bits = int(getattr(value, "sub_byte_element_size_in_bits", 0) or 0)
    return XlaLayout(tuple(map(int, order))[::-1], tiles, element_size_in_bits=bits)


def _devices(sharding: Any) -> int:
    return int(getattr(sharding, "num_devices", 1) or 1)


def _jax_array(value: Any) -> Layout:
    """Return the layout of what has a shape and a type; of its parts, if it is on many devices."""
    if callable(gone := getattr(value, "is_deleted", None)) and gone():
        _refused(
            f"{shown(value)} has no buffer",
            "it was deleted, or donated to a program",
            "ask about it before that",
        )
    own = getattr(getattr(value, "format", None), "layout", None)
    layout = None if own is None else _jax_layout(own)
    shape = XlaShape(xla_element(value.dtype), tuple(map(int, value.shape)), layout)
    placed = getattr(value, "sharding", None)
    if placed is None or _devices(placed) == 1 or getattr(placed.mesh, "empty", False):
        return shape
    return sharding(placed, shape)


def _jax_format(value: Any) -> Layout:
    """Return the layout that a ``Format`` says; its sharding counts only with an array's sizes."""
    if value.sharding is not None and _devices(value.sharding) > 1:
        _refused(
            f"{shown(value)} is of an array on {_devices(value.sharding)} devices",
            "the parts have sizes only with the array's",
            "ask the array itself, or give a ShapeDtypeStruct with this format as its sharding",
        )
    found: Layout = _jax_layout(value.layout)
    return found


def _alone(value: Any) -> NoReturn:
    _refused(
        f"{value} names axes of a mesh, and there is no mesh",
        "a PartitionSpec says which axes cut a dimension; their sizes are the mesh's",
        "give NamedSharding(mesh, spec), or the pair (mesh, spec)",
    )


def _program(value: Any) -> NoReturn:
    _refused(
        f"{type(value).__name__} is a program, not an array",
        "a program has a layout for each of its arrays",
        "ask ml.diagnose, ml.memory or ml.read_hlo about it, or index_map about one of "
        "compiled.input_formats",
    )


def _block_spec(value: Any) -> NoReturn:
    _refused(
        f"{shown(value)} has blocks, and no places of elements",
        "a BlockSpec says which elements each step of a grid reads",
        "ask ml.blocks(spec, shape, grid)",
    )


# ---- PyTorch


def _torch_tensor(value: Any) -> Layout:
    if str(value.layout) != "torch.strided" or getattr(value, "is_nested", False):
        kind = "nested" if getattr(value, "is_nested", False) else str(value.layout)
        _refused(
            f"a tensor: expected strides, got {kind}",
            "a sparse or nested tensor keeps its values in several arrays",
            "ask about one of these, such as tensor.values(), or about tensor.to_dense()",
        )
    found = strided.of(value)
    if found is None:
        _refused("a tensor without strides", "its elements have no places", "give a plain tensor")
    return found


# ---- CuTe


def _cute(value: Any) -> Layout:
    """Return the layout of a value with a shape and strides as CuTe has them."""
    return CuteLayout(nested(value.shape), nested(value.stride))


def _composed(value: Any) -> Layout:
    """Return the layout of a swizzle before a layout: of its outer part, offset and inner part."""
    outer = getattr(value, "outer", None) or getattr(value, "layoutB", None)
    inner = getattr(value, "inner", None) or getattr(value, "layoutA", None)
    if "Swizzle" in type(inner).__name__:  # pycute names them the other way around
        outer, inner = inner, outer
    if "Swizzle" not in type(outer).__name__:
        _refused(
            f"{shown(value)}: expected a swizzle before a layout",
            "CuTe composes a swizzle, an offset and a layout",
            "compose the two layouts first, and give the result",
        )
    own: Any = layout_of(inner)
    numbers = [
        getattr(outer, one, getattr(outer, other, 0))
        for one, other in (("bits", "num_bits"), ("base", "num_base"), ("shift", "num_shft"))
    ]
    return ComposedLayout(Swizzle(*map(int, numbers)), layout=own, offset=int(value.offset or 0))


def _by_text(value: Any) -> Arrays:
    """Return the layout that an object prints, such as CuTe's own in Python."""
    return parse_cute(str(value))


# ---- Triton


# Gluon's layouts: the kind of the encoding, and its fields by the names that Triton prints.
def _gluon(value: Any) -> Layout:
    shape = getattr(value, "shape", None) if "shape" in GLUON[type(value).__name__][1] else None
    return TritonLayout(encoding_of(value), None if shape is None else nested(shape))


def _open_gluon(value: Any) -> NoReturn:
    _refused(
        f"{type(value).__name__} is not a layout yet",
        "Triton's compiler chooses it",
        "give the layout that the compiled kernel has: kernel.asm['ttgir']",
    )


# ---- tuples, and arrays by their protocols


def _tuple(value: Any) -> Layout | None:
    """Return the sharding of a mesh and a spec, or of a mesh and placements."""
    if len(value) == 2 and "Mesh" in type(value[0]).__name__:
        return sharding(value)
    if value and all(isinstance(n, int) for n in value):
        _refused(
            f"{value}: expected a layout, got a tuple of numbers",
            "it may be strides in elements as PyTorch's, in bytes as NumPy's, or sizes",
            f"give the array itself, or write strided<{[*value]}> for strides in elements",
        )
    if value and all(type(n).__name__ in ("Shard", "Replicate", "Partial") for n in value):
        _refused(
            f"{value}: expected a sharding, got placements without a mesh",
            "placements say what happens along each axis of a mesh",
            "give the DTensor, or the pair (mesh, placements)",
        )
    return None


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _TypedTensor(ctypes.Structure):
    """``DLTensor`` of DLPack's header."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_CODES: Final = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


def _of_dlpack(value: Any) -> Layout | None:
    """Return the strides that ``__dlpack__`` gives; the buffer begins at the lowest address."""
    export = getattr(value, "__dlpack__", None)
    if isinstance(value, type) or not callable(export) or sys.implementation.name != "cpython":
        return None
    capsule = export()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _TypedTensor.from_address(pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    dense = (prod(shape[k + 1 :]) for k in range(tensor.ndim))
    steps = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else (*dense,)
    kind, bits = _CODES.get(tensor.dtype.code, ""), tensor.dtype.bits * tensor.dtype.lanes
    name = short_name(f"{kind}{bits}") if kind != "bool" else "pred"
    element = ElementType(name if name in ELEMENT_BITS else None, bits)
    back = sum(min(0, d * (n - 1)) for n, d in zip(shape, steps, strict=True) if n)
    return strided.StridedLayout(steps, -back, shape, None, element)


def _memory_format(value: Any) -> Layout:
    return strided.MemoryFormat(str(value).rpartition(".")[2])


READERS: Final[dict[str, Reader]] = {
    "builtins tuple": _tuple,
    "cute ComposedLayout": _composed,
    "cute Layout": _cute,
    "cutlass Layout": _by_text,
    "cutlass _ComposedLayout": _by_text,
    "cutlass _Layout": _by_text,
    "jax Array": _jax_array,
    "jax BlockSpec": _block_spec,
    "jax Compiled": _program,
    "jax Format": _jax_format,
    "jax GSPMDSharding": sharding,
    "jax Layout": _jax_layout,
    "jax Lowered": _program,
    "jax NamedSharding": sharding,
    "jax P": _alone,
    "jax PartitionSpec": _alone,
    "jax ShapeDtypeStruct": _jax_array,
    "jax ShapedArray": _jax_array,
    "jax Tracer": _jax_array,
    "pycute ComposedLayout": _composed,
    "pycute Layout": _cute,
    "sympy Expr": layout_of_sympy,
    "tensor_layouts ComposedLayout": _composed,
    "tensor_layouts Layout": _cute,
    "torch DTensor": sharding,
    "torch Tensor": _torch_tensor,
    "torch memory_format": _memory_format,
    "triton AutoLayout": _open_gluon,
    "triton CoalescedLayout": _open_gluon,
    **{f"triton {name}": _gluon for name in GLUON},
}
"""The readers, by library and type."""
