"""Read buffer assignments: where the compiler puts each value of a program, and how long it lives.

XLA writes one beside each optimised program, as ``*buffer-assignment.txt``.

A compiled program of JAX holds its HLO text and its assignment. JAX is not imported: a program is
known by the names of its type. The buffer assignment is a message of protocol buffers, whose fields
XLA's ``buffer_assignment.proto`` and ``hlo.proto`` name.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import chain
from typing import Any, ClassVar, Final, TypeAlias

from morello_layouts.core.checks import shown
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations import parse
from morello_layouts.notations.xla import XlaValue
from morello_layouts.programs.hlo.builder import ShapeTable
from morello_layouts.programs.hlo.module import HloComputation, HloInstruction, HloModule
from morello_layouts.programs.hlo.scanner import open_lines

BEFORE_LAYOUTS: Final = (
    "this is the program before compilation: its layouts are defaults, not the compiler's choice; "
    "give lowered.compile()"
)


def is_program(value: object) -> bool:
    """Return whether a value is a program of JAX, lowered or compiled."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == "jax" and kind.__name__ in ("Lowered", "Compiled")


def text_of(program: Any) -> str:
    """Return a program's HLO text.

    Raises:
        LayoutError: if the compiler keeps none.
    """
    is_compiled = type(program).__name__ == "Compiled"
    text = program.as_text() if is_compiled else program.as_text(dialect="hlo")
    if isinstance(text, str) and text.strip():
        return text
    raise LayoutError(
        f"{shown(program)} has no HLO text",
        "the compiler of this device does not give it",
        "compile with XLA_FLAGS=--xla_dump_to=DIR, and give a file of that folder",
    )


Message: TypeAlias = "list[tuple[int, int | bytes]]"


def _message(data: bytes) -> Message:
    """Return the fields of a message: pairs of a number and a value."""
    found: Message = []
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            found.append((tag >> 3, number()))
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or number()
            found.append((tag >> 3, data[at : at + size]))
            at += size
    return found


def _numbers(message: Message) -> dict[int, int]:
    return {key: value for key, value in message if isinstance(value, int)}


def _parts(message: Message, key: int) -> Iterator[Message]:
    yield from (_message(value) for each, value in message if each == key and value != 0
                and isinstance(value, bytes))  # fmt: skip


def _packed(message: Message, key: int) -> list[int]:
    """Return a repeated number, packed or not."""
    found: list[int] = []
    for each, value in message:
        if each == key and isinstance(value, int):
            found.append(value)
        elif each == key and isinstance(value, bytes):
            found += _varints(value)
    return found


def _varints(data: bytes) -> list[int]:
    spread = b"".join(b"\x08" + part for part in _split(data))
    return [value for _, value in _message(spread) if isinstance(value, int)]


def _split(data: bytes) -> Iterator[bytes]:
    start = 0
    for k, byte in enumerate(data):
        if byte < 128:
            yield data[start : k + 1]
            start = k + 1


def assignment_of(compiled: Any, module: HloModule) -> str:
    """Return the buffer assignment of a compiled program, as the text that XLA dumps.

    Args:
        compiled: the program.
        module: the same program as it was read, for the types of values.

    Raises:
        LayoutError: if JAX does not give it.
    """
    stats = getattr(compiled, "memory_analysis", lambda: None)()
    data = getattr(stats, "serialized_buffer_assignment_proto", None)
    modules = getattr(getattr(compiled, "runtime_executable", lambda: None)(), "hlo_modules", None)
    if not data or modules is None:
        raise LayoutError(
            f"{shown(compiled)} has no buffer assignment",
            "a compiled program has it with jaxlib from 0.7 on, on most devices",
            "compile with XLA_FLAGS=--xla_dump_to=DIR, and give a file of that folder",
        )
    shapes = {each.name: str(each.shape) for each in module.instructions}
    try:
        return "\n".join(_lines(_message(bytes(data)), _names(modules()[0]), shapes))
    except (IndexError, KeyError) as error:
        raise LayoutError(
            f"the buffer assignment of {shown(compiled)} is not understood: {error}",
            "its fields are those of XLA's buffer_assignment.proto",
            "compile with XLA_FLAGS=--xla_dump_to=DIR, and give a file of that folder",
        ) from None


def _names(module: Any) -> dict[int, str]:
    """Return the names of instructions by their numbers."""
    names: dict[int, str] = {}
    for computation in _parts(_message(module.as_serialized_hlo_module_proto()), 3):
        for instruction in _parts(computation, 2):
            text = next(value for key, value in instruction if key == 1)
            names[_numbers(instruction)[35]] = text.decode() if isinstance(text, bytes) else ""
    return names


def _lines(message: Message, names: dict[int, str], shapes: dict[str, str]) -> Iterator[str]:
    buffers: dict[int, tuple[str, list[int], int]] = {}
    for buffer in _parts(message, 1):
        own = _numbers(buffer)
        (place,) = _parts(buffer, 3)
        buffers[own.get(1, 0)] = (names[_numbers(place)[4]], _packed(place, 3), own.get(4, 0))
    yield "BufferAssignment:"
    for allocation in _parts(message, 3):
        own = _numbers(allocation)
        words = [f"size {own.get(2, 0)}"]
        words += [f"color {own[8]}"] if own.get(8) else []
        words += [f"parameter {own.get(6, 0)}"] if own.get(5) else []
        words += ["constant"] if own.get(12) else []
        words += ["thread-local"] if own.get(3) else []
        words += ["maybe-live-out"] if own.get(7) else []
        words += ["preallocated-temp"] if len(words) == 1 + bool(own.get(8)) else []
        yield f"allocation {own.get(1, 0)}: {', '.join(words)}:"
        for value in _parts(allocation, 9):
            at = _numbers(value)
            name, path, _ = buffers[at.get(1, 0)]
            where = f"{{{','.join(map(str, path))}}}" if path else ""
            size = f"(size={at.get(3, 0)},offset={at.get(2, 0)})"
            shape = _part(shapes[name], path)
            yield f" value: <{at.get(1, 0)} {name}{where} @0> {size}: {shape}"


def _part(shape: str, path: list[int]) -> str:
    """Return the type of a part of a tuple."""
    if not path:
        return shape
    return next(str(each) for at, each in parse(shape).arrays() if [*at] == path)


_NUMBER: Final = r"([0-9]{1,18})"
_ALLOCATION: Final = regex(rf"allocation {_NUMBER}: size {_NUMBER}((?:, .*)?):\s*\Z", re.ASCII)
_PARAMETER: Final = regex(rf"parameter {_NUMBER}\b", re.ASCII)
_COLOR: Final = regex(rf"color {_NUMBER}\b", re.ASCII)
_VALUE: Final = regex(
    rf" value: <{_NUMBER} ([^\s{{]++)((?:\{{[0-9,]*+\}})?) (\(phi\) )?@{_NUMBER}> "
    rf"\(size={_NUMBER},offset={_NUMBER}\): (.*\S)\s*\Z",
    re.ASCII,
)


@frozen
class PlacedValue:
    """A value of a program and its place in an allocation."""

    json_keys: ClassVar = ("name", "size", "offset", "shape", "allocation")

    instruction: str  #: the name of the instruction that defines it.
    path: tuple[int, ...]  #: its position in the tuples of the instruction's result.
    size: int  #: the bytes that it takes.
    offset: int  #: the first byte, from the beginning of the allocation.
    shape: XlaValue  #: its type; a tuple is a table of addresses.
    is_phi: bool  #: whether it joins the values that enter a loop and those that its body returns.
    allocation: int  #: the number of the allocation.

    @property
    def name(self) -> str:
        """The instruction's name with the path, as in ``fusion.3{1}``."""
        return self.instruction + "".join(f"{{{k}}}" for k in self.path)


@frozen
class Allocation:
    """A piece of memory that the compiler reserves."""

    json_keys: ClassVar = ("number", "size", "space", "kind", "parameter", "is_live_out")

    number: int  #: its number.
    size: int  #: its bytes.
    space: int  #: the memory space, XLA's color: 0 is HBM, 1 VMEM, 2 SMEM, 5 the host.
    kind: str  #: ``parameter``, ``output``, ``temporary``, ``constant`` or ``thread-local``.
    parameter: int | None  #: the parameter's number, or None.
    is_live_out: bool  #: whether it may hold an output: a parameter then is donated.
    values: tuple[PlacedValue, ...] = field(repr=False)  #: the values that lie in it.


@frozen
class BufferAssignment:
    """The allocations of a program.

    >>> text = '''BufferAssignment:
    ... allocation 0: size 512, color 1, preallocated-temp:
    ...  value: <1 add.2 @1> (size=512,offset=0): f32[3]{0:T(128)S(1)}
    ... '''
    >>> (found,) = read_assignment(text).allocations
    >>> found.kind, found.space, found.values[0].name
    ('temporary', 1, 'add.2')
    """

    allocations: tuple[Allocation, ...]  #: in the order of the text.
    warnings: tuple[str, ...] = ()  #: problems that a reader should know of.

    @property
    def values(self) -> Iterator[PlacedValue]:
        """All values of all allocations."""
        return (value for allocation in self.allocations for value in allocation.values)

    def total(self, space: int) -> int:
        """Return the bytes of all allocations in a memory space."""
        return sum(each.size for each in self.allocations if each.space == space)

    @property
    def spaces(self) -> tuple[int, ...]:
        """The memory spaces that have allocations."""
        return tuple(sorted({each.space for each in self.allocations}))


# Words after the size, and the kind of allocation that they mean; the first one that is there.
_KINDS: Final = {
    "parameter ": "parameter",
    "constant": "constant",
    "thread-local": "thread-local",
    "preallocated-temp": "temporary",
    "output shape": "output",
    "maybe-live-out": "output",
}


def read_assignment(source: str | os.PathLike[str]) -> BufferAssignment:
    """Return the buffer assignment in a text, or in the file of a path.

    Lines of other kinds, such as the uses that XLA lists for CPUs and GPUs, are skipped.

    Raises:
        ParseError: if the text holds no allocation.
        LayoutError: if a file cannot be read.
    """
    shapes, warnings = ShapeTable(), list[str]()
    found: list[tuple[tuple[str, ...], list[PlacedValue]]] = []
    with open_lines(source, None) as lines:
        for line in lines:
            head = _ALLOCATION.match(line)
            if head is not None:
                found.append((head.groups(), []))
            elif found and (match := _VALUE.match(line)) is not None:
                try:
                    found[-1][1].append(_placed(match, int(found[-1][0][0]), shapes))
                except LayoutError as error:
                    warnings.append(f"line {lines.number} is left out: {error.what}")
    if not found:
        raise ParseError(
            "the text holds no buffer assignment",
            "it has no line 'allocation 0: size 512, …:'",
            "give the file *buffer-assignment.txt of a dump",
            text="",
            position=0,
        )
    allocations = (_allocation(head, values) for head, values in found)
    return BufferAssignment(tuple(allocations), tuple(warnings[:1]))


def _placed(match: re.Match[str], allocation: int, shapes: ShapeTable) -> PlacedValue:
    _, name, path, phi, _, size, offset, shape = match.groups()
    at = tuple(int(k) for k in path[1:-1].split(",") if k)
    return PlacedValue(name, at, int(size), int(offset), shapes[shape], phi is not None, allocation)


def _allocation(head: tuple[str, ...], values: list[PlacedValue]) -> Allocation:
    number, size, words = head
    kinds = (kind for word, kind in _KINDS.items() if f", {word}" in words)
    parameter, color = _PARAMETER.search(words), _COLOR.search(words)
    return Allocation(
        int(number),
        int(size),
        0 if color is None else int(color[1]),
        next(kinds, "temporary"),
        None if parameter is None else int(parameter[1]),
        ", maybe-live-out" in words,
        tuple(values),
    )


Path: TypeAlias = tuple[int, ...]
Position: TypeAlias = tuple[str, Path]
"""An instruction, by its name, and the path of a part of its result."""

Parts: TypeAlias = dict[Path, frozenset[Position]]
"""The values that lie at each part of a result."""

# Opcodes whose computations run as part of the schedule.
_CALLERS: Final = frozenset({"while", "conditional", "call", "async-start"})
_SAME_BYTES: Final = frozenset({"bitcast", "opt-barrier", "optimization-barrier", "add-dependency"})
_NAMES_ONLY: Final = _SAME_BYTES | {"tuple", "get-tuple-element", "parameter"}


class Schedule:
    """The instructions of a program in the order in which they run, and the lives of its values."""

    def __init__(self, module: HloModule, values: Iterable[PlacedValue]) -> None:
        self.order: list[HloInstruction] = []  #: the instructions.
        self._begin: dict[str, int] = {}
        self._end: dict[str, int] = {}
        self._last: dict[Position, int] = {}
        self._own: dict[str, Parts] = defaultdict(dict)
        self._parts: dict[str, Parts] = {}
        self._callers: dict[str, list[tuple[HloInstruction, int]]] = defaultdict(list)
        self._parameters_of: dict[str, str] = {}
        for value in values:
            self._own[value.instruction][value.path] = frozenset({(value.instruction, value.path)})
        self._number(module.entry)
        for time, instruction in enumerate(self.order):
            self._parts[instruction.name] = {
                **self._named(instruction),
                **self._own.get(instruction.name, {}),
            }
            if instruction.opcode not in _NAMES_ONLY:
                self._use(instruction, time)
        for parts in self._parts.get(module.entry.root.name, {}).values():
            self._last.update(dict.fromkeys(parts, len(self.order) - 1))

    def life(self, value: PlacedValue) -> tuple[int, int] | None:
        """Return the first and the last place in ``order`` at which a value is live.

        None if the program does not define it.
        """
        name = value.instruction
        if name not in self._end:
            return None
        begin = self._end[name]
        return begin, max(self._last.get((name, value.path), begin), begin)

    def _number(self, entry: HloComputation) -> None:
        """Put the instructions in order, those of called computations before the caller."""
        seen = {entry.name}
        frames: list[tuple[Iterator[HloInstruction], HloInstruction | None]]
        frames = [(iter(entry.instructions), None)]
        while frames:
            rest, caller = frames[-1]
            instruction = next(rest, None)
            if instruction is None:
                frames.pop()
                if caller is not None:
                    self._append(caller)
                continue
            self._begin[instruction.name] = len(self.order)
            called = self._called(instruction)
            for k, each in enumerate(called):
                self._callers[each.name].append((instruction, k))
                self._parameters_of.update((i.name, each.name) for i in each.parameters)
            new = [each for each in called if each.name not in seen]
            seen.update(each.name for each in new)
            if new:  # a loop names its body first, and its condition runs first
                inner = chain.from_iterable(each.instructions for each in reversed(new))
                frames.append((inner, instruction))
            else:
                self._append(instruction)

    def _append(self, instruction: HloInstruction) -> None:
        self._end[instruction.name] = len(self.order)
        self.order.append(instruction)

    def _called(self, instruction: HloInstruction) -> list[HloComputation]:
        if instruction.opcode not in _CALLERS:
            return []
        return [c for c in instruction.called_computations if isinstance(c, HloComputation)]

    def _use(self, instruction: HloInstruction, time: int) -> None:
        """Note a use of all parts of the operands, and of what the called computations return."""
        called = [c for c in self._called(instruction) if c.instructions]
        inside: set[Path] = set()
        if instruction.opcode == "while":
            inside = self._carried(called)
            del called[1:]  # the condition returns a flag, for itself
        for name in instruction.operand_names:
            for path, parts in self._parts.get(name, {}).items():
                last = self._begin[instruction.name] if path in inside else time
                self._last.update((v, max(last, self._last.get(v, 0))) for v in parts)
        for each in called:
            for parts in self._parts.get(each.root.name, {}).values():
                self._last.update(dict.fromkeys(parts, time))

    def _carried(self, called: Iterable[HloComputation]) -> set[Path]:
        """Return the parts of a loop's state that have a value of their own from its begin on."""
        parameters = (i.name for c in called for i in c.parameters)
        return {path for name in parameters for path in self._own.get(name, {})}

    def _operand(self, instruction: HloInstruction, k: int) -> Parts:
        names = instruction.operand_names
        return self._parts.get(names[k], {}) if k < len(names) else {}

    def _named(self, instruction: HloInstruction) -> Parts:
        """Return the parts of a result that are parts of operands or of called computations."""
        opcode, first = instruction.opcode, self._operand(instruction, 0)
        if opcode == "get-tuple-element":
            return _below(first, instruction.attributes.get("index", ""))
        if opcode == "tuple":
            every = (self._operand(instruction, k) for k in range(len(instruction.operand_names)))
            return {(k, *path): v for k, parts in enumerate(every) for path, v in parts.items()}
        if opcode in _SAME_BYTES:
            return first
        if opcode == "parameter":
            return self._passed(instruction)
        if opcode == "copy-start":
            return {(1, *path): v for path, v in first.items()}
        if opcode.endswith(("-done", "-update")):
            return self._finished(instruction, first)
        roots = [
            self._parts.get(c.root.name, {}) for c in self._called(instruction) if c.instructions
        ]
        if opcode == "while":
            inside = self._carried(self._called(instruction))
            kept = {path: v for path, v in first.items() if path not in inside}
            return _union([kept, *roots[:1]])
        if opcode == "async-start":
            every = (self._operand(instruction, k) for k in range(len(instruction.operand_names)))
            inputs = {(0, k, *p): v for k, parts in enumerate(every) for p, v in parts.items()}
            return {**inputs, **{(1, *p): v for parts in roots for p, v in parts.items()}}
        return _union(roots)

    def _finished(self, instruction: HloInstruction, start: Parts) -> Parts:
        begun = instruction.operands[0] if instruction.operands else ""
        if isinstance(begun, str) or begun.shape == instruction.shape:
            return start
        return _below(start, "0" if instruction.opcode == "copy-done" else "1")

    def _passed(self, parameter: HloInstruction) -> Parts:
        """Return the parts that callers pass to a parameter."""
        found: list[Parts] = []
        number = parameter.parameter_number or 0
        for caller, k in self._callers.get(self._parameters_of.get(parameter.name, ""), []):
            at = {"while": 0, "conditional": k + 1}.get(caller.opcode, number)
            found.append(self._operand(caller, at))
        return _union(found)


def _below(parts: Parts, index: str) -> Parts:
    return {path[1:]: v for path, v in parts.items() if path and str(path[0]) == index.strip()}


def _union(every: Iterable[Parts]) -> Parts:
    found: Parts = {}
    for parts in every:
        for path, values in parts.items():
            found[path] = found[path] | values if path in found else values
    return found
