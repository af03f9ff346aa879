"""Diagnose what the layouts of a program cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from morello_layouts.description import count, listed
from morello_layouts.diagnostics.buffers import (
    Generation,
    buffers_of,
    fused_names,
    generation_of,
    is_fused,
    space_name,
)
from morello_layouts.diagnostics.moves import (
    Judge,
    Move,
    MoveSum,
    effect_words,
    move_sums,
    moves_of,
)
from morello_layouts.diagnostics.report import (
    Cell,
    Report,
    Row,
    Summary,
    Table,
    byte_cells,
    cell,
    factor,
    number,
    size,
)
from morello_layouts.diagnostics.usage import (
    Alternative,
    Bytes,
    Costs,
    LayoutUse,
    SpaceUse,
    Totals,
    WastefulArray,
    entry_arrays,
    layout_uses,
    totals_of,
    wasteful_arrays,
)
from morello_layouts.errors import LayoutError
from morello_layouts.explanations.explanation import arrays_of
from morello_layouts.hlo import HloModule, read_hlo
from morello_layouts.tpu import Waste

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


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Report):
    """What the layouts of a program cost. ``print`` it, or let a notebook show it.

    Attributes:
        name: the module's.
        generation: the generation of TPUs that alternatives are for, and how it is known.
        totals: sums over the program.
        wasteful: the arrays that pad most, each type and layout once.
        wasteful_count: how many types and layouts pad at all.
        moves: every copy, transpose, reshape and bitcast, with what it does to the bytes.
        layouts: arrays by layout, the most bytes first.
        spaces: arrays by memory space.
        warnings: of the reader, such as that the text ends early.

    >>> import morello_layouts as ml
    >>> report = ml.diagnose('''
    ... ENTRY %main (a: f32[7,3,128]) -> f32[3,7,128] {
    ...   %a = f32[7,3,128]{2,1,0:T(8,128)} parameter(0)
    ...   ROOT %b = f32[3,7,128]{2,0,1:T(8,128)} transpose(%a), dimensions={1,0,2}
    ... }''')
    >>> report.totals.parameters.factor, report.moves[0].verdict.effect
    (2.6666666666666665, 'free')
    """

    name: str
    generation: Generation
    totals: Totals
    wasteful: tuple[WastefulArray, ...]
    wasteful_count: int
    moves: tuple[Move, ...]
    layouts: tuple[LayoutUse, ...]
    spaces: tuple[SpaceUse, ...]
    warnings: tuple[str, ...]

    @property
    def move_sums(self) -> tuple[MoveSum, ...]:
        """The moves by opcode and effect."""
        return move_sums(self.moves)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON takes it; null for what is not known."""
        return {
            "module": self.name,
            "generation": self.generation.name,
            "generation_reason": self.generation.reason,
            "totals": self.totals.to_dict(),
            "wasteful_count": self.wasteful_count,
            "wasteful": [array.to_dict() for array in self.wasteful],
            "move_sums": [found.to_dict() for found in self.move_sums],
            "moves": [move.to_dict() for move in self.moves],
            "layouts": [use.to_dict() for use in self.layouts],
            "memory_spaces": [use.to_dict() for use in self.spaces],
            "warnings": list(self.warnings),
        }

    def summary(self) -> Summary:
        """Counts, and which generation the alternatives are for."""
        generation = self.generation if self.wasteful else None
        return diagnosis_summary(self.name, self.totals, generation, self.warnings)

    def tables(self) -> tuple[Table, ...]:
        """Totals, wasteful arrays, moves, layouts, memory spaces."""
        return (
            totals_table(self.totals),
            wasteful_table(self.wasteful, self.wasteful_count),
            move_sums_table(self.move_sums),
            moves_table(self.moves),
            layouts_table(self.layouts),
            spaces_table(self.spaces),
        )


def diagnose(
    program: HloModule | str | os.PathLike[str],
    generation: str | None = None,
    *,
    top: int | None = 10,
) -> Diagnosis:
    """What the layouts of a program cost: padding, copies, and what would be better.

    A buffer is a parameter of the program, or what an instruction writes outside of fusions; what
    only names the bytes of others is none. Each distinct layout, and each distinct question about
    two of them, is analysed once.

    Args:
        program: a module; or a path or text, for ``read_hlo``.
        generation: one of ``ml.tpu.GENERATIONS``, for the alternatives; without it the tiles of
            scalars tell, or the layouts of parameters and outputs, or else v5e is taken.
        top: how many of the most wasteful arrays to list; None for all.

    Raises:
        LayoutError: where the text is no HLO, there is no such generation, or ``top`` is no
            number.

    >>> from morello_layouts import diagnose
    >>> found = diagnose("%a = s32[1024,8,4]{2,1,0:T(8,128)} add(%b, %c)", "v5e").wasteful[0]
    >>> found.waste.reasons[0].text
    'minor dimension 2 of size 4 is padded to 128: tiles (8,128) have 128 columns'
    >>> print(found.alternative.suggestion.shape, found.alternative.suggestion.factor)
    s32[1024,8,4]{0,2,1:T(4,128)} 1.0
    """
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 0):
        raise LayoutError(
            f"top is {top!r}",
            "it is a number of arrays, or None for all of them",
            "give an int from 0",
        )
    module = program if isinstance(program, HloModule) else read_hlo(program)
    shapes = (array for i in module.instructions for _, array in arrays_of(i.shape))
    parameters, outputs = entry_arrays(module)
    chosen = generation_of(generation, shapes, (*parameters, *outputs))
    fused = fused_names(module)
    costs, buffers = Costs(), tuple(buffers_of(module, fused))
    wasteful, count = wasteful_arrays(buffers, costs, chosen.name, top)
    layouts, spaces = layout_uses(buffers, costs)
    inside = sum(is_fused(computation, fused) for computation in module.computations)
    return Diagnosis(
        module.name,
        chosen,
        totals_of(module, inside, buffers, costs),
        wasteful,
        count,
        tuple(moves_of(module, fused, Judge())),
        layouts,
        spaces,
        module.warnings,
    )
