"""Staged blocks: a relayout as two, through a staging buffer, each with fast loops.

Two tilings may agree on no vector, or share no digits at all. Then a block of whole tiles of both
layouts is moved to a staging buffer in a plain order of dimensions, and from there to the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import lcm, prod
from typing import Final, TypeAlias

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import KERNEL_BLOCK
from morello_layouts.core.recipe.digits import AxisDigit
from morello_layouts.outputs.kernels.chains import DimensionDigits, shared_jumps
from morello_layouts.outputs.kernels.domains import (
    CopyAxis,
    Domain,
    LoopSwizzle,
    divide,
    estimate,
    nonzero,
    peel,
    remaining_axes,
    upper_bound,
)
from morello_layouts.outputs.kernels.nests import (
    CACHE_LINE,
    SOURCE_BLOCK,
    CopyRun,
    Deinterleave,
    Interleave,
    LargeTransposition,
    Levels,
    MicroKernel,
    Nest,
    Permutation,
    cost_of,
    dense_chain,
    loop_order,
)
from morello_layouts.outputs.kernels.pieces import element_domains
from morello_layouts.outputs.kernels.vectorize import vectorize

# Bytes to which a block grows: it stays in the first cache.
_ENOUGH: Final = 1 << 14

# Bytes of a block from which registers permute its tiles; plain loops are shorter, and read better.
_FEW: Final = 512

# The longest dimension of which a block holds all, as of the 3 by 3 weights of a convolution.
_SHORT: Final = 16

_LONG_SWIZZLED: Final = 512  # bytes of a row that a transposition holds: see relayout_turn.h

# Along one dimension: the number of blocks, the length of one, and the number of the first one.
_Run: TypeAlias = "tuple[Int, Int, Int]"


@frozen
class StagedBlocks:
    """Loops over blocks, each moved to a staging buffer and from there to the target."""

    #: the offsets of the first block, in bytes.
    source: Int
    target: Int
    loops: tuple[CopyAxis, ...]  #: from the outermost to the innermost, strides in bytes.
    size: int  #: bytes of the staging buffer.
    into: tuple[Nest, ...]  #: nests from a block of the source to the staging buffer.
    out: tuple[Nest, ...]  #: nests from the staging buffer to a block of the target.

    @property
    def cost(self) -> float:
        return prod(estimate(axis.count) for axis in self.loops) * cost_of((*self.into, *self.out))


def staged_blocks(
    source: DimensionDigits, target: DimensionDigits, itemsize: int, *, streams: bool
) -> tuple[StagedBlocks, ...] | None:
    """Return the blocks of an array, through the order of dimensions that costs least.

    Returns:
        None if a block of whole tiles of both layouts is too large, or if no order has nests.
    """
    blocks = _BlockGrid(source, target, _lengths(source, target, itemsize), itemsize, streams)
    if prod(blocks.lengths) * itemsize > KERNEL_BLOCK:
        return None
    order = blocks.best_order()
    return None if order is None else blocks.through(order)


def swizzled_blocks(
    domain: Domain, itemsize: int, *, streams: bool
) -> tuple[StagedBlocks, ...] | None:
    """Return the blocks of a domain with exclusive ors, which become plain loops on one way.

    The staging buffer has the order of the swizzled buffer, without its exclusive ors.

    Returns:
        None if a block is too large.

    >>> from morello_layouts import index_map
    >>> from morello_layouts.outputs.kernels.plan import swizzled_domains
    >>> texts = "[1, 0]", "Sw<3,3,3> o 0 o (512,64):(64,1)"
    >>> (domain,) = swizzled_domains(*(index_map(text, (512, 64)).recipe for text in texts))
    >>> (part,) = swizzled_blocks(domain, 2, streams=False)
    >>> part.size, [axis.count for axis in part.loops]
    (16384, [4])
    """
    swizzle = next((axis.xor for axis in domain.axes if axis.xor is not None), None)
    if swizzle is None:
        return None
    plain = [axis for axis in domain.axes if axis.xor is None]
    more = [[0] * len(swizzle.loops), [0] * len(swizzle.loops)]
    for own, terms in zip(more, (swizzle.source, swizzle.target), strict=True):
        for term in terms:
            for loop, _, scale in term.digits:
                if loop is not None and isinstance(term.stride, int):
                    own[loop] = own[loop] or term.stride * scale
    axes = list(zip(swizzle.loops, *more, strict=True)) + [(axis, 0, 0) for axis in plain]
    # The strides of each axis in source and target without exclusive ors.
    steps = [(axis.source or s, axis.target or t) for axis, s, t in axes]
    taken = {k: estimate(axis.count) for k, axis in enumerate(swizzle.loops)}
    for most, side in product((SOURCE_BLOCK, _LONG_RUN // 2), (1, 0)):
        run = 1
        while run * itemsize < most:
            at = (k for k, step in enumerate(steps) if step[side] == run and axes[k][0].count != 1)
            k = next(at, None)
            if k is None:
                break
            count = axes[k][0].count
            if not isinstance(count, int):
                return None
            room, have = most // itemsize // run, taken.get(k, 1)
            if most > SOURCE_BLOCK:  # as far as it stays in the first cache
                room = min(room, have * _ENOUGH // (prod(taken.values()) * itemsize))
            taken[k] = max(have, count if count <= room else 1 << max(room, 1).bit_length() - 1)
            run *= taken[k]
            if taken[k] != count:
                break
    size = prod(taken.values()) * itemsize
    whole = all(isinstance(axis.count, int) for axis in swizzle.loops)
    if size > _ENOUGH or not whole:
        return None
    for k, count in taken.items():
        parts = peel(domain, axes[k][0], count, 1) if k >= len(swizzle.loops) else None
        if parts:
            found = [swizzled_blocks(part, itemsize, streams=streams) for part in parts]
            return tuple(x for one in found for x in one or ()) if all(found) else None
    side = 1 if swizzle.target else 0
    places, stride = dict[int, int](), 1
    for k in sorted(taken, key=lambda k: abs(estimate(steps[k][side]))):
        places[k] = stride
        stride *= taken[k]
    into = [CopyAxis(n, axes[k][0].source, places[k]) for k, n in taken.items()]
    out = [CopyAxis(n, places[k], axes[k][0].target) for k, n in taken.items()]
    ways = []
    for moved, source, target in ((into, swizzle.source, ()), (out, (), swizzle.target)):
        if source or target:  # loops of the swizzle were taken first
            loops = tuple(moved[: len(swizzle.loops)])
            moved[: len(loops)] = [LoopSwizzle(loops, source, target).axis()]
        box = Domain(0, 0, tuple(moved))
        past = streams and moved is out
        ways.append(tuple(vectorize(box, itemsize, streams=past, tiles=True)))
    rest = [axis for axis, _, _ in axes[len(swizzle.loops) :]]
    within = [(axes[k][0], n) for k, n in taken.items() if k >= len(swizzle.loops)]
    outer = (
        CopyAxis(a.count, a.source * itemsize, a.target * itemsize)
        for a in remaining_axes(rest, within)
    )
    return (
        StagedBlocks(
            domain.source * itemsize,
            domain.target * itemsize,
            tuple(sorted(outer, key=loop_order)),
            size,
            *ways,
        ),
    )


def swizzled_turn(domain: Domain, itemsize: int) -> list[Nest] | None:
    """Return one transposition of dense rows, of which those of one side have exclusive ors.

    None if the domain is anything else. The target lies beyond the caches.

    >>> from morello_layouts import index_map
    >>> from morello_layouts.outputs.kernels.plan import swizzled_domains
    >>> texts = "[1, 0]", "Sw<3,3,3> o 0 o (512,64):(64,1)"
    >>> (domain,) = swizzled_domains(*(index_map(text, (512, 64)).recipe for text in texts))
    >>> (nest,) = swizzled_turn(domain, 2)
    >>> nest.micro.swizzle, nest.micro.of_source
    ((16, 3, 112), False)
    """
    swizzles = [axis.xor for axis in domain.axes if axis.xor is not None]
    if len(swizzles) != 1 or domain.source != 0 or domain.target != 0:
        return None
    (swizzle,) = swizzles
    terms, side = swizzle.source or swizzle.target, "source" if swizzle.source else "target"
    if len(terms) != 1 or (swizzle.source and swizzle.target) or len(terms[0].digits) != 2:
        return None
    stride, digits = terms[0].stride, terms[0].digits
    if not isinstance(stride, int) or any(d[0] is None or d[1:] != (0, 1) for d in digits):
        return None
    loops = [swizzle.loops[k or 0] for k, *_ in digits]
    inner, outer = sorted(loops, key=lambda axis: estimate(getattr(axis, side)))
    apart, count = getattr(outer, side), inner.count
    if not isinstance(count, int) or getattr(inner, side) != 0:
        return None
    if outer.count != count or {*loops} != {*swizzle.loops}:
        return None
    plain = replace(inner, source=stride) if side == "source" else replace(inner, target=stride)
    axes = (*(axis for axis in domain.axes if axis.xor is None), plain, outer)
    chain = dense_chain(list(axes), 1, source=side == "source")
    powers = all(isinstance(n, int) and n.bit_count() == 1 for n in (stride, apart, count))
    if len(chain) != len(axes) or not powers:
        return None
    (nest, *others) = vectorize(replace(domain, axes=axes), itemsize, streams=True)
    micro = nest.micro
    if others or nest.loops or not isinstance(micro, LargeTransposition):
        return None
    dense = micro.columns if side == "source" else micro.rows
    rows = getattr(micro, side)
    if not isinstance(dense, int) or rows[0][1] != dense * micro.element or len(rows) != 1:
        return None
    chunk = stride * itemsize
    if not CACHE_LINE <= dense * micro.element <= _LONG_SWIZZLED or chunk < 16:
        return None
    if chunk * count > rows[0][1] or rows[0][1] > apart * itemsize:
        return None
    numbers = chunk, (apart // stride).bit_length() - 1, (count - 1) * chunk
    return [replace(nest, micro=replace(micro, swizzle=numbers, of_source=side == "source"))]


def _orders(source: DimensionDigits, target: DimensionDigits) -> list[tuple[int, ...]]:
    """Return the orders of dimensions that the strides of either layout suggest."""
    found = []
    for digits in (source, target):
        chains = digits.chains[: min(len(source.sizes), len(target.sizes))]
        steps = [[estimate(digit.stride) for digit in chain] or [0] for chain in chains]
        for by in ([chain[0] for chain in steps], [min(chain) for chain in steps]):
            found.append(tuple(sorted(range(len(chains)), key=lambda dim: -by[dim])))
    return list(dict.fromkeys(found))


def _lengths(source: DimensionDigits, target: DimensionDigits, itemsize: int) -> list[int]:
    """Return the length of a block along each dimension: whole tiles of both layouts, enlarged."""
    chains = zip(source.chains, target.chains, strict=False)
    found = [lcm(*(digit.unit for digit in (*a, *b))) for a, b in chains]
    most = [upper_bound(size) for size in source.sizes[: len(found)]]
    orders = _orders(source, target)
    for order in orders:
        for dim in reversed(order):
            n = max(most[dim] or _ENOUGH, found[dim])
            if n > _SHORT or prod(found) // found[dim] * n * itemsize > _ENOUGH:
                break
            found[dim] = n
    for minor in zip(*(order[::-1] for order in orders), strict=True):
        longer = {*minor}
        while longer and 2 * prod(found) * itemsize <= _ENOUGH:
            for dim in longer:
                found[dim] *= 2
            longer = {dim for dim in minor if (most[dim] or found[dim] + 1) > found[dim]}
    return [n if m is None else min(n, m) for n, m in zip(found, most, strict=True)]


@frozen
class _BlockGrid:
    """An array in blocks: the digits of both buffers, and the length of a block along each axis.

    ``streams`` is whether the target lies beyond the caches.
    """

    source: DimensionDigits
    target: DimensionDigits
    lengths: Sequence[int]
    itemsize: int
    streams: bool

    def best_order(self) -> tuple[int, ...] | None:
        """Return the order of a staging buffer by which whole blocks cost least."""
        whole = [runs[0] for runs in self._runs if runs]
        orders = _orders(self.source, self.target)
        # And the source's, but for a dimension of the target's blocks: whole rows are transposed.
        orders += [(*(k for k in orders[0] if k != dim), dim) for dim in orders[-1][-2:]]
        costs = {
            order: part.cost
            for order in dict.fromkeys(orders)
            if len(whole) == len(order) and (part := self._part(order, whole)) is not None
        }
        return min(costs, key=lambda order: costs[order], default=None)

    def through(self, order: Sequence[int]) -> tuple[StagedBlocks, ...] | None:
        """Return the blocks, through a staging buffer in an order of dimensions."""
        found = [self._part(order, chosen) for chosen in product(*self._runs)]
        parts = tuple(part for part in found if part is not None)
        return parts if len(parts) == len(found) else None

    @property
    def _runs(self) -> list[list[_Run]]:
        return [_runs(*pair) for pair in zip(self.source.sizes, self.lengths, strict=False)]

    def _part(self, order: Sequence[int], runs: Sequence[_Run]) -> StagedBlocks | None:
        """Return the blocks of one length along each dimension."""
        plain: list[tuple[AxisDigit, ...]] = [()] * len(order)
        stride = 1
        for dim in reversed(order):
            plain[dim] = (AxisDigit(dim, 1, self.lengths[dim], stride=stride),)
            stride *= self.lengths[dim]
        within = tuple(length for _, length, _ in runs)
        a, stage, b = (
            DimensionDigits(within, tuple(chains))
            for chains in (self.source.chains, plain, self.target.chains)
        )
        tiles = prod(self.lengths) * self.itemsize >= _FEW
        into = _nests(a, stage, self.itemsize, streams=False, tiles=tiles)
        out = _nests(stage, b, self.itemsize, streams=self.streams, tiles=tiles)
        return self._placed(runs, into, out) if into and out else None

    def _placed(
        self, runs: Sequence[_Run], into: tuple[Nest, ...], out: tuple[Nest, ...]
    ) -> StagedBlocks:
        source, target = self.source.start * self.itemsize, self.target.start * self.itemsize
        loops: list[CopyAxis] = []
        for dim, (count, _, first) in enumerate(runs):
            a, b = (
                _block_stride(digits.chains[dim], self.lengths[dim]) * self.itemsize
                for digits in (self.source, self.target)
            )
            source, target = source + first * a, target + first * b
            loops += [CopyAxis(count, a, b)] if count != 1 else []
        loops.sort(key=loop_order)
        size = prod(self.lengths) * self.itemsize
        return StagedBlocks(source, target, tuple(loops), size, into, out)


def _runs(size: Int, length: int) -> list[_Run]:
    """Return the whole blocks along a dimension, and the rest; there may be none of either."""
    full, rest = divide(size, length)
    whole: list[_Run] = [(full, length, 0)] if full != 0 else []
    return [*whole, (nonzero(rest), rest, full)] if rest != 0 else whole


@lru_cache(maxsize=64)  # the plans for near and for far targets have most nests in common
def _nests(
    a: DimensionDigits, b: DimensionDigits, itemsize: int, *, streams: bool, tiles: bool
) -> tuple[Nest, ...]:
    read, written = a.growth, b.growth
    shared = shared_jumps(read, written) if read and written else None
    domains = None if shared is None else element_domains(a.sizes, shared)
    return tuple(
        replace(nest, domain=k)
        for k, domain in enumerate(domains or ())
        for nest in vectorize(domain, itemsize, streams=streams, tiles=tiles)
    )


def _block_stride(chain: Sequence[AxisDigit], length: int) -> Int:
    """Return how far a block along a dimension moves in a buffer: whole steps of the top digit."""
    top = max(chain, key=lambda digit: digit.unit, default=None)
    return 0 if top is None else length // top.unit * top.stride


# Bytes of an image: it stays in the first cache, beside the source.
_IMAGE: Final = 1 << 11
# Bytes of each run of several in an image: of shorter ones, many lines are written in parts.
_RUN: Final = 512
# Bytes of a run that is worth no image: few of its lines are parts of lines.
_LONG_RUN: Final = 1 << 10


def with_image(nest: Nest) -> list[Nest]:
    """Return a nest that collects runs of the target in an image, and one for the rest of a loop.

    The inner loops that fill the image are chosen from the innermost outwards. The outermost of
    them may be divided. A nest of runs that are parts of lines, as 64 bytes every 68, is returned
    unchanged.

    >>> loops = CopyAxis(30, 8192, 64), CopyAxis(2, 64, 32)
    >>> (nest,) = with_image(Nest(0, 0, loops, CopyRun(32)))
    >>> nest.image, nest.inner_loops, image_of(nest).run
    (1920, 2, 1920)
    """
    found, micro, loops = _with_image(nest), nest.micro, nest.loops
    image = image_of(found[0]) if found[0].image else None
    if isinstance(micro, CopyRun) and (image is None or image.run == micro.size):
        found, apart = [nest], [micro.size, *(axis.target for axis in loops)]
    elif image is None or image.joins:
        return [replace(one, past=True) for one in found]
    else:
        outer = loops[: len(loops) - found[0].inner_loops]
        apart = [image.run, *(axis.target for axis in outer), *(step for _, step, _ in image.runs)]
    has_lines = all(n % CACHE_LINE == 0 for n in apart) or estimate(apart[0]) >= 2 * CACHE_LINE
    past = has_lines and not any(axis.xor for axis in loops)
    return [replace(one, past=True) for one in found] if past else [nest]


def _with_image(nest: Nest) -> list[Nest]:
    run, levels = _run_levels(nest.micro)
    if run is None or any(axis.xor for axis in nest.loops):
        return [nest]
    if run >= _LONG_RUN and isinstance(nest.micro, CopyRun):
        return [nest]
    if isinstance(nest.micro, Permutation) and any(a.target % CACHE_LINE != 0 for a in nest.loops):
        return [nest]  # its rows end within lines, which the next ones would write again
    size, k = run * prod(estimate(count) for count, _ in levels), len(nest.loops)
    room = max(_IMAGE, _RUN * prod(estimate(count) for count, _ in levels))
    while k > 0 and size < room:
        axis = nest.loops[k - 1]
        if axis.clamp is not None or axis.target == 0:
            break
        if not isinstance(axis.count, int) or size * axis.count > room:
            return _divided(nest, k, size, room // size)
        size, k = size * axis.count, k - 1
    return [_collecting(nest, k, size)]


def _divided(nest: Nest, k: int, size: int, steps: int) -> list[Nest]:
    """Return the nest with the innermost loops from k on in an image, and ``steps`` of the next."""
    axis = nest.loops[k - 1]
    whole = _collecting(nest, k, size)
    if steps < 2 or axis.target != image_of(whole).run:
        return [whole]
    full, rest = divide(axis.count, steps)
    outer = CopyAxis(full, axis.source * steps, axis.target * steps)
    loops = (*nest.loops[: k - 1], outer, replace(axis, count=steps), *nest.loops[k:])
    found = [_collecting(replace(nest, loops=loops), k, size * steps)] if full != 0 else []
    if rest == 0:
        return found
    guard = () if isinstance(rest, int) else (CopyAxis(nonzero(rest), 0, 0),)
    loops = (*nest.loops[: k - 1], *guard, replace(axis, count=rest), *nest.loops[k:])
    end = replace(
        nest,
        source=nest.source + full * steps * axis.source,
        target=nest.target + full * steps * axis.target,
        loops=loops,
    )
    return [*found, _collecting(end, k - 1 + len(guard), size * steps)]


def _collecting(nest: Nest, k: int, size: int) -> Nest:
    found = replace(nest, image=size, inner_loops=len(nest.loops) - k)
    size = image_of(found).size
    return replace(found, image=size)


def _run_levels(micro: MicroKernel) -> tuple[int | None, Levels]:
    """Return the bytes of a run of a micro-kernel, None if it writes none, and where runs lie."""
    match micro:
        case CopyRun(size) if isinstance(size, int):
            return size, ()
        case Interleave(rows=rows, width=width):
            return rows * width, ()
        case Deinterleave(width=width, target=levels):
            return width, levels
        case Permutation(size=size, is_run=True):
            return size, ()
    return None, ()


@frozen
class Image:
    """The geometry of an image."""

    fill: Nest  #: the nest that fills it, which starts at its first run.
    run: Int  #: bytes of a run of the target.
    #: pairs (count, stride in the target, stride in the image): where the runs lie.
    runs: tuple[tuple[Int, Int, int], ...]
    apart: int  #: bytes from run to run.
    size: int  #: bytes at most.
    #: whether runs continue those of the image before, of which a line lies before each.
    joins: bool

    @property
    def count(self) -> int:
        """The number of runs."""
        return self.size // self.apart


def image_of(nest: Nest) -> Image:
    """Return the geometry of a nest's image: its runs, a cache line apart at least.

    >>> copies = Nest(0, 0, (CopyAxis(4, 256, 8192), CopyAxis(2, 64, 32)), CopyRun(32))
    >>> image = image_of(replace(copies, image=256, inner_loops=2))
    >>> image.run, image.runs, image.size, [axis.target for axis in image.fill.loops]
    (64, ((4, 8192, 64),), 256, [64, 32])
    """
    run, levels = _run_levels(nest.micro)
    assert run is not None
    inner = nest.loops[len(nest.loops) - nest.inner_loops :]
    within = list(_digits(levels, inner))
    places = dict[int, int]()  # from a digit's number to its stride in the image
    long: Int = run
    for number, (count, stride) in within:
        if stride == long:
            places[number] = estimate(stride)
            long *= count
    most = upper_bound(long)
    assert most is not None, "steps of a loop in an image are few"
    outer = nest.loops[: len(nest.loops) - nest.inner_loops]
    joins = bool(outer) and outer[-1].target == long and estimate(long) < _IMAGE
    room = apart = (-(-most // CACHE_LINE) + joins) * CACHE_LINE
    runs = list[tuple[Int, Int, int]]()
    for number, (count, stride) in within:
        if number not in places:
            places[number] = room
            runs.append((count, stride, room))
            room *= estimate(count)
    loops = tuple(replace(axis, target=places[k]) for k, axis in enumerate(inner, len(levels)))
    micro = nest.micro
    if isinstance(micro, Deinterleave):
        own = tuple((count, places[k]) for k, (count, _) in enumerate(levels))
        micro = replace(micro, target=own)
    fill = Nest(0, 0, loops, micro)
    return Image(fill, long, tuple(runs), apart, room, joins)


def _digits(levels: Levels, inner: tuple[CopyAxis, ...]) -> Iterator[tuple[int, tuple[Int, Int]]]:
    """Return the counts and strides in the target of levels and loops, numbered, strides rising."""
    digits = [*levels, *((axis.count, axis.target) for axis in inner)]
    yield from sorted(enumerate(digits), key=lambda digit: estimate(digit[1][1]))
