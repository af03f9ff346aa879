"""Threads: the tasks of a kernel in phases, and the threads that run them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Final, TypeAlias, TypeGuard

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.outputs.kernels.domains import CopyAxis, divide, estimate
from morello_layouts.outputs.kernels.nests import (
    CopyRun,
    FillRun,
    FusedLoop,
    LargeTransposition,
    LoopTree,
    MicroKernel,
    Nest,
    Transposition,
    fuse_loops,
    nests_in,
)
from morello_layouts.outputs.kernels.plan import KernelPlan

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
    loops = (*nest.loops, CopyAxis(full, chunk, chunk))
    main = replace(nest, loops=loops, micro=replace(nest.micro, size=chunk))
    start, end = nest.source + full * chunk, nest.target + full * chunk
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
