"""HLO as values: modules, computations, instructions, and their attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from morello_layouts.core.description import count
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import HLO_DIGITS
from morello_layouts.errors import LayoutError
from morello_layouts.notations.xla import XlaValue
from morello_layouts.programs.hlo.scanner import (
    STRING,
    TABLE_ROW,
    Incomplete,
    Scanner,
    attributes_of,
    bracket_depth,
    called_names,
    names_in,
)

_FIELD: Final = regex(rf'\b(\w++)=({STRING.pattern}|\{{[^{{}}"]*+\}}|[^\s{{}}",]++)', re.DOTALL)
_ESCAPE: Final = regex(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def fields_of(text: str) -> Iterator[tuple[str, str]]:
    """Return the fields of a record such as ``{op_name="a" source_line=3}``."""
    return ((match[1], match[2]) for match in _FIELD.finditer(text))


def number_of(text: str | None) -> int | None:
    """Return the number in a text; None without one, or if it has too many digits."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > HLO_DIGITS:
        return None
    return int(text)


def unquoted(text: str) -> str:
    r"""Return the value of a string; bytes written as escapes are UTF-8.

    >>> unquoted(r'"a \"b\" \303\274"')
    'a "b" ü'
    """
    inner = text[1:-1] if text[:1] == '"' else text
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_byte, inner.encode("utf-8", "replace")).decode("utf-8", "replace")


def _byte(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, other = match.groups()
    if octal:
        return bytes([int(octal, 8) & 255])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    return _LETTERS.get(other, other)


TABLES: Final = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


@frozen
class SourceTables:
    """The tables ``FileNames``, ``FunctionNames``, ``FileLocations`` and ``StackFrames`` of a dump.

    Each maps the number of a row to its text.
    """

    #: for each table by name, the text of each row by its number.
    tables: Mapping[str, Mapping[int, str]]

    def locate(self, frame: int) -> tuple[str | None, int | None, str | None]:
        """Return file, line and function of a stack frame; None for what the tables lack."""
        row = self._row("StackFrames", frame)
        place = self._row("FileLocations", number_of(row.get("file_location_id")))
        file = self._text("FileNames", number_of(place.get("file_name_id")))
        function = self._text("FunctionNames", number_of(place.get("function_name_id")))
        return file, number_of(place.get("line")), function

    def _row(self, table: str, number: int | None) -> dict[str, str]:
        return dict(fields_of(self.tables.get(table, {}).get(-1 if number is None else number, "")))

    def _text(self, table: str, number: int | None) -> str | None:
        text = self.tables.get(table, {}).get(-1 if number is None else number)
        return None if text is None else unquoted(text)

    def __str__(self) -> str:
        blocks = (
            "\n".join([name, *(f"{number} {text}" for number, text in rows.items())])
            for name, rows in self.tables.items()
        )
        return "\n\n".join(blocks)


def row_of(scan: Scanner) -> tuple[int, str]:
    """Return number and text of the row at the scanner's position."""
    match = TABLE_ROW.match(scan.text, scan.position)
    if match is None:
        text = scan.text[scan.position :]
        if text.strip().isdigit() or text.count('"') % 2 or bracket_depth(text) > 0:
            raise Incomplete("expected the end of this row", scan.position)
        scan.fail(
            "expected a row of a table: a number, then a text or a record",
            why="the rows of a table follow its name, one a line",
            fix='write for example 1 "model.py", or 1 {file_name_id=1 line=90}',
        )
    scan.position = match.end()
    number = number_of(match[1])
    return -1 if number is None else number, match[2]


@frozen
class HloMetadata:
    """The origin of an instruction in the user's program; None for what the dump leaves out.

    >>> HloMetadata(op_name="jit(f)/add", source_file="model.py", source_line=7).source
    'model.py:7'
    """

    op_name: str | None = None  #: the path of traced functions, such as ``jit(f)/while/body/add``.
    op_type: str | None = None  #: the operation of the framework.
    source_file: str | None = None  #: the user's file.
    source_line: int | None = None  #: the line there, from 1.
    #: the function around it; only dumps with stack frames name it.
    source_function: str | None = None
    stack_frame_id: int | None = None  #: the row of the dump's table ``StackFrames``.

    @property
    def source(self) -> str | None:
        """File and line as editors read them; None without a file."""
        if self.source_file is None or self.source_line is None:
            return self.source_file
        return f"{self.source_file}:{self.source_line}"


_NO_METADATA: Final = HloMetadata()


def metadata_of(text: str | None, tables: SourceTables | None) -> HloMetadata:
    """Return the attribute ``metadata``, with the source of its stack frame."""
    fields = dict(fields_of(text or ""))
    frame = number_of(fields.get("stack_frame_id"))
    file, line = fields.get("source_file"), number_of(fields.get("source_line"))
    file = None if file is None else unquoted(file)
    function = None
    if file is None and frame is not None and tables is not None:
        file, line, function = tables.locate(frame)
    name, kind = fields.get("op_name"), fields.get("op_type")
    return HloMetadata(
        None if name is None else unquoted(name),
        None if kind is None else unquoted(kind),
        file,
        line,
        function,
        frame,
    )


@dataclass(slots=True, eq=False)
class ModuleScope:
    """The computations of a module by name, and its source tables; its instructions share them."""

    computations: dict[str, HloComputation] = field(default_factory=dict)
    tables: SourceTables | None = None
    called: dict[str, tuple[str, ...]] = field(default_factory=dict)  #: names by attributes.
    metadata: dict[str, HloMetadata] = field(default_factory=dict)  #: origins by attributes.


@dataclass(slots=True, eq=False)
class Scope:
    """The instructions of a computation by name, and their module; they share this."""

    instructions: dict[str, HloInstruction] = field(default_factory=dict)
    module: ModuleScope = field(default_factory=ModuleScope)


@frozen
class HloInstruction(Displayed):
    """An instruction: ``%add.1 = f32[8]{0} add(%a, %b), metadata={op_name="x"}``.

    >>> import morello_layouts as ml
    >>> module = ml.read_hlo("%add.1 = f32[8,3]{1,0} add(%a, f32[8,3]{0,1} %b), index=0")
    >>> i = module.instruction("add.1")
    >>> i.opcode, i.shape.dims, i.operand_names, i.attributes
    ('add', (8, 3), ('a', 'b'), {'index': '0'})
    >>> print(i)
    %add.1 = f32[8,3]{1,0} add(%a, f32[8,3]{0,1} %b), index=0
    """

    name: str  #: its name, without %.
    opcode: str  #: its operation as the dump writes it, such as ``fusion`` or ``copy-start``.
    shape: XlaValue  #: type and layout of its result; a tuple for several results.
    operand_names: tuple[str, ...] = ()  #: its operands by name, without %.
    #: the type of each operand if the dump repeats it at the use, else None; empty if the dump
    #: repeats none.
    operand_shapes: tuple[XlaValue | None, ...] = ()
    #: the text in the parentheses instead of operands: the value of a ``constant`` (``{...}`` if it
    #: is longer than 1,024 characters), the number of a ``parameter``.
    literal: str | None = None
    attribute_text: str = ""  #: the text after the operands, as it is written.
    is_root: bool = False  #: whether it is marked as the result of its computation.
    #: its line in the dump, from 1; equality ignores it.
    line: int = field(default=0, compare=False)
    _scope: Scope | None = field(default=None, compare=False)

    @property
    def operands(self) -> tuple[HloInstruction | str, ...]:
        """Its operands; a name for an instruction that the computation does not define."""
        if self._scope is None:
            return self.operand_names
        known = self._scope.instructions
        return tuple(known.get(name, name) for name in self.operand_names)

    @property
    def attributes(self) -> Mapping[str, str]:
        """Its attributes by name, each as it is written, metadata and backend_config included."""
        return attributes_of(self.attribute_text)

    @property
    def metadata(self) -> HloMetadata:
        """Its origin in the user's program."""
        text = self.attribute_text
        if "metadata=" not in text:
            return _NO_METADATA
        module = ModuleScope() if self._scope is None else self._scope.module
        found = module.metadata.get(text)
        if found is None:
            found = metadata_of(self.attributes.get("metadata"), module.tables)
            module.metadata[text] = found
        return found

    @property
    def called_computations(self) -> tuple[HloComputation | str, ...]:
        """The computations that it calls; a name for one that the module does not define."""
        text = self.attribute_text
        if "=" not in text:
            return ()
        if self._scope is None:
            return called_names(self.attributes)
        module = self._scope.module
        names = module.called.get(text)
        if names is None:
            names = module.called[text] = called_names(self.attributes)
        return tuple(module.computations.get(name, name) for name in names)

    @property
    def control_predecessors(self) -> tuple[HloInstruction | str, ...]:
        """Instructions that run before it without being operands."""
        known = {} if self._scope is None else self._scope.instructions
        names = names_in(self.attributes.get("control-predecessors", ""))
        return tuple(known.get(name, name) for name in names)

    @property
    def parameter_number(self) -> int | None:
        """Its number among the parameters of its computation; None if it is not a parameter."""
        text = (self.literal or "").strip()
        is_number = self.opcode == "parameter" and text.isascii() and text.isdecimal()
        return int(text) if is_number and len(text) < 19 else None

    def __str__(self) -> str:
        return f"{self._head()}, {self.attribute_text}" if self.attribute_text else self._head()

    def __repr__(self) -> str:
        return f"HloInstruction({self._head()!r})"

    def _head(self) -> str:
        """Return the text without the attributes."""
        arguments = self.literal
        if arguments is None:
            shapes = self.operand_shapes or (None,) * len(self.operand_names)
            arguments = ", ".join(
                f"%{name}" if shape is None else f"{shape} %{name}"
                for shape, name in zip(shapes, self.operand_names, strict=True)
            )
        root = "ROOT " if self.is_root else ""
        return f"{root}%{self.name} = {self.shape} {self.opcode}({arguments})"


@frozen
class HloComputation(Displayed):
    r"""A computation: the entry of a module, or one that an instruction calls.

    >>> import morello_layouts as ml
    >>> module = ml.read_hlo("ENTRY %main (a: f32[8]) -> f32[8] {\n"
    ...                      "  %a = f32[8]{0} parameter(0)\n"
    ...                      "  ROOT %b = f32[8]{0} negate(%a)\n}")
    >>> main = module.entry
    >>> main.root.operands[0] is main["a"] is main.parameters[0]
    True
    """

    name: str  #: its name, without %; empty for instructions outside of a computation.
    #: in the order of the text; a scheduled module runs them in this order.
    instructions: tuple[HloInstruction, ...] = ()
    is_entry: bool = False  #: whether the program begins here.
    #: parameters and result as the dump writes them, such as ``(a: f32[8]) -> f32[8]``; empty if
    #: the dump leaves them out.
    signature: str = ""
    #: the text after its closing brace, such as ``execution_thread="host"``.
    attribute_text: str = ""
    #: the line of the dump on which it begins, from 1; equality ignores it.
    line: int = field(default=0, compare=False)
    _scope: Scope | None = field(default=None, compare=False)

    @property
    def root(self) -> HloInstruction:
        """The instruction whose result the computation returns: the marked one, or the last.

        Raises:
            LayoutError: if there are no instructions.
        """
        for instruction in reversed(self.instructions):
            if instruction.is_root:
                return instruction
        if self.instructions:
            return self.instructions[-1]
        raise LayoutError(
            f"computation {self.name!r} has no root",
            "it has no instructions",
            "check that len(computation) is not 0",
        )

    @property
    def parameters(self) -> tuple[HloInstruction, ...]:
        """Its parameters by number."""
        every = (i for i in self.instructions if i.opcode == "parameter")
        found = [i for i in every if i.parameter_number is not None]
        return tuple(sorted(found, key=lambda i: i.parameter_number or 0))

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes after its closing brace, by name."""
        return attributes_of(self.attribute_text)

    def get(self, name: str) -> HloInstruction | None:
        """Return the instruction of a name, with % or without; None if it is unknown."""
        bare = name.removeprefix("%")
        if self._scope is not None:
            return self._scope.instructions.get(bare)
        return next((i for i in self.instructions if i.name == bare), None)

    def __getitem__(self, name: str) -> HloInstruction:
        """Return the instruction of a name, with % or without.

        Raises:
            LayoutError: if the name is unknown.
        """
        found = self.get(name)
        if found is None:
            raise LayoutError(
                f"{name!r} is not an instruction of computation {self.name!r}",
                f"the computation has {len(self)} instructions",
                "iterate over the computation to see their names",
            )
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[HloInstruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        body = "\n".join(f"  {instruction}" for instruction in self.instructions)
        if not self.name:
            return body
        entry = "ENTRY " if self.is_entry else ""
        signature = f" {self.signature}" if self.signature else ""
        attributes = f", {self.attribute_text}" if self.attribute_text else ""
        return f"{entry}%{self.name}{signature} {{\n{body}\n}}{attributes}"

    def __repr__(self) -> str:
        entry = ", is_entry=True" if self.is_entry else ""
        return f"HloComputation({self.name!r}, {len(self)} instructions{entry})"


@frozen
class HloProgramShape:
    """Types and layouts of a program's parameters and result.

    >>> import morello_layouts as ml
    >>> text = "HloModule m, entry_computation_layout={(f32[8]{0}, s32[])->f32[8]{0}}"
    >>> print(ml.read_hlo(text).entry_computation_layout)
    (f32[8]{0}, s32[])->f32[8]{0}
    """

    parameters: tuple[XlaValue, ...]  #: type and layout of each parameter.
    result: XlaValue  #: type and layout of the result.

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))})->{self.result}"


@frozen
class HloModule(Displayed):
    """A program as the compiler prints it: computations, one of which is the entry.

    >>> import morello_layouts as ml
    >>> module = ml.read_hlo("add.9 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)} add(x.1, y.2)")
    >>> module
    HloModule('', 1 computations, 1 instructions)
    >>> module.instruction("add.9").shape.byte_size
    335544320
    """

    name: str  #: its name; empty for a part of a dump.
    #: in the order of the text. A computation without a name holds the instructions outside of
    #: computations.
    computations: tuple[HloComputation, ...] = ()
    attribute_text: str = ""  #: the rest of the line ``HloModule``, as it is written.
    #: types and layouts of parameters and result; None if the line ``HloModule`` leaves them out.
    entry_computation_layout: HloProgramShape | None = None
    #: the tables that metadata refers to; None without tables.
    source_tables: SourceTables | None = field(default=None, hash=False)
    #: problems that a reader should know of, such as that the text ends early.
    warnings: tuple[str, ...] = ()
    #: the number of types of different text; each was read once.
    distinct_shapes: int = field(default=0, compare=False)

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of the line ``HloModule`` by name, each as it is written."""
        return attributes_of(self.attribute_text)

    @property
    def is_scheduled(self) -> bool:
        """Whether the instructions run in the order of the text."""
        return self.attributes.get("is_scheduled") == "true"

    @property
    def entry(self) -> HloComputation:
        """The computation that the program begins with.

        Raises:
            LayoutError: if no computation is marked ENTRY.
        """
        for computation in self.computations:
            if computation.is_entry:
                return computation
        raise LayoutError(
            f"module {self.name!r} has no entry",
            "no computation of the text is marked ENTRY",
            "use one of module.computations, or read the whole dump",
        )

    @property
    def instructions(self) -> Iterator[HloInstruction]:
        """All instructions of all computations."""
        return (i for computation in self.computations for i in computation.instructions)

    def computation(self, name: str) -> HloComputation:
        """Return the computation of a name, with % or without.

        Raises:
            LayoutError: if the name is unknown.
        """
        bare = name.removeprefix("%")
        for computation in self.computations:
            if computation.name == bare:
                return computation
        raise LayoutError(
            f"{name!r} is not a computation of module {self.name!r}",
            f"computations in the module: {len(self.computations)}",
            "look through module.computations",
        )

    def instruction(self, name: str) -> HloInstruction:
        """Return the instruction of a name, with % or without, from any computation.

        If several computations have one, the entry's comes first, then the first in the text.

        Raises:
            LayoutError: if the name is unknown.
        """
        for computation in sorted(self.computations, key=lambda c: not c.is_entry):
            found = computation.get(name)
            if found is not None:
                return found
        raise LayoutError(
            f"{name!r} is not an instruction of module {self.name!r}",
            f"instructions in the module: {len(self)}; computations: {len(self.computations)}",
            f"name one, such as {', '.join(self._some_names)}",
        )

    @property
    def _some_names(self) -> list[str]:
        """The names of the last instructions of the entry, of which the root is one."""
        entries = [c for c in self.computations if c.is_entry] or list(self.computations)
        return [one.name for computation in entries[:1] for one in computation][-3:]

    def __len__(self) -> int:
        return sum(map(len, self.computations))

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        attributes = f", {self.attribute_text}" if self.attribute_text else ""
        blocks = [f"HloModule {self.name}{attributes}"] if self.name else []
        if self.source_tables is not None:
            blocks.append(str(self.source_tables))
        return "\n\n".join([*blocks, *map(str, self.computations)])

    def __repr__(self) -> str:
        counts = f"{len(self.computations)} computations, {len(self)} instructions"
        return f"HloModule({self.name!r}, {counts})"


_DEEPEST: Final = 40  # levels that are indented


@frozen(slots=False)
class HloTree(Displayed):
    """A program as a tree: the entry first, each other computation below its first caller.

    >>> import morello_layouts as ml
    >>> print(HloTree(ml.read_hlo('''
    ... HloModule small
    ... %inner (p: f32[8]) -> f32[8] {
    ...   %p = f32[8]{0} parameter(0)
    ...   ROOT %n = f32[8]{0} negate(%p)
    ... }
    ... ENTRY %main (a: f32[8]) -> f32[8] {
    ...   %a = f32[8]{0} parameter(0)
    ...   ROOT %f = f32[8]{0} fusion(%a), kind=kLoop, calls=%inner
    ... }''')))
    HloModule small: 2 computations, 4 instructions
    ENTRY main
      a = parameter(0)  f32[8]{0}
      ROOT f = fusion(a)  f32[8]{0}
        inner
          p = parameter(0)  f32[8]{0}
          ROOT n = negate(p)  f32[8]{0}
    """

    module: HloModule  #: the program.

    def lines(self) -> Iterator[str]:
        """Yield the lines of the tree; a computation that was shown is named again, no more."""
        every = self.module.computations
        counts = count(len(every), "computation"), count(len(self.module), "instruction")
        yield f"{f'HloModule {self.module.name}'.rstrip()}: {', '.join(counts)}"
        called = {one.name for i in self.module.instructions for one in _calls(i)}
        shown: set[str] = set()
        for first in sorted(every, key=lambda one: (not one.is_entry, one.name in called)):
            if first.name not in shown:
                yield from _lines_below(first, shown)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _calls(instruction: HloInstruction) -> list[HloComputation]:
    return [one for one in instruction.called_computations if not isinstance(one, str)]


def _lines_below(first: HloComputation, shown: set[str]) -> Iterator[str]:
    """Yield a computation with all that it calls; without recursion, as calls may be deep."""
    levels: list[Iterator[HloComputation | HloInstruction]] = [iter((first,))]
    while levels:
        one = next(levels[-1], None)
        indent = "  " * min(len(levels) - 1, _DEEPEST)
        if one is None:
            levels.pop()
        elif isinstance(one, HloInstruction):
            root = "ROOT " if one.is_root else ""
            operands = one.literal if one.literal is not None else ", ".join(one.operand_names)
            yield f"{indent}{root}{one.name} = {one.opcode}({operands})  {one.shape}"
            levels.append(iter(_calls(one)))
        elif one.name in shown:
            yield f"{indent}{one.name}, as above"
        else:
            shown.add(one.name)
            if one.name:
                yield f"{indent}{'ENTRY ' if one.is_entry else ''}{one.name}"
            levels.append(chain(one.instructions))
