"""Bytes as people read them, as XLA prints them, and the names of memory spaces."""

from __future__ import annotations

import re
from typing import Final

from morello_layouts.words.names import amount

__all__ = ["bytes_of_text", "bytes_text", "factor_text", "space_name", "xla_size"]

_UNITS: Final = "KMGTPE"
_SIZE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([KMGTPE]?)(?:i?B)?", re.ASCII)

_SPACES: Final = {0: "HBM", 1: "VMEM", 2: "SMEM", 4: "host", 5: "host"}


def bytes_text(n: int) -> str:
    """A number of bytes, in the largest unit that it fills.

    >>> bytes_text(512), bytes_text(41943040)
    ('512 B', '40.00 MiB')
    """
    if abs(n) < 1024:
        return f"{n} B"
    power = min((abs(n).bit_length() - 1) // 10, len(_UNITS))
    if abs(n) >= 1 << 90:
        return f"{amount(n)} B"
    return f"{n / (1 << 10 * power):,.2f} {_UNITS[power - 1]}iB"


def xla_size(n: int) -> str:
    """A number of bytes as XLA's out-of-memory reports write it, with their rounding.

    >>> xla_size(0), xla_size(12288), xla_size(6392119296)
    ('0B', '12.0K', '5.95G')
    """
    if n < 1024:
        return f"{n}B"
    unit = 0
    while n >= 1 << 20 and unit + 1 < len(_UNITS):
        n, unit = n >> 10, unit + 1
    if n >= 1 << 100:
        return f"{amount(n >> 10)}{_UNITS[unit]}"
    return f"{n / 1024:.{2 if unit else 1}f}{_UNITS[unit]}"


def bytes_of_text(text: str) -> int | None:
    """The bytes that such a text stands for, to its precision; None where it is no size.

    >>> bytes_of_text("1.50M"), bytes_of_text("6.00MiB"), bytes_of_text("unknown")
    (1572864, 6291456, None)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power = _UNITS.index(match[2]) + 1 if match[2] else 0
    return round(float(match[1]) * (1 << 10 * power))


def factor_text(factor: float) -> str:
    """How many times the data a buffer takes.

    >>> factor_text(1.0), factor_text(12.642)
    ('1x', '12.64x')
    """
    return "1x" if factor == 1 else f"{factor:,.2f}x"


def space_name(space: int) -> str:
    """What a memory space is called on a TPU.

    >>> space_name(1), space_name(9)
    ('VMEM', 'memory space 9')
    """
    return _SPACES.get(space, f"memory space {space}")
