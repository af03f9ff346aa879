"""Source code that computes the values of blocks: C, CUDA, Rust and Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final, NamedTuple

from morello_layouts.core.checks import shown
from morello_layouts.core.expr import AffineExpr, canonicalize, variable
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.lazy import numpy as np
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen import LANGUAGES, Formulas
from morello_layouts.programs.records.block import Block, Field, Part, Value
from morello_layouts.programs.records.formula import Term, read_formula
from morello_layouts.programs.records.values import bytes_of_block, runs

_LDEXP: Final = """{q}float power_of_2(int32_t n) {{
    return ldexpf(1.0f, n);
}}
"""
_HALF: Final = """{q}float value_of_f16(int32_t h) {{
    int32_t e = h >> 10 & 31, m = h & 1023;
    float x = e == 31 ? (m ? NAN : INFINITY) : ldexpf((float)(e ? m + 1024 : m), (e ? e : 1) - 25);
    return h >> 15 ? -x : x;
}}
"""
_RUST_POWER: Final = """fn power_of_2(n: i32) -> f32 {
    match n {
        128.. => f32::INFINITY,
        -126..=127 => f32::from_bits(((n + 127) as u32) << 23),
        -149..=-127 => f32::from_bits(1 << (n + 149)),
        _ => 0.0,
    }
}
"""
_RUST_HALF: Final = """fn value_of_f16(h: i32) -> f32 {
    let (e, m) = (h >> 10 & 31, h & 1023);
    let x = match (e, m) {
        (31, 0) => f32::INFINITY,
        (31, _) => f32::NAN,
        (0, _) => m as f32 * power_of_2(-24),
        _ => (m + 1024) as f32 * power_of_2(e - 25),
    };
    if h >> 15 != 0 { -x } else { x }
}
"""
_PYTHON_HALF: Final = """def value_of_f16(h):
    return np.float32(np.uint16(h).view(np.float16))
"""


class Dialect(NamedTuple):
    """How a language writes what a decoder has; ``{}`` stands for names and parts."""

    includes: str
    power: str  #: the function of a power of two.
    half: str  #: the function of a half float's bits; it may call that of powers.
    head: tuple[str, ...]  #: the function and the loop over blocks.
    zeros: str  #: an array of integers from its name, its sizes and its shape.
    loop: str
    item: str  #: one index of an array.
    byte: str
    real: str  #: the value of a float field.
    cast: str  #: an integer as a float.
    table: str
    least: str
    most: str
    absolute: str
    end: str = ";"
    quotient: str = "/"


_C: Final = Dialect(
    "#include <math.h>\n#include <stdint.h>\n", _LDEXP, _HALF,
    ("{q}void {name}_values(const uint8_t *in, float *out, int64_t blocks) {{",
     "for (int64_t block = 0; block < blocks; block++, in += {size}, out += {count}) {{"),
    "int32_t {0}{1} = {2}", "for (int32_t {0} = 0; {0} < {1}; {0}++) {{", "[{}]", "in[{}]",
    "float {0}_value = value_of_{1}({0})", "(float){}", "(const {kind}[]){{{numbers}}}[{index}]",
    "({0} < {1} ? {0} : {1})", "({0} > {1} ? {0} : {1})", "({0} < 0 ? -({0}) : {0})",
)  # fmt: skip
_DIALECTS: Final = {
    "c": _C,
    "cuda": _C._replace(table=""),  # C++ has no compound literals: a choice for each number
    "rust": Dialect(
        "", _RUST_POWER, _RUST_HALF,
        ("pub fn {name}_values(bytes: &[u8], values: &mut [f32]) {{",
         "for (data, out) in bytes.chunks_exact({size}).zip(values.chunks_exact_mut({count})) {{"),
        "let mut {0}: {3} = {2}", "for {0} in 0..{1}_i32 {{", "[({}) as usize]",
        "(data[({}) as usize] as i32)", "let {0}_value = value_of_{1}({0})", "({} as f32)",
        "([{numbers}] as [{kind}; {count}])[({index}) as usize]",
        "({0}).min({1})", "({0}).max({1})", "({0}).abs()",
    ),
    "python": Dialect(
        "import numpy as np\n", "def power_of_2(n):\n    return np.ldexp(np.float32(1), n)\n",
        _PYTHON_HALF,
        ("def {name}_values(data, out):",
         "for block in range(len(data) // {size}):"),
        "{0} = {2}", "for {0} in range({1}):", "[{}]", "data[{size}*block + {}]",
        "{0}_value = value_of_{1}({0})", "np.float32({})", "({numbers})[{index}]",
        "min({0}, {1})", "max({0}, {1})", "abs({})", "", "//",
    ),
}  # fmt: skip


def code(record: Block, target: str = "c") -> str:
    """Return a function that writes the values of blocks as 32-bit floats, one after the other.

    The values are those of the record's formula, product by product: compile C with
    ``-ffp-contract=off`` where each bit counts.

    Args:
        record: a record with a formula of values.
        target: ``"c"``, ``"cuda"`` (for host and device), ``"rust"`` or ``"python"``.

    Raises:
        LayoutError: if the record has no formula, or there is no such target.

    >>> from morello_layouts import record
    >>> print(code(record("r: 1 bytes { a: u4[2] at byte 0; value[k:2] = a[k] - 8 }")))
    #include <math.h>
    #include <stdint.h>
    <BLANKLINE>
    void r_values(const uint8_t *in, float *out, int64_t blocks) {
        for (int64_t block = 0; block < blocks; block++, in += 1, out += 2) {
            int32_t a[2] = {0};
            for (int32_t i0 = 0; i0 < 2; i0++) {
                a[i0] |= in[0] >> (4 * i0) & 15;
            }
            for (int32_t k = 0; k < 2; k++) {
                out[k] = (float)(a[k] - 8);
            }
        }
    }
    """
    if target not in _DIALECTS:
        raise LayoutError(
            f"a language: expected one of {', '.join(_DIALECTS)}, got {shown(target)}",
            "decoders are written in languages that have bytes and loops",
            "name one of these",
        )
    term = read_formula(record)
    language, taken = (
        LANGUAGES[target](),
        {"in", "out", "block", "blocks", "data", "bytes", "values"},
    )
    index = [name for name, _ in record.value.index] if record.value else []
    for name in [record.name or "r", *(one.name for one in record.fields), *index]:
        if name in taken or not language.is_name(name):
            raise LayoutError(
                f"{name!r} is not a name in {language.title} here",
                "a decoder has variables of its own, and languages have reserved words",
                "rename the field, the index or the record",
            )
        taken.add(name)
    return _Writer(record, target, term).text()


class _Writer:
    """What writes one decoder."""

    def __init__(self, record: Block, target: str, term: Term) -> None:
        self.record, self.target, self.term = record, target, term
        self.size = bytes_of_block(record)
        self.dialect = _DIALECTS[target]

    def text(self) -> str:
        value = self.record.value
        sizes = [n for _, n in value.index] if value else []
        own, names = self.dialect, {"name": self.record.name or "block", "size": self.size}
        names |= {"count": prod(sizes), "q": self._qualifiers}
        kinds = {one.type for one in self.record.fields if one.type[0] not in "us"}
        for kind in sorted(kinds - {"f16"}):
            raise UnsupportedError(
                f"{kind}: no code for its values",
                "decoders know f16, and compute the rest from integers",
                "write the type as u8, and a formula of its values",
            )
        needs_power = "exp2" in _kinds(self.term) or (self.target == "rust" and kinds)
        helpers = [own.power] * bool(needs_power) + [own.half] * bool(kinds)
        if self.target in ("c", "cuda"):
            helpers = [one.format(q=f"static {self._qualifiers}") for one in helpers]
        lines = [line.format(**names) for line in own.head]
        for one in self.record.fields:
            lines += self._field(one)
        lines += self._values(value)
        body = "\n".join(_indented(lines, is_python=self.target == "python"))
        return "\n".join([*filter(None, [own.includes]), *helpers, body])

    @property
    def _qualifiers(self) -> str:
        return "__host__ __device__ " if self.target == "cuda" else ""

    def _field(self, one: Field) -> Iterator[str]:
        """Yield the statements that make a field's integers, or the float of its bits."""
        own = self.dialect
        kind, zero = "i32", "0"
        for n in reversed(one.shape):
            kind = f"[{kind}; {n}]"
            zero = f"[{zero}; {n}]" if self.target == "rust" else (
                f"[{zero}]*{n}" if zero == "0" else f"[{zero} for _ in range({n})]")  # fmt: skip
        if self.target in ("c", "cuda"):
            zero = "{0}" if one.shape else "0"
        sizes = "".join(f"[{n}]" for n in one.shape)
        yield own.zeros.format(one.name, sizes, zero, kind) + own.end
        for part in self.record.parts_of(one.name):
            yield from self._part(part)
        if one.type[0] == "s":
            sign = 1 << one.bits - 1
            yield from self._over(one.shape, lambda at: f"{at} = ({at} ^ {sign}) - {sign}", one)
        elif one.type[0] != "u":
            yield own.real.format(one.name, one.type) + own.end

    def _over(self, shape: Sequence[Any], statement: Any, one: Field) -> Iterator[str]:
        index = [f"i{k}" for k in range(len(shape))]
        yield from (self.dialect.loop.format(x, n) for x, n in zip(index, shape, strict=True))
        yield statement(self._item(one.name, index)) + self.dialect.end
        yield from "}" * len(shape)

    def _item(self, name: str, index: Sequence[str]) -> str:
        return name + "".join(self.dialect.item.format(x) for x in index)

    def _part(self, part: Part) -> Iterator[str]:
        *box, _ = part.bits.sizes
        index = [f"i{k}" for k in range(len(box))]
        yield from (self.dialect.loop.format(x, n) for x, n in zip(index, box, strict=True))
        starts = [lo for lo, _ in part.field.piece_box(part.piece)]
        at = self._item(part.field.name, [
            x if lo == 0 else f"{x} + {lo}" for x, lo in zip(index, starts, strict=True)
        ])  # fmt: skip
        names = {
            f"d{k}": variable(x, 0, n - 1) for k, (x, n) in enumerate(zip(index, box, strict=True))
        }
        lo, _ = part.field.piece_bits(part.piece)
        for first, count, places in runs(part):
            bit = {f"d{len(box)}": AffineExpr((), first - lo)}
            form = substitute(part.bits.given[0], {**names, **bit})
            byte, shift = canonicalize(form // 8), canonicalize(form % 8)
            text = self._byte(byte)
            crosses = bool(np.any((places & 7) + count > 8))
            if crosses:
                text = f"({text} | {self._byte(byte + 1)} << 8)"
            if shift != AffineExpr((), 0):
                text = f"{text} >> {_closed(self._formula(shift))}"
            if crosses or count < 8:
                text = f"{text} & {(1 << count) - 1}"
            if first:
                text = f"({text}) << {first}" if " " in text else f"{text} << {first}"
            yield f"{at} |= {text}{self.dialect.end}"
        yield from "}" * len(box)

    def _byte(self, form: AffineExpr) -> str:
        return self.dialect.byte.format(self._formula(form), size=self.size)

    def _formula(self, form: AffineExpr) -> str:
        """Return a formula of indices, by the printer of all index formulas."""
        formulas = Formulas("f", "", form.variables(), (("x", form),))
        return LANGUAGES[self.target]().expression(formulas)

    def _values(self, value: Value | None) -> Iterator[str]:
        index = value.index if value else ()
        yield from (self.dialect.loop.format(name, n) for name, n in index)
        at = "0"
        for k, (name, n) in enumerate(index):
            at = name if k == 0 else f"({at})*{n} + {name}"
        if self.target == "python":
            at = f"{prod(n for _, n in index)}*block + {at}"
        text, is_atom = self._term(self.term)
        if not self.term.is_float:
            text = self.dialect.cast.format(text if is_atom else f"({text})")
        yield f"{self._item('out', [at])} = {text}{self.dialect.end}"
        yield from "}" * len(index)

    def _term(self, term: Term) -> tuple[str, bool]:
        """Return a part of the formula, and whether it needs no parentheses."""
        own, parts = self.dialect, [self._term(part) for part in term.parts]
        if term.kind in "+-*//%":
            sides = []
            for k, (part, (text, is_atom)) in enumerate(zip(term.parts, parts, strict=True)):
                is_bare = is_atom or (k == 0 and _rank(part) >= _rank(term)) or (
                    k == 1 and _rank(part) > _rank(term))  # fmt: skip
                closed = text if is_bare else f"({text})"
                if term.is_float and not part.is_float:
                    closed = own.cast.format(text if is_atom else f"({text})")
                sides.append(closed)
            sign = own.quotient if term.kind == "//" else term.kind
            gap = "" if _rank(term) == 2 else " "
            return f"{sides[0]}{gap}{sign}{gap}{sides[1]}", False
        texts = [text for text, _ in parts]
        if term.kind == "number":
            text = f"{term.of}f" if term.is_float and self.target in ("c", "cuda") else str(term.of)
            return text, term.of >= 0
        if term.kind == "index":
            return term.of, True
        if term.kind == "field":
            name = f"{term.of}_value" if term.is_float else term.of
            return self._item(name, texts), True
        if term.kind == "table":
            return self._table(term, texts[0]), True
        if term.kind == "exp2":
            return f"power_of_2({texts[0]})", True
        known = {"min": own.least, "max": own.most, "abs": own.absolute}
        return known[term.kind].format(*(f"({x})" for x in texts)), True

    def _table(self, term: Term, index: str) -> str:
        numbers = [str(n) for n in term.of]
        if not self.dialect.table:
            found = numbers[-1]
            for k in range(len(numbers) - 2, -1, -1):
                found = f"{index} == {k} ? {numbers[k]} : {found}"
            return f"({found})"
        kinds = {"rust": ("i32", "f32")}.get(self.target, ("int32_t", "float"))
        kind, count = kinds[term.is_float], len(numbers)
        listed = ", ".join(numbers) + "," * (count == 1)
        return self.dialect.table.format(kind=kind, count=count, numbers=listed, index=index)


def _rank(term: Term) -> int:
    return {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}.get(term.kind, 3)


def _kinds(term: Term) -> set[str]:
    return {term.kind}.union(*map(_kinds, term.parts))


def _closed(text: str) -> str:
    return f"({text})" if " " in text or "%" in text or "&" in text else text


def _indented(lines: Sequence[str], *, is_python: bool) -> Iterator[str]:
    depth = 0
    for line in lines:
        if line == "}":
            depth -= 1
        if line != "}" or not is_python:
            yield "    " * depth + line
        depth += line.endswith(("{", ":"))
    for k in range(depth - 1, -1, -1) if not is_python else ():
        yield "    " * k + "}"
