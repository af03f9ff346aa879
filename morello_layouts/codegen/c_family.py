"""C and CUDA."""

from __future__ import annotations

import re
from typing import ClassVar

from morello_layouts.codegen.formulas import PADDING, Formulas
from morello_layouts.codegen.language import ProgramLanguage, words
from morello_layouts.codegen.printer import ATOM, Printer, Text
from morello_layouts.codegen.widths import Kind, Widths

__all__ = ["CLanguage", "CudaLanguage"]

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
