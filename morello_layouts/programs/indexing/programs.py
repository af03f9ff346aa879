"""Indexing maps of the instructions of a program, through fusions and layouts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Final, TypeAlias

from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import CALL_NESTING, INDEXING_COMPOSITIONS, INDEXING_MAPS
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.notations.xla import XlaShape
from morello_layouts.notations.xla.shape import XlaTuple
from morello_layouts.programs.hlo import HloComputation, HloInstruction
from morello_layouts.programs.indexing.expressions import times
from morello_layouts.programs.indexing.operations import OPERATIONS, OpCall, from_offset, offset_of
from morello_layouts.programs.indexing.symbols import fewer_symbols
from morello_layouts.programs.indexing.values import IndexingMap

_CALLS: Final = ("fusion", "call")


@frozen(slots=False)
class OperandRead(Displayed):
    """One way in which an instruction reads an operand."""

    json_keys: ClassVar = ("operand", "number", "map", "offset", "from_offset", "sources")

    operand: str  #: the operand's name.
    number: int  #: its number among the operands.
    map: IndexingMap  #: from the index in the result to the index in the operand.
    operand_type: XlaShape | None  #: the operand's type; None if it is not an array of known type.
    result_type: XlaShape  #: the type of the result.

    @property
    def sources(self) -> tuple[str, ...]:
        """Where each run-time variable comes from."""
        return self.map.sources

    @cached_property
    def offset(self) -> IndexingMap | None:
        """The map from the index in the result to the offset in the operand's buffer, in elements.

        None if the operand's type is not known.
        """
        if self.operand_type is None:
            return None
        return offset_of(self.operand_type).compose(self.map).simplify()

    @cached_property
    def from_offset(self) -> IndexingMap | None:
        """The map from the offset in the result's buffer to that in the operand's, in elements.

        Offsets of padding are outside of its domain.
        """
        if self.offset is None:
            return None
        return self.offset.compose(from_offset(self.result_type)).simplify()

    @property
    def from_byte(self) -> IndexingMap | None:
        """As :attr:`from_offset`, with the operand's offset in bytes; None for parts of bytes."""
        found, x = self.from_offset, self.operand_type
        if found is None or x is None or x.bits % 8:
            return None
        return replace(found, results=tuple(times(r, x.bits // 8) for r in found.results))

    def __str__(self) -> str:
        return f"{self.operand}: {self.map}"


@frozen(slots=False)
class InstructionIndexing(Displayed):
    """Which elements of its operands each element of an instruction's result reads.

    >>> from morello_layouts import indexing_map, read_hlo
    >>> text = '''HloModule m
    ... f { p = f32[8,4] parameter(0)
    ...     t = f32[4,8] transpose(p), dimensions={1,0}
    ...     ROOT s = f32[2,8] slice(t), slice={[1:3], [0:8]} }
    ... ENTRY e { a = f32[8,4] parameter(0)
    ...           ROOT r = f32[2,8] fusion(a), kind=kLoop, calls=f }'''
    >>> print(indexing_map(read_hlo(text), "r"))
    r: f32[2,8]{1,0} reads
      a: (d0, d1) -> (d1, d0 + 1), domain: d0 in [0, 1], d1 in [0, 7]
    """

    json_keys: ClassVar = ("instruction", "output", "result_type", "reads", "unknown")

    instruction: str  #: the instruction's name.
    output: int  #: the number of the result, for an instruction with several.
    result_type: XlaShape  #: the type of that result.
    #: the ways in which operands are read; an operand may be read in several.
    reads: tuple[OperandRead, ...]
    #: operands of which something is not known, with the reason.
    unknown: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, operand: str | int) -> tuple[IndexingMap, ...]:
        """Return the maps of an operand, by its name or number."""
        wanted = operand.removeprefix("%") if isinstance(operand, str) else operand
        return tuple(r.map for r in self.reads if wanted in (r.operand, r.number))

    def __repr__(self) -> str:
        operands = dict.fromkeys([*(r.operand for r in self.reads), *(x for x, _ in self.unknown)])
        return f"<InstructionIndexing: {self.instruction} reads {', '.join(operands) or 'nothing'}>"

    def __str__(self) -> str:
        part = f"{{{self.output}}}" if self.output else ""
        lines = [f"{self.instruction}{part}: {self.result_type} reads"]
        for read in self.reads:
            lines.append(f"  {read}")
            lines += (f"    {source}" for source in read.sources)
        lines += (f"  {operand}: unknown, {why}" for operand, why in self.unknown)
        return "\n".join(lines if len(lines) > 1 else [lines[0] + " nothing"])


def instruction_indexing(instruction: HloInstruction, output: int = 0) -> InstructionIndexing:
    count = len(instruction.shape.shapes) if isinstance(instruction.shape, XlaTuple) else 1
    if not 0 <= output < count:
        raise LayoutError(
            f"output: expected a number below {count}, got {output}",
            f"{instruction.name} has {count} result{'' if count == 1 else 's'}",
            "number the results from 0",
        )
    call = OpCall(instruction, output)
    found, unknown = _Tracer().of(call)
    reads, failed = [], []
    for k, operand in enumerate(instruction.operand_names):
        for one in found.get(k, ()):
            reads.append(OperandRead(operand, k, one, _type_of(call, k), call.array))
        failed += [(operand, why) for why in unknown.get(k, ())]
    return InstructionIndexing(instruction.name, output, call.array, tuple(reads), tuple(failed))


def _type_of(call: OpCall, k: int) -> XlaShape | None:
    try:
        return call.operand(k)
    except UnsupportedError:
        return None


_Found: TypeAlias = "dict[int, list[IndexingMap]]"
_Unknown: TypeAlias = "dict[int, list[str]]"
_Key: TypeAlias = "tuple[str, int]"


class _Tracer:
    """Maps composed from the root of a fusion to its parameters; used once."""

    def __init__(self) -> None:
        self.work = self.depth = 0

    def of(self, call: OpCall) -> tuple[_Found, _Unknown]:
        instruction = call.instruction
        opcode = instruction.opcode
        if opcode in _CALLS:
            self.depth += 1
            if self.depth > CALL_NESTING:
                call.refuse("computations call each other in a circle, or nest too deep")
            found = self.through(call, self.body(call))
            self.depth -= 1
            return found
        if opcode not in OPERATIONS:
            call.refuse("this opcode has no rule here; XLA's own analysis may have one")
        try:
            maps = OPERATIONS[opcode](call)
        except (ValueError, IndexError, KeyError, StopIteration):
            call.refuse("its attributes do not fit the types of operands and result")
        return {k: one for k, one in enumerate(maps) if one}, {}

    def body(self, call: OpCall) -> HloComputation:
        called = call.instruction.called_computations
        if not called or isinstance(called[0], str) or not called[0].instructions:
            call.refuse("the computation that it calls is not in the text")
        return called[0]

    def through(self, call: OpCall, body: HloComputation) -> tuple[_Found, _Unknown]:
        """Return what a computation's root reads of its parameters."""
        root = _key_of(body.root, call.output)
        identity = call.map(call.dims)
        maps: dict[_Key, dict[IndexingMap, None]] = {root: {identity: None}}
        unknown: dict[_Key, dict[str, None]] = {}
        found: _Found = {}
        failed: _Unknown = {}
        names = dict(enumerate(call.instruction.operand_names))
        given = {p.name: names.get(p.parameter_number or 0, "") for p in body.parameters}
        for instruction in reversed(body.instructions):
            for key in [key for key in (*maps, *unknown) if key[0] == instruction.name]:
                ways, reasons = maps.pop(key, {}), unknown.pop(key, {})
                if not ways and not reasons:
                    continue
                number = instruction.parameter_number
                if number is not None:
                    known = found.setdefault(number, [])
                    known += [_sourced(each, given) for each in ways]
                    failed.setdefault(number, []).extend(reasons)
                    continue
                for operand, each in self.reads(instruction, key[1], ways, reasons):
                    if isinstance(each, IndexingMap) and each.is_known_empty:
                        continue
                    target = maps if isinstance(each, IndexingMap) else unknown
                    target.setdefault(operand, {})[each] = None  # type: ignore[index]
        return found, {k: why for k, why in failed.items() if why}

    def reads(
        self,
        instruction: HloInstruction,
        output: int,
        ways: dict[IndexingMap, None],
        reasons: dict[str, None],
    ) -> Iterator[tuple[_Key, IndexingMap | str]]:
        """Yield the operands of an instruction, each with a map from the root, or a reason."""
        places = [_key_of(instruction, output, k) for k in range(len(instruction.operand_names))]
        try:
            inner, more = self.of(OpCall(instruction, output))
            if len(ways) > INDEXING_MAPS:
                raise UnsupportedError(
                    f"{instruction.name} is read in more than {INDEXING_MAPS} ways", "", ""
                )
        except UnsupportedError as error:
            yield from ((place, error.what) for place in places)
            return
        for k, place in enumerate(places):
            yield from ((place, reason) for reason in (*reasons, *more.get(k, ())))
            yield from ((place, self.composed(a, b)) for a in inner.get(k, ()) for b in ways)

    def composed(self, outer: IndexingMap, inner: IndexingMap) -> IndexingMap | str:
        self.work += 1
        if self.work > INDEXING_COMPOSITIONS:
            return f"more than {INDEXING_COMPOSITIONS} maps are composed"
        try:
            return fewer_symbols(outer.compose(inner))
        except LayoutError as error:
            return error.what


def _key_of(instruction: HloInstruction, output: int, operand: int | None = None) -> _Key:
    """Return the key of an instruction's result, or of what an operand of it is."""
    if operand is None:
        return instruction.name, output
    name = instruction.operand_names[operand]
    if instruction.opcode == "get-tuple-element":
        return name, OpCall(instruction).number("index")
    if instruction.opcode == "optimization-barrier":
        return name, output
    return name, 0


def _sourced(m: IndexingMap, given: dict[str, str]) -> IndexingMap:
    """Return a map whose run-time values come from a fusion's operands, not its parameters."""
    runtimes = []
    for one in m.runtimes:
        if one.source is not None:
            name = given.get(one.source.instruction, one.source.instruction)
            one = replace(one, source=one.source._replace(instruction=name))  # noqa: PLW2901
        runtimes.append(one)
    return replace(m, runtimes=tuple(runtimes))
