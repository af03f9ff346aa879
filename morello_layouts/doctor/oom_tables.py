"""The explained out-of-memory report as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from morello_layouts.doctor.diagnosis_tables import WASTE_COLUMNS, alternative_lines
from morello_layouts.doctor.generation import Generation
from morello_layouts.doctor.oom_allocation import OomAllocation
from morello_layouts.doctor.table import Cell, Row, Summary, Table, cell, factor, number, size
from morello_layouts.words.names import count

__all__ = ["allocations_table", "oom_summary"]

_MOST_REASONS = 6
_LONGEST = 300  # characters of a label


def oom_summary(
    space: tuple[str | None, str | None, str | None],
    generation: Generation,
    allocations: Sequence[OomAllocation],
    warnings: tuple[str, ...],
) -> Summary:
    """The lines above the table.

    Args:
        space: the memory space, what is used of it, and what it holds, where the report says so.
        generation: which one the alternatives are for.
        allocations: those of the report.
        warnings: what a reader should know.
    """
    name, used, capacity = space
    title = "Out of memory"
    if name is not None:
        title += f" in {name}"
    if used is not None:
        title += f": {used} used of {capacity}"
    lines = [count(len(allocations), "allocation")]
    checked = [each for each in allocations if each.wastes]
    differing = sum(bool(each.differences) for each in checked)
    agreeing = len(checked) - differing
    lines.append(
        f"numbers as the layouts give them: {agreeing:,}"
        + (f"; other numbers: {differing:,}" if differing else "")
        + (f"; without a layout: {n:,}" if (n := len(allocations) - len(checked)) else "")
    )
    if checked:
        lines.append(f"alternatives for TPU {generation.name}: {generation.reason}")
    return Summary(title, tuple(lines), warnings)


def allocations_table(allocations: Sequence[OomAllocation]) -> Table:
    """Allocations, those of one type and size together."""
    groups: dict[tuple[str, str], list[OomAllocation]] = {}
    for each in allocations:
        shape = each.reported.get("shape", f"# {each.number}")
        groups.setdefault((shape, each.reported.get("size", "")), []).append(each)
    return Table(
        "Allocations",
        (*WASTE_COLUMNS, "times", "of"),
        tuple(map(_row, groups.values())),
        "bytes of one of them",
    )


def _row(group: list[OomAllocation]) -> Row:
    first = group[0]
    reserved, data = first.reserved_bytes, first.data_bytes
    cells: tuple[Cell, ...]
    if reserved is None or data is None:
        unknown = Cell("?", -1)
        cells = (unknown, size(first.reported_bytes or 0), unknown, unknown)
    else:
        cells = (size(reserved - data), size(reserved), size(data), factor(reserved, data))
    name = first.reported.get("shape") or first.reported.get("label") or "?"
    return Row(
        (*cells, number(len(group)), cell(_cut(name))),
        tuple(_details(group)),
        first.wastes[0].shape if len(first.wastes) == 1 else None,
    )


def _details(group: list[OomAllocation]) -> Iterator[str]:
    first = group[0]
    if first.note:
        yield first.note
    if first.assumed_tiles:
        yield f"the report leaves the tiles out; its numbers are those of {first.wastes[0].shape}"
    yield from (str(difference) for difference in first.differences)
    reasons = list(dict.fromkeys(reason.text for w in first.wastes for reason in w.reasons))
    yield from reasons[:_MOST_REASONS]
    if len(reasons) > _MOST_REASONS:
        yield f"and {len(reasons) - _MOST_REASONS:,} more reasons"
    if first.alternative is not None:
        yield from alternative_lines(first.alternative)
    for each in group:
        words = [f"{each.number}."]
        words += [word for word in (each.reported.get("kind"), each.instruction) if word]
        if each.source is not None:
            words.append(f"({each.source})")
        if len(words) > 1:
            yield " ".join(words)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
