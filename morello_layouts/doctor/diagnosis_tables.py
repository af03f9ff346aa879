"""The report on a program as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from morello_layouts.doctor.amounts import space_name
from morello_layouts.doctor.generation import Generation
from morello_layouts.doctor.moves import Move, MoveSum
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
from morello_layouts.doctor.usage import Bytes, LayoutUse, SpaceUse, Totals
from morello_layouts.doctor.verdicts import effect_words
from morello_layouts.doctor.wasteful import Alternative, WastefulArray
from morello_layouts.tpu import Waste
from morello_layouts.words.names import count, listed

__all__ = [
    "WASTE_COLUMNS",
    "alternative_lines",
    "diagnosis_summary",
    "layouts_table",
    "move_sums_table",
    "moves_table",
    "spaces_table",
    "totals_table",
    "wasteful_table",
]

_BYTES: Final = ("padding", "reserved", "data", "factor")
WASTE_COLUMNS: Final = _BYTES
_MOST_MOVES: Final = 20
_MOST_PLACES: Final = 3


def diagnosis_summary(
    name: str, totals: Totals, generation: Generation | None, warnings: tuple[str, ...]
) -> Summary:
    """The lines above the tables; without a generation nothing is said of alternatives."""
    what = f"{count(totals.instructions, 'instruction')} in "
    what += count(totals.computations, "computation")
    if totals.fused_computations:
        what += f", {totals.fused_computations:,} of them inside fusions, reductions and the like"
    lines = [what]
    if generation is not None:
        lines.append(f"alternatives for TPU {generation.name}: {generation.reason}")
    return Summary(name or "HLO without a module", tuple(lines), warnings)


def totals_table(totals: Totals) -> Table:
    """The bytes of parameters, outputs and results."""
    named = (
        ("entry parameters", totals.parameters),
        ("entry outputs", totals.outputs),
        ("results of instructions", totals.results),
    )
    return Table(
        "Bytes",
        (*_BYTES, "arrays", "of"),
        tuple(_sum_row(found, name) for name, found in named),
        "results inside fusions, and names for the bytes of others, are left out",
    )


def wasteful_table(arrays: Sequence[WastefulArray], count_in_all: int) -> Table:
    """The arrays that pad most."""
    return Table(
        "Arrays that waste most",
        (*_BYTES, "times", "array"),
        tuple(map(_wasteful_row, arrays)),
        f"{len(arrays):,} of {count(count_in_all, 'type')} with padding; bytes of one of them",
    )


def move_sums_table(sums: Iterable[MoveSum]) -> Table:
    """Moves by opcode and what they do."""
    return Table(
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
            for s in sums
        ),
    )


def moves_table(moves: Iterable[Move]) -> Table:
    """The moves that are not free, those of the same types in one row."""
    groups = _not_free(moves)
    return Table(
        "The largest of these that are not free",
        ("written", "times", "opcode", "result"),
        tuple(map(_move_row, groups[:_MOST_MOVES])),
        "" if len(groups) <= _MOST_MOVES else f"{_MOST_MOVES:,} of {len(groups):,}",
    )


def layouts_table(uses: Iterable[LayoutUse]) -> Table:
    """The bytes of each layout."""
    rows = tuple(_sum_row(use.bytes, use.layout) for use in uses)
    return Table("Layouts", (*_BYTES, "arrays", "layout"), rows)


def spaces_table(uses: Iterable[SpaceUse]) -> Table:
    """The bytes of each memory space."""
    rows = tuple(_sum_row(use.bytes, use.name) for use in uses)
    return Table("Memory spaces", (*_BYTES, "arrays", "space"), rows)


def _sum_row(found: Bytes, name: str) -> Row:
    return Row((*byte_cells(found), number(found.arrays), cell(name)))


def _waste_cells(waste: Waste) -> tuple[Cell, ...]:
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
        (*_waste_cells(found.waste), number(found.count), cell(found.waste.shape)),
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
