"""Combs: sets of indices as blocks at equal distances, their intersections, and who holds them.

The indices that a device holds along a dimension are blocks at equal distances, perhaps again in
groups at equal distances. Such a set has a few numbers, however many indices there are, and so has
the intersection of two of them: it repeats with the least common multiple of both distances.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import gcd, lcm, prod
from typing import Any, NamedTuple, TypeAlias

from morello_layouts.core.description import count
from morello_layouts.core.fields import frozen
from morello_layouts.core.recipe.digits import ranges_between
from morello_layouts.core.recipe.steps import renumbered


@frozen
class Run:
    """Blocks of one length at equal distances: ``start + period*q + b``.

    >>> list(Run(start=2, block=2, period=8, count=3))
    [2, 3, 10, 11, 18, 19]
    """

    start: int  #: the first position.
    block: int  #: how many positions follow each other, ``0 <= b < block``.
    period: int = 0  #: the distance of two blocks, at least ``block``.
    count: int = 1  #: the number of blocks, ``0 <= q < count``.

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


@frozen
class Message:
    """The elements that one device sends to another: a product of runs.

    >>> Message(0, 1, ((Run(0, 4),), (Run(0, 2, 8, 4), Run(40, 1)))).shape
    (4, 9)
    """

    sender: int  #: the number of the device that has them.
    receiver: int  #: the number of the device that needs them; the sender itself, if it has them.
    #: for each dimension of the array runs that share no position, in ascending order of their
    #: starts. The order of positions in a message is that of the runs.
    runs: tuple[tuple[Run, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many positions it has along each dimension."""
        return shape_of(self.runs)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __str__(self) -> str:
        head = f"{self.sender} to {self.receiver}: {count(self.size, 'element')}"
        return f"{head}: {places_text(self.runs)}"


Runs: TypeAlias = Sequence[Sequence[Run]]
"""Along each dimension of an array the runs of a part, in ascending order."""


def shape_of(runs: Runs) -> tuple[int, ...]:
    """Return how many positions a part has along each dimension."""
    return tuple(sum(run.size for run in own) for own in runs)


def places_text(runs: Runs) -> str:
    """Return where a part lies, in words."""
    along = (" or ".join(map(str, own)) for own in runs)
    return ", ".join(f"d{dim} in {own}" for dim, own in enumerate(along))


def in_turn(messages: Iterable[Message], devices: int) -> list[Message]:
    """Return messages in the order in which all devices send and receive, so none waits for ever.

    First are those to the next device: of one distance, each sends and receives one at most.
    """
    return sorted(messages, key=lambda one: (one.receiver - one.sender) % devices)


@frozen(slots=False)
class Pieces:
    """The pieces of a message.

    >>> message = Message(0, 1, ((Run(0, 3),), (Run(0, 2, 8, 2),)))
    >>> pieces = Pieces(message, (0, 1), 3)
    >>> len(pieces), [list(run) for runs in pieces[1] for run in runs]
    (6, [[0], [9]])
    """

    message: Message  #: the message.
    order: tuple[int, ...]  #: its dimensions, the slowest first.
    most: int  #: the elements of a piece at most.

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
        for (q, blocks), (first, size) in ranges_between((run.block, 1), a, b):
            start = run.start + q * run.period + first
            yield Run(start, size, run.period if blocks > 1 else 0, blocks)


@frozen
class Comb:
    """Blocks of neighbouring indices at equal distances.

    >>> list(Comb(1, 2, ((10, 2), (4, 2))))
    [1, 2, 5, 6, 11, 12, 15, 16]
    """

    start: int  #: the first index.
    block: int  #: the number of neighbours in a block.
    #: pairs (period, count), outermost first: the block is repeated ``count`` times, ``period``
    #: indices apart, all of this as often as the pair before says.
    repeats: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """The number of indices."""
        return self.block * prod(count for _, count in self.repeats)

    @property
    def stop(self) -> int:
        """The index after the last one."""
        return self.start + self.block + sum((count - 1) * period for period, count in self.repeats)

    @property
    def inner(self) -> Comb:
        """The first repetition of the outermost pair."""
        return Comb(self.start, self.block, self.repeats[1:])

    def shifted(self, by: int) -> Comb:
        """Return the comb with ``by`` added to each index."""
        return Comb(self.start + by, self.block, self.repeats)

    def repeated(self, period: int, count: int) -> Comb:
        """Return the comb repeated, its first repetition where it is."""
        repeats = ((period, count), *self.repeats)
        return self if count == 1 else Comb(self.start, self.block, repeats)

    def runs(self) -> Iterator[Run]:
        """Yield runs of one distance; together they are the comb."""
        if not self.repeats:
            yield Run(self.start, self.block)
            return
        *outer, (period, count) = self.repeats
        for steps in product(*(range(0, times * far, far) for far, times in outer)):
            yield Run(self.start + sum(steps), self.block, period, count)

    def __iter__(self) -> Iterator[int]:
        for run in self.runs():
            yield from run

    def __str__(self) -> str:
        text = f"[{self.start}, {self.start + self.block})"
        return text + "".join(f" + {period}k, k < {count}" for period, count in self.repeats)


class CutLevel(NamedTuple):
    """One level of a cut: which value of a mesh axis holds a block."""

    block: Any  #: the indices of a block: an int; symbolic only in formulas.
    axis: int | None = None  #: the mesh axis that has the block's number; None if it stays local.
    size: int = 1  #: the size of this axis; 1 if local.
    shift: int = 0  #: what is added to the block's number, modulo the size.
    #: where each block begins, and the last one ends, if not all are of one size.
    starts: tuple[int, ...] = ()

    def block_of(self, value: Any) -> Any:
        """Return the number of the block that a value of the axis holds."""
        return (value - self.shift) % self.size if self.shift else value

    def start_of(self, value: Any) -> Any:
        """Return the first index of that block."""
        number = self.block_of(value)
        return renumbered(self.starts[:-1], number) if self.starts else number * self.block

    def room_of(self, value: Any) -> Any:
        """Return the indices of that block, the last blocks of one size not being cut."""
        if not self.starts:
            return self.block
        return renumbered(self.starts[1:], value) - renumbered(self.starts[:-1], value)

    def at(self, index: int) -> tuple[int, int, int]:
        """Return the number of the block of an index, its first index and the one after it."""
        if self.starts:
            number = bisect_right(self.starts, index) - 1
            return number, self.starts[number], self.starts[number + 1]
        number = index // self.block
        return number, number * self.block, (number + 1) * self.block


def part(levels: Sequence[CutLevel], at: Mapping[int, int], extent: int) -> tuple[Comb, ...]:
    """Return the indices below ``extent`` that a device holds.

    >>> cyclic = (CutLevel(6), CutLevel(2, axis=0, size=3))    # blocks of 2 on 3 devices in turn
    >>> [str(comb) for comb in part(cyclic, {0: 1}, 15)]
    ['[2, 4) + 6k, k < 2', '[14, 15)']
    """
    if extent <= 0:
        return ()
    if not levels:
        return (Comb(0, extent),)
    level, rest = levels[0], levels[1:]
    if level.axis is None:
        full, left = divmod(extent, level.block)
        whole = part(rest, at, level.block) if full else ()
        last = part(rest, at, left)
        if full and last == whole:
            return tuple(comb.repeated(level.block, full + 1) for comb in whole)
        return (
            *(comb.repeated(level.block, full) for comb in whole),
            *(comb.shifted(full * level.block) for comb in last),
        )
    start, room = level.start_of(at[level.axis]), level.room_of(at[level.axis])
    inside = part(rest, at, min(room, extent - start))
    return tuple(comb.shifted(start) for comb in inside)


def clip(comb: Comb, low: int, high: int) -> tuple[Comb, ...]:
    """Return the indices of a comb from ``low`` on and below ``high``.

    >>> [str(comb) for comb in clip(Comb(0, 3, ((5, 4),)), 1, 12)]
    ['[1, 3)', '[5, 8)', '[10, 12)']
    """
    if comb.start >= high or comb.stop <= low:
        return ()
    if low <= comb.start and comb.stop <= high:
        return (comb,)
    if not comb.repeats:
        start = max(comb.start, low)
        return (Comb(start, min(comb.stop, high) - start),)
    inner, (period, count) = comb.inner, comb.repeats[0]
    first = max(0, (low - inner.stop) // period + 1)
    last = min(count - 1, (high - 1 - comb.start) // period)
    first_whole = max(first, -((comb.start - low) // period))
    last_whole = min(last, (high - inner.stop) // period)

    def cut(first: int, stop: int) -> Iterator[Comb]:
        for k in range(first, stop):
            yield from clip(inner.shifted(k * period), low, high)

    if first_whole > last_whole:
        return tuple(cut(first, last + 1))
    whole = inner.shifted(first_whole * period).repeated(period, last_whole - first_whole + 1)
    return (*cut(first, first_whole), whole, *cut(last_whole + 1, last + 1))


def intersection(one: Iterable[Comb], other: Iterable[Comb]) -> tuple[Comb, ...]:
    """Return the indices in two unions of disjoint combs, as disjoint combs by their first index.

    >>> fours, sixes = part((CutLevel(4), CutLevel(1, 0, 4)), {0: 1}, 50), (Comb(1, 2, ((6, 9),)),)
    >>> [str(comb) for comb in intersection(fours, sixes)]    # both repeat after 12 indices
    ['[1, 2) + 12k, k < 5']
    """
    others = tuple(other)
    found = (each for a in one for b in others for each in _both(a, b))
    return tuple(sorted(found, key=lambda comb: comb.start))


def _both(a: Comb, b: Comb) -> Iterator[Comb]:
    if not a.repeats:
        yield from clip(b, a.start, a.stop)
        return
    if not b.repeats:
        yield from clip(a, b.start, b.stop)
        return
    if a.repeats[0][0] < b.repeats[0][0]:
        a, b = b, a
    inner, (period, count), (short, times) = a.inner, a.repeats[0], b.repeats[0]
    first = max(0, (b.start - inner.stop) // period + 1)
    last = min(count - 1, (b.stop - 1 - a.start) // period)
    # Between these ends b is periodic: the gaps beside it are as wide as those inside.
    low, high = b.stop - times * short, b.start + times * short
    first_whole = max(first, -((a.start - low) // period))
    last_whole = min(last, (high - inner.stop) // period)
    cycle = lcm(period, short) // period
    if last_whole - first_whole < cycle:  # nothing repeats
        first_whole, last_whole = last + 1, last
    edges = ((first, first_whole - 1), (last_whole + 1, last))
    for k in (k for ends in edges for k in _hits(inner, period, b, *ends)):
        yield from _both(inner.shifted(k * period), b)
    for k in _hits(inner, period, b, first_whole, min(first_whole + cycle - 1, last_whole)):
        found = (last_whole - k) // cycle + 1
        for comb in _both(inner.shifted(k * period), b):
            yield comb.repeated(period * cycle, found)


def _hits(inner: Comb, period: int, b: Comb, first: int, last: int) -> Iterator[int]:
    """Yield the k from first to last at which ``inner + k*period`` meets a repetition of b."""
    short, other = b.repeats[0][0], b.inner
    before = inner.stop - inner.start - 1
    room = before + other.stop - other.start
    k = first
    while k <= last:
        at = (inner.start + k * period - other.start + before) % short
        low = short - at
        step = first_hit(period % short, short, low, low + room - 1) if at >= room else 0
        if step is None:
            return
        k += step
        if k <= last:
            yield k
        k += 1


def first_hit(a: int, m: int, low: int, high: int) -> int | None:
    """Return the smallest k >= 0 with ``low <= a*k % m <= high``, as Euclid's algorithm finds it.

    Args:
        a: the step, from 0 to m - 1.
        m: the modulus.
        low: from 1 to m.
        high: at least low, below m.

    >>> first_hit(7, 100, 4, 6), first_hit(4, 100, 1, 3)    # 7*15 = 105; multiples of 4 only
    (15, None)
    """
    if a == 0:
        return None
    if 2 * a > m:
        return first_hit(m - a, m, m - high, m - low)
    k = -(-low // a)
    if k * a <= high:
        return k
    turns = first_hit(-m % a, a, low % a, high % a)
    return None if turns is None else -(-(low + turns * m) // a)


def touched(levels: Sequence[CutLevel], combs: Sequence[Comb]) -> list[tuple[tuple[int, int], ...]]:
    """Return which values of mesh axes hold some of the indices.

    Returns:
        Combinations of pairs (axis, value), one pair for each level that has an axis.

    >>> touched((CutLevel(8, 0, 4), CutLevel(2, 1, 4)), (Comb(5, 4),))
    [((0, 0), (1, 2)), ((0, 0), (1, 3)), ((0, 1), (1, 0))]
    """
    if not levels or not combs:
        return [()] if combs else []
    level, rest = levels[0], levels[1:]
    if level.axis is None:
        folded = (each for comb in combs for each in _folded(comb, level.block))
        return touched(rest, _joined(folded))
    found: dict[tuple[tuple[int, int], ...], None] = {}
    for comb in combs:
        left = [comb]
        while left:
            block, low, high = level.at(left[0].start)
            inside = [each.shifted(-low) for piece in left for each in clip(piece, low, high)]
            left = [each for piece in left for each in clip(piece, high, piece.stop)]
            own = (level.axis, (block + level.shift) % level.size)
            found |= {(own, *more): None for more in touched(rest, inside)}
    return list(found)


def _joined(combs: Iterable[Comb]) -> list[Comb]:
    """Return the union of combs, blocks that overlap or touch as one."""
    found: list[Comb] = []
    for comb in sorted(set(combs), key=lambda comb: (comb.start, len(comb.repeats))):
        if found and not comb.repeats and not found[-1].repeats and comb.start <= found[-1].stop:
            stop = max(comb.stop, found[-1].stop)
            found[-1] = Comb(found[-1].start, stop - found[-1].start)
        else:
            found.append(comb)
    return found


def _folded(comb: Comb, m: int) -> Iterator[Comb]:
    """Yield combs, which may overlap, of the indices modulo m."""
    if not comb.repeats:
        start = comb.start % m
        if comb.block >= m:
            yield Comb(0, m)
        elif start + comb.block <= m:
            yield Comb(start, comb.block)
        else:
            yield from (Comb(start, m - start), Comb(0, start + comb.block - m))
        return
    (period, count), inner = comb.repeats[0], comb.inner
    shared = gcd(period, m)
    if count >= m // shared:
        for each in _folded(inner, shared):
            yield each.repeated(shared, m // shared)
    elif period < m:
        for turn in range(comb.start // m, (comb.stop - 1) // m + 1):
            for each in clip(comb, turn * m, (turn + 1) * m):
                yield each.shifted(-turn * m)
    else:
        for k in range(count):
            yield from _folded(inner.shifted(k * period), m)
