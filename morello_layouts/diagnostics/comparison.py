"""Compare the layouts of two programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from morello_layouts.diagnostics.buffers import (
    Buffer,
    buffers_of,
    bytes_text,
    fused_names,
    is_fused,
)
from morello_layouts.diagnostics.moves import Effect, Judge, Move, effect_words, moves_of
from morello_layouts.diagnostics.report import Cell, Report, Row, Summary, Table, cell, number, size
from morello_layouts.diagnostics.usage import Bytes, Costs, Totals, totals_of
from morello_layouts.hlo import HloModule, read_hlo
from morello_layouts.notations.xla import XlaShape


@dataclass(frozen=True, slots=True)
class TypeChange:
    """An array type, whatever its layout, that takes other bytes in all than before.

    Attributes:
        type: the array type, without layout.
        before: bytes of all its arrays in the first program.
        after: bytes of all its arrays in the second.

    >>> TypeChange("f32[8]", Bytes(1, 32, 512), Bytes(2, 64, 1024)).difference
    512
    """

    type: str
    before: Bytes
    after: Bytes

    @property
    def difference(self) -> int:
        """Reserved bytes that are added; negative where it takes fewer."""
        return self.after.reserved_bytes - self.before.reserved_bytes

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "type": self.type,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "difference": self.difference,
        }


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """An instruction of one name, opcode and type in both dumps, with another layout.

    Attributes:
        instruction: its name, in both programs.
        opcode: what it does.
        before: its type and layout in the first program.
        after: its type and layout in the second.
        before_bytes: reserved in the first program.
        after_bytes: reserved in the second.

    >>> LayoutChange("add.1", "add", "f32[2,8]{1,0}", "f32[2,8]{0,1}", 64, 64).difference
    0
    """

    instruction: str
    opcode: str
    before: str
    after: str
    before_bytes: int
    after_bytes: int

    @property
    def difference(self) -> int:
        """Reserved bytes that are added."""
        return self.after_bytes - self.before_bytes

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "instruction": self.instruction,
            "opcode": self.opcode,
            "before": self.before,
            "after": self.after,
            "before_bytes": self.before_bytes,
            "after_bytes": self.after_bytes,
            "difference": self.difference,
        }


@dataclass(frozen=True, slots=True)
class MoveChange:
    """Moves of one opcode and types that are not free, and how many there are of them.

    Attributes:
        opcode: ``copy``, ``transpose`` and the like.
        effect: what it does to the bytes.
        operand: type and layout that is read; None where the dump does not tell.
        result: type and layout that is written.
        before: how many the first program has.
        after: how many the second has.
        moved_bytes: that one of them writes.

    >>> MoveChange("copy", "retiles", "f32[8]{0}", "f32[8]{0:T(8)}", 1, 3, 512).difference
    1024
    """

    opcode: str
    effect: Effect
    operand: str | None
    result: str
    before: int
    after: int
    moved_bytes: int

    @property
    def difference(self) -> int:
        """Bytes that are written more than before."""
        return (self.after - self.before) * self.moved_bytes

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "opcode": self.opcode,
            "effect": self.effect,
            "operand": self.operand,
            "result": self.result,
            "before": self.before,
            "after": self.after,
            "moved_bytes": self.moved_bytes,
            "difference": self.difference,
        }


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
        _matched_moves(one.moves, other.moves),
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


def _matched_moves(before: Iterable[Move], after: Iterable[Move]) -> tuple[MoveChange, ...]:
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
