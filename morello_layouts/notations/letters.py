"""Letters of dimensions, and the order in which an array has them."""

from __future__ import annotations

from typing import Final

ALPHABET: Final = "abcdefghijkl"
"""Letters of the dimensions of any array, in their order."""

ORDERS: Final = (
    *("x", "nc", "ncw", "nchw", "ncdhw"),
    *("oi", "oiw", "oihw", "oidhw", "goiw", "goihw", "goidhw"),
    *("tn", "tnc", "ldnc", "ldio", "ldgo", "ldigo"),
)
"""Letters of activations, weights and states, in the order of the dimensions."""

NAMES: Final = {
    "n": "batch", "c": "channels", "d": "depth", "h": "height", "w": "width",
    "g": "groups", "o": "output channels", "i": "input channels", "t": "time", "l": "layers",
}  # fmt: skip
"""What each letter of these means."""


def logical_order(letters: str) -> str:
    """Return letters in the order of the array's dimensions; unknown ones keep theirs.

    >>> logical_order("nhwc"), logical_order("hwio"), logical_order("ba"), logical_order("mk")
    ('nchw', 'oihw', 'ab', 'mk')
    """
    known = (ALPHABET[: len(letters)], *ORDERS)
    return next((order for order in known if sorted(order) == sorted(letters)), letters)
