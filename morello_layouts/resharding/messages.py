"""Messages: which elements one device sends to another, as runs; and their pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True)
class Pieces:
    """The pieces of a message.

    Attributes:
        message: the message.
        order: its dimensions, the slowest first.
        most: the elements of a piece at most.

    >>> message = Message(0, 1, ((Run(0, 3),), (Run(0, 2, 8, 2),)))
    >>> pieces = Pieces(message, (0, 1), 3)
    >>> len(pieces), [list(run) for runs in pieces[1] for run in runs]
    (6, [[0], [9]])
    """

    message: Message
    order: tuple[int, ...]
    most: int

    @cached_property
    def _counts(self) -> list[tuple[int, int]]:
        """For each dimension in order, how many indices a piece has, and how many pieces."""
        room, found = self.most, list[tuple[int, int]]()
        shape = self.message.shape
        for dim in reversed(self.order):
            n = shape[dim]
            own = max(1, min(n, room))
            found.append((own, -(-n // own)))
            room = room // n if own == n else 0
        return found[::-1]

    def __len__(self) -> int:
        return prod(times for _, times in self._counts)

    def __getitem__(self, k: int) -> tuple[tuple[Run, ...], ...]:
        """Return the runs of a piece."""
        runs = list(self.message.runs)
        for dim, (own, times) in reversed(list(zip(self.order, self._counts, strict=True))):
            k, at = divmod(k, times)
            runs[dim] = tuple(between(runs[dim], at * own, (at + 1) * own))
        if k:
            raise IndexError(k)
        return tuple(runs)


def between(runs: Sequence[Run], low: int, high: int) -> Iterator[Run]:
    """Yield the runs of the indices from a position on and before another one.

    >>> list(between([Run(0, 2, 8, 3), Run(40, 4)], 1, 8))
    [Run(start=1, block=1, period=0, count=1), Run(start=8, block=2, period=8, count=2), \
Run(start=40, block=2, period=0, count=1)]
    """
    for run in runs:
        a, b = max(low, 0), min(high, run.size)
        low, high = low - run.size, high - run.size
        first, last = -(-a // run.block), b // run.block
        if a >= b:
            continue
        if first > last:  # within one block
            yield Run(_at(run, a), b - a)
            continue
        if a < first * run.block:
            yield Run(_at(run, a), first * run.block - a)
        if first < last:
            yield Run(_at(run, first * run.block), run.block, run.period, last - first)
        if b > last * run.block:
            yield Run(_at(run, last * run.block), b - last * run.block)


def _at(run: Run, position: int) -> int:
    q, b = divmod(position, run.block)
    return run.start + q * run.period + b
