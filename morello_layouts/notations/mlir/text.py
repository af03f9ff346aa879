"""MLIR's text: types, affine maps, linalg.pack and its attributes; and the same in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

from morello_layouts.core.description import (
    Description,
    MemoryAxis,
    Part,
    count,
    dimensions,
    listed,
    memory_axes,
    sizes_in,
    times,
)
from morello_layouts.core.expr import Interval, Var
from morello_layouts.core.expr.conversions import promote_to_sizes
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.layout import Layout, checked_recipe
from morello_layouts.core.limits import MAP_TEXT
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.coordinates import CoordinateLayout, describe as describe_coordinates
from morello_layouts.notations.expression_reader import MLIR, ExpressionReader
from morello_layouts.notations.grammar import (
    INT,
    Defining,
    Source,
    Syntax,
    Terminal,
    Token,
    integer,
)
from morello_layouts.notations.mlir.attributes import (
    NAME,
    IreeEncoding,
    TpuTiled,
    dialect_attribute,
    fields,
)
from morello_layouts.notations.mlir.layout import MlirMap, MlirPack, MlirType
from morello_layouts.notations.mlir.registers import TpuVectorLayout, XegpuLayout
from morello_layouts.notations.mlir.types import SPACES
from morello_layouts.notations.strided import StridedLayout, strides_rule
from morello_layouts.notations.text import NUMBER, Note, Rule, collected, either, many, word

_EXAMPLE: Final = "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>"
_KIND: Final = Terminal("a type", r"memref|tensor|vector|!xegpu\.tensor_desc")
_DIM: Final = Terminal("a size and 'x'", r"([0-9]+|\?)\s*x\s*")
_COMPLEX: Final = Terminal("'complex'", r"complex\b")
_VECTOR: Final = Terminal("'vector'", r"vector\b")
_TYPE: Final = Terminal("an element type", "[A-Za-z_][A-Za-z0-9_]*")
_NAME: Final = Terminal("a name", "[A-Za-z_][A-Za-z0-9_$]*")
_ALIAS: Final = Terminal("an alias", "#[A-Za-z_][A-Za-z0-9_$]*(?![A-Za-z0-9_$.<])")
_OF_DIALECTS: Final = "|".join(
    rf"{re.escape(name)}\b" + (rf"\s*<\s*({'|'.join(words.split())})\s*>" if words else r"(?!\s*<)")
    for name, words in SPACES.items()
)
_SPACE: Final = Terminal("a memory space", rf'#({_OF_DIALECTS})(?![\w$.])|"[^"\n]*"')
_UNKNOWN: Final = Terminal("a memory space", r"#[A-Za-z_][\w$]*(\.[\w$.]+)?")
_NEGATIVE: Final = Terminal("a negative number", "-[0-9]+")
_OP: Final = Terminal("linalg.pack or linalg.unpack", r"(linalg|tensor)\.(un)?pack")
_LIST: Final = Terminal(
    "inner_dims_pos or another list", r"(outer_dims_perm|inner_dims_pos|(static_)?inner_tiles)\b"
)
_VALUE: Final = Terminal("a value such as %0", r"%[A-Za-z0-9_$.#-]+")

_SYNTAX: Final = Syntax(
    form="a type has sizes and an element type; an affine map has coordinates -> coordinates",
    example=f"write for example {_EXAMPLE}",
    longest=MAP_TEXT,
    hints={
        "*": "give the sizes: an array without a rank has no layout",
        "/": "write floordiv or ceildiv",
        "%": "write mod",
        "[": "write plain sizes: a scalable one has no layout; tiles of Arm are svl512 za0.s",
    },
)
_PACK_SYNTAX: Final = Syntax(
    form="linalg.pack has outer_dims_perm (if it permutes), inner_dims_pos and inner_tiles",
    example="write for example inner_dims_pos = [0, 1] inner_tiles = [8, 2]",
    longest=MAP_TEXT,
    hints=dict.fromkeys(
        ("outer_dims", "inner_"), "write the attributes alone, without linalg.pack before them"
    ),
)


def parse_mlir(text: str, aliases: Mapping[str, Any] | None = None) -> Any:
    """Parse a memref, tensor or vector type, or an affine map, after definitions of aliases."""
    source = Defining(text, _SYNTAX, aliases)
    found: Any = source.definitions(_ALIAS, lambda: _definition(source))
    start = source.take("affine_map", _KIND, NAME)
    if start is not None and start.kind is NAME:
        found = dialect_attribute(source, str(start)) or _refuse(source, start)
    elif start is not None:
        source.move(start.start)
        found = _map(source) if start == "affine_map" else _TYPED.read(source, None, True)
    source.end()
    if found is None or (start is None and len(source.aliases) > 1):
        raise source.no_type("maps", "memref<4x8xf32, #map>")
    return found


def _definition(source: Defining) -> Any:
    """Read what an alias stands for: an affine map, or a layout of a dialect."""
    name = source.take(NAME)
    if name is None:
        return _map(source)
    return dialect_attribute(source, str(name)) or _refuse(source, name)


def _refuse(source: Defining, name: Token) -> NoReturn:
    raise _unknown(source, name, "memref")


# ---- affine maps


def _map(source: Defining, *_: Any) -> Any:
    source.need("affine_map")
    source.need("<")
    source.need("(")
    dims = source.series(lambda: source.need(_NAME), ")")
    symbols = source.series(lambda: source.need(_NAME), "]") if source.take("[") else []
    names: dict[str, Var] = {}
    for letter, group in (("d", dims), ("s", symbols)):
        for k, name in enumerate(group):
            if name in names:
                raise source.error(f"{name} is declared twice", "rename one", name.start)
            names[name] = Var(f"{letter}{k}", Interval(int(letter == "s"), None))

    def variable(name: str, start: int) -> Var:
        if name not in names:
            what, why = f"{name} is not declared", "a map names its dimensions before ->"
            fix = f"write {listed([*names], 'or')}" if names else "declare it"
            raise source.error(what, fix, start, why)
        return names[name]

    source.need("->")
    source.need("(")
    reader = ExpressionReader(source, MLIR, variable)
    forms = source.series(reader.read, ")")
    source.need(">")
    sizes = tuple(f"s{k}" for k in range(len(symbols)))
    results = tuple(promote_to_sizes(form, {*sizes} | reader.sizes) for form in forms)
    return MlirMap(len(dims), results, sizes)


# ---- types


def _dim(token: Token, text: str) -> int | None:
    return None if token[0] == "?" else integer(token.rstrip("x \t\r\n"), text, token.start)


_DIMS: Final = many(word(_DIM, _dim))
_VECTOR_SIZES: Final = many(word(_DIM, lambda token, _: "".join(token.split())))


def _element(source: Source) -> str:
    opening = source.need(_COMPLEX, _VECTOR, _TYPE)
    if opening.kind is _TYPE:
        return str(opening)
    source.need("<")
    sizes = _VECTOR_SIZES.read(source, None, False) if opening.kind is _VECTOR else ()
    name = source.need(_TYPE)
    source.need(">")
    return f"{opening}<{''.join(sizes)}{name}>"


def _type(source: Defining, note: Note | None, _: bool) -> dict[str, Any]:
    kind = str(source.need(_KIND))
    source.need("<")
    fields = {"kind": kind, "dims": _DIMS.read(source, None, False)}
    if note:
        note.part("element_type").mark(source.at)
    fields["element_type"] = _element(source)
    while source.take(","):
        start = source.need("strided", "affine_map", _ALIAS, INT, _SPACE, _UNKNOWN)
        if start.kind is _UNKNOWN:
            if kind == _DESCRIPTOR and start in _OF_DESCRIPTORS and "space" not in fields:
                fields["space"] = _descriptor(source, start)
                continue
            own = None if "layout" in fields else dialect_attribute(source, str(start))
            if own is None:
                raise _unknown(source, start, kind)
            if kind not in (kinds := _KINDS_OF.get(type(own), ("memref",))):
                what = f"{start} lays out a {listed([*kinds], 'or')}, not a {kind}"
                why = "each dialect's layouts are those of its own types"
                raise source.error(what, f"write a {kinds[0]}", start.start, why)
            fields["layout"] = _fitting(source, own, fields["element_type"], start)
            continue
        is_space = start.kind in (INT, _SPACE)
        if kind != "memref" and start.kind is _ALIAS and "layout" not in fields:
            own = source.aliases.get(str(start))
            if kind in _KINDS_OF.get(type(own), ()):
                fields["layout"] = _fitting(source, own, fields["element_type"], start)
                continue
        if kind != "memref" or "space" in fields or ("layout" in fields and not is_space):
            raise _unexpected(source, start, kind, is_space)
        if is_space:
            space = str(start) if start[0] == '"' else "".join(start.split())
            fields["space"] = space + (f" : {source.need(_TYPE)}" if source.take(":") else "")
        else:
            if note:
                note.part("layout").mark(start.start)
            fields["layout"] = _layout(source, start)
    source.need(">")
    return fields


_DESCRIPTOR: Final = "!xegpu.tensor_desc"
_OF_DESCRIPTORS: Final = ("#xegpu.block_tdesc_attr", "#xegpu.scatter_tdesc_attr")
_KINDS_OF: Final[dict[type, tuple[str, ...]]] = {
    TpuTiled: ("memref",),
    IreeEncoding: ("tensor",),
    TpuVectorLayout: ("vector",),
    XegpuLayout: ("tensor", "vector", _DESCRIPTOR),
}


def _fitting(source: Defining, own: Any, element_type: str, start: Token) -> Any:
    """Return a layout that fits the width of the elements, if it says one; masks have any."""
    digits = re.search(r"[0-9]+", element_type)
    if isinstance(own, TpuVectorLayout) and digits and int(digits[0]) not in (1, own.bits):
        what = f"{own}: elements of {own.bits} bits, and the type is {element_type}"
        why = "Mosaic's layout names the bits of an element first"
        raise source.error(what, f"write {digits[0]} there", start.start, why)
    return own


def _descriptor(source: Defining, start: Token) -> str:
    """Read what a descriptor says of its memory."""
    source.need("<")
    given = fields(source, ">")
    if given.get("array_length", 1) != 1:
        what = f"array_length = {given['array_length']}: several blocks are loaded together"
        why = "the type has the sizes of one"
        raise source.error(what, "write the type of one block, without it", start.start, why)
    return source.text[start.start : source.at].rstrip()


def _unexpected(source: Defining, start: Token, kind: str, is_space: bool) -> ParseError:
    part = "memory space" if is_space else "layout"
    what = f"a {kind} has no {part}" if kind != "memref" else f"an unexpected {part}"
    why = "a memref has one layout, then one memory space; other types are row-major"
    fix = "leave it out"
    if kind == "tensor" and start.kind is _ALIAS:
        what = f"expected an encoding, got its alias {start}"
        why, fix = "a text holds what it needs", "write what the alias stands for"
    return source.error(what, fix, start.start, why)


def _unknown(source: Defining, name: Token, kind: str) -> ParseError:
    """Return the error of a dialect's attribute that is not known to move no element."""
    role = "a memory space" if kind == "memref" else "an encoding"
    words = SPACES.get(name[1:], "").replace("[0-9]+", "number").split()
    whole = f"{name}<…>" if source.text.startswith("<", source.at) else str(name)
    return source.error(
        f"{name}: expected {listed(words, 'or')} in <…>"
        if words
        else f"{whole} is not {role} that is known here",
        f"if it moves no element, leave {whole} out",
        name.start,
        "an attribute of a dialect may be a layout, which moves elements",
    )


def _strided(strides: tuple[int | None, ...], offset: int | None = 0) -> StridedLayout:
    """Return the layout of strides and an offset, of which an unknown one has a name."""
    numbers = (SizeExpr.named(f"S{k}") if n is None else n for k, n in enumerate(strides))
    return StridedLayout(tuple(numbers), SizeExpr.named("O") if offset is None else offset)


_STRIDES: Final = strides_rule(
    _strided, either((INT, integer), (_NEGATIVE, integer), ("?", lambda *_: None))
)


def _layout(source: Defining, start: Token) -> Any:
    """Read the layout of a memref after its first word."""
    if start.kind is _ALIAS:
        return source.defined(start, "the type", "affine_map<…>")
    if start == "strided":
        return _STRIDES.read(source, None, True)
    source.move(start.start)
    return _map(source)


_TYPED: Final = collected(MlirType, _type)


# ---- packs


def parse_pack(text: str) -> MlirPack:
    """Parse linalg.pack, linalg.unpack, or their attributes alone."""
    source = Defining(text, _PACK_SYNTAX)
    found: MlirPack = _PACK.read(source, None, True)
    return found


def _operation(source: Defining, note: Note | None, _: bool) -> dict[str, Any]:
    result = source.take(_VALUE)
    if result:
        source.need("=")
    op = source.need(_OP) if result else source.take(_OP)
    if op is None:
        fields = _lists(source, note)
        source.end()
        return fields
    source.need(_VALUE)
    if has_padding := bool(source.take("padding_value")):
        source.need("(")
        source.need(_VALUE)
        source.need(":")
        _element(source)
        source.need(")")
    fields = _lists(source, note)
    source.need("into")
    source.need(_VALUE)
    types: list[MlirType] = []
    for sign in (":", "->"):
        source.need(sign)
        types.append(_TYPED.read(source, note and note.part("types").part(len(types)), True))
    source.end()
    is_pack = op.endswith(".pack")
    return {**fields, "types": types, "is_pack": is_pack, "is_full": is_pack and not has_padding}


def _lists(source: Source, note: Note | None) -> dict[str, Any]:
    lists: dict[str, Any] = {}
    name: Token | None = source.need(_LIST)
    while name:
        key = name.removeprefix("static_")
        if key in lists:
            what, at = f"a second {key}", name.start
            raise ParseError(what, "", "leave one out", text=source.text, position=at)
        own = note and note.part(key)
        if own:
            own.mark(name.start)
        source.need("=")
        if source.take("["):
            lists[key] = _LISTS[key].read(source, own, True)
        else:
            for sign in ("array", "<", "i64"):
                source.need(sign)
            lists[key] = ()
            if not source.take(">"):
                source.need(":")
                lists[key] = _ARRAY.read(source, own, True)
        name = (
            source.need(_LIST)
            if source.take(",", optional=True)
            else source.take(_LIST, optional=True)
        )
    return lists


def _packed(
    types: Sequence[MlirType] = (), is_pack: bool = False, is_full: bool = False, **lists: Any
) -> MlirPack:
    """Return the layout, if it fits the types of the operation."""
    for name in ("inner_dims_pos", "inner_tiles"):
        if name not in lists:
            last = [*lists][-1]
            part = (last, len(lists[last]) - 1)
            raise LayoutError(f"{name} is missing", "", _PACK_SYNTAX.example, part=part)
    found = MlirPack(**lists, unpacked=types[not is_pack] if types else None)
    if (wanted := found.packed) is None or found.unpacked is None:
        return found
    given = types[is_pack]
    fits = len(wanted.dims) == len(given.dims) and all(
        None in pair or pair[0] == pair[1] for pair in zip(wanted.dims, given.dims, strict=True)
    )
    if not fits or replace(wanted, dims=given.dims) != given:
        what = f"the packed type: expected {wanted}, got {given}"
        why = "it has the numbers of tiles in the order of outer_dims_perm, then the tiles"
        raise LayoutError(what, why, f"write {wanted}", part=("types", int(is_pack)))
    for k, (dim, tile) in enumerate(zip(found.inner_dims_pos, found.inner_tiles, strict=True)):
        n = found.unpacked.dims[dim]
        if is_full and n is not None and n % tile:
            what = f"tiles of {tile} do not divide the {n} elements of dimension {dim}"
            why, fix = (
                "without a padding_value every tile is full",
                "write padding_value(%pad : f32)",
            )
            raise LayoutError(what, why, fix, part=("inner_tiles", k))
    return found


def _at_run_time(token: Token, text: str) -> Int:
    what, why = f"{token} is known only at run time", "tiles are numbers or named sizes"
    fix = "write a number, or a name such as B"
    raise ParseError(what, why, fix, text=text, position=token.start)


def _list(key: str) -> Rule:
    def named(token: Token, text: str) -> Int:
        if key == "inner_tiles":
            return SizeExpr.named(str(token))
        what, why = f"{key}: expected a dimension, got {token}", "dimensions count from 0"
        raise ParseError(what, why, "write its number", text=text, position=token.start)

    return many(either((INT, integer), (_VALUE, _at_run_time), (_NAME, named)), ",", "]")


_LISTS: Final = {key: _list(key) for key in ("outer_dims_perm", "inner_dims_pos", "inner_tiles")}
_ARRAY: Final = many(NUMBER, ",", ">", least=1)
_PACK: Final = collected(_packed, _operation)


# ---- words


_KINDS: Final[dict[type, tuple[str, Callable[[Any], int]]]] = {
    TpuTiled: ("Mosaic's tiles", lambda x: len(x.strides)),
    TpuVectorLayout: ("Mosaic's registers", lambda _: 2),
    XegpuLayout: ("XeGPU's units", lambda x: x.rank - len(x.sliced)),
    MlirPack: ("MLIR pack", lambda x: max((0, *x.outer_dims_perm, *x.inner_dims_pos)) + 1),
    MlirType: ("MLIR array", lambda x: len(x.dims)),
}
"""What a layout is in words, and how many dimensions it has if nothing says their sizes."""


def describe(
    layout: MlirType | MlirMap | MlirPack, shape: Sequence[int] | None = None
) -> Description:
    if isinstance(layout, CoordinateLayout) and not isinstance(layout, MlirPack):
        return describe_coordinates(layout, shape)
    kind, rank = _KINDS[type(layout)]
    given: Any = layout.sizes if shape is None else shape
    dims = dimensions((None,) * rank(layout) if given is None else given)
    sizes, axes = sizes_in(dims), tuple[MemoryAxis, ...]()
    if shape is not None or not isinstance(layout, XegpuLayout):  # its units have the array's sizes
        axes = memory_axes(checked_recipe(layout, sizes), dims)
    own = getattr(layout, "layout", layout)
    headline = f"{axes[-1].label} varies fastest" if axes else "one element"
    headline = own.headline if isinstance(own, TpuVectorLayout | XegpuLayout) else headline
    parts = tuple(_in_words(layout, [dim.name for dim in dims], sizes))
    return Description(str(layout), kind, headline, dims, parts, axes)


def _in_words(layout: Layout | None, names: Sequence[str], shape: Sequence[Int]) -> Iterator[Part]:
    match layout:
        case MlirType():
            sizes = "x".join("?" if n is None else str(n) for n in layout.dims)
            yield Part(sizes or "no sizes", f"sizes of {listed(names)}" if names else "one element")
            yield Part(layout.element_type, f"{count(layout.element.bits, 'bit')} an element")
            yield from _in_words(layout.layout, names, shape)
            if layout.space:
                yield Part(layout.space, "memory space")
        case None:
            yield Part("row-major", f"{names[-1] if names else 'it'} varies fastest", True)
        case TpuVectorLayout() | XegpuLayout():
            yield from layout.words()
        case MlirPack():
            yield from _pack_in_words(layout, names)
        case IreeEncoding():
            box = times(layout.box(shape))
            yield Part("encoding_info", f"a pack, and the order in each tile: a box of {box}")
        case MlirMap():
            ends = layout.box(shape)
            yield Part("affine_map", f"where an element lies in a row-major box of {times(ends)}")
            for text, n in zip(layout.texts(), ends, strict=True):
                yield Part(text, f"a coordinate in the box, 0 to {n - 1}")
        case StridedLayout():
            words = f"elements from one coordinate to the next: {_along(layout, names)}"
            yield Part(str(layout), words)
        case TpuTiled():
            for tile in layout.tiles:
                words = "tiles of these sizes, each in one piece"
                yield Part(f"({','.join(map(str, tile))})", words)
            words = f"{'tiles' if layout.tiles else 'elements'} from one to the next"
            text = f"[{','.join(map(str, layout.strides))}]"
            yield Part(text, f"{words}: {_along(layout, names)}")


def _along(layout: StridedLayout | TpuTiled, names: Sequence[str]) -> str:
    steps = zip(layout.strides, names, strict=True)
    return listed([f"{n} along {name}" for n, name in steps])


def _pack_in_words(layout: MlirPack, names: Sequence[str]) -> Iterator[Part]:
    order = [names[dim] for dim in layout.outer_dims_perm]
    tiled = [names[dim] for dim in layout.inner_dims_pos]
    tiles = [f"{n} of {name}" for n, name in zip(layout.inner_tiles, tiled, strict=True)]
    what = "tiles" if tiles else "elements"
    meanings = (
        f"the {what} lie in order of {listed(order)}, the last one fastest",
        f"{listed(tiled)} {'is' if len(tiled) == 1 else 'are'} cut into tiles"
        if tiles
        else "no dimension is cut into tiles",
        f"a tile holds {listed(tiles)}; {tiled[-1]} varies fastest" if tiles else "no tile",
    )
    yield from map(Part, layout.texts(), meanings[-len(layout.texts()) :])
    if layout.unpacked is not None:
        yield Part(str(layout.unpacked), "the array that is packed")
