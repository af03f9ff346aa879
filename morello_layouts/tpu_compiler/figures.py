"""The figures of a compiled program: its peak, the bytes that it rewrites, its cycles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from morello_layouts.diagnostics.buffers import fused_names, is_fused
from morello_layouts.diagnostics.moves import HloMove
from morello_layouts.hlo import HloComputation, HloInstruction, HloModule

_ALLOCATION: Final = re.compile(
    r"^allocation [0-9]{1,18}: size ([0-9]{1,18})(?:, color ([0-9]{1,9}))?", re.MULTILINE
)
_CYCLES: Final = re.compile(r'"estimated_cycles":"([0-9]{1,18})"')
_NUMBER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the compiler says of a program, on one device.

    Attributes:
        peak_bytes: bytes of HBM: parameters, results, and what lives between them at the peak.
        vmem_bytes: the same of VMEM.
        moved_bytes: bytes that copies, transposes and reshapes outside of fusions write to HBM or
            VMEM in another layout or type, or a second time to the same memory; in a loop, each
            time.
        cycles: the compiler's estimates of cycles, summed; in a loop, each time. None if it gives
            none. It gives none for some instructions.

    >>> Figures(1024, 0, 512, None).moved_bytes
    512
    """

    json_keys: ClassVar = ("peak_bytes", "vmem_bytes", "moved_bytes", "cycles")

    peak_bytes: int
    vmem_bytes: int
    moved_bytes: int
    cycles: int | None


def peaks(assignment: str) -> tuple[int, int]:
    """Return the bytes of HBM and of VMEM in the compiler's dump of its buffer assignment.

    >>> peaks('''BufferAssignment:
    ... allocation 0: size 4096, parameter 0, shape |f32[8,128]| at ShapeIndex {}:
    ... allocation 1: size 512, color 1, preallocated-temp:''')
    (4096, 512)
    """
    bytes_of = {0: 0, 1: 0}
    for size, color in _ALLOCATION.findall(assignment):
        if int(color or 0) in bytes_of:
            bytes_of[int(color or 0)] += int(size)
    return bytes_of[0], bytes_of[1]


def loop_trips(module: HloModule) -> dict[str, int]:
    """Return how often each computation runs, by its name; fused ones are left out.

    A loop's count is the constant that its condition compares with; 1 if it has none.

    >>> from morello_layouts import read_hlo
    >>> loop_trips(read_hlo('''
    ... %body (a: s32[]) -> s32[] {
    ...   ROOT %a = s32[] parameter(0)
    ... }
    ... %cond (b: s32[]) -> pred[] {
    ...   %b = s32[] parameter(0)
    ...   %n = s32[] constant(7)
    ...   ROOT %c = pred[] compare(%b, %n), direction=LT
    ... }
    ... ENTRY %main (c: s32[]) -> s32[] {
    ...   %c = s32[] parameter(0)
    ...   ROOT %w = s32[] while(%c), condition=%cond, body=%body
    ... }'''))
    {'main': 1, 'body': 7, 'cond': 7}
    """
    fused = fused_names(module)
    trips: dict[str, int] = {}
    callers = [c for c in module.computations if not is_fused(c, fused)]
    # A computation stands before those that call it.
    for computation in reversed(callers):
        own = trips.setdefault(computation.name, 1)
        for instruction in computation.instructions:
            if instruction.opcode in ("while", "conditional", "call"):
                called = [c for c in instruction.called_computations if not isinstance(c, str)]
                times = own * (_trips(called) if instruction.opcode == "while" else 1)
                for each in called:
                    trips[each.name] = max(trips.get(each.name, 0), times)
    return trips


def _trips(called: Iterable[HloComputation]) -> int:
    """Return the constant of a loop's condition, the computation that returns a truth value."""
    for computation in called:
        if str(computation.root.shape).startswith("pred[]"):
            constants = [_constant(i) for i in computation.instructions if i.opcode == "constant"]
            return max([1, *constants])
    return 1


def _constant(instruction: HloInstruction) -> int:
    text = instruction.literal or ""
    return int(text) if _NUMBER.fullmatch(text) else 0


def moved_bytes(moves: Iterable[HloMove], trips: dict[str, int]) -> int:
    """Return the bytes that moves write, each as often as its loop runs.

    A move from one memory space to another is not one: a program has to load what it reads.
    """
    return sum(
        move.written_bytes * trips.get(move.computation, 1)
        for move in moves
        if move.verdict.effect != "memory space"
    )


def cycles(module: HloModule) -> int | None:
    """Return the compiler's estimates of cycles, summed over a program; None without any.

    >>> from morello_layouts import read_hlo
    >>> cycles(read_hlo('%a = f32[8]{0} negate(%b), backend_config={"estimated_cycles":"12"}'))
    12
    """
    trips = loop_trips(module)
    found = [
        int(match[1]) * trips[computation.name]
        for computation in module.computations
        if computation.name in trips
        for instruction in computation.instructions
        if (match := _CYCLES.search(instruction.attribute_text))
    ]
    return sum(found) if found else None
