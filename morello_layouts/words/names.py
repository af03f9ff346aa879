"""Names of dimensions, and the few ways in which numbers and lists are said."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

__all__ = ["amount", "count", "dimension_names", "listed", "times"]

_NAMES = {1: "x", 2: "yx", 3: "zyx", 4: "pzyx"}


def dimension_names(rank: int) -> tuple[str, ...]:
    """The dimensions' names as XLA's documents give them up to rank 4, then d0, d1, ….

    >>> dimension_names(3), dimension_names(5)
    (('z', 'y', 'x'), ('d0', 'd1', 'd2', 'd3', 'd4'))
    """
    return tuple(_NAMES.get(rank, "")) or tuple(f"d{k}" for k in range(rank))


def amount(n: int) -> str:
    """A number with commas; past 30 digits only how large it is.

    >>> amount(4096), amount(2**1000)
    ('4,096', 'about 10^301')
    """
    return f"{n:,}" if n < 10**30 else f"about 10^{int(n.bit_length() * log10(2))}"


def count(n: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "tile"), count(4096, "tile")
    ('1 tile', '4,096 tiles')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """Words with commas and an 'and'.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def times(sizes: Sequence[object]) -> str:
    """Sizes with a cross between; 1 for none.

    >>> times((8, 128))
    '8 × 128'
    """
    return " × ".join("?" if n is None else str(n) for n in sizes) or "1"
