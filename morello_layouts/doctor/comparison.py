"""Two dumps side by side: what got larger, which layouts changed, which copies are new."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.buffers import Buffer, buffers_of, fused_names, is_fused
from morello_layouts.doctor.changes import LayoutChange, MoveChange, TypeChange
from morello_layouts.doctor.comparison_tables import (
    comparison_summary,
    gone_moves_table,
    layouts_table,
    new_moves_table,
    totals_table,
    types_table,
)
from morello_layouts.doctor.moves import Move, moves_of
from morello_layouts.doctor.report import Report
from morello_layouts.doctor.table import Summary, Table
from morello_layouts.doctor.usage import Bytes, Costs, Totals, totals_of
from morello_layouts.doctor.verdicts import Effect, Judge
from morello_layouts.hlo import HloModule, read_hlo
from morello_layouts.xla import XlaShape

__all__ = ["Comparison", "compare_hlo"]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Report):
    """What differs between two programs. ``print`` it, or let a notebook show it.

    Attributes:
        before: sums over the first.
        after: sums over the second.
        types: array types that take other bytes, the largest difference first.
        layouts: instructions whose layout changed.
        moves: copies and the like that are not free, where their number changed; not those in
            fusions.
        warnings: of the reader, with the dump they are on.

    >>> from morello_layouts import compare_hlo
    >>> a, b = "%x = f32[4,8]{1,0:T(4,128)} add(%a, %b)", "%x = f32[4,8]{1,0:T(8,128)} add(%a, %b)"
    >>> print(compare_hlo(a, b).layouts[0].after, compare_hlo(a, b).types[0].difference)
    f32[4,8]{1,0:T(8,128)} 2048
    """

    before: Totals
    after: Totals
    types: tuple[TypeChange, ...]
    layouts: tuple[LayoutChange, ...]
    moves: tuple[MoveChange, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON takes it."""
        return {
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "types": [each.to_dict() for each in self.types],
            "layouts": [each.to_dict() for each in self.layouts],
            "moves": [each.to_dict() for each in self.moves],
            "warnings": list(self.warnings),
        }

    def summary(self) -> Summary:
        """How many instructions there are, or that nothing differs."""
        differs = bool(self.types or self.layouts or self.moves)
        return comparison_summary(self.before, self.after, self.warnings, differs=differs)

    def tables(self) -> tuple[Table, ...]:
        """Totals, types, layouts, moves; those that did not change are left out."""
        return (
            totals_table(self.before, self.after),
            types_table(self.types),
            layouts_table(self.layouts),
            new_moves_table(self.moves),
            gone_moves_table(self.moves),
        )


def compare_hlo(
    before: HloModule | str | os.PathLike[str], after: HloModule | str | os.PathLike[str]
) -> Comparison:
    """What differs between two programs, or one program compiled in two ways.

    Instructions are compared by name, array types and moves by how many there are; so renamed
    instructions do not count as changes of bytes.

    Args:
        before: a module; or a path or text, for ``read_hlo``.
        after: likewise.

    Raises:
        LayoutError: where a text is no HLO.

    >>> from morello_layouts import compare_hlo
    >>> print(compare_hlo("%a = f32[8]{0} negate(%b)", "%c = f32[8]{0} negate(%d)"))
    no difference in bytes, layouts and copies
    instructions: 1, then 1
    """
    modules = [m if isinstance(m, HloModule) else read_hlo(m) for m in (before, after)]
    costs, judge = Costs(), Judge()
    one, other = (_Side(module, costs, judge) for module in modules)
    return Comparison(
        one.totals,
        other.totals,
        _types(one.types, other.types),
        _layouts(one.buffers, other.buffers, costs),
        _moves(one.moves, other.moves),
        (
            *(f"before: {text}" for text in modules[0].warnings),
            *(f"after: {text}" for text in modules[1].warnings),
        ),
    )


class _Side:
    """What is compared of one program."""

    def __init__(self, module: HloModule, costs: Costs, judge: Judge) -> None:
        fused = fused_names(module)
        self.buffers = tuple(buffers_of(module, fused))
        inside = sum(is_fused(computation, fused) for computation in module.computations)
        self.totals: Totals = totals_of(module, inside, self.buffers, costs)
        self.moves = [
            move
            for move in moves_of(module, fused, judge)
            if not move.is_fused and move.verdict.effect != "free"
        ]
        self.types: dict[str, Bytes] = {}
        for buffer in self.buffers:
            name = _type(buffer.shape)
            self.types[name] = self.types.get(name, Bytes()) + costs.bytes_of(buffer.shape)


def _type(x: XlaShape) -> str:
    return str(x).partition("{")[0]


def _types(before: dict[str, Bytes], after: dict[str, Bytes]) -> tuple[TypeChange, ...]:
    changes = (
        TypeChange(name, before.get(name, Bytes()), after.get(name, Bytes()))
        for name in before.keys() | after.keys()
    )
    return _ranked(change for change in changes if change.before != change.after)


def _layouts(
    before: Iterable[Buffer], after: Iterable[Buffer], costs: Costs
) -> tuple[LayoutChange, ...]:
    known = {(b.instruction.name, b.path): b for b in before}
    changes: list[LayoutChange] = []
    for new in after:
        old = known.get((new.instruction.name, new.path))
        if old is None or old.instruction.opcode != new.instruction.opcode:
            continue
        if old.shape != new.shape and _type(old.shape) == _type(new.shape):
            path = "".join(f"{{{k}}}" for k in new.path)
            changes.append(
                LayoutChange(
                    new.instruction.name + path,
                    new.instruction.opcode,
                    str(old.shape),
                    str(new.shape),
                    costs.bytes_of(old.shape).reserved_bytes,
                    costs.bytes_of(new.shape).reserved_bytes,
                )
            )
    return _ranked(changes)


def _moves(before: Iterable[Move], after: Iterable[Move]) -> tuple[MoveChange, ...]:
    counts: dict[tuple[str, Effect, str | None, str], list[int]] = {}
    for side, moves in enumerate((before, after)):
        for move in moves:
            v = move.verdict
            key = (move.opcode, v.effect, v.operand, v.result)
            counts.setdefault(key, [0, 0, v.moved_bytes])[side] += 1
    changes = (MoveChange(*key, *found) for key, found in counts.items())
    return _ranked(change for change in changes if change.before != change.after)


def _ranked(changes: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(changes, key=lambda c: (-abs(c.difference), str(c.to_dict()))))
