"""The name of what an exchange does, and steps over single axes of a mesh that do the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import prod
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from morello_layouts.expr.sizes import Int, is_nonnegative
from morello_layouts.limits import RESHARD_STATES
from morello_layouts.plain import Displayed
from morello_layouts.resharding.combs import Level
from morello_layouts.resharding.exchange import End, Exchange

KindName: TypeAlias = Literal[
    "nothing", "local relayout", "slice", "all-gather", "permute", "all-to-all", "general"
]
"""The kind of a plan."""


class Kind(NamedTuple):
    """The kind of an exchange.

    Attributes:
        name: what devices do.
        axes: the names of the axes along which senders and receivers differ; empty if the meshes
            have no common axes.
    """

    name: KindName
    axes: tuple[str, ...] = ()


def kind_of(exchange: Exchange) -> Kind:
    """Return the kind of an exchange, by what decides the coordinate along each axis."""
    if not exchange.is_common:
        return Kind("permute" if _same_parts(exchange) else "general")
    before, after = (dict(_numbers(end, exchange.shape)) for end in exchange.ends)
    axes = exchange.source.axes
    moving = [k for k in axes if before.get(k) != after.get(k)]
    gathered = [k for k in moving if k not in after]
    sliced = [k for k in moving if k not in before]
    name: KindName = "general"
    if not moving:
        return Kind("nothing")
    if len(sliced) == len(moving):
        name = "slice"
    elif len(gathered) == len(moving):
        name = "all-gather"
    elif _same_parts(exchange):
        name = "permute"
    elif not gathered and not sliced:
        name = "all-to-all"
    return Kind(name, tuple(axes[k].name for k in moving))


def _numbers(end: End, shape: Sequence[Any]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield for each axis what its coordinate is of an index: equal numbers are equal formulas."""
    for dim, (n, cut) in enumerate(zip(shape, end.cuts, strict=True)):
        moduli: list[Any] = []
        for level in cut:
            if level.axis is not None:
                yield level.axis, (dim, *moduli, level.block, level.size, level.shift)
            # A remainder of a remainder by a divisor is that by the divisor.
            moduli = [m for m in moduli if m % level.block != 0]
            if not is_nonnegative(level.block - n):
                moduli.append(level.block)


def _same_parts(exchange: Exchange) -> bool:
    """Whether both sides have the same parts, on as many devices, if on others."""
    cuts = zip(*(end.cuts for end in exchange.ends), strict=True)
    one, other = (end.sharding for end in exchange.ends)
    return one.replicas == other.replicas and all(_parts(a) == _parts(b) for a, b in cuts)


def _parts(cut: Sequence[Level]) -> list[tuple[Any, bool]]:
    """Return the blocks of a cut, levels of several axes that number one kind of block as one."""
    found: list[tuple[Any, bool]] = []
    for level in cut:
        is_inner = bool(found) and found[-1][1] and level.axis is not None
        if is_inner and found[-1][0] == level.block * level.size:
            found.pop()
        found.append((level.block, level.axis is not None))
    return found


State: TypeAlias = tuple[tuple[int, ...], ...]
"""For each dimension the axes that cut it, the most major first."""

Names: TypeAlias = tuple[tuple[str, ...], ...]
"""The same with the names of the axes."""

_Entry: TypeAlias = "tuple[Fraction, int, int, State, tuple[Step, ...]]"


@dataclass(frozen=True, slots=True)
class Step(Displayed):
    """A collective over axes of a mesh, of parts that are equal on all devices.

    Attributes:
        kind: ``all-to-all``, ``all-gather``, ``slice`` or ``permute``.
        axes: the axes.
        source: the dimension that is cut along them before; None if there is none.
        target: the dimension that is cut along them afterwards; None if there is none.
        specs: for each dimension the axes that cut it afterwards, as a PartitionSpec says it.
    """

    json_keys: ClassVar = ("kind", "axes", "source", "target", "spec=spec")

    kind: str
    axes: tuple[str, ...]
    source: int | None
    target: int | None
    specs: Names

    @property
    def spec(self) -> str:
        """The sharding afterwards as a PartitionSpec of JAX."""
        return spec_text(self.specs)

    def __str__(self) -> str:
        ends = {self.source, self.target} - {None}
        way = f" of d{self.source} to d{self.target}" if len(ends) == 2 else ""
        way = way or "".join(f" of d{dim}" for dim in ends)
        return f"{self.kind} over {', '.join(self.axes)}{way}: {self.spec}"


def spec_text(names: Names) -> str:
    """Return the axes that cut each dimension as a PartitionSpec of JAX."""
    return f"P({', '.join(map(_entry, names))})"


def _entry(axes: Sequence[str]) -> str:
    if len(axes) < 2:
        return repr(axes[0]) if axes else "None"
    return f"({', '.join(map(repr, axes))})"


def steps_of(exchange: Exchange) -> tuple[Step, ...]:
    """Return the steps that move the fewest elements, one collective after the other.

    Each step takes the innermost axes of a dimension, or brings axes to its innermost place, so
    that parts stay blocks of neighbours.

    Returns:
        None at all if a cut is not of equal blocks, or meshes differ.
    """
    ends = exchange.ends
    if not exchange.is_common or not all(is_even(end, exchange.shape) for end in ends):
        return ()
    start, goal = (tuple(tuple(x.axis or 0 for x in c) for c in end.cuts) for end in ends)
    sizes = {k: axis.size for k, axis in exchange.source.axes.items()}
    names = {k: axis.name for k, axis in exchange.source.axes.items()}
    queue: list[_Entry] = [(Fraction(0), 0, 0, start, ())]
    serial = 0
    done = set[State]()
    while queue and len(done) < RESHARD_STATES:
        cost, count, _, state, steps = heappop(queue)
        if state == goal:
            return steps
        if state in done:
            continue
        done.add(state)
        for moved, kind, axes, dims, after in _moves(state, goal, sizes):
            if after not in done and _fits(after, exchange.shape, sizes):
                specs = tuple(tuple(names[k] for k in cut) for cut in after)
                step = Step(kind, tuple(names[k] for k in axes), *dims, specs)
                serial += 1
                heappush(queue, (cost + moved, count + 1, serial, after, (*steps, step)))
    return ()


def is_even(end: End, shape: Sequence[Int]) -> bool:
    """Whether all parts are blocks of one size, one on each device."""
    for n, cut in zip(shape, end.cuts, strict=True):
        extents = (n, *(level.block for level in cut))
        for extent, level in zip(extents, cut, strict=False):
            is_equal = extent == level.block * level.size or not isinstance(extent, int)
            if level.axis is None or level.shift or not is_equal:
                return False
    return True


def _fits(state: State, shape: Sequence[Int], sizes: Mapping[int, int]) -> bool:
    parts = [prod(sizes[k] for k in cut) for cut in state]
    return all(not isinstance(n, int) or n % k == 0 for n, k in zip(shape, parts, strict=True))


def _moves(
    state: State, goal: State, sizes: Mapping[int, int]
) -> Iterator[tuple[Fraction, str, tuple[int, ...], tuple[int | None, int | None], State]]:
    """Yield the part of the array that moves to each device, and the step."""
    local = Fraction(1, prod(sizes[k] for cut in state for k in cut))
    counts = [[prod(sizes[k] for k in cut) for cut in each] for each in (state, goal)]
    if counts[0] == counts[1]:
        moving = [k for a, b in zip(state, goal, strict=True) if a != b for k in (*a, *b)]
        yield local, "permute", tuple(dict.fromkeys(moving)), (None, None), goal
    for dim, cut in enumerate(state):
        for first in range(len(cut)):
            axes, left = cut[first:], _with(state, dim, cut[:first])
            size = prod(sizes[k] for k in axes)
            yield local * (size - 1), "all-gather", axes, (dim, None), left
            for other in range(len(state)):
                if other != dim:
                    there = _with(left, other, (*left[other], *axes))
                    yield local * (size - 1) / size, "all-to-all", axes, (dim, other), there
    used = {k for cut in state for k in cut}
    for dim, cut in enumerate(goal):
        for k in cut:
            if k not in used:
                yield Fraction(0), "slice", (k,), (None, dim), _with(state, dim, (*state[dim], k))


def _with(state: State, dim: int, cut: tuple[int, ...]) -> State:
    return (*state[:dim], cut, *state[dim + 1 :])
