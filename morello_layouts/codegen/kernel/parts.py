"""The work of a kernel as pieces that several threads share, and never write to one place at once.

Of each loop nest one loop is divided: thread k of n does some of its steps. Boxes share no places,
but the nests of one box may, where the last vector of a row starts early. So the pieces are done in
phases: no two pieces of one phase write to the same places, and nobody begins a phase before all
are done with the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.extents import estimate, parted
from morello_layouts.codegen.kernel.fusion import Shared, Tree, fused
from morello_layouts.codegen.kernel.micro import Copy, Fill
from morello_layouts.codegen.kernel.moves import Moves
from morello_layouts.codegen.kernel.nest import Nest
from morello_layouts.expr.size import Number

__all__ = ["Piece", "phases_of"]

# Steps that a loop should have to be divided: with fewer, some threads wait for others.
_ENOUGH = 16
_CHUNK = 1 << 12


@dataclass(frozen=True, slots=True)
class Piece:
    """Work that is done in one phase.

    Attributes:
        tree: the loops.
        loop: which of them, from the outermost on, is divided; None where one thread does it all.
    """

    tree: Tree
    loop: int | None


def phases_of(moves: Moves) -> tuple[tuple[Piece, ...], ...]:
    """The pieces of a kernel, phase by phase.

    >>> from morello_layouts import relayout
    >>> from morello_layouts.codegen.kernel.moves import Kernel, moves_of
    >>> def of(shape):
    ...     r = relayout("[0, 1]", "[1, 0]", shape)
    ...     return phases_of(moves_of(Kernel(r.source.recipe, r.target.recipe, 4)))
    >>> [len(pieces) for pieces in of((1024, 1024))], [len(pieces) for pieces in of((1000, 1000))]
    ([1], [1, 1, 1])
    """
    whole = (*moves.fills, *moves.nests)
    nests = [part for nest in whole for part in _chunks(nest, moves.itemsize)]
    phases: list[list[Piece]] = []
    taken: list[set[int]] = []
    for piece in (piece for tree in fused(nests) for piece in _pieces(tree)):
        boxes = {nest.box for nest in _nests(piece.tree) if nest.box is not None}
        free = next((k for k, other in enumerate(taken) if not other & boxes), None)
        if free is None:
            free = len(phases)
            phases.append([])
            taken.append(set())
        phases[free].append(piece)
        taken[free] |= boxes
    return tuple(map(tuple, phases)) or ((),)


def _chunks(nest: Nest, itemsize: int) -> list[Nest]:
    """A long run in few loops, as a loop over shorter runs and what is left."""
    if not isinstance(nest.micro, Copy | Fill) or _steps(nest.loops) >= _ENOUGH:
        return [nest]
    size = nest.micro.size
    chunk = _CHUNK * itemsize
    if estimate(size) < 2 * chunk:
        return [nest]
    full, rest = parted(size, chunk)
    main = replace(nest, loops=(*nest.loops, Axis(full, chunk, chunk)), micro=_run(nest, chunk))
    start, end = nest.source + full * chunk, nest.target + full * chunk
    left = replace(nest, source=start, target=end, micro=_run(nest, rest))
    return [main, left] if rest != 0 else [main]


def _run(nest: Nest, size: Number) -> Copy | Fill:
    return Fill(size) if isinstance(nest.micro, Fill) else Copy(size)


def _steps(loops: Sequence[Axis]) -> int:
    """Steps of the longest loop."""
    return max((estimate(axis.count) for axis in loops), default=0)


def _pieces(tree: Tree) -> Iterator[Piece]:
    """The tree, or, where the loop that several nests share is short, each of them with it."""
    if isinstance(tree, Nest):
        yield Piece(tree, _divided(tree.loops, tree))
        return
    inner = [piece for part in tree.body for piece in _pieces(part)]
    alone = _divided((tree.axis,), tree)
    if alone is not None and estimate(tree.axis.count) >= min(_ENOUGH, *map(_reach, inner)):
        yield Piece(tree, alone)
        return
    for piece in inner:
        loop = None if piece.loop is None else piece.loop + 1
        yield Piece(Shared(tree.axis, (piece.tree,)), alone if loop is None else loop)


def _reach(piece: Piece) -> int:
    """Steps of the divided loop."""
    loop, tree = piece.loop, piece.tree
    while loop and isinstance(tree, Shared):
        (tree,), loop = tree.body, loop - 1
    if loop is None:
        return 0
    return estimate(tree.axis.count if isinstance(tree, Shared) else tree.loops[loop].count)


def _divided(loops: Sequence[Axis], tree: Tree) -> int | None:
    """The first loop with enough steps, else the longest; None where there is none."""
    clamped = [axis for axis in _loops(tree) if axis.clamp is not None]
    apart = [
        (k, estimate(axis.count))
        for k, axis in enumerate(loops)
        if axis.count != 1 and not any(_is_within(axis, wide) for wide in clamped)
    ]
    enough = [k for k, steps in apart if steps >= _ENOUGH]
    return enough[0] if enough else max(apart, key=lambda x: x[1], default=(None, 0))[0]


def _is_within(axis: Axis, clamped: Axis) -> bool:
    """Whether a loop is over the items of one step of a clamped one: such steps overlap."""
    if axis is clamped or clamped.clamp is None:
        return False
    return any(
        axis.source == k * clamped.source and axis.target == k * clamped.target
        for k in range(1, clamped.clamp.unit)
    )


def _loops(tree: Tree) -> Iterator[Axis]:
    """All loops of a tree."""
    if isinstance(tree, Nest):
        yield from tree.loops
        return
    yield tree.axis
    for part in tree.body:
        yield from _loops(part)


def _nests(tree: Tree) -> Iterator[Nest]:
    """All nests of a tree."""
    if isinstance(tree, Nest):
        yield tree
        return
    for part in tree.body:
        yield from _nests(part)
