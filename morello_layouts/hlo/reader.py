"""Read HLO: the statements of a dump, one after the other, into a module.

Nearly every line is a whole instruction, which one pattern matches. ``Scanner`` reads the other
lines, joined with the lines that continue them.
"""

from __future__ import annotations

import os
import re
from sys import intern
from typing import Final

from morello_layouts.errors import ParseError
from morello_layouts.hlo.builder import ModuleBuilder, Operands
from morello_layouts.hlo.dumps import refuse_other_text
from morello_layouts.hlo.module import TABLES, HloInstruction, HloModule, row_of
from morello_layouts.hlo.scanner import (
    INSTRUCTION,
    NAME,
    Incomplete,
    Lines,
    Progress,
    Scanner,
    join,
    open_lines,
)

_MODULE_NAME: Final = re.compile(r"[^\s,{}=\"]++")

_WHY: Final = "a dump is a line HloModule, then computations with one instruction a line"
_FIX: Final = "give the text as the compiler wrote it, without the prefixes of a log"


def read_hlo(source: str | os.PathLike[str], *, progress: Progress | None = None) -> HloModule:
    """Return the module in HLO text: a compiler's dump, or a part of one.

    The text may be instructions alone, their lines broken or not. An operand or computation that
    the text does not define stays a name. If the text ends too early, the module holds the
    statements before the end, and ``warnings`` says so.

    Args:
        source: a path, or the text itself, which has a newline, '=' or the word HloModule.
        progress: called now and then with the amount that was read and the amount of all: bytes of
            a file, characters of a text.

    Raises:
        ParseError: if the text is not HLO; it has line and caret.
        LayoutError: if a file cannot be read, or holds another text of a compiler.

    >>> module = read_hlo('''
    ... HloModule double
    ...
    ... ENTRY %main (a: bf16[10,200]) -> bf16[10,200] {
    ...   %a = bf16[10,200]{1,0:T(8,128)(2,1)} parameter(0)
    ...   ROOT %b = bf16[10,200]{1,0:T(8,128)(2,1)} add(%a, %a), metadata={op_name="jit(f)/add"}
    ... }
    ... ''')
    >>> for instruction in module.entry:
    ...     print(instruction.name, instruction.opcode, instruction.shape.byte_size)
    a parameter 8192
    b add 8192
    >>> module.instruction("b").operands[0].parameter_number, module.warnings
    (0, ())
    """
    with open_lines(source, progress) as lines:
        module = _ModuleReader(lines).read()
        lines.finish()
    return module


class _Truncated(Exception):  # noqa: N818  (a state of the reader, not an error of the caller)
    """The text ended inside a statement."""


class _ModuleReader:
    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.module = ModuleBuilder()
        self.operands = Operands(self.module.shapes)
        self.table: dict[int, str] | None = None
        self.attributes_at: int | None = None  # where those of the open instruction begin
        self.is_lenient = False  # whether an attribute without an end is kept as text

    def read(self) -> HloModule:
        """Read all statements, to the end of the text."""
        match_instruction, add = INSTRUCTION.match, self.add_match
        lines = self.lines
        is_first = True
        try:
            for line in lines:
                if is_first and not line.isspace():
                    refuse_other_text(line)
                    is_first = False
                match = match_instruction(line)
                if match is None or not add(match, lines.number):
                    self.statements(line)
        except _Truncated:
            pass
        return self.module.finish(lines.number)

    def add_match(self, match: re.Match[str], line: int) -> bool:
        """Add the instruction that the pattern matched; False if the scanner must read it."""
        root, name, shape, opcode, arguments, attributes = match.groups()
        known = self.module.shapes.get(shape)
        if known is None:
            return False
        operands = self.operands.match(opcode, arguments)
        if operands is None:
            return False
        return self.module.add(
            HloInstruction(
                intern(name),
                intern(opcode),
                known,
                *operands,
                attributes.lstrip(", \n\t"),
                root is not None,
                line,
                self.module.current.scope,
            )
        )

    def statements(self, line: str) -> None:
        """Read the statements that begin on a line, with the lines that continue them."""
        scan = Scanner(line, self.lines.number)
        joins = 0
        while True:
            begin = scan.position
            self.attributes_at = None
            try:
                if scan.space() == "":
                    return
                begin = scan.position
                self.statement(scan)
                joins, self.is_lenient = 0, False
            except Incomplete as stop:
                joins += 1
                try:
                    self.join(scan, stop, joins)
                except ParseError:
                    # An attribute that never ends is kept as text; nothing else is.
                    if self.is_lenient or self.attributes_at is None:
                        raise
                    self.is_lenient = True
                scan.position = begin

    def join(self, scan: Scanner, stop: Incomplete, joins: int) -> None:
        """Append the lines that continue a statement; at the end of the text, warn."""
        if self.lines.peek() is not None:
            join(scan, stop, self.lines, joins)
            return
        scan.position = stop.position
        if not self.module.is_begun:
            scan.fail(f"{stop.what}, found the end of the text")
        self.module.warn(f"the text ends early, in the statement on line {scan.line}")
        raise _Truncated

    def statement(self, scan: Scanner) -> None:
        """Read the statement at the scanner's position."""
        begin, mark = scan.position, scan.text[scan.position]
        if mark == "}":
            scan.position += 1
            self.module.close(_attributes(scan), scan, begin)
            return
        if mark == ",":
            if not self.module.extend(_attributes(scan)):
                scan.fail("expected a statement, found ','", begin, _WHY, _FIX)
            return
        if self.table is not None and mark.isdigit():
            number, text = row_of(scan)
            self.table[number] = text
            return
        self.table = None
        word = NAME.match(scan.text, begin + (mark == "%"))
        if word is None:
            scan.fail("this is not the beginning of an HLO statement", why=_WHY, fix=_FIX)
        after = scan.text[word.end() : word.end() + 1]
        if word[0] == "HloModule" and mark != "%":
            scan.position = word.end()
            self.header(scan, begin)
        elif word[0] in TABLES and self.module.at_top and after.strip() == "":
            scan.position = word.end()
            self.table = self.module.tables.setdefault(word[0], {})
        elif word[0] == "ROOT" and mark != "%":
            scan.position = word.end()
            self.instruction(scan, is_root=True)
        else:
            self.named(scan, is_entry=word[0] == "ENTRY" and mark != "%", end=word.end())

    def header(self, scan: Scanner, begin: int) -> None:
        """Read the line ``HloModule``."""
        scan.space()
        name = _MODULE_NAME.match(scan.text, scan.position)
        if name is None:
            scan.expected("the module's name")
        scan.position = name.end()
        self.module.begin(name[0], _attributes(scan), scan, begin)

    def named(self, scan: Scanner, *, is_entry: bool, end: int) -> None:
        """Read a computation's beginning or an instruction: both begin with a name."""
        begin = scan.position
        if not is_entry:
            scan.position = end
            mark = scan.space()
            scan.position = begin
            if mark not in ("(", "{", ""):
                self.instruction(scan, is_root=False)
                return
            if mark == "":
                raise Incomplete("expected '=' and a type, or a computation's '{'", len(scan.text))
        else:
            scan.position = end
        name = scan.name("the computation's name")
        signature = ""
        if scan.space() == "(":
            start = scan.position
            scan.parentheses()
            scan.take("->", "'->' and the type of the result")
            scan.space()
            scan.position = scan.type_end()
            signature = scan.text[start : scan.position]
        scan.take("{")
        self.module.open(name, is_entry, signature, scan, begin)

    def instruction(self, scan: Scanner, *, is_root: bool) -> None:
        """Read an instruction, part by part."""
        begin = scan.position
        name = scan.name()
        scan.take("=", "'=' and a type")
        scan.space()
        shape_begin = scan.position
        scan.position = scan.type_end()
        shape = self.module.shapes.at(scan, shape_begin, scan.position)
        scan.space()
        opcode = NAME.match(scan.text, scan.position)
        if opcode is None:
            scan.expected("an opcode such as add")
        scan.position = opcode.end()
        inside = scan.parentheses()
        after = scan.position
        operands = self.operands.scan(scan, opcode[0], *inside)
        scan.position = self.attributes_at = after
        text = self.attributes(scan)
        instruction = HloInstruction(
            intern(name),
            intern(opcode[0]),
            shape,
            *operands,
            text,
            is_root,
            scan.line_at(begin),
            self.module.current.scope,
        )
        if not self.module.add(instruction):
            self.module.refuse(name, scan, begin)

    def attributes(self, scan: Scanner) -> str:
        """Read an instruction's attributes; keep as text, with a warning, what is not one."""
        begin = scan.position
        try:
            text = _attributes(scan)
            if scan.is_complete():
                return text
            scan.fail("expected ',' or the end of the instruction")
        except Incomplete as stop:
            if not self.is_lenient:
                raise
            fault = stop.what
        except ParseError as error:
            fault = error.what.partition(": ")[2]
        self.module.faults.append((scan.line_at(begin), fault))
        scan.position = begin
        return scan.skip_statement().strip().removeprefix(",").lstrip()


def _attributes(scan: Scanner) -> str:
    """Read the attributes at the scanner's position; return them as they are written."""
    return ", ".join(f"{name}={value}" for name, value in scan.attributes())
