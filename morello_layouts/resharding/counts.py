"""How many elements each device has, needs and keeps: exact counts, for all devices at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm, prod
from typing import Any, TypeAlias

from morello_layouts.description import amount
from morello_layouts.errors import UnsupportedError
from morello_layouts.lazy import numpy as np
from morello_layouts.limits import RESHARD_DEVICES, RESHARD_PAIRS, RESHARD_STEPS
from morello_layouts.recipe import delinearize, known, linear_index
from morello_layouts.resharding.combs import Level, intersection, part
from morello_layouts.resharding.exchange import End, Exchange, Values

Array: TypeAlias = "np.ndarray[Any, Any]"

_EXACT = 1 << 62  # elements up to which NumPy's integers do not overflow
_PRODUCT = 1 << 31  # numbers whose products do not


@dataclass(frozen=True, eq=False)
class Traffic:
    """What devices hold and move, in elements.

    Attributes:
        held: the elements that each device holds before, by its position in the mesh if both sides
            have the same axes, else by its number.
        needed: those that it needs.
        kept: those of them that it holds already.
    """

    held: Array
    needed: Array
    kept: Array

    @property
    def received(self) -> Array:
        """The elements that each device receives."""
        return self.needed - self.kept

    @property
    def moved(self) -> int:
        """The elements that move: those that are needed and not held, of all receivers."""
        return int(self.received.sum())


def traffic(exchange: Exchange) -> Traffic:
    """Return what every device holds, needs and keeps.

    Raises:
        UnsupportedError: if there are too many devices, or too many pieces of an irregular cut.
    """
    ends = exchange.ends
    (devices,) = known((max(end.sharding.mesh.devices for end in ends),))
    if devices > RESHARD_DEVICES:
        raise UnsupportedError(
            f"{amount(devices)} devices",
            f"elements are counted on up to {amount(RESHARD_DEVICES)} devices",
            "ask for the messages of single devices",
        )
    sizes = known(exchange.shape)
    dtype = np.int64 if prod(sizes) * devices < _EXACT else object
    if exchange.is_common:  # each axis along a dimension of its own: most counts are of few axes
        axes = exchange.source.axes
        grid = np.ix_(*(np.arange(axis.size, dtype=dtype) for axis in axes.values()))
        here = there = dict(zip(axes, grid, strict=True))
        shape = tuple(axis.size for axis in axes.values())
    else:
        numbers, shape = np.arange(devices, dtype=dtype), (devices,)
        (here, inside), (there, wanted) = (_coordinates(end, numbers) for end in ends)
    held = needed = kept = np.ones((), dtype)
    for n, a, b in zip(sizes, ends[0].cuts, ends[1].cuts, strict=True):
        held = held * below(a, here, n)
        needed = needed * below(b, there, n)
        kept = kept * shared(a, b, (here, there), n)
    if not exchange.is_common:
        held, needed, kept = held * inside, needed * wanted, kept * (inside & wanted)
    return Traffic(*(np.broadcast_to(x, shape).reshape(-1) for x in (held, needed, kept)))


def _coordinates(end: End, devices: Array) -> tuple[Values, Array]:
    """Return the coordinates of devices, and whether they are in the mesh."""
    mesh = end.sharding.mesh
    position = devices
    if mesh.ids:
        position = np.full(len(devices), -1, devices.dtype)
        position[[*mesh.ids]] = np.arange(len(mesh.ids))
    inside = (position >= 0) & (position < known((mesh.count,))[0])
    position = np.where(inside, position, 0)
    return {k: axis.of(position) for k, axis in end.axes.items()}, inside


def below(levels: Sequence[Level], at: Values, end: Any) -> Any:
    """Return how many indices below ``end`` a device holds: for ints, or arrays of devices.

    >>> below((Level(6), Level(2, axis=0, size=3)), {0: np.arange(3)}, 15).tolist()
    [6, 5, 4]
    """
    if not levels:
        return end
    level, rest = levels[0], levels[1:]
    if level.axis is None:
        whole = below(rest, at, level.block)
        return end // level.block * whole + below(rest, at, end % level.block)
    start = level.block_of(at[level.axis]) * level.block
    return below(rest, at, np.clip(end - start, 0, level.block))


def shared(a: Sequence[Level], b: Sequence[Level], at: tuple[Values, Values], extent: int) -> Any:
    """Return how many indices below ``extent`` devices hold by both of two cuts.

    Args:
        a: a cut of the dimension.
        b: another one.
        at: the coordinates of the devices, as arrays, for each cut.
        extent: the size of the dimension.

    >>> rows, blocks = (Level(5, axis=0, size=3),), (Level(8, axis=1, size=2),)
    >>> shared(rows, blocks, ({0: np.array([0, 1, 2])}, {1: np.array([0, 0, 0])}), 15).tolist()
    [5, 3, 0]
    """
    for one, other, here, there in ((a, b, at[0], at[1]), (b, a, at[1], at[0])):
        if all(level.axis is not None for level in one):
            low, size = _interval(one, here, extent)
            return below(other, there, low + size) - below(other, there, low)
    divisor = gcd(a[0].block, b[0].block)
    steps = (a[-1].block + b[-1].block) // divisor
    is_flat = all(level.axis is None for level in (a[0], b[0]))
    is_flat &= all(level.axis is not None for level in (*a[1:], *b[1:]))
    if is_flat and steps <= RESHARD_STEPS and b[0].block // divisor < _PRODUCT:
        return _by_periods(a, b, at, extent)
    return _one_by_one((a, b), at, extent)


def _interval(levels: Sequence[Level], at: Values, extent: int) -> tuple[Any, Any]:
    """Return the first index of parts that are intervals, and their sizes."""
    start, size = 0, extent
    for level in levels:
        offset = level.block_of(at[level.axis or 0]) * level.block
        start, size = start + offset, np.clip(size - offset, 0, level.block)
    return np.minimum(start, extent), size


def _by_periods(
    a: Sequence[Level], b: Sequence[Level], at: tuple[Values, Values], extent: int
) -> Any:
    """Return the same for two intervals that repeat, by the theorem of remainders.

    Repetition k of one interval begins ``d`` before repetition j of the other if
    ``start + k*period + d = there + j*other``. The d that occur are equal modulo the greatest
    common divisor of both periods, and each occurs once in their least common multiple.
    """
    period, other = a[0].block, b[0].block
    start, size = _interval(a[1:], at[0], period)
    there, width = _interval(b[1:], at[1], other)
    divisor, common = gcd(period, other), lcm(period, other)
    turns = other // divisor
    inverse = pow(period // divisor, -1, turns) if turns > 1 else 0
    most = b[-1].block
    first = (there - start + most - 1) % divisor - (most - 1)
    found = 0 * (start + there)
    for d in range(0, a[-1].block + most - 1, divisor):
        ahead = first + d
        both = np.clip(np.minimum(size, ahead + width) - np.maximum(0, ahead), 0, None)
        k = (there - start - ahead) // divisor % turns * inverse % turns
        room = extent - (k * period + start + np.maximum(0, ahead))
        found += np.where(room > 0, room // common * both + np.minimum(room % common, both), 0)
    return found


def _one_by_one(
    cuts: tuple[Sequence[Level], Sequence[Level]], at: tuple[Values, Values], extent: int
) -> Any:
    """Return the same by the intersection of each pair of parts."""
    axes = [(k, level) for k, cut in enumerate(cuts) for level in cut if level.axis is not None]
    sizes = tuple(level.size for _, level in axes)
    keys = np.asarray(linear_index([at[k][level.axis or 0] for k, level in axes], sizes, 0))
    kinds, which = np.unique(keys, return_inverse=True)
    if len(kinds) > RESHARD_PAIRS:
        raise UnsupportedError(
            f"{amount(len(kinds))} pairs of parts that repeat in more than one way",
            f"elements are counted for up to {amount(RESHARD_PAIRS)} such pairs",
            "ask for the messages of single devices",
        )
    found = []
    for key in kinds.tolist():
        values: tuple[Values, Values] = ({}, {})
        for (side, level), value in zip(axes, delinearize(key, sizes), strict=True):
            values[side][level.axis or 0] = value
        one, other = (part(cut, here, extent) for cut, here in zip(cuts, values, strict=True))
        found.append(sum(comb.size for comb in intersection(one, other)))
    return np.array(found, keys.dtype)[which].reshape(keys.shape)
