"""Micro-kernels: what the innermost loop of a relayout does to a few hundred bytes at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from morello_layouts.expr.size import Number

__all__ = ["Copy", "Fill", "Levels", "Micro", "Move", "Transposition", "Unzip", "Zip", "offsets"]

# Pairs (count, stride in bytes), the fastest first: where item i of a chain of axes lies.
Levels: TypeAlias = tuple[tuple[int, Number], ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Move bytes that are neighbours in both buffers.

    >>> Copy(512)
    Copy(size=512)
    """

    size: Number


@dataclass(frozen=True, slots=True)
class Move:
    """Move one element of 1, 2, 4, 8 or 16 bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class Fill:
    """Write padding over neighbouring bytes."""

    size: Number


@dataclass(frozen=True, slots=True)
class Zip:
    """Interleave the elements of ``rows`` rows of ``width`` bytes into one run.

    Attributes:
        element: bytes of an element.
        rows: how many, a power of two.
        width: bytes of each row, 16, 32 or 64.
        source: where the rows lie.
    """

    element: int
    rows: int
    width: int
    source: Levels


@dataclass(frozen=True, slots=True)
class Unzip:
    """Take one run apart into ``rows`` rows of ``width`` bytes: the way back of :class:`Zip`."""

    element: int
    rows: int
    width: int
    target: Levels


@dataclass(frozen=True, slots=True)
class Transposition:
    """Transpose a block: runs of the source become columns, runs of the target rows.

    Rows that lie a power of two apart evict one another from the caches: they are first copied side
    by side. Then the block is transposed in registers, 16 bytes of ``width / element`` rows at a
    time. Other rows are read where they lie.

    Attributes:
        element: bytes of an element, at most 8.
        width: bytes of a vector in the target, 16, 32 or 64.
        source: where the rows of the source lie; a multiple of width / element of them.
        target: where the rows of the target lie; a multiple of 16 / element of them.
        ahead: how far from this block the next one lies in the source, in bytes.
        direct: whether rows are read where they lie; ``source`` is then one level.
    """

    element: int
    width: int
    source: Levels
    target: Levels
    ahead: Number = 0
    direct: bool = False

    @property
    def rows(self) -> int:
        """Rows of the source.

        >>> Transposition(4, 64, ((16, 1024),), ((32, 4096),)).rows
        16
        """
        return prod(count for count, _ in self.source)

    @property
    def columns(self) -> int:
        """Rows of the target.

        >>> Transposition(4, 64, ((16, 1024),), ((32, 4096),)).columns
        32
        """
        return prod(count for count, _ in self.target)


Micro: TypeAlias = Copy | Move | Fill | Zip | Unzip | Transposition


def offsets(levels: Levels) -> list[Number]:
    """Where each item lies, in bytes.

    >>> offsets(((2, 10), (3, 100)))
    [0, 10, 100, 110, 200, 210]
    """
    found: list[Number] = [0]
    for count, stride in levels:
        found = [x + k * stride for k in range(count) for x in found]
    return found
