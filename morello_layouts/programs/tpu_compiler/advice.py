"""What advice says: changes of a function that make its program better, as measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from morello_layouts.core.description import count
from morello_layouts.core.fields import frozen
from morello_layouts.programs.report import (
    Columns,
    Report,
    Summary,
    Table,
    TableCell,
    bytes_cell,
    bytes_text,
    table_of,
    text_cell,
)
from morello_layouts.programs.tpu_compiler.compilation import Figures

SAME: Final = 4096  # bytes that two compilations of one program may differ by
_CYCLES: Final = 1.03  # an estimate, which moves by a percent when a buffer does
_WORTH: Final = 0.99  # of the bytes before, for a change that is worth it


@frozen
class Advised:
    """A change that makes a program better, as measured."""

    json_keys: ClassVar = ("*",)

    kind: str  #: of the change, such as ``donation``.
    change: str  #: what to write, in a line.
    where: str  #: the argument, result or operation that it changes.
    after: Figures  #: the figures of the changed program.
    #: whether no result of the changed function differed on the CPU; None if it was not compared.
    equal: bool | None = None
    note: str = "not compared"  #: how it was compared, and where it differed; or why not.
    #: the largest difference over the largest value; None if it was not compared, or if one result
    #: has a number where the other has NaN or an infinity.
    difference: float | None = None


def saved(before: Figures, after: Figures) -> int:
    """Return the bytes that a change saves: at the peak, and of copies and relayouts."""
    return before.peak_bytes - after.peak_bytes + before.moved_bytes - after.moved_bytes


def is_better(before: Figures, after: Figures) -> bool:
    """Whether a program has a smaller peak or fewer bytes of copies, and neither is larger.

    Cycles are the compiler's estimate: 3 percent more are taken as the same.

    >>> old = Figures(1 << 20, 0, 1 << 20, 1000)
    >>> is_better(old, Figures(1 << 19, 0, 1 << 20, 1000))
    True
    >>> is_better(old, Figures(1 << 19, 0, 1 << 21, 1000))
    False
    """
    pairs = [(before.peak_bytes, after.peak_bytes), (before.moved_bytes, after.moved_bytes)]
    if any(new > old + SAME for old, new in pairs):
        return False
    old, new = before.cycles, after.cycles
    if old is not None and new is not None and new > old * _CYCLES:
        return False
    return any(new < old * _WORTH - SAME for old, new in pairs)


def is_smaller(before: Figures, after: Figures) -> bool:
    """Whether a program has a smaller peak, by a percent or more."""
    return after.peak_bytes < before.peak_bytes * _WORTH - SAME


@frozen
class Advice(Report):
    """Changes of a function that make its program better: ``print`` it, or see it in a notebook."""

    json_keys: ClassVar = ("*",)

    name: str  #: of the function.
    generation: str  #: the generation of TPUs.
    devices: int  #: the number of devices.
    before: Figures  #: the figures of the program as it is.
    #: the changes that save memory or copies, with no more of the other and, but for 3 percent, of
    #: estimated cycles; the most bytes saved first.
    advice: tuple[Advised, ...]
    #: those that are better together than each alone; None if there are none.
    together: Advised | None
    compiled: int  #: the number of changes that were compiled.
    #: the number of changes that failed, took too much time or memory, or do not fit: not tried.
    refused: int
    worse: int  #: the number of changes that make nothing better, or something worse.
    left: int  #: the number of changes that were not tried: of the budget, or interrupted.
    #: the changes that have a smaller peak than all of these, and more copies or estimated cycles,
    #: or cycles that are not known; the smallest peak first.
    memory_only: tuple[Advised, ...] = ()

    @property
    def best(self) -> Advised | None:
        """The best of all: the changes together, or the first; None without advice."""
        return self.together or next(iter(self.advice), None)

    def summary(self) -> Summary:
        """Return the verdict, the figures as they are, and the counts."""
        best, before = self.best, self.before
        if best is None:
            verdict = "no change that was tried saves memory or copies at no cost"
        else:
            peak = f"{bytes_text(before.peak_bytes)} → {bytes_text(best.after.peak_bytes)}"
            moved = f"{bytes_text(before.moved_bytes)} → {bytes_text(best.after.moved_bytes)}"
            verdict = f"HBM at the peak {peak}, copies and relayouts {moved}"
            if best.equal is False:
                verdict += f", and {best.note.partition(';')[0]}"
        where = "" if self.devices == 1 else f" on each of {self.devices} devices"
        line = f"TPU {self.generation}{where}: {count(self.compiled, 'change')} compiled, "
        line += f"{self.worse} of them not better, {self.refused} refused"
        lines = [line]
        for least in self.memory_only[:1]:
            peak = f"{bytes_text(before.peak_bytes)} → {bytes_text(least.after.peak_bytes)}"
            lines.insert(0, f"{least.kind} saves more memory, {peak}, {_cost(before, least.after)}")
        warnings = [f"{count(self.left, 'change')} left untried"] if self.left else []
        return Summary(f"{self.name}: {verdict}", tuple(lines), tuple(warnings))

    def tables(self) -> tuple[Table, ...]:
        """Return the program as it is and the changes together, and then each change."""
        rows = [("as it is", self.before, "")]
        if self.best is not None:
            rows.append(
                (self.best.kind, self.best.after, self.best.change if self.together else "")
            )
        both = table_of("Before and after", _COLUMNS, rows, lambda row: [row[2]] if row[2] else [])
        lists = (
            ("Each change alone: saves both", self.advice, _BOTH),
            ("Saves memory", self.memory_only, _MEMORY),
        )
        each = (
            table_of(
                title,
                _COLUMNS,
                [(a.kind, a.after, a) for a in some],
                lambda row: (f"{row[2].where}: {row[2].change}", row[2].note),
                note=note,
            )
            for title, some, note in lists
        )
        return both, *each


def _cost(before: Figures, after: Figures) -> str:
    """Return what a change costs that saves memory, and what the estimate leaves out."""
    costs = []
    if after.moved_bytes > before.moved_bytes:
        was, now = map(bytes_text, (before.moved_bytes, after.moved_bytes))
        costs.append(f"copies and relayouts {was} → {now}")
    if before.cycles is not None and after.cycles is None:
        costs.append("its estimated cycles were not asked: making the code takes long")
    elif before.cycles is not None and after.cycles is not None and after.cycles > before.cycles:
        costs.append(f"estimated cycles {before.cycles:,} → {after.cycles:,}")
    if before.async_bytes != after.async_bytes:
        was, now = map(bytes_text, (before.async_bytes, after.async_bytes))
        costs.append(f"asynchronous copies to HBM, which the estimate leaves out, {was} → {now}")
    return "; ".join(costs)


_BOTH: Final = "memory or copies, at no more than 3 percent of estimated cycles"
_MEMORY: Final = "at the cost of copies or estimated cycles, or of cycles that are not known"


def cycles_cell(n: int | None) -> TableCell:
    """Return a cell with an estimate of cycles."""
    return TableCell("?", -1) if n is None else TableCell(f"{n:,}", n)


_COLUMNS: Final[Columns[tuple[str, Figures, object]]] = (
    ("HBM peak", lambda row: bytes_cell(row[1].peak_bytes)),
    ("copies", lambda row: bytes_cell(row[1].moved_bytes)),
    ("cycles", lambda row: cycles_cell(row[1].cycles)),
    ("async to HBM", lambda row: bytes_cell(row[1].async_bytes)),
    ("change", lambda row: text_cell(row[0])),
)


def compared_words(found: Mapping[str, float | None]) -> str:
    """Return in words how much results differ.

    >>> compared_words({"near 1": 0.25, "near 1,000": 0.0})
    'largest difference of results on the CPU over the largest value: 0.25 (near 1), 0 (near 1,000)'
    >>> compared_words({"near 1": 0.0, "with NaN and infinities": 0.0})
    'results on the CPU do not differ: arguments near 1, with NaN and infinities'
    """
    if set(found.values()) == {0.0}:
        return f"results on the CPU do not differ: arguments {', '.join(found)}"
    each = (f"{'no bound' if x is None else f'{x:.2g}'} ({kind})" for kind, x in found.items())
    return f"largest difference of results on the CPU over the largest value: {', '.join(each)}"
