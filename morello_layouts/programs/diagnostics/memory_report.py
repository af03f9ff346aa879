"""Report the memory of a program as the compiler assigned it: the peak, and who is alive then."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from html import escape
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from morello_layouts.core.checks import as_int
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import HEAP_COLUMNS, HEAP_MOMENTS, HEAP_STEPS
from morello_layouts.errors import LayoutError
from morello_layouts.notations.xla import XlaShape
from morello_layouts.programs.diagnostics.buffers import Bytes, WasteCache, space_name, sums
from morello_layouts.programs.diagnostics.moves import ProgramPlace, instruction_place
from morello_layouts.programs.hlo import HloModule, read_hlo
from morello_layouts.programs.hlo.assignment import (
    Allocation,
    BufferAssignment,
    PlacedValue,
    Schedule,
    assignment_of,
    is_program,
    read_assignment,
)
from morello_layouts.programs.hlo.reader import (
    assignment_beside,
    platform_of,
    program_beside,
    program_name,
)
from morello_layouts.programs.report import (
    Columns,
    Report,
    Summary,
    Table,
    byte_columns,
    bytes_cell,
    bytes_text,
    number_cell,
    table_of,
    text_cell,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


_KINDS: Final = {
    "parameter": "parameters",
    "output": "outputs",
    "temporary": "temporaries",
    "constant": "constants",
    "thread-local": "thread_local",
}  # and their names in JSON


class KindBytes(NamedTuple):
    """The bytes of each kind of allocation."""

    parameters: int
    outputs: int
    temporaries: int
    constants: int
    thread_local: int


@frozen
class Heap:
    """The temporary bytes of a memory space that are live while a program runs."""

    json_keys: ClassVar = ("peak", "peak_at", "reserved", "is_exact")

    #: the live bytes at each instruction of the schedule.
    used: NDArray[np.int64] = field(repr=False)
    reserved: int  #: the bytes that are reserved for them.
    is_exact: bool  #: whether bytes that several live values share count once.
    #: for each equal part of the schedule: what runs where most is live, and the largest values.
    moments: tuple[str, ...] = field(default=(), repr=False)

    @property
    def peak(self) -> int:
        """The most bytes that are live at a time."""
        return int(self.used.max()) if len(self.used) else 0

    @property
    def peak_at(self) -> int:
        """The place in the schedule at which that is so; the first of several."""
        return int(self.used.argmax()) if len(self.used) else 0

    def columns(self, most: int = HEAP_COLUMNS) -> list[int]:
        """Return the most bytes that are live in each of equal parts of the schedule.

        >>> Heap(np.array([1, 5, 2, 3]), 8, True).columns(2)
        [5, 3]
        """
        parts = np.array_split(self.used, min(most, len(self.used))) if len(self.used) else []
        return [int(part.max()) for part in parts]

    def line(self, width: int = 60) -> str:
        """Return the use over the program as a line of text.

        >>> Heap(np.array([0, 4, 8]), 8, True).line()
        '▁▅█'
        """
        top = max(self.peak, 1)
        return "".join(_BARS[round((len(_BARS) - 1) * n / top)] for n in self.columns(width))


_BARS: Final = "▁▂▃▄▅▆▇█"


@frozen
class SpaceMemory:
    """The memory that a program reserves in one memory space."""

    json_keys: ClassVar = ("space", "name", "total", "*by_kind_names", "heap")

    space: int  #: the space's number.
    total: int  #: the bytes of all allocations.
    by_kind: dict[str, int]  #: the bytes of each kind of allocation.
    #: the use of the temporary bytes over the program; None without the program.
    heap: Heap | None
    name: str  #: the name of the memory space.

    @property
    def by_kind_names(self) -> KindBytes:
        """The bytes of each kind, as JSON names them."""
        return KindBytes(*(self.by_kind.get(kind, 0) for kind in _KINDS))


@frozen
class LiveValue:
    """A value that takes memory at the peak."""

    json_keys: ClassVar = ("*place", "kind", "shape", "*bytes")

    place: ProgramPlace  #: the instruction that defines it.
    kind: str  #: the kind of its allocation: parameters, outputs and constants live all the time.
    shape: str  #: its type, as text.
    bytes: Bytes  #: its data, and the bytes that it takes.


@frozen
class Share:
    """The bytes at the peak that have one source line, or one operation."""

    json_keys: ClassVar = ("name", "*bytes")

    name: str  #: the source line or the operation.
    bytes: Bytes  #: the data, and the bytes that it takes.


@frozen
class MemoryReport(Report):
    """The memory of a program. ``print`` it, or let a notebook show it."""

    json_keys: ClassVar = (
        *("program=name", "total", "spaces", "peak_place"),
        *("alive", "by_source", "by_op_name", "warnings"),
    )

    name: str  #: the program's name.
    spaces: tuple[SpaceMemory, ...]  #: the memory that it reserves in each memory space.
    #: the instruction at which most bytes of HBM are live; None without the program.
    peak_place: ProgramPlace | None
    alive: tuple[LiveValue, ...]  #: the values that take HBM then, the largest first.
    shown: int | None = field(default=10)  #: how many of them a table lists.
    warnings: tuple[str, ...] = ()  #: problems that a reader should know of.

    @property
    def total(self) -> int:
        """The bytes of HBM that the program reserves."""
        return sum(each.total for each in self.spaces if each.space == 0)

    @property
    def alive_bytes(self) -> Bytes:
        """The bytes of the values that are alive at the peak, and their data."""
        return sum((each.bytes for each in self.alive), Bytes())

    @property
    def by_source(self) -> tuple[Share, ...]:
        """The bytes alive at the peak by source line, the most first."""
        return self._by(lambda each: each.place.source or f"({each.kind} without a source line)")

    @property
    def by_op_name(self) -> tuple[Share, ...]:
        """The bytes alive at the peak by the operation of the user's program, the most first."""
        return self._by(lambda each: each.place.op_name or f"({each.kind} without a name)")

    def _by(self, key: Callable[[LiveValue], str]) -> tuple[Share, ...]:
        found = sums((key(each), each.bytes) for each in self.alive)
        shares = (Share(name, each) for name, each in found.items())
        return tuple(sorted(shares, key=lambda share: -share.bytes.reserved_bytes))

    def summary(self) -> Summary:
        """Return the verdict: what the program needs, and where the peak is."""
        hbm = next((each for each in self.spaces if each.space == 0), None)
        lines: list[str] = []
        if hbm is not None:
            kinds = sorted(hbm.by_kind.items(), key=lambda pair: -pair[1])
            parts = (f"{bytes_text(n)} {_PLURALS[kind]}" for kind, n in kinds if n)
            lines.append(f"{bytes_text(hbm.total)} of {hbm.name}: {', '.join(parts)}")
            lines += self._peak_lines(hbm)
        return Summary(f"Memory of {self.name}", tuple(lines), self.warnings)

    def _peak_lines(self, hbm: SpaceMemory) -> Iterator[str]:
        if hbm.heap is None or self.peak_place is None:
            return
        if hbm.heap.peak:
            yield f"temporaries peak at {bytes_text(hbm.heap.peak)}, at {self.peak_place.text}"
            yield f"over the program: {hbm.heap.line()}"
        alive = self.alive_bytes
        if alive.padding_bytes:
            yield (
                f"padding of what is alive then: {bytes_text(alive.padding_bytes)} of "
                f"{bytes_text(alive.reserved_bytes)}"
            )

    def tables(self) -> tuple[Table, ...]:
        """Return who is alive at the peak, by line, by operation and by value, and the spaces."""
        return (
            table_of("Alive at the peak, by source line", _SUMS, self.by_source, limit=self.shown),
            table_of(
                "Alive at the peak, by value",
                _ALIVE,
                self.alive[: self.shown],
                lambda each: (f"at {each.place.text}",),
                note=f"{len(self.alive[: self.shown]):,} of {len(self.alive):,}",
            ),
            table_of("Alive at the peak, by operation", _SUMS, self.by_op_name, limit=self.shown),
            table_of("Memory spaces", _SPACES, self.spaces, note="bytes that are reserved"),
        )

    def figure(self) -> str:
        """Return a chart of each heap over the program, as SVG."""
        place = "?" if self.peak_place is None else self.peak_place.instruction
        return "".join(
            heap_svg(each.heap, each.name, place if each.space == 0 else "")
            for each in self.spaces
            if each.heap is not None and each.heap.peak and each.space in (0, 1)
        )


_PLURALS: Final = {**_KINDS, "thread-local": "inside reductions"}

_PADDING, _RESERVED, _, _FACTOR = byte_columns(attrgetter("bytes"))
_ALIVE: Final[Columns[LiveValue]] = (
    _RESERVED,
    _PADDING,
    _FACTOR,
    ("kind", lambda each: text_cell(each.kind)),
    ("value", lambda each: text_cell(each.shape)),
)

_SUMS: Final[Columns[Share]] = (
    _RESERVED,
    _PADDING,
    _FACTOR,
    ("values", lambda share: number_cell(share.bytes.arrays)),
    ("of", lambda share: text_cell(share.name)),
)


def _kind_cell(kind: str) -> Any:
    return lambda each: bytes_cell(each.by_kind.get(kind, 0))


_SPACES: Final[Columns[SpaceMemory]] = (
    ("total", lambda each: bytes_cell(each.total)),
    *((_PLURALS[kind], _kind_cell(kind)) for kind in _KINDS),
    ("live at most", lambda each: bytes_cell(None if each.heap is None else each.heap.peak)),
    ("space", lambda each: text_cell(each.name)),
)


def memory(
    source: BufferAssignment | str | os.PathLike[str] | Any,
    program: HloModule | str | os.PathLike[str] | None = None,
    *,
    top: int | None = 10,
) -> MemoryReport:
    """Return the memory that a program takes: the peak, and who is alive then.

    Args:
        source: the path of any file of a dump, of which the buffer assignment is looked up; or a
            buffer assignment, or its text; in Python also a compiled program of JAX.
        program: the program that it is about; by default the file beside it. Without one there are
            totals, but no peak.
        top: the number of values to list; None for all.

    Raises:
        LayoutError: if there is no buffer assignment, or it cannot be read.

    >>> text = '''BufferAssignment:
    ... allocation 0: size 4096, parameter 0, shape |f32[8,3]| at ShapeIndex {}:
    ...  value: <1 a @0> (size=4096,offset=0): f32[8,3]{1,0:T(8,128)}
    ... allocation 1: size 4096, maybe-live-out:
    ...  value: <2 b @0> (size=4096,offset=0): f32[8,3]{1,0:T(8,128)}
    ... '''
    >>> print(memory(text, "%b = f32[8,3]{1,0:T(8,128)} negate(%a)").summary().lines[0])
    8.00 KiB of HBM: 4.00 KiB parameters, 4.00 KiB outputs
    """
    if top is not None:
        top = as_int(top, "top", fix="give an int from 0, or None for all values")
    if is_program(source):
        own = read_hlo(source)
        source, program = assignment_of(source, own), program or own
    assignment, path = _assignment(source)
    if program is None and path is not None:
        program = program_beside(path)
    name = "a program" if path is None else program_name(path)
    warnings = [*assignment.warnings]
    if program is None:
        warnings.append("the program is not beside it: there are totals, and no peak")
        return MemoryReport(name, _spaces(assignment, None), None, (), top, tuple(warnings))
    module = program if isinstance(program, HloModule) else read_hlo(program)
    return memory_of(module, assignment, top=top, name=module.name or name, warnings=warnings)


def _assignment(
    source: BufferAssignment | str | os.PathLike[str],
) -> tuple[BufferAssignment, Path | None]:
    if isinstance(source, BufferAssignment):
        return source, None
    if isinstance(source, str) and "\n" in source:
        return read_assignment(source), None
    path = Path(source)
    if "buffer-assignment" in path.name or _begins_an_assignment(path):
        return read_assignment(path), path
    found = assignment_beside(path)
    if found is None and not path.exists():
        raise LayoutError(
            f"{str(path)!r} cannot be read: it does not exist",
            "a report reads the buffer assignment in the folder of a dump",
            "give the path of a file of that folder; --xla_dump_to=DIR in XLA_FLAGS makes it",
        )
    if path.is_dir():
        raise LayoutError(
            f"expected a file, got the folder {path.name}",
            "a report is about one program, and a dump may hold several",
            "give a file of that folder, such as its *buffer-assignment.txt",
        )
    if found is None:
        raise LayoutError(
            f"{path.name} has no buffer assignment beside it",
            "the compiler writes *buffer-assignment.txt into the folder of the dump",
            "compile with XLA_FLAGS=--xla_dump_to=DIR, and give a file of that folder",
        )
    return read_assignment(found), found


def _begins_an_assignment(path: Path) -> bool:
    """Whether a file holds a buffer assignment under another name."""
    head = b"BufferAssignment:"
    try:
        with path.open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def memory_of(
    module: HloModule,
    assignment: BufferAssignment,
    *,
    top: int | None = 10,
    name: str = "",
    warnings: Sequence[str] = (),
) -> MemoryReport:
    """Return the memory that a program takes, from the program and its buffer assignment."""
    problems = [*warnings]
    schedule = None
    if any(computation.is_entry for computation in module.computations):
        schedule = Schedule(module, assignment.values)
        unknown = sum(schedule.life(value) is None for value in assignment.values)
        if module.is_scheduled and _is_foreign(assignment, schedule):
            problems.append(f"values that the program does not define: {unknown:,}")
    spaces = _spaces(assignment, schedule, is_cpu=platform_of(module) == "CPU")
    hbm = next((each for each in spaces if each.space == 0), None)
    place: ProgramPlace | None = None
    alive: tuple[LiveValue, ...] = ()
    if schedule is not None and schedule.order and hbm is not None and hbm.heap is not None:
        place, alive = _alive(module, assignment, schedule, hbm.heap.peak_at)
    return MemoryReport(name or module.name, spaces, place, alive, top, tuple(problems))


def _moments(
    used: NDArray[np.int64], allocations: Sequence[Allocation], schedule: Schedule
) -> Iterator[str]:
    """Yield a sentence for each part of the schedule: where most is live there, and what it is."""
    lives = [(v, schedule.life(v)) for each in allocations for v in each.values]
    lives.sort(key=lambda pair: -pair[0].size)
    for part in np.array_split(np.arange(len(used)), min(HEAP_MOMENTS, len(used))):
        at = int(part[0] + used[part].argmax())
        alive = (v for v, life in lives if life is not None and life[0] <= at <= life[1])
        largest = [f"{v.name} ({bytes_text(v.size)})" for v in islice(alive, 3)]
        place = instruction_place(schedule.order[at], "").text
        yield (
            f"{at + 1:,} of {len(used):,}, {place}: {bytes_text(int(used[at]))} live; "
            f"largest: {', '.join(largest) or 'nothing'}"
        )


def _is_foreign(assignment: BufferAssignment, schedule: Schedule) -> bool:
    """Whether temporaries are unknown; the values inside of reductions are not in the schedule."""
    return any(
        schedule.life(value) is None
        for each in assignment.allocations
        if each.kind == "temporary"
        for value in each.values
    )


def _spaces(
    assignment: BufferAssignment, schedule: Schedule | None, *, is_cpu: bool = False
) -> tuple[SpaceMemory, ...]:
    found: list[SpaceMemory] = []
    for space in assignment.spaces:
        own = [each for each in assignment.allocations if each.space == space]
        by_kind = {kind: sum(each.size for each in own if each.kind == kind) for kind in _KINDS}
        temporary = [each for each in own if each.kind == "temporary"]
        heap = None if schedule is None else heap_of(temporary, schedule)
        if schedule is not None and heap is not None and heap.peak:
            heap = replace(heap, moments=tuple(_moments(heap.used, temporary, schedule)))
        name = "memory" if is_cpu and not space else space_name(space)
        found.append(SpaceMemory(space, sum(by_kind.values()), by_kind, heap, name))
    return tuple(found)


def _alive(
    module: HloModule, assignment: BufferAssignment, schedule: Schedule, at: int
) -> tuple[ProgramPlace, tuple[LiveValue, ...]]:
    """Return where the peak of HBM is, and the values that take HBM then."""
    cache = WasteCache(is_tpu=platform_of(module) == "TPU")
    instructions = {i.name: (i, c.name) for c in module.computations for i in c.instructions}
    found: list[LiveValue] = []
    for kind, value in _values_at(assignment, schedule, at):
        if value.instruction in instructions:
            where = instruction_place(*instructions[value.instruction], value.name)
            sizes = Bytes(1, _data_bytes(value, cache), value.size)
            found.append(LiveValue(where, kind, str(value.shape), sizes))
    found.sort(key=lambda each: -each.bytes.reserved_bytes)
    return instruction_place(*instructions[schedule.order[at].name]), tuple(found)


def _data_bytes(value: PlacedValue, cache: WasteCache) -> int:
    """Return the bytes of the elements; a table of addresses is data."""
    if not isinstance(value.shape, XlaShape):
        return value.size
    return min(cache.bytes_of(value.shape).data_bytes, value.size)


def _values_at(
    assignment: BufferAssignment, schedule: Schedule, at: int
) -> Iterator[tuple[str, PlacedValue]]:
    """Yield the values in HBM at a place of the schedule: one for each allocation that stays."""
    hbm = [each for each in assignment.allocations if each.space == 0]
    for value in live_values((a for a in hbm if a.kind == "temporary"), schedule, at):
        yield "temporary", value
    for allocation in hbm:
        if allocation.kind in ("parameter", "output", "constant") and allocation.values:
            yield allocation.kind, max(allocation.values, key=attrgetter("size"))


def heap_of(allocations: Sequence[Allocation], schedule: Schedule) -> Heap:
    """Return the use of temporary allocations over a program."""
    used, exact = np.zeros(len(schedule.order) + 1, np.int64), True
    for allocation in allocations:
        lives = [(v, life) for v in allocation.values if (life := schedule.life(v)) is not None]
        edges = sorted({edge for v, _ in lives for edge in (v.offset, v.offset + v.size)})
        if len(edges) * len(lives) > HEAP_STEPS:
            exact = False
            steps = np.zeros(len(used), np.int64)
            for value, (begin, end) in lives:
                steps[begin] += value.size
                steps[end + 1] -= value.size
            used += np.minimum(np.cumsum(steps), allocation.size)
        else:
            used += np.cumsum(_steps(lives, edges, len(used)))
    reserved = sum(each.size for each in allocations)
    return Heap(used[:-1], reserved, exact)


_Life = tuple[PlacedValue, tuple[int, int]]


def _steps(lives: Sequence[_Life], edges: Sequence[int], length: int) -> NDArray[np.int64]:
    """Return the change of used bytes at each instruction; shared bytes count once."""
    steps, sizes = np.zeros(length, np.int64), np.diff(np.array(edges, np.int64))
    users = np.zeros(len(sizes), np.int64)
    events = [(begin, 1, v) for v, (begin, _) in lives]
    events += [(end + 1, -1, v) for v, (_, end) in lives]
    events.sort(key=lambda event: event[0])
    places = {edge: k for k, edge in enumerate(edges)}
    for time, change, value in events:
        part = slice(places[value.offset], places[value.offset + value.size])
        edge = users[part] == (0 if change > 0 else 1)
        steps[time] += change * int(sizes[part][edge].sum())
        users[part] += change
    return steps


def live_values(
    allocations: Iterable[Allocation], schedule: Schedule, at: int
) -> list[PlacedValue]:
    """Return the values that are live at a place of the schedule, the largest first.

    Of values that share all their bytes, as an update in place does, the newest is returned.
    """
    found: list[PlacedValue] = []
    for allocation in allocations:
        lives = ((v, schedule.life(v)) for v in allocation.values if v.size)
        live = [(v, life[0]) for v, life in lives if life and life[0] <= at <= life[1]]
        kept: list[PlacedValue] = []
        for value, _ in sorted(live, key=lambda pair: (-pair[0].size, -pair[1])):
            begin, end = value.offset, value.offset + value.size
            if not any(v.offset <= begin and end <= v.offset + v.size for v in kept):
                kept.append(value)
        found += kept
    return sorted(found, key=lambda value: -value.size)


_WIDTH: Final = 760
_HEIGHT: Final = 160
_LEFT: Final = 4
_TOP: Final = 22


def heap_svg(heap: Heap, name: str, peak: str) -> str:
    """Return an SVG element, the live bytes over the program and the peak, and its moments.

    A click on a part of the program shows the moment in it at which most is live.
    """
    columns, top = heap.columns(), max(heap.reserved, heap.peak, 1)
    if not columns:
        return ""
    step = _WIDTH / len(columns)
    points = [f"M{_LEFT} {_TOP + _HEIGHT}"]
    for k, used in enumerate(columns):
        points.append(f"V{_TOP + _HEIGHT * (1 - used / top):.1f}H{_LEFT + step * (k + 1):.1f}")
    at = _LEFT + _WIDTH * (heap.peak_at + 0.5) / len(heap.used)
    y = _TOP + _HEIGHT * (1 - heap.peak / top)
    where = f" at {peak}" if peak else ""
    words = f"{name}: peak {bytes_text(heap.peak)}{where}, of {bytes_text(heap.reserved)}"
    width, height = _WIDTH + 2 * _LEFT, _TOP + _HEIGHT + 22
    wide, ids = _WIDTH / max(len(heap.moments), 1), f"heap-{escape(name).replace(' ', '-')}"
    parts = "".join(
        f'<a href="#{ids}-{k}"><rect x="{_LEFT + wide * k:.1f}" y="{_TOP}" width="{wide:.1f}" '
        f'height="{_HEIGHT}" fill="transparent"/><title>{escape(moment)}</title></a>'
        for k, moment in enumerate(heap.moments)
    )
    told = "".join(
        f'<p class="moment" id="{ids}-{k}">{escape(moment)}</p>'
        for k, moment in enumerate(heap.moments)
    )
    return (
        f'<svg class="heap" role="group" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(words)}</title>"
        f'<text x="{_LEFT}" y="14" font-size="12" fill="currentColor">{escape(words)}</text>'
        f'<path d="{"".join(points)}V{_TOP + _HEIGHT}Z" fill="#3b82c4" fill-opacity="0.6"/>'
        f'<line x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT + _WIDTH}" y2="{_TOP}" '
        'stroke="currentColor" stroke-dasharray="4 3"/>'
        f'<line x1="{_LEFT}" y1="{_TOP + _HEIGHT}" x2="{_LEFT + _WIDTH}" y2="{_TOP + _HEIGHT}" '
        'stroke="currentColor"/>'
        f'{parts}<circle pointer-events="none" cx="{at:.1f}" cy="{y:.1f}" r="4" fill="#c77700"/>'
        f'<text x="{_LEFT}" y="{height - 6}" font-size="12" fill="currentColor">'
        f"instruction 1 to {len(heap.used):,} of the schedule: click for what is live</text></svg>"
        f'<div class="moments">{told}</div>'
    )
