"""Plan a relayout kernel: its domains, their loop nests, staged blocks, images of a target.

Threads run the tasks of a kernel in phases.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import prod
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Final, TypeAlias, TypeGuard

from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.recipe import Recipe, require_own_slots
from morello_layouts.core.recipe.views import with_ignored_dims, with_replicas_as_dims
from morello_layouts.outputs.kernels.chains import (
    chains_of,
    chains_to_read,
    growth_of,
    shared_jumps,
    swizzled_growth,
)
from morello_layouts.outputs.kernels.domains import CopyAxis, Domain, divide, estimate
from morello_layouts.outputs.kernels.nests import (
    ELEMENTWISE_COST,
    CopyElement,
    CopyRun,
    FillRun,
    FusedLoop,
    LargeTransposition,
    LoopTree,
    MicroKernel,
    Nest,
    Permutation,
    Transposition,
    cost_of,
    fuse_loops,
    nests_in,
)
from morello_layouts.outputs.kernels.pieces import element_domains, held_by, padding_domains
from morello_layouts.outputs.kernels.staging import (
    StagedBlocks,
    staged_blocks,
    swizzled_blocks,
    swizzled_turn,
    with_image,
)
from morello_layouts.outputs.kernels.vectorize import fill_nest, vectorize, with_padding

# How much larger a target is beyond the caches, at most, if its source is twice as many times
# smaller: a broadcast only writes, which caches do faster.
_BROADCAST: Final = 32
_SECOND_CACHE: Final = 1 << 20  # bytes, if the system does not tell
_BEYOND: Final = 1 << 23  # bytes that share a third cache with the source, at most


@cache
def beyond_caches() -> int:
    """Return the bytes of a target beyond the caches: eight times the second one, at most 8 MiB."""
    try:
        size = os.sysconf("SC_LEVEL2_CACHE_SIZE")
    except (AttributeError, OSError, ValueError):  # not Linux with glibc
        size = 0
    return min(8 * (size if size > 0 else _SECOND_CACHE), _BEYOND)


# The cost, as a multiple of a copy's, from which staged blocks are tried.
_STAGED_FROM: Final = 2.2
# How many times the estimated cost of tiles that registers permute may be that of blocks.
_TILES_GAIN: Final = 4


@frozen
class Kernel:
    """A relayout kernel to be written."""

    source: Recipe  #: the recipe of the buffer that is read.
    target: Recipe  #: the recipe of the buffer that is written.
    itemsize: int  #: bytes of an element.
    fill: bytes | None = None  #: the bytes of an element of padding; None leaves padding as it is.
    name: str = "relayout"  #: the function's name.
    comment: str = ""  #: a description of the layouts for the file.
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions on symbolic sizes.

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


@frozen(slots=False)
class KernelPlan:
    """The loops of a kernel: over padding, and over elements in one of three ways."""

    itemsize: int  #: bytes of an element.
    fill: bytes | None  #: the bytes of an element of padding; None leaves padding as it is.
    fills: tuple[Nest, ...]  #: nests over padding.
    nests: tuple[Nest, ...]  #: nests over elements.
    #: blocks that pass through a staging buffer, instead of ``nests``.
    staged: tuple[StagedBlocks, ...]
    #: the kernel, if it has no loops over common digits: each element goes through both formulas.
    elementwise: Kernel | None
    #: whether the target lies beyond the caches: runs of it are written as whole lines.
    streams: bool = False
    #: whether the nests over padding may also write to places of elements.
    fills_first: bool = False

    @property
    def trees(self) -> tuple[LoopTree, ...]:
        """All loops but those over blocks, fused."""
        return tuple(tree for nests in self.parts for tree in fuse_loops(nests))

    @property
    def parts(self) -> tuple[tuple[Nest, ...], ...]:
        """The nests of the loops, of which the first are done before the others."""
        if self.fills_first:
            return self.fills, self.nests
        return ((*self.fills, *self.nests),)

    @property
    def pads(self) -> bool:
        """Whether registers hold padding beside elements."""
        return any(
            isinstance(nest.micro, Permutation) and nest.micro.has_padding for nest in self.nests
        )

    @property
    def all_nests(self) -> tuple[Nest, ...]:
        """The nests over elements, those within blocks included."""
        staged = (nest for part in self.staged for nest in (*part.into, *part.out))
        return (*self.nests, *staged)


@frozen
class Domains:
    """The places of a target, in loops without bound checks."""

    #: the domains of the elements; None if no loops over common digits exist.
    elements: list[Domain] | None
    padding: list[Domain]  #: the domains to fill.
    #: whether the padding may hold elements too, so that it is filled before.
    overlap: bool = False


def domains_of(source: Recipe, target: Recipe, *, fill: bool = True) -> Domains:
    """Return the domains of the elements and those to fill; without ``fill`` there are none.

    >>> from morello_layouts import index_map
    >>> rows, tiled = (index_map(text).recipe for text in ("f32[3,5]", "f32[3,5]{1,0:T(2,2)}"))
    >>> found = domains_of(rows, tiled)
    >>> len(found.elements), sum(domain.size for domain in found.padding)
    (4, 9)
    """
    shape, size, tail = source.shape, target.size, target.tail_padding
    every = [Domain(0, 0, (CopyAxis(size, 0, 1),))]
    if 0 in shape:
        return Domains([], every if fill and size != 0 else [])
    require_own_slots(target)
    a, b = growth_of(source), growth_of(target)
    elements = None
    if a and b and (shared := shared_jumps(a, b)) is not None:
        elements = element_domains(shape, shared, (a.start, b.start))
    if not fill or (prod(shape) == size and not target.replica_sizes):
        return Domains(elements, [])
    held = held_by(target)
    padding = None if held is None else padding_domains(held, tail, size)
    return Domains(elements, every, True) if padding is None else Domains(elements, padding)


def swizzled_domains(source: Recipe, target: Recipe) -> list[Domain] | None:
    """Return domains of layouts with exclusive ors of digits; None if they share no digits.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(x).recipe for x in ("(16,4):(4,1)", "Sw<2,0,2> o 0 o (16,4):(4,1)"))
    >>> [[(axis.count, axis.xor is not None) for axis in x.axes] for x in swizzled_domains(a, b)]
    [[(4, False), (16, True)]]
    """
    a, b = swizzled_growth(source), swizzled_growth(target)
    if a is None or b is None:
        return None
    xors = a[1], b[1]
    digits = [x for own in xors for _, parts in own for x in parts]
    cuts = {(x.dim, x.unit) for x in digits}
    cuts |= {(x.dim, x.unit * x.radix) for x in digits if x.radix is not None}
    shared = shared_jumps(a[0], b[0], cuts)
    if shared is None:
        return None
    return element_domains(source.shape, shared, (a[0].start, b[0].start), xors)


def lateness(kernel: Kernel) -> int:
    """Return how many times larger a target beyond the caches is than that of a plain copy."""
    source, target = estimate(kernel.source.size), estimate(kernel.target.size)
    return min(max(target // max(2 * source, 1), 1), _BROADCAST)


def plan_kernel(
    kernel: Kernel, stream_from: int | None = None, *, streams: bool | None = None
) -> KernelPlan:
    """Plan the loops from one layout's buffer to the other's.

    Args:
        kernel: the kernel to be written.
        stream_from: bytes of a target beyond the caches; by default the machine's caches decide.
        streams: whether stores bypass the caches; by default the size of the target decides.
    """
    least = beyond_caches() if stream_from is None else stream_from
    reach = estimate(kernel.target.size * kernel.itemsize)
    if streams is None:
        streams = reach >= least * lateness(kernel)
    itemsize, fill = kernel.itemsize, kernel.fill
    domains = domains_of(kernel.source, kernel.target, fill=fill is not None)
    elements = domains.elements
    swizzled, turned = list[StagedBlocks](), None
    if elements is None:
        elements = swizzled_domains(kernel.source, kernel.target)
        if streams and elements and len(elements) == 1 and not kernel.names:
            turned = swizzled_turn(elements[0], itemsize)
        if elements is not None and not domains.overlap and turned is None:
            elements, swizzled = _through_blocks(elements, itemsize, streams=streams)

    padding, padded = list(domains.padding), {0: turned} if turned else dict[int, list[Nest]]()
    if turned is None and not domains.overlap:
        for k, domain in enumerate(elements or ()):
            for beside in padding:
                if found := with_padding(domain, beside, itemsize):
                    padded[k] = found
                    padding.remove(beside)
                    break

    def planned(*, tiles: bool = False) -> list[Nest]:
        return [
            replace(nest, domain=k)
            for k, domain in enumerate(elements or ())
            for nest in padded.get(k) or vectorize(domain, itemsize, streams=streams, tiles=tiles)
        ]

    nests = planned()
    cost = None if elements is None else cost_of(nests)
    staged: tuple[StagedBlocks, ...] = ()
    if domains.overlap:
        pass  # blocks are no phase of their own
    elif swizzled:
        staged = tuple(swizzled)
    elif cost is None or cost > _STAGED_FROM * estimate(kernel.target.size * itemsize):
        staged = _cheaper_blocks(kernel, cost, streams=streams)
    if any(isinstance(nest.micro, CopyElement) or _reads_again(nest) for nest in nests):
        nests = planned(tiles=True)
        within = (nest for part in staged for nest in (*part.into, *part.out))
        gain = 1 if any(isinstance(x.micro, Permutation) for x in within) else _TILES_GAIN
        if not swizzled and sum(part.cost for part in staged) > gain * cost_of(nests):
            staged = ()  # blocks that are moved by single elements, or tiles, too
    if staged and not swizzled:
        nests, padding = [], domains.padding
    elif streams:
        nests = [part for nest in nests for part in with_image(nest)]
    if streams:
        staged = tuple(
            replace(part, out=tuple(x for nest in part.out for x in with_image(nest)))
            for part in staged
        )
    fills = tuple(fill_nest(domain, itemsize) for domain in padding)
    is_elementwise = elements is None and not staged and 0 not in kernel.source.shape
    elementwise = kernel if is_elementwise else None
    return KernelPlan(
        itemsize, fill, fills, tuple(nests), staged, elementwise, streams, domains.overlap
    )


def _reads_again(nest: Nest) -> bool:
    """Whether a nest reads what it has read again, as along a column that fills rows."""
    rows = nest.micro.source if isinstance(nest.micro, Transposition | LargeTransposition) else ()
    return any(axis.source == 0 for axis in nest.loops) or any(step == 0 for _, step in rows)


def _through_blocks(
    domains: list[Domain], itemsize: int, *, streams: bool
) -> tuple[list[Domain], list[StagedBlocks]]:
    """Return the swizzled domains that are better moved directly, and blocks of the others."""
    direct, staged = list[Domain](), list[StagedBlocks]()
    for domain in domains:
        cost = cost_of(vectorize(domain, itemsize, streams=streams, tiles=True))
        blocks = None
        if cost > _STAGED_FROM * estimate(domain.size * itemsize):
            blocks = swizzled_blocks(domain, itemsize, streams=streams)
        if blocks and sum(part.cost for part in blocks) < cost:
            staged += blocks
        else:
            direct.append(domain)
    return direct, staged


def _cheaper_blocks(
    kernel: Kernel, cost: float | None, *, streams: bool
) -> tuple[StagedBlocks, ...]:
    """Return the staged blocks that cost less than the direct nests, whose cost may be None."""
    source, target = kernel.source, kernel.target
    if cost is None:
        cost = ELEMENTWISE_COST * estimate(prod(target.shape))
    a, b = chains_to_read(source), chains_of(target)
    found = staged_blocks(a, b, kernel.itemsize, streams=streams) if a and b else None
    return found if found and sum(part.cost for part in found) < cost else ()


# Steps that a divided loop should have: with fewer, some threads wait for others.
_ENOUGH: Final = 16
# Elements of a chunk of a long run.
_CHUNK: Final = 1 << 12


@frozen
class Task:
    """Loops that belong to one phase."""

    tree: LoopTree  #: the loops.
    #: the number of the loop that threads divide, 0 for the outermost; None if one thread does all.
    loop: int | None

    @property
    def steps(self) -> int:
        """The estimated steps of the divided loop."""
        nest, loops = next(nests_in(self.tree))
        if self.loop is None:
            return 0
        columns = [nest.micro.columns] if _has_columns(nest.micro) else []
        return estimate([*(axis.count for axis in loops), *columns][self.loop])


def _has_columns(micro: MicroKernel) -> TypeGuard[LargeTransposition | Transposition]:
    """Whether a micro-kernel is a whole transposition, whose columns threads may share."""
    return isinstance(micro, LargeTransposition) or (
        isinstance(micro, Transposition) and micro.direct
    )


def phases_of(plan: KernelPlan) -> tuple[tuple[Task, ...], ...]:
    """Return the tasks of a kernel, phase by phase.

    Nests of one domain may write a place twice, so they belong to different phases.

    >>> from morello_layouts import relayout
    >>> from morello_layouts.outputs.kernels.plan import Kernel, plan_kernel
    >>> r = relayout("f32[200,250]{1,0:T(8,128)}", "f32[200,250]{0,1:T(8,128)}")
    >>> plan = plan_kernel(Kernel(r.source.recipe, r.target.recipe, 4))
    >>> [len(tasks) for tasks in phases_of(plan)]
    [3, 2, 1]
    """
    found = [phase for nests in plan.parts for phase in _phases(nests, plan.itemsize)]
    return tuple(found) or ((),)


def _phases(whole: Sequence[Nest], itemsize: int) -> list[tuple[Task, ...]]:
    nests = [part for nest in whole for part in _chunks(nest, itemsize)]
    phases: list[list[Task]] = []
    taken: list[set[int]] = []
    for task in (task for tree in fuse_loops(nests) for task in _tasks(tree)):
        domains = {nest.domain for nest, _ in nests_in(task.tree) if nest.domain is not None}
        free = next((k for k, other in enumerate(taken) if not other & domains), None)
        if free is None:
            free = len(phases)
            phases.append([])
            taken.append(set())
        phases[free].append(task)
        taken[free] |= domains
    return [tuple(tasks) for tasks in phases]


def _chunks(nest: Nest, itemsize: int) -> list[Nest]:
    """Return a long run in few loops as a loop over chunks, and a shorter rest."""
    if not isinstance(nest.micro, CopyRun | FillRun):
        return [nest]
    if max((estimate(axis.count) for axis in nest.loops), default=0) >= _ENOUGH:
        return [nest]
    chunk = _CHUNK * itemsize
    if estimate(nest.micro.size) < 2 * chunk:
        return [nest]
    full, rest = divide(nest.micro.size, chunk)
    of = 0 if isinstance(nest.micro, FillRun) else chunk
    loops = (*nest.loops, CopyAxis(full, of, chunk))
    main = replace(nest, loops=loops, micro=replace(nest.micro, size=chunk))
    start, end = nest.source + full * of, nest.target + full * chunk
    left = replace(nest, source=start, target=end, micro=replace(nest.micro, size=rest))
    return [main, left] if rest != 0 else [main]


def _tasks(tree: LoopTree) -> Iterator[Task]:
    """Return the tree, or each nest by itself if the loop that several share is short."""
    if isinstance(tree, Nest):
        loop = _divided(
            tree.loops[: len(tree.loops) - (tree.inner_loops if tree.image else 0)], tree
        )
        if _has_columns(tree.micro) and Task(tree, loop).steps < _ENOUGH:
            loop = len(tree.loops)  # threads share the columns
        yield Task(tree, loop)
        return
    inner = [task for part in tree.body for task in _tasks(part)]
    alone = _divided((tree.axis,), tree)
    if alone is not None and estimate(tree.axis.count) >= min(
        _ENOUGH, *(task.steps for task in inner)
    ):
        yield Task(tree, alone)
        return
    for task in inner:
        loop = None if task.loop is None else task.loop + 1
        yield Task(FusedLoop(tree.axis, (task.tree,)), alone if loop is None else loop)


def _divided(loops: Sequence[CopyAxis], tree: LoopTree) -> int | None:
    """Return the first loop with enough steps, else the longest; None if none can be divided."""
    every = [axis for _, around in nests_in(tree) for axis in around]
    steps = {
        k: estimate(axis.count)
        for k, axis in enumerate(loops)
        if axis.count != 1 and not any(_is_within(axis, other) for other in every)
    }
    longest = max(steps, key=lambda k: steps[k], default=None)
    return next((k for k, count in steps.items() if count >= _ENOUGH), longest)


def _is_within(axis: CopyAxis, clamped: CopyAxis) -> bool:
    """Whether a loop is over the items of one step of a clamped loop: such steps overlap."""
    if axis is clamped or clamped.clamp is None:
        return False
    return any(
        axis.source == k * clamped.source and axis.target == k * clamped.target
        for k in range(1, clamped.clamp.unit)
    )


def longest_loop(counts: Sequence[Int]) -> int | None:
    """Return the number of the longest loop; None if there is none.

    >>> longest_loop((3, 70, 8)), longest_loop(())
    (1, None)
    """
    return max(range(len(counts)), key=lambda k: estimate(counts[k]), default=None)


# The function that does a part, the parts that no thread has taken, and where to report one.
_Job: TypeAlias = "tuple[Callable[[int], object], deque[int], SimpleQueue[int]]"

_jobs: SimpleQueue[_Job] = SimpleQueue()
_helpers: list[Thread] = []
_starting = RLock()  # a handler of signals may call a relayout too


def run_parts(call: Callable[[int], object], parts: int, threads: int | None = None) -> None:
    """Do each part once, by several threads, the caller's among them.

    Args:
        call: does the part of a number, and raises nothing. It holds the arrays that it works on:
            if the user interrupts the caller, a helper still ends its part.
        parts: the number of parts.
        threads: the most threads; by default as many as there are parts.

    >>> done = []
    >>> run_parts(done.append, 3)
    >>> sorted(done)
    [0, 1, 2]
    """
    left, reports = deque(range(parts)), SimpleQueue[int]()
    helpers = min(parts, threads or parts) - 1
    _start_helpers(helpers)
    for _ in range(helpers):
        _jobs.put((call, left, reports))
    own = _take_parts(call, left)
    for _ in range(parts - own):
        reports.get()


def _take_parts(
    call: Callable[[int], object], left: deque[int], reports: SimpleQueue[int] | None = None
) -> int:
    """Do part after part; return how many."""
    count = 0
    while True:
        try:
            part = left.popleft()
        except IndexError:
            return count
        call(part)
        count += 1
        if reports is not None:
            reports.put(part)


def _help() -> None:
    while True:
        _take_parts(*_jobs.get())


def _start_helpers(most: int) -> None:
    if len(_helpers) >= most:
        return
    with _starting:
        try:
            while len(_helpers) < most:
                helper = Thread(target=_help, name="relayout", daemon=True)
                helper.start()
                _helpers.append(helper)
        except RuntimeError:  # the system has no more threads: there are fewer helpers
            return


def _forget_helpers() -> None:
    """Start anew in a forked process, which has none of the threads of its parent."""
    global _jobs, _starting
    _jobs, _starting = SimpleQueue(), RLock()
    _helpers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)
