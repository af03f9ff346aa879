"""The name of what an exchange does; steps over single axes of a mesh, and JAX code, that do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import product
from math import prod
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from morello_layouts.core.checks import as_int
from morello_layouts.core.description import amount, count
from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import RESHARD_ROWS, RESHARD_STATES
from morello_layouts.core.maps.subject import shape_text
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.machines.resharding.combs import CutLevel, Message, Pieces, in_turn
from morello_layouts.machines.resharding.exchange import End, Exchange, MeshAxis

KindName: TypeAlias = Literal[
    "nothing", "local relayout", "slice", "all-gather", "permute", "all-to-all", "general"
]
"""The kind of a plan."""


class StepKind(NamedTuple):
    """The kind of an exchange."""

    name: KindName  #: what devices do.
    #: the names of the axes along which senders and receivers differ; empty if the meshes have no
    #: common axes.
    axes: tuple[str, ...] = ()


def kind_of(exchange: Exchange) -> StepKind:
    """Return the kind of an exchange, by what decides the coordinate along each axis."""
    if not exchange.is_common:
        return StepKind("permute" if _same_parts(exchange) else "general")
    before, after = (dict(_numbers(end, exchange.shape)) for end in exchange.ends)
    axes = exchange.source.axes
    moving = [k for k in axes if before.get(k) != after.get(k)]
    gathered = [k for k in moving if k not in after]
    sliced = [k for k in moving if k not in before]
    name: KindName = "general"
    if not moving:
        return StepKind("nothing")
    if len(sliced) == len(moving):
        name = "slice"
    elif len(gathered) == len(moving):
        name = "all-gather"
    elif _same_parts(exchange):
        name = "permute"
    elif not gathered and not sliced:
        name = "all-to-all"
    return StepKind(name, tuple(axes[k].name for k in moving))


def _numbers(end: End, shape: Sequence[Any]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield for each axis what its coordinate is of an index: equal numbers are equal formulas."""
    for dim, (n, cut) in enumerate(zip(shape, end.cuts, strict=True)):
        moduli: list[Any] = []
        for level in cut:
            if level.axis is not None:
                own = level.block, level.size, level.shift, level.starts
                yield level.axis, (dim, *moduli, *own)
            # A remainder of a remainder by a divisor is that by the divisor.
            moduli = [m for m in moduli if m % level.block != 0]
            if not is_nonnegative(level.block - n):
                moduli.append(level.block)


def _same_parts(exchange: Exchange) -> bool:
    """Whether both sides have the same parts, on as many devices, if on others."""
    cuts = zip(*(end.cuts for end in exchange.ends), strict=True)
    one, other = (end.sharding for end in exchange.ends)
    return one.replicas == other.replicas and all(_parts(a) == _parts(b) for a, b in cuts)


def _parts(cut: Sequence[CutLevel]) -> list[tuple[Any, bool, tuple[int, ...]]]:
    """Return the blocks of a cut, levels of several axes that number one kind of block as one."""
    found: list[tuple[Any, bool, tuple[int, ...]]] = []
    for level in cut:
        is_inner = bool(found) and found[-1][1] and level.axis is not None
        if is_inner and found[-1][0] == level.block * level.size:
            found.pop()
        found.append((level.block, level.axis is not None, level.starts))
    return found


State: TypeAlias = tuple[tuple[int, ...], ...]
"""For each dimension the axes that cut it, the most major first."""

Names: TypeAlias = tuple[tuple[str, ...], ...]
"""The same with the names of the axes."""

_Entry: TypeAlias = "tuple[Fraction, int, int, State, tuple[Step, ...]]"


@frozen
class Step(Displayed):
    """A collective over axes of a mesh, of parts that are equal on all devices."""

    json_keys: ClassVar = ("kind", "axes", "source", "target", "spec=spec")

    kind: str  #: ``all-to-all``, ``all-gather``, ``slice`` or ``permute``.
    axes: tuple[str, ...]  #: the axes.
    source: int | None  #: the dimension that is cut along them before; None if there is none.
    target: int | None  #: the dimension that is cut along them afterwards; None if there is none.
    specs: Names  #: for each dimension the axes that cut it afterwards, as in a PartitionSpec.

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
            if level.axis is None or level.shift or level.starts or not is_equal:
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


@frozen(slots=False)
class Schedule(Displayed):
    """In which order devices send pieces, many at once, within the memory of each.

    A device sends to one device and receives from one at a time; none waits for all. Two pieces are
    under way each way: one travels while the next is packed, or the last unpacked.
    """

    json_keys: ClassVar = ("peak_bytes", "before_bytes", "after_bytes", "piece_bytes", "piece")

    exchange: Exchange  #: who sends what to whom.
    before_bytes: int  #: bytes of a device's buffer before.
    after_bytes: int  #: those afterwards.
    bits: int  #: bits of an element.
    piece: int  #: elements of a piece, at most.

    @property
    def piece_bytes(self) -> int:
        """The bytes of a piece, at most."""
        return -(-self.piece * self.bits // 8)

    @property
    def peak_bytes(self) -> int:
        """The bytes that a device needs at most: both buffers, and two pieces each way."""
        return self.before_bytes + self.after_bytes + 4 * self.piece_bytes

    def sends(self, device: int) -> Iterator[Message]:
        """Yield the pieces that a device sends, in order."""
        return self._pieces(self.exchange.sends, device)

    def receives(self, device: int) -> Iterator[Message]:
        """Yield the pieces that a device receives, in order."""
        return self._pieces(self.exchange.receives, device)

    def _pieces(self, way: Callable[[int], Iterator[Message]], device: int) -> Iterator[Message]:
        order = tuple(range(len(self.exchange.shape)))
        devices = self.exchange.devices
        for message in in_turn(way(as_int(device, "device", 0, devices - 1)), devices):
            pieces = Pieces(message, order, self.piece)
            for runs in map(pieces.__getitem__, range(len(pieces))):
                yield Message(message.sender, message.receiver, runs)

    def __str__(self) -> str:
        return (
            f"up to {count(self.peak_bytes, 'byte')} on a device: {amount(self.before_bytes)} "
            f"before, {amount(self.after_bytes)} after, 2 pieces each way of up to "
            f"{amount(self.piece_bytes)}"
        )


def jax_code(
    exchange: Exchange, steps: Sequence[Step], verdict: str, *, name: str, collectives: bool
) -> str:
    """Return the file of ``Plan.jax``, which has its steps and begins with its verdict."""
    if not name.isidentifier():
        raise LayoutError(
            f"name: expected a name of Python, got {name!r}", fix="give letters, digits and _"
        )
    ends = exchange.ends
    before, after = (_spec(end, known(exchange.shape)) for end in ends)
    if not exchange.is_common:
        body = [
            *_mesh_lines("mesh", ends[0]),
            *_mesh_lines("mesh_after", ends[1]),
            f"before = NamedSharding(mesh, {before})",
            f"after = NamedSharding(mesh_after, {after})",
            "",
            "",
            f"def {name}(a):",
            "    return jax.device_put(a, after)",
        ]
        return _file(verdict, body)
    lines = [f"# {exchange.renamed}"] if exchange.renamed else []
    lines += [*_mesh_lines("mesh", ends[0]), f"before, after = {before}, {after}"]
    if not collectives or (not steps and before != after):
        body = [*lines, f"{name} = jax.jit(lambda a: a, out_shardings=NamedSharding(mesh, after))"]
        return _file(verdict, body)
    axes = {axis.name: axis.size for axis in ends[0].axes.values()}
    text, at = list[str](), _names(ends[0])
    for step in steps:
        text += [f"# {step}", *_step_lines(step, axes, at)]
        at = step.specs
    options = "mesh=mesh, in_specs=before, out_specs=after, check_vma=False"
    head = ["", "", "@jax.jit", f"@partial(jax.shard_map, {options})", f"def {name}(a):"]
    return _file(verdict, [*lines, *head, *(f"    {line}" for line in (*text, "return a"))])


def _file(verdict: str, body: Sequence[str]) -> str:
    def used(*words: str) -> list[str]:
        return [word for word in words if any(f"{word}(" in line for line in body)]

    lines = [f'"""{verdict}."""', ""]
    lines += ["from functools import partial", ""] if used("partial") else []
    lines += ["import jax", "import numpy as np"]
    names = [*used("Mesh", "NamedSharding"), "PartitionSpec as P"]
    return "\n".join([*lines, f"from jax.sharding import {', '.join(names)}", "", *body, ""])


def _mesh_lines(name: str, end: End) -> Iterator[str]:
    ids, count = end.sharding.mesh.ids, known((end.sharding.mesh.count,))[0]
    devices = f"[[{', '.join(map(str, ids))}]]" if ids else f"[:{count}]"
    axes = [*end.axes.values()] or [MeshAxis("all", ((1, 1),))]
    sizes, names = (shape_text(x) for x in ([x.size for x in axes], [repr(x.name) for x in axes]))
    yield f"{name} = Mesh(np.array(jax.devices()){devices}.reshape({sizes}), {names})"


def _names(end: End) -> Names:
    return tuple(
        tuple(end.axes[x.axis].name for x in cut if x.axis is not None) for cut in end.cuts
    )


def _spec(end: End, shape: Sequence[int]) -> str:
    if not is_even(end, shape):
        raise UnsupportedError(
            f"{end.sharding.mesh}: the parts are not equal blocks, in the order of the devices",
            "JAX shards arrays in equal blocks of neighbours, the first on the first device",
            "pad the array to a multiple, or run the plan over MPI",
        )
    return spec_text(_names(end))


def _step_lines(step: Step, sizes: Mapping[str, int], before: Names) -> Iterator[str]:
    """Yield the lines of a step on a device's own part ``a``."""
    axes = shape_text([repr(name) for name in step.axes])
    count = prod(sizes[name] for name in step.axes)
    match step.kind:
        case "all-to-all":
            ends = f"split_axis={step.target}, concat_axis={step.source}"
            yield f"a = jax.lax.all_to_all(a, {axes}, {ends}, tiled=True)"
        case "all-gather":
            yield f"a = jax.lax.all_gather(a, {axes}, axis={step.source}, tiled=True)"
        case "slice":
            yield f"size = a.shape[{step.target}] // {count}"
            start = f"jax.lax.axis_index({axes}) * size"
            yield f"a = jax.lax.dynamic_slice_in_dim(a, {start}, size, {step.target})"
        case _:
            pairs = _pairs(step, sizes, before)
            yield f"a = jax.lax.ppermute(a, {axes}, [{', '.join(map(str, pairs))}])"


def _pairs(step: Step, sizes: Mapping[str, int], before: Names) -> list[tuple[int, int]]:
    """Return who sends its part to whom, by the row-major numbers along the axes of a step."""
    own = [sizes[name] for name in step.axes]
    if prod(own) > RESHARD_ROWS:
        raise UnsupportedError(
            f"a permutation of {prod(own)} devices",
            "JAX takes it as a list of pairs",
            "give collectives=False, and XLA finds it",
        )

    def devices(names: Names) -> list[int]:
        """The devices in the order of the parts that they hold, copies by their number."""
        found = []
        for number, at in enumerate(product(*map(range, own))):
            place = dict(zip(step.axes, at, strict=True))
            part = [[place[name] for name in cut if name in place] for cut in names]
            found.append((part, number))
        return [number for _, number in sorted(found)]

    return sorted(zip(devices(before), devices(step.specs), strict=True))
