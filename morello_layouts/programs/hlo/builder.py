"""Build modules, computations and instructions from records of HLO text."""

from __future__ import annotations

import re
from functools import lru_cache
from sys import intern
from typing import Final, NamedTuple

from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import HLO_FAST_TYPE, HLO_LITERAL, HLO_TYPES
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.xla import XlaLayout, XlaShape, XlaTuple, XlaValue, parse_xla
from morello_layouts.programs.hlo.module import (
    HloComputation,
    HloInstruction,
    HloModule,
    HloProgramShape,
    ModuleScope,
    Scope,
    SourceTables,
)
from morello_layouts.programs.hlo.scanner import (
    COMMENT,
    NAME,
    NAMED_OPERANDS,
    TUPLE,
    TYPE,
    TYPED_OPERAND,
    Incomplete,
    Scanner,
    attributes_of,
)

# An array whose sizes are numbers and whose layout has at most tiles, E and S: the usual form.
_USUAL: Final = regex(
    r"([a-z][a-z0-9]*+)\[([0-9,]*+)\]"
    r"\{([0-9,]*+)(?::(?:T((?:\([0-9,]++\))++))?(?:E\(([0-9]++)\))?(?:S\(([0-9]++)\))?)?\}",
    re.ASCII,
)


class ShapeTable(dict[str, XlaValue]):
    """Shapes by their text, each read once: instructions of one type share one shape."""

    def __missing__(self, text: str) -> XlaValue:
        """Read the shape in a text."""
        self[text] = found = self._tuple(text) or _usual_array(text) or parse_xla(text)
        return found

    def at(self, scan: Scanner, begin: int, end: int) -> XlaValue:
        """Return the type between two positions; an error points to its place in the text."""
        try:
            return self[scan.text[begin:end]]
        except ParseError as error:
            scan.fail(error.what, begin + error.position, error.why, error.fix)

    def usual(self, text: str) -> XlaValue | None:
        """Return the shape in a text; None if the grammar must read it, or find its error."""
        found = self.get(text) or self._tuple(text) or _usual_array(text)
        if found is not None:
            self[text] = found
        return found

    def _tuple(self, text: str) -> XlaTuple | None:
        """Return a tuple; None if the grammar must read the text, or find its error."""
        if not TUPLE.fullmatch(text):
            return None
        try:
            return XlaTuple(tuple(map(self.__getitem__, TYPE.findall(COMMENT.sub("", text[1:-1])))))
        except LayoutError:
            return None


@lru_cache(HLO_TYPES)
def _usual_array(text: str) -> XlaShape | None:
    """Return an array of the usual form; None if the grammar must read the text.

    >>> print(_usual_array("bf16[8,1]{1,0:T(8,128)(2,1)S(1)}"))
    bf16[8,1]{1,0:T(8,128)(2,1)S(1)}
    >>> _usual_array("bf16[8,1]{1,0:S(1)T(8,128)}")
    """
    match = _USUAL.fullmatch(text) if len(text) <= HLO_FAST_TYPE else None
    if match is None:
        return None
    element_type, dims, order, tiles, bits, space = match.groups()
    try:
        layout = XlaLayout(
            _numbers(order),
            tuple(map(_numbers, tiles[1:-1].split(")("))) if tiles else (),
            element_size_in_bits=int(bits or 0),
            memory_space=int(space or 0),
        )
        return XlaShape(element_type, _numbers(dims), layout)
    except ValueError:  # LayoutError is one
        return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


class _OpenComputation:
    """A computation before its closing brace; one without a name holds bare instructions."""

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
    """The module as far as it was read."""

    def __init__(self) -> None:
        self.shapes = ShapeTable()  #: the types of the dump.
        self.tables: dict[str, dict[int, str]] = {}  #: the source tables by name.
        self.name: str | None = None
        self.is_begun = False  #: whether there is anything to return if the dump ends here.
        self.attribute_text = ""
        self.program_shape: HloProgramShape | None = None
        self.computations: list[HloComputation] = []
        self.warnings: list[str] = []
        #: instructions whose attributes are kept as text: the line, and what is wrong.
        self.faults: list[tuple[int, str]] = []
        self.scope = ModuleScope()
        self.bare = _OpenComputation(self.scope, "", False, "", 0)
        self.current = self.bare

    @property
    def at_top(self) -> bool:
        """Whether no computation is open."""
        return self.current is self.bare

    def warn(self, text: str) -> None:
        """Add a warning."""
        self.warnings.append(text)

    def begin(self, name: str, attributes: str, scan: Scanner, at: int) -> None:
        """Begin the module with the line ``HloModule`` at a position."""
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
                "it lists the types of the parameters, then the type of the result",
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
                "look for missing lines above",
            )
        if name in self.scope.computations:
            scan.fail(
                f"computation {name!r} appears twice",
                at,
                "instructions call computations by name",
                "give one of them another name",
            )
        if is_entry and any(computation.is_entry for computation in self.computations):
            scan.fail(
                "a second ENTRY begins",
                at,
                "a module has exactly one entry computation",
                "remove ENTRY from one of them",
            )
        self.current = _OpenComputation(self.scope, name, is_entry, signature, scan.line_at(at))
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
                "unexpected '}'",
                at,
                "'}' ends a computation, and no computation is open here",
                "look for missing lines above",
            )

    def _keep(self, computation: HloComputation) -> None:
        self.computations.append(computation)
        self.scope.computations[computation.name] = computation

    def add(self, instruction: HloInstruction) -> bool:
        """Add an instruction to the open computation; False if its name or ROOT appears twice."""
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
        """Raise the error for an instruction that ``add`` refused."""
        if name in self.current.scope.instructions:
            first = self.current.scope.instructions[name].line
            what = f"instruction {name!r} appears twice, first on line {first}"
            scan.fail(what, at, "instructions name their operands", "give one of them another name")
        scan.fail(
            f"computation {self.current.name!r} has a second ROOT",
            at,
            "the root is the one instruction whose result the computation returns",
            "remove ROOT from one of them",
        )

    def extend(self, attributes: str) -> bool:
        """Add attributes to the last instruction; False if there is no instruction."""
        last = self.current.instructions[-1] if self.current.instructions else None
        if last is None:
            return False
        text = f"{last.attribute_text}, {attributes}" if last.attribute_text else attributes
        object.__setattr__(last, "attribute_text", text)
        return True

    def finish(self, line: int) -> HloModule:
        """Return the module; ``line`` is the last line that was read."""
        if not self.is_begun:
            raise ParseError(
                "the text holds no HLO",
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
        if self.faults:
            line, what = self.faults[0]
            self.warn(
                "instructions with attributes that are not understood and kept as text: "
                f"{len(self.faults)}, the first on line {line}: {what}"
            )
        return HloModule(
            self.name or "",
            tuple(self.computations),
            self.attribute_text,
            self.program_shape,
            self.scope.tables,
            tuple(self.warnings),
            len(self.shapes),
        )

    def _warn_of_unknown_operands(self) -> None:
        unknown = [
            (name, instruction)
            for computation in self.computations
            if computation.name and (scope := computation._scope) is not None
            for known in (scope.instructions,)
            for instruction in computation.instructions
            for name in instruction.operand_names
            if name not in known
        ]
        if unknown:
            name, user = unknown[0]
            self.warn(
                f"operands that their computation does not define: {len(unknown)}, "
                f"the first {name} of {user.name} on line {user.line}"
            )


_LITERALS: Final = ("constant", "parameter")  # opcodes with a literal instead of operands
_ELIDED: Final = "{...}"

_WHY_OPERAND: Final = "operands are names separated by commas, each with its type or without"
_FIX_OPERAND: Final = "write for example add(%a, %b), or add(f32[8]{0} %a, f32[8]{0} %b)"


class Arguments(NamedTuple):
    """Operands by name, their types if given, or the literal instead of operands."""

    names: tuple[str, ...] = ()
    shapes: tuple[XlaValue | None, ...] = ()
    literal: str | None = None


_NONE: Final = Arguments()


class OperandReader:
    """Reads the text in an instruction's parentheses."""

    def __init__(self, shapes: ShapeTable) -> None:
        self.shapes = shapes

    def match(self, opcode: str, text: str) -> Arguments | None:
        """Return arguments in the usual form; None if ``scan`` must read them."""
        if opcode in _LITERALS:
            return Arguments(literal=_shortened(text))
        text = text.rstrip()
        if not text:
            return _NONE
        if NAMED_OPERANDS.fullmatch(text):
            if "*" in text:
                text = COMMENT.sub("", text)
            return Arguments(tuple(map(intern, NAME.findall(text))))
        names: list[str] = []
        shapes: list[XlaValue | None] = []
        position = 0
        while position < len(text):
            match = TYPED_OPERAND.match(text, position)
            if match is None:
                return None
            shape = None if match[1] is None else self.shapes.usual(match[1])
            if match[1] is not None and shape is None:
                return None
            shapes.append(shape)
            names.append(intern(match[2]))
            position = match.end()
        return None if text[-1] == "," else Arguments(tuple(names), tuple(shapes))

    def scan(self, scan: Scanner, opcode: str, begin: int, end: int) -> Arguments:
        """Return arguments in any form, or raise an error at the position of a mistake."""
        text = scan.text[begin:end]
        if opcode in _LITERALS:
            return Arguments(literal=_shortened(text))
        scan.position = begin
        names: list[str] = []
        shapes: list[XlaValue | None] = []
        if scan.space() == ")" and scan.position == end:
            return _NONE
        while True:
            mark = scan.space()
            shape = None
            word = NAME.match(scan.text, scan.position)
            if scan.begins_tuple() or (word and scan.text.startswith("[", word.end())):
                start = scan.position
                scan.position = scan.type_end()
                shape = self.shapes.at(scan, start, scan.position)
            elif word is None and mark != "%":
                scan.fail("expected an operand", None, _WHY_OPERAND, _FIX_OPERAND)
            names.append(intern(scan.name("an operand's name")))
            shapes.append(shape)
            mark = scan.space()
            if scan.position == end:
                given = tuple(shapes) if any(s is not None for s in shapes) else ()
                return Arguments(tuple(names), given)
            if mark == "(":
                scan.fail(
                    "an operand is an instruction itself",
                    None,
                    "an operand is the name of an instruction, which has its own line",
                    "print the program with one line for each instruction",
                )
            if mark != ",":
                scan.fail("expected ',' or ')' after an operand", None, _WHY_OPERAND, _FIX_OPERAND)
            scan.position += 1


def _shortened(literal: str) -> str:
    return literal if len(literal) <= HLO_LITERAL else _ELIDED
