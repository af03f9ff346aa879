"""Messages in pieces of bounded size, of which sender and receiver know the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from morello_layouts.resharding.messages import Message, Run


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
        return prod(count for _, count in self._counts)

    def __getitem__(self, k: int) -> tuple[tuple[Run, ...], ...]:
        """Return the runs of a piece."""
        runs = list(self.message.runs)
        for dim, (own, count) in reversed(list(zip(self.order, self._counts, strict=True))):
            k, at = divmod(k, count)
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
