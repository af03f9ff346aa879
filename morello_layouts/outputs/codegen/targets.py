"""The targets: C, CUDA, Python, Triton and Rust here, and the table of all."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, TypeAlias

from morello_layouts.errors import LayoutError
from morello_layouts.outputs.codegen.language import (
    PADDING,
    PADDING_LAST,
    Formulas,
    Language,
    ProgramLanguage,
    words,
)
from morello_layouts.outputs.codegen.mathematics import LatexLanguage, MlirLanguage, SympyLanguage
from morello_layouts.outputs.codegen.operations import Op
from morello_layouts.outputs.codegen.printer import ATOM, IntType, Printer, Text, Widths

_WORDS = words(
    "auto bool break case char const continue default do double else enum extern false float for "
    "goto if inline int long main register restrict return short signed sizeof static struct "
    "switch true typedef union unsigned void volatile while assert asm typeof "
    "static_assert thread_local alignas alignof linux unix"
)
_CPP_WORDS = _WORDS | words(
    "and bitand bitor catch class compl concept constexpr decltype delete dynamic_cast explicit "
    "export friend mutable namespace new noexcept not nullptr operator or private protected "
    "public reinterpret_cast requires static_assert static_cast template this thread_local throw "
    "try typeid typename using virtual wchar_t char8_t char16_t char32_t consteval constinit "
    "co_await co_return co_yield xor and_eq or_eq xor_eq not_eq std blockIdx blockDim threadIdx "
    "gridDim warpSize"
)
# Names that C reserves for compilers, and those of stdint.h.
_KEPT = re.compile(
    r"_[A-Z_].*|u?int\w*_t|(U?INT|PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT)\w*_(MIN|MAX|C)"
)
_SUFFIX = {IntType.U32: "u", IntType.I32: "", IntType.U64: "ull", IntType.I64: "ll"}


class _CPrinter(Printer):
    def literal(self, value: int, kind: IntType | None) -> str:
        if kind is None or abs(value) < 2**31:
            return str(value)
        # There is no literal of the smallest 64-bit integer: it is a negated one, out of range.
        return f"(-{-value - 1}ll - 1)" if value == -(2**63) else f"{value}{_SUFFIX[kind]}"

    def cast(self, text: Text, kind: IntType) -> Text:
        return Text(f"({_c_type(kind)}){text.closed}", ATOM)


def _c_type(kind: IntType | None) -> str:
    return "bool" if kind is None else f"{'' if kind.signed else 'u'}int{kind.bits}_t"


class CLanguage(ProgramLanguage):
    """C11."""

    name: ClassVar[str] = "c"
    title: ClassVar[str] = "C"
    reserved: ClassVar[frozenset[str]] = _WORDS
    qualifiers: ClassVar[str] = "static inline"
    printer: ClassVar[type[Printer]] = _CPrinter
    binding: ClassVar[str] = "const {type} {name} = {text};"
    check: ClassVar[str] = "assert({});"
    discard: ClassVar[str] = "(void){};"
    keeps_asserts: ClassVar[bool] = False  # NDEBUG

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return super().is_name(name) and _KEPT.fullmatch(name) is None

    def type_of(self, kind: IntType | None) -> str:
        """Return the type of a number, or of a condition."""
        return _c_type(kind)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a function; several results go through pointers, the padding condition returns."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        arguments = [f"{kind} {name}" for name, kind in self.argument_types(formulas)]
        body = self.body(program)
        if not formulas.is_single:
            outputs = [r for r in program.results if r[0] != PADDING]
            arguments += [f"{_c_type(kind)} *{name}" for name, _, kind in outputs]
            body += [f"*{name} = {text};" for name, text, _ in outputs]
        returns = "void"
        if formulas.is_single or formulas.limits is not None:
            _, text, kind = program.results[-1]
            returns = _c_type(kind)
            body.append(f"return {text};")
        has_bool = returns == "bool" or "false" in program.asserts
        headers = ["assert.h"] * asserts + ["stdbool.h"] * has_bool + ["stdint.h"]
        about = formulas.comment("Returns whether the offset holds padding.")
        parameters = ", ".join(arguments) or "void"
        lines = [
            *(f"#include <{header}>" for header in headers),
            "",
            *(f"// {line}" for line in about),
            f"{self.qualifiers} {returns} {formulas.name}({parameters}) {{",
            *(f"    {line}" for line in body),
            "}",
        ]
        return "\n".join(lines)


class CudaLanguage(CLanguage):
    """CUDA C++: functions for device and host."""

    name: ClassVar[str] = "cuda"
    title: ClassVar[str] = "CUDA"
    reserved: ClassVar[frozenset[str]] = _CPP_WORDS
    qualifiers: ClassVar[str] = "static __host__ __device__ __forceinline__"


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
    def cast(self, text: Text, kind: IntType) -> Text:
        return Text(f"tl.cast({text.text}, tl.int{kind.bits})", ATOM)


class PythonLanguage(ProgramLanguage):
    """Python. Integers grow; arrays must have a type that holds the offsets."""

    name: ClassVar[str] = "python"
    title: ClassVar[str] = "Python"
    reserved: ClassVar[frozenset[str]] = frozenset([
        *keyword.kwlist, "np", "tl", "triton", "assert",
    ])  # fmt: skip
    printer: ClassVar[type[Printer]] = _PythonPrinter
    binding: ClassVar[str] = "{name} = {text}"
    check: ClassVar[str] = "assert np.all({})"
    has_widths: ClassVar[bool] = False
    floors: ClassVar[bool] = True

    def head(self, *, asserts: bool) -> list[str]:
        """Return the lines before the function."""
        return ["import numpy as np", "", ""] if asserts else []

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a function; several results, and the padding condition, are a tuple."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        results = [text for _, text, _ in program.results]
        comma = "," if len(results) == 1 and not formulas.is_single else ""
        body = [
            *_docstring(formulas.comment(PADDING_LAST)),
            *self.body(program),
            f"return {', '.join(results)}{comma}",
        ]
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
    printer: ClassVar[type[Printer]] = _TritonPrinter
    check: ClassVar[str] = "tl.device_assert({})"
    has_widths: ClassVar[bool] = True
    declares: ClassVar[bool] = False
    unsigned: ClassVar[bool] = False
    floors: ClassVar[bool] = False

    def head(self, *, asserts: bool) -> list[str]:
        """Return the imports and the decorator."""
        return ["import triton", "import triton.language as tl", "", "", "@triton.jit"]


def _docstring(about: list[str]) -> list[str]:
    if not about:
        return []
    first, *others = (line.replace("\\", r"\\").replace('"', r"\"") for line in about)
    return [f'"""{first}', "", *others, '"""'] if others else [f'"""{first}"""']


class _RustPrinter(Printer):
    widens: ClassVar[bool] = False

    def cast(self, text: Text, kind: IntType) -> Text:
        return Text(f"({text.closed} as {kind.text})", ATOM)

    def truth_value(self, condition: Text, kind: IntType | None) -> Text:
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
    printer: ClassVar[type[Printer]] = _RustPrinter
    binding: ClassVar[str] = "let {name}: {type} = {text};"
    check: ClassVar[str] = "assert!({});"
    discard: ClassVar[str] = "let _ = {};"

    def type_of(self, kind: IntType | None) -> str:
        """Return the type of a number, or of a condition."""
        return "bool" if kind is None else kind.text

    def widths(self, formulas: Formulas, *, declared: bool) -> Widths:
        """Return the types that a function declares: Rust converts nothing by itself."""
        return Widths(sizes=formulas.size_bounds)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a function; several results, and the padding condition, are a tuple."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        arguments = [f"{name}: {kind}" for name, kind in self.argument_types(formulas)]
        results = [text for _, text, _ in program.results]
        types = [self.type_of(kind) for _, _, kind in program.results]
        value, returned = results[0], types[0]
        if not formulas.is_single:
            value, returned = (
                f"({x[0]},)" if len(x) == 1 else f"({', '.join(x)})" for x in (results, types)
            )
        names = (formulas.name, *formulas.arguments)
        is_snake = all(name == name.lower() for name in names)
        lines = [
            *(f"/// {line}" for line in formulas.comment(PADDING_LAST)),
            *([] if is_snake else ["#[allow(non_snake_case)]"]),
            "#[inline]",
            f"pub fn {formulas.name}({', '.join(arguments)}) -> {returned} {{",
            *(f"    {line}" for line in (*self.body(program), value)),
            "}",
        ]
        return "\n".join(lines)


Target: TypeAlias = Literal["c", "cuda", "python", "rust", "mlir", "triton", "latex", "sympy"]
"""The names in the table below, for type checkers."""

LANGUAGES: Final[dict[str, type[Language]]] = {
    language.name: language
    for language in (
        CLanguage,
        CudaLanguage,
        PythonLanguage,
        RustLanguage,
        MlirLanguage,
        TritonLanguage,
        LatexLanguage,
        SympyLanguage,
    )
}
"""The table of targets: the language of each name."""

TARGETS: Final[tuple[str, ...]] = tuple(LANGUAGES)
"""The names of all targets."""


def print_formulas(
    formulas: Formulas,
    target: str,
    *,
    shift: bool = False,
    function: bool = False,
    asserts: bool = False,
) -> str:
    """Print formulas in a target: as an expression, or as lines if there are several results.

    >>> from morello_layouts.core.expr import variable
    >>> i = variable("i", 0, 31)
    >>> formulas = Formulas("f", "", i.variables(), (("value", 32 * (i // 8) + i % 8),))
    >>> print_formulas(formulas, "c"), print_formulas(formulas, "c", shift=True)
    ('32 * (i / 8) + i % 8', '((i >> 3) << 5) + (i & 7)')
    """
    name = target.lower() if isinstance(target, str) else ""
    if name not in LANGUAGES:
        raise LayoutError(
            f"target: expected one of {', '.join(TARGETS)}, got {target!r}",
            "formulas are printed in these targets",
            "name one of them",
        )
    language = LANGUAGES[name](shift=shift)
    if asserts and not function:
        raise LayoutError(
            "asserts: expected a function, got an expression",
            "only a function can check its arguments",
            "give function=True as well",
        )
    formulas.require_names(language.title, language.is_name)
    if function:
        language.require(language.asserts or not asserts, "asserts", "leave asserts=True out")
        return language.function(formulas, asserts=asserts)
    return language.expression(formulas) if formulas.is_single else language.statements(formulas)
