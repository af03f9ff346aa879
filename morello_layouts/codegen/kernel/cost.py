"""What loops cost, roughly: enough to choose between two ways of one relayout."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final

from morello_layouts.codegen.kernel.extents import estimate
from morello_layouts.codegen.kernel.micro import Copy, Micro, Move, Transposition, Unzip, Zip
from morello_layouts.codegen.kernel.nest import Nest

__all__ = ["APART", "cost_of", "work"]

# Of one element through both formulas, in the time that it takes to copy a byte.
APART: Final = 40.0

_MOVE, _SHORT_COPY, _TRANSPOSITION, _SMALL_BLOCK = 18.0, 32.0, 1.5, 512


def cost_of(nests: Iterable[Nest]) -> float:
    """The time that loops take, in the time that it takes to copy a byte.

    >>> from morello_layouts.codegen.kernel.boxes import Axis
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

    >>> from morello_layouts.codegen.kernel.boxes import Axis
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
