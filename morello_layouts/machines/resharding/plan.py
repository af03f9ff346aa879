"""Plans: what must move between two shardings of one array, who sends it, and why no less does.

Lines of a log are read here, too: XLA says there when it gathers a whole array on every device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any, ClassVar, Final

from morello_layouts.core.checks import as_int, as_tuple
from morello_layouts.core.description import amount, count
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.layout import ElementType
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.limits import EXCHANGE_SCRATCH, RESHARD_LINES, RESHARD_ROWS
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.machines.resharding.combs import Message
from morello_layouts.machines.resharding.counts import (
    ExchangeTotals,
    Traffic,
    TrafficFormulas,
    counts_of_sizes,
    traffic,
)
from morello_layouts.machines.resharding.exchange import Boxes, End, Exchange, exchange
from morello_layouts.machines.resharding.steps import (
    Schedule,
    Step,
    StepKind,
    jax_code,
    kind_of,
    steps_of,
)
from morello_layouts.notations.sharding import Sharding
from morello_layouts.proof.verdict import ALL_SIZES, Proof


@frozen(slots=False)
class Plan(Displayed):
    """A plan that brings an array from one sharding to another.

    Each device receives each element that it needs and lacks once, from one device. Nothing is as
    large as the array or as the number of pairs of devices: messages are computed when they are
    asked for.

    >>> from morello_layouts import reshard
    >>> array = "f32[16,16], mesh={'x': 2, 'y': 4}, spec="
    >>> plan = reshard(array + "P('x', 'y')", array + "P(('x', 'y'), None)")
    >>> print(plan)
    all-to-all over y: f32[16,16] on 8 devices
      before  x = d0//8, y = d1//4
      after   x' = d0//8, y' = (d0//2)%4
      message from (x, y) to (x', y'):
        d0 in [max(8*x, 8*x' + 2*y'), min(8*x + 8, 8*x' + 2*y' + 2))
        d1 in [4*y, 4*y + 4)
      768 of 1,024 bytes move; a device receives up to 96
      minimal: each device receives what it lacks, once. Decided by arithmetic.
    >>> [(message.sender, message.shape) for message in plan.receives(5)]
    [(4, (2, 4)), (6, (2, 4)), (7, (2, 4))]
    """

    source: IndexMap  #: the sharding before, as an index map to ``device`` and ``offset``.
    target: IndexMap  #: the sharding afterwards.
    exchange: Exchange  #: who sends what to whom.

    json_keys: ClassVar = (
        *("kind", "axes", "verdict", "source=before", "target=after", "shape", "devices"),
        *("element_bits", "totals", "moved_bytes", "most_received_bytes", "minimal", "formulas"),
        "steps",
    )

    def __hash__(self) -> int:
        return hash((self.source, self.target))

    @property
    def before(self) -> str:
        """The sharding before, as text."""
        return self.source.source

    @property
    def after(self) -> str:
        """The sharding afterwards, as text."""
        return self.target.source

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the array; a symbolic one is a SymPy expression."""
        return self.source.shape

    @property
    def devices(self) -> int:
        """The number of devices, of both sides together."""
        return self.exchange.devices

    @property
    def element_type(self) -> ElementType | None:
        """The type of the elements, if a side names it."""
        return self.source.element_type or self.target.element_type

    @property
    def element_bits(self) -> int:
        """Bits of an element: 8 if no side names a type, so that bytes are elements."""
        return self.element_type.bits if self.element_type else 8

    @cached_property
    def _kind(self) -> StepKind:
        found, totals = kind_of(self.exchange), self.totals
        if totals is not None and totals.moved == 0 and not totals.condition:
            is_slice = totals.held != totals.kept
            found = StepKind("slice", found.axes) if is_slice else StepKind("nothing")
        if found.name == "nothing" and not self._is_same_place:
            return StepKind("local relayout")
        return found

    @property
    def kind(self) -> str:
        """What devices do: the name of a collective, or ``nothing``, or ``general``."""
        return self._kind.name

    @property
    def axes(self) -> tuple[str, ...]:
        """The mesh axes along which senders and receivers differ."""
        return self._kind.axes

    @cached_property
    def _is_same_place(self) -> bool:
        """Whether each element is at the same offset of the same device."""
        if self.source.recipe == self.target.recipe:
            return True
        with importing:
            from morello_layouts.proof import are_equivalent

        return are_equivalent(self.source, self.target).holds is True

    @cached_property
    def formulas(self) -> TrafficFormulas:
        """Who holds an element, who needs it, and what a message has, as formulas."""
        return TrafficFormulas(self.exchange)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Collectives over single axes that do the same one after the other, as compilers do.

        Empty if parts are uneven or repeat, or meshes differ.
        """
        return steps_of(self.exchange)

    @cached_property
    def traffic(self) -> Traffic:
        """What each device holds, needs and keeps, counted for all at once.

        Raises:
            UnsupportedError: if sizes are symbolic, or there are too many devices.
        """
        return traffic(self.exchange)

    @cached_property
    def _counted(self) -> tuple[ExchangeTotals | None, str]:
        """What moves; without it, why it was not counted."""
        if self.source.recipe.names:
            totals = counts_of_sizes(self.exchange, self.source.size_symbols)
            why = "for symbolic sizes, bytes are counted of parts that are all equal"
            return totals, "" if totals else why
        try:
            return self.traffic.totals, ""
        except UnsupportedError as error:
            return None, error.what

    @property
    def totals(self) -> ExchangeTotals | None:
        """What moves; None if it cannot be counted, and ``uncounted`` says why."""
        return self._counted[0]

    @property
    def uncounted(self) -> str:
        """Why nothing was counted; empty if it was."""
        return self._counted[1]

    @property
    def moved_bytes(self) -> Any:
        """The bytes that move in all; None if they were not counted."""
        return None if self.totals is None else self._bytes(self.totals.moved)

    @property
    def most_received_bytes(self) -> int | None:
        """The most bytes that one device receives; None if that was not counted."""
        if self.totals is None or self.source.recipe.names:
            return None
        return int(self._bytes(int(self.traffic.received.max(initial=0))))

    def _bytes(self, elements: Any) -> Any:
        if isinstance(elements, int):
            return -(-elements * self.element_bits // 8)
        return elements * self.element_bits / 8

    def at(self, /, **sizes: int) -> Plan:
        """Return the plan with numbers in place of symbolic sizes.

        Raises:
            ShapeError: if a size is missing or unknown.
        """
        return plan_of(self.source.at(**sizes), self.target.at(**sizes))

    def sends(self, device: int) -> Iterator[Message]:
        """Yield the messages that a device sends, none of them empty.

        Raises:
            LayoutError: if there is no such device.
            UnsupportedError: if sizes are symbolic.
        """
        return self.exchange.sends(self._device(device))

    def receives(self, device: int) -> Iterator[Message]:
        """Yield the messages that a device receives, none of them empty."""
        return self.exchange.receives(self._device(device))

    def received(self, devices: Sequence[int] | None = None) -> Boxes:
        """Return the messages that devices receive, as NumPy arrays without an object for each.

        Args:
            devices: the numbers of the devices; by default all.

        Raises:
            UnsupportedError: if sizes are symbolic, or 2^61 and more.

        >>> from morello_layouts import reshard
        >>> array = "f32[8,8], mesh={'x': 4}, spec="
        >>> found = reshard(array + "P('x', None)", array + "P(None, 'x')").received([1])
        >>> found.sender, found.start[:, 0], found.block[:, 0], found.size
        (array([0, 2, 3]), array([0, 4, 6]), array([2, 2, 2]), array([4, 4, 4]))
        """
        if devices is None:
            return self.exchange.received(range(self.devices))
        given = as_tuple(devices, "devices", "give their numbers, such as [0, 2]")
        return self.exchange.received([*map(self._device, given)])

    def keeps(self, device: int) -> Message | None:
        """Return what a device has before and afterwards, as a message to itself; None if nothing.

        Its place in the buffer may differ.
        """
        return self.exchange.keeps(self._device(device))

    def schedule(self, limit: int | None = None) -> Schedule:
        """Return in which order devices send pieces, many at once, within the memory of each.

        Args:
            limit: the bytes that a device may use: both buffers, and what is under way. ``run``
                keeps to it with ``scratch=4 * schedule.piece_bytes``.

        Raises:
            LayoutError: if both buffers and pieces of an element are more than the limit.

        >>> from morello_layouts import reshard
        >>> array = "f32[64,64], mesh={'x': 4}, spec="
        >>> plan = reshard(array + "P('x', None)", array + "P(None, 'x')").schedule(9000)
        >>> print(plan)
        up to 8,992 bytes on a device: 4,096 before, 4,096 after, 2 pieces each way of up to 200
        """
        bits = self.element_bits
        sizes = (prod(known(m.recipe.physical_shape)[1:]) for m in (self.source, self.target))
        before, after = (-(-n * bits // 8) for n in sizes)
        rooms = (known(end.sharding.local_dims(self.exchange.shape)) for end in self.exchange.ends)
        piece = prod(map(min, *rooms))
        if limit is not None:
            fix = "give more bytes, or move a part of the array at a time"
            as_int(limit, "limit", before + after + 4 * -(-bits // 8), fix=fix)
            piece = min(piece, (limit - before - after) // 4 * 8 // bits)
        return Schedule(self.exchange, before, after, bits, piece)

    def run(
        self,
        comm: Any,
        local: Any = None,
        *,
        out: Any = None,
        dtype: Any = None,
        scratch: int = EXCHANGE_SCRATCH,
    ) -> Any:
        """Move an array over MPI; every rank of a communicator calls it.

        The number of a device is its rank. Messages move in pieces: one travels while the next is
        packed and the last unpacked; a piece that is contiguous is sent from the array itself.

        Args:
            comm: a communicator of mpi4py, with a rank for each device; more may take part.
            local: this rank's part: an array of the local shape if the local layout is row-major
                or column-major, or the buffer, 1-D; None without a part. It is only read.
            out: the array to write to, by default a new one. Padding in it is left as it is.
            dtype: the type of an item, if neither text nor arrays say it.
            scratch: bytes of a process that may be used beside both arrays; the same on all ranks.

        Returns:
            This rank's part of the array in its new sharding, with zeros in padding; None if it has
            none.

        Raises:
            ExchangeError: of ``morello_layouts.machines.resharding.mpi``, on every rank, with the
                ranks that failed and why, before anything moves or on the way. No source was
                changed.
            LayoutError: if there are fewer ranks than devices.
        """
        with importing:
            from morello_layouts.machines.resharding.mpi import transfer_of

        maps = self.source, self.target
        return transfer_of(self.exchange, maps, comm, scratch).run(local, out, dtype)

    def jax(self, *, name: str = "reshard", collectives: bool = True) -> str:
        """Return the plan as a file of Python with JAX.

        Args:
            name: the name of its function from the array to itself in the new sharding.
            collectives: whether each step is written out with ``shard_map``; else ``jit`` is told
                the new sharding, and XLA chooses. Between different meshes it is ``device_put``.

        Raises:
            UnsupportedError: if parts are not equal blocks, which JAX cannot say.

        >>> from morello_layouts import reshard
        >>> array = "f32[16,16], mesh={'x': 4}, spec="
        >>> plan = reshard(array + "P('x', None)", array + "P(None, 'x')")
        >>> print(plan.jax().splitlines()[-2].strip())
        a = jax.lax.all_to_all(a, ('x',), split_axis=1, concat_axis=0, tiled=True)
        """
        head = self.exchange, self.steps, self.verdict
        return jax_code(*head, name=name, collectives=collectives)

    def _device(self, device: int) -> int:
        fix = f"give a device from 0 to {self.devices - 1}"
        return as_int(device, "device", 0, self.devices - 1, fix=fix)

    def table(self, most: int = RESHARD_ROWS) -> tuple[Message, ...]:
        """Return all messages, by receiver, if there are at most ``most``.

        Raises:
            UnsupportedError: if there are more.
        """
        every = (m for device in range(self.devices) for m in self.receives(device))
        found = tuple(islice(every, most + 1))
        if len(found) > most:
            raise UnsupportedError(
                f"more than {amount(most)} messages",
                "a table has a row for each pair of devices that exchange something",
                "ask for the messages of one device with sends and receives, or give most=",
            )
        return found

    @cached_property
    def minimal(self) -> Proof:
        """The verdict that no plan moves fewer elements if each comes from one owner.

        Parts do not overlap and leave nothing out, and counts say the same.
        """
        for end, when in zip(self.exchange.ends, ("before", "after"), strict=True):
            for dim, n in enumerate(self.exchange.shape):
                if not end.covers(dim, n):
                    reason = f"nothing shows that the parts {when} have all of dimension {dim}"
                    return Proof("minimal", None, reason, "")
        totals = self.totals
        if isinstance(totals, ExchangeTotals) and isinstance(totals.moved, int):
            size = prod(self.source.recipe.shape)
            wanted = [end.sharding.replicas * size for end in self.exchange.ends]
            if [totals.held, totals.needed] != wanted:
                reason = f"devices hold {totals.held} and {totals.needed} elements, not {wanted}"
                return Proof("minimal", False, reason, "counting")
        condition = ALL_SIZES if self.source.recipe.names else None
        words = "each device receives what it lacks, once"
        return Proof("minimal", True, words, "arithmetic", condition=condition)

    @property
    def verdict(self) -> str:
        """The kind, and over which axes."""
        over = f" over {', '.join(self.axes)}" if self.axes else ""
        words = {"nothing": "nothing moves", "slice": f"slice{over}: nothing moves"}
        return words.get(self.kind, f"{self.kind}{over}")

    def __str__(self) -> str:
        sizes = ",".join(map(str, self.exchange.shape))
        array = f"{self.element_type or 'array of bytes '}[{sizes}]"
        lines = [f"{self.verdict}: {array} {self._on_devices}"]
        lines += [
            f"before  {_owners(self.exchange.source, self.formulas.holds)}",
            f"after   {_owners(self.exchange.target, self.formulas.needs)}",
        ]
        if self.exchange.renamed:
            lines.append(self.exchange.renamed)
        if self.totals is None or self.totals.moved != 0:
            sender, receiver = map(_coordinate, self.exchange.ends, ("", "'"))
            lines.append(f"message from {sender} to {receiver}:")
            lines += [f"  {each}" for each in self.formulas.message]
        lines += [*self._bytes_in_words(), *self._steps_in_words(), str(self.minimal)]
        return "\n  ".join(lines)

    @property
    def _on_devices(self) -> str:
        before, after = known(tuple(end.sharding.mesh.count for end in self.exchange.ends))
        if before == after:
            return f"on {count(self.devices, 'device')}"
        return f"from {before:,} to {count(after, 'device')}"

    def _bytes_in_words(self) -> Iterator[str]:
        if self.totals is None:
            yield f"bytes: not counted: {self.uncounted}"
        elif self.totals.moved == 0:
            yield f"0 of {amount(self._bytes(self.totals.needed))} bytes move"
        else:
            moved, needed = (
                amount(self._bytes(n)) for n in (self.totals.moved, self.totals.needed)
            )
            most = self.most_received_bytes
            each = "" if most is None else f"; a device receives up to {amount(most)}"
            condition = self.totals.condition and f" if {self.totals.condition}"
            yield f"{moved} of {needed} bytes move{condition}{each}"

    def _steps_in_words(self) -> Iterator[str]:
        if len(self.steps) > 1:
            condition = self.totals.condition if self.totals else ""
            yield f"in steps over single axes{condition and f' if {condition}'}:"
            yield from (f"  {step}" for step in self.steps)


def _owners(end: End, owners: Sequence[object]) -> str:
    alone = "each device" if end.axes else f"device {end.device({})}"
    return ", ".join(map(str, owners)) or f"{alone} has all"


def _coordinate(end: End, prime: str) -> str:
    names = [axis.name + prime for axis in end.axes.values()]
    return f"({', '.join(names)})" if names else f"device {end.device({})}"


def plan_of(source: IndexMap, target: IndexMap) -> Plan:
    """Return the plan between two shardings of one array."""
    shape = source.recipe.shape
    before, after = (sharding_of(m) for m in (source, target))
    for sharding in (before, after):
        if any(isinstance(size, SizeExpr) for size in sharding.mesh.sizes):
            raise UnsupportedError(
                f"{sharding.mesh}: expected numbers of devices, got symbolic ones",
                "a plan is for devices that have numbers; sizes of the array may be symbolic",
                "write the sizes of the mesh as numbers",
            )
    if before.mesh.names == ("all",):
        before = _replicated(before, after)
    if after.mesh.names == ("all",):
        after = _replicated(after, before)
    return Plan(source, target, exchange(before, after, shape))


def _replicated(sharding: Sharding, other: Sharding) -> Sharding:
    """Return "replicated", which says nothing of devices, on the devices of the other side."""
    if sharding.mesh.count not in (1, other.mesh.count):
        return sharding
    return Sharding(other.mesh, tuple(() for _ in sharding.cuts), sharding.local_rule)


def sharding_of(m: IndexMap) -> Sharding:
    """Return the sharding that an index map was made from."""
    layout = m.origin.layout if m.origin else None
    placement = getattr(layout, "placement", None)
    if placement is None:
        raise LayoutError(
            f"{m.source or m}: expected a sharding, got a layout in one memory",
            "a plan is between devices that hold parts of an array",
            f"write how it lies on devices, as in {m.source}, sharding={{devices=[8,1]<=[8]}}",
        )
    found: Sharding = placement.sharding(len(m.recipe.shape))
    return found


_BRACES: Final = r"(\{[^{}]{0,9999}(?:\{[^{}]{0,9999}\}[^{}]{0,9999}){0,99}\})"
_PAIR: Final = regex(rf"go from sharding {_BRACES} to {_BRACES}", re.ASCII)
_OPERATION: Final = regex(
    r"for HLO operation:? %?([\w.-]{1,300}) = (\w{1,20}\[[0-9,]{0,200}\](?:\{[^ ]{0,300}\})?)?",
    re.ASCII,
)


def pairs_of(log: str) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield the pairs of shardings that XLA could not connect, each once.

    A pair is the number of its line, the instruction of HLO, the shardings before and after, and
    the type of the array; texts are empty where the line does not say.

    >>> line = "not able to go from sharding {devices=[2,1]<=[2]} to {devices=[1,2]<=[2]} without"
    >>> next(pairs_of(line))
    (1, '', '{devices=[2,1]<=[2]}', '{devices=[1,2]<=[2]}', '')
    """
    seen = set[tuple[str, ...]]()
    for number, line in enumerate(log.split("\n"), 1):
        if "go from sharding {" not in line or (pair := _PAIR.search(line)) is None:
            continue
        found = _OPERATION.search(line, pair.end())
        operation, array = (found[1], found[2] or "") if found else ("", "")
        key = (array, pair[1], pair[2])
        if key not in seen and len(seen) < RESHARD_LINES:
            seen.add(key)
            yield number, operation, pair[1], pair[2], array


@frozen
class Rematerialization(Displayed):
    """A line in which XLA says that it gathers an array on every device, and what would do."""

    json_keys: ClassVar = ("line", "operation", "source", "target", "plan", "reason", "advice")

    line: int  #: the number of the line in the log, from 1.
    operation: str  #: the instruction of HLO; empty if the line does not say.
    source: str  #: the sharding before.
    target: str  #: the sharding afterwards.
    plan: Plan | None  #: what must move instead; None if ``reason`` says why there is no plan.
    reason: str  #: empty if there is a plan.

    @property
    def advice(self) -> str:
        """What to write in the program of JAX so that XLA does it without gathering."""
        if self.plan is None or not self.plan.steps:
            return ""
        between = self.plan.steps[:-1]
        if not between:
            (only,) = self.plan.steps
            return f"one {only.kind} over {', '.join(only.axes)} does it: see the plan"
        specs = ", then ".join(step.spec for step in between)
        return f"put with_sharding_constraint between: {specs}; each step is one collective"

    def __str__(self) -> str:
        name = f" of {self.operation}" if self.operation else ""
        head = f"line {self.line}{name}: {self.source} to {self.target}"
        what = str(self.plan) if self.plan is not None else self.reason
        lines = [head, *what.split("\n"), *([self.advice] if self.advice else [])]
        return "\n  ".join(lines)
