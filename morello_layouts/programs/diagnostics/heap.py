"""The use of memory over a program: bytes that are live at each instruction, and at the peak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from html import escape
from typing import TYPE_CHECKING, ClassVar, Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import HEAP_COLUMNS, HEAP_STEPS
from morello_layouts.programs.hlo.assignment import Allocation, PlacedValue, Schedule
from morello_layouts.programs.report import bytes_text

if TYPE_CHECKING:
    from numpy.typing import NDArray


@frozen
class Heap:
    """The temporary bytes of a memory space that are live while a program runs."""

    json_keys: ClassVar = ("peak", "peak_at", "reserved", "is_exact")

    #: the live bytes at each instruction of the schedule.
    used: NDArray[np.int64] = field(repr=False)
    reserved: int  #: the bytes that are reserved for them.
    is_exact: bool  #: whether bytes that several live values share count once.

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


def heap_of(allocations: Sequence[Allocation], schedule: Schedule) -> Heap:
    """Return the use of temporary allocations over a program."""
    used, exact = np.zeros(len(schedule.order) + 1, np.int64), True
    for allocation in allocations:
        lives = [(v, life) for v in allocation.values if (life := schedule.life(v)) is not None]
        edges = sorted({edge for v, _ in lives for edge in (v.offset, v.offset + v.size)})
        if len(edges) * len(lives) > HEAP_STEPS:
            exact = False
            steps = _sums(lives, len(used))
            used += np.minimum(np.cumsum(steps), allocation.size)
        else:
            used += np.cumsum(_steps(lives, edges, len(used)))
    reserved = sum(each.size for each in allocations)
    return Heap(used[:-1], reserved, exact)


_Life = tuple[PlacedValue, tuple[int, int]]


def _sums(lives: Iterable[_Life], length: int) -> NDArray[np.int64]:
    steps = np.zeros(length, np.int64)
    for value, (begin, end) in lives:
        steps[begin] += value.size
        steps[end + 1] -= value.size
    return steps


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


def live_values(allocations: Iterable[Allocation], schedule: Schedule, at: int) -> list[_Life]:
    """Return the values that are live at a place of the schedule, the largest first.

    Of values that share all their bytes, as an update in place does, the newest is returned.
    """
    found: list[_Life] = []
    for allocation in allocations:
        live: list[_Life] = []
        for value in allocation.values:
            life = schedule.life(value)
            if life is not None and life[0] <= at <= life[1] and value.size:
                live.append((value, life))
        live.sort(key=lambda pair: (-pair[0].size, -pair[1][0]))
        kept: list[_Life] = []
        for value, life in live:
            if not any(_covers(other, value) for other, _ in kept):
                kept.append((value, life))
        found += kept
    return sorted(found, key=lambda pair: -pair[0].size)


def _covers(one: PlacedValue, other: PlacedValue) -> bool:
    return one.offset <= other.offset and other.offset + other.size <= one.offset + one.size


_WIDTH: Final = 760
_HEIGHT: Final = 160
_LEFT: Final = 4
_TOP: Final = 22


def heap_svg(heap: Heap, name: str, peak: str) -> str:
    """Return an SVG element: the live bytes over the program, and the peak."""
    columns, top = heap.columns(), max(heap.reserved, heap.peak, 1)
    if not columns:
        return ""
    step = _WIDTH / len(columns)
    points = [f"M{_LEFT} {_TOP + _HEIGHT}"]
    for k, used in enumerate(columns):
        points.append(f"V{_TOP + _HEIGHT * (1 - used / top):.1f}H{_LEFT + step * (k + 1):.1f}")
    at = _LEFT + _WIDTH * (heap.peak_at + 0.5) / len(heap.used)
    y = _TOP + _HEIGHT * (1 - heap.peak / top)
    words = f"{name}: peak {bytes_text(heap.peak)} at {peak}, of {bytes_text(heap.reserved)}"
    width, height = _WIDTH + 2 * _LEFT, _TOP + _HEIGHT + 22
    return (
        f'<svg class="heap" role="img" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(words)}</title>"
        f'<text x="{_LEFT}" y="14" font-size="12" fill="currentColor">{escape(words)}</text>'
        f'<path d="{"".join(points)}V{_TOP + _HEIGHT}Z" fill="#3b82c4" fill-opacity="0.6"/>'
        f'<line x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT + _WIDTH}" y2="{_TOP}" '
        'stroke="currentColor" stroke-dasharray="4 3"/>'
        f'<line x1="{_LEFT}" y1="{_TOP + _HEIGHT}" x2="{_LEFT + _WIDTH}" y2="{_TOP + _HEIGHT}" '
        'stroke="currentColor"/>'
        f'<circle cx="{at:.1f}" cy="{y:.1f}" r="4" fill="#c77700"/>'
        f'<text x="{_LEFT}" y="{height - 6}" font-size="12" fill="currentColor">'
        f"instruction 1 to {len(heap.used):,} of the schedule</text></svg>"
    )
