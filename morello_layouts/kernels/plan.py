"""Plan a relayout kernel: its domains, their loop nests, staged blocks and non-temporal stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.chains import chains_of, chains_to_read, shared_digits
from morello_layouts.kernels.domains import (
    Domain,
    LoopAxis,
    element_domains,
    estimate,
    padding_domains,
)
from morello_layouts.kernels.nests import (
    CACHE_LINE,
    ELEMENTWISE_COST,
    SMALL_BLOCK,
    TARGET_BLOCK,
    CopyElement,
    CopyRun,
    Deinterleave,
    Interleave,
    LoopTree,
    MicroKernel,
    Nest,
    Transposition,
    bytes_moved,
    cost_of,
    fuse_loops,
)
from morello_layouts.kernels.staging import StagedBlocks, staged_blocks
from morello_layouts.kernels.vectorize import fill_nest, vectorize, with_prefetch
from morello_layouts.recipe import Recipe, known, require_own_slots
from morello_layouts.recipe.views import with_ignored_dims, with_replicas_as_dims

# Bytes of a target from which stores are non-temporal: they bypass the caches. Transpositions write
# to many rows by turns, and gain from that at a quarter of the bytes.
STREAM_FROM: Final = 1 << 23
TRANSPOSITION_GAIN: Final = 4

# The cost, as a multiple of a copy's, from which staged blocks are tried.
_STAGED_FROM: Final = 2.2


@dataclass(frozen=True, slots=True)
class Kernel:
    """A relayout kernel to be written.

    Attributes:
        source: the recipe of the buffer that is read.
        target: the recipe of the buffer that is written.
        itemsize: bytes of an element.
        fill: the bytes of an element of padding; None leaves padding as it is.
        name: the function's name.
        comment: a description of the layouts for the file.
        assumptions: the assumptions on symbolic sizes.
    """

    source: Recipe
    target: Recipe
    itemsize: int
    fill: bytes | None = None
    name: str = "relayout"
    comment: str = ""
    assumptions: tuple[Assumption, ...] = ()

    def __post_init__(self) -> None:
        """Make the replicas of a target dimensions, along which the source is read again."""
        sizes = self.target.replica_sizes
        if sizes:
            object.__setattr__(self, "source", with_ignored_dims(self.source, sizes))
            object.__setattr__(self, "target", with_replicas_as_dims(self.target))

    @property
    def names(self) -> tuple[str, ...]:
        """The symbolic sizes, which are arguments of the function.

        >>> from morello_layouts import index_map
        >>> Kernel(*(index_map(text).recipe for text in ("f32[M,8]", "f32[M,8]{0,1}")), 4).names
        ('M',)
        """
        return tuple(sorted({*self.source.names, *self.target.names}))

    @property
    def about(self) -> str:
        """The comment, and a line for each assumption."""
        required = dict.fromkeys((*self.source.requires, *self.target.requires))
        known = (*map(str, self.assumptions), *(f"{n} >= {m}" for n, m in required))
        return "\n".join([self.comment, *known]).strip()


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A relayout without common digits: each coordinate goes through both recipes."""

    source: Recipe
    target: Recipe


@dataclass(frozen=True)
class KernelPlan:
    """The loops of a kernel: over padding, and over elements in one of three ways.

    Attributes:
        itemsize: bytes of an element.
        fill: the bytes of an element of padding; None leaves padding as it is.
        fills: nests over padding.
        nests: nests over elements.
        staged: blocks that pass through a staging buffer, instead of ``nests``.
        elementwise: the recipes, if no nests over common digits exist.
        alignment: strides that must be multiples of the cache line for non-temporal stores; the
            call checks them.
    """

    itemsize: int
    fill: bytes | None
    fills: tuple[Nest, ...]
    nests: tuple[Nest, ...]
    staged: tuple[StagedBlocks, ...]
    elementwise: Elementwise | None
    alignment: tuple[Int, ...] = ()

    @property
    def trees(self) -> tuple[LoopTree, ...]:
        """All loops but those over blocks, fused."""
        return fuse_loops((*self.fills, *self.nests))

    @property
    def is_streaming(self) -> bool:
        """Whether some stores are non-temporal if the target starts at a cache line."""
        return any(nest.non_temporal for nest in self.all_nests)

    @property
    def all_nests(self) -> tuple[Nest, ...]:
        """The nests over elements, those within blocks included."""
        staged = (nest for part in self.staged for nest in (*part.into, *part.out))
        return (*self.nests, *staged)


def domains_of(source: Recipe, target: Recipe) -> tuple[list[Domain] | None, list[Domain]]:
    """Return the domains of the elements, and the domains to fill with padding.

    The first is None without common digits, or for too many domains. The second may then hold
    elements too, and is filled before they are moved.
    """
    shape, size, tail = source.shape, target.size, target.tail_padding
    if 0 in shape and size == tail:
        return [], [Domain(0, 0, (LoopAxis(tail, 0, 1),))] if tail else []
    require_own_slots(target)
    a, b = chains_to_read(source), chains_of(target)
    shared = shared_digits(a, b) if a and b else None
    starts = (a.start if a else 0), (b.start if b else 0)
    elements = None if shared is None else element_domains(shape, shared, starts)
    padding = padding_domains(b, tail, size) if b else None
    if target.names and (elements is None or padding is None):
        raise UnsupportedError(
            f"no kernel moves {source} to {target} at all sizes",
            "the layouts share no digits, or have too many ranges of them",
            f"give the sizes: {', '.join(f'{name}=…' for name in target.names)}",
        )
    if padding is None:
        return None, [Domain(0, 0, (LoopAxis(size, 0, 1),))]
    return elements, padding


def plan_kernel(
    kernel: Kernel, stream_from: int = STREAM_FROM, *, large: bool | None = None
) -> KernelPlan:
    """Plan the loops from one layout's buffer to the other's.

    Args:
        kernel: the kernel to be written.
        stream_from: bytes of a target from which stores are non-temporal.
        large: whether the target exceeds the caches; by default its size decides.
    """
    itemsize, fill = kernel.itemsize, kernel.fill
    elements, padding = domains_of(kernel.source, kernel.target)
    reach = kernel.target.size * itemsize
    if large is None:
        large = estimate(reach) * TRANSPOSITION_GAIN >= stream_from
    block = TARGET_BLOCK if large else SMALL_BLOCK
    nests = [
        replace(nest, domain=k)
        for k, domain in enumerate(elements or ())
        for nest in vectorize(domain, itemsize, block)
    ]
    fills = () if fill is None else tuple(fill_nest(domain, itemsize) for domain in padding)
    staged: tuple[StagedBlocks, ...] = ()
    if elements is None or cost_of(nests) > _STAGED_FROM * estimate(reach):
        cost = None if elements is None else cost_of(nests)
        staged = _cheaper_blocks(kernel, cost, padding, block)
    nests = [] if staged else nests if large else [with_prefetch(nest) for nest in nests]
    alignment: list[Int] = []
    if large:
        alignment = _alignment([*nests, *(_placed(part, n) for part in staged for n in part.out)])

        def is_far(nest: Nest) -> bool:
            return _is_non_temporal(nest, reach, stream_from, alignment)

        nests = [replace(nest, non_temporal=is_far(nest)) for nest in nests]
        staged = tuple(
            replace(part, out=tuple(
                replace(nest, non_temporal=is_far(_placed(part, nest))) for nest in part.out
            ))
            for part in staged
        )  # fmt: skip
    is_elementwise = elements is None and not staged and 0 not in kernel.source.shape
    elementwise = Elementwise(kernel.source, kernel.target) if is_elementwise else None
    return KernelPlan(itemsize, fill, fills, tuple(nests), staged, elementwise, tuple(alignment))


def _cheaper_blocks(
    kernel: Kernel, cost: float | None, padding: list[Domain], block: int
) -> tuple[StagedBlocks, ...]:
    """Return the staged blocks that cost less than the direct nests, whose cost may be None."""
    source, target = kernel.source, kernel.target
    if cost is None:
        held = prod(known(target.shape))
        if sum(domain.size for domain in padding) + held != target.size:
            return ()  # the domains of padding hold elements too
        cost = ELEMENTWISE_COST * held
    a, b = chains_to_read(source), chains_of(target)
    found = staged_blocks(a, b, kernel.itemsize, block) if a and b else None
    return found if found and sum(part.cost for part in found) < cost else ()


def _placed(part: StagedBlocks, nest: Nest) -> Nest:
    """Return a nest out of a staging buffer, with the loops over blocks around it."""
    return replace(nest, target=nest.target + part.target, loops=(*part.loops, *nest.loops))


def _alignment(nests: Sequence[Nest]) -> list[Int]:
    """Return the strides that the call must check, for the largest nest to be non-temporal."""
    left = {nest: _unaligned(nest) for nest in nests}
    alignable = [n for n, found in left.items() if not any(isinstance(x, int) for x in found)]
    return left[max(alignable, key=bytes_moved)] if alignable else []


def _is_non_temporal(nest: Nest, reach: Int, stream_from: int, alignment: list[Int]) -> bool:
    """Whether stores may bypass the caches; if the reach is symbolic, the call decides."""
    gain = TRANSPOSITION_GAIN if isinstance(nest.micro, Transposition) else 1
    is_far = not isinstance(reach, int) or reach * gain >= stream_from
    return is_far and all(number in alignment for number in _unaligned(nest))


def _unaligned(nest: Nest) -> list[Int]:
    """Return the distances within the target that are not known multiples of a cache line."""
    strides = [nest.target, *(axis.target for axis in nest.loops), *_distances(nest.micro)]
    return list(dict.fromkeys(stride for stride in strides if stride % CACHE_LINE != 0))


def _distances(micro: MicroKernel) -> list[Int]:
    """Return the bytes between the stores of a micro-kernel."""
    match micro:
        case CopyRun(size) | CopyElement(size):
            return [size]
        case Interleave(width=width):
            return [width]
        case Deinterleave(width=width) | Transposition(width=width):
            return [width, *(stride for count, stride in micro.target if count > 1)]
    return [1]
