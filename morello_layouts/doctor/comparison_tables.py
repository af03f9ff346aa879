"""The comparison of two programs as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.doctor.amounts import bytes_text
from morello_layouts.doctor.table import Cell, Row, Summary, Table, cell, number, size
from morello_layouts.doctor.verdicts import effect_words

if TYPE_CHECKING:
    from morello_layouts.doctor.comparison import Comparison

__all__ = ["comparison_summary", "comparison_tables"]

_MOST: Final = 20


def comparison_summary(found: Comparison) -> Summary:
    """The lines above the tables."""
    before, after = found.before, found.after
    title = "What changed"
    if not found.types and not found.layouts and not found.moves:
        title = "no difference in bytes, layouts and copies"
    lines = (f"instructions: {before.instructions:,}, then {after.instructions:,}",)
    return Summary(title, lines, found.warnings)


def comparison_tables(found: Comparison) -> Iterator[Table]:
    """Totals, types, layouts, moves; those that did not change are left out."""
    pairs = (
        ("entry parameters", found.before.parameters, found.after.parameters),
        ("entry outputs", found.before.outputs, found.after.outputs),
        ("results of instructions", found.before.results, found.after.results),
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
    yield Table("Bytes reserved", ("added", "before", "after", "of"), rows)
    yield _cut(
        "Types that take more or less",
        ("added", "before", "after", "count before", "after", "type"),
        [
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
            for each in found.types
        ],
    )
    yield _cut(
        "Layouts that changed",
        ("added", "opcode", "instruction"),
        [
            Row(
                (added(each.difference), cell(each.opcode), cell(each.instruction)),
                (f"{each.before} -> {each.after}",),
            )
            for each in found.layouts
        ],
    )
    for title, sign in (("New copies and the like", 1), ("Copies and the like that are gone", -1)):
        yield _cut(title, ("written", "times", "opcode", "result"), _moves(found, sign))


def _moves(found: Comparison, sign: int) -> list[Row]:
    return [
        Row(
            (
                added(each.difference),
                number(abs(each.after - each.before)),
                cell(each.opcode),
                cell(each.result),
            ),
            (f"from {each.operand or '?'}: {effect_words(each.effect)}",),
        )
        for each in found.moves
        if (each.after - each.before) * sign > 0
    ]


def added(n: int) -> Cell:
    """Bytes with their sign.

    >>> added(2048).text, added(-512).text, added(0).text
    ('+2.00 KiB', '-512 B', '0 B')
    """
    return Cell(f"+{bytes_text(n)}" if n > 0 else bytes_text(n), n)


def _cut(title: str, columns: Sequence[str], rows: Sequence[Any]) -> Table:
    note = f"{_MOST:,} of {len(rows):,}" if len(rows) > _MOST else ""
    return Table(title, tuple(columns), tuple(rows[:_MOST]), note)
