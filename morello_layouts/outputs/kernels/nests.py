"""Loop nests: micro-kernels, the loops around them, and the order, fusion and cost of loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Final, TypeAlias

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.outputs.kernels.domains import CopyAxis, Domain, estimate

# Pairs (count, stride in bytes), the fastest first: the mixed-radix digits of an item's number, and
# how far each of them moves.
Levels: TypeAlias = tuple[tuple[int, Int], ...]


@frozen
class CopyRun:
    """Copy bytes that are contiguous in both buffers."""

    size: Int


@frozen
class CopyElement:
    """Copy one element of 1, 2, 4, 8 or 16 bytes."""

    size: int


@frozen
class FillRun:
    """Write one item over contiguous bytes, again and again: of padding, or of the source."""

    size: Int
    item: int = 0  #: bytes of the source's item; 0 for padding.


@frozen
class Interleave:
    """Interleave the elements of ``rows`` rows of ``width`` bytes into one run."""

    element: int  #: bytes of an element.
    rows: int  #: the number of rows, 2 to 8 or 16.
    width: int  #: bytes of each row, 16, 32 or 64.
    source: Levels  #: the addresses of the rows.


@frozen
class Deinterleave:
    """Distribute one run over ``rows`` rows of ``width`` bytes: the inverse of Interleave."""

    element: int
    rows: int
    width: int
    target: Levels


@frozen
class Transposition:
    """Transpose a block within the caches: runs of the source become columns, and rows runs.

    Rows that lie a power of two apart evict one another from the caches. They are first copied side
    by side to a staging buffer. Then registers transpose the block, 16 bytes of ``width / element``
    rows at a time. A direct transposition does without the staging buffer.
    """

    element: int  #: bytes of an element, at most 8.
    width: int  #: bytes of a vector in the target, 16, 32 or 64.
    source: Levels  #: the addresses of the rows of the source, a multiple of width / element rows.
    target: Levels  #: the addresses of the rows of the target, a multiple of 16 / element rows.
    #: whether a block goes without a staging buffer; each side then has one level.
    direct: bool = False

    @property
    def rows(self) -> int:
        """The number of rows of the source."""
        return prod(count for count, _ in self.source)

    @property
    def columns(self) -> int:
        """The number of rows of the target."""
        return prod(count for count, _ in self.target)


@frozen
class LargeTransposition:
    """Transpose rows of any number and length to a target beyond the caches, as whole lines."""

    element: int  #: bytes of an element, at most 8.
    #: the addresses of the rows of the source, which are the columns of the target.
    source: tuple[tuple[Int, Int], ...]
    target: tuple[tuple[Int, Int], ...]  #: the addresses of the rows of the target.
    #: the bytes of a chunk, a shift and a mask: one side has o ^ (o >> shift & mask) for an offset.
    swizzle: tuple[int, int, int] = (0, 0, 0)
    of_source: bool = False  #: whether that side is the source.

    @property
    def rows(self) -> Int:
        """The number of rows of the source."""
        return prod(count for count, _ in self.source)

    @property
    def columns(self) -> Int:
        """The number of rows of the target."""
        return prod(count for count, _ in self.target)


@frozen
class Permutation:
    """Permute the bytes of a tile in registers, by a table."""

    element: int  #: bytes of an element, at most 8.
    load: int  #: bytes of each piece of the source, a power of two up to 64.
    loads: tuple[Int, ...]  #: where the pieces of the source are, which may overlap.
    store: int  #: bytes of each piece of the target, a power of two up to 64.
    stores: tuple[Int, ...]  #: where the pieces of the target are.
    #: for each byte of the pieces of the target, that of the source's; less than 0 for padding.
    picks: tuple[int, ...]
    cost: float = 0.0  #: about how many instructions move a byte.

    @property
    def size(self) -> int:
        """The number of bytes of the target's pieces."""
        return len(self.picks)

    @property
    def has_padding(self) -> bool:
        return min(self.picks) < 0

    @property
    def is_run(self) -> bool:
        """Whether the pieces of the target are one run."""
        return self.stores == tuple(range(0, self.size, self.store))


MicroKernel: TypeAlias = (
    CopyRun
    | CopyElement
    | FillRun
    | Interleave
    | Deinterleave
    | Transposition
    | LargeTransposition
    | Permutation
)


def offsets(levels: Levels) -> list[Int]:
    """Return the offset of each item, in bytes.

    >>> offsets(((2, 10), (3, 100)))
    [0, 10, 100, 110, 200, 210]
    """
    found: list[Int] = [0]
    for count, stride in levels:
        found = [x + k * stride for k in range(count) for x in found]
    return found


# Bytes of a block along the source, and along the target.
SOURCE_BLOCK: Final = 128
TARGET_BLOCK: Final = 256
CACHE_LINE: Final = 64  # bytes, as many as the widest vector has
MOST_LEVELS: Final = 3  # as many as the helpers in C take


@frozen
class Nest:
    """Loops around one micro-kernel."""

    #: the offsets at which it starts, in bytes.
    source: Int
    target: Int
    loops: tuple[CopyAxis, ...]  #: from the outermost to the innermost, strides in bytes.
    micro: MicroKernel  #: the micro-kernel in the innermost loop.
    #: the number of its iteration domain. Nests of one domain may write a place twice. None if no
    #: other nest writes to its places.
    domain: int | None = None
    past: bool = False  #: whether its runs are stored past the caches.
    #: bytes of the image, a buffer that collects long runs of the target; 0 for none.
    image: int = 0
    #: how many of the innermost loops fill the image.
    inner_loops: int = 0

    @property
    def reads(self) -> bool:
        """Whether it reads the source: padding is written only."""
        return not isinstance(self.micro, FillRun) or self.micro.item > 0


def dense_chain(axes: list[CopyAxis], start: int, *, source: bool) -> list[CopyAxis]:
    """Return the axes that are contiguous in one buffer: each continues the one before."""
    chain: list[CopyAxis] = []
    at: Int = start
    left = list(axes)
    while True:
        following = next((a for a in left if (a.source if source else a.target) == at), None)
        if following is None:
            return chain
        chain.append(following)
        left.remove(following)
        at *= following.count


def levels_of(taken: list[tuple[CopyAxis, int]], *, source: bool) -> Levels:
    """Return the addresses of a block's items in one of the buffers."""
    return tuple((count, axis.source if source else axis.target) for axis, count in taken)


def items_per_step(axis: CopyAxis) -> int:
    """Return how many items one step of an axis covers."""
    return 1 if axis.clamp is None else axis.clamp.unit


def loop_order(axis: CopyAxis) -> tuple[int, int]:
    """Return the sort key of loops: those with long strides in both buffers are outermost."""
    strides = axis.source, axis.target
    source, target = (items_per_step(axis) * abs(estimate(x)) for x in strides)
    return -min(source, target), -source


def nest_of(domain: Domain, loops: list[CopyAxis], micro: MicroKernel) -> Nest:
    """Return the nest of a micro-kernel over a domain, without loops of one step."""
    return Nest(domain.source, domain.target, tuple(a for a in loops if a.count != 1), micro)


# Measured costs, in the time that it takes to copy a byte: of an element that goes through both
# formulas, of one that a loop copies, and of a short copy; then the factor of a transposition, and
# the bytes of a block below which its cost does not fall; and of an instruction of a permutation.
ELEMENTWISE_COST: Final = 40.0
_ELEMENT_COST, _SHORT_COPY, _TRANSPOSITION, _LEAST_TRANSPOSED = 18.0, 32.0, 1.5, 512
_INSTRUCTION: Final = 6.0


def cost_of(nests: Iterable[Nest]) -> float:
    """Estimate the cost of loop nests, in the time that it takes to copy a byte.

    >>> rows = (CopyAxis(100, 64, 64),)
    >>> cost_of([Nest(0, 0, rows, CopyRun(64))]), cost_of([Nest(0, 0, rows, CopyElement(1))])
    (6400.0, 1800.0)
    """
    return sum(bytes_moved(nest) * _cost_per_byte(nest.micro) for nest in nests)


def _cost_per_byte(micro: MicroKernel) -> float:
    match micro:
        case CopyElement(size):
            return max(1.0, _ELEMENT_COST / size)
        case CopyRun(size):
            return max(1.0, _SHORT_COPY / max(1, estimate(size)))
        case Permutation(cost=cost):
            return max(1.0, _INSTRUCTION * cost)
        case Transposition(element=e, columns=n) | LargeTransposition(element=e, columns=n):
            least, line = max(1, _bytes_per_step(micro)), max(1, e * estimate(n))
            return _TRANSPOSITION * max(1.0, _LEAST_TRANSPOSED / least, CACHE_LINE / line)
        case _:
            return 1.0


def bytes_moved(nest: Nest) -> int:
    """Estimate how many bytes a nest moves.

    >>> bytes_moved(Nest(0, 0, (CopyAxis(9, 700, 512), CopyAxis(5, 32, 64)), CopyRun(32)))
    1440
    """
    return _bytes_per_step(nest.micro) * prod(estimate(axis.count) for axis in nest.loops)


def _bytes_per_step(micro: MicroKernel) -> int:
    match micro:
        case Transposition(element=element) | LargeTransposition(element=element):
            return estimate(micro.rows * micro.columns) * element
        case Interleave(rows=rows, width=width) | Deinterleave(rows=rows, width=width):
            return rows * width
        case _:
            return estimate(micro.size)


@frozen
class FusedLoop:
    """A loop that several nests share."""

    axis: CopyAxis  #: the loop.
    body: tuple[LoopTree, ...]  #: the nests in it, in this order.


LoopTree: TypeAlias = "FusedLoop | Nest"


def nests_in(tree: LoopTree) -> Iterator[tuple[Nest, tuple[CopyAxis, ...]]]:
    """Return each nest of a tree, with all loops around its micro-kernel.

    >>> inner, outer = CopyAxis(5, 32, 64), CopyAxis(9, 700, 512)
    >>> [(_, loops)] = nests_in(FusedLoop(outer, (Nest(0, 0, (inner,), CopyRun(32)),)))
    >>> loops == (outer, inner)
    True
    """
    if isinstance(tree, Nest):
        yield tree, tree.loops
        return
    for part in tree.body:
        yield from ((nest, (tree.axis, *loops)) for nest, loops in nests_in(part))


def fuse_loops(nests: Sequence[Nest]) -> tuple[LoopTree, ...]:
    """Fuse the outermost loop of the largest nest with the same loop of other nests, and so on.

    Those of less than half its bytes are stored into the caches: they share lines with others.

    >>> rows = CopyAxis(9, 700, 512)
    >>> main = Nest(0, 0, (rows, CopyAxis(5, 32, 64)), CopyRun(32))
    >>> rest = Nest(640, 960, (rows,), CopyElement(4))
    >>> (tree,) = fuse_loops([main, rest])
    >>> tree.axis.count, [[axis.count for axis in nest.loops] for nest in tree.body]
    (9, [[5], []])
    """
    left = list(nests)
    found: list[LoopTree] = []
    while left:
        largest = max(left, key=bytes_moved)
        bodies = [_without_loop(nest, largest.loops[:1]) for nest in left]
        least = max((bytes_moved(body) for body in bodies if body is not None), default=0) / 2
        inside = [
            body if bytes_moved(body) > least else replace(body, past=False, image=0, inner_loops=0)
            for body in bodies
            if body is not None
        ]
        if len(inside) < 2:
            found.append(largest)
            left.remove(largest)
            continue
        left = [nest for nest, body in zip(left, bodies, strict=True) if body is None]
        found.append(FusedLoop(largest.loops[0], fuse_loops(inside)))
    return tuple(found)


def _without_loop(nest: Nest, wanted: tuple[CopyAxis, ...]) -> Nest | None:
    """Return the nest without the wanted loop, if there is one; None if the nest lacks it."""
    for loop in wanted:
        for k, axis in enumerate(nest.loops[: len(nest.loops) - nest.inner_loops]):
            if (
                axis.xor != loop.xor
                or axis.clamp != loop.clamp
                or (axis.clamp and axis.count != loop.count)
            ):
                continue
            if axis.count % loop.count != 0:
                continue
            inner = axis.count // loop.count
            steps = replace(axis, count=inner)
            fits = axis.target * inner == loop.target
            if fits and (not nest.reads or axis.source * inner == loop.source):
                rest = [*nest.loops[:k], *([steps] if inner != 1 else []), *nest.loops[k + 1 :]]
                return replace(nest, loops=tuple(rest))
    return None
