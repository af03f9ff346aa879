"""XLA's element types and how many bits each takes in a buffer.

Types narrower than a byte take a whole byte unless the layout's ``E(bits)`` packs them.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ELEMENT_BITS", "INTEGER_TYPES", "OPAQUE_TYPES", "bits_of"]

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

# Types of values that are not arrays: they have no dimensions, no layout and no size.
OPAQUE_TYPES: Final = ("token", "opaque")

# Types that a layout's '#(…)' and '*(…)' may name.
INTEGER_TYPES: Final = tuple(t for t in ELEMENT_BITS if t[0] in "su")


def bits_of(element_type: str) -> int:
    """Bits that one element takes where no ``E(bits)`` says otherwise.

    >>> bits_of("bf16"), bits_of("s4")
    (16, 8)
    """
    return ELEMENT_BITS[element_type]
