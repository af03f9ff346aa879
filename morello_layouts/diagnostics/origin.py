"""Where an instruction comes from in the user's program, also one that the compiler added."""

from __future__ import annotations

from typing import Final

from morello_layouts.hlo import HloComputation, HloInstruction, HloMetadata
from morello_layouts.limits import ORIGIN_STEPS

# Opcodes of instructions that the compiler adds, whose value is that of their first operand.
_ADDED: Final = frozenset({
    *("copy", "copy-start", "copy-done", "bitcast", "get-tuple-element", "convert", "reshape"),
    *("transpose", "slice", "async-start", "async-done", "custom-call", "opt-barrier", "fusion"),
    *("all-reduce-start", "all-reduce-done", "all-gather-start", "all-gather-done", "broadcast"),
})  # fmt: skip


def origin_of(instruction: HloInstruction) -> HloMetadata:
    """Return the metadata of an instruction, or of what it moves if it has no source line.

    A fusion has that of its root. Nothing is found behind parameters and loops.

    >>> import morello_layouts as ml
    >>> text = '''%a = f32[8] negate(%x), metadata={source_file="m.py" source_line=7}
    ... %b = f32[8] copy(%a)'''
    >>> origin_of(ml.read_hlo(text).instruction("b")).source
    'm.py:7'
    """
    own, at = instruction.metadata, instruction
    found = own
    for _ in range(ORIGIN_STEPS):
        if found.source is not None or at.opcode not in _ADDED:
            break
        inner = inner_computation(at)
        after = inner.root if inner is not None else at.operands[0] if at.operands else ""
        if isinstance(after, str):
            break
        at, found = after, after.metadata
    return found if found.source is not None or own.op_name is None else own


def inner_computation(instruction: HloInstruction, opcode: str = "fusion") -> HloComputation | None:
    """Return the first computation that a fusion, or a loop (``while``), calls; None for others."""
    called = instruction.called_computations if instruction.opcode == opcode else ()
    inner = called[0] if called else None
    return inner if isinstance(inner, HloComputation) and inner.instructions else None
