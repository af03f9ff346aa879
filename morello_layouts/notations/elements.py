"""Element types: their names, widths, and NumPy's types that hold them, in one table."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from morello_layouts.core.checks import Part, shown
from morello_layouts.errors import LayoutError


class Element(NamedTuple):
    """An element type."""

    name: str  #: as MLIR spells it, if it is a float; XLA writes it in lower case.
    bits: int  #: of a value; XLA keeps each value in whole bytes.
    numpy: str  #: NumPy's type that holds it, or its bits; ``-`` of a type that XLA lacks.


_TABLE: Final = """
    pred 1 bool; s1 1 int8; s2 2 int8; s4 4 int8; s8 8 int8; u1 1 uint8; u2 2 uint8; u4 4 uint8;
    u8 8 uint8; s16 16 int16; u16 16 uint16; f16 16 float16; bf16 16 uint16; s32 32 int32;
    u32 32 uint32; f32 32 float32; s64 64 int64; u64 64 uint64; f64 64 float64; c64 64 complex64;
    c128 128 complex128; f4E2M1FN 4 uint8; f6E2M3FN 6 uint8; f6E3M2FN 6 uint8; f8E3M4 8 uint8;
    f8E4M3 8 uint8; f8E4M3B11FNUZ 8 uint8; f8E4M3FN 8 uint8; f8E4M3FNUZ 8 uint8; f8E5M2 8 uint8;
    f8E5M2FNUZ 8 uint8; f8E8M0FNU 8 uint8; tf32 32 -; f80 80 -; f128 128 -;
"""

ELEMENTS: Final = [
    Element(name, int(bits), numpy)
    for name, bits, numpy in (row.split() for row in _TABLE.split(";")[:-1])
]
"""All element types, XLA's in its order."""

FLOATS: Final = {each.name for each in ELEMENTS if "f" in each.name}
"""MLIR's names of floats."""

_OF_XLA: Final = {each.name.lower(): each for each in ELEMENTS if each.numpy != "-"}

ELEMENT_BITS: Final = {name: max(each.bits, 8) for name, each in _OF_XLA.items()}
"""The bits of one element in a buffer of XLA without an ``E(bits)``."""

REGISTER_BITS: Final = {
    name: bits
    for bits, names in {
        1: "b1 u1",
        4: "s4 u4 e2m1 iu4",
        8: "s8 u8 e4m3 e5m2 e3m2 e2m3 i8 iu8 fp8 bf8 b8 hf8",
        16: "f16 bf16 b16 s16",
        32: "f32 tf32 s32 i32 xf32 b32",
        64: "f64",
        128: "c64",
        192: "gc64",
    }.items()
    for name in names.split()
}
"""The bits that an operand of a matrix instruction takes in registers, by the vendors' names.

``c64`` is CuTe's complex number of two f64; a value of 6 bits takes 8.
"""

_ANY: Final = f"one of {', '.join(ELEMENT_BITS)}"

# Types of values that are not arrays: they have no dimensions, no layout and no size.
OPAQUE_TYPES: Final = ("token", "opaque")

# How other systems write the types.
_OTHER_NAMES: Final = re.compile(r"(b?float|uint|int|complex|i)([0-9]+)(?:_?(e[a-z0-9]+))?_?")
_WORDS: Final = {
    "bool": "pred", "half": "f16", "float": "f32", "double": "f64",
    "int": "s32", "char": "s8", "byte": "u8", "fp32": "f32", "fp16": "f16",
}  # fmt: skip
_LETTERS: Final = {"float": "f", "bfloat": "bf", "uint": "u", "int": "s", "i": "s", "complex": "c"}


def bits_of(element_type: str) -> int:
    """Return the bits of one element without an ``E(bits)``.

    >>> bits_of("bf16"), bits_of("s4")
    (16, 8)
    """
    check_type(element_type, ("element_type",), others=())
    return ELEMENT_BITS[element_type]


def check_type(value: object, part: Part, others: tuple[str, ...] = OPAQUE_TYPES) -> None:
    if isinstance(value, str) and (value in ELEMENT_BITS or value in others):
        return
    near = nearest_type(value.lower()) if isinstance(value, str) else None
    raise LayoutError(
        f"{shown(value)} is not an XLA element type",
        "XLA has its own names for types, all in lower case",
        f"write {near or _ANY}",
        part=part,
    )


def type_name(given: Any, _: str, part: Part) -> str:
    """The kind of a field that names an element type, or a type that is not of arrays."""
    check_type(given, part)
    return str(given)


def nearest_type(text: str) -> str | None:
    """Return the element type that a name in lower case means, here or in other systems.

    >>> nearest_type("float32"), nearest_type("half"), nearest_type("bf16"), nearest_type("nhwc")
    ('f32', 'f16', 'bf16', None)
    """
    text = short_name(_WORDS.get(text, text))
    return text if text in ELEMENT_BITS else None


def short_name(text: str) -> str:
    """Return the short name of a type that NumPy or PyTorch names; another text as it is.

    >>> short_name("float32"), short_name("float8_e4m3fn"), short_name("float128")
    ('f32', 'f8e4m3fn', 'f128')
    """
    match = _OTHER_NAMES.fullmatch(text)
    return f"{_LETTERS[match[1]]}{match[2]}{match[3] or ''}" if match else text


def numpy_type(element_type: str) -> str:
    """Return the NumPy type that holds an element; types that NumPy lacks are held as their bits.

    >>> numpy_type("s4"), numpy_type("f32"), numpy_type("bf16")
    ('int8', 'float32', 'uint16')
    """
    check_type(element_type, ("element_type",), others=())
    return _OF_XLA[element_type].numpy
