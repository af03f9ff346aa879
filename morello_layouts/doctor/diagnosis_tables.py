"""The report on a program as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from morello_layouts.doctor.amounts import space_name
from morello_layouts.doctor.moves import Move
from morello_layouts.doctor.table import (
    Cell,
    Row,
    Summary,
    Table,
    byte_cells,
    cell,
    factor,
    number,
    size,
)
from morello_layouts.doctor.verdicts import effect_words
from morello_layouts.doctor.wasteful import Alternative, WastefulArray
from morello_layouts.tpu import Waste
from morello_layouts.words.names import count, listed

if TYPE_CHECKING:
    from morello_layouts.doctor.diagnosis import Diagnosis

__all__ = [
    "WASTE_COLUMNS",
    "alternative_lines",
    "diagnosis_summary",
    "diagnosis_tables",
    "waste_cells",
]

_BYTES: Final = ("padding", "reserved", "data", "factor")
WASTE_COLUMNS: Final = _BYTES
_MOST_MOVES: Final = 20
_MOST_PLACES: Final = 3


def diagnosis_summary(found: Diagnosis) -> Summary:
    """The lines above the tables."""
    totals = found.totals
    what = f"{count(totals.instructions, 'instruction')} in "
    what += count(totals.computations, "computation")
    if totals.fused_computations:
        what += f", {totals.fused_computations:,} of them inside fusions, reductions and the like"
    lines = [what]
    if found.wasteful:
        lines.append(f"alternatives for TPU {found.generation.name}: {found.generation.reason}")
    return Summary(found.name or "HLO without a module", tuple(lines), found.warnings)


def diagnosis_tables(found: Diagnosis) -> Iterator[Table]:
    """Totals, wasteful arrays, moves, layouts, memory spaces."""
    totals = found.totals
    named = (
        ("entry parameters", totals.parameters),
        ("entry outputs", totals.outputs),
        ("results of instructions", totals.results),
    )
    yield Table(
        "Bytes",
        (*_BYTES, "arrays", "of"),
        tuple(Row((*byte_cells(b), number(b.arrays), cell(name))) for name, b in named),
        "results inside fusions, and names for the bytes of others, are left out",
    )
    shown = len(found.wasteful)
    yield Table(
        "Arrays that waste most",
        (*_BYTES, "times", "array"),
        tuple(map(_wasteful_row, found.wasteful)),
        f"{shown:,} of {count(found.wasteful_count, 'type')} with padding; bytes of one of them",
    )
    yield Table(
        "Copies, transposes, reshapes and bitcasts",
        ("written", "count", "in fusions", "opcode", "what it does"),
        tuple(
            Row(
                (
                    size(s.written_bytes),
                    number(s.count),
                    number(s.fused),
                    cell(s.opcode),
                    cell(effect_words(s.effect)),
                )
            )
            for s in found.move_sums
        ),
    )
    groups = _not_free(found.moves)
    yield Table(
        "The largest of these that are not free",
        ("written", "times", "opcode", "result"),
        tuple(map(_move_row, groups[:_MOST_MOVES])),
        "" if len(groups) <= _MOST_MOVES else f"{_MOST_MOVES:,} of {len(groups):,}",
    )
    yield Table(
        "Layouts",
        (*_BYTES, "arrays", "layout"),
        tuple(
            Row((*byte_cells(u.bytes), number(u.bytes.arrays), cell(u.layout)))
            for u in found.layouts
        ),
    )
    yield Table(
        "Memory spaces",
        (*_BYTES, "arrays", "space"),
        tuple(
            Row((*byte_cells(u.bytes), number(u.bytes.arrays), cell(u.name))) for u in found.spaces
        ),
    )


def waste_cells(waste: Waste) -> tuple[Cell, ...]:
    """Padding, reserved, data, factor of one array."""
    return (
        size(waste.padding_bytes),
        size(waste.reserved_bytes),
        size(waste.data_bytes),
        factor(waste.reserved_bytes, waste.data_bytes),
    )


def alternative_lines(found: Alternative) -> tuple[str, ...]:
    """What would take fewer bytes, in words."""
    best = found.suggestion
    if best is None:
        return (found.reason,)
    cost = factor(best.waste.reserved_bytes, best.waste.data_bytes).text
    return (f"better: {best.shape}, {cost}: {best.hint}",)


def _wasteful_row(found: WastefulArray) -> Row:
    spaces = listed([f"{n:,} in {space_name(space)}" for space, n in found.spaces])
    where = _where([place.text for place in found.places[:_MOST_PLACES]], found.count)
    return Row(
        (*waste_cells(found.waste), number(found.count), cell(found.waste.shape)),
        (
            *(reason.text for reason in found.waste.reasons),
            *alternative_lines(found.alternative),
            where if [space for space, _ in found.spaces] == [0] else f"{where}: {spaces}",
        ),
        found.waste.shape,
    )


def _not_free(moves: Iterable[Move]) -> list[list[Move]]:
    """Moves that are not free, those of the same types together, the most bytes first."""
    groups: dict[tuple[int, bool], list[Move]] = {}
    for move in moves:
        if move.verdict.effect != "free":
            groups.setdefault((id(move.verdict), move.is_fused), []).append(move)
    return sorted(groups.values(), key=lambda group: -group[0].written_bytes * len(group))


def _move_row(group: list[Move]) -> Row:
    first, verdict = group[0], group[0].verdict
    return Row(
        (
            size(first.written_bytes * len(group)),
            number(len(group)),
            cell(first.opcode),
            cell(verdict.result),
        ),
        (
            f"from {verdict.operand or '?'}",
            f"{verdict.text}: {verdict.reason}" + (" (in a fusion)" if first.is_fused else ""),
            _where([move.place for move in group[:_MOST_PLACES]], len(group)),
        ),
    )


def _where(places: Sequence[str], count: int) -> str:
    more = count - len(places)
    return f"at {'; '.join(places)}" + (f", and {more:,} more" if more else "")
