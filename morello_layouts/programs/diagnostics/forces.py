"""Why a value inside a program has its layout: the instruction that forces it, its neighbours.

The compiler's layout assignment ignores the reshapes and transposes of a program. Dots,
convolutions, sorts, scatters, custom calls and collectives ask for layouts; neighbours follow.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import FORCE_STEPS, ORIGIN_STEPS, REPORT_PLACES
from morello_layouts.notations.xla import XlaShape
from morello_layouts.programs.hlo import HloComputation, HloInstruction, HloMetadata, HloModule
from morello_layouts.programs.hlo.module import number_of
from morello_layouts.programs.indexing.operations import ELEMENTWISE

# Opcodes of instructions that the compiler adds, whose value is that of their first operand.
_ADDED: Final = frozenset({
    *("copy", "copy-start", "copy-done", "bitcast", "get-tuple-element", "convert", "reshape"),
    *("transpose", "slice", "async-start", "async-done", "custom-call", "opt-barrier", "fusion"),
    *("all-reduce-start", "all-reduce-done", "all-gather-start", "all-gather-done", "broadcast"),
})  # fmt: skip


def origin_of(instruction: HloInstruction) -> HloMetadata:
    """Return the metadata of an instruction, or of what it moves if it has no source line.

    A fusion has that of its root. Nothing is found behind parameters and loops.
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


FORCING: Final = frozenset({
    *("dot", "convolution", "custom-call", "sort", "scatter", "gather", "select-and-scatter"),
    *("reduce-window", "fft", "triangular-solve", "cholesky", "rng-bit-generator", "topk"),
    *("all-gather", "all-reduce", "all-to-all", "reduce-scatter", "collective-permute"),
    *("all-gather-start", "all-reduce-start", "collective-permute-start", "infeed", "outfeed"),
})  # fmt: skip
"""The opcodes whose operands or results have layouts of their own."""

_NAMES: Final = frozenset({"tuple", "get-tuple-element", "bitcast", "copy-done", "copy-start"})
_STOPS: Final = frozenset({"copy", "transpose", "parameter", "while", "conditional", "constant"})


@frozen
class Force:
    """The instruction that a value's layout follows from.

    >>> str(Force("convolution.3", "convolution", "reads", "fusion.4", "model.py:7"))
    'convolution.3 of fusion.4 reads it (model.py:7)'
    """

    json_keys: ClassVar = ("*",)

    instruction: str  #: its name.
    opcode: str  #: its operation.
    #: ``makes`` if it or its followers make the value, ``reads`` if they read it, ``returns`` if
    #: the value is an output of the program.
    relation: str
    through: str | None  #: the fusion that holds it, or None.
    source: str | None  #: file and line, or None.

    def __str__(self) -> str:
        if self.relation == "returns":
            return f"{self.instruction} is an output, whose layout is given"
        of = "" if self.through is None else f" of {self.through}"
        source = "" if self.source is None else f" ({self.source})"
        return f"{self.instruction}{of} {self.relation} it{source}"


class Neighbours:
    """Who makes and who reads the values of a program."""

    def __init__(self, module: HloModule) -> None:
        self.module = module  #: the program.
        self._readers: dict[str, list[HloInstruction]] = defaultdict(list)
        entry = next((c for c in module.computations if c.is_entry and c.instructions), None)
        self._outputs = frozenset() if entry is None else frozenset({entry.root.name})
        for instruction in module.instructions:
            for name in dict.fromkeys(instruction.operand_names):
                self._readers[name].append(instruction)

    def producer(self, instruction: HloInstruction) -> HloInstruction | None:
        """Return the instruction that makes the first operand, behind those that only name it."""
        at: HloInstruction | str | None = instruction
        for _ in range(FORCE_STEPS):
            if isinstance(at, str) or at is None or not at.operands:
                return None
            at = at.operands[0]
            if not isinstance(at, str) and at.opcode not in _NAMES:
                return at
        return None

    def producer_name(self, instruction: HloInstruction) -> str | None:
        """Return the name of what makes the first operand."""
        found = self.producer(instruction)
        return None if found is None else found.name

    def reader_names(self, instruction: HloInstruction) -> tuple[str, ...]:
        """Return the names of the first instructions that read a value."""
        return tuple(each.name for each in self.readers(instruction)[:REPORT_PLACES])

    def readers(self, instruction: HloInstruction) -> list[HloInstruction]:
        """Return the instructions that read a value, behind those that only name it."""
        found: dict[str, HloInstruction] = {}
        pending = deque(self._readers[instruction.name])
        for each in _taken(pending):
            if each.opcode in _NAMES and not each.is_root:
                pending += self._readers[each.name]
            else:
                found[each.name] = each
        return list(found.values())

    def force(self, instruction: HloInstruction) -> Force | None:
        """Return the nearest instruction that asks for a value's layout; None if none is near.

        A copy has the layout that its readers ask for, other values that of what makes them.
        """
        if instruction.name in self._outputs:
            return Force(instruction.name, "output", "returns", None, None)
        above, below = self._above(instruction), self._below(instruction)
        is_copy = instruction.opcode in _STOPS or instruction.opcode == "copy-start"
        for search in (below, above) if is_copy else (above, below):
            found = next(search, None)
            if found is not None:
                return found
        return None

    def bound(self, stored: Iterable[HloInstruction]) -> HloInstruction | None:
        """Return an instruction that a relayout of stored arrays would have to go before or behind.

        Elementwise instructions take any layout, if all their arrays are stored or elementwise too.
        """
        first = list(stored)
        known, pending = {each.name for each in first}, deque(first)
        seen = set(known)
        for at in _taken(pending):
            inner = inner_computation(at)
            for each in (at,) if inner is None else inner.instructions:
                if not _is_free(each):
                    return each
            is_scalar = isinstance(at.shape, XlaShape) and not at.shape.dims
            if at.opcode == "parameter" and at.name not in known and not is_scalar:
                return at
            near = () if is_scalar else self._readers[at.name]
            for other in near if at.opcode == "tuple" else (*near, *at.operands):
                if not isinstance(other, str) and other.name not in seen:
                    seen.add(other.name)
                    pending.append(other)
        return next(iter(pending), None)  # too many to look at

    def _above(self, instruction: HloInstruction) -> Iterator[Force]:
        """Yield the forces on the way up from a value, the nearest first."""
        pending, seen = deque([instruction]), {instruction.name}
        for at in _taken(pending):
            if (found := _forcing(at)) is not None:
                yield _force(found, "makes", at)
            if at.opcode in _STOPS and at is not instruction:
                continue
            for operand in (*_carried_out(at), *at.operands):
                if not isinstance(operand, str) and operand.name not in seen:
                    seen.add(operand.name)
                    pending.append(operand)

    def _below(self, instruction: HloInstruction) -> Iterator[Force]:
        pending, seen = deque([instruction]), {instruction.name}
        for at in _taken(pending):
            for reader in self._readers[at.name]:
                if reader.name in seen:
                    continue
                seen.add(reader.name)
                if (found := self._forcing_reader(reader, at)) is not None:
                    yield _force(found, "reads", reader)
                elif reader.is_root and reader.name in self._outputs:
                    yield Force(reader.name, "output", "returns", None, None)
                elif reader.opcode == "tuple":
                    pending += self._carried_in(reader, at)
                elif reader.opcode not in _STOPS:
                    pending.append(reader)

    def _carried_in(self, state: HloInstruction, at: HloInstruction) -> Iterator[HloInstruction]:
        """Yield the parts of a loop's state that are a value, inside the loop's body."""
        index = str(state.operand_names.index(at.name))
        for loop in self._readers[state.name]:
            body = inner_computation(loop, "while")
            for parameter in () if body is None else body.parameters:
                for part in self._readers[parameter.name]:
                    if _index(part) == index:
                        yield part

    def _forcing_reader(
        self, reader: HloInstruction, value: HloInstruction
    ) -> HloInstruction | None:
        """Return what forces an operand's layout: the reader, or what reads it in a fusion."""
        if reader.opcode != "fusion":
            return reader if reader.opcode in FORCING else None
        inner = inner_computation(reader)
        places = [k for k, name in enumerate(reader.operand_names) if name == value.name]
        if inner is None or not places:
            return None
        pending = deque(i for i in inner.parameters if i.parameter_number in places)
        for at in _taken(pending):
            for each in self._readers[at.name]:
                if each.opcode in FORCING:
                    return each
                pending.append(each)
        return None


def _is_free(instruction: HloInstruction) -> bool:
    """Whether an instruction is elementwise: it takes any layout that all its arrays have."""
    if instruction.opcode == "broadcast":
        return instruction.attributes.get("dimensions", "{}") == "{}"
    return instruction.opcode in _FREE


_PASSED: Final = frozenset({
    *("parameter", "constant", "tuple", "get-tuple-element", "copy-start", "copy-done", "fusion"),
})  # fmt: skip
_MOVING: Final = frozenset({
    *("copy", "map", "domain", "all-reduce", "all-reduce-start", "all-reduce-done"),
    "collective-permute",
})  # fmt: skip
_FREE: Final = _PASSED | {*ELEMENTWISE.split()} - _MOVING


def _taken(pending: deque[HloInstruction]) -> Iterator[HloInstruction]:
    """Take at most FORCE_STEPS instructions from a queue that may grow meanwhile."""
    for _ in range(FORCE_STEPS):
        if not pending:
            return
        yield pending.popleft()


def _carried_out(instruction: HloInstruction) -> Iterator[HloInstruction]:
    """Yield what a loop's body returns for a part of the loop's result."""
    loop = instruction.operands[0] if instruction.opcode == "get-tuple-element" else ""
    body = None if isinstance(loop, str) else inner_computation(loop, "while")
    index = number_of(_index(instruction)) if body is not None else None
    if body is not None and index is not None and index < len(body.root.operands):
        part = body.root.operands[index]
        if not isinstance(part, str):
            yield part


def _index(part: HloInstruction) -> str | None:
    """Return the attribute ``index`` of a part of a tuple; it mostly comes first."""
    first, _, rest = part.attribute_text.partition(",")
    if first[:6] == "index=" and first[6:].isdecimal() and ", index=" not in rest:
        return first[6:]
    return part.attributes.get("index")


def _forcing(instruction: HloInstruction) -> HloInstruction | None:
    """Return the instruction that forces a result's layout: itself, or one inside a fusion."""
    if instruction.opcode in FORCING:
        return instruction
    inner = inner_computation(instruction)
    every: Iterable[HloInstruction] = () if inner is None else reversed(inner.instructions)
    asking = [each for each in every if each.opcode in FORCING]
    # A collective runs beside the work of the fusion that carries it.
    asking.sort(key=lambda each: each.opcode.startswith(("all-", "collective-", "reduce-scatter")))
    return asking[0] if asking else None


def _force(found: HloInstruction, relation: str, holder: HloInstruction) -> Force:
    through = holder.name if found.name != holder.name else None
    source = origin_of(found).source or origin_of(holder).source
    return Force(found.name, found.opcode, relation, through, source)
