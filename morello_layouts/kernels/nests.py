"""Loop nests: order, fusion and cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final, TypeAlias

from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.domains import Axis, Box, estimate

# Pairs (count, stride in bytes), the fastest first: where item i of a chain of axes lies.
Levels: TypeAlias = tuple[tuple[int, Int], ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Move bytes that are neighbours in both buffers.

    >>> Copy(512)
    Copy(size=512)
    """

    size: Int


@dataclass(frozen=True, slots=True)
class Move:
    """Move one element of 1, 2, 4, 8 or 16 bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class Fill:
    """Write padding over neighbouring bytes."""

    size: Int


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
    ahead: Int = 0
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


def offsets(levels: Levels) -> list[Int]:
    """Where each item lies, in bytes.

    >>> offsets(((2, 10), (3, 100)))
    [0, 10, 100, 110, 200, 210]
    """
    found: list[Int] = [0]
    for count, stride in levels:
        found = [x + k * stride for k in range(count) for x in found]
    return found


SOURCE_BLOCK = 128
TARGET_BLOCK = 256
SMALL_BLOCK = 128  # where the target stays in the caches
WIDEST = 64
MOST_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops around one micro-kernel.

    Attributes:
        source, target: where it starts, in bytes.
        loops: from the outermost on, strides in bytes.
        micro: what the innermost loop does.
        stream: whether its stores may go past the caches, where the target starts at a line.
        box: which box it is part of; nests of one box may write some places twice. None where no
            other nest writes to its places.
        strip: bytes of the source that are first copied to the first cache; 0 if none are. Where
            only the call says how many, they are if they are at most ``MOST_STRIPPED``.
        inner: how many of the innermost loops are over such a strip.
    """

    source: Int
    target: Int
    loops: tuple[Axis, ...]
    micro: Micro
    stream: bool = False
    box: int | None = None
    strip: Int = 0
    inner: int = 0


# What an attempt at a box comes to: loops, boxes that are to be planned instead, or neither.
Plan: TypeAlias = "Nest | list[Box] | None"


def chain_of(axes: list[Axis], start: int, *, source: bool) -> list[Axis]:
    """The axes that are neighbours in one buffer, each continuing the one before."""
    chain: list[Axis] = []
    at: Int = start
    left = list(axes)
    while True:
        following = next((a for a in left if (a.source if source else a.target) == at), None)
        if following is None:
            return chain
        chain.append(following)
        left.remove(following)
        at *= following.count


def levels_of(taken: list[tuple[Axis, int]], *, source: bool) -> Levels:
    """Where items of a block lie, in one of the buffers."""
    return tuple((count, axis.source if source else axis.target) for axis, count in taken)


def step_of(axis: Axis) -> int:
    """Items of a step."""
    return 1 if axis.clamp is None else axis.clamp.unit


def outermost(axis: Axis) -> tuple[int, int]:
    """What sorts loops from the outermost on: long strides in both buffers first."""
    source, target = (step_of(axis) * estimate(x) for x in (axis.source, axis.target))
    return -min(source, target), -source


def with_loops(box: Box, loops: list[Axis], micro: Micro) -> Nest:
    """The loops of more than one step around a micro-kernel."""
    return Nest(box.source, box.target, tuple(a for a in loops if a.count != 1), micro)


# Of one element through both formulas, in the time that it takes to copy a byte.
APART: Final = 40.0

_MOVE, _SHORT_COPY, _TRANSPOSITION, _SMALL_BLOCK = 18.0, 32.0, 1.5, 512


def cost_of(nests: Iterable[Nest]) -> float:
    """The time that loops take, in the time that it takes to copy a byte.

    >>> from morello_layouts.kernels.domains import Axis
    >>> rows = (Axis(100, 64, 64),)
    >>> cost_of([Nest(0, 0, rows, Copy(64))]), cost_of([Nest(0, 0, rows, Move(1))])
    (6400.0, 1800.0)
    """
    return sum(work(nest) * _per_byte(nest.micro) for nest in nests)


def _per_byte(micro: Micro) -> float:
    match micro:
        case Move(size):
            return max(1.0, _MOVE / size)
        case Copy(size):
            return max(1.0, _SHORT_COPY / max(1, estimate(size)))
        case Transposition():
            return _TRANSPOSITION * max(1.0, _SMALL_BLOCK / _bytes(micro))
        case _:
            return 1.0


def work(nest: Nest) -> int:
    """Bytes that a nest moves: the loops of the largest are those that others share.

    >>> from morello_layouts.kernels.domains import Axis
    >>> work(Nest(0, 0, (Axis(9, 700, 512), Axis(5, 32, 64)), Copy(32)))
    1440
    """
    return _bytes(nest.micro) * prod(estimate(axis.count) for axis in nest.loops)


def _bytes(micro: Micro) -> int:
    match micro:
        case Transposition(element=element):
            return micro.rows * micro.columns * element
        case Zip(rows=rows, width=width) | Unzip(rows=rows, width=width):
            return rows * width
        case _:
            return estimate(micro.size)


@dataclass(frozen=True, slots=True)
class Shared:
    """A loop around several nests.

    Attributes:
        axis: the loop.
        body: what is done in it, in this order.
    """

    axis: Axis
    body: tuple[Tree, ...]


Tree: TypeAlias = "Shared | Nest"


def fused(nests: Sequence[Nest]) -> tuple[Tree, ...]:
    """The nests, those with the outermost loop of the largest among them within that loop.

    >>> from morello_layouts.kernels.nests import Copy, Move
    >>> rows = Axis(9, 700, 512)
    >>> main, rest = Nest(0, 0, (rows, Axis(5, 32, 64)), Copy(32)), Nest(640, 960, (rows,), Move(4))
    >>> (tree,) = fused([main, rest])
    >>> tree.axis.count, [[axis.count for axis in nest.loops] for nest in tree.body]
    (9, [[5], []])
    """
    left = list(nests)
    found: list[Tree] = []
    while left:
        largest = max(left, key=work)
        inside = [part for nest in left if (part := _within(nest, largest.loops[:1])) is not None]
        if len(inside) < 2:
            found.append(largest)
            left.remove(largest)
            continue
        left = [nest for nest in left if _within(nest, largest.loops[:1]) is None]
        found.append(Shared(largest.loops[0], fused(inside)))
    return tuple(found)


def _within(nest: Nest, loop: tuple[Axis, ...]) -> Nest | None:
    """The nest without a loop, one of its own; None where it has no such loop."""
    for wanted in loop:
        for k, axis in enumerate(nest.loops[: len(nest.loops) - nest.inner]):
            if axis.clamp != wanted.clamp or (axis.clamp and axis.count != wanted.count):
                continue
            if axis.count % wanted.count != 0:
                continue
            inner = axis.count // wanted.count
            steps = replace(axis, count=inner)
            fits = axis.target * inner == wanted.target
            if fits and (isinstance(nest.micro, Fill) or axis.source * inner == wanted.source):
                rest = [*nest.loops[:k], *([steps] if inner != 1 else []), *nest.loops[k + 1 :]]
                return replace(nest, loops=tuple(rest))
    return None
