"""Moves: what one step of a kernel copies, and its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.digits import chains_of, shared_digits
from morello_layouts.kernels.domains import (
    Axis,
    Box,
    element_boxes,
    estimate,
    padding_boxes,
    parted,
)
from morello_layouts.kernels.nests import (
    APART,
    SMALL_BLOCK,
    TARGET_BLOCK,
    WIDEST,
    Copy,
    Fill,
    Micro,
    Move,
    Nest,
    Shared,
    Transposition,
    Tree,
    Unzip,
    Zip,
    cost_of,
    fused,
    work,
)
from morello_layouts.kernels.plan import fill_nest, nests, stripped
from morello_layouts.kernels.staging import Staged, staged
from morello_layouts.recipe import Recipe, known

# Bytes of a target from which stores go past the caches. Transpositions write to many places at
# once, and gain from it at a quarter of that.
STREAM_FROM = 1 << 23
HASTE = 4

# From this cost on, as a multiple of a copy's, another way is looked for.
_STAGED_FROM = 2.2


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is asked for.

    Attributes:
        source: the recipe of the buffer that is read.
        target: the recipe of the buffer that is written.
        itemsize: bytes of an element.
        fill: the bytes of an element that padding holds; None leaves padding as it is.
        name: the function's name.
        comment: what the file says of the layouts.
        assumptions: what is assumed of symbolic sizes.
    """

    source: Recipe
    target: Recipe
    itemsize: int
    fill: bytes | None = None
    name: str = "relayout"
    comment: str = ""
    assumptions: tuple[Assumption, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Symbolic sizes, which are arguments of the function.

        >>> from morello_layouts import index_map
        >>> Kernel(*(index_map(text).recipe for text in ("f32[M,8]", "f32[M,8]{0,1}")), 4).names
        ('M',)
        """
        return tuple(sorted({*self.source.names, *self.target.names}))


@dataclass(frozen=True, slots=True)
class Apart:
    """Two layouts without common digits: each coordinate is taken through both recipes."""

    source: Recipe
    target: Recipe


@dataclass(frozen=True)
class Moves:
    """Loops that fill the padding, loops that move elements, or what moves one by one.

    Attributes:
        itemsize: bytes of an element.
        fill: the bytes of an element that padding holds; None leaves padding as it is.
        fills: loops over padding.
        nests: loops over elements.
        staged: blocks that pass through a scratch, in place of ``nests``.
        apart: the recipes, where no loops over digits serve both.
        conditions: what must be whole cache lines for stores to go past the caches, where only the
            call says so.
    """

    itemsize: int
    fill: bytes | None
    fills: tuple[Nest, ...]
    nests: tuple[Nest, ...]
    staged: tuple[Staged, ...]
    apart: Apart | None
    conditions: tuple[Int, ...] = ()

    @property
    def trees(self) -> tuple[Tree, ...]:
        """All loops but those over blocks, those that several have around them."""
        return fused((*self.fills, *self.nests))

    @property
    def streams(self) -> bool:
        """Whether some stores go past the caches where the target starts at a cache line."""
        return any(nest.stream for nest in self.every_nest)

    @property
    def every_nest(self) -> tuple[Nest, ...]:
        """The loops that move elements, also those within blocks."""
        return (*self.nests, *(nest for part in self.staged for nest in part.nests))


def boxes_of(source: Recipe, target: Recipe) -> tuple[list[Box] | None, list[Box]]:
    """Boxes of elements, and boxes of what to fill.

    The first is None where there are no common digits, or too many boxes. The second may then hold
    elements, and is filled before they are moved.
    """
    if source.shape != target.shape:
        raise ShapeError(
            f"the layouts are of arrays of shapes {source.shape} and {target.shape}",
            "a relayout moves each element of one array",
            "give both layouts at the same shape",
        )
    shape, size, tail = source.shape, target.size, target.tail_padding
    if 0 in shape and size == tail:
        return [], [Box(0, 0, (Axis(tail, 0, 1),))] if tail else []
    a, b = chains_of(source), chains_of(target)
    shared = shared_digits(a, b) if a and b else None
    elements = None if shared is None else element_boxes(shape, shared)
    padding = padding_boxes(b, tail, size) if b else None
    if target.names and (elements is None or padding is None):
        raise UnsupportedError(
            f"no kernel moves {source} to {target} at all sizes",
            "the layouts have no digits in common, or too many boxes of them",
            f"give the sizes: {', '.join(f'{name}=…' for name in target.names)}",
        )
    if padding is None:
        return None, [Box(0, 0, (Axis(size, 0, 1),))]
    return elements, padding


def moves_of(kernel: Kernel, stream_from: int = STREAM_FROM, *, large: bool | None = None) -> Moves:
    """The loops from one layout's buffer to the other's.

    Args:
        kernel: what is asked for.
        stream_from: bytes of a target from which stores go past the caches.
        large: whether to plan for a target larger than the caches; left out, its size says so.
    """
    source, target, itemsize, fill = kernel.source, kernel.target, kernel.itemsize, kernel.fill
    elements, padding = boxes_of(source, target)
    reach = target.size * itemsize
    if large is None:
        large = estimate(reach) * HASTE >= stream_from
    block = TARGET_BLOCK if large else SMALL_BLOCK
    found = [
        replace(nest, box=k)
        for k, box in enumerate(elements or ())
        for nest in nests(box, itemsize, block)
    ]
    fills = () if fill is None else tuple(fill_nest(box, itemsize) for box in padding)
    if elements is None or cost_of(found) > _STAGED_FROM * estimate(reach):
        blocks = _blocks(kernel, None if elements is None else cost_of(found), padding, block)
        if blocks:
            placed = [_placed(part, nest) for part in blocks for nest in part.out]
            conditions = _conditions(placed) if large else []
            ways = (
                _streaming(part, reach, stream_from, conditions) if large else part
                for part in blocks
            )
            return Moves(itemsize, fill, fills, (), tuple(ways), None, tuple(conditions))
    found = found if large else [stripped(nest) for nest in found]
    conditions = _conditions(found) if large else []
    found = [
        replace(nest, stream=large and _large(nest, reach, stream_from, conditions))
        for nest in found
    ]
    apart = Apart(source, target) if elements is None and 0 not in source.shape else None
    return Moves(itemsize, fill, fills, tuple(found), (), apart, tuple(conditions))


def _blocks(
    kernel: Kernel, direct: float | None, padding: list[Box], block: int
) -> tuple[Staged, ...]:
    """Blocks that cost less than the loops without them, of a cost; None if there are no loops."""
    source, target = kernel.source, kernel.target
    if direct is None:
        held = prod(known(target.shape))
        if sum(box.size for box in padding) + held != target.size:
            return ()  # what is filled before holds elements
        direct = APART * held
    a, b = chains_of(source), chains_of(target)
    found = staged(a, b, kernel.itemsize, block) if a and b else None
    return found if found and sum(part.cost for part in found) < direct else ()


def _streaming(part: Staged, reach: Int, stream_from: int, conditions: list[Int]) -> Staged:
    """Blocks out of which stores may go past the caches, where all are whole lines."""
    out = (
        replace(nest, stream=_large(_placed(part, nest), reach, stream_from, conditions))
        for nest in part.out
    )
    return replace(part, out=tuple(out))


def _placed(part: Staged, nest: Nest) -> Nest:
    """A way out of blocks, and the loops over these."""
    return replace(nest, target=nest.target + part.target, loops=(*part.loops, *nest.loops))


def _conditions(found: Sequence[Nest]) -> list[Int]:
    """What must be whole lines for the largest of some loops to go past the caches."""
    main = max(filter(_streamable, found), key=work, default=None)
    return _uneven(main) if main is not None else []


def _large(nest: Nest, reach: Int, stream_from: int, conditions: list[Int]) -> bool:
    """Whether stores may go past the caches; of a symbolic reach the call says whether they do."""
    haste = HASTE if isinstance(nest.micro, Transposition) else 1
    far = not isinstance(reach, int) or reach * haste >= stream_from
    return far and all(number in conditions for number in _uneven(nest))


def _streamable(nest: Nest) -> bool:
    return not any(isinstance(number, int) for number in _uneven(nest))


def _uneven(nest: Nest) -> list[Int]:
    """What moves within the target by no multiple of a cache line, as far as is known."""
    strides = [nest.target, *(axis.target for axis in nest.loops), *_within(nest.micro)]
    return list(dict.fromkeys(stride for stride in strides if stride % WIDEST != 0))


def _within(micro: Micro) -> list[Int]:
    match micro:
        case Copy(size) | Move(size):
            return [size]
        case Zip(width=width):
            return [width]
        case Unzip(width=width) | Transposition(width=width):
            return [width, *(stride for count, stride in micro.target if count > 1)]
    return [1]


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
    >>> from morello_layouts.kernels.moves import Kernel, moves_of
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


def _run(nest: Nest, size: Int) -> Copy | Fill:
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
