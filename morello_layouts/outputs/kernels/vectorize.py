"""Vectorize an iteration domain: choose its micro-kernel and its loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from math import gcd, prod
from typing import Final

from morello_layouts.core.expr.sizes import Int
from morello_layouts.outputs.kernels.domains import (
    CopyAxis,
    Domain,
    estimate,
    holds_vectors,
    peel,
    remaining_axes,
    strip_mined,
    upper_bound,
)
from morello_layouts.outputs.kernels.nests import (
    CACHE_LINE,
    MOST_LEVELS,
    SOURCE_BLOCK,
    TARGET_BLOCK,
    CopyElement,
    CopyRun,
    Deinterleave,
    FillRun,
    Interleave,
    LargeTransposition,
    MicroKernel,
    Nest,
    Transposition,
    dense_chain,
    items_per_step,
    levels_of,
    loop_order,
    nest_of,
)
from morello_layouts.outputs.kernels.permutations import PaddedAxis, permute

# Bytes of the staging buffer of a transposition, in the first cache beside source and target.
_STAGE: Final = 1 << 15
# Rows that a processor reads ahead by itself, beside the target: it follows 32 runs (measured).
_STREAMS: Final = 28
# Rows of the source that a direct transposition reads by turns: one cache line of each stays in the
# first cache.
SMALL_ROWS: Final = 384
# How many rows one interleaving takes: powers of two by rounds, in as many registers; others by as
# many shuffles for each vector.
ROWS_INTERLEAVED: Final = frozenset({2, 3, 4, 5, 6, 7, 8, 16})


def vectorize(
    domain: Domain, itemsize: int, *, streams: bool = True, tiles: bool = False
) -> list[Nest]:
    """Return the loop nests that move the elements of a domain.

    Args:
        domain: the domain in elements.
        itemsize: bytes of an element.
        streams: whether stores bypass the caches, as the target lies beyond them.
        tiles: whether registers permute tiles of what would be moved by single elements.

    >>> domain = Domain(0, 0, (CopyAxis(8, 1000, 128), CopyAxis(128, 1, 1)))
    >>> (nest,) = vectorize(domain, 4)
    >>> nest.loops, nest.micro
    ((CopyAxis(count=8, source=4000, target=512, clamp=None),), CopyRun(size=512))
    """
    swizzled = [axis for axis in domain.axes if axis.xor is not None]
    if swizzled:
        plain = replace(domain, axes=tuple(a for a in domain.axes if a.xor is None))
        loops = tuple(axis.xor.axis(itemsize) for axis in swizzled if axis.xor is not None)
        within_loops = vectorize(plain, itemsize, streams=streams, tiles=tiles)
        copies = CopyElement | CopyRun
        return [
            replace(nest, loops=(*nest.loops, *loops))
            if isinstance(nest.micro, copies)
            else replace(nest, loops=(*loops, *nest.loops))
            for nest in within_loops
        ]
    axes = axes_in_bytes(domain, itemsize)
    word = min(itemsize & -itemsize, 16)
    if word < itemsize:  # an item that no register holds is a run of words
        axes.append(CopyAxis(itemsize // word, word, word))
    within = Domain(domain.source * itemsize, domain.target * itemsize, tuple(axes))
    back = [axis for axis in axes if estimate(axis.source) < 0]
    if any(itemsize in (-axis.source, axis.target) for axis in back):
        fused = fuse_axes(axes)
        tile = permute(replace(within, axes=tuple(fused)), fused, word) if tiles else None
        if isinstance(tile, Nest):
            return [tile]
        if tile:
            parts = [_in_items(part, word) for part in tile]
            return [
                nest
                for part in parts
                for nest in vectorize(part, word, streams=streams, tiles=tiles)
            ]
        one = CopyElement(word) if word == itemsize else CopyRun(itemsize)
        rest = [axis for axis in axes if word == itemsize or axis.source != word]
        return [_blocked(within, fuse_axes(rest), one, itemsize)]
    # Loops that run backwards through the source stay around the others.
    forward = replace(within, axes=tuple(axis for axis in axes if axis not in back))
    around = tuple(sorted(fuse_axes(back), key=loop_order))
    nests = _nests(forward, word, streams=streams, tiles=tiles)
    return [replace(nest, loops=(*around, *nest.loops)) for nest in nests]


def _in_items(domain: Domain, itemsize: int) -> Domain:
    """Return a domain in items of one in bytes."""
    axes = (CopyAxis(a.count, a.source // itemsize, a.target // itemsize) for a in domain.axes)
    return Domain(domain.source // itemsize, domain.target // itemsize, tuple(axes))


def axes_in_bytes(domain: Domain, itemsize: int) -> list[CopyAxis]:
    """Return the axes of a domain, with strides in bytes.

    >>> axes_in_bytes(Domain(0, 0, (CopyAxis(8, 1, 16),)), 4)
    [CopyAxis(count=8, source=4, target=64, clamp=None)]
    """
    return [CopyAxis(a.count, a.source * itemsize, a.target * itemsize) for a in domain.axes]


def fill_nest(domain: Domain, itemsize: int) -> Nest:
    """Return the loop nest that fills a domain of padding."""
    axes = fuse_axes([replace(axis, source=0) for axis in axes_in_bytes(domain, itemsize)])
    size: Int = itemsize
    run = next((a for a in axes if a.target == itemsize), None)
    if run:
        axes.remove(run)
        size *= run.count
    axes.sort(key=lambda axis: -estimate(axis.target))
    return Nest(0, domain.target * itemsize, tuple(axes), FillRun(size))


def with_padding(domain: Domain, padding: Domain, itemsize: int) -> list[Nest] | None:
    """Return nests that move the elements of a domain with the padding right after their runs.

    None if the padding is elsewhere, or if no tiles hold both.

    >>> channels = CopyAxis(3, 16, 1), CopyAxis(16, 1, 16)
    >>> padding = Domain(0, 3, (CopyAxis(13, 0, 1), channels[1]))
    >>> (nest,) = with_padding(Domain(0, 0, channels), padding, 4)
    >>> nest.micro.size, nest.micro.picks[8:16]
    (128, (16, 17, 18, 19, -2, -2, -2, -2))
    """
    axes, beside = (axes_in_bytes(one, itemsize) for one in (domain, padding))
    numbers = [x for axis in (*domain.axes, *padding.axes) for x in (axis.count, axis.target)]
    special = any(a.xor or a.clamp or estimate(a.source) < 0 for a in domain.axes)
    if special or itemsize not in (1, 2, 4, 8) or not all(isinstance(n, int) for n in numbers):
        return None
    fused = fuse_axes(axes)
    rest, (run, others), (gap, around) = (
        (padding.target - domain.target) * itemsize,
        *(_run_and_others(one, itemsize) for one in (fused, beside)),
    )
    if run == itemsize:
        fused.append(CopyAxis(1, 0, itemsize))
    last = next((a for a in fused if a.target * a.count == run), None)
    if last is None or rest != run or others != around or (run + gap) % estimate(last.target):
        return None
    padded = PaddedAxis(last, (run + gap) // estimate(last.target))
    left = [Domain(domain.source * itemsize, domain.target * itemsize, tuple(fused))]
    found = list[Nest]()
    while left:
        one = left.pop(0)
        tile = permute(one, one.axes, itemsize, padded)
        if tile is None:
            return None
        if isinstance(tile, Nest):
            found.append(tile)
        else:
            left = [*tile, *left]
    return found


def _run_and_others(axes: list[CopyAxis], item: int) -> tuple[int, list[CopyAxis]]:
    """Return the bytes of the runs of a target, and how these lie."""
    own = fuse_axes([replace(axis, source=0) for axis in axes])
    run, others = item, list[CopyAxis]()
    for axis in own:  # by stride in the target
        if axis.target == run:
            run *= estimate(axis.count)
        else:
            others.append(axis)
    return run, others


def fuse_axes(axes: list[CopyAxis]) -> list[CopyAxis]:
    """Fuse two axes if one continues the other in both buffers.

    >>> fuse_axes([CopyAxis(8, 4, 32), CopyAxis(3, 32, 256)])
    [CopyAxis(count=24, source=4, target=32, clamp=None)]
    """
    axes = [a for a in axes if a.count != 1]
    axes.sort(key=lambda axis: (estimate(axis.target), estimate(axis.source)))
    while pair := next(((a, b) for a in axes for b in axes if _continues(a, b)), None):
        inner, outer = pair
        axes[axes.index(inner)] = replace(inner, count=inner.count * outer.count)
        axes.remove(outer)
    return axes


def _continues(inner: CopyAxis, outer: CopyAxis) -> bool:
    """Whether an axis continues another one in both buffers."""
    return (
        inner is not outer
        and outer.source == inner.source * inner.count
        and outer.target == inner.target * inner.count
        and inner.clamp is outer.clamp is None
    )


def _nests(domain: Domain, element: int, *, streams: bool, tiles: bool) -> Iterator[Nest]:
    axes = fuse_axes(list(domain.axes))
    domain = replace(domain, axes=tuple(axes))
    run = next((a for a in axes if a.source == a.target == element), None)
    if run:
        size = run.count * element
        rest = [a for a in axes if a is not run]
        if isinstance(size, int) and size <= 16 and size & (size - 1) == 0:
            yield from _nests(replace(domain, axes=tuple(rest)), size, streams=streams, tiles=tiles)
            return
        yield _blocked(domain, rest, CopyRun(size), size)
        return
    again = next((a for a in axes if a.source == 0 and a.target == element), None)
    if again and estimate(again.count) * element >= CACHE_LINE:
        rest, size = [a for a in axes if a is not again], again.count * element
        yield _blocked(domain, rest, FillRun(size, element), size)
        return
    found = (
        (permute(domain, axes, element) if again and tiles else None)
        or _interleave(domain, axes, element, source=True)
        or _interleave(domain, axes, element, source=False, streams=streams)
        or (_turn(domain, axes, element) if streams else None)
        or _transpose(domain, axes, element)
        or (permute(domain, axes, element) if tiles else None)
    )
    if isinstance(found, Nest):
        yield found
        return
    for part in found or ():
        yield from _nests(part, element, streams=streams, tiles=tiles)
    if not found:
        yield _blocked(domain, axes, CopyElement(element), element)


def _blocked(domain: Domain, axes: list[CopyAxis], micro: MicroKernel, run: Int) -> Nest:
    """Return the nest of a copy: loops over blocks of both buffers within, the others around."""
    around = strip_mined(axes)
    inner: list[CopyAxis] = []
    for block, source in ((TARGET_BLOCK, False), (SOURCE_BLOCK, True)):
        at: Int = run
        while isinstance(at, int) and at < block:
            axis = next((a for a in around if (a.source if source else a.target) == at), None)
            if axis is None:
                break
            around.remove(axis)
            steps = block // at
            longer = not isinstance(axis.count, int) or axis.count > steps
            if axis.clamp is None and longer and axis.count % steps == 0:
                inner.append(replace(axis, count=steps))
                outer = axis.count // steps
                around.append(CopyAxis(outer, axis.source * steps, axis.target * steps))
            else:
                inner.append(axis)
            at *= axis.count
    around.sort(key=lambda a: (loop_order(a)[0], -abs(estimate(a.target))))
    return nest_of(domain, [*around, *inner], micro)


def _interleave(
    domain: Domain, axes: list[CopyAxis], element: int, *, source: bool, streams: bool = False
) -> Nest | list[Domain] | None:
    """Interleave rows of the source that are dense in the target; or the inverse of that.

    The inverse reads the source in its order if the target lies beyond the caches.

    Returns:
        The nest, or the domains to vectorize instead; None if there are no such rows.
    """
    rows: list[CopyAxis] = []
    for axis in dense_chain(axes, element, source=not source):
        if (axis.source if source else axis.target) == element:
            break
        rows.append(axis)
    else:
        return None
    counts = [a.count for a in rows if isinstance(a.count, int) and a.clamp is None]
    count = prod(counts)
    if len(counts) < len(rows) or len(rows) > MOST_LEVELS:
        return None
    if count not in ROWS_INTERLEAVED:
        return None
    width = next((w for w in _widths(axis) if holds_vectors(axis, w // element)), None)
    if width is None or width <= element or items_per_step(axis) not in (1, width // element):
        return None
    step = width // element
    domains = peel(domain, axis, step, step)
    if domains:
        return domains
    rest = strip_mined([a for a in axes if a is not axis and all(a is not b for b in rows)])
    (inner,) = remaining_axes([axis], [(axis, step)]) or [CopyAxis(1, 0, 0)]
    levels = levels_of(list(zip(rows, counts, strict=True)), source=source)
    micro = (Interleave if source else Deinterleave)(element, count, width, levels)
    rest.sort(key=(lambda axis: -estimate(axis.source)) if streams else loop_order)
    return nest_of(domain, [*rest, inner], micro)


def _turn(domain: Domain, axes: list[CopyAxis], element: int) -> Nest | None:
    """Transpose whole axes; None if there are no two chains of them, or too short ones."""
    if element > 8:
        return None
    whole = [axis for axis in axes if axis.clamp is None]
    x_chain, y_chain = (dense_chain(whole, element, source=side) for side in (True, False))
    if not x_chain or not y_chain:
        return None
    y = _until(y_chain, [(x_chain[0], 0)])[:MOST_LEVELS]
    x = _until(x_chain, [(axis, 0) for axis in y])[:MOST_LEVELS]
    for chain, least in ((x, 16), (y, CACHE_LINE)):
        most = upper_bound(prod(axis.count for axis in chain))
        if most is not None and most * element < least:
            return None
    rows = upper_bound(prod(axis.count for axis in y))
    if len(x) == len(y) == 1 and rows is not None and rows <= _STREAMS:
        return None
    taken = [*x, *y]
    loops = sorted(strip_mined([a for a in axes if all(a is not b for b in taken)]), key=loop_order)
    source = tuple((axis.count, axis.source) for axis in y)
    target = tuple((axis.count, axis.target) for axis in x)
    return nest_of(domain, loops, LargeTransposition(element, source, target))


def _transpose(domain: Domain, axes: list[CopyAxis], element: int) -> Nest | list[Domain] | None:
    """Transpose blocks of ``SOURCE_BLOCK`` bytes on both sides; results as of ``_interleave``."""
    if element > 8:
        return None
    x_chain, y_chain = (dense_chain(axes, element, source=side) for side in (True, False))
    if x_chain and y_chain:
        alone = len(x_chain) == len(y_chain) == 1
        ends = x_chain[0], y_chain[0]
        direct = _transpose_directly(domain, axes, *ends, element, alone=alone)
        if direct is not None:
            return direct
    least = _block(x_chain, 16 // element, 16 // element) or []
    y_chain = _until(y_chain, least)
    for width in (64, 32, 16):
        y = _block(y_chain, SOURCE_BLOCK // element, width // element)
        if y is None or width not in _widths(y[-1][0]):
            continue
        rows = prod(count for _, count in y)
        most = min(SOURCE_BLOCK // element, _STAGE // rows // element)
        x = _block(_until(x_chain, y), most, 16 // element)
        if x is None:
            continue
        for taken, unit in ((x, 16 // element), (y, width // element)):
            before = prod(count for _, count in taken[:-1])
            axis, count = taken[-1]
            domains = peel(domain, axis, count, max(1, unit // before), overlap_last=taken is x)
            if domains:
                return domains
        loops = sorted(remaining_axes(axes, [*x, *y]), key=loop_order)
        source, target = levels_of(y, source=True), levels_of(x, source=False)
        return nest_of(domain, loops, Transposition(element, width, source, target))
    return None


def _widths(axis: CopyAxis) -> tuple[int, ...]:
    """Return the widths of vectors along an axis.

    If its length is known only at run time, each width is a nest more for the compiler.
    """
    return (64, 32, 16) if isinstance(axis.count, int) else (64, 16)


def _until(chain: list[CopyAxis], taken: list[tuple[CopyAxis, int]]) -> list[CopyAxis]:
    """Return the axes of a chain before the first one that the other side of a block takes."""
    return list(takewhile(lambda axis: all(axis is not other for other, _ in taken), chain))


def _transpose_directly(
    domain: Domain, axes: list[CopyAxis], x: CopyAxis, y: CopyAxis, element: int, *, alone: bool
) -> Nest | None:
    """Transpose two axes that are long enough, without a staging buffer of a block.

    Axes that others continue are long enough if they have whole tiles, or if a block of them would
    not be written in lines either.
    """
    numbers = x.count, x.target, y.count, y.source
    if x is y or not all(isinstance(n, int) for n in numbers):
        return None
    columns, rows = estimate(x.count), estimate(y.count)
    width = CACHE_LINE if rows * element >= CACHE_LINE else 16
    even = x.target % CACHE_LINE == 0
    spread = min(rows, SMALL_ROWS) <= _rows_in_cache(y.source)
    least = 16 if spread and (alone or not even) else CACHE_LINE
    if columns * element < least or rows * element < (CACHE_LINE if even else least):
        return None
    loops = sorted(remaining_axes(axes, [(x, columns), (y, rows)]), key=loop_order)
    levels = ((rows, y.source),), ((columns, x.target),)
    return nest_of(domain, loops, Transposition(element, width, *levels, direct=True))


def _rows_in_cache(stride: Int) -> int:
    """Return how many rows of a stride fit the first cache: 6 of the 12 lines of each set."""
    assert isinstance(stride, int)
    return 6 * min(64, 4096 // gcd(stride, 4096))


def _block(chain: list[CopyAxis], most: int, unit: int) -> list[tuple[CopyAxis, int]] | None:
    """Return axes of a chain, and how many steps of each make a multiple of ``unit`` items.

    The last axis may have to be peeled. None if there are fewer items, or if a unit of items would
    extend over two axes.
    """
    taken: list[tuple[CopyAxis, int]] = []
    size = 1
    for axis in chain:
        if size >= most or (size % unit and unit % size):
            break
        step = max(1, unit // size)
        if not isinstance(axis.count, int):
            count = _symbolic_block(axis, step, most // size)
        elif axis.count >= step:
            count = min(axis.count, most // size) // step * step
        elif step % axis.count:
            return None
        else:
            count = axis.count
        if count == 0 or len(taken) == MOST_LEVELS:
            break
        taken.append((axis, count))
        size *= count
        if count != axis.count:
            break
    return taken if taken and size % unit == 0 else None


def _symbolic_block(axis: CopyAxis, step: int, most: int) -> int:
    """Return the items that a block takes of an axis of symbolic length, or 0."""
    if not holds_vectors(axis, step):
        return 0
    if axis.clamp is not None:
        return axis.clamp.unit
    largest = upper_bound(axis.count)
    whole = most // step * step
    return step if largest is not None and largest < whole else whole
