"""The table of notations: recognize the notation of a text, parse it, describe a layout.

An error may name the text that somebody meant: one that is read, a slip away from the given one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from morello_layouts.core.checks import shown
from morello_layouts.core.description import (
    Description,
    Part,
    axes_in_words,
    dimensions,
    listed,
    memory_axes,
)
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import (
    ELEMENT_BITS,
    Arrays,
    Layout,
    checked_recipe,
    nearest_type,
    notation_name,
)
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.limits import LAYOUT_TEXT, MAP_TEXT, REPAIRED_TEXT, REPAIRS
from morello_layouts.errors import LayoutError, ParseError

_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_SIGNS: Final = ")]}>,:({[<-"
_WORD: Final = regex(r"[A-Za-z_]\w*")
_CROSS: Final = regex(r"(?<=\d)\s*[x×]\s*(?=\d)")
_GAP: Final = regex(r"(?<=[\d)])\s+(?=\d)")
_SPACE: Final = regex(r"(?<!\s)\s++,\s*")
_WORDS: Final = (
    *("devices", "replicated", "maximal", "mesh", "register", "lane", "warp", "block", "offset"),
    *("bf16", "f32", "memref", "affine_map", "strided", "lambda", "floordiv", "blocked", "order"),
    *("sizePerThread", "threadsPerWarp", "warpsPerCTA", "inner_dims_pos", "inner_tiles"),
    *("outer_dims_perm", "channels_last", "contiguous_format"),
)
"""Words that notations begin with or hold in braces."""


def did_you_mean(text: str, position: int, is_read: Callable[[str], bool]) -> str | None:
    """Return the nearest text that is read, for one that is not; None if none is near.

    Args:
        text: the text that was refused.
        position: where its error has the caret.
        is_read: whether a text is read.

    >>> from morello_layouts import LayoutError
    >>> from morello_layouts.notations.morello.text import parse_morello
    >>> def is_read(text):
    ...     try:
    ...         return bool(parse_morello(text))
    ...     except LayoutError:
    ...         return False
    >>> did_you_mean("[1, 0, 1 p(4]", 12, is_read)
    '[1, 0, 1 p(4)]'
    """
    if not text.strip() or len(text) > REPAIRED_TEXT:
        return None
    tried = {text}
    for candidate in (_SPACE.sub(", ", each) for each in _candidates(text, position)):
        if candidate not in tried:
            tried.add(candidate)
            if len(tried) > REPAIRS:
                return None
            if is_read(candidate):
                return candidate
    return None


def _candidates(text: str, at: int) -> Iterator[str]:
    """Yield texts that differ by what people mistype, the likeliest first."""
    yield text[:at] + _closing(text[:at]) if at == len(text) else text
    yield from _whole(text)
    yield from _words(text)
    before, here, after = text[:at], text[at : at + 1], text[at + 1 :]
    yield before + _closing(before)[:1] + here + after
    yield before + here.swapcase() + after
    yield before + re.sub(r"^(\d+)", r"(\1)", here + after)
    yield from _other_brackets(text, at)
    for sign in (*_SIGNS, *(_letters(text) if before[-1:].isdigit() and not here else "")):
        yield before + sign + here + after
    if here and not here.isalnum():
        yield before + after
        for sign in _SIGNS:
            yield before + sign + after


def _letters(text: str) -> list[str]:
    """Return a text's letters; first channels or the second dimension, which come in blocks."""
    return sorted({x for x in text.lower() if "a" <= x <= "z"}, key=lambda x: (x not in "cb", x))


def _closing(text: str) -> str:
    """Return the brackets that a text leaves open, closed."""
    opened: list[str] = []
    for sign in text.replace("->", "  ").replace("<=", "  "):
        if sign in _PAIRS:
            opened.append(_PAIRS[sign])
        elif opened and sign == opened[-1]:
            opened.pop()
    return "".join(reversed(opened))


def _whole(text: str) -> Iterator[str]:
    """Yield the text with a sign of another notation in place of its own, or what is around it."""
    for wrong, right in (("=>", "->"), ("->", ":"), (";", ","), ("×", "x"), (" over ", " ")):
        yield text.replace(wrong, right)
    yield _CROSS.sub(",", text)
    yield _GAP.sub(", ", text)
    if "->" in text:
        yield re.sub(r"\b[A-Za-z]{2,6}\b", lambda word: " ".join(word[0].lower()), text)
    if text[0] in "Tt(":
        yield f"{{1,0:{text}}}"
    if text[0] == "[":
        yield f"f32{text}"
    sizes, colon, strides = text.partition(":")
    if colon:
        yield f"({sizes}):({strides})"


def _words(text: str) -> Iterator[str]:
    """Yield the text with a known word in place of one that resembles it."""
    from difflib import get_close_matches

    for word in _WORD.finditer(text):
        for near in get_close_matches(word[0], _WORDS, 1, 0.7) if len(word[0]) > 2 else ():
            yield text[: word.start()] + near + text[word.end() :]


def _other_brackets(text: str, at: int) -> Iterable[str]:
    """Yield the text with other brackets in place of the pair that opens at a place."""
    if text[at : at + 1] not in ("(", "["):
        return
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if depth == 0:
            for left, right in _PAIRS.items():
                yield text[:at] + left + text[at + 1 : end] + right + text[end + 1 :]
            return


BEGINS: Final = {
    "hlo_text": r"sharding\s*=\s*\{|\{\s*(devices\s*=|replicated|maximal|manual|unknown|"
    r"unreduced|mesh\s*\[|\{\s*(devices\s*=|replicated|maximal))",
    "sdy_text": r"(sdy\.mesh\b|@[\w.$-]+\s*=\s*<|%\w+\s*:\s*tensor<[^<>]*>\s*\{|#?sdy\.sharding\b)",
    "args_text": r"(NamedSharding|PartitionSpec|P)\s*\(|(mesh|spec|placements|desc|nb?|grid)\s*=|"
    r"[\[(]\s*(_?(Strided)?Shard|Replicate|Partial)\s*\(|"
    r"\(?\s*+(\*\s*+,\s*+){0,64}(((GEN_)?BLOCK|CYCLIC)\b|\*\s*\)\s*ONTO)",
}
"""How the sharding begins, after the array."""

SHARDING: Final = regex(
    r"\s*+(?:(?:\(|/\*|[a-z]\w*+\s*+[\[<])[^\n]{0,4000}?(?:,|>\s*+\{?|(?<=[\]}]))\s*+)?"
    rf"(?:{'|'.join(BEGINS.values())})"
)
"""Matches the beginning of a text with a sharding."""


@frozen(slots=False)
class Notation:
    """A notation, as everything outside of its folder knows it; its folder loads on first use."""

    #: the word that names the notation where a text alone does not; readers may share it.
    name: str
    title: str  #: the kind of its texts, in errors.
    begins: re.Pattern[str]  #: matches the beginning of a text in this notation.
    reader: str  #: the module and function that reads a text, with a caret in its errors.
    kinds: str  #: the module of its layouts, and their types.
    words: str  #: the module and function that says what each part of a layout means.
    example: str  #: a text.
    #: what else a text matches, if its beginning alone does not tell: the errors of this notation
    #: are about such texts only.
    signs: str = ""

    def parse(self, text: str) -> Arrays:
        """Read a text; its errors have a caret."""
        found: Arrays = _loaded(self.reader)[0](text)
        return found

    def is_meant(self, text: str) -> bool:
        """Return whether a text is of this notation, even if it is wrong."""
        return re.match(self.signs, text) is not None

    @property
    def types(self) -> tuple[type[Layout], ...]:
        return _loaded(self.kinds)

    def holds(self, layout: object) -> bool:
        is_loaded = _module(self.kinds.partition(":")[0]) in sys.modules
        return is_loaded and isinstance(layout, self.types)

    def describe(self, layout: Any, sizes: Any) -> Description:
        found: Description = _loaded(self.words)[0](layout, sizes)
        return found


def _module(name: str) -> str:
    return f"morello_layouts.notations.{name}"


@cache
def _loaded(place: str) -> tuple[Any, ...]:
    """Return values by the module, from this folder, and their names: ``xla:XlaShape``."""
    module, _, names = place.partition(":")
    with importing:
        return tuple(getattr(import_module(_module(module)), name) for name in names.split())


_TYPES: Final = "|".join(ELEMENT_BITS)

NOTATIONS: Final = (
    Notation(
        "morello",
        "a Morello list",
        regex(r"\s*(\[|\(\s*\[|[0-9]|N[A-Z]|Layout\s*::|layout\s*!)"),
        "morello.text:parse_morello",
        "morello:MorelloLayout",
        "morello.text:describe",
        "[1, 0, 1 p(4)]",
        r"\s*(\[|\(\s*\[|[0-9]+\s*([,)p\s]|oe|\Z)|N[HC]|[Ll]ayout\s*(::|!))",
    ),
    Notation(
        "einops",
        "an einops pattern",
        regex(r"[^\[\]{}<>#%\"]*->"),
        "einops:parse_einops",
        "einops:EinopsLayout",
        "coordinates:describe",
        "(h p) w -> h w p, p=2",
        r"[\s\S]*->",
    ),
    Notation(
        "xla",
        "an XLA layout in braces",
        regex(r"\s*\{"),
        "xla:parse_xla_layout",
        "xla:XlaLayout",
        "xla.words:describe",
        "{1,0:T(8,128)}",
        r"\s*\{\s*([0-9}:*-]|[A-Z#]+\()",
    ),
    Notation(
        "xla",
        "an XLA shape",
        regex(rf"\s*(\(|/\*|b\s*\(|[a-z_]\w*\s*\[|({_TYPES})\b)", re.IGNORECASE),
        "xla:parse_xla",
        "xla:XlaShape",
        "xla.words:describe",
        "bf16[10,200]{1,0:T(8,128)(2,1)}",
        rf"\s*(b\s*\(|[\s(]+\)*\s*\Z|[\s(/*]*\w+\s*\[|\(*\s*({_TYPES})\b)",
    ),
    Notation(
        "triton",
        "an encoding of Triton",
        regex(
            r"\s*(!(?!xegpu)|-|\{\s*(register|lane|warp|block|offset)\b|(?=[#t])[\s\S]*#(tt[in]?g|triton_(intel_)?gpu)\.)"
        ),
        "triton.text:parse_triton",
        "triton:TritonLayout",
        "triton.text:describe",
        "tensor<32x16xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], "
        "warpsPerCTA = [4, 1], order = [1, 0]}>>",
        r"\s*(!t|#|t|-\s*\w+\s*(=|is)|\{)",
    ),
    Notation(
        "mlir",
        "a type or an affine map of MLIR",
        regex(r"\s*(#|!xegpu\b|(affine_map|memref|tensor|vector)\b)"),
        "mlir.text:parse_mlir",
        "mlir:MlirType MlirMap TpuTiled IreeEncoding TpuVectorLayout XegpuLayout",
        "mlir.text:describe",
        "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>",
    ),
    Notation(
        "pack",
        "linalg.pack or its attributes",
        regex(r"\s*(%|(linalg|tensor)\s*\.|outer_dims_perm|inner_dims_pos|inner_tiles)"),
        "mlir.text:parse_pack",
        "mlir:MlirPack",
        "mlir.text:describe",
        "outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]",
        r"[\s\S]*(pack|inner_|outer_)",
    ),
    Notation(
        "onednn",
        "a oneDNN tag",
        regex(r"\s*(?![A-Z]+\s*\Z)([A-Za-z]|[0-9]+[A-Za-z])"),
        "onednn:parse_onednn",
        "onednn:OnednnLayout",
        "onednn:describe",
        "aBcd16b",
        r"\s*(dnnl|format_tag|([a-z]{1,7}_)+[a-z]s[av][0-9]|(?!d[0-9]+\b)[A-Za-z]{0,12}[\s(.-]*[a-z]*[0-9]+(\.[0-9]+)?"
        r"([A-Za-z]|\s*\Z)|"
        r"(any|[a-m]{2,}|[ncdhw]+[a-z]?[ncdhw]*|[goidhw]+[a-z]?[goidhw]*|[ldigo]+|tnc)\s*\Z)",
    ),
    Notation(
        "strided",
        "strides or a memory format",
        regex(r"\s*(strided\s*<|(contiguous_format|channels_last(_3d)?)\s*\Z)"),
        "strided:parse_strided",
        "strided:StridedLayout MemoryFormat",
        "strided:describe",
        "strided<[5, 1], offset: 2>",
    ),
    Notation(
        "formula",
        "a formula of coordinates",
        regex(r"[^{}\[\]:#\"]*?(->|[-+*/%]|\b(floor|ceil|Mod)\b)"),
        "functions:parse_formula",
        "functions:OffsetFormula",
        "coordinates:describe",
        "i, j -> 8*i + j",
    ),
    Notation(
        "tvm",
        "a TVM index map or layout",
        regex(r"\s*(lambda\b|[A-Z0-9]+|[\w.]*(index_?map|IndexMap)[\w.]*\()", re.ASCII),
        "tvm:parse_tvm",
        "coordinates:FormulaLayout",
        "coordinates:describe",
        "NCHW16c",
        r"\s*(lambda\b|[\w.]*(index_?map|IndexMap)|(?=.?[A-Z0-9])[A-Z][A-Za-z0-9]+\s*\Z)",
    ),
    Notation(
        "named",
        "the name of a format",
        regex(r"\s*[A-Za-z][\w-]*([ ]\w+)?\s*\Z", re.ASCII),
        "named:parse_named",
        "named:NamedLayout",
        "coordinates:describe",
        "mx128x4",
    ),
    Notation(
        "cute",
        "a CuTe layout",
        regex(
            r"\s*([_(0-9?-]|S(w|wizzle)?\s*<|Layout\s*:|(tensor<\s*)?(raw_|tmem_|[gsr]mem_)?ptr(?![a-z])|"
            r"\(?Swizzle\()"
        ),
        "cute.text:parse_cute",
        "cute:CuteLayout ComposedLayout",
        "cute.text:describe",
        "((4,2),8):((1,32),4)",
        r"\s*(S|L|[gsrt]|\(*(?=[^:]*[0-9?_])[\w\s(),?@-]+(:|\Z))",
    ),
    Notation(
        "fragment",
        "an operand of a matrix instruction",
        regex(
            r"\s*((cute::)?SM\d+(_|::)|(wgmma|mma|ldmatrix|stmatrix|movmatrix|tcgen05)\s*(\.|\s\w|\Z)|"
            r"(gfx\w+\s+)?v_\w|t(dp|mm)\w|simdgroup_\w|[^a-z\s][^a-z]*\bover\b|"
            r"[sz]vl\d|za\d+\.|sv(su|us)?mop|e\d+\s+v|vf?madot|v(u?int|b?float)\d)",
            re.IGNORECASE,
        ),
        "fragments.text:parse_fragment",
        "fragments:FragmentLayout",
        "fragments.text:describe",
        "SM80_16x8x16_F32F16F16F32_TN A",
    ),
    Notation(
        "sharding",
        "a sharding",
        SHARDING,
        "sharding.reader:parse_sharding",
        "sharding:ShardedLayout",
        "sharding.layout:describe",
        "f32[10,16]{1,0:T(8,128)}, {devices=[4,2]<=[8]}",
    ),
)
"""All notations. If several readers refuse a text and got equally far, the first one answers."""

_SPELLED: Final = regex(
    r"[Ll]ayout\s*[(<]|decltype|torch\.|stride|omposition\(|Struct\(|Format\(|[Aa]rray\(|Metadata\(|"
    r"reinterpret_tensor|\]\[|%[\w#:.-]+\s*[,=]|^\s*tt[a-z]*\."
)
"""What a text has that is spelled as in a source or on a console."""
_SPACED: Final = regex(r"\s*[A-Za-z]( +[A-Za-z])+\s*")  # such as N H W C
_NEAREST: Final = 3  # notations that an error names


NAMES: Final = tuple(dict.fromkeys(notation.name for notation in NOTATIONS))
"""The names of the notations."""


def parse(text: str, notation: str | None = None) -> Arrays:
    """Parse a layout in any notation.

    Args:
        text: the layout.
        notation: the name of its notation, such as ``"xla"``; by default the text tells. If several
            notations read a text, the first of the table does: name one to read it otherwise.

    Returns:
        MorelloLayout for ``[1, 0, 1 p(4)]``, XlaLayout for ``{1,0:T(8,128)}``, XlaShape, XlaTuple
        or XlaBuffer for ``bf16[10,200]{1,0:T(8,128)(2,1)}`` and the like, OnednnLayout for
        ``aBcd16b``, CuteLayout for ``(4,2):(1,4)``.

    Raises:
        ParseError: with a caret at the fault.
        LayoutError: if it is not text, or no notation has the name.

    >>> print(parse("bf16[10,200]"))
    bf16[10,200]{1,0}
    >>> type(parse("nchw", "onednn")).__name__
    'OnednnLayout'
    """
    if not isinstance(text, str):
        raise LayoutError(f"a layout's text: expected a str, got {shown(text)}", fix="give a str")
    if len(text) > LAYOUT_TEXT:
        raise LayoutError(
            f"a layout's text: expected at most {LAYOUT_TEXT:,} characters, got {len(text):,}",
            "a text holds the layout of one array, or of a tuple of arrays",
            "parse the arrays one by one, or read a whole program with read_hlo",
        )
    if notation is None and _SPELLED.search(text):
        with importing:
            from morello_layouts.notations.spellings import spelled

        meant_as = spelled(text)
        if meant_as is not None:
            return meant_as
    found = _read(text, notation)
    if isinstance(found, Arrays):
        return found
    if notation is None:
        _refuse_sizes(text)
    start = len(text) - len(text.lstrip())
    is_said = notation is not None or len(text) > MAP_TEXT
    errors = [error for reader, error in found if is_said or reader.is_meant(text)]
    best = max(errors, key=lambda error: error.reached, default=None)
    is_near = best is not None and (notation is not None or best.reached >= start)
    error = best if best is not None and is_near else _unknown(text, start)
    if error is not best or error.fix.startswith(_GENERAL):
        near = max(found, key=lambda each: each[1].reached, default=(None, error))[1]
        at = near.position if near.reached >= start else error.position
        meant = did_you_mean(text, at, lambda other: isinstance(_read(other, notation), Arrays))
        if meant is not None:
            raise _slip(text, meant, error, is_named=notation is not None)
    raise error


def _slip(text: str, meant: str, error: ParseError, *, is_named: bool) -> ParseError:
    """Return the error of a text that is near another one, by the notation of that one."""
    fix, layout = f"did you mean {meant}?", _read(meant, None)
    reader = next((one for one in NOTATIONS if one.holds(layout)), None)
    if is_named or reader is None or reader.begins.match(text):
        return ParseError(error.what, error.why, fix, text=text, position=error.position)
    what = f"expected {reader.title}, got {shown(text.strip())}"
    return ParseError(what, f"it is written like {reader.example}", fix, text=text, position=0)


def _read(text: str, notation: str | None) -> Arrays | list[tuple[Notation, ParseError]]:
    """Return what the first reader that knows a text reads; or the errors of all."""
    if notation is None and _SPACED.fullmatch(text):
        text = "".join(text.split())
    errors: list[tuple[Notation, ParseError]] = []
    for reader in NOTATIONS if notation is None else _named(notation, text):
        if notation is not None or reader.begins.match(text):
            try:
                return reader.parse(text)
            except ParseError as error:
                errors.append((reader, error))
    return errors


_GENERAL: Final = ("write for example", "write one of")  # a fix that knows no better


def _unknown(text: str, start: int) -> ParseError:
    element = nearest_type(text.strip().rpartition(".")[2].lower())
    if element is not None:
        return ParseError(
            "expected a layout, got the type of its elements",
            "an XLA shape is a type and the sizes of the array",
            f"write for example {element}[3,5]",
            text=text,
            position=start,
        )
    near = sorted(NOTATIONS, key=lambda one: -_resemblance(text, one.example))[:_NEAREST]
    return ParseError(
        "no notation has this text",
        "\n".join(["the nearest are", *(f"  {one.title}: {one.example}" for one in near)]),
        "write it like one of them; morello-layouts notations lists all, with an example each",
        text=text,
        position=start,
    )


def _resemblance(text: str, example: str) -> float:
    """Return the share of signs that two texts have in common, and half that of words."""
    found = 0.0
    for pattern, weight in ((r"[^\w\s]", 1), (r"[A-Za-z_]{2,}", 0.5)):
        one, other = ({*re.findall(pattern, each)} for each in (text, example))
        found += weight * (len(one & other) / len(one | other) if one | other else 1)
    return found


def _named(name: str, text: str) -> list[Notation]:
    """Return the readers of a notation; those that know the beginning of a text, if one does."""
    named = [each for each in NOTATIONS if each.name == require_notation(name)]
    return [each for each in named if each.begins.match(text)] or named


def name_of(layout: Layout) -> str | None:
    """Return the name of a layout's notation; None for one that a user wrote."""
    return next((one.name for one in NOTATIONS if one.holds(layout)), None)


def require_notation(name: str) -> str:
    if name in NAMES:
        return name
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), NAMES, 1) if isinstance(name, str) else []
    raise LayoutError(
        f"notation: expected {listed(NAMES, 'or')}, got {shown(name)}",
        fix=f"the nearest is {near[0]!r}" if near else "leave it out, and the text tells",
    )


def _refuse_sizes(text: str) -> None:
    """Raise if a text is the sizes of an array alone."""
    if _SIZES.fullmatch(text):
        sizes = ", ".join(re.split("[x×]", text))
        raise ParseError(
            "expected a layout, got the sizes of an array",
            "a layout says in which order the dimensions lie",
            f"give a layout, such as row-major, beside shape=({sizes}), or f32[{sizes}]",
            text=text,
            position=0,
        )


_SIZES: Final = regex(r"[0-9]{1,9}([x×][0-9]{1,9}){1,9}")


def describe(layout: Layout, sizes: Sequence[int] | None = None) -> Description:
    for notation in NOTATIONS:
        if notation.holds(layout):
            return notation.describe(layout, sizes)
    names = layout.names(len(sizes or ()))
    text, dims = str(layout), dimensions(sizes or (), names=names)
    kind = f"{notation_name(layout)} layout"
    if sizes is None:
        return Description(text, kind, text, dims, (Part(text, kind),))
    axes = memory_axes(checked_recipe(layout, tuple(sizes)), dims)
    parts = tuple(map(Part, (axis.label for axis in axes), axes_in_words(axes, dims)))
    return Description(text, kind, text, dims, parts, axes)
