"""The targets: LaTeX, SymPy, C, CUDA, Python, Triton and Rust here, and the table of all."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final, Literal, TypeAlias, TypeVar

from morello_layouts.core.expr import AffineExpr, Digit, Var, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.conversions import latex, latex_int, to_sympy
from morello_layouts.core.expr.substitution import replace_digits
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import TRITON_BLOCK
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen.language import (
    PADDING,
    PADDING_LAST,
    Below,
    Formulas,
    Language,
    LoopAxis,
    VectorBlock,
    words,
)
from morello_layouts.outputs.codegen.mlir import MlirLanguage
from morello_layouts.outputs.codegen.operations import Op, is_known_nonnegative
from morello_layouts.outputs.codegen.printer import ATOM, IntType, Operators, Text, Widths
from morello_layouts.outputs.codegen.programs import LoopLanguage, ProgramLanguage

_GREEK: Final = frozenset(
    re.findall(
        r"\w+",
        "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho"
        " sigma tau upsilon phi varphi chi psi omega",
    )
)
"""Commands of LaTeX that name a variable: any other could do more than print."""


class LatexLanguage(Language):
    r"""LaTeX, without dollar signs; several lines are an ``aligned`` block."""

    name: ClassVar[str] = "latex"
    title: ClassVar[str] = "LaTeX"

    def is_name(self, name: str) -> bool:
        r"""Whether a text may name a variable: mathematics has ``\lambda`` and ``x'``."""
        stem = name.rstrip("'")
        return stem.isidentifier() or (stem[:1] == "\\" and stem[1:] in _GREEK)

    def expression(self, formulas: Formulas) -> str:
        ((_, form),) = formulas.results
        return _latex(form)

    def statements(self, formulas: Formulas) -> str:
        lines = [f"{_latex_name(name)} &= {_latex(form)}" for name, form in formulas.results]
        return _aligned([*lines, *_latex_padding(formulas)])

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return the function's definition, with the bounds of its arguments."""
        inputs = ", ".join(map(_latex_name, formulas.arguments))
        values = [_latex(form) for _, form in formulas.results]
        value = values[0] if len(values) == 1 else rf"\left({', '.join(values)}\right)"
        name = formulas.name.replace("_", r"\_")
        lines = [rf"\mathrm{{{name}}}({inputs}) &= {value}", *_latex_padding(formulas)]
        for var in formulas.variables:
            lo, hi = var.interval
            left = "" if lo is None else rf"{latex_int(lo)} \le "
            right = "" if hi is None else rf" \le {latex_int(hi)}"
            if left or right:
                lines.append(f"& {left}{_latex_name(var.name)}{right}")
        lines += [f"& {_latex_assumption(one)}" for one in formulas.size_assumptions]
        return _aligned(lines)


def _latex(form: AffineExpr) -> str:
    return latex(_without_groups(form))


def _without_groups(form: AffineExpr) -> AffineExpr:
    def change(digit: Digit) -> AffineExpr:
        operand = _without_groups(digit.operand)
        if digit.is_group:
            return operand
        return AffineExpr(((Digit(operand, digit.divisor, digit.modulus), 1),), 0)

    return replace_digits(form, change)


def _latex_assumption(one: Assumption) -> str:
    name = _latex_name(one.name)
    if one.lo == one.hi:
        return f"{name} = {one.lo}"
    parts = [rf"{one.divisor} \mid {name}"] if one.divisor > 1 else []
    if one.lo > one.divisor or (one.divisor == 1 and one.hi is None):
        parts.append(rf"{name} \ge {one.lo}")
    if one.hi is not None:
        parts.append(rf"{name} \le {one.hi}")
    return r",\ ".join(parts)


def _latex_name(name: str) -> str:
    return latex(variable(name))


def _latex_padding(formulas: Formulas) -> list[str]:
    if formulas.limits is None:
        return []
    parts = [rf"{_latex(form)} \ge {latex_int(n)}" for form, n in formulas.limits]
    condition = r" \lor ".join(parts) or r"\mathrm{false}"
    return [rf"\mathrm{{padding}} &\iff {condition}"]


def _aligned(lines: list[str]) -> str:
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


_FUNCTIONS: Final = "Mod|floor|ceiling|Tuple|Max|Min|Piecewise|Eq|Ne"


class SympyLanguage(Language):
    """SymPy's text over ``floor``, ``Mod`` and our ``BitXor``, which is Python."""

    name: ClassVar[str] = "sympy"
    title: ClassVar[str] = "SymPy"
    reserved: ClassVar[frozenset[str]] = frozenset(
        [*keyword.kwlist, "Lambda", "Symbol", *_FUNCTIONS.split("|"), "BitXor"]
    )

    def expression(self, formulas: Formulas) -> str:
        ((_, text),) = _sympy_results(formulas)
        return text

    def statements(self, formulas: Formulas) -> str:
        return "\n".join(f"{name} = {text}" for name, text in _sympy_results(formulas))

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a module that makes the symbols and a ``Lambda``."""
        values = [text for _, text in _sympy_results(formulas)]
        symbols = [
            f'{var.name} = Symbol("{var.name}", integer=True'
            f"{', nonnegative=True' if is_known_nonnegative(var.interval) else ''})"
            for var in formulas.variables
        ]
        symbols += [
            f'{name} = Symbol("{name}", integer=True, positive=True)' for name in formulas.sizes
        ]
        comma = "," if len(formulas.arguments) == 1 else ""
        value = values[0] if len(values) == 1 else f"Tuple({', '.join(values)})"
        used = {"Lambda", "Symbol", *re.findall(rf"\b(?:{_FUNCTIONS})\b", value)}
        lines = [
            f"from sympy import {', '.join(sorted(used))}",
            *([_BIT_XOR] if "BitXor(" in value else []),
            "",
            *(f"# {line}" for line in formulas.comment(PADDING_LAST)),
            *symbols,
            f"{formulas.name} = Lambda(({', '.join(formulas.arguments)}{comma}), {value})",
        ]
        return "\n".join(lines)


_BIT_XOR: Final = "from morello_layouts.core.expr.sympy_functions import BitXor"
"""SymPy's own ``Xor`` is one of truth values."""


def _sympy_results(formulas: Formulas) -> list[tuple[str, str]]:
    """Return the names and texts of the results, the padding condition last if there is one."""
    found = [(name, str(to_sympy(form))) for name, form in formulas.results]
    if formulas.limits is not None:
        parts = [f"({to_sympy(form)} >= {n})" for form, n in formulas.limits]
        found.append((PADDING, " | ".join(parts) or "False"))
    return found


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
_KEPT = regex(r"_[A-Z_].*|u?int\w*_t|(U?INT|PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT)\w*_(MIN|MAX|C)")
_SUFFIX = {IntType.U32: "u", IntType.I32: "", IntType.U64: "ull", IntType.I64: "ll"}


class CLanguage(ProgramLanguage):
    """C11."""

    name: ClassVar[str] = "c"
    title: ClassVar[str] = "C"
    reserved: ClassVar[frozenset[str]] = _WORDS
    headers: ClassVar[str] = (  # string.h, and stdlib.h through immintrin.h
        r"_.*|\w+_t|NULL|offsetof|mem\w+|str\w+"
        r"|abort|abs|aligned_alloc|at_quick_exit|atexit|ato[fil]|atoll|bsearch|calloc|div|exit|free"
        r"|getenv|labs|ldiv|llabs|lldiv|malloc|mblen|mbstowcs|mbtowc|posix_memalign|qsort"
        r"|quick_exit|rand|realloc|srand|system|wcstombs|wctomb"
    )
    qualifiers: ClassVar[str] = "static inline"
    binding: ClassVar[str] = "const {type} {name} = {text};"
    check: ClassVar[str] = "assert({});"
    discard: ClassVar[str] = "(void){};"
    keeps_asserts: ClassVar[bool] = False  # NDEBUG
    include: ClassVar[str] = "#include <stdint.h>\n\n"

    def is_name(self, name: str) -> bool:
        return super().is_name(name) and _KEPT.fullmatch(name) is None

    def type_of(self, kind: IntType | None) -> str:
        return "bool" if kind is None else f"{'' if kind.signed else 'u'}int{kind.bits}_t"

    def literal(self, value: int, kind: IntType | None) -> str:
        if kind is None or abs(value) < 2**31:
            return str(value)
        # There is no literal of the smallest 64-bit integer: it is a negated one, out of range.
        return f"(-{-value - 1}ll - 1)" if value == -(2**63) else f"{value}{_SUFFIX[kind]}"

    def cast(self, text: Text, kind: IntType) -> Text:
        return Text(f"({self.type_of(kind)}){text.closed}", ATOM)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a function; several results go through pointers, the padding condition returns."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        arguments = [f"{kind} {name}" for name, kind in self.argument_types(formulas)]
        body = self.before(program)
        if not formulas.is_single:
            outputs = [r for r in program.results if r[0] != PADDING]
            arguments += [f"{self.type_of(kind)} *{name}" for name, _, kind in outputs]
            body += [f"*{name} = {text};" for name, text, _ in outputs]
        returns = "void"
        if formulas.is_single or formulas.limits is not None:
            _, text, kind = program.results[-1]
            returns = self.type_of(kind)
            body.append(f"return {text};")
        has_bool = returns == "bool" or "false" in program.asserts
        has_bool |= any(kind is None for *_, kind in program.bindings)
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
    headers: ClassVar[str] = (
        rf"{CLanguage.headers}|cuda\w*|dim3"
        r"|(u?(char|short|int|long|longlong)|float|double)[1-4](_\d+a)?"
    )
    qualifiers: ClassVar[str] = "static __host__ __device__ __forceinline__"
    opening: ClassVar[str] = 'extern "C" __global__ void {name}({arguments}) {{'
    parallel: ClassVar[str] = "blockIdx.x"


class PythonLanguage(ProgramLanguage):
    """Python. Integers grow; arrays must have a type that holds the offsets."""

    name: ClassVar[str] = "python"
    title: ClassVar[str] = "Python"
    reserved: ClassVar[frozenset[str]] = frozenset([
        *keyword.kwlist, "np", "tl", "triton", "assert",
    ])  # fmt: skip
    headers: ClassVar[str] = r"int|__\w+__"
    symbols: ClassVar[Mapping[Op, str]] = {
        **Operators.symbols,
        Op.MUL: "*",
        Op.DIV: "//",
        Op.MOD: "%",
    }
    any_of: ClassVar[tuple[str, int]] = (" | ", ATOM)
    truth: ClassVar[tuple[str, str]] = ("False", "True")
    binding: ClassVar[str] = "{name} = {text}"
    check: ClassVar[str] = "assert np.all({})"
    has_widths: ClassVar[bool] = False
    floors: ClassVar[bool] = True
    comment: ClassVar[str] = "#"
    loop: ClassVar[str] = "for {v} in range({start}, {stop}):"
    end: ClassVar[str] = ""
    variable: ClassVar[str] = binding
    stop: ClassVar[str] = ""
    opening: ClassVar[str] = "def {name}({arguments}):"
    typed: ClassVar[str] = "{name}"
    condition: ClassVar[str] = "if {}:"
    both: ClassVar[str] = " and "
    least: ClassVar[str] = "min({a}, {b})"
    array: ClassVar[str] = typed
    written: ClassVar[str] = typed
    loop_words: ClassVar[frozenset[str]] = words("range min")
    choice: ClassVar[str] = "np.where({}, {}, {})"

    def imports(self, *, asserts: bool) -> str:
        """Return the lines before a function of formulas."""
        return "import numpy as np\n\n\n" if asserts else ""

    def default(self) -> str:
        body = super().default()  # a comment alone is not a statement
        return f"pass  {body}" if body.startswith(self.comment) else body

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a function; several results, and the padding condition, are a tuple."""
        program = self.program(formulas, named_results=False, asserts=asserts)
        results = [text for _, text, _ in program.results]
        comma = "," if len(results) == 1 and not formulas.is_single else ""
        body = [
            *_docstring(formulas.comment(PADDING_LAST)),
            *self.before(program),
            f"return {', '.join(results)}{comma}",
        ]
        lines = [
            *self.imports(asserts=asserts or "np.where(" in str(body)).splitlines(),
            f"def {formulas.name}({', '.join(formulas.arguments)}):",
            *(f"    {line}".rstrip() for line in body),
        ]
        return "\n".join(lines)


class TritonLanguage(PythonLanguage):
    """Triton, whose // and % truncate as in C; its text also runs as Python over NumPy."""

    name: ClassVar[str] = "triton"
    title: ClassVar[str] = "Triton"
    check: ClassVar[str] = "tl.device_assert({})"
    has_widths: ClassVar[bool] = True
    declares: ClassVar[bool] = False
    unsigned: ClassVar[bool] = False
    floors: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    vectors: ClassVar[int] = 2
    parallel: ClassVar[str] = "tl.program_id(0)"
    include: ClassVar[str] = "import triton\nimport triton.language as tl\n\n\n"
    opening: ClassVar[str] = f"@triton.jit\n{PythonLanguage.opening}"
    loop_words: ClassVar[frozenset[str]] = words("range min mask triton")
    choice: ClassVar[str] = "tl.where({}, {}, {})"

    def imports(self, *, asserts: bool) -> str:
        return f"{self.include}@triton.jit\n"

    def cast(self, text: Text, kind: IntType) -> Text:
        return Text(f"tl.cast({text.text}, tl.int{kind.bits})", ATOM)

    def whole(self, depth: int = 0) -> Iterator[str]:
        for size in self.nest.space.size_names:  # an argument of any width
            yield f"{'    ' * depth}{size} = tl.cast({size}, tl.int64)"
        yield from super().whole(depth)

    def block(self, block: VectorBlock) -> list[str]:
        """Return the vectors of the inner loops, and the masks that the body uses."""
        lines, conditions = [], [*block.conditions]
        total = 1
        for k, axis in enumerate(block.axes):
            size = _power_of_two(axis)
            total *= size
            at = "" if len(block.axes) == 1 else "[:, None]" if k == 0 else "[None, :]"
            lines.append(f"{axis.name} = tl.arange(0, {size}){at}")
            if size != axis.size:
                conditions.append((axis.variable, axis.size))
        if total > TRITON_BLOCK:
            raise UnsupportedError(
                f"a block: expected up to {TRITON_BLOCK} elements, got {total}",
                "Triton has no larger blocks",
                "give tiles, such as tile={'i': 32, 'j': 128}",
            )
        without = "False" if 0 in self.nest.space.sizes.values() else ""
        for name, form in self.masks.items():
            if f"{{{name}}}" in self.body:
                own = (f"({self.below(*x)})" for x in _over(form, conditions, block.axes))
                lines.append(f"{name} = {without or ' & '.join(own) or None}")
        return lines

    @property
    def masks(self) -> dict[str, AffineExpr | None]:
        """The names of masks, each with the offset whose coordinates it is over; None for all."""
        offsets = self.offsets
        return {"mask": None, **{f"mask_{a}": offsets.get(a) for a in self.nest.plan.results}}

    @property
    def offsets(self) -> dict[str, AffineExpr]:
        return dict(zip(self.nest.space.arrays, self.nest.forms, strict=True))

    def visit(self) -> list[str]:
        masks = {name: name for name in self.masks}  # they have their names in the body
        return [self.filled(line, masks) for line in super().visit()]

    def default(self) -> str:
        inner = {axis.name for axis in self.nest.axes[-self.vectors :]}
        values, masks = [], []
        for name, form in self.offsets.items():
            is_whole = inner <= {v.name for v in form.variables()}
            masks.append("mask" if is_whole else f"mask_{name}")  # as many dimensions as pointers
            values.append(f"tl.load({name} + {{{name}}}, mask={{{masks[-1]}}})")
        names = self.nest.space.arrays
        if self.nest.is_copy:
            return f"tl.store({names[1]} + {{{names[1]}}}, {values[0]}, mask={{{masks[1]}}})"
        pairs = zip(names, values, strict=True)
        return "\n".join(f"{name}_values = {value}" for name, value in pairs)


def _over(
    offset: AffineExpr | None, conditions: Iterable[Below], axes: Iterable[LoopAxis]
) -> Iterator[Below]:
    """Yield the conditions on the loops of an offset; without an offset, all.

    A vector that the offset does not depend on stands at its start: where no element is there, the
    offset is none of the array's. So a mask has no more dimensions than its pointers.
    """
    own = set() if offset is None else {v.name for v in offset.variables()}
    gone = {axis.name for axis in axes} - own
    for form, n in conditions:
        if offset is None:
            yield form, n
        elif own & {v.name for v in form.variables()}:
            kept = [(x, k) for x, k in form.terms if not (isinstance(x, Var) and x.name in gone)]
            yield AffineExpr.from_terms(kept, form.const), n


def _power_of_two(axis: LoopAxis) -> int:
    if not isinstance(axis.size, int):
        raise UnsupportedError(
            f"{axis.name}: expected a number of turns, got {axis.size}",
            "a block of Triton has a size that is known when it is compiled",
            f"give tile={{{axis.coordinate!r}: 128}}, or numbers for sizes",
        )
    return 1 << max(axis.size - 1, 0).bit_length()


def _docstring(about: list[str]) -> list[str]:
    if not about:
        return []
    first, *others = (line.replace("\\", r"\\").replace('"', r"\"") for line in about)
    return [f'"""{first}', "", *others, '"""'] if others else [f'"""{first}"""']


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
    widens: ClassVar[bool] = False
    choice: ClassVar[str] = "(if {} {{ {} }} else {{ {} }})"
    binding: ClassVar[str] = "let {name}: {type} = {text};"
    check: ClassVar[str] = "assert!({});"
    discard: ClassVar[str] = "let _ = {};"
    loop: ClassVar[str] = "for {v} in {start}..{stop} {{"
    variable: ClassVar[str] = "let mut {name}: {type} = {text};"
    opening: ClassVar[str] = "pub fn {name}({arguments}) {{"
    typed: ClassVar[str] = "{name}: {type}"
    condition: ClassVar[str] = "if {} {{"
    least: ClassVar[str] = "{a}.min({b})"
    array: ClassVar[str] = "{name}: &[{type}]"
    written: ClassVar[str] = "{name}: &mut [{type}]"
    elements: ClassVar[Mapping[str, str]] = {"f32": "f32", "f64": "f64"}
    integers: ClassVar[tuple[str, str]] = ("i{}", "u{}")

    def type_of(self, kind: IntType | None) -> str:
        return "bool" if kind is None else kind.text

    def cast(self, text: Text, kind: IntType) -> Text:
        return Text(f"({text.closed} as {kind.text})", ATOM)

    def truth_value(self, condition: Text, kind: IntType | None) -> Text:
        assert kind is not None
        return Text(f"{kind.text}::from({condition.text})", ATOM)

    def as_type(self, text: str, kind: str) -> str:
        is_atom = re.fullmatch(r"\w+|.*\.min\(.*\)", text)
        return f"{text if is_atom else f'({text})'} as {kind}"

    def index(self, text: str) -> str:
        return self.as_type(text, "usize")

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
            *(f"    {line}" for line in (*self.before(program), value)),
            "}",
        ]
        return "\n".join(lines)


LoopTarget: TypeAlias = Literal["c", "cuda", "python", "rust", "mlir", "triton"]
Target: TypeAlias = Literal[LoopTarget, "latex", "sympy"]
"""The names in the table below, for type checkers and the command; the first have loops."""

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


Kind = TypeVar("Kind", bound=Language)


def _named(target: str, known: Mapping[str, type[Kind]], why: str) -> type[Kind]:
    name = target.lower() if isinstance(target, str) else ""
    if name not in known:
        raise LayoutError(
            f"target: expected one of {', '.join(known)}, got {target!r}", why, "name one of them"
        )
    return known[name]


def loop_languages() -> dict[str, type[LoopLanguage]]:
    """Return the languages that have loops."""
    return {name: one for name, one in LANGUAGES.items() if issubclass(one, LoopLanguage)}


def loop_language(target: str) -> type[LoopLanguage]:
    """Return the language of a name, for loop nests."""
    return _named(target, loop_languages(), "nests are printed in these languages")


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
    language = _named(target, LANGUAGES, "formulas are printed in these targets")(shift=shift)
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
