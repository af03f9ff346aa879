"""Triton's text: encodings as MLIR prints them, types that have one, linear layouts in lines.

And the same in words. Layouts of Gluon, Triton's language for layouts, are read by their names and
fields. Source: ``triton/experimental/gluon/language/_layouts.py``, and ``amd/_layouts.py`` beside
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from morello_layouts.core.description import Description, Part, dimensions, listed, memory_axes
from morello_layouts.core.limits import MAP_TEXT
from morello_layouts.errors import LayoutError
from morello_layouts.notations.grammar import INT, NAME, Defining, Syntax, Terminal, Token, integer
from morello_layouts.notations.text import NUMBER, Note, Rule, field, made, many, row, word
from morello_layouts.notations.triton.encoding import ORDERS, Encoding
from morello_layouts.notations.triton.layout import TritonLayout

_GLUON: Final = """
BlockedLayout blocked size_per_thread=sizePerThread threads_per_warp=threadsPerWarp \
warps_per_cta=warpsPerCTA order=order cga_layout=CGALayout
SliceLayout slice dim=dim parent=parent
DistributedLinearLayout linear reg_bases=register lane_bases=lane warp_bases=warp \
block_bases=block shape=
DotOperandLayout dot_op operand_index=opIdx parent=parent k_width=kWidth
NVMMADistributedLayout nvidia_mma version=versionMajor warps_per_cta=warpsPerCTA \
instr_shape=instrShape cga_layout=CGALayout
AMDMFMALayout amd_mfma version=version instr_shape=instrShape transposed=isTransposed \
warps_per_cta=warpsPerCTA element_bitwidth=elementBitWidth tiles_per_warp=tilesPerWarp \
cga_layout=CGALayout
AMDWMMALayout amd_wmma version=version transposed=isTranspose warp_bases= reg_bases= \
instr_shape=instrShape cga_layout=CGALayout rank=
NVMMASharedLayout nvmma_shared swizzle_byte_width=swizzlingByteWidth \
element_bitwidth=elementBitWidth rank=rank transposed=transposed fp4_padded=fp4Padded \
cga_layout=CGALayout
SwizzledSharedLayout swizzled_shared vec=vec per_phase=perPhase max_phase=maxPhase order=order \
cga_layout=CGALayout
PaddedSharedLayout padded_shared interval_padding_pairs=paddings offset_bases=offset \
cga_layout=block shape=
SharedLinearLayout shared_linear offset_bases=offset block_bases=block alignment=alignment
TensorMemoryLayout tensor_memory_encoding block=blockM col_stride=colStride cga_layout=CGALayout \
two_ctas=twoCTAs fp4_padded=fp4Padded
TensorMemoryScalesLayout tensor_memory_scales_encoding cga_layout=CGALayout
"""

GLUON: Final[dict[str, tuple[str, dict[str, str]]]] = {
    name: (kind, dict(pair.split("=") for pair in fields))
    for name, kind, *fields in map(str.split, _GLUON.strip().split("\n"))
}


_ABSENT: Final = ("CGALayout", "block", "fp4Padded", "twoCTAs")
"""Fields that MLIR prints only if they are not empty or false."""


def nested(value: Any) -> Any:
    """Return integers in nested tuples."""
    return tuple(map(nested, value)) if isinstance(value, tuple | list) else int(value)


def encoding_of(value: Any) -> Encoding:
    """Return the encoding of an object of Gluon."""
    name = type(value).__name__
    return gluon_encoding(name, {field: getattr(value, field) for field in GLUON[name][1]})


def gluon_encoding(name: str, fields: dict[str, Any]) -> Encoding:
    """Return Triton's encoding of a layout of Gluon, from the values of its fields by name.

    >>> print(gluon_encoding("SliceLayout", {"dim": 0, "parent": gluon_encoding("BlockedLayout", {
    ...     "size_per_thread": [1, 4], "threads_per_warp": [8, 4], "warps_per_cta": [4, 1],
    ...     "order": [1, 0]})}).encoding().rank)
    2
    """
    kind, names = GLUON[name]
    if name == "NVMMASharedLayout":
        fields = {"transposed": False, **fields}
    found: list[tuple[str, Any]] = []
    if name == "AMDWMMALayout":
        bases = ("register", fields.get("reg_bases")), ("warp", fields.get("warp_bases"))
        found.append(("ctaLayout", tuple((key, nested(given)) for key, given in bases if given)))
    for own, given in fields.items():
        key, field = names[own], given
        if key == "versionMajor":
            major, minor = (*given, 0)[:2]
            found += [(key, int(major)), ("versionMinor", int(minor))]
            continue
        if key == "blockM":
            sizes = nested(given)
            if not isinstance(sizes, tuple) or len(sizes) != 2:
                what = f"blockM: expected two sizes, got {given}"
                raise LayoutError(
                    what, "a block has rows and columns", "write for example (128, 64)"
                )
            found += zip((key, "blockN"), sizes, strict=True)
            continue
        if not key or given is None or (key in _ABSENT and not given):
            continue
        if key == "parent" and not isinstance(given, Encoding):
            field = encoding_of(given)
        elif not isinstance(given, Encoding | bool):
            field = nested(given)
        found.append((key, field))
    return Encoding(kind, tuple(found))


_SYNTAX: Final = Syntax(
    form="an encoding has a kind and fields; a tensor's type has sizes, an element type, encoding",
    example="write for example #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, "
    "order = [1, 0]}>",
    longest=MAP_TEXT,
)

_TYPE: Final = Terminal("a type", r"tensor\b|!(ttg|triton_gpu|tt)\.memdesc\b")
_DIM: Final = Terminal("a size and 'x'", "[0-9]+x")
_ELEMENT: Final = Terminal("an element type", "[A-Za-z][A-Za-z0-9]*")
_SPACE: Final = Terminal(
    "a memory space", r"#(ttg|triton_gpu)\.shared_memory|#ttng\.tensor_memory\b"
)
_EXTRA: Final = Terminal("a memory space", r"mutable|[0-9]+(x[0-9]+)*")
_KIND: Final = Terminal("an encoding", r"#(tt[in]?g|triton_(intel_)?gpu)\.[A-Za-z_0-9]+")
_ALIAS: Final = Terminal("an alias", "#[A-Za-z_][A-Za-z0-9_$]*(?![A-Za-z0-9_$.])")
_FLAG: Final = Terminal("true or false", r"(true|false)\b")
# LinearLayout::toString writes "- lane=1 -> (0, 2)", "lane=2 -> (0, 4)" and so on.
_ONE: Final = Terminal("'is a size 1 dimension'", r"is\s+a\s+size\s+1\s+dimension")
_AXIS: Final = Terminal("a name", r"(?!where\b)[A-Za-z_][A-Za-z0-9_]*")
_WHERE: Final = Terminal("'where out dims are:'", r"where\s+out\s+dims\s+are\s*:")

_HOPPER: Final = {"hasLeadingOffset", "vec", "perPhase", "maxPhase", "order"}

# What older versions called an encoding or a field.
_OLD_KINDS: Final = {"shared": "swizzled_shared", "mma": "nvidia_mma", "mfma": "amd_mfma"}
_OLD_FIELDS: Final = {
    ("amd_mfma", "versionMajor"): "version",
    ("amd_mfma", "versionMinor"): "",
    ("amd_wmma", "isTransposed"): "isTranspose",
    ("amd_mfma", "isTranspose"): "isTransposed",
    ("padded_shared", "intervals"): "paddings",
    **{("dpas", name): "" for name in "ABC"},  # sizes that follow from the others
}


def parse_triton(text: str, aliases: Mapping[str, Any] | None = None) -> TritonLayout:
    """Parse an encoding, a type that has one, or a linear layout, after definitions of aliases."""
    source = Defining(text, _SYNTAX, aliases)
    source.definitions(_ALIAS, lambda: source.take(_SPACE) or _ENCODING.read(source, None, True))
    start = source.take(_KIND, _TYPE, "{", "-", NAME)
    if start is None:
        source.end()
        known = [each for each in source.aliases.values() if isinstance(each, Encoding)]
        if len(known) != 1:
            raise source.no_type("encodings", "tensor<32x32xf16, #blocked>")
        return TritonLayout(known[0])
    if start not in ("{", "-"):
        source.move(start.start)
    found = _FIRST.get(start.kind, _LINES).read(source, None, True)
    source.end()
    return found if isinstance(found, TritonLayout) else TritonLayout(found)


# ---- encodings


def _kind_and_fields(source: Defining, note: Note | None, _: bool) -> tuple[str, Any]:
    """Read an encoding; its kind and fields have the names of Triton 3.9."""
    token = source.need(_KIND)
    kind = token.partition(".")[2]
    kind = _OLD_KINDS.get(kind, kind)
    fields: list[tuple[str, Any]] = []
    source.need("<")
    if source.take("["):
        part = note and note.part("paddings")
        if part:
            part.mark(token.start + len(token))
        fields.append(("paddings", _PADDINGS.read(source, part, True)))
    if source.take("{") or not kind.startswith("tensor_memory"):
        fields += source.series(lambda: _field(source, note, kind), "}")
        while source.take(","):
            fields.append(_field(source, note, kind))
        source.need(">")
    else:
        fields += source.series(lambda: _field(source, note, kind), ">")
    return _modern(kind, [(name, value) for name, value in fields if name])


def _modern(kind: str, fields: list[tuple[str, Any]]) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """Fields as triton 3.9 has them: a leading offset made a shared encoding Hopper's."""
    given = dict(fields)
    if kind != "swizzled_shared" or not {*given} >= _HOPPER:
        return kind, tuple(fields)
    if not given.pop("hasLeadingOffset"):
        return kind, tuple(given.items())
    vec, most, order = given.pop("vec"), given.pop("maxPhase"), given.pop("order")
    given.pop("perPhase")
    own = {"swizzlingByteWidth": 16 * most, "transposed": order[0] == 0}
    return "nvmma_shared", tuple({**own, "elementBitWidth": 128 // vec, **given}.items())


def _field(source: Defining, note: Note | None, kind: str = "") -> tuple[str, Any]:
    name = source.need(NAME)
    source.need("=")
    key = _OLD_FIELDS.get((kind, str(name)), str(name))
    part = note and note.part(key)
    if part:
        part.places[part.path] = name.start  # of a field that is given twice, the second
    return key, _value(source, part, True)


def _value(source: Defining, note: Note | None, _: bool) -> Any:
    """Read the value of a field; a list is marked after its bracket."""
    token = source.need(INT, _FLAG, NAME, _KIND, _ALIAS, "[", "{")
    if note:
        note.mark(source.at if token == "[" else token.start)
    if token.kind is INT:
        return integer(token, source.text)
    if token.kind is _FLAG:
        return token == "true"
    if token == "[":
        return _VALUES.read(source, note, True)
    if token == "{":
        return tuple(source.series(lambda: _field(source, None), "}"))
    if token.kind is NAME:
        if token not in ORDERS:
            raise source.error(f"an unexpected {token}", "write a number", token.start)
        return str(token)
    return _encoding(source, token)


def _encoding(source: Defining, token: Token) -> Encoding:
    found: Any
    if token.kind is _KIND:
        source.move(token.start)
        found = _ENCODING.read(source, None, True)
    else:
        found = source.defined(token, "its use", "#ttg.blocked<…>")
    if not isinstance(found, Encoding):
        fix = f"write the encoding before {token}"
        raise source.error(f"{token} is a memory space", fix, token.start)
    return found


_VALUES: Final = many(Rule(_value), ",", "]")
_PADDING: Final = made(
    lambda interval, padding: (interval, padding),
    field("interval", NUMBER),
    ":",
    "+",
    field("padding", NUMBER),
)
_PADDINGS: Final = many(_PADDING, ",", "]")
_ENCODING: Final = made(lambda fields: Encoding(*fields), field("fields", Rule(_kind_and_fields)))


# ---- types


def _element(source: Defining, note: Note | None, _: bool) -> str:
    name = source.need(_ELEMENT, "!tt.ptr")
    if note:
        note.mark(name.start)
    if name.kind is _ELEMENT:
        return str(name)
    source.need("<")
    pointed = [source.need(_ELEMENT)]
    if source.take(","):
        pointed.append(source.need(INT))
    source.need(">")
    return f"{name}<{', '.join(pointed)}>"


def _extra(source: Defining, *_: Any) -> str:
    """Read what follows an encoding; a memory space may have an alias."""
    found = source.need(_EXTRA, _SPACE, _ALIAS)
    if found.kind is not _ALIAS:
        return str(found)
    space = source.defined(found, "its use", "#ttg.shared_memory")
    if isinstance(space, Encoding):
        raise source.error(f"{found} is an encoding", "write a memory space", found.start)
    return str(space)


def _typed(kind: str, layout: TritonLayout) -> TritonLayout:
    encoding = layout.encoding
    if encoding.is_memory == (kind == "tensor"):
        what = f"a {kind} has no encoding {encoding.kind}"
        why = "a tensor lies in registers, a memdesc in shared or tensor memory"
        fix = f"write {'!ttg.memdesc' if encoding.is_memory else 'tensor'}"
        raise LayoutError(what, why, fix)
    return layout


_TYPED: Final = made(
    _typed,
    field("kind", word(_TYPE)),
    "<",
    field(
        "layout",
        made(
            TritonLayout,
            field(
                "shape", many(word(_DIM, lambda n, text: integer(n[:-1], text, n.start)), least=1)
            ),
            field("element_type", Rule(_element)),
            ",",
            field(
                "encoding", Rule(lambda source, *_: _encoding(source, source.need(_KIND, _ALIAS)))
            ),
            field("after", many(row(",", Rule(_extra)))),
            ">",
        ),
    ),
)


# ---- linear layouts


def _linear(fields: dict[str, Any], shape: tuple[int, ...] | None = None) -> TritonLayout:
    kind = "shared_linear" if "offset" in fields else "linear"
    if kind == "linear":
        fields = {**dict.fromkeys(("register", "lane", "warp"), ()), **fields}
    return TritonLayout(Encoding(kind, tuple(fields.items())), shape)


def _bases(source: Defining, note: Note | None, _: bool) -> dict[str, Any]:
    return dict(source.series(lambda: _field(source, note), "}"))


def _lines(source: Defining, note: Note | None, _: bool) -> dict[str, Any]:
    """Read the bases of each axis in the order of its bits, after the first line's dash."""
    fields: dict[str, Any] = {}
    token: Token | None = None
    while not fields or token:
        name = source.need(NAME) if token in (None, "-") else token
        found = fields.setdefault(str(name), ())
        if note:
            note.part(name).mark(name.start)
            note.part(name).part(len(found)).mark(name.start)
        if token not in (None, "-") or not source.take(_ONE):
            fields[str(name)] = (*found, _basis(source, name, 1 << len(found)))
        token = source.take("-", _AXIS)
    return fields


def _basis(source: Defining, name: Token, bit: int) -> Any:
    """Read the basis of a bit after the name of its axis."""
    source.need("=")
    number = source.need(INT)
    source.need("->")
    source.need("(")
    vector = _VECTOR.read(source, None, True)
    if integer(number, source.text) != bit:
        what = f"{name}: expected {bit}, got {number}"
        why = "each line has the next bit of its axis"
        raise source.error(what, "write the lines in order", number.start, why)
    return vector


_VECTOR: Final = many(NUMBER, ",", ")", least=1)
_SIZE: Final = row(NAME, "(", "size", NUMBER, ")")
_LINES: Final = made(
    _linear,
    field("fields", Rule(_lines)),
    field("shape", _WHERE, "[", many(_SIZE, ",", "]", least=1), default=None),
)
_FIRST: Final = {_KIND: _ENCODING, _TYPE: _TYPED, "{": made(_linear, field("fields", Rule(_bases)))}


# ---- words


_KINDS: Final = {
    "blocked": "each thread holds a block",
    "slice": "what another layout has along all dimensions but one",
    "dot_op": "an operand of a dot",
    "nvidia_mma": "the result of NVIDIA's tensor cores",
    "amd_mfma": "the result of AMD's matrix cores, 64 lanes",
    "amd_wmma": "the result of AMD's matrix cores, 32 lanes",
    "dpas": "the result of Intel's matrix engines, 16 lanes",
    "linear": "registers and lanes by their bases",
    "generic_linear": "registers and lanes by their bases, which may exchange places",
    "swizzled_shared": "shared memory, rows xored with their phase",
    "amd_rotating_shared": "shared memory, rows xored with their phase and block",
    "nvmma_shared": "shared memory as TMA and wgmma read it",
    "padded_shared": "shared memory with gaps",
    "shared_linear": "shared memory by its bases",
    "tensor_memory_encoding": "tensor memory of matrix instructions",
    "tensor_memory_scales_encoding": "tensor memory of scale factors, each in four quarters",
}
_FIELDS: Final = {
    "sizePerThread": "the block of each thread",
    "threadsPerWarp": "threads of a warp along each dimension",
    "warpsPerCTA": "warps of a block along each dimension",
    "order": "dimensions, the fastest first",
    "CGALayout": "which part of the tensor each block of the cluster has",
    "CTAsPerCGA": "blocks of the cluster along each dimension",
    "CTASplitNum": "parts of the tensor along each dimension",
    "CTAOrder": "order of the blocks, the fastest first",
    "dim": "the dimension that is left out",
    "parent": "the layout of the whole",
    "opIdx": "which operand: 0 is rows by k, 1 is k by columns",
    "kWidth": "neighbours along k that a lane holds",
    "versionMajor": "2 for mma.sync, 3 for Hopper's wgmma",
    "version": "the generation of the matrix cores",
    "instrShape": "what one instruction computes",
    "isTransposed": "whether lanes lie along columns",
    "isTranspose": "whether lanes lie along columns",
    "tilesPerWarp": "tiles that a warp repeats along each dimension",
    "elementBitWidth": "bits of an element",
    "repeatCount": "rows of the result of an instruction",
    "executionSize": "columns of the result of an instruction",
    "systolicDepth": "steps of an instruction along k",
    "opsPerChan": "elements along k in each step: those of 32 bits",
    "repCluster": "tiles that a warp repeats along each dimension",
    "ctaLayout": "how tiles are arranged over registers and warps",
    "register": "coordinate of the element at each bit of the register",
    "lane": "coordinate at each bit of the lane",
    "warp": "coordinate at each bit of the warp",
    "block": "coordinate at each bit of the block",
    "offset": "coordinate at each bit of the offset",
    "vec": "elements that stay together",
    "perPhase": "rows of one phase",
    "maxPhase": "phases, then again the first one",
    "swizzlingByteWidth": "bytes of a row in which chunks of 16 are xored with the row; 0 for none",
    "transposed": "whether the first dimension is the fastest",
    "fp4Padded": "whether half of the bytes are gaps, as four-bit floats have them",
    "blockM": "rows of an instruction",
    "blockN": "columns of an instruction",
    "colStride": "columns from one element to the next",
    "twoCTAs": "whether two blocks compute together",
    "blockRepOrder": "whether blocks follow each other along rows or k first",
    "paddings": "the interval in elements, and the gap after each",
}


def describe(layout: TritonLayout, shape: Sequence[int] | None = None) -> Description:
    sizes = shape or layout.shape
    dims = dimensions(sizes or (None,) * (layout.encoding.rank or 2))
    axes = memory_axes(layout.recipe(sizes), dims) if sizes else ()
    parts = [*_fields(layout.encoding)]
    if layout.shape is not None:
        names = listed([dim.name for dim in dims])
        parts.insert(0, Part("x".join(map(str, layout.shape)), f"sizes of {names}"))
    kind = "Triton shared memory" if layout.encoding.is_memory else "Triton registers"
    if layout.encoding.is_tensor_memory:
        kind = "Triton tensor memory"
    headline = _KINDS[layout.encoding.kind]
    return Description(str(layout), kind, headline, dims, tuple(parts), axes)


def _fields(encoding: Encoding) -> Iterator[Part]:
    yield Part(encoding.kind, _KINDS[encoding.kind])
    for name, text in encoding.texts:
        if name in _FIELDS:
            yield Part(text, _FIELDS[name])
