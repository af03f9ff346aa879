"""Changes that were compiled and measured, as values and a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from morello_layouts.description import count
from morello_layouts.diagnostics.report import (
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
from morello_layouts.tpu_compiler.compilation import Figures

_SAME: Final = 4096  # bytes that two compilations of one program may differ by
_CYCLES: Final = 1.03  # an estimate, which moves by a percent when a buffer does


@dataclass(frozen=True, slots=True)
class Advised:
    """A change that makes a program better, as measured.

    Attributes:
        kind: of the change, such as ``donation``.
        change: what to write, in a line.
        where: the argument, result or operation that it changes.
        after: the figures of the changed program.
        equal: whether the changed function gave the same on the CPU; None if it was not compared.
        note: how it was compared, or why not.
    """

    json_keys: ClassVar = ("*",)

    kind: str
    change: str
    where: str
    after: Figures
    equal: bool | None = None
    note: str = "not compared"


def saved(before: Figures, after: Figures) -> int:
    """Return the bytes that a change saves: at the peak, and of copies and relayouts."""
    return before.peak_bytes - after.peak_bytes + before.moved_bytes - after.moved_bytes


def is_better(before: Figures, after: Figures, least: float = 0.01) -> bool:
    """Whether a program has a smaller peak or fewer bytes of copies, and neither is larger.

    Cycles are the compiler's estimate: 3 percent more are taken as the same.

    >>> old = Figures(1 << 20, 0, 1 << 20, 1000)
    >>> is_better(old, Figures(1 << 19, 0, 1 << 20, 1000))
    True
    >>> is_better(old, Figures(1 << 19, 0, 1 << 21, 1000))
    False
    """
    pairs = [(before.peak_bytes, after.peak_bytes), (before.moved_bytes, after.moved_bytes)]
    if any(new > old + _SAME for old, new in pairs):
        return False
    old, new = before.cycles, after.cycles
    if old is not None and new is not None and new > old * _CYCLES:
        return False
    return any(new < old * (1 - least) - _SAME for old, new in pairs)


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Report):
    """Changes of a function that make its program better. ``print`` it, or let a notebook show it.

    Attributes:
        name: of the function.
        generation: the generation of TPUs.
        devices: the number of devices.
        before: the figures of the program as it is.
        advice: the changes that make nothing worse, the most bytes saved first.
        together: those that are better together than each alone; None if there are none.
        compiled: the number of changes that were compiled.
        refused: the number of changes that the compiler refused, or that do not fit.
        worse: the number of changes that make nothing better, or something worse.
        left: the number of changes that were not tried: of the budget, or interrupted.
    """

    json_keys: ClassVar = ("*",)

    name: str
    generation: str
    devices: int
    before: Figures
    advice: tuple[Advised, ...]
    together: Advised | None
    compiled: int
    refused: int
    worse: int
    left: int

    @property
    def best(self) -> Advised | None:
        """The best of all: the changes together, or the first; None without advice."""
        return self.together or next(iter(self.advice), None)

    def summary(self) -> Summary:
        """Return the verdict, the figures as they are, and the counts."""
        best, before = self.best, self.before
        if best is None:
            verdict = "no change that was tried makes it better"
        else:
            peak = f"{bytes_text(before.peak_bytes)} → {bytes_text(best.after.peak_bytes)}"
            moved = f"{bytes_text(before.moved_bytes)} → {bytes_text(best.after.moved_bytes)}"
            verdict = f"HBM at the peak {peak}, copies and relayouts {moved}"
        where = "" if self.devices == 1 else f" on each of {self.devices} devices"
        line = f"TPU {self.generation}{where}: {count(self.compiled, 'change')} compiled, "
        line += f"{self.worse} of them not better, {self.refused} refused"
        warnings = [f"{count(self.left, 'change')} left untried"] if self.left else []
        return Summary(f"{self.name}: {verdict}", (line,), tuple(warnings))

    def tables(self) -> tuple[Table, ...]:
        """Return the program as it is and the changes together, and then each change."""
        rows = [("as it is", self.before, "")]
        if self.best is not None:
            rows.append(
                (self.best.kind, self.best.after, self.best.change if self.together else "")
            )
        both = table_of("Before and after", _COLUMNS, rows, lambda row: [row[2]] if row[2] else [])
        each = table_of(
            "Each change alone",
            _COLUMNS,
            [(a.kind, a.after, a) for a in self.advice],
            lambda row: (f"{row[2].where}: {row[2].change}", row[2].note),
        )
        return both, each


def cycles_cell(n: int | None) -> TableCell:
    """Return a cell with an estimate of cycles."""
    return TableCell("?", -1) if n is None else TableCell(f"{n:,}", n)


_COLUMNS: Final[Columns[tuple[str, Figures, object]]] = (
    ("HBM peak", lambda row: bytes_cell(row[1].peak_bytes)),
    ("copies", lambda row: bytes_cell(row[1].moved_bytes)),
    ("cycles", lambda row: cycles_cell(row[1].cycles)),
    ("change", lambda row: text_cell(row[0])),
)
