"""The comparison of two programs as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from morello_layouts.doctor.amounts import bytes_text
from morello_layouts.doctor.changes import LayoutChange, MoveChange, TypeChange
from morello_layouts.doctor.table import Cell, Row, Summary, Table, cell, number, size
from morello_layouts.doctor.usage import Totals
from morello_layouts.doctor.verdicts import effect_words

__all__ = [
    "comparison_summary",
    "gone_moves_table",
    "layouts_table",
    "new_moves_table",
    "totals_table",
    "types_table",
]

_MOST: Final = 20


def comparison_summary(
    before: Totals, after: Totals, warnings: tuple[str, ...], *, differs: bool
) -> Summary:
    """The lines above the tables."""
    title = "What changed" if differs else "no difference in bytes, layouts and copies"
    lines = (f"instructions: {before.instructions:,}, then {after.instructions:,}",)
    return Summary(title, lines, warnings)


def totals_table(before: Totals, after: Totals) -> Table:
    """Parameters, outputs and results that take other bytes."""
    pairs = (
        ("entry parameters", before.parameters, after.parameters),
        ("entry outputs", before.outputs, after.outputs),
        ("results of instructions", before.results, after.results),
    )
    rows = tuple(
        Row(
            (
                added(b.reserved_bytes - a.reserved_bytes),
                size(a.reserved_bytes),
                size(b.reserved_bytes),
                cell(name),
            )
        )
        for name, a, b in pairs
        if a != b
    )
    return Table("Bytes reserved", ("added", "before", "after", "of"), rows)


def types_table(changes: Iterable[TypeChange]) -> Table:
    """Types that take other bytes."""
    rows = [
        Row(
            (
                added(each.difference),
                size(each.before.reserved_bytes),
                size(each.after.reserved_bytes),
                number(each.before.arrays),
                number(each.after.arrays),
                cell(each.type),
            )
        )
        for each in changes
    ]
    columns = ("added", "before", "after", "count before", "after", "type")
    return _cut("Types that take more or less", columns, rows)


def layouts_table(changes: Iterable[LayoutChange]) -> Table:
    """Instructions with another layout."""
    rows = [
        Row(
            (added(each.difference), cell(each.opcode), cell(each.instruction)),
            (f"{each.before} -> {each.after}",),
        )
        for each in changes
    ]
    return _cut("Layouts that changed", ("added", "opcode", "instruction"), rows)


def new_moves_table(changes: Iterable[MoveChange]) -> Table:
    """Moves of which there are more."""
    return _moves("New copies and the like", (c for c in changes if c.after > c.before))


def gone_moves_table(changes: Iterable[MoveChange]) -> Table:
    """Moves of which there are fewer."""
    return _moves("Copies and the like that are gone", (c for c in changes if c.after < c.before))


def _moves(title: str, changes: Iterable[MoveChange]) -> Table:
    rows = [
        Row(
            (
                added(each.difference),
                number(abs(each.after - each.before)),
                cell(each.opcode),
                cell(each.result),
            ),
            (f"from {each.operand or '?'}: {effect_words(each.effect)}",),
        )
        for each in changes
    ]
    return _cut(title, ("written", "times", "opcode", "result"), rows)


def added(n: int) -> Cell:
    """Bytes with their sign.

    >>> added(2048).text, added(-512).text, added(0).text
    ('+2.00 KiB', '-512 B', '0 B')
    """
    return Cell(f"+{bytes_text(n)}" if n > 0 else bytes_text(n), n)


def _cut(title: str, columns: Sequence[str], rows: Sequence[Row]) -> Table:
    note = f"{_MOST:,} of {len(rows):,}" if len(rows) > _MOST else ""
    return Table(title, tuple(columns), tuple(rows[:_MOST]), note)
