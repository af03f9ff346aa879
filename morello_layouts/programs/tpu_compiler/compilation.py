"""Compile a function for a TPU without one, and report on the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Final

from morello_layouts.core.description import count
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.limits import COMPILER_MESSAGE
from morello_layouts.errors import LayoutError
from morello_layouts.machines.tpu_layouts import GENERATIONS
from morello_layouts.notations.xla import XlaShape
from morello_layouts.programs.diagnostics.buffers import Buffer, buffers_of, fused_names, is_fused
from morello_layouts.programs.diagnostics.diagnosis import Diagnosis, diagnose as diagnose_program
from morello_layouts.programs.diagnostics.memory_report import MemoryReport
from morello_layouts.programs.diagnostics.moves import HloMove
from morello_layouts.programs.hlo import HloComputation, HloInstruction, HloModule, read_hlo
from morello_layouts.programs.report import Report, Summary, Table, bytes_text
from morello_layouts.programs.tpu_compiler.process import (
    Compiler,
    Dumps,
    Progress,
    compiled,
    libtpu_compiler,
)

_ALLOCATION: Final = regex(
    r"^allocation [0-9]{1,18}: size ([0-9]{1,18})(?:, color ([0-9]{1,9}))?(?!.*, thread-local)",
    re.MULTILINE,
)
_CYCLES: Final = regex(r'"estimated_cycles":"([0-9]{1,18})"')
_NUMBER: Final = regex(r"[0-9]{1,18}", re.ASCII)


@frozen
class Figures:
    """What the compiler says of a program, on one device.

    >>> Figures(1024, 0, 512, None).moved_bytes
    512
    """

    json_keys: ClassVar = ("peak_bytes", "vmem_bytes", "moved_bytes", "cycles", "async_bytes")

    peak_bytes: int  #: bytes of HBM: parameters, results, and what lives between them at the peak.
    vmem_bytes: int  #: the same of VMEM.
    #: bytes that copies, transposes and reshapes outside of fusions write to HBM or VMEM in another
    #: layout or type, or a second time to the same memory; in a loop, each time.
    moved_bytes: int
    #: the compiler's estimates of cycles, summed; in a loop, each time. None if it gives none. It
    #: gives none for some instructions.
    cycles: int | None
    #: bytes that asynchronous copies and slices write to HBM, of which ``cycles`` has nothing; in a
    #: loop, each time.
    async_bytes: int = 0


def peaks(assignment: str) -> tuple[int, int]:
    """Return the bytes of HBM and of VMEM in the compiler's dump of its buffer assignment.

    What is local to a computation that another one calls, "thread-local", is not reserved.

    >>> peaks('''BufferAssignment:
    ... allocation 0: size 4096, parameter 0, shape |f32[8,128]| at ShapeIndex {}:
    ... allocation 1: size 512, color 1, preallocated-temp:
    ... allocation 2: size 8192, page 0, thread-local:''')
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


def async_bytes(module: HloModule, trips: dict[str, int]) -> int:
    """Return the bytes that asynchronous copies and slices write to HBM, as often as they run.

    >>> from morello_layouts import read_hlo
    >>> async_bytes(read_hlo(
    ...     "%a = (f32[8,128]{1,0:T(8,128)}, f32[8,128]{1,0:T(8,128)S(1)}, u32[]) copy-start(%b)"
    ... ), {})
    4096
    """
    return sum(
        _update(buffer) * trips.get(buffer.computation, 1)
        for buffer in buffers_of(module, fused_names(module))
        if buffer.instruction.opcode.endswith("-start")
        and buffer.shape.layout is not None
        and buffer.shape.layout.memory_space == 0
        and buffer.shape.dims
    )


def _update(buffer: Buffer) -> int:
    """Return the bytes that an asynchronous copy or slice writes; 0 for any other operation."""
    opcode, called = buffer.instruction.opcode, buffer.instruction.called_computations
    root = next((c.root for c in called if not isinstance(c, str)), None)
    what = opcode.removesuffix("-start") if root is None else root.opcode
    if what == "dynamic-update-slice" and root is not None:
        update = root.operands[1]
        shape = None if isinstance(update, str) else update.shape
        return shape.byte_size if isinstance(shape, XlaShape) else 0
    return buffer.shape.byte_size if what in ("copy", "slice", "dynamic-slice") else 0


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


_ASSIGNMENT: Final = "after_optimizations-buffer-assignment.txt"
_PROGRAMS: Final = ("after_optimizations.txt", "oom_intermediate_module.txt")


@frozen
class Compilation(Report):
    """A program that was compiled for a TPU without one: ``print`` it, or see it in a notebook."""

    json_keys: ClassVar = ("generation", "devices", "error", "*figures", "memory", "diagnosis")

    generation: str  #: the generation of TPUs.
    devices: int  #: the number of devices that the program runs on.
    figures: Figures  #: its peak, the bytes that it rewrites, its cycles; of each device.
    error: str  #: why the compiler refused it, such as a lack of memory; empty if it compiled.
    diagnosis: Diagnosis  #: the cost of its layouts, and its memory.
    program: HloModule  #: its HLO after optimization.

    @property
    def memory(self) -> MemoryReport | None:
        """The buffer assignment of the program: who is alive at the peak."""
        return self.diagnosis.memory

    def summary(self) -> Summary:
        """Return the verdict, the peak, and the lines of the diagnosis."""
        found, figures = self.diagnosis.summary(), self.figures
        verdict = "does not compile" if self.error else "compiles"
        where = "" if self.devices == 1 else f" on each of {self.devices} devices"
        copied = f"asynchronous copies to HBM {bytes_text(figures.async_bytes)}"
        if figures.cycles is not None:
            copied += f"; the compiler estimates {figures.cycles:,} cycles, without these"
        moved = f"copies and relayouts write {bytes_text(figures.moved_bytes)}, loops counted"
        lines = [f"HBM at the peak{where}: {bytes_text(figures.peak_bytes)}", f"{moved}; {copied}"]
        lines[0] += f"; VMEM: {bytes_text(figures.vmem_bytes)}"
        others = [line for line in found.lines if line not in self.diagnosis.copies]
        title = f"{found.title} {verdict} for TPU {self.generation}"
        errors = (self.error.partition("\n")[0],) if self.error else ()
        return Summary(title, (*lines, *others), (*errors, *found.warnings))

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of the memory, then those of the diagnosis."""
        alive = () if self.memory is None else self.memory.tables()
        return (*alive, *self.diagnosis.tables())


def compile_module(
    module: bytes,
    generation: str,
    devices: int = 1,
    *,
    top: int | None = 10,
    compiler: Compiler | None = None,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Compilation:
    """Compile a StableHLO module and read the dumps."""
    with compiled(
        module, generation, devices, compiler=compiler, progress=progress, keep=keep
    ) as outcome:
        return read_outcome(outcome, generation, devices, top)


def read_outcome(
    outcome: Dumps, generation: str, devices: int, top: int | None = 10
) -> Compilation:
    """Read the dumps of a compilation."""
    path = next(filter(None, map(outcome.dump, _PROGRAMS)), None)
    assignment = outcome.dump(_ASSIGNMENT)
    if path is None or assignment is None:
        said = outcome.error.strip() or "it left no program"
        raise LayoutError(
            f"the TPU compiler refuses the program: {said.partition(chr(10))[0]}",
            said[:COMPILER_MESSAGE],
            "correct the function; a part of it that compiles shows which part does not",
        )
    program = read_hlo(path)
    diagnosis = diagnose_program(path, generation, top=top)
    scheduled = outcome.dump("after_codegen.txt")
    hbm, vmem = peaks(assignment.read_text())
    trips = loop_trips(program)
    moved, written = moved_bytes(diagnosis.moves, trips), async_bytes(program, trips)
    estimated = None if scheduled is None else cycles(read_hlo(scheduled))
    figures = Figures(hbm, vmem, moved, estimated, written)
    return Compilation(generation, devices, figures, outcome.error, diagnosis, program)


def held_bytes(found: Compilation) -> dict[int, int]:
    """Return the bytes of HBM that arrays hold and copies write, by the number of elements.

    That is what a change of such an array can save: its largest buffer and its padding, and each
    copy as often as its loop runs.
    """
    module, held = found.program, dict[int, int]()
    for buffer in buffers_of(module, fused_names(module)):
        shape = buffer.shape
        if shape.layout is not None and shape.layout.memory_space == 0:
            elements = prod(shape.shape)
            size = 2 * shape.byte_size - shape.data_bytes
            held[elements] = max(held.get(elements, 0), size)
    trips = loop_trips(module)
    for move in found.diagnosis.moves:
        result, written = move.instruction.shape, moved_bytes([move], trips)
        if isinstance(result, XlaShape) and written:
            held[prod(result.shape)] = held.get(prod(result.shape), 0) + written
    return held


def require_generation(generation: str) -> None:
    """Raise a LayoutError unless the compiler knows a generation."""
    if generation not in GENERATIONS:
        raise LayoutError(
            f"{generation!r} is not a known generation of TPUs",
            "the compiler compiles for one generation",
            f"give one of {', '.join(GENERATIONS)}",
        )


def module_of(
    function: Any, arguments: Sequence[Any], mesh: Any = None
) -> tuple[bytes, int] | HloModule:
    """Return what to compile and for how many devices; or the program of a compiled function."""
    with importing:
        from morello_layouts.programs.tpu_compiler.program import bytecode, partitions, trace

    if hasattr(function, "compiler_ir") and hasattr(function, "compile"):
        _require_no_arguments(arguments, "lowered")
        module = function.compiler_ir("stablehlo")
        return bytecode(module), partitions(module)
    if hasattr(function, "runtime_executable") and hasattr(function, "as_text"):
        _require_no_arguments(arguments, "compiled")
        return read_hlo(function.as_text() + "\n")
    if not callable(function):
        raise LayoutError(
            f"function: expected a function of JAX, got {type(function).__name__}",
            "a function, or what jax.jit(f).lower(…) or .compile() returns, is compiled",
            "give the function, and its arguments after it",
        )
    program = trace(function, arguments, mesh)
    return program.module(), program.devices


def _require_no_arguments(arguments: Sequence[Any], what: str) -> None:
    if arguments:
        raise LayoutError(
            f"a {what} function with {count(len(arguments), 'argument')}",
            f"a {what} function has its shapes already",
            "leave the arguments out",
        )


def diagnose(
    function: Callable[..., Any] | Any,
    *arguments: Any,
    generation: str = "v5e",
    mesh: Any = None,
    top: int | None = 10,
    compiler: Compiler | None = None,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Compilation | Diagnosis:
    """Compile a JAX function for a TPU, without one, and report on the program.

    The compiler of libtpu runs in a process of its own, whose time and memory are bounded; the
    extra ``[tpu]`` installs it. Nothing is run on a TPU.

    Args:
        function: of arrays or trees of arrays; or what ``jax.jit(f).lower(…)`` returns. The program
            of what ``.compile()`` returns is reported on as it is.
        arguments: an array, a ``jax.ShapeDtypeStruct``, or a text such as ``f32[8,128]`` for each
            array. A text's layout, as in ``f32[8,128]{0,1}``, is the parameter's. Other values are
            bound with ``functools.partial``.
        generation: one of ``ml.tpu.GENERATIONS``.
        mesh: a mapping from the names of a mesh's axes to their sizes, or a mesh of JAX, for a
            function that is sharded. The shardings are those of the arguments.
        top: the number of most wasteful arrays to list; None for all.
        compiler: the command that compiles, with its bounds.
        progress: is told, in a line, how far the compilation is.
        keep: a folder that gets the compiler's dumps.

    Raises:
        LayoutError: if the compiler is not here or takes too much, or if the function does not take
            the arguments.

    >>> import morello_layouts as ml
    >>> ml.tpu.diagnose(lambda x: x + 1, "f32[8,128]", generation="v1")
    Traceback (most recent call last):
        ...
    morello_layouts.errors.LayoutError: 'v1' is not a known generation of TPUs
    the compiler compiles for one generation
    give one of v2, v3, v4, v5e, v5p, v6e, tpu7x
    """
    require_generation(generation)
    compiler = libtpu_compiler() if compiler is None else compiler
    found = module_of(function, arguments, mesh)
    if isinstance(found, HloModule):
        return diagnose_program(found, generation, top=top)
    module, devices = found
    return compile_module(
        module, generation, devices, top=top, compiler=compiler, progress=progress, keep=keep
    )
