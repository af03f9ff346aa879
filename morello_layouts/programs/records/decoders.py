"""Source code that reads, writes and computes the numbers of blocks: C, CUDA, Rust and Python."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, Final, NamedTuple

from morello_layouts.core.checks import shown
from morello_layouts.core.expr import AffineExpr, canonicalize, variable
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen import LANGUAGES, Formulas
from morello_layouts.outputs.codegen.bits import BYTES, indented
from morello_layouts.outputs.codegen.targets import loop_language
from morello_layouts.programs.records.block import Block, Field, PieceMap
from morello_layouts.programs.records.formula import Term, read_formula
from morello_layouts.programs.records.values import SMALL_FLOATS, bytes_of_block, runs


class DecoderDialect(NamedTuple):
    """How a language writes what only a decoder has; ``{}`` stands for names and parts."""

    includes: str
    power: str  #: the function of a power of two.
    small: str  #: the function of the bits of a float with exponent and mantissa.
    special: tuple[str, str]  #: before its value: infinities and NaN as in IEEE; one NaN.
    scale: str  #: the function of the bits of a power of two.
    high: str  #: the function of the bits that are the highest of a 32-bit float.
    load: str  #: the head of a function that returns a number.
    store: str  #: the head of a function that writes a number.
    head: tuple[str, ...]  #: the function of all values and its loop over blocks.
    signed: str  #: bits as an integer.
    item: str  #: one value of the result.
    cast: str  #: an integer as a float.
    table: str
    least: str
    most: str
    absolute: str


_C: Final = DecoderDialect(
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n",
    "{q}float power_of_2(int32_t n) {{\n    return ldexpf(1.0f, n);\n}}\n",
    """{q}float value_of_{name}(uint32_t h) {{
    int32_t e = h >> {m} & {exponents}, m = h & {mantissas};
    float x = {special}ldexpf((float)(e ? m + {one} : m), (e ? e : 1) - {bias});
    return h >> {sign} & 1 ? -x : x;
}}
""",
    ("e == {exponents} ? (m ? NAN : INFINITY) : ", "(h & {all}) == {all} ? NAN : "),
    "{q}float value_of_{name}(uint32_t h) {{\n"
    "    return h == 255 ? NAN : power_of_2((int32_t)h - 127);\n}}\n",
    """{q}float value_of_{name}(uint32_t h) {{
    float x;
    h <<= {shift};
    memcpy(&x, &h, 4);
    return x;
}}
""",
    "{q}{kind} {name}(const uint8_t *in{index}) {{",
    "{q}void {name}(uint8_t *out{index}, int32_t x) {{",
    ("{q}void {name}_values(const uint8_t *in, float *out, int64_t blocks) {{",
     "for (int64_t block = 0; block < blocks; block++, in += {size}, out += {count}) {{"),
    "(int32_t){}", "out[{}]",
    "(float){}", "(const {kind}[]){{{numbers}}}[{index}]",
    "({0} < {1} ? {0} : {1})", "({0} > {1} ? {0} : {1})", "({0} < 0 ? -({0}) : {0})",
)  # fmt: skip
_DIALECTS: Final = {
    "c": _C,
    "cuda": _C._replace(table=""),  # C++ has no compound literals: a choice for each number
    "rust": DecoderDialect(
        "",
        """fn power_of_2(n: i32) -> f32 {{
    match n {{
        128.. => f32::INFINITY,
        -126..=127 => f32::from_bits(((n + 127) as u32) << 23),
        -149..=-127 => f32::from_bits(1 << (n + 149)),
        _ => 0.0,
    }}
}}
""",
        """fn value_of_{name}(h: u32) -> f32 {{
    let (e, m) = ((h >> {m} & {exponents}) as i32, (h & {mantissas}) as i32);
    let x = {special}if e == 0 {{ m as f32 * power_of_2(1 - {bias}) }} else {{
        (m + {one}) as f32 * power_of_2(e - {bias})
    }};
    if h >> {sign} & 1 != 0 {{ -x }} else {{ x }}
}}
""",
        ("if e == {exponents} {{ if m == 0 {{ f32::INFINITY }} else {{ f32::NAN }} }} else ",
         "if h & {all} == {all} {{ f32::NAN }} else "),
        "fn value_of_{name}(h: u32) -> f32 {{\n"
        "    if h == 255 {{ f32::NAN }} else {{ power_of_2(h as i32 - 127) }}\n}}\n",
        "fn value_of_{name}(h: u32) -> f32 {{\n    f32::from_bits(h << {shift})\n}}\n",
        "pub fn {name}(data: &[u8]{index}) -> {kind} {{",
        "pub fn {name}(out: &mut [u8]{index}, x: i32) {{",
        ("pub fn {name}_values(bytes: &[u8], values: &mut [f32]) {{",
         "for (data, out) in bytes.chunks_exact({size}).zip(values.chunks_exact_mut({count})) {{"),
        "({} as i32)", "out[({}) as usize]", "({} as f32)",
        "([{numbers}] as [{kind}; {count}])[({index}) as usize]",
        "({0}).min({1})", "({0}).max({1})", "({0}).abs()",
    ),
    "python": DecoderDialect(
        "import numpy as np\n", "def power_of_2(n):\n    return np.ldexp(np.float32(1), n)\n",
        """def value_of_{name}(h):
    e, m = h >> {m} & {exponents}, h & {mantissas}
    x = {special}np.ldexp(np.float32(m + {one} if e else m), max(e, 1) - {bias})
    return -x if h >> {sign} & 1 else x
""",
        ("np.float32(np.nan if m else np.inf) if e == {exponents} else ",
         "np.float32(np.nan) if h & {all} == {all} else "),
        "def value_of_{name}(h):\n"
        "    return np.float32(np.nan) if h == 255 else power_of_2(h - 127)\n",
        "def value_of_{name}(h):\n    return np.uint32(h << {shift}).view(np.float32)\n",
        "def {name}(data{index}):", "def {name}(out{index}, x):",
        ("def {name}_values(buffer, out):", "for block in range(len(buffer) // {size}):",
         "data = buffer[{size}*block : {size}*block + {size}]"),
        "{}", "out[{count}*block + {}]", "np.float32({})", "({numbers})[{index}]",
        "min({0}, {1})", "max({0}, {1})", "abs({})",
    ),
}  # fmt: skip


_VARIABLES: Final = ("in", "out", "block", "blocks", "data", "bytes", "buffer", "x")


def code(record: Block, target: str = "c", *, stores: bool = False) -> str:
    """Return functions that read each field's numbers, and one that computes all values.

    A number is loaded, shifted and masked. The values are those of the record's formula as 32-bit
    floats, block after block, product by product: compile C with ``-ffp-contract=off`` where each
    bit counts. A record without a formula gets the functions of its fields only.

    Args:
        record: a record at sizes that are numbers.
        target: ``"c"``, ``"cuda"`` (for host and device), ``"rust"`` or ``"python"``.
        stores: add functions that write a number: whole bytes where it fills them; else they read
            the byte, and leave the bits of its neighbours.

    Raises:
        LayoutError: if the target is unknown, or a name is not one in it.
        UnsupportedError: if a field has more than 32 bits, or a size is a name.

    >>> from morello_layouts import record
    >>> print(code(record("r: 1 bytes { a: u4[2] at byte 0; value[k:2] = a[k] - 8 }")))
    #include <math.h>
    #include <stdint.h>
    #include <string.h>
    <BLANKLINE>
    static inline int32_t r_a(const uint8_t *in, const int32_t i0) {
        uint32_t x = 0;
        x |= (uint32_t)in[0] >> (4 * i0) & 15;
        return (int32_t)x;
    }
    <BLANKLINE>
    void r_values(const uint8_t *in, float *out, int64_t blocks) {
        for (int64_t block = 0; block < blocks; block++, in += 1, out += 2) {
            for (int32_t k = 0; k < 2; ++k) {
                out[k] = (float)(r_a(in, k) - 8);
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
    language, taken = LANGUAGES[target](), set(_VARIABLES)
    index = [name for name, _ in record.value.index] if record.value else []
    for name in [record.name or "r", *index]:
        if name in taken or not language.is_name(name):
            raise LayoutError(
                f"{name!r} is not a name in {language.title} here",
                "a decoder has variables of its own, and languages have reserved words",
                "rename the index or the record",
            )
        taken.add(name)
    return _CodeWriter(record, target).text(stores=stores)


class _CodeWriter:
    """What writes one decoder."""

    def __init__(self, record: Block, target: str) -> None:
        self.record, self.target = record, target
        self.term = read_formula(record) if record.value else None
        self.size, self.name = bytes_of_block(record), record.name or "r"
        self.dialect, self.language = _DIALECTS[target], loop_language(target)()
        self.bytes, self.array = BYTES[target], "in" if target in ("c", "cuda") else "data"
        self.integer = self.language.integers[0].format(32)
        self.real, self.end = self.language.elements["f32"], self.language.stop

    def text(self, *, stores: bool) -> str:
        own, kinds = self.dialect, {one.type for one in self.record.fields if not one.is_integer}
        power = "f8e8m0fnu" in kinds or (self.term is not None and "exp2" in _kinds(self.term))
        power |= self.target == "rust" and not kinds <= {"bf16", "f32"}
        found = [own.power.format(q=self._qualifiers)] * power
        found += [self._helper(kind) for kind in sorted(kinds)]
        for one in self.record.fields:
            found.append(self._printed(self._load(one)))
            found += [self._printed(self._store(one))] * stores
        if self.term is not None:
            found.append(self._printed(self._values(self.term)))
        return "\n".join([*filter(None, [own.includes]), *found]).rstrip("\n")

    def _printed(self, lines: Iterator[str]) -> str:
        return "\n".join(indented([*lines], is_python=self.target == "python")) + "\n"

    @property
    def _qualifiers(self) -> str:
        both = "__host__ __device__ " if self.target == "cuda" else ""
        return f"static inline {both}"

    def _helper(self, kind: str) -> str:
        """Return the function of a float's bits."""
        own, names = self.dialect, {"q": self._qualifiers, "name": kind}
        if kind in ("bf16", "f32"):
            return own.high.format(**names, shift=16 * (kind == "bf16"))
        if kind == "f8e8m0fnu":
            return own.scale.format(**names)
        if kind not in SMALL_FLOATS:
            raise UnsupportedError(
                f"{kind}: no code for its values",
                f"decoders know bf16, f32, f8e8m0fnu, {', '.join(SMALL_FLOATS)}",
                "write the type as u8, and a formula of its values",
            )
        exponents, mantissas = SMALL_FLOATS[kind]
        own_names = {
            "exponents": (1 << exponents) - 1, "m": mantissas, "mantissas": (1 << mantissas) - 1,
            "one": 1 << mantissas, "bias": (1 << exponents - 1) - 1 + mantissas,
            "sign": exponents + mantissas, "all": (1 << exponents + mantissas) - 1,
        }  # fmt: skip
        ieee, one_nan = own.special
        special = ieee if kind in ("f16", "f8e5m2") else one_nan if kind == "f8e4m3fn" else ""
        return own.small.format(**names, **own_names, special=special.format(**own_names))

    def _load(self, one: Field) -> Iterator[str]:
        """Yield the function that returns a number of a field."""
        own = self.dialect
        if one.bits > 31 + (one.type[0] != "u"):
            raise UnsupportedError(
                f"{one.name}: no code for {one.type}",
                "decoders compute in 32 bits, and their integers have a sign",
                "write it as several fields of fewer bits",
            )
        kind = self.integer if one.is_integer else self.real
        yield own.load.format(q=self._qualifiers, kind=kind, **self._names(one, "{}_{}"))
        bits = self.language.integers[1].format(32)
        yield self.language.variable.format(type=bits, name="x", text=0)
        for part in self.record.parts_of(one.name):
            yield from self._part(part, self._loaded)
        found = own.signed.format("x")
        if one.type[0] == "s" and one.bits < 32:
            sign = 1 << one.bits - 1
            found = f"{own.signed.format(f'(x ^ {sign})')} - {sign}"
        yield f"return {found if one.is_integer else f'value_of_{one.type}(x)'}{self.end}"
        yield "}"

    def _store(self, one: Field) -> Iterator[str]:
        """Yield the function that writes a number of a field."""
        names = self._names(one, "{}_set_{}")
        yield self.dialect.store.format(q=self._qualifiers, **names)
        for part in self.record.parts_of(one.name):
            yield from self._part(part, self._stored)
        yield "}"

    def _names(self, one: Field, pattern: str) -> dict[str, str]:
        index = [self.language.typed.format(type=self.integer, name=f"i{k}")
                 for k in range(len(one.shape))]  # fmt: skip
        return {"name": pattern.format(self.name, one.name), "index": ", ".join(["", *index])}

    def _part(self, part: PieceMap, statements: Any) -> Iterator[str]:
        """Yield what is done with each run of bits, for the elements that a part holds."""
        box, every = part.field.piece_box(part.piece), part.field.shape
        names, limits = {}, []
        for k, ((lo, hi), n) in enumerate(zip(map(known, box), known(every), strict=True)):
            names[f"d{k}"] = variable(f"i{k}", lo, hi - 1) - lo
            limits += [f"i{k} >= {lo}"] * (lo > 0) + [f"i{k} < {hi}"] * (hi < n)
        if limits:
            yield self.language.condition.format(self.language.both.join(limits))
        lo, _ = part.field.piece_bits(part.piece)
        for first, count, places in runs(part):
            bit = {f"d{len(box)}": AffineExpr((), first - lo)}
            form = substitute(part.bits.given[0], {**names, **bit})
            byte, shift, last = (
                canonicalize(x) for x in (form // 8, form % 8, (form + (count - 1)) // 8)
            )
            crosses = bool(np.any((places & 7) + count > 8))
            at = [self._formula(byte), *([self._formula(last)] if crosses else [])]
            by = "" if shift == AffineExpr((), 0) else self._formula(shift)
            yield from (one + self.end for one in statements(at, by, first, count))
        if limits:
            yield "}"

    def _loaded(self, at: list[str], by: str, first: int, count: int) -> Iterator[str]:
        text = self.bytes.load(self.array, at, by, count)
        yield f"x |= {f'({text}) << {first}' if first else text}"

    def _stored(self, at: list[str], by: str, first: int, count: int) -> Iterator[str]:
        yield from self.bytes.store("out", at, by, count, f"(x >> {first})" if first else "x")

    def _formula(self, form: AffineExpr) -> str:
        """Return a formula of indices, by the printer of all index formulas."""
        formulas = Formulas("f", "", form.variables(), (("x", form),))
        return self.language.expression(formulas)

    def _values(self, term: Term) -> Iterator[str]:
        index = self.record.value.index if self.record.value else ()
        sizes = known(tuple(n for _, n in index))
        own, at = self.dialect, "0"
        names = {"name": self.name, "size": self.size, "count": prod(sizes)}
        names["q"] = self._qualifiers.removeprefix("static inline ")
        head, *rest = own.head
        yield head.format(**names)
        yield from (line.format(**names) for line in rest)
        for (name, _), n in zip(index, sizes, strict=True):
            yield self.language.loop.format(v=name, type=self.integer, start=0, stop=n)
        for k, (name, _) in enumerate(index):
            at = name if k == 0 else f"({at})*{sizes[k]} + {name}"
        text, is_atom = self._term(term)
        if not term.is_float:
            text = own.cast.format(text if is_atom else f"({text})")
        yield f"{own.item.format(at, count=prod(sizes))} = {text}{self.end}"
        yield from "}" * (len(index) + 2)

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
            is_rounded = term.kind == "//" and not self.language.floors
            sign = "/" if is_rounded else term.kind
            gap = "" if _rank(term) == 2 else " "
            return f"{sides[0]}{gap}{sign}{gap}{sides[1]}", False
        texts = [text for text, _ in parts]
        if term.kind == "number":
            text = f"{term.of}f" if term.is_float and self.target in ("c", "cuda") else str(term.of)
            return text, str(term.of)[0] != "-"
        if term.kind == "index":
            return term.of, True
        if term.kind == "field":
            return f"{self.name}_{term.of}({', '.join([self.array, *texts])})", True
        if term.kind == "table":
            return self._table(term, texts), True
        if term.kind == "exp2":
            return f"power_of_2({texts[0]})", True
        simple = {"min": own.least, "max": own.most, "abs": own.absolute}
        return simple[term.kind].format(*(f"({x})" for x in texts)), True

    def _table(self, term: Term, texts: list[str]) -> str:
        index, *items = texts
        for k, part in enumerate(term.parts[1:]):
            if term.is_float and not part.is_float:
                items[k] = self.dialect.cast.format(f"({items[k]})")
        if not self.dialect.table:
            found = items[-1]
            for k in range(len(items) - 2, -1, -1):
                found = f"{index} == {k} ? {items[k]} : {found}"
            return f"({found})"
        kind = self.real if term.is_float else self.integer
        listed = ", ".join(items) + "," * (len(items) == 1)
        return self.dialect.table.format(kind=kind, count=len(items), numbers=listed, index=index)


def _rank(term: Term) -> int:
    return {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}.get(term.kind, 3)


def _kinds(term: Term) -> set[str]:
    return {term.kind}.union(*map(_kinds, term.parts))
