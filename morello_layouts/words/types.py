"""XLA's element types in words."""

from __future__ import annotations

import re

__all__ = ["type_in_words", "width_in_words"]

_FLOAT = re.compile(r"f(\d+)e(\d+)m(\d+)(b11)?(fn)?(uz|u)?")
_WHOLE = {
    "pred": "truth values",
    "bf16": "brain floating point of 16 bits",
    "c64": "complex numbers of two f32",
    "c128": "complex numbers of two f64",
    "token": "a token: it orders side effects and holds no data",
    "opaque": "an opaque value: it has no elements and no layout",
}
_KINDS = {"s": "signed integers", "u": "unsigned integers", "f": "floating point"}


def type_in_words(name: str) -> str:
    """What an element type is.

    >>> type_in_words("f8e4m3fn")
    'floating point of 8 bits (4 exponent, 3 mantissa; no infinities)'
    """
    if name in _WHOLE:
        return _WHOLE[name]
    small = _FLOAT.fullmatch(name)
    if small is None:
        return f"{_KINDS[name[0]]} of {name[1:]} bits"
    bits, exponent, mantissa, bias, finite, unsigned = small.groups()
    notes = [f"{exponent} exponent, {mantissa} mantissa"]
    if bias:
        notes.append("bias 11")
    if finite:
        notes.append("no infinities")
    if unsigned == "uz":
        notes.append("no negative zero")
    elif unsigned:
        notes.append("no sign")
    return f"floating point of {bits} bits ({'; '.join(notes)})"


def own_bits(name: str) -> int:
    """Bits that a value of the type needs, whatever it is stored in; 8 for pred."""
    digits = re.search(r"\d+", name)
    return int(digits[0]) if digits else 8


def width_in_words(name: str, stored: int) -> str:
    """How an element of the type is stored without an ``E(bits)``.

    >>> width_in_words("s4", 8)
    'a whole byte each'
    """
    if stored == 8:
        return "1 byte each" if own_bits(name) == 8 else "a whole byte each"
    return f"{stored // 8} bytes each"
