"""The targets: C, CUDA, Python, Rust and others."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from morello_layouts.codegen.language import (
    PADDING,
    PADDING_LAST,
    Formulas,
    Language,
    ProgramLanguage,
    words,
)
from morello_layouts.codegen.mlir import MlirLanguage
from morello_layouts.codegen.operations import Op
from morello_layouts.codegen.printer import ATOM, Printer, Text
from morello_layouts.codegen.symbolic import LatexLanguage, SympyLanguage
from morello_layouts.codegen.widths import Kind, Widths
from morello_layouts.errors import LayoutError

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
# Names that C keeps for compilers, and those of stdint.h.
_KEPT = re.compile(
    r"_[A-Z_].*|u?int\w*_t|(U?INT|PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT)\w*_(MIN|MAX|C)"
)
_SUFFIX = {Kind.U32: "u", Kind.I32: "", Kind.U64: "ull", Kind.I64: "ll"}


class _CPrinter(Printer):
    def literal(self, value: int, kind: Kind | None) -> str:
        if kind is None or abs(value) < 2**31:
            return str(value)
        # There is no literal of the smallest 64-bit integer: it is a negated one, out of range.
        return f"(-{-value - 1}ll - 1)" if value == -(2**63) else f"{value}{_SUFFIX[kind]}"

    def cast(self, text: Text, kind: Kind) -> Text:
        inner = text.text if text.level == ATOM else f"({text.text})"
        return Text(f"({_type(kind)}){inner}", ATOM)


class CLanguage(ProgramLanguage):
    """C11."""

    name: ClassVar[str] = "c"
    title: ClassVar[str] = "C"
    reserved: ClassVar[frozenset[str]] = _WORDS
    qualifiers: ClassVar[str] = "static inline"
    keeps_asserts: ClassVar[bool] = False  # NDEBUG

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return super().is_name(name) and _KEPT.fullmatch(name) is None

    def printer(self, widths: Widths | None) -> Printer:
        """What writes C's operations."""
        return _CPrinter(widths)

    def statement(self, name: str, text: str, kind: Kind | None) -> str:
        """A constant's definition."""
        return f"const {_type(kind)} {name} = {text};"

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A function; several results go through pointers, and whether p is padding comes back."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        arguments = [f"{_type(kind)} {name}" for name, kind in self.argument_kinds(formulas)]
        outputs = [r for r in program.results if r[0] != PADDING]
        has_result = formulas.is_single or formulas.limits is not None
        returns = _type(program.results[-1][2]) if has_result else "void"
        if not formulas.is_single:
            arguments += [f"{_type(kind)} *{name}" for name, _, kind in outputs]
        parameters = ", ".join(arguments) or "void"
        body = [f"assert({check});" for check in program.asserts]
        body += [f"(void){name};" for name in program.unused]
        body += [self.statement(*binding) for binding in program.bindings]
        if not formulas.is_single:
            body += [f"*{name} = {text};" for name, text, _ in outputs]
        if has_result:
            body.append(f"return {program.results[-1][1]};")
        has_bool = returns == "bool" or "false" in program.asserts
        headers = ["assert.h"] * asserts + ["stdbool.h"] * has_bool + ["stdint.h"]
        lines = [*(f"#include <{header}>" for header in headers), ""]
        about = formulas.comment("Returns whether the offset holds padding.")
        lines += [f"// {line}" for line in about]
        lines.append(f"{self.qualifiers} {returns} {formulas.name}({parameters}) {{")
        lines += [f"    {line}" for line in body]
        return "\n".join([*lines, "}"])


class CudaLanguage(CLanguage):
    """CUDA C++: functions for device and host."""

    name: ClassVar[str] = "cuda"
    title: ClassVar[str] = "CUDA"
    reserved: ClassVar[frozenset[str]] = _CPP_WORDS
    qualifiers: ClassVar[str] = "static __host__ __device__ __forceinline__"


def _type(kind: Kind | None) -> str:
    """The type of a number, or of a condition."""
    if kind is None:
        return "bool"
    return f"{'' if kind.signed else 'u'}int{kind.bits}_t"


_PYTHON_WORDS = frozenset([*keyword.kwlist, "np", "tl", "triton", "assert"])


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
    reserved: ClassVar[frozenset[str]] = _PYTHON_WORDS
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
        return f"let {name}: {_rust_type(kind)} = {text};"

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A function; several results, and whether the offset is padding, are a tuple."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        arguments = [f"{name}: {kind.text}" for name, kind in self.argument_kinds(formulas)]
        results = [text for _, text, _ in program.results]
        types = [_rust_type(kind) for _, _, kind in program.results]
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


def _rust_type(kind: Kind | None) -> str:
    return "bool" if kind is None else kind.text


def _comma(parts: list[str]) -> str:
    return f"{parts[0]}," if len(parts) == 1 else ", ".join(parts)


Target: TypeAlias = Literal["c", "cuda", "python", "rust", "mlir", "triton", "latex", "sympy"]
"""The name of a target."""

TARGETS: Final[tuple[str, ...]] = get_args(Target)
"""The names of all targets."""


def print_formulas(
    formulas: Formulas,
    target: str,
    *,
    shift: bool = False,
    function: bool = False,
    asserts: bool = False,
) -> str:
    """Formulas in a target: an expression; lines where several are asked for, or padding.

    Args:
        formulas: what to print.
        target: one of :data:`TARGETS`.
        shift: write shifts and masks for powers of two where operands are nonnegative.
        function: a whole function.
        asserts: the function checks its arguments.

    Raises:
        LayoutError: where there is no such target, or a name is none in it.
        UnsupportedError: where the target lacks what is asked for.

    >>> from morello_layouts.expr import variable
    >>> i = variable("i", 0, 31)
    >>> formulas = Formulas("f", "", i.variables(), (("value", 32 * (i // 8) + i % 8),))
    >>> print_formulas(formulas, "c"), print_formulas(formulas, "c", shift=True)
    ('32 * (i / 8) + i % 8', '((i >> 3) << 5) + (i & 7)')
    """
    language = _language(target, shift)
    if asserts and not function:
        raise LayoutError(
            "an expression holds no asserts",
            "asserts check the arguments of a function",
            "give function=True as well",
        )
    formulas.require_names(language.title, language.is_name)
    if function:
        return language.function(formulas, asserts=asserts)
    if formulas.is_single:
        return language.expression(formulas)
    return language.statements(formulas)


def _language(target: str, shift: bool) -> Language:
    match target:
        case "c":
            return CLanguage(shift=shift)
        case "cuda":
            return CudaLanguage(shift=shift)
        case "python":
            return PythonLanguage(shift=shift)
        case "rust":
            return RustLanguage(shift=shift)
        case "mlir":
            return MlirLanguage(shift=shift)
        case "triton":
            return TritonLanguage(shift=shift)
        case "latex":
            return LatexLanguage(shift=shift)
        case "sympy":
            return SympyLanguage(shift=shift)
        case _:
            raise LayoutError(
                f"no target is named {target!r}",
                f"the targets are {', '.join(TARGETS)}",
                "name one of them",
            )
