"""XLA's element types and tiles."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from morello_layouts.checks import Part, shown
from morello_layouts.errors import LayoutError
from morello_layouts.expr.sizes import Int

Tile: TypeAlias = tuple[Int, ...]

COMBINE: Final = -1
"""A tile's ``*``: combine this dimension with the next more minor one."""


ELEMENT_BITS: Final[dict[str, int]] = {
    "pred": 8,
    **dict.fromkeys(("s1", "s2", "s4", "s8", "u1", "u2", "u4", "u8"), 8),
    **dict.fromkeys(("s16", "u16", "f16", "bf16"), 16),
    **dict.fromkeys(("s32", "u32", "f32"), 32),
    **dict.fromkeys(("s64", "u64", "f64", "c64"), 64),
    "c128": 128,
    **dict.fromkeys(
        (
            "f4e2m1fn",
            "f6e2m3fn",
            "f6e3m2fn",
            "f8e3m4",
            "f8e4m3",
            "f8e4m3b11fnuz",
            "f8e4m3fn",
            "f8e4m3fnuz",
            "f8e5m2",
            "f8e5m2fnuz",
            "f8e8m0fnu",
        ),
        8,
    ),
}

_ANY: Final = f"one of {', '.join(ELEMENT_BITS)}"

# Types of values that are not arrays: they have no dimensions, no layout and no size.
OPAQUE_TYPES: Final = ("token", "opaque")

# How other systems write the types.
_OTHER_NAMES: Final = re.compile(r"(float|uint|int|complex|i)(\d+)")
_WORDS: Final = {
    "bool": "pred", "bfloat16": "bf16", "half": "f16", "float": "f32", "double": "f64",
    "int": "s32", "char": "s8", "byte": "u8", "fp32": "f32", "fp16": "f16",
    "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2",
}  # fmt: skip
_LETTERS: Final = {"float": "f", "uint": "u", "int": "s", "i": "s", "complex": "c"}


def bits_of(element_type: str) -> int:
    """Return the bits of one element without an ``E(bits)``.

    >>> bits_of("bf16"), bits_of("s4")
    (16, 8)
    """
    check_type(element_type, ("element_type",), others=())
    return ELEMENT_BITS[element_type]


def check_type(value: object, part: Part, others: tuple[str, ...] = OPAQUE_TYPES) -> None:
    """Raise a LayoutError if a value does not name an XLA element type."""
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
    text = _WORDS.get(text, text)
    if match := _OTHER_NAMES.fullmatch(text):
        text = f"{_LETTERS[match[1]]}{match[2]}"
    return text if text in ELEMENT_BITS else None


def numpy_type(element_type: str) -> str:
    """Return the NumPy type that holds an element; types that NumPy lacks are held as their bits.

    >>> numpy_type("s4"), numpy_type("f32"), numpy_type("bf16")
    ('int8', 'float32', 'uint16')
    """
    bits = bits_of(element_type)
    if element_type == "pred":
        return "bool"
    if element_type in ("f16", "f32", "f64"):
        return f"float{bits}"
    if element_type[0] == "c":
        return f"complex{bits}"
    return f"{'int' if element_type[0] == 's' else 'uint'}{bits}"
