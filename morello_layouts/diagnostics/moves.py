"""Copies, transposes, reshapes and bitcasts, and what each does to the bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal, TypeAlias

from morello_layouts.api import is_bitcast
from morello_layouts.diagnostics.buffers import anywhere, is_fused, space_name
from morello_layouts.errors import LayoutError
from morello_layouts.hlo import HloInstruction, HloModule
from morello_layouts.notations.xla import XlaLayout, XlaShape, XlaTuple
from morello_layouts.notations.xla.reader import XlaValue

MOVES: Final = ("copy", "transpose", "reshape", "bitcast", "bitcast-convert", "copy-start")
"""The opcodes that keep every element and may move it."""

Effect: TypeAlias = Literal[
    "free", "duplicates", "memory space", "retiles", "transposes", "reshapes", "unknown"
]

_WORDS: Final[dict[Effect, str]] = {
    "free": "free: the same bytes",
    "duplicates": "writes the same bytes a second time",
    "memory space": "moves the same bytes",
    "retiles": "rewrites the array in another layout",
    "transposes": "rewrites the array in another order of dimensions",
    "reshapes": "rewrites the array for another shape",
    "unknown": "not known",
}

_ORDER: Final = re.compile(r"\{\s*(?:[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*+)?\s*\}", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of the bytes.

    Attributes:
        effect: ``free``; ``duplicates``, the same bytes at a second place; ``memory space``, the
            same bytes elsewhere; ``retiles``, ``transposes``, ``reshapes``, where elements move;
            ``unknown``, for the reason given.
        holds: whether the operand's bytes serve the result; None where not decided.
        kind: of the proof, such as ``retile``; None without one.
        operand: the type of what is read, as text; None where the dump does not hold it.
        result: the type of what is written.
        memory_spaces: of both; None without an operand.
        moved_bytes: bytes that are written, padding included.
        reason: why, in words.

    >>> from morello_layouts import diagnose, read_hlo
    >>> verdict = diagnose(read_hlo("%b = f32[4,2]{1,0} reshape(f32[8]{0} %a)")).moves[0].verdict
    >>> verdict.effect, verdict.holds, verdict.moved_bytes
    ('free', True, 0)
    """

    effect: Effect
    holds: bool | None
    kind: str | None
    operand: str | None
    result: str
    memory_spaces: tuple[int, int] | None
    moved_bytes: int
    reason: str

    @property
    def text(self) -> str:
        """The effect in words, with the memory spaces where they differ."""
        words = _WORDS[self.effect]
        if self.memory_spaces is not None and self.memory_spaces[0] != self.memory_spaces[1]:
            before, after = map(space_name, self.memory_spaces)
            words += f", {before} to {after}"
        return words

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "effect": self.effect,
            "holds": self.holds,
            "kind": self.kind,
            "operand": self.operand,
            "result": self.result,
            "memory_spaces": self.memory_spaces and list(self.memory_spaces),
            "moved_bytes": self.moved_bytes,
            "text": self.text,
            "reason": self.reason,
        }


def effect_words(effect: Effect) -> str:
    """An effect in words.

    >>> effect_words("memory space")
    'moves the same bytes to another memory space'
    """
    return _WORDS[effect] + (" to another memory space" if effect == "memory space" else "")


_Question: TypeAlias = tuple[str, XlaValue | None, XlaValue, str]


class Judge:
    """Answers what instructions do to the bytes; an equal question is answered once.

    Attributes:
        answers: what was asked, and the verdicts.
    """

    def __init__(self) -> None:
        self.answers: dict[_Question, Verdict] = {}

    def of(self, instruction: HloInstruction) -> Verdict:
        """The verdict on an instruction whose opcode is one of ``MOVES``."""
        opcode, result = instruction.opcode, instruction.shape
        if opcode == "copy-start" and isinstance(result, XlaTuple) and result.shapes:
            result = result.shapes[0]  # the destination; then the source, and a context
        order = ""
        if opcode == "transpose":
            order = instruction.attributes.get("dimensions", "")
        question = (opcode, _operand(instruction), result, order)
        known = self.answers.get(question)
        if known is None:
            known = self.answers[question] = _verdict(*question)
        return known


def _operand(instruction: HloInstruction) -> XlaValue | None:
    """The type of the first operand: of the instruction that it is, or as the dump repeats it."""
    for operand in instruction.operands[:1]:
        if not isinstance(operand, str):
            return operand.shape
    return instruction.operand_shapes[0] if instruction.operand_shapes else None


def _verdict(opcode: str, x: XlaValue | None, y: XlaValue, order: str) -> Verdict:
    if not isinstance(x, XlaShape) or not isinstance(y, XlaShape):
        what = "operand's type is not in the text" if x is None else "value is a tuple, no array"
        return Verdict(
            "unknown", None, None, None if x is None else str(x), str(y), None, 0, f"the {what}"
        )
    spaces = (_space(x), _space(y))
    try:
        size = y.byte_size
        holds, kind, reason = _proof(opcode, x, y, order)
    except LayoutError as error:
        reason = error.what.partition("\n")[0]
        return Verdict("unknown", None, None, str(x), str(y), spaces, 0, reason)
    effect = _effect(opcode, holds, x, y)
    moved = 0 if effect in ("free", "unknown") else size
    return Verdict(effect, holds, kind, str(x), str(y), spaces, moved, reason)


def _proof(opcode: str, x: XlaShape, y: XlaShape, order: str) -> tuple[bool | None, str, str]:
    """Whether the bytes of x serve y, of which kind that is, and why."""
    one, other = anywhere(x), anywhere(y)
    if not _keeps_elements(opcode, x, y):
        raise LayoutError(
            f"{opcode} does not make {y} of {x}",
            "it keeps every element",
            "look at the text: another shape must have been meant",
        )
    if 0 in x.dims and 0 in y.dims:
        return True, "same", "there are no elements"
    if opcode != "transpose" and one == other:
        return True, "same", "the layouts are the same"
    if opcode == "transpose":
        if _ORDER.fullmatch(order) is None:
            raise LayoutError(
                "the attribute dimensions is no order of dimensions",
                "a transpose says there which dimension each of its result is",
                "write for example dimensions={1,0}",
            )
        dims = tuple(map(int, _NUMBER.findall(order)))
        answer = is_bitcast(one, other, correspondence=dims)
    else:
        how: Literal["any", "row-major"] = "any" if opcode == "bitcast" else "row-major"
        answer = is_bitcast(one, other, correspondence=how)
    return answer.holds, answer.kind, answer.reason


def _keeps_elements(opcode: str, x: XlaShape, y: XlaShape) -> bool:
    """Whether an instruction of an opcode may have these shapes."""
    if opcode in ("copy", "copy-start"):
        return x.dims == y.dims and x.element_type == y.element_type
    if opcode == "reshape":
        return prod(x.shape) == prod(y.shape) and x.element_type == y.element_type
    return True


def _effect(opcode: str, holds: bool | None, x: XlaShape, y: XlaShape) -> Effect:
    if holds is None:
        return "unknown"
    if opcode in ("copy", "copy-start"):
        if holds:
            return "duplicates" if _space(x) == _space(y) else "memory space"
        return "retiles" if _wide_order(x) == _wide_order(y) else "transposes"
    if holds:
        return "free"
    return "transposes" if opcode == "transpose" else "reshapes"


def _space(x: XlaShape) -> int:
    return 0 if x.layout is None else x.layout.memory_space


def _wide_order(x: XlaShape) -> list[int]:
    """Dimensions in the order of memory, those of size 1 left out."""
    layout: XlaLayout | None = x.layout
    return [] if layout is None else [k for k in layout.major_to_minor if x.dims[k] != 1]


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
