"""What kind of move an exchange is: which axes of devices matter, and in how many steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from morello_layouts.expr.sizes import is_nonnegative
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
