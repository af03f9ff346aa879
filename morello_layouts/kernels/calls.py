"""Short calls: a kernel as a builtin function of two arrays, by Python's stable ABI."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from importlib.resources import files
from typing import Any, Final, TypeAlias

import numpy as np

# Move the first array to the second; False, with nothing done, if they are not plain arrays of the
# type and the sizes, apart from one another.
Quick: TypeAlias = Callable[[Any, Any], bool]

_FASTCALL: Final = 0x80
_FUNCTIONS: Final = (
    "PyBytes_AsString",
    "PyObject_Type",
    "PyObject_GetAttr",
    "PyObject_RichCompareBool",
    "Py_IncRef",
    "Py_DecRef",
    "PyObject_GetBuffer",
    "PyBuffer_Release",
    "PyErr_Clear",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
_OBJECTS: Final = (True, False, np.ndarray, sys.intern("dtype"))


class Method(ctypes.Structure):
    """``PyMethodDef`` of the stable ABI."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def slow(*_: object) -> bool:
    """Move nothing, so that the caller's own way does it."""
    return False


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def call_text() -> str:
    """Return the C source of the function that :func:`method_of` takes.

    >>> call_text().splitlines()[0]
    "/* A kernel as a function of two NumPy arrays, for calls shorter than Python's own checks."
    """
    return files("morello_layouts.kernels").joinpath("call.c").read_text("utf-8")


def method_of(start: Any) -> Method | None:
    """Return the method that calls kernels, from the built function ``relayout_call``.

    None where Python has no such ABI.
    """
    if sys.implementation.name != "cpython":
        return None
    functions = [getattr(ctypes.pythonapi, name) for name in _FUNCTIONS]
    addresses = [*map(_address, functions), *map(id, _OBJECTS)]
    start.restype = ctypes.c_void_p
    return Method(b"move", start(struct.pack(f"{len(addresses)}P", *addresses)), _FASTCALL, None)


def quick_call(
    method: Method | None,
    entry: Any,
    dtype: np.dtype[Any],
    sizes: tuple[int, int],
    *,
    given: bytes | None,
    phases: int,
) -> Quick:
    """Return a kernel as a builtin function; :func:`slow` if there is none.

    Args:
        method: what calls kernels; it must outlive the function.
        entry: the kernel's function by ctypes.
        dtype: the type of an item, which must outlive the function.
        sizes: items of the source and of the target.
        given: sizes and fill in bytes; None if the kernel takes none.
        phases: phases of a kernel that threads can share, here one; else 0.
    """
    if method is None:
        return slow
    packed = struct.pack("PPnnNN", _address(entry), id(dtype), *sizes, given is not None, phases)
    kinds = ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(("PyCFunction_NewEx", ctypes.pythonapi))
    found: Quick = make(ctypes.addressof(method), packed + (given or b""), None)
    return found
