"""Moves between a device's buffer and a message: strides in both, by NumPy or by a kernel.

A run of a dimension falls into stretches along which the buffer's offset is a sum of strides: the
ends of tiles that it cuts, and the whole tiles between. One stretch of each dimension make a move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from numpy.lib.stride_tricks import as_strided

from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import MESSAGE_STRETCHES
from morello_layouts.core.recipe import Recipe, known, offset_of
from morello_layouts.core.recipe.digits import AxisDigit, fused_axes, ranges_between, refined
from morello_layouts.machines.resharding.combs import Run, Runs, shape_of
from morello_layouts.notations.sharding import MeshDigit, Sharding
from morello_layouts.notations.strided import StridedLayout
from morello_layouts.outputs.kernels.build import compiler
from morello_layouts.outputs.kernels.chains import chains_to_read
from morello_layouts.outputs.kernels.compiled import sized_relayout

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Bytes of a move from which a kernel is worth the call, and bytes of a run that is contiguous on
# both sides from which NumPy copies as fast as memcpy.
_LEAST_COMPILED, _LONG_RUN = 1 << 16, 32

# Pieces whose moves a buffer remembers.
_KEPT = 256


class MoveAxis(NamedTuple):
    """An axis of a move: its steps, and how far a step goes in the buffer and in the message."""

    steps: int
    buffer: int
    message: int


class StridedCopy(NamedTuple):
    """Elements that strides lead to, in the buffer and in the message; or a part of a dimension."""

    offset: int  #: the first element's offset in the buffer.
    position: int  #: its position in the message.
    axes: tuple[MoveAxis, ...]  #: the largest step in the message first.

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in the buffer as they do in the message, without gaps."""
        return not self.axes or (len(self.axes) == 1 and self.axes[0][1:] == (1, 1))


Portion: TypeAlias = "tuple[StridedCopy, ...] | NDArray[np.int64]"
"""Where a buffer has a piece of a message: moves, or else the offset of each element."""


def place_of(portion: Portion) -> int | None:
    """Return the offset at which a piece is contiguous in the buffer; None if it is not."""
    if isinstance(portion, tuple) and len(portion) == 1 and portion[0].contiguous:
        return portion[0].offset
    return None


@frozen(slots=False)
class LocalBuffer:
    """Where a device's buffer has the elements of the array."""

    recipe: Recipe  #: the local layout at the local shape.
    #: for each dimension a function from a coordinate of the array to the local one.
    local: tuple[Callable[[int], int], ...]

    @cached_property
    def chains(self) -> tuple[tuple[AxisDigit, ...], ...] | None:
        """The digits of each dimension, the largest unit first; None if it has none."""
        found = chains_to_read(self.recipe)
        return None if found is None else tuple(chain[::-1] for chain in found.chains)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The dimensions, that with the largest strides first."""
        dims = range(len(self.recipe.shape))
        if self.chains is None:
            return tuple(dims)
        steps = [known((chain[-1].stride,))[0] if chain else 0 for chain in self.chains]
        return tuple(sorted(dims, key=lambda dim: -steps[dim]))

    def local_runs(self, dim: int, runs: Iterable[Run]) -> list[Run]:
        """Return runs of the array's coordinates in local ones."""
        found = []
        for run in runs:
            start = self.local[dim](run.start)
            period = self.local[dim](run.start + run.period) - start if run.count > 1 else 0
            found.append(Run(start, run.block, period, run.count))
        return found

    def moves(self, runs: Runs, order: Sequence[int]) -> list[StridedCopy] | None:
        """Return the moves between the buffer and a message.

        Returns:
            None if strides do not say it, or for too many moves.
        """
        if self.chains is None:
            return None
        shift, near = 0, list[tuple[Run, ...]]()
        for dim, (unit, stride) in enumerate(self._tops):
            local = self.local_runs(dim, runs[dim])
            first = min((run.start for run in local), default=0) // unit
            shift += first * stride
            moved = (Run(x.start - first * unit, x.block, x.period, x.count) for x in local)
            near.append(tuple(moved))
        key = tuple(near), tuple(order)
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._moves(*key)
        found = self._known[key]
        return found and [StridedCopy(x.offset + shift, x.position, x.axes) for x in found]

    @cached_property
    def _tops(self) -> list[tuple[int, int]]:
        chains = (self.chains or ())[: len(self.recipe.shape)]
        ends = (known((chain[0].unit, chain[0].stride)) if chain else (1, 0) for chain in chains)
        return [(unit, stride) for unit, stride in ends]

    @cached_property
    def _known(self) -> dict[Any, list[StridedCopy] | None]:
        """Moves of pieces that begin in the first blocks: those of others are the same, shifted."""
        return {}

    def _moves(self, runs: Runs, order: Sequence[int]) -> list[StridedCopy] | None:
        assert self.chains is not None
        steps, step, sizes = {}, 1, shape_of(runs)
        for dim in reversed(order):
            steps[dim] = step
            step *= sizes[dim]
        parts = list[list[StridedCopy]]()
        for dim, own in enumerate(runs):
            found = list(_stretches(self.chains[dim], own))
            if not found or len(found) * prod(len(part) for part in parts) > MESSAGE_STRETCHES:
                return [] if not found else None
            parts.append([_scaled(stretch, steps[dim]) for stretch in found])
        (start,) = known((self.recipe.offset,))
        return [_move(start, choice) for choice in product(*parts)]

    def portion(self, runs: Runs, order: Sequence[int]) -> Portion:
        """Return where the buffer has a piece of a message; arguments as of :meth:`moves`."""
        moves = self.moves(runs, order)
        return self._offsets(runs, order) if moves is None else tuple(moves)

    def _offsets(self, runs: Runs, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the buffer's offset of each element of a message, in the message's order."""
        rank = len(runs)
        at = []
        for dim, own in enumerate(runs):
            x = np.concatenate([_indices(run) for run in self.local_runs(dim, own)])
            at.append(x.reshape([-1 if k == dim else 1 for k in range(rank)]))
        found: Any = offset_of(self.recipe, at, np.int64(0))
        offsets = np.broadcast_to(found, [x.size for x in at])
        return offsets.transpose(order).reshape(-1)


def _indices(run: Run) -> NDArray[np.int64]:
    blocks = np.arange(run.count)[:, None] * run.period
    return (run.start + blocks + np.arange(run.block)).reshape(-1)


def _scaled(stretch: StridedCopy, step: int) -> StridedCopy:
    axes = (MoveAxis(n, b, m * step) for n, b, m in stretch.axes)
    return StridedCopy(stretch.offset, stretch.position * step, tuple(axes))


def _move(start: int, stretches: Sequence[StridedCopy]) -> StridedCopy:
    offset = start + sum(stretch.offset for stretch in stretches)
    position = sum(stretch.position for stretch in stretches)
    axes = sorted(
        (axis for stretch in stretches for axis in stretch.axes), key=lambda axis: -axis.message
    )
    return StridedCopy(offset, position, tuple(map(MoveAxis._make, fused_axes(axes))))


def _stretches(chain: Sequence[AxisDigit], runs: Iterable[Run]) -> Iterator[StridedCopy]:
    """Yield the stretches of local runs along a dimension with these digits, largest unit first."""
    top, stride = known((chain[0].unit, chain[0].stride)) if chain else (1, 0)
    position = 0
    for run in runs:
        block, period, count = run.block, run.period, run.count
        if period == block:  # one long block
            block, count = block * count, 1
        # The number of blocks after which the digits below the largest one are the same.
        cycle = min(count, top // gcd(top, period)) if count > 1 else 1
        for k in range(cycle):
            steps = -(-(count - k) // cycle)
            repeat = MoveAxis(steps, period * cycle // top * stride, block * cycle)
            for offset, at, axes in _peeled(chain, run.start + period * k, block):
                outer = (repeat,) if steps > 1 else ()
                yield StridedCopy(offset, position + block * k + at, (*outer, *axes))
        position += run.size


def _peeled(chain: Sequence[AxisDigit], start: int, count: int) -> Iterator[StridedCopy]:
    """Yield the stretches of neighboring coordinates: the ends of blocks, and whole ones between.

    >>> tiles = (AxisDigit(0, 8, 4, stride=80), AxisDigit(0, 1, 8, stride=10))
    >>> for stretch in _peeled(tiles, 6, 11):
    ...     print(stretch.offset, stretch.position, [tuple(axis) for axis in stretch.axes])
    60 0 [(2, 10, 1)]
    80 2 [(8, 10, 1)]
    160 10 []
    """
    units, strides = [digit.unit for digit in chain], known([digit.stride for digit in chain])
    if not chain and count > 0:
        yield StridedCopy(0, 0, (MoveAxis(count, 0, 1),) if count > 1 else ())
    for ranges in ranges_between(units, start, start + count) if chain else ():
        axes = list(zip(ranges, strides, units, strict=True))
        yield StridedCopy(
            sum(stride * first for (first, _), stride, _ in axes),
            sum(unit * first for (first, _), _, unit in axes) - start,
            tuple(MoveAxis(n, stride, unit) for (_, n), stride, unit in axes if n > 1),
        )


def copy(portion: Portion, buffer: NDArray[Any], message: NDArray[Any], *, into: bool) -> None:
    """Copy a piece of a message into the buffer, or out of it into the message."""
    if isinstance(portion, tuple):
        for move in portion:
            _copy(move, buffer, message, into=into)
    elif into:
        buffer[portion] = message[: portion.size]
    else:
        message[: portion.size] = buffer[portion]


def copied_at_once(
    source: Portion, items: NDArray[Any], target: Portion, into: NDArray[Any]
) -> bool:
    """Copy a piece from one buffer to another without a message between, if strides say both."""
    if not all(isinstance(each, tuple) and len(each) == 1 for each in (source, target)):
        return False
    (one,), (other,) = source, target
    axes = common_axes(one.axes, other.axes)
    if axes is None:
        return False
    _reached(into, other.offset, axes, 2)[...] = _reached(items, one.offset, axes, 1)
    return True


def common_axes(one: Sequence[MoveAxis], other: Sequence[MoveAxis]) -> list[MoveAxis] | None:
    """Return axes that step through two buffers as through one message; None if there are none.

    >>> one = [MoveAxis(6, 20, 4), MoveAxis(4, 1, 1)]
    >>> [tuple(each) for each in common_axes(one, [MoveAxis(2, 30, 12), MoveAxis(12, 2, 1)])]
    [(2, 60, 30), (3, 20, 8), (4, 1, 2)]
    """
    common = refined([axis.steps for axis in one], [axis.steps for axis in other])
    if common is None:
        return None
    return [
        MoveAxis(radix, one[k].buffer * unit, other[j].buffer * theirs)
        for radix, ((k, unit), (j, theirs)) in common[::-1]
    ]


def _copy(move: StridedCopy, buffer: NDArray[Any], message: NDArray[Any], *, into: bool) -> None:
    axes = move.axes
    run = axes[-1].steps if axes and axes[-1][1:] == (1, 1) else 1
    size = buffer.itemsize
    if run * size < _LONG_RUN and prod(axis.steps for axis in axes) * size >= _LEAST_COMPILED:
        kernel = _kernel(axes, into, size)
        if kernel is not None:
            a, b = (_spanned(x, start, axes, side) for x, start, side in (
                (buffer, move.offset, 1), (message, move.position, 2)
            ))  # fmt: skip
            kernel(b, a) if into else kernel(a, b)
            return
    mine, other = _reached(buffer, move.offset, axes, 1), _reached(message, move.position, axes, 2)
    if into:
        mine[...] = other
    else:
        other[...] = mine


def _reached(array: NDArray[Any], start: int, axes: Sequence[MoveAxis], side: int) -> NDArray[Any]:
    """Return the elements that axes lead to from a start: side 1 is the buffer, 2 the message."""
    counts, steps = [axis.steps for axis in axes], [axis[side] * array.itemsize for axis in axes]
    return as_strided(array[start:], counts, steps)


def _spanned(array: NDArray[Any], start: int, axes: Sequence[MoveAxis], side: int) -> NDArray[Any]:
    end = start + sum((axis.steps - 1) * axis[side] for axis in axes) + 1
    return array[start:end]


@lru_cache(maxsize=256)
def _kernel(axes: tuple[MoveAxis, ...], into: bool, itemsize: int) -> Callable[..., object] | None:
    """Return the kernel of a move; one serves all sizes. None if NumPy does it."""
    if compiler() is None:
        return None
    values = {f"n{k}": axis.steps for k, axis in enumerate(axes)}
    shape = tuple(SizeExpr.named(name) for name in values)
    recipes = []
    for letter, side in (("s", 1), ("t", 2)):
        strides = _nested([axis[side] for axis in axes], letter, values)
        if strides is None:
            return None
        recipes.append(StridedLayout(strides).recipe(shape))
    source, target = recipes[::-1] if into else recipes
    dtype = np.dtype((np.void, itemsize))
    return sized_relayout(source, target, dtype).at(**values)


def _nested(strides: Sequence[int], letter: str, values: dict[str, int]) -> tuple[Int, ...] | None:
    """Return strides as products of names, whose values are added; None if they do not divide."""
    found: dict[int, Int] = {}
    stride: Int = 1
    before = 1
    for k in sorted(range(len(strides)), key=lambda k: strides[k]):
        factor, rest = divmod(strides[k], before) if before else (0, 1)
        if rest or not factor:
            return None
        if factor != 1:
            name = f"{letter}{k}"
            stride, values[name] = stride * SizeExpr.named(name), factor
        found[k], before = stride, strides[k]
    return tuple(found[k] for k in range(len(strides)))


def local_buffer(
    sharding: Sharding, shape: Sequence[int], layout: Layout | None, device: int
) -> LocalBuffer | None:
    """Return the buffer of a device; None if the mesh does not have the device.

    >>> from morello_layouts.notations.sharding import Level, Mesh
    >>> rows = Sharding(Mesh((("x", 4),)), ((Level(("x",)),), ()))
    >>> found = local_buffer(rows, (10, 16), None, 1)
    >>> found.recipe.shape, found.local[0](5)
    ((3, 16), 2)
    """
    found = sharding.mesh.coordinate(device)
    if found is None:
        return None
    at = dict(zip(sharding.mesh.names, found, strict=True))
    is_own = sharding.local_rule == "own"
    local = [
        partial(sharding.held, dim, n, at) if is_own else partial(_padded, sharding.digits(dim, n))
        for dim, n in enumerate(shape)
    ]
    sizes = sharding.local_shape(shape, device) if is_own else sharding.local_dims(shape)
    recipe = Recipe(sizes) if layout is None else layout.recipe(sizes)
    return LocalBuffer(recipe, tuple(local))


def _padded(digits: Sequence[MeshDigit], x: int) -> int:
    """Return the coordinate in a buffer whose blocks are all of full size."""
    found = 0
    for digit in digits:
        block, count = known((digit.block, digit.count))
        number, x = divmod(x, block)
        if not digit.axes:
            found = found * count + number
    return found * (known((digits[-1].block,))[0] if digits else 1) + x
