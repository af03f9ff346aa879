"""Loops around one micro-kernel, and what plans of them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.codegen.kernel.boxes import Axis, Box
from morello_layouts.codegen.kernel.extents import estimate
from morello_layouts.codegen.kernel.micro import Levels, Micro
from morello_layouts.expr.size import Number

__all__ = [
    "MOST_LEVELS",
    "SMALL_BLOCK",
    "SOURCE_BLOCK",
    "TARGET_BLOCK",
    "WIDEST",
    "Nest",
    "Plan",
    "chain_of",
    "levels_of",
    "outermost",
    "step_of",
    "with_loops",
]

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

    source: Number
    target: Number
    loops: tuple[Axis, ...]
    micro: Micro
    stream: bool = False
    box: int | None = None
    strip: Number = 0
    inner: int = 0


# What an attempt at a box comes to: loops, boxes that are to be planned instead, or neither.
Plan: TypeAlias = "Nest | list[Box] | None"


def chain_of(axes: list[Axis], start: int, *, source: bool) -> list[Axis]:
    """The axes that are neighbours in one buffer, each continuing the one before."""
    chain: list[Axis] = []
    at: Number = start
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
