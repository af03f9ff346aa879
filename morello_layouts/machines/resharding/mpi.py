"""Plans that run: each rank packs what it sends, MPI moves it, each rank unpacks what it gets.

Nothing moves before all ranks agree that they can begin. Messages move in pieces, in an order in
which each rank sends to one rank and receives from one at a time: a piece travels while the next is
packed and the last one unpacked. So the memory beside both arrays is bounded, however many ranks
there are. After some pieces of each message all ranks learn whether one failed. The source is only
read.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from morello_layouts.core.checks import as_int
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import EXCHANGE_SCRATCH
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import Recipe, known
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.machines.resharding import moves
from morello_layouts.machines.resharding.combs import Message, Pieces, Runs, in_turn, shape_of
from morello_layouts.machines.resharding.exchange import Exchange
from morello_layouts.outputs.kernels.relayout import item_type

if TYPE_CHECKING:
    from mpi4py import MPI

_INT_END: Final = 2**31  # MPI 3 counts in C's int

# Pieces of each message after which ranks tell of failures: one that fails goes on until then.
_UNCHECKED: Final = 8


class ExchangeError(LayoutError):
    """An exchange that failed on some ranks. Every rank raises it, and no source was changed.

    >>> print(ExchangeError({2: "local: expected the shape (4, 8), got (4, 7)"}))
    the exchange failed on rank 2
    rank 2: local: expected the shape (4, 8), got (4, 7)
    no source was changed: mend it there, and call again on every rank
    """

    def __init__(self, ranks: Mapping[int, str]) -> None:
        self.ranks = dict(ranks)  #: the reason by the number of each rank that failed.
        super().__init__(
            f"the exchange failed on rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}",
            "\n".join(f"rank {rank}: {why}" for rank, why in self.ranks.items()),
            "no source was changed: mend it there, and call again on every rank",
        )


def transfer_of(
    exchange: Exchange,
    maps: tuple[IndexMap, IndexMap],
    comm: MPI.Intracomm,
    scratch: int = EXCHANGE_SCRATCH,
) -> Transfer:
    """Return a rank's part in an exchange between two index maps."""
    as_int(scratch, "scratch", 1, _INT_END - 1, why="it is bytes of a process beside both arrays")
    rank, ends = comm.rank, (exchange.source.sharding, exchange.target.sharding)
    if comm.size < (devices := exchange.devices):
        raise LayoutError(
            f"comm: expected {devices} ranks or more, got {comm.size}",
            "the rank of a process is the number of its device",
            f"start more processes: mpirun -n {devices} python …",
        )
    shape = known(exchange.shape)
    layouts = [getattr(m.origin and m.origin.layout, "local", None) for m in maps]
    largest = known(ends[1].local_dims(shape))
    recipe = layouts[1].recipe(largest) if layouts[1] else Recipe(largest)
    types = [m.element_type.name for m in maps if m.element_type and m.element_type.name]
    item = item_type(types[0]) if types else None
    about = f"{maps[0].source} to {maps[1].source}"
    order = moves.LocalBuffer(recipe, ()).order
    transfer = Transfer(comm, None, None, (), (), order, about, scratch, item)
    try:
        source, target = (moves.local_buffer(ends[k], shape, layouts[k], rank) for k in range(2))
        own = [kept] if (kept := exchange.keeps(rank)) else []
        sends, receives = [*own, *exchange.sends(rank)], [*own, *exchange.receives(rank)]
        return Transfer(comm, source, target, sends, receives, order, about, scratch, item)
    except Exception as error:  # such as a leading dimension too small for this rank's rows
        return replace(transfer, problem=error)


@frozen(slots=False)
class Transfer:
    """One rank's part in an exchange, which every rank of the communicator runs."""

    comm: MPI.Intracomm  #: the communicator; the rank is the number of the device.
    #: this rank's buffers; None if it has none.
    source: moves.LocalBuffer | None
    target: moves.LocalBuffer | None
    sends: Sequence[Message]  #: the messages that this rank sends, one to itself included.
    receives: Sequence[Message]  #: those that it receives.
    #: the dimensions as messages have them, the slowest first; the same on all ranks.
    order: tuple[int, ...]
    about: str = ""  #: what all ranks must agree on.
    scratch: int = EXCHANGE_SCRATCH  #: bytes that the exchange may use beside both arrays.
    item: np.dtype[Any] | None = None  #: the type of an item; None if the arrays say it.
    problem: Exception | None = None  #: why this rank cannot take part; None if it can.

    def run(self, local: Any = None, out: Any = None, dtype: Any = None) -> NDArray[Any] | None:
        """Move the array and return this rank's part of the target; None if it has none.

        Args:
            local: this rank's part of the source: an array of the local shape in the order of the
                local layout, or the buffer, 1-D. It is only read.
            out: the array to write to, of the same kinds; by default a new one, with zeros in
                padding.
            dtype: the type of an item, if the rank has no part of the source.
        """
        with _interrupts_kept() as interrupted:
            kind, most = self._agreed(local, out, dtype)
            rounds = _Rounds(self, kind, most)
            try:
                self._check(partial(rounds.begin, local, out), interrupted)
                count = self._most(rounds.count)
                for k in range(0, count, _UNCHECKED):
                    these = range(k, min(k + _UNCHECKED, count))
                    self._check(partial(rounds.go, these), interrupted)
                return rounds.result
            finally:
                rounds.end()

    def _agreed(self, local: Any, out: Any, dtype: Any) -> tuple[np.dtype[Any], int]:
        """Return the type of an item, and the elements of a piece."""
        given = (dtype, getattr(local, "dtype", None), getattr(out, "dtype", None), self.item)
        own = next((x for x in given if x is not None), None)
        try:
            name = None if own is None else item_type(own).str
        except LayoutError as error:
            name = f"no type: {error.what}"
        told = self.comm.allgather((name, f"{self.about}, {self.scratch} bytes"))
        for k, (which, fix) in enumerate(_AGREED):
            usual = Counter(one[k] for one in told if one[k] is not None).most_common(1)
            values = {r: one[k] for r, one in enumerate(told) if one[k] not in (None, *dict(usual))}
            if values:
                why = f"{which}: expected {usual[0][0]} as on most ranks, got "
                raise ExchangeError({rank: f"{why}{x}; {fix}" for rank, x in values.items()})
        names = [one[0] for one in told if one[0] is not None]
        if not names:
            none = "no rank has an array or names a dtype: give local where the source has devices"
            raise ExchangeError(dict.fromkeys(range(len(told)), none))
        kind = item_type(own if own is not None else names[0])
        return kind, max(1, self.scratch // (4 * kind.itemsize))

    def _check(self, work: Callable[[], object], interrupted: Sequence[int]) -> None:
        """Do this rank's work, and raise on every rank if some rank could not."""
        failure: BaseException | None = None
        try:
            work()
            if interrupted:
                failure = KeyboardInterrupt()
        except BaseException as error:  # every rank must learn of it
            failure = error
        if not self._most(int(failure is not None)):
            return
        why = None if failure is None else _reason(failure)
        told = self.comm.allgather(why)
        if failure is not None and not isinstance(failure, Exception):
            raise failure
        raise ExchangeError({r: x for r, x in enumerate(told) if x is not None}) from failure

    def _most(self, number: int) -> int:
        """Return the largest number that a rank gives."""
        from mpi4py import MPI

        found = np.array([number])
        self.comm.Allreduce(MPI.IN_PLACE, found, op=MPI.MAX)
        return int(found[0])


def _reason(failure: BaseException) -> str:
    if isinstance(failure, KeyboardInterrupt):
        return "interrupted"
    return failure.what if isinstance(failure, LayoutError) else repr(failure)


@contextmanager
def _interrupts_kept() -> Iterator[Sequence[int]]:
    """Keep interrupts for the end: one rank that leaves would let the others wait for ever."""
    kept = list[int]()
    try:
        before = signal.signal(signal.SIGINT, lambda number, _: kept.append(number))
    except ValueError:  # another thread than the main one, which Python does not interrupt
        yield kept
        return
    try:
        yield kept
    finally:
        signal.signal(signal.SIGINT, before)


_AGREED: Final = (
    ("the type of items", "give arrays of one type"),
    ("the plan and its scratch", "make the same plan on every rank"),
)


class _Rounds:
    """The pieces of a rank's messages, some of each message at a time."""

    def __init__(self, plan: Transfer, kind: np.dtype[Any], most: int) -> None:
        self.plan, self.kind = plan, kind
        own = [x for x in plan.sends if x.sender == x.receiver]
        moved = ([x for x in xs if x.sender != x.receiver] for xs in (plan.sends, plan.receives))
        #: the pieces that stay, those that are sent, and those that are received.
        self.messages = [
            [Pieces(x, plan.order, most) for x in in_turn(messages, plan.comm.size)]
            for messages in (own, *moved)
        ]
        every = [x for side in self.messages for x in side]
        self.count = max(map(len, every), default=0)
        self.room = max((min(most, x.message.size) for x in every), default=0)
        self.bytes = _spare(4 * self.room * kind.itemsize)
        self.result: NDArray[Any] | None = None
        self.sides: tuple[_RankBuffer, ...] = ()
        self.comm = _private(plan.comm)

    def begin(self, local: Any, out: Any) -> None:
        """Check and open both buffers; nothing moves yet."""
        if self.plan.problem is not None:
            raise self.plan.problem
        plan = self.plan
        if plan.item is not None and plan.item.itemsize != self.kind.itemsize:
            raise LayoutError(f"local: expected items of {plan.item}, got items of {self.kind}")
        source = _buffer(plan.source, local, self.kind, "local")
        if out is None and plan.target is not None:
            out = _made(plan.target, self.kind)
        target = _buffer(plan.target, out, self.kind, "out")
        if np.may_share_memory(target, source) or not target.flags.writeable:
            raise LayoutError("out: expected a writable array that shares no memory with local")
        self.result = out
        slots = self.bytes[: 4 * self.room * self.kind.itemsize].reshape(4, -1)
        self.sides = (
            _RankBuffer(plan.source, plan.order, source, slots[:2]),
            _RankBuffer(plan.target, plan.order, target, slots[2:]),
        )

    def end(self) -> None:
        """Keep the scratch for the next exchange of this process."""
        _SPARE[:] = [self.bytes]

    def go(self, rounds: range) -> None:
        """Move some pieces of each message; every piece travels, whatever fails before."""
        from mpi4py.MPI import REQUEST_NULL, Request

        (sent, received), failures = self.sides, list[BaseException]()
        kept, sends, receives = (
            [(x.message, x[k]) for x in side for k in rounds if k < len(x)]
            for side in self.messages
        )
        sending, coming, arriving = [REQUEST_NULL] * 2, [REQUEST_NULL] * 2, dict[int, Any]()

        def post(k: int) -> None:
            if k < len(receives):
                message, runs = receives[k]
                arriving[k] = received.open(k, runs, failures)
                coming[k % 2] = self.comm.Irecv(arriving[k][0].view(np.uint8), message.sender)

        def take(k: int) -> None:
            coming[k % 2].Wait()
            memory, portion = arriving.pop(k)
            with _kept_going(failures):
                moves.copy(portion, received.items, memory, into=True)
            post(k + 2)

        post(0)
        post(1)
        taken = 0
        for k, (message, runs) in enumerate(sends):
            while sending[k % 2] != REQUEST_NULL and taken < len(receives):
                if Request.Waitany([sending[k % 2], coming[taken % 2]]) == 0:
                    sending[k % 2] = REQUEST_NULL
                else:
                    take(taken)
                    taken += 1
            sending[k % 2].Wait()
            memory, portion = sent.open(k, runs, failures)
            with _kept_going(failures):
                moves.copy(portion, sent.items, memory, into=False)
            sending[k % 2] = self.comm.Isend(memory.view(np.uint8), message.receiver)
        for k in range(taken, len(receives)):
            take(k)
        Request.Waitall(sending)
        for _, runs in kept:
            with _kept_going(failures):
                keep(sent, received, runs)
        if failures:
            raise failures[0]


class _RankBuffer:
    """One buffer of a rank, and two pieces of scratch beside it: one travels, one is copied."""

    def __init__(
        self,
        buffer: moves.LocalBuffer | None,
        order: Sequence[int],
        items: NDArray[Any],
        slots: NDArray[Any],
    ) -> None:
        self.buffer, self.order, self.items = buffer, order, items
        self.slots = [slot.view(items.dtype) for slot in slots]

    def portion(self, runs: Runs) -> moves.Portion:
        return () if self.buffer is None else self.buffer.portion(runs, self.order)

    def open(
        self, k: int, runs: Runs, failures: list[BaseException]
    ) -> tuple[NDArray[Any], moves.Portion]:
        """Return the memory of piece k for MPI, and what is to be copied between it and the buffer.

        A piece that is contiguous in the buffer is sent from there, or received there.
        """
        size = prod(shape_of(runs))
        portion: moves.Portion = ()
        with _kept_going(failures):
            portion = self.portion(runs)
            if (at := moves.place_of(portion)) is not None:
                return self.items[at : at + size], ()
        return self.slots[k % 2][:size], portion


@contextmanager
def _kept_going(failures: list[BaseException]) -> Iterator[None]:
    """Keep what fails for the end: the others wait for this rank's pieces."""
    try:
        yield
    except BaseException as error:
        failures.append(error)


@cache
def _key() -> int:
    from mpi4py import MPI

    return int(MPI.Comm.Create_keyval())


def _private(comm: MPI.Intracomm) -> MPI.Intracomm:
    """Return the same ranks apart: no message of the caller's is taken for one of ours."""
    if (found := comm.Get_attr(_key())) is None:
        found = comm.Dup()
        comm.Set_attr(_key(), found)
    return found


# The scratch of the last exchange: new memory costs as much time as to fill it.
_SPARE: Final[list[NDArray[np.uint8]]] = []


def _spare(size: int) -> NDArray[np.uint8]:
    """Return scratch of a size or more, from the last exchange if it fits."""
    fits = (k for k, x in enumerate(_SPARE) if size <= x.size <= 2 * size)
    found = next(fits, None)
    return np.empty(size, np.uint8) if found is None else _SPARE.pop(found)


def keep(sent: _RankBuffer, received: _RankBuffer, runs: Runs) -> None:
    """Move a piece that stays on the rank."""
    one, other = sent.portion(runs), received.portion(runs)
    here, there = moves.place_of(one), moves.place_of(other)
    if there is not None:
        moves.copy(one, sent.items, received.items[there:], into=False)
    elif here is not None:
        moves.copy(other, received.items, sent.items[here:], into=True)
    elif not moves.copied_at_once(one, sent.items, other, received.items):
        moves.copy(one, sent.items, sent.slots[0], into=False)
        moves.copy(other, received.items, sent.slots[0], into=True)


def _buffer(
    buffer: moves.LocalBuffer | None, given: Any, kind: np.dtype[Any], name: str
) -> NDArray[Any]:
    """Return the items of a local array in memory order, as integers of their size."""
    if buffer is None:
        if given is not None and np.size(given):
            raise ShapeError(f"{name}: expected None, as the device has no part, got an array")
        return np.empty(0, kind)
    shape, (size,) = known(buffer.recipe.shape), known((buffer.recipe.size,))
    if not isinstance(given, np.ndarray):
        raise LayoutError(f"{name}: expected a NumPy array, got {type(given).__name__}")
    items = given if given.shape == (size,) and given.flags.c_contiguous else None
    strides = strides_of(buffer)
    if items is None and given.shape == shape and strides is not None:
        steps = zip(shape, given.strides, strides, strict=True)
        if size == 0 or all(n == 1 or step == kind.itemsize * s for n, step, s in steps):
            items = given.ravel(order="K")
    if items is None:
        local = "" if strides is None else f"{shape} with strides of {strides} items, or "
        raise ShapeError(
            f"{name}: expected the shape {local}({size},), got {given.shape} with strides of "
            f"{given.strides} bytes"
        )
    return items.view(f"u{kind.itemsize}") if kind.itemsize in (1, 2, 4, 8) else items


def strides_of(buffer: moves.LocalBuffer) -> tuple[int, ...] | None:
    """Return the strides of a local array in items; None if the buffer is not such an array."""
    recipe = buffer.recipe
    if buffer.chains is None or recipe.size != prod(known(recipe.shape)):
        return None
    chains = buffer.chains[: len(recipe.shape)]
    if any(len(chain) > 1 for chain in chains):
        return None
    return tuple(known((chain[0].stride,))[0] if chain else 0 for chain in chains)


def _made(buffer: moves.LocalBuffer, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return a new local array, or a new buffer; padding is zero."""
    (size,), shape = known((buffer.recipe.size,)), known(buffer.recipe.shape)
    if strides_of(buffer) is None:
        return np.zeros(size, kind)
    order = buffer.order
    return np.zeros([shape[dim] for dim in order], kind).transpose(np.argsort(order))
