"""Images: buffers in the first caches that collect long runs of a target beyond the caches.

A run of the target is then written from one cache line to the next, whatever its address. Only the
parts of lines at its two ends are read before they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.domains import LoopAxis, divide, estimate, nonzero, upper_bound
from morello_layouts.kernels.nests import (
    CACHE_LINE,
    CopyRun,
    Deinterleave,
    Interleave,
    Levels,
    MicroKernel,
    Nest,
)

# Bytes of an image: it stays in the first cache, beside the source.
_IMAGE: Final = 1 << 11
# Bytes of a run that is worth no image: few of its lines are parts of lines.
_LONG_RUN: Final = 1 << 10


def with_image(nest: Nest) -> list[Nest]:
    """Return a nest that collects runs of the target in an image, and one for the rest of a loop.

    The inner loops that fill the image are chosen from the innermost outwards. The outermost of
    them may be divided; the nest is returned unchanged if nothing is gained.

    >>> loops = LoopAxis(30, 8192, 64), LoopAxis(2, 64, 32)
    >>> (nest,) = with_image(Nest(0, 0, loops, CopyRun(32)))
    >>> nest.image, nest.inner_loops, image_of(nest).run
    (1920, 2, 1920)
    """
    run, levels = _runs(nest.micro)
    if run is None or (run >= _LONG_RUN and not levels):
        return [nest]
    size, k = run * prod(estimate(count) for count, _ in levels), len(nest.loops)
    while k > 0 and size < _IMAGE:
        axis = nest.loops[k - 1]
        if axis.clamp is not None or axis.target == 0:
            break
        if not isinstance(axis.count, int) or size * axis.count > _IMAGE:
            return _divided(nest, k, size, _IMAGE // size)
        size, k = size * axis.count, k - 1
    return [_collecting(nest, k, size)]


def _divided(nest: Nest, k: int, size: int, steps: int) -> list[Nest]:
    """Return the nest with the innermost loops from k on in an image, and ``steps`` of the next."""
    axis = nest.loops[k - 1]
    whole = _collecting(nest, k, size)
    if steps < 2 or axis.target != image_of(whole).run:
        return [whole]
    full, rest = divide(axis.count, steps)
    outer = LoopAxis(full, axis.source * steps, axis.target * steps)
    loops = (*nest.loops[: k - 1], outer, replace(axis, count=steps), *nest.loops[k:])
    found = [_collecting(replace(nest, loops=loops), k, size * steps)] if full != 0 else []
    if rest == 0:
        return found
    guard = () if isinstance(rest, int) else (LoopAxis(nonzero(rest), 0, 0),)
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


def _runs(micro: MicroKernel) -> tuple[int | None, Levels]:
    """Return the bytes of a run of a micro-kernel, None if it writes none, and where runs lie."""
    match micro:
        case CopyRun(size) if isinstance(size, int):
            return size, ()
        case Interleave(rows=rows, width=width):
            return rows * width, ()
        case Deinterleave(width=width, target=levels):
            return width, levels
    return None, ()


@dataclass(frozen=True, slots=True)
class Image:
    """The geometry of an image."""

    fill: Nest  #: the nest that fills it, which starts at its first byte.
    run: Int  #: bytes of a run of the target.
    #: pairs (count, stride in the target, stride in the image): where the runs lie.
    runs: tuple[tuple[Int, Int, int], ...]
    size: int  #: bytes at most.


def image_of(nest: Nest) -> Image:
    """Return the geometry of a nest's image: its runs, a cache line apart at least.

    >>> copies = Nest(0, 0, (LoopAxis(4, 256, 8192), LoopAxis(2, 64, 32)), CopyRun(32))
    >>> image = image_of(replace(copies, image=256, inner_loops=2))
    >>> image.run, image.runs, image.size, [axis.target for axis in image.fill.loops]
    (64, ((4, 8192, 64),), 256, [64, 32])
    """
    run, levels = _runs(nest.micro)
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
    room = -(-most // CACHE_LINE) * CACHE_LINE
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
    return Image(fill, long, tuple(runs), room)


def _digits(levels: Levels, inner: tuple[LoopAxis, ...]) -> Iterator[tuple[int, tuple[Int, Int]]]:
    """Return the counts and strides in the target of levels and loops, numbered, strides rising."""
    digits = [*levels, *((axis.count, axis.target) for axis in inner)]
    yield from sorted(enumerate(digits), key=lambda digit: estimate(digit[1][1]))
