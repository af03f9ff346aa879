"""Python for ints and NumPy arrays, and Triton."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import ClassVar

from morello_layouts.codegen.formulas import PADDING_LAST, Formulas
from morello_layouts.codegen.language import ProgramLanguage
from morello_layouts.codegen.node import Op
from morello_layouts.codegen.printer import ATOM, Printer, Text
from morello_layouts.codegen.widths import Kind, Widths

__all__ = ["PythonLanguage", "TritonLanguage"]

_WORDS = frozenset([*keyword.kwlist, "np", "tl", "triton", "assert"])


class _PythonPrinter(Printer):
    symbols: ClassVar[Mapping[Op, str]] = {
        **Printer.symbols,
        Op.MUL: "*",
        Op.DIV: "//",
        Op.MOD: "%",
    }
    any_of: ClassVar[tuple[str, int]] = (" | ", ATOM)
    truth: ClassVar[tuple[str, str]] = ("False", "True")


class _TritonPrinter(_PythonPrinter):
    def cast(self, text: Text, kind: Kind) -> Text:
        return Text(f"tl.cast({text.text}, tl.int{kind.bits})", ATOM)


class PythonLanguage(ProgramLanguage):
    """Python. Integers grow; arrays must be of a type that holds the offsets."""

    name: ClassVar[str] = "python"
    title: ClassVar[str] = "Python"
    reserved: ClassVar[frozenset[str]] = _WORDS
    has_widths: ClassVar[bool] = False
    floors: ClassVar[bool] = True

    def printer(self, widths: Widths | None) -> Printer:
        """What writes Python's operations."""
        return _PythonPrinter(widths)

    def statement(self, name: str, text: str, kind: Kind | None) -> str:
        """An assignment."""
        del kind
        return f"{name} = {text}"

    def head(self, *, asserts: bool) -> list[str]:
        """The lines before the function."""
        return ["import numpy as np", "", ""] if asserts else []

    def check(self, text: str) -> str:
        """A line that sees to a condition."""
        return f"assert np.all({text})"

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A function; several results, and whether the offset is padding, are a tuple."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        results = [text for _, text, _ in program.results]
        about = formulas.comment(PADDING_LAST)
        body = [*_docstring(about)]
        body += [self.check(text) for text in program.asserts]
        body += [self.statement(*binding) for binding in program.bindings]
        comma = "," if len(results) == 1 and not formulas.is_single else ""
        body.append(f"return {', '.join(results)}{comma}")
        lines = [
            *self.head(asserts=asserts),
            f"def {formulas.name}({', '.join(formulas.arguments)}):",
            *(f"    {line}".rstrip() for line in body),
        ]
        return "\n".join(lines)


class TritonLanguage(PythonLanguage):
    """Triton, whose // and % truncate as in C; its text also runs as Python over NumPy."""

    name: ClassVar[str] = "triton"
    title: ClassVar[str] = "Triton"
    has_widths: ClassVar[bool] = True
    declares: ClassVar[bool] = False
    unsigned: ClassVar[bool] = False
    floors: ClassVar[bool] = False

    def printer(self, widths: Widths | None) -> Printer:
        """What writes Triton's operations."""
        return _TritonPrinter(widths)

    def head(self, *, asserts: bool) -> list[str]:
        """Imports and the decorator."""
        del asserts
        return ["import triton", "import triton.language as tl", "", "", "@triton.jit"]

    def check(self, text: str) -> str:
        """An assertion on the device."""
        return f"tl.device_assert({text})"


def _docstring(about: list[str]) -> list[str]:
    if not about:
        return []
    lines = [line.replace("\\", r"\\").replace('"', r"\"") for line in about]
    if len(lines) == 1:
        return [f'"""{lines[0]}"""']
    first, *others = lines
    return [f'"""{first}', "", *others, '"""']
