"""Compare the layouts of two programs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import ClassVar, Final, TypeVar

from morello_layouts.core.fields import frozen, plain
from morello_layouts.notations.xla import XlaShape
from morello_layouts.programs import report
from morello_layouts.programs.diagnostics import buffers
from morello_layouts.programs.diagnostics.forces import Neighbours
from morello_layouts.programs.diagnostics.moves import Effect, HloMove, effect_text, moves_of
from morello_layouts.programs.hlo import HloModule, read_hlo
from morello_layouts.programs.hlo.reader import platform_of


@frozen
class TypeChange:
    """An array type in any layout whose arrays take other bytes than before.

    >>> TypeChange("f32[8]", buffers.Bytes(1, 32, 512), buffers.Bytes(2, 64, 1024)).difference
    512
    """

    json_keys: ClassVar = ("*", "difference")

    type: str  #: the array type, without layout.
    before: buffers.Bytes  #: bytes of all its arrays in the first program.
    after: buffers.Bytes  #: bytes of all its arrays in the second program.

    @property
    def difference(self) -> int:
        """Reserved bytes that are added; negative if it takes fewer."""
        return self.after.reserved_bytes - self.before.reserved_bytes


@frozen
class LayoutChange:
    """An instruction of one name, opcode and type in both dumps, with another layout.

    >>> LayoutChange("add.1", "add", "f32[2,8]{1,0}", "f32[2,8]{0,1}", 64, 64).difference
    0
    """

    json_keys: ClassVar = ("*", "difference")

    instruction: str  #: its name, in both programs.
    opcode: str  #: its operation.
    before: str  #: its type and layout in the first program.
    after: str  #: its type and layout in the second program.
    before_bytes: int  #: reserved in the first program.
    after_bytes: int  #: reserved in the second program.

    @property
    def difference(self) -> int:
        """Reserved bytes that are added; negative if it takes fewer."""
        return self.after_bytes - self.before_bytes


@frozen
class MoveChange:
    """Moves of one opcode and types that are not free, and their number in both programs.

    >>> MoveChange("copy", "retiles", "f32[8]{0}", "f32[8]{0:T(8)}", 1, 3, 512).difference
    1024
    """

    json_keys: ClassVar = ("*", "difference")

    opcode: str  #: ``copy``, ``transpose`` and the like.
    effect: Effect  #: their effect on the bytes.
    operand: str | None  #: type and layout of the operand; None if the dump does not tell.
    result: str  #: type and layout of the result.
    before: int  #: their number in the first program.
    after: int  #: their number in the second program.
    moved_bytes: int  #: bytes that one of them writes.

    @property
    def difference(self) -> int:
        """Written bytes that are added; negative if they write fewer."""
        return (self.after - self.before) * self.moved_bytes


C = TypeVar("C", TypeChange, LayoutChange, MoveChange)


@frozen
class HloComparison(report.Report):
    """The differences between two programs. ``print`` it, or let a notebook show it.

    >>> from morello_layouts import compare_hlo
    >>> a, b = "%x = f32[4,8]{1,0:T(4,128)} add(%a, %b)", "%x = f32[4,8]{1,0:T(8,128)} add(%a, %b)"
    >>> print(compare_hlo(a, b).layouts[0].after, compare_hlo(a, b).types[0].difference)
    f32[4,8]{1,0:T(8,128)} 2048
    """

    json_keys: ClassVar = ("*",)

    before: buffers.Totals  #: sums over the first program.
    after: buffers.Totals  #: sums over the second program.
    #: array types that take other bytes, the largest difference first.
    types: tuple[TypeChange, ...]
    layouts: tuple[LayoutChange, ...]  #: instructions whose layout changed.
    #: copies and the like that are not free, if their number changed; those in fusions are left
    #: out.
    moves: tuple[MoveChange, ...]
    warnings: tuple[str, ...]  #: of the reader, with the dump that each is about.

    def summary(self) -> report.Summary:
        """Return the number of instructions, and whether anything differs."""
        differs = self.types or self.layouts or self.moves
        title = "What changed" if differs else "no difference in bytes, layouts and copies"
        lines = (f"instructions: {self.before.instructions:,}, then {self.after.instructions:,}",)
        return report.Summary(title, lines, self.warnings)

    def tables(self) -> tuple[report.Table, ...]:
        """Return the totals, types, layouts and moves that changed."""
        before, after = self.before, self.after
        totals = (
            ("entry parameters", before.parameters, after.parameters),
            ("entry outputs", before.outputs, after.outputs),
            ("results of instructions", before.results, after.results),
        )
        changed = [TypeChange(*each) for each in totals if each[1] != each[2]]
        new = [each for each in self.moves if each.after > each.before]
        gone = [each for each in self.moves if each.after < each.before]
        return (
            report.table_of("Bytes reserved", _TOTAL_COLUMNS, changed),
            report.first_rows("Types that take more or less", _TYPE_COLUMNS, self.types),
            report.first_rows(
                "Layouts that changed",
                _LAYOUT_COLUMNS,
                self.layouts,
                lambda each: [f"{each.before} -> {each.after}"],
            ),
            _moves_table("New copies and the like", new),
            _moves_table("Copies and the like that are gone", gone),
        )


_BYTE_COLUMNS: Final[report.Columns[TypeChange]] = (
    ("added", lambda each: report.added_bytes_cell(each.difference)),
    ("before", lambda each: report.bytes_cell(each.before.reserved_bytes)),
    ("after", lambda each: report.bytes_cell(each.after.reserved_bytes)),
)
_TOTAL_COLUMNS: Final = (*_BYTE_COLUMNS, ("of", lambda each: report.text_cell(each.type)))
_TYPE_COLUMNS: Final[report.Columns[TypeChange]] = (
    *_BYTE_COLUMNS,
    ("count before", lambda each: report.number_cell(each.before.arrays)),
    ("after", lambda each: report.number_cell(each.after.arrays)),
    ("type", lambda each: report.text_cell(each.type)),
)
_LAYOUT_COLUMNS: Final[report.Columns[LayoutChange]] = (
    ("added", lambda each: report.added_bytes_cell(each.difference)),
    ("opcode", lambda each: report.text_cell(each.opcode)),
    ("instruction", lambda each: report.text_cell(each.instruction)),
)
_MOVE_COLUMNS: Final[report.Columns[MoveChange]] = (
    ("written", lambda each: report.added_bytes_cell(each.difference)),
    ("times", lambda each: report.number_cell(abs(each.after - each.before))),
    ("opcode", lambda each: report.text_cell(each.opcode)),
    ("result", lambda each: report.text_cell(each.result)),
)


def _moves_table(title: str, changes: Iterable[MoveChange]) -> report.Table:
    return report.first_rows(
        title,
        _MOVE_COLUMNS,
        changes,
        lambda each: [f"from {each.operand or '?'}: {effect_text(each.effect)}"],
    )


def compare_hlo(
    before: HloModule | str | os.PathLike[str], after: HloModule | str | os.PathLike[str]
) -> HloComparison:
    """Return the differences between two programs, or one program compiled in two ways.

    Instructions are compared by name; array types and moves by their number, so that a renamed
    instruction does not count as a change of bytes.

    Args:
        before: a module; or a path or text, for ``read_hlo``.
        after: likewise.

    Raises:
        LayoutError: if a text is not HLO.

    >>> from morello_layouts import compare_hlo
    >>> print(compare_hlo("%a = f32[8]{0} negate(%b)", "%c = f32[8]{0} negate(%d)"))
    no difference in bytes, layouts and copies
    instructions: 1, then 1
    """
    modules = [m if isinstance(m, HloModule) else read_hlo(m) for m in (before, after)]
    cache = buffers.WasteCache(is_tpu=any(platform_of(m) == "TPU" for m in modules))
    one, other = (_ComparedProgram(module, cache) for module in modules)
    return HloComparison(
        one.totals,
        other.totals,
        _type_changes(one.types, other.types),
        _layout_changes(one.buffers, other.buffers, cache),
        _move_changes(one.moves, other.moves),
        (
            *(f"before: {text}" for text in modules[0].warnings),
            *(f"after: {text}" for text in modules[1].warnings),
        ),
    )


class _ComparedProgram:
    """The parts of one program that are compared."""

    def __init__(self, module: HloModule, cache: buffers.WasteCache) -> None:
        fused = buffers.fused_names(module)
        self.buffers = tuple(buffers.buffers_of(module, fused))
        self.totals = buffers.totals_of(module, fused, self.buffers, cache)
        self.moves = [
            move
            for move in moves_of(Neighbours(module), fused)
            if not move.is_fused and move.verdict.effect != "free"
        ]
        self.types = buffers.sums((_type(b.shape), cache.bytes_of(b.shape)) for b in self.buffers)


def _type(x: XlaShape) -> str:
    return str(x).partition("{")[0]


def _type_changes(
    before: dict[str, buffers.Bytes], after: dict[str, buffers.Bytes]
) -> tuple[TypeChange, ...]:
    changes = (
        TypeChange(name, before.get(name, buffers.Bytes()), after.get(name, buffers.Bytes()))
        for name in before.keys() | after.keys()
    )
    return _ranked(c for c in changes if c.before != c.after)


def _layout_changes(
    before: Iterable[buffers.Buffer], after: Iterable[buffers.Buffer], cache: buffers.WasteCache
) -> tuple[LayoutChange, ...]:
    known = {buffer.name: buffer for buffer in before}
    changes: list[LayoutChange] = []
    for new in after:
        old = known.get(new.name)
        if old is None or old.instruction.opcode != new.instruction.opcode:
            continue
        if old.shape != new.shape and _type(old.shape) == _type(new.shape):
            changes.append(
                LayoutChange(
                    new.name,
                    new.instruction.opcode,
                    str(old.shape),
                    str(new.shape),
                    cache.bytes_of(old.shape).reserved_bytes,
                    cache.bytes_of(new.shape).reserved_bytes,
                )
            )
    return _ranked(changes)


def _move_changes(before: Iterable[HloMove], after: Iterable[HloMove]) -> tuple[MoveChange, ...]:
    counts: dict[tuple[str, Effect, str | None, str], list[int]] = {}
    for side, moves in enumerate((before, after)):
        for move in moves:
            v = move.verdict
            key = (move.opcode, v.effect, v.operand, v.result)
            counts.setdefault(key, [0, 0, v.moved_bytes])[side] += 1
    changes = (MoveChange(*key, *found) for key, found in counts.items())
    return _ranked(c for c in changes if c.before != c.after)


def _ranked(changes: Iterable[C]) -> tuple[C, ...]:
    """Return the changes, the largest difference first; of equal ones in a fixed order."""
    return tuple(sorted(changes, key=lambda c: (-abs(c.difference), str(plain(c)))))
