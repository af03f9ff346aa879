"""What differs between two programs, one value for each difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.usage import Bytes
from morello_layouts.doctor.verdicts import Effect

__all__ = ["LayoutChange", "MoveChange", "TypeChange"]


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
