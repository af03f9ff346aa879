"""Two dumps side by side: what got larger, which layouts changed, which copies are new."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.buffers import Buffer, buffers_of, fused_names, is_fused
from morello_layouts.doctor.comparison_tables import comparison_summary, comparison_tables
from morello_layouts.doctor.moves import Move, moves_of
from morello_layouts.doctor.page import fragment, page
from morello_layouts.doctor.text import text_of
from morello_layouts.doctor.usage import Bytes, Costs, Totals, totals_of
from morello_layouts.doctor.verdicts import Effect, Judge
from morello_layouts.hlo import HloModule, read_hlo
from morello_layouts.xla import XlaShape

__all__ = ["Comparison", "LayoutChange", "MoveChange", "TypeChange", "compare_hlo"]


@dataclass(frozen=True, slots=True)
class TypeChange:
    """An array type, whatever its layout, that takes other bytes in all than before.

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


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two programs. ``print`` it, or let a notebook show it.

    Attributes:
        before, after: sums over each.
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

    def html(self) -> str:
        """A page that needs nothing else."""
        return page(comparison_summary(self), comparison_tables(self))

    def _repr_html_(self) -> str:
        return fragment(comparison_summary(self), comparison_tables(self))

    def text(self, width: int | None = None) -> str:
        """The report as text; what is said below rows is wrapped to a width, if one is given."""
        return text_of(comparison_summary(self), comparison_tables(self), width)

    def __str__(self) -> str:
        return self.text()


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
