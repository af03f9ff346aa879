"""Messages: which elements one device sends to another, as runs along each dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from morello_layouts.description import count


@dataclass(frozen=True, slots=True)
class Run:
    """Blocks of one length at equal distances: ``start + period*q + b``.

    Attributes:
        start: the first position.
        block: how many positions follow each other, ``0 <= b < block``.
        period: the distance of two blocks, at least ``block``.
        count: the number of blocks, ``0 <= q < count``.

    >>> list(Run(start=2, block=2, period=8, count=3))
    [2, 3, 10, 11, 18, 19]
    """

    start: int
    block: int
    period: int = 0
    count: int = 1

    @property
    def size(self) -> int:
        """The number of positions."""
        return self.block * self.count

    def __str__(self) -> str:
        block = f"[{self.start}, {self.start + self.block})"
        return block if self.count == 1 else f"{block} + {self.period}k, k < {self.count}"

    def __iter__(self) -> Iterator[int]:
        for q in range(self.count):
            first = self.start + self.period * q
            yield from range(first, first + self.block)


@dataclass(frozen=True, slots=True)
class Message:
    """The elements that one device sends to another: a product of runs.

    Attributes:
        sender: the number of the device that has them.
        receiver: the number of the device that needs them; the sender itself, if it has them.
        runs: for each dimension of the array runs that share no position, in ascending order of
            their starts. The order of positions in a message is that of the runs.

    >>> Message(0, 1, ((Run(0, 4),), (Run(0, 2, 8, 4), Run(40, 1)))).shape
    (4, 9)
    """

    sender: int
    receiver: int
    runs: tuple[tuple[Run, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many positions it has along each dimension."""
        return tuple(sum(run.size for run in runs) for runs in self.runs)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __str__(self) -> str:
        along = (" or ".join(map(str, runs)) for runs in self.runs)
        where = ", ".join(f"d{dim} in {runs}" for dim, runs in enumerate(along))
        return f"{self.sender} to {self.receiver}: {count(self.size, 'element')}: {where}"
