"""The instructions of a program that keep every element: where they are, what they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.buffers import is_fused
from morello_layouts.doctor.verdicts import MOVES, Effect, Judge, Verdict
from morello_layouts.hlo import HloInstruction, HloModule

__all__ = ["Move", "MoveSum", "move_sums", "moves_of"]


@dataclass(frozen=True, slots=True)
class Move:
    """A copy, transpose, reshape or bitcast.

    Attributes:
        instruction: which one.
        computation: the name of the one that holds it.
        is_fused: whether it stands in a fusion, so that nothing is written for it alone.
        verdict: what it does to the bytes; one value for all moves of the same types.

    >>> from morello_layouts import diagnose, read_hlo
    >>> move = diagnose(read_hlo("%b = f32[8]{0:S(1)} copy(f32[8]{0} %a)")).moves[0]
    >>> move.opcode, move.verdict.text
    ('copy', 'moves the same bytes, HBM to VMEM')
    """

    instruction: HloInstruction
    computation: str
    is_fused: bool
    verdict: Verdict

    @property
    def opcode(self) -> str:
        """What the instruction is."""
        return self.instruction.opcode

    @property
    def written_bytes(self) -> int:
        """Bytes that are written to memory for it: none in a fusion."""
        return 0 if self.is_fused else self.verdict.moved_bytes

    @property
    def place(self) -> str:
        """Computation, instruction and source in a line."""
        name, source = self.instruction.name, self.instruction.metadata.source
        whole = f"{self.computation}/{name}" if self.computation else name
        return whole if source is None else f"{whole} ({source})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        said = self.instruction.metadata
        return {
            "instruction": self.instruction.name,
            "opcode": self.opcode,
            "computation": self.computation,
            "line": self.instruction.line,
            "op_name": said.op_name,
            "source": said.source,
            "is_fused": self.is_fused,
            "written_bytes": self.written_bytes,
            **self.verdict.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class MoveSum:
    """All moves of one opcode and effect.

    Attributes:
        opcode: ``copy``, ``transpose`` and the like.
        effect: what they do to the bytes.
        count: how many there are.
        fused: how many of them stand inside fusions.
        written_bytes: by those that are not fused.

    >>> MoveSum("copy", "retiles", 2, 0, 8192).to_dict()["written_bytes"]
    8192
    """

    opcode: str
    effect: Effect
    count: int
    fused: int
    written_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "opcode": self.opcode,
            "effect": self.effect,
            "count": self.count,
            "fused": self.fused,
            "written_bytes": self.written_bytes,
        }


def moves_of(module: HloModule, fused: frozenset[str], judge: Judge) -> Iterator[Move]:
    """Every move of a program, in the order of the text."""
    for computation in module.computations:
        inside = is_fused(computation, fused)
        for instruction in computation.instructions:
            if instruction.opcode in MOVES:
                yield Move(instruction, computation.name, inside, judge.of(instruction))


def move_sums(moves: Iterable[Move]) -> tuple[MoveSum, ...]:
    """Moves by opcode and effect, the most bytes written first."""
    found: dict[tuple[str, Effect], list[Move]] = {}
    for move in moves:
        found.setdefault((move.opcode, move.verdict.effect), []).append(move)
    sums = (
        MoveSum(
            opcode,
            effect,
            len(group),
            sum(move.is_fused for move in group),
            sum(move.written_bytes for move in group),
        )
        for (opcode, effect), group in found.items()
    )
    return tuple(sorted(sums, key=lambda s: (-s.written_bytes, -s.count, s.opcode, s.effect)))
