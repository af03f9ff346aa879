"""Chains of moves in a program, and which of their copies one pass would make needless.

A move keeps values and changes places: a copy, transpose, reshape, slice, pad, concatenation,
broadcast, reversal, or a fusion of such alone. A copy whose readers are all moves is needless: each
of them could read what it copies. This is a claim about the text; no compiler was asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Final, Literal

from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import CHAIN_MAPS, CHAIN_STEPS
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.notations.xla import XlaShape
from morello_layouts.programs.diagnostics.buffers import is_fused
from morello_layouts.programs.diagnostics.forces import Neighbours, inner_computation
from morello_layouts.programs.diagnostics.moves import verdict_on
from morello_layouts.programs.hlo import HloComputation, HloInstruction
from morello_layouts.programs.indexing import IndexingMap, OperandRead
from morello_layouts.programs.indexing.operations import offset_of
from morello_layouts.programs.indexing.programs import instruction_indexing
from morello_layouts.programs.report import bytes_text

_PURE: Final = frozenset({
    *("copy", "transpose", "reshape", "bitcast", "bitcast-convert", "slice", "pad"),
    *("concatenate", "broadcast", "reverse"),
})  # fmt: skip
_FREE_OR_NOT: Final = ("copy", "transpose", "reshape", "bitcast")
_IN_FUSION: Final = _PURE | {"parameter", "constant"}


@frozen
class ChainStep:
    """A move of a chain."""

    instruction: str  #: its name.
    opcode: str  #: its operation.
    result: str  #: the type of its result, as text.
    written_bytes: int  #: bytes that it writes; 0 if it only names bytes.
    is_needless: bool  #: whether the chain does without what it writes.


@frozen
class MoveChain:
    """Moves one after the other; the first one reads a value that no move made.

    >>> from morello_layouts import diagnose, read_hlo
    >>> text = '''%a = f32[8,4]{1,0} negate(%x)
    ... %b = f32[4,8]{1,0} transpose(%a), dimensions={1,0}
    ... %c = f32[2,8]{1,0} slice(%b), slice={[0:2], [0:8]}
    ... %d = f32[2,8]{1,0} add(%c, %c)'''
    >>> print(diagnose(read_hlo(text)).chains[0])
    a → b → c: one relayout would do, (d0, d1) -> (d1, d0); b writes 128 B for it
    """

    json_keys: ClassVar = ("*", "saved_bytes")

    source: str  #: the instruction whose result the chain moves.
    source_type: str  #: its type, as text.
    steps: tuple[ChainStep, ...]  #: the moves, in order.
    map: IndexingMap  #: from the index in the last result to the index in the source.
    #: ``free`` if the last result has the source's bytes, so that no move is needed; ``one pass``
    #: if one relayout would do; ``kept`` if no copy of it is needless.
    verdict: Literal["free", "one pass", "kept"]
    because: str | None = None  #: why what remains is needed; None if that is not known.

    @property
    def needless(self) -> tuple[ChainStep, ...]:
        """The steps whose copies are not needed."""
        return tuple(step for step in self.steps if step.is_needless)

    @property
    def saved_bytes(self) -> int:
        """Bytes that the needless steps write."""
        return sum(step.written_bytes for step in self.needless)

    @property
    def path(self) -> str:
        """The names of the source and the steps."""
        return " → ".join([self.source, *(step.instruction for step in self.steps)])

    @property
    def advice(self) -> str:
        """What would do instead, in words."""
        if self.verdict == "kept":
            return "no copy is needless"
        writes = ", ".join(
            f"{step.instruction} writes {bytes_text(step.written_bytes)}" for step in self.needless
        )
        if self.verdict == "free":
            return f"the last result has the bytes of the source; {writes} for nothing"
        return f"one relayout would do, {self.map.function}; {writes} for it"

    def __str__(self) -> str:
        return f"{self.path}: {self.advice}"


class _MoveGraph:
    """The moves of a computation: what each reads and writes, and who reads it."""

    def __init__(self, computation: HloComputation) -> None:
        self.readers: dict[str, list[HloInstruction]] = defaultdict(list)
        self.reads: dict[str, list[int]] = {}
        self.written: dict[str, int] = {}
        self.absorbed: set[str] = set()
        root = computation.root
        self.made = {i.name for i in computation.instructions if i.opcode != "parameter"}
        self.outputs = {root.name} if computation.is_entry else set[str]()
        if computation.is_entry and root.opcode == "tuple":
            self.outputs.update(root.operand_names)
        for instruction in computation.instructions:
            for name in dict.fromkeys(instruction.operand_names):
                self.readers[name].append(instruction)
            if reads := _reads(instruction):
                self.reads[instruction.name] = reads
                self.written[instruction.name] = _written(instruction)
        for instruction in reversed(computation.instructions):
            if instruction.name in self.reads and not instruction.is_root:
                readers = self.readers[instruction.name]
                if readers and all(self.takes_over(each) for each in readers):
                    self.absorbed.add(instruction.name)

    def takes_over(self, reader: HloInstruction) -> bool:
        """Whether a reader is a move that could read the source itself."""
        name = reader.name
        return name in self.reads and (self.written[name] > 0 or name in self.absorbed)

    def other_reader(self, name: str) -> str | None:
        """Return a reader that is not a move, or the program's result; None without one."""
        if name in self.outputs:
            return "the program returns it"
        for each in self.readers[name]:
            if not self.takes_over(each):
                return f"{each.name} reads it"
        return None


def _reads(instruction: HloInstruction) -> list[int]:
    """Return the numbers of the arrays that a move reads; nothing for another instruction."""
    body = inner_computation(instruction)
    if body is None and instruction.opcode not in _PURE:
        return []
    if body is not None and not _is_pure(body):
        return []
    found = []
    for k, operand in enumerate(instruction.operands):
        shapes = instruction.operand_shapes
        shape = shapes[k] if isinstance(operand, str) and shapes else None
        shape = shape if isinstance(operand, str) else operand.shape
        if not isinstance(shape, XlaShape) or shape.dims:
            if not _is_same_space(shape, instruction.shape):
                return []
            found.append(k)
    return found


def _is_pure(body: HloComputation) -> bool:
    """Whether a fusion only moves: each of its values goes one way, to its root."""
    names = [name for i in body.instructions for name in i.operand_names]
    scalars = {i.name for i in body.instructions if i.opcode == "constant"}
    arrays = [name for name in names if name not in scalars]
    return all(i.opcode in _IN_FUSION for i in body.instructions) and (
        len(set(arrays)) == len(arrays)
    )


def _is_same_space(x: object, y: object) -> bool:
    """Whether two arrays lie in one memory space, with elements of one width."""
    if not isinstance(x, XlaShape) or not isinstance(y, XlaShape):
        return False
    if x.layout is None or y.layout is None or x.bits != y.bits:
        return False
    return x.layout.memory_space == y.layout.memory_space


def _written(instruction: HloInstruction) -> int:
    shape = instruction.shape
    assert isinstance(shape, XlaShape)
    if instruction.opcode in _FREE_OR_NOT:
        return verdict_on(instruction).moved_bytes
    return shape.byte_size


def chains_of(near: Neighbours, fused: frozenset[str]) -> tuple[MoveChain, ...]:
    """Return the chains of moves of a program, those with the most needless bytes first."""
    found = [
        chain
        for computation in near.module.computations
        if computation.instructions and not is_fused(computation, fused)
        for chain in _chains(computation, near)
    ]
    return tuple(sorted(found, key=lambda chain: -chain.saved_bytes))


def _chains(computation: HloComputation, near: Neighbours) -> Iterator[MoveChain]:
    moves = _MoveGraph(computation)
    for last in computation.instructions:
        if not moves.written.get(last.name) or last.name in moves.absorbed:
            continue
        for number in moves.reads[last.name]:
            steps, source, at = [last], last.operand_names[number], [number]
            while source in moves.absorbed and len(steps) < CHAIN_STEPS:
                steps.insert(0, computation[source])
                at.insert(0, moves.reads[source][0])
                source = steps[0].operand_names[at[0]]
            is_kept = moves.written.get(source, 0) > 0 and moves.other_reader(source) is not None
            writes = sum(moves.written[step.name] > 0 for step in steps)
            if is_kept or writes > 1 or last.opcode == "fusion":
                with suppress(LayoutError):  # what a step reads is not known
                    chain = _chain(moves, steps, _read(steps, at), near)
                    if is_kept or chain.needless:
                        yield chain


def _read(steps: Sequence[HloInstruction], at: Sequence[int]) -> OperandRead:
    """Return what the last of some moves reads of the first one's operand."""
    found: OperandRead | None = None
    for step, number in zip(reversed(steps), reversed(at), strict=True):
        reads = [r for r in instruction_indexing(step).reads if r.number == number]
        if len(reads) != 1:
            raise UnsupportedError(
                f"{step.name} reads operand {number} in {len(reads)} ways",
                "a chain is about one",
                "ask ml.indexing_map about the instruction",
            )
        read = reads[0]
        if found is not None:
            read = replace(read, map=_after(read.map, found.map), result_type=found.result_type)
        found = read
    assert found is not None
    return found


def _chain(
    moves: _MoveGraph, steps: Sequence[HloInstruction], read: OperandRead, near: Neighbours
) -> MoveChain:
    """Return the chain of some moves that together read a value."""
    last = steps[-1]
    types = read.operand_type, read.result_type
    is_free = len(moves.reads[last.name]) == 1 and _keeps_bytes(read.map, *types)
    is_free &= len(steps) > 1 or last.opcode == "fusion"  # a copy of the same bytes is a wish
    needless = [step for step in steps if moves.written[step.name] and (is_free or step != last)]
    verdict: Literal["free", "one pass", "kept"]
    verdict = "free" if is_free else "one pass" if needless else "kept"
    return MoveChain(
        read.operand,
        str(read.operand_type),
        tuple(
            ChainStep(
                step.name, step.opcode, str(step.shape), moves.written[step.name], step in needless
            )
            for step in steps
        ),
        read.map,
        verdict,
        _because(moves, verdict, read.operand, last, near),
    )


@lru_cache(CHAIN_MAPS)
def _after(outer: IndexingMap, inner: IndexingMap) -> IndexingMap:
    """Return two maps as one. They have no names of a user's, which equality ignores."""
    return outer.compose(inner).simplify()


@lru_cache(CHAIN_MAPS)
def _keeps_bytes(reads: IndexingMap, x: XlaShape | None, y: XlaShape) -> bool:
    """Whether each element of an array y lies where that of x lies from which it comes."""
    if x is None or x.byte_size != y.byte_size:
        return False
    if len(reads.variables) == len(y.shape):
        before, after = offset_of(x), offset_of(y)
        for dim in range(-1, len(y.shape)):
            at = [(n - 1) * (k == dim) for k, n in enumerate(y.shape)]
            if reads.contains(*at) and before(*reads(*at)) != after(*at):
                return False
    found = OperandRead("", 0, reads, x, y).from_offset
    return found is not None and found.results == ("d0",)


def _because(
    moves: _MoveGraph, verdict: str, source: str, last: HloInstruction, near: Neighbours
) -> str | None:
    """Return why what remains is needed."""
    if verdict == "free":
        is_output = last.name in moves.outputs and source not in moves.made
        return f"{last.name} stays unless {source} is donated" if is_output else None
    if verdict == "kept":
        return f"{source} stays: {moves.other_reader(source)}"
    force = near.force(last) or moves.other_reader(last.name)
    return None if force is None else f"{last.name} stays: {force}"
