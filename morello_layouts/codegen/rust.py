"""Rust."""

from __future__ import annotations

from typing import ClassVar

from morello_layouts.codegen.formulas import PADDING_LAST, Formulas
from morello_layouts.codegen.language import ProgramLanguage, words
from morello_layouts.codegen.printer import ATOM, Printer, Text
from morello_layouts.codegen.widths import Kind, Widths

__all__ = ["RustLanguage"]


class _RustPrinter(Printer):
    widens: ClassVar[bool] = False

    def cast(self, text: Text, kind: Kind) -> Text:
        inner = text.text if text.level == ATOM else f"({text.text})"
        return Text(f"({inner} as {kind.text})", ATOM)

    def truth_value(self, condition: Text, kind: Kind | None) -> Text:
        assert kind is not None
        return Text(f"{kind.text}::from({condition.text})", ATOM)


class RustLanguage(ProgramLanguage):
    """Rust; every edition."""

    name: ClassVar[str] = "rust"
    title: ClassVar[str] = "Rust"
    reserved: ClassVar[frozenset[str]] = words(
        "abstract as async await become box break const continue crate do dyn else enum extern "
        "false final fn for gen if impl in let loop macro match mod move mut override priv pub "
        "ref return self Self static struct super trait true try type typeof unsafe unsized use "
        "virtual where while yield i32 u32 i64 u64 bool _ "
        "None Some Ok Err"
    )

    def printer(self, widths: Widths | None) -> Printer:
        """What writes Rust's operations."""
        return _RustPrinter(widths)

    def widths(self, formulas: Formulas, *, declared: bool) -> Widths:
        """Rust converts nothing by itself, so variables have the types that a function declares."""
        del declared
        return Widths(sizes=formulas.size_bounds)

    def statement(self, name: str, text: str, kind: Kind | None) -> str:
        """A binding."""
        return f"let {name}: {_type(kind)} = {text};"

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A function; several results, and whether the offset is padding, are a tuple."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        arguments = [f"{name}: {kind.text}" for name, kind in self.argument_kinds(formulas)]
        results = [text for _, text, _ in program.results]
        types = [_type(kind) for _, _, kind in program.results]
        body = [f"assert!({check});" for check in program.asserts]
        body += [f"let _ = {name};" for name in program.unused]
        body += [self.statement(*binding) for binding in program.bindings]
        body.append(results[0] if formulas.is_single else f"({_comma(results)})")
        returned = types[0] if formulas.is_single else f"({_comma(types)})"
        about = formulas.comment(PADDING_LAST)
        names = (formulas.name, *formulas.arguments)
        is_snake = all(name == name.lower() for name in names)
        return "\n".join(
            [
                *(f"/// {line}" for line in about),
                *([] if is_snake else ["#[allow(non_snake_case)]"]),
                "#[inline]",
                f"pub fn {formulas.name}({', '.join(arguments)}) -> {returned} {{",
                *(f"    {line}" for line in body),
                "}",
            ]
        )


def _type(kind: Kind | None) -> str:
    return "bool" if kind is None else kind.text


def _comma(parts: list[str]) -> str:
    return f"{parts[0]}," if len(parts) == 1 else ", ".join(parts)
