"""A module while it is read: the computation that is open, and the rules that statements keep."""

from __future__ import annotations

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.hlo.attributes import attributes_of
from morello_layouts.hlo.computation import HloComputation
from morello_layouts.hlo.instruction import HloInstruction, ModuleScope, Scope
from morello_layouts.hlo.module import HloModule, HloProgramShape
from morello_layouts.hlo.scanner import Incomplete, Scanner
from morello_layouts.hlo.shapes import ShapeTable
from morello_layouts.hlo.tables import SourceTables
from morello_layouts.notation.xla import XlaValue

__all__ = ["ModuleBuilder"]


class _Open:
    """A computation whose closing brace is not read yet; without a name that of no computation."""

    def __init__(
        self, module: ModuleScope, name: str, is_entry: bool, signature: str, line: int
    ) -> None:
        self.name, self.is_entry, self.signature, self.line = name, is_entry, signature, line
        self.scope = Scope(module=module)
        self.instructions: list[HloInstruction] = []
        self.has_root = False

    def closed(self, attributes: str = "") -> HloComputation:
        return HloComputation(
            self.name,
            tuple(self.instructions),
            self.is_entry,
            self.signature,
            attributes,
            self.line,
            self.scope,
        )


class ModuleBuilder:
    """What was read so far.

    Attributes:
        shapes: the types of the dump; tables: those of sources, by name.
        is_begun: whether anything was read that a truncated dump can be left with.
    """

    def __init__(self) -> None:
        self.shapes = ShapeTable()
        self.tables: dict[str, dict[int, str]] = {}
        self.name: str | None = None
        self.is_begun = False
        self.attribute_text = ""
        self.program_shape: HloProgramShape | None = None
        self.computations: list[HloComputation] = []
        self.warnings: list[str] = []
        self.scope = ModuleScope()
        self.bare = _Open(self.scope, "", False, "", 0)
        self.current = self.bare

    @property
    def at_top(self) -> bool:
        """Whether no computation is open."""
        return self.current is self.bare

    def warn(self, text: str) -> None:
        """Note what a reader should know."""
        self.warnings.append(text)

    def begin(self, name: str, attributes: str, scan: Scanner, at: int) -> None:
        """Take the line ``HloModule``, which begins at a position."""
        if self.name is not None or not self.at_top:
            scan.fail(
                "a second module begins",
                at,
                "a dump holds one module",
                "cut the text before this line, and read the parts one by one",
            )
        self.name, self.attribute_text, self.is_begun = name, attributes, True
        layout = attributes_of(attributes).get("entry_computation_layout")
        if layout is not None:
            self.program_shape = self._program_shape(layout, scan, at)

    def _program_shape(self, text: str, scan: Scanner, at: int) -> HloProgramShape:
        inner = Scanner(text, scan.line, 1)
        try:
            inner.take("(")
            parameters: list[XlaValue] = []
            while inner.space() != ")":
                if parameters:
                    inner.take(",", "',' or ')'")
                    inner.space()
                parameters.append(self._shape(inner))
            inner.position += 1
            inner.take("->")
            inner.space()
            result = self._shape(inner)
            inner.take("}")
        except LayoutError as error:
            what = error.what.partition(": ")[2] or error.what
            position = error.position if isinstance(error, ParseError | Incomplete) else 0
            scan.fail(
                f"entry_computation_layout is wrong: {what}",
                max(scan.text.find(text, at), at) + position,
                "it lists the types of the parameters, then that of the result",
                "write for example entry_computation_layout={(f32[8]{0}, s32[])->f32[8]{0}}",
            )
        return HloProgramShape(tuple(parameters), result)

    def _shape(self, scan: Scanner) -> XlaValue:
        begin = scan.position
        scan.position = scan.type_end()
        return self.shapes.at(scan, begin, scan.position)

    def open(self, name: str, is_entry: bool, signature: str, scan: Scanner, at: int) -> None:
        """Begin a computation."""
        if not self.at_top:
            scan.fail(
                f"computation {name!r} begins inside computation {self.current.name!r}",
                at,
                "a computation ends with a line '}' before the next begins",
                "look for lines that are missing above",
            )
        if name in self.scope.computations:
            scan.fail(
                f"computation {name!r} is there twice",
                at,
                "computations are called by name",
                "give one of them another name",
            )
        if is_entry and any(computation.is_entry for computation in self.computations):
            scan.fail(
                "a second ENTRY begins",
                at,
                "a module has exactly one entry computation",
                "remove ENTRY from one of them",
            )
        self.current = _Open(self.scope, name, is_entry, signature, scan.line_at(at))
        self.is_begun = True

    def close(self, attributes: str, scan: Scanner, at: int) -> None:
        """End a computation."""
        if not self.at_top:
            self._keep(self.current.closed(attributes))
            self.current = self.bare
        elif self.name is None and not self.computations and self.bare.instructions:
            self.warn(f"the text begins inside a computation, which ends on line {scan.line}")
        else:
            scan.fail(
                "a '}' that closes nothing",
                at,
                "'}' ends a computation, and none is open here",
                "look for lines that are missing above",
            )

    def _keep(self, computation: HloComputation) -> None:
        self.computations.append(computation)
        self.scope.computations[computation.name] = computation

    def add(self, instruction: HloInstruction) -> bool:
        """Add an instruction to the computation that is open; False where its rules forbid it."""
        current, name = self.current, instruction.name
        known, is_root = current.scope.instructions, instruction.is_root
        if current is not self.bare and (name in known or (is_root and current.has_root)):
            return False
        known[name] = instruction
        current.instructions.append(instruction)
        current.has_root = current.has_root or is_root
        self.is_begun = True
        return True

    def refuse(self, name: str, scan: Scanner, at: int) -> None:
        """Say why ``add`` did not take an instruction."""
        if name in self.current.scope.instructions:
            first = self.current.scope.instructions[name].line
            what = f"instruction {name!r} is there twice, first on line {first}"
            scan.fail(what, at, "operands are given by name", "give one of them another name")
        scan.fail(
            f"computation {self.current.name!r} has a second ROOT",
            at,
            "the root is the one instruction whose result the computation gives",
            "remove ROOT from one of them",
        )

    def extend(self, attributes: str) -> bool:
        """Add attributes to the last instruction; False where there is none."""
        last = self.current.instructions[-1] if self.current.instructions else None
        if last is None:
            return False
        text = f"{last.attribute_text}, {attributes}" if last.attribute_text else attributes
        object.__setattr__(last, "attribute_text", text)
        return True

    def finish(self, line: int) -> HloModule:
        """The module; ``line`` is the last that was read."""
        if not self.is_begun:
            raise ParseError(
                "there is no HLO in this text",
                "it has neither a line HloModule nor a computation nor an instruction",
                "give a dump, or an instruction such as %c = f32[8]{0} add(%a, %b)",
                text="",
                position=0,
            )
        if not self.at_top:
            self.warn(f"the text ends inside computation {self.current.name}, on line {line}")
            self._keep(self.current.closed())
        elif self.name is not None and not any(c.is_entry for c in self.computations):
            self.warn("no computation is marked ENTRY: the text may end early")
        if self.bare.instructions:
            self._keep(self.bare.closed())
        if self.tables:
            self.scope.tables = SourceTables(self.tables)
        self._warn_of_unknown_operands()
        return HloModule(
            self.name or "",
            tuple(self.computations),
            self.attribute_text,
            self.program_shape,
            self.scope.tables,
            tuple(self.warnings),
            len(self.shapes.by_text),
        )

    def _warn_of_unknown_operands(self) -> None:
        unknown = [
            (name, instruction)
            for computation in self.computations
            if computation.name
            for instruction in computation.instructions
            for name in instruction.operand_names
            if name not in computation
        ]
        if unknown:
            name, user = unknown[0]
            self.warn(
                f"operands that their computation does not define: {len(unknown)}, "
                f"the first {name} of {user.name} on line {user.line}"
            )
