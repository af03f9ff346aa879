"""The whole report on a program."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.buffers import buffers_of, fused_names, is_fused
from morello_layouts.doctor.diagnosis_tables import (
    diagnosis_summary,
    layouts_table,
    move_sums_table,
    moves_table,
    spaces_table,
    totals_table,
    wasteful_table,
)
from morello_layouts.doctor.generation import Generation, generation_of
from morello_layouts.doctor.moves import Move, MoveSum, move_sums, moves_of
from morello_layouts.doctor.report import Report
from morello_layouts.doctor.table import Summary, Table
from morello_layouts.doctor.usage import (
    Costs,
    LayoutUse,
    SpaceUse,
    Totals,
    entry_arrays,
    layout_uses,
    totals_of,
)
from morello_layouts.doctor.verdicts import Judge
from morello_layouts.doctor.wasteful import WastefulArray, wasteful_arrays
from morello_layouts.errors import LayoutError
from morello_layouts.hlo import HloModule, read_hlo
from morello_layouts.words import arrays_of

__all__ = ["Diagnosis", "diagnose"]


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
