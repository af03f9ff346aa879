"""When each value of a program is live: from the instruction that defines it to its last use.

The order of a scheduled program is that of its text. A loop's condition and body, a branch and a
called computation count once, before the instruction that calls them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

from morello_layouts.hlo.assignment import PlacedValue
from morello_layouts.hlo.module import HloComputation, HloInstruction, HloModule

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
    """The instructions of a program in the order in which they run, and the lives of its values.

    Args:
        module: a scheduled program with an entry.
        values: the values that have a place in memory.

    Attributes:
        order: the instructions.

    >>> from morello_layouts.hlo import read_hlo
    >>> module = read_hlo('''ENTRY %e (a: f32[8]) -> f32[8] {
    ...   %a = f32[8] parameter(0)
    ...   %b = f32[8] negate(%a)
    ...   ROOT %c = f32[8] add(%b, %b)
    ... }''')
    >>> [i.name for i in Schedule(module, ()).order]
    ['a', 'b', 'c']
    """

    def __init__(self, module: HloModule, values: Iterable[PlacedValue]) -> None:
        self.order: list[HloInstruction] = []
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
