"""C and CUDA."""

from __future__ import annotations

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
    "int32_t int64_t uint32_t uint64_t"
)
_CPP_WORDS = _WORDS | words(
    "and bitand bitor catch class compl concept constexpr decltype delete dynamic_cast explicit "
    "export friend mutable namespace new noexcept not nullptr operator or private protected "
    "public reinterpret_cast requires static_assert static_cast template this thread_local throw "
    "try typeid typename using virtual wchar_t xor blockIdx blockDim threadIdx gridDim "
    "warpSize"
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

    def printer(self, widths: Widths | None) -> Printer:
        """What writes C's operations."""
        return _CPrinter(widths)

    def statement(self, name: str, text: str, kind: Kind | None) -> str:
        """A constant's definition."""
        return f"const {_type(kind)} {name} = {text};"

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A function; several results go through pointers, and it returns whether p is padding."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        arguments = [f"{_type(kind)} {name}" for name, kind in self.argument_kinds(formulas)]
        outputs = [r for r in program.results if r[0] != PADDING]
        is_single = formulas.limits is None and len(outputs) == 1
        returned = program.results[-1] if formulas.limits is not None else outputs[0]
        if not is_single:
            arguments += [f"{_type(kind)} *{name}" for name, _, kind in outputs]
        parameters = ", ".join(arguments) or "void"
        body = [f"assert({check});" for check in program.asserts]
        body += [f"(void){name};" for name in program.unused]
        body += [self.statement(*binding) for binding in program.bindings]
        if not is_single:
            body += [f"*{name} = {text};" for name, text, _ in outputs]
        body.append(f"return {returned[1]};")
        headers = ["assert.h"] * asserts + ["stdbool.h"] * (returned[2] is None) + ["stdint.h"]
        lines = [*(f"#include <{header}>" for header in headers), ""]
        returns = "Returns whether the offset holds padding."
        lines += [f"// {line}" for line in formulas.comment(returns)]
        lines.append(f"{self.qualifiers} {_type(returned[2])} {formulas.name}({parameters}) {{")
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
