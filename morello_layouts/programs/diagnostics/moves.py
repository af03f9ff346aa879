"""Copies, transposes, reshapes and bitcasts, and the effect of each on the bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import prod
from typing import ClassVar, Final, Literal, TypeAlias

from morello_layouts.core.fields import frozen, late, later
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.limits import VERDICTS_KEPT
from morello_layouts.core.maps.subject import Subject, met
from morello_layouts.errors import LayoutError
from morello_layouts.notations.xla import XlaShape, XlaTuple, XlaValue
from morello_layouts.programs.diagnostics.buffers import (
    Buffer,
    is_fused,
    space_name,
    without_memory_space,
)
from morello_layouts.programs.diagnostics.forces import Force, Neighbours, origin_of
from morello_layouts.programs.hlo import HloInstruction
from morello_layouts.programs.indexing.operations import index_map_of

MOVE_OPCODES: Final = ("copy", "transpose", "reshape", "bitcast", "bitcast-convert", "copy-start")
"""The opcodes that keep every element and may move it."""

Effect: TypeAlias = Literal[
    "free", "duplicates", "memory space", "retiles", "transposes", "reshapes", "converts", "unknown"
]

_EFFECT_TEXTS: Final[dict[Effect, str]] = {
    "free": "free: the same bytes",
    "duplicates": "writes the same bytes a second time",
    "memory space": "moves the same bytes",
    "retiles": "rewrites the array in another layout",
    "transposes": "rewrites the array in another order of dimensions",
    "reshapes": "rewrites the array for another shape",
    "converts": "converts the type, and rewrites the array",
    "unknown": "unknown",
}

_ORDER: Final = regex(r"\{\s*(?:[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*+)?\s*\}", re.ASCII)
_NUMBER: Final = regex(r"[0-9]+", re.ASCII)


@frozen
class ProgramPlace:
    """The place where an array is defined.

    >>> ProgramPlace("fusion.3{1}", "fusion", "main", 7, None, "model.py:90").text
    'main/fusion.3{1} (model.py:90)'
    """

    #: its name, with the positions in the tuples of its result, as in ``f.3{1}``.
    instruction: str
    opcode: str  #: the instruction's operation.
    computation: str  #: the name of the computation that holds it.
    line: int  #: the line of the dump.
    op_name: str | None = None  #: the path of traced functions; None if the dump does not say.
    source: str | None = None  #: file and line of the program; None if the dump does not say.

    @property
    def text(self) -> str:
        """Computation, instruction and source in a line."""
        name = f"{self.computation}/{self.instruction}" if self.computation else self.instruction
        return name if self.source is None else f"{name} ({self.source})"


def instruction_place(i: HloInstruction, computation: str, name: str = "") -> ProgramPlace:
    """Return the place of an instruction, by default by its own name."""
    origin = origin_of(i)
    return ProgramPlace(
        name or i.name, i.opcode, computation, i.line, origin.op_name, origin.source
    )


def place_of(defined: Buffer | HloMove) -> ProgramPlace:
    """Return the place of a buffer or a move."""
    return instruction_place(defined.instruction, defined.computation, defined.name)


@frozen
class Verdict:
    """The effect of a move on the bytes.

    >>> from morello_layouts import diagnose, read_hlo
    >>> verdict = diagnose(read_hlo("%b = f32[4,2]{1,0} reshape(f32[8]{0} %a)")).moves[0].verdict
    >>> verdict.effect, verdict.holds, verdict.moved_bytes
    ('free', True, 0)
    """

    json_keys: ClassVar = (
        *("effect", "holds", "kind", "operand", "result", "memory_spaces"),
        *("moved_bytes", "text", "reason"),
    )

    #: ``free``; ``duplicates``, the same bytes at a second place; ``memory space``, the same bytes
    #: elsewhere; ``retiles``, ``transposes``, ``reshapes``, elements move; ``converts``, elements
    #: of another type; ``unknown``, for the reason given.
    effect: Effect
    holds: bool | None  #: whether the operand's bytes serve the result; None if not decided.
    kind: str | None  #: of the proof, such as ``retile``; None without a proof.
    operand: str | None  #: the type of the operand, as text; None if the dump does not hold it.
    result: str  #: the type of the result, as text.
    memory_spaces: tuple[int, int] | None  #: of both; None without an operand.
    moved_bytes: int  #: bytes that are written, padding included.
    reason: str = late()  #: why, in words.

    @property
    def text(self) -> str:
        """The effect in words, with the memory spaces if they differ."""
        words = _EFFECT_TEXTS[self.effect]
        if self.memory_spaces is not None and self.memory_spaces[0] != self.memory_spaces[1]:
            before, after = map(space_name, self.memory_spaces)
            words += f", {before} to {after}"
        return words


def effect_text(effect: Effect) -> str:
    """Return an effect in words.

    >>> effect_text("memory space")
    'moves the same bytes to another memory space'
    """
    more = " to another memory space" if effect == "memory space" else ""
    return _EFFECT_TEXTS[effect] + more


_NO_OPERAND: Final = "the operand's type is not in the text"
_FREE_BITCAST: Final = "by the rules of HLO; which element is which was not found"
_WRONG_BITCAST: Final = "a bitcast keeps all bytes, and these shapes do not have the same bytes"
_NOT_AN_ARRAY: Final = "the value is a tuple, not an array"


def verdict_on(instruction: HloInstruction) -> Verdict:
    """Return the verdict on an instruction whose opcode is one of ``MOVE_OPCODES``."""
    opcode, result = instruction.opcode, instruction.shape
    if opcode == "copy-start" and isinstance(result, XlaTuple) and result.shapes:
        result = result.shapes[0]  # the destination; then the source, and a context
    order = instruction.attributes.get("dimensions", "") if opcode == "transpose" else ""
    return _verdict(opcode, _operand(instruction), result, order)


def _operand(instruction: HloInstruction) -> XlaValue | None:
    """Return the type of the first operand, from its definition or as the dump repeats it."""
    for operand in instruction.operands[:1]:
        if not isinstance(operand, str):
            return operand.shape
    return instruction.operand_shapes[0] if instruction.operand_shapes else None


@lru_cache(VERDICTS_KEPT)
def _verdict(opcode: str, x: XlaValue | None, y: XlaValue, order: str) -> Verdict:
    """Decide a question once: in all programs, moves of the same types share a verdict."""
    if not isinstance(x, XlaShape) or not isinstance(y, XlaShape):
        if x is None:
            return Verdict("unknown", None, None, None, str(y), None, 0, _NO_OPERAND)
        return Verdict("unknown", None, None, str(x), str(y), None, 0, _NOT_AN_ARRAY)
    spaces = (_space(x), _space(y))
    try:
        size = y.byte_size
        if _converts(opcode, x, y):
            reason = f"the type becomes {y.element_type}, and {_order_words(x, y)}"
            return Verdict("converts", False, None, str(x), str(y), spaces, size, reason)
        holds, kind, why = _proof(opcode, x, y, order)
    except LayoutError as error:
        reason = error.what.partition("\n")[0]
        return Verdict("unknown", None, None, str(x), str(y), spaces, 0, reason)
    effect = _effect(opcode, holds, x, y)
    if opcode == "bitcast" and not holds:
        is_free = x.byte_size == size
        reason = _FREE_BITCAST if is_free else _WRONG_BITCAST
        effect = "free" if is_free else "unknown"
        return Verdict(effect, is_free or None, None, str(x), str(y), spaces, 0, reason)
    moved = 0 if effect in ("free", "unknown") else size
    return Verdict(effect, holds, kind, str(x), str(y), spaces, moved, later(why))


def _proof(
    opcode: str, x: XlaShape, y: XlaShape, order: str
) -> tuple[bool | None, str, Callable[[], str]]:
    """Return whether the bytes of x serve y, the kind of the proof, and a function for why."""
    one, other = without_memory_space(x), without_memory_space(y)
    if not _keeps_elements(opcode, x, y):
        raise LayoutError(
            f"{opcode}: expected a result with the elements of {x}, got {y}",
            f"a {opcode} keeps every element",
            "correct one of the shapes",
        )
    if 0 in x.dims and 0 in y.dims:
        return True, "same", lambda: "the arrays are empty"
    if opcode != "transpose" and one == other:
        return True, "same", lambda: "the layouts are the same"
    how: tuple[int, ...] | Literal["any", "row-major"] = "row-major"
    if opcode == "transpose":
        if _ORDER.fullmatch(order) is None:
            raise LayoutError(
                "the attribute dimensions is not an order of dimensions",
                "it names the operand's dimension for each dimension of a transpose's result",
                "write for example dimensions={1,0}",
            )
        how = tuple(map(int, _NUMBER.findall(order)))
    elif opcode == "bitcast":
        how = "any"
    with importing:
        from morello_layouts.proof import is_bitcast  # loads ISL

    is_known = all(isinstance(n, int) for n in (*one.dims, *other.dims))
    a, b = map(index_map_of, (one, other)) if is_known else met(Subject(one), Subject(other))
    answer = is_bitcast(a, b, how)
    is_named = answer.holds and opcode == "bitcast" and " " in answer.correspondence
    return answer.holds, answer.kind, lambda: answer.correspondence if is_named else answer.reason


def _converts(opcode: str, x: XlaShape, y: XlaShape) -> bool:
    """Whether a copy or reshape has elements of another type, as the TPU compiler prints it."""
    is_other = x.element_type != y.element_type and "token" not in (x.element_type, y.element_type)
    return is_other and not opcode.startswith("bitcast") and _keeps_elements(opcode, x, y)


def _order_words(x: XlaShape, y: XlaShape) -> str:
    """Return what happens to the order of elements, by dimensions and layouts alone."""
    if x.dims == y.dims and _memory_order(x) == _memory_order(y):
        return "the dimensions keep their order in memory"
    if x.dims == y.dims:
        return "the dimensions get another order in memory"
    return "the elements lie in another shape"


def _keeps_elements(opcode: str, x: XlaShape, y: XlaShape) -> bool:
    """Whether an instruction of an opcode may have these shapes, whatever their types."""
    if opcode in ("copy", "copy-start"):
        return x.dims == y.dims
    if opcode == "reshape":
        return prod(x.shape) == prod(y.shape)
    return True


def _effect(opcode: str, holds: bool | None, x: XlaShape, y: XlaShape) -> Effect:
    if holds is None:
        return "unknown"
    if opcode in ("copy", "copy-start"):
        if holds:
            return "duplicates" if _space(x) == _space(y) else "memory space"
        return "retiles" if _memory_order(x) == _memory_order(y) else "transposes"
    if holds:
        return "free"
    return "transposes" if opcode == "transpose" else "reshapes"


def _space(x: XlaShape) -> int:
    return 0 if x.layout is None else x.layout.memory_space


def _memory_order(x: XlaShape) -> list[int]:
    """Return the dimensions in the order of memory, without those of size 1."""
    layout = x.layout
    return [] if layout is None else [k for k in layout.major_to_minor if x.dims[k] != 1]


@frozen
class HloMove:
    """A copy, transpose, reshape or bitcast.

    >>> from morello_layouts import diagnose, read_hlo
    >>> move = diagnose(read_hlo("%b = f32[8]{0:S(1)} copy(f32[8]{0} %a)")).moves[0]
    >>> move.opcode, move.verdict.text
    ('copy', 'moves the same bytes, HBM to VMEM')
    """

    json_keys: ClassVar = (
        *("*place", "is_fused", "written_bytes", "fused_bytes", "*verdict"),
        *("producer", "readers", "because"),
    )

    instruction: HloInstruction  #: the instruction.
    computation: str  #: the name of the computation that holds it.
    is_fused: bool  #: whether it is in a fusion, so that it writes nothing to memory by itself.
    verdict: Verdict  #: its effect on the bytes; one value for all moves of the same types.
    #: the instruction that makes the operand; None if it is not in the text.
    producer: str | None = late(default=None)
    readers: tuple[str, ...] = late(default=())  #: the instructions that read the result.
    #: the instruction that asks for the layout; None if none is near, and in a fusion.
    force: Force | None = late(default=None)

    @property
    def because(self) -> str | None:
        """Why the layout changes here, in words; None if it is not known."""
        return None if self.force is None else str(self.force)

    @property
    def name(self) -> str:
        """The instruction's name."""
        return self.instruction.name

    @property
    def opcode(self) -> str:
        """The instruction's operation."""
        return self.instruction.opcode

    @property
    def written_bytes(self) -> int:
        """Bytes that it writes to memory: none in a fusion."""
        return 0 if self.is_fused else self.verdict.moved_bytes

    @property
    def fused_bytes(self) -> int:
        """Bytes that it moves inside of a fusion: the fusion reads or writes them in this order."""
        return self.verdict.moved_bytes if self.is_fused else 0

    @property
    def place(self) -> ProgramPlace:
        """The place in the program."""
        return place_of(self)


@frozen
class MoveSum:
    """All moves of one opcode and effect."""

    opcode: str  #: ``copy``, ``transpose`` and the like.
    effect: Effect  #: their effect on the bytes.
    count: int  #: the number of moves.
    fused: int  #: the number of them in fusions.
    written_bytes: int  #: bytes that the others write.
    fused_bytes: int  #: bytes that those in fusions move.


def moves_of(near: Neighbours, fused: frozenset[str]) -> Iterator[HloMove]:
    """Return every move of a program, in the order of the text."""
    for computation in near.module.computations:
        inside = is_fused(computation, fused)
        for instruction in computation.instructions:
            if instruction.opcode in MOVE_OPCODES:
                verdict = verdict_on(instruction)
                if inside or verdict.effect == "free":
                    yield HloMove(instruction, computation.name, inside, verdict)
                else:
                    yield _explained(instruction, computation.name, verdict, near)


def _explained(
    instruction: HloInstruction, computation: str, verdict: Verdict, near: Neighbours
) -> HloMove:
    return HloMove(
        instruction,
        computation,
        False,
        verdict,
        later(lambda: near.producer_name(instruction)),
        later(lambda: near.reader_names(instruction)),
        later(lambda: near.force(instruction)),
    )


def move_sums(moves: Iterable[HloMove]) -> tuple[MoveSum, ...]:
    """Return the moves by opcode and effect, the most bytes written first."""
    found: dict[tuple[str, Effect], list[HloMove]] = {}
    for move in moves:
        found.setdefault((move.opcode, move.verdict.effect), []).append(move)
    sums = (
        MoveSum(
            opcode,
            effect,
            len(group),
            sum(move.is_fused for move in group),
            sum(move.written_bytes for move in group),
            sum(move.fused_bytes for move in group),
        )
        for (opcode, effect), group in found.items()
    )
    return tuple(sorted(sums, key=lambda s: (-s.written_bytes, -s.count, s.opcode, s.effect)))
