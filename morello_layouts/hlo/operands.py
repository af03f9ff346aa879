"""What stands in the parentheses of an instruction."""

from __future__ import annotations

from sys import intern
from typing import Final, NamedTuple

from morello_layouts.hlo.patterns import COMMENT, NAME, NAMED_OPERANDS, TYPED_OPERAND
from morello_layouts.hlo.scanner import Scanner
from morello_layouts.hlo.shapes import ShapeTable
from morello_layouts.notation.xla import XlaValue

__all__ = ["Arguments", "Operands"]

_LITERALS: Final = ("constant", "parameter")  # opcodes with a value there, and no operands
_LONGEST: Final = 1024  # characters of a value that are kept
_ELIDED: Final = "{...}"

_WHY_OPERAND: Final = "operands are names with commas between them, each with its type or without"
_FIX_OPERAND: Final = "write for example add(%a, %b), or add(f32[8]{0} %a, f32[8]{0} %b)"


class Arguments(NamedTuple):
    """Operands by name, their types where given, or what stands there instead of operands."""

    names: tuple[str, ...] = ()
    shapes: tuple[XlaValue | None, ...] = ()
    literal: str | None = None


_NONE: Final = Arguments()


class Operands:
    """Reads arguments; types are looked up in the table of the dump."""

    def __init__(self, shapes: ShapeTable) -> None:
        self.shapes = shapes

    def quickly(self, opcode: str, text: str) -> Arguments | None:
        """Arguments in the usual form; None where the scanner must look at them."""
        if opcode in _LITERALS:
            return Arguments(literal=_kept(text))
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
            shape = None if match[1] is None else self.shapes.by_text.get(match[1])
            if match[1] is not None and shape is None:
                return None
            shapes.append(shape)
            names.append(intern(match[2]))
            position = match.end()
        return None if text[-1] == "," else Arguments(tuple(names), tuple(shapes))

    def slowly(self, scan: Scanner, opcode: str, begin: int, end: int) -> Arguments:
        """The same, with an error at what cannot stand there."""
        text = scan.text[begin:end]
        if opcode in _LITERALS:
            return Arguments(literal=_kept(text))
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
                    "an operand is an instruction of its own",
                    None,
                    "instructions inside of operands are not read",
                    "print the program with a line for each instruction",
                )
            if mark != ",":
                scan.fail("expected ',' or ')' after an operand", None, _WHY_OPERAND, _FIX_OPERAND)
            scan.position += 1


def _kept(literal: str) -> str:
    return literal if len(literal) <= _LONGEST else _ELIDED
