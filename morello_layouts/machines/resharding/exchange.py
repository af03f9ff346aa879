"""Exchanges: which device sends what to which, between two shardings of one array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from morello_layouts.core.description import listed
from morello_layouts.core.expr.sizes import Int, ceil_quotient, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import RESHARD_PARTS
from morello_layouts.core.recipe import delinearize, known, linear_index
from morello_layouts.errors import UnsupportedError
from morello_layouts.machines.resharding.combs import (
    Comb,
    CutLevel,
    Message,
    Run,
    intersection,
    part,
    touched,
)
from morello_layouts.notations.sharding import Mesh, Sharding


class Boxes(NamedTuple):
    """Messages as arrays: each row is a product of runs, one along each dimension.

    A message with several runs along a dimension is as many rows, beside each other.
    """

    sender: Any  #: for each row the device that has the elements.
    receiver: Any  #: the device that needs them.
    start: Any  #: for each row and dimension the first position of the run.
    block: Any  #: how many positions follow each other.
    period: Any  #: the distance of two blocks; 0 for one block.
    count: Any  #: the number of blocks.

    @property
    def size(self) -> Any:
        """The number of elements of each row; integers of Python past 62 bits."""
        along = self.block * self.count
        if along.size and np.log2(along).sum(axis=1).max() > 62:
            along = along.astype(object)
        return along.prod(axis=1)


Values: TypeAlias = dict[int, Any]
"""A coordinate along some axes, by their numbers: ints, or arrays of them."""


class MeshAxis(NamedTuple):
    """An axis of devices."""

    name: str  #: as the mesh calls it.
    #: pairs (size, stride): an axis of a mesh is one digit of a device's position there; axes that
    #: a cut joins are several, the most major first.
    digits: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """The number of values."""
        return prod(size for size, _ in self.digits)

    def of(self, position: Any) -> Any:
        """Return the value at a position of the mesh."""
        digits = [position // stride % size for size, stride in self.digits]
        return linear_index(digits, [size for size, _ in self.digits], 0)

    def position(self, value: Any) -> Any:
        """Return the part of the position that a value gives."""
        digits = delinearize(value, tuple(size for size, _ in self.digits))
        return sum(x * stride for x, (_, stride) in zip(digits, self.digits, strict=True))


@frozen(slots=False)
class End:
    """One side of an exchange."""

    sharding: Sharding  #: as it was given.
    #: by number the axes that place a device; two sides of one mesh have the same.
    axes: Mapping[int, MeshAxis]
    cuts: tuple[tuple[CutLevel, ...], ...]  #: the levels of each dimension.

    @cached_property
    def cut_axes(self) -> tuple[int, ...]:
        """The axes along which devices hold different parts."""
        return tuple(k for cut in self.cuts for k in _axes(cut))

    @cached_property
    def free_axes(self) -> tuple[int, ...]:
        """The axes along which devices hold the same."""
        return tuple(k for k in self.axes if k not in self.cut_axes)

    def covers(self, dim: int, n: Int) -> bool:
        """Whether a cut has as many blocks as its axes have values, so each index has one."""
        for digit in self.sharding.digits(dim, n):
            is_ceil = digit.count == 0 or digit.block == ceil_quotient(n, digit.count)
            if digit.axes and not (is_ceil or is_nonnegative(digit.block * digit.count - n)):
                return False
            n = digit.block
        return True

    def at(self, position: Any) -> Values:
        """Return the coordinate of a position, or of an array of them."""
        return {k: axis.of(position) for k, axis in self.axes.items()}

    def device(self, values: Values) -> int:
        """Return the device at a coordinate."""
        position: int = sum(axis.position(values[k]) for k, axis in self.axes.items())
        ids = self.sharding.mesh.ids
        if ids and not isinstance(position, int):
            return np.asarray(ids)[position]
        return ids[position] if ids else position

    def positions(self, devices: Any) -> Any:
        """Return the positions of devices in the mesh, as arrays; -1 for those that are not."""
        mesh = self.sharding.mesh
        if mesh.ids:
            return np.array([mesh.positions.get(one, -1) for one in devices.tolist()], np.int64)
        return np.where(devices < known((mesh.count,))[0], devices, -1)

    def values(self, device: int) -> Values | None:
        """Return the coordinate of a device; None if it is not in the mesh."""
        mesh = self.sharding.mesh
        position = mesh.positions.get(device) if mesh.ids else device
        if position is None or not 0 <= position < known((mesh.count,))[0]:
            return None
        return self.at(position)


@frozen(slots=False)
class Exchange:
    """Who sends what to whom: every device receives each missing element exactly once.

    If several devices hold a part, the devices that need some of it are numbered, and receiver k
    gets it from holder ``k % copies``: so the holders share the work. Along ``same`` axes the
    sender has the receiver's own coordinate, which is as even and needs fewer links.
    """

    shape: tuple[Int, ...]  #: the sizes of the array.
    source: End  #: who holds what before.
    target: End  #: who needs what.
    is_common: bool  #: whether both are on the same axes.

    @property
    def ends(self) -> tuple[End, End]:
        return self.source, self.target

    @property
    def devices(self) -> int:
        """The number of devices, of both sides together."""
        return max(known(tuple(end.sharding.mesh.devices for end in self.ends)))

    @property
    def renamed(self) -> str:
        """Whose names the axes have if both meshes use a name for different ones; else empty."""
        names = shared_names(*(end.sharding.mesh for end in self.ends)) if self.is_common else []
        if not names:
            return ""
        return (
            f"axes are named as in the mesh before; in the mesh after, {listed(names)} "
            f"{'is another axis' if len(names) == 1 else 'are other axes'}"
        )

    @cached_property
    def same(self) -> tuple[int, ...]:
        """Axes along which the sender of a copy has the coordinate of the receiver."""
        if not self.is_common:
            return ()
        return tuple(k for k in self.source.free_axes if k not in self.spread)

    @cached_property
    def spread(self) -> tuple[int, ...]:
        """Axes along which a receiver chooses a sender of a copy by its own coordinate elsewhere.

        Along an axis that cuts a dimension only afterwards, receivers of one part have one
        coordinate if that dimension was cut before.
        """
        if not self.is_common:
            return self.source.free_axes
        both = zip(self.source.cuts, self.target.cuts, strict=True)
        bound = {b.axis for one, other in both if _axes(one) for b in other}
        return tuple(k for k in self.source.free_axes if k in bound)

    @cached_property
    def over(self) -> tuple[int, ...]:
        """Axes of receivers that need the same, by which they choose different senders."""
        free = self.target.free_axes
        return tuple(k for k in free if not self.is_common or k in self.source.cut_axes)

    @cached_property
    def _size(self) -> dict[int, int]:
        return {k: axis.size for end in self.ends for k, axis in end.axes.items()}

    def _sizes(self, axes: Sequence[int]) -> list[int]:
        return [self._size[k] for k in axes]

    def _number(self, axes: Sequence[int], values: Values) -> int:
        number: int = linear_index([values[k] for k in axes], self._sizes(axes), 0)
        return number

    def _coordinate(self, axes: Sequence[int], number: int) -> Values:
        return dict(zip(axes, delinearize(number, tuple(self._sizes(axes))), strict=True))

    def _rank(self, has: Values, needs: Values) -> int:
        """Return the number of a part that is needed among those that share something with one."""
        rank = 0
        if not self.spread:
            return 0
        for a, b in zip(self.source.cuts, self.target.cuts, strict=True):
            sizes = [level.size for level in b if level.axis is not None]
            own = [level.block_of(needs[level.axis]) for level in b if level.axis is not None]
            number, count = linear_index(own, sizes, 0), prod(sizes)
            if a and b and all(level.axis is not None for level in (*a, *b)):
                first = _start(a, has) // b[-1].block
                over = (first >= count) * (first - count + 1)
                number = (number - (first - over)) % count
                ratio, rest = divmod(a[-1].block, b[-1].block)
                count = min(count, max(1, ratio) + 2 * bool(rest and b[-1].block % a[-1].block))
            rank = rank * count + number
        return rank

    def receives(self, device: int) -> Iterator[Message]:
        """Yield the messages that a device needs, each from one sender."""
        needs, has = self.target.values(device), self.source.values(device)
        if needs is None:
            return
        for held, runs in self._choices(self.target, self.source, needs):
            if has is None or any(has[k] != x for k, x in held.items()):
                yield Message(self._sender(held, needs), device, runs)

    def received(self, devices: Sequence[int]) -> Boxes:
        """Return the messages that devices need, as arrays."""
        if max(self._dims, default=0) >= 1 << 61:
            raise UnsupportedError(
                f"messages as arrays: expected sizes below 2^61, got {max(self._dims)}",
                "positions are integers of 64 bits",
                "ask for the messages of each device one by one, which have any size",
            )
        if not all(_is_plain(cut) for end in self.ends for cut in end.cuts):
            return self._listed(devices)
        at = np.asarray(devices, np.int64)
        at = at[self.target.positions(at) >= 0]
        needs, has = (end.at(end.positions(at)) for end in (self.target, self.source))
        # Along each dimension a device needs one block, and meets a run of blocks before it.
        firsts, counts, bounds = [], [], []
        for n, a, b in zip(self._dims, self.source.cuts, self.target.cuts, strict=True):
            low = _start(b, needs) + np.zeros_like(at)
            high = np.minimum(low + (b[-1].block if b else n), n)
            step = a[-1].block if a else max(n, 1)
            firsts.append(low // step)
            counts.append(np.where(high > low, (high - 1) // step - low // step + 1, 0))
            bounds.append((low, high, step))
        totals = np.prod([np.ones_like(at), *counts], axis=0)
        row = np.repeat(np.arange(len(at)), totals)
        left = np.arange(len(row)) - np.repeat(np.cumsum(totals) - totals, totals)
        start, block = (np.zeros((len(row), len(counts)), np.int64) for _ in range(2))
        held: Values = {}
        for dim in reversed(range(len(counts))):
            left, number = np.divmod(left, counts[dim][row])
            number = number + firsts[dim][row]
            (low, high, step), cut = bounds[dim], self.source.cuts[dim]
            start[:, dim] = np.maximum(low[row], number * step)
            block[:, dim] = np.minimum(high[row], (number + 1) * step) - start[:, dim]
            digits = delinearize(number, tuple(level.size for level in cut))
            for level, x in zip(cut, digits, strict=True):
                held[level.axis or 0] = (x + level.shift) % level.size
        needs = {k: x[row] for k, x in needs.items()}
        alike = (has[k][row] == x for k, x in held.items())
        kept = np.logical_and.reduce([(self.source.positions(at) >= 0)[row], *alike])
        sender = self._sender(held, needs) + np.zeros_like(row)
        found = Boxes(sender, at[row], start, block, start * 0, start * 0 + 1)
        return Boxes(*(x[~kept] for x in found))

    def _listed(self, devices: Sequence[int]) -> Boxes:
        messages = [message for device in devices for message in self.receives(device)]
        rows = [(m.sender, m.receiver, each) for m in messages for each in product(*m.runs)]
        ends = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        runs = [[(r.start, r.block, r.period, r.count) for r in each] for *_, each in rows]
        parts = np.array(runs, np.int64).reshape(len(rows), len(self.shape), 4)
        return Boxes(*ends, *np.moveaxis(parts, 2, 0))

    def _sender(self, held: Values, needs: Values) -> Any:
        """Return the device that sends a part to a device, of those that hold it."""
        copies, receivers = prod(self._sizes(self.spread)), prod(self._sizes(self.over))
        number = self._rank(held, needs) * receivers + self._number(self.over, needs)
        chosen = self._coordinate(self.spread, number % copies)
        return self.source.device({**{k: needs[k] for k in self.same}, **chosen, **held})

    def sends(self, device: int) -> Iterator[Message]:
        """Yield the messages that a device has to send."""
        has = self.source.values(device)
        if has is None:
            return
        copies, receivers = prod(self._sizes(self.spread)), prod(self._sizes(self.over))
        own = self._number(self.spread, has)
        same = {k: has[k] for k in self.same}
        for needed, runs in self._choices(self.source, self.target, has, same):
            first = (own - self._rank(has, needed) * receivers) % copies
            for number in range(first, receivers, copies):
                at = {**same, **self._coordinate(self.over, number), **needed}
                receiver = self.target.device(at)
                theirs = at if self.is_common else self.source.values(receiver)
                if theirs is None or any(theirs[k] != has[k] for k in self.source.cut_axes):
                    yield Message(device, receiver, runs)

    def keeps(self, device: int) -> Message | None:
        """Return what a device holds before and after, as a message to itself; None if nothing."""
        has, needs = self.source.values(device), self.target.values(device)
        if has is None or needs is None:
            return None
        ends = zip(known(self.shape), self.source.cuts, self.target.cuts, strict=True)
        combs = [intersection(part(a, has, n), part(b, needs, n)) for n, a, b in ends]
        return Message(device, device, tuple(map(_runs, combs))) if all(combs) else None

    @cached_property
    def _dims(self) -> tuple[int, ...]:
        return known(self.shape)

    @cached_property
    def _kept(self) -> dict[Any, list[tuple[Values, tuple[Run, ...]]]]:
        """What :meth:`_met` found along dimensions: devices differ in few of them at a time."""
        return {}

    def _met(
        self, one: End, other: End, dim: int, at: Values, fixed: Values
    ) -> list[tuple[Values, tuple[Run, ...]]]:
        """Return the coordinates of the other end that hold some of a part along a dimension."""
        cut, there = one.cuts[dim], other.cuts[dim]
        wanted = {k: fixed[k] for k in _axes(there) if k in fixed}
        key = (one is self.source, dim, *(at[k] for k in _axes(cut)), *wanted.values())
        found = self._kept.get(key)
        if found is None:
            n = self._dims[dim]
            combs = part(cut, at, n)
            every = (dict(pairs) for pairs in touched(there, combs))
            found = [
                (v, _runs(intersection(part(there, v, n), combs)))
                for v in every
                if all(v.get(k, x) == x for k, x in wanted.items())
            ]
            if len(self._kept) >= RESHARD_PARTS:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _choices(
        self, one: End, other: End, at: Values, fixed: Values | None = None
    ) -> Iterator[tuple[Values, tuple[tuple[Run, ...], ...]]]:
        """Yield the coordinates of the other end that hold some of a part, and what they hold."""
        dims = range(len(self.shape))
        for choice in product(*(self._met(one, other, dim, at, fixed or {}) for dim in dims)):
            merged = {k: x for values, _ in choice for k, x in values.items()}
            yield merged, tuple(runs for _, runs in choice)


def _start(cut: Sequence[CutLevel], values: Values) -> Any:
    """Return the first index of the block at some values of the axes."""
    return sum(level.block_of(values[level.axis or 0]) * level.block for level in cut)


def _is_plain(cut: Sequence[CutLevel]) -> bool:
    """Return whether each part is one block, and a block of an outer level whole inner ones."""
    return all(level.axis is not None and not level.starts for level in cut) and all(
        a.block == b.block * b.size for a, b in pairwise(cut)
    )


def _axes(cut: Sequence[CutLevel]) -> list[int]:
    return [level.axis for level in cut if level.axis is not None]


def _runs(combs: Sequence[Comb]) -> tuple[Run, ...]:
    return tuple(sorted((r for comb in combs for r in comb.runs()), key=lambda r: r.start))


def exchange(source: Sharding, target: Sharding, shape: Sequence[Int]) -> Exchange:
    """Return the exchange between two shardings, on common axes if both meshes have them."""
    sizes, ends = tuple(shape), (source, target)
    strides = sorted({n for each in ends for _, n in _digits(each.mesh).values()}, reverse=True)
    strides = [*known((source.mesh.count,)), *strides]
    steps = [*pairwise(strides)]
    is_common = (
        source.mesh.ids == target.mesh.ids
        and source.mesh.count == target.mesh.count
        and not any(a % b for a, b in steps)
    )
    if is_common:
        names = _common_names(source.mesh, target.mesh, steps)
        axes = {k: MeshAxis(names[b], ((a // b, b),)) for k, (a, b) in enumerate(steps) if a > b}
        cuts, cuts_after = (_levels(each, sizes, axes) for each in ends)
        if cuts is not None and cuts_after is not None:
            one, other = End(source, axes, cuts), End(target, axes, cuts_after)
            return Exchange(sizes, one, other, True)
    one = _own_end(source, sizes, 0)
    return Exchange(sizes, one, _own_end(target, sizes, len(one.axes)), False)


def _digits(mesh: Mesh) -> dict[str, tuple[int, int]]:
    sizes = known(mesh.sizes)
    return {name: (sizes[k], prod(sizes[k + 1 :])) for k, name in enumerate(mesh.names)}


def shared_names(one: Mesh, other: Mesh) -> list[str]:
    """Return the names that both meshes have for different axes of devices."""
    digits, theirs = _digits(one), _digits(other)
    both = (name for name in digits if max(digits[name][0], theirs.get(name, (1, 1))[0]) > 1)
    return [name for name in both if name in theirs and digits[name] != theirs[name]]


def _common_names(one: Mesh, other: Mesh, steps: Sequence[tuple[int, int]]) -> dict[int, str]:
    """Return a name of its own for each stride, of a whole axis where a mesh has one.

    If a name means different axes in the two meshes, all names are of the first mesh.
    """
    names, others = _names(one, steps), _names(other, steps)
    if not shared_names(one, other):
        names |= {b: found for b, found in others.items() if found[1] and not names[b][1]}
    return {b: name for b, (name, _) in names.items()}


def _names(mesh: Mesh, steps: Sequence[tuple[int, int]]) -> dict[int, tuple[str, bool]]:
    """Return for each stride the axis of the mesh that has it, and whether that is all of it."""
    found, dot = {}, "."
    while any(dot in name for name in mesh.names):
        dot += "."
    for name, (size, stride) in _digits(mesh).items():
        inside = [b for a, b in steps if stride <= b < stride * size and a > b]
        for k, b in enumerate(inside):
            found[b] = (name, True) if len(inside) == 1 else (f"{name}{dot}{k}", False)
    return found


def _levels(
    sharding: Sharding, shape: Sequence[Int], axes: Mapping[int, MeshAxis]
) -> tuple[tuple[CutLevel, ...], ...] | None:
    """Return the cuts along these axes; None if a rotated or listed cut is along two of them."""
    strides, cuts = _digits(sharding.mesh), []
    for dim, n in enumerate(shape):
        levels, extent = list[CutLevel](), n
        for digit in sharding.digits(dim, n):
            own = [strides[name] for name in digit.axes]
            inside = [
                k
                for size, stride in own
                for k, axis in axes.items()
                if len(axis.digits) == 1 and stride <= axis.digits[0][1] < stride * size
            ]
            if (digit.first or digit.starts) and len(inside) != 1 and digit.count != 1:
                inside = [k for k, axis in axes.items() if axis.digits == tuple(own)]
                if not inside:
                    return None
            sizes, how = [axes[k].size for k in inside], (digit.first, digit.starts)
            levels += [
                CutLevel(digit.block * prod(sizes[j + 1 :]), k, axes[k].size, *how)
                for j, k in enumerate(inside)
            ]
            if not inside and not is_nonnegative(digit.block - extent):
                levels.append(CutLevel(digit.block))
            extent = digit.block
        while levels and levels[-1].axis is None:  # pieces of a part stay on its device
            levels.pop()
        cuts.append(tuple(levels))
    return tuple(cuts)


def _own_end(sharding: Sharding, shape: Sequence[Int], first: int) -> End:
    """Return a side with axes of its own; those that a rotated or listed cut joins are one."""
    digits = _digits(sharding.mesh)
    every = (x for dim, n in enumerate(shape) for x in sharding.digits(dim, n))
    joined = [x.axes for x in every if (x.first or x.starts) and len(x.axes) > 1]
    groups = [*joined, *((name,) for name in digits if not any(name in g for g in joined))]
    names = [group[0] if len(group) == 1 else f"({', '.join(group)})" for group in groups]
    own = [MeshAxis(n, tuple(digits[x] for x in g)) for n, g in zip(names, groups, strict=True)]
    axes = dict(enumerate((axis for axis in own if axis.size > 1), first))
    cuts = _levels(sharding, shape, axes)
    assert cuts is not None  # rotated cuts have axes of their own here
    return End(sharding, axes, cuts)
