"""MLIR's text: types, affine maps, linalg.pack and its attributes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from morello_layouts.description import listed
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr import Interval, Var
from morello_layouts.expr.conversions import promote_to_sizes
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.expression_reader import MLIR, ExpressionReader
from morello_layouts.notations.grammar import (
    INT,
    LINE_COMMENTS,
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)
from morello_layouts.notations.mlir.layout import MlirMap, MlirPack, MlirType
from morello_layouts.notations.mlir.types import SPACES
from morello_layouts.notations.strided.layout import StridedLayout, strides_rule
from morello_layouts.notations.text import either

_EXAMPLE: Final = "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>"
_KIND: Final = Terminal("a type", "memref|tensor|vector")
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
        "[": "write plain sizes: a scalable one has no layout",
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


def parse_mlir(text: str) -> MlirType | MlirMap:
    """Parse a memref, tensor or vector type, or an affine map, after definitions of aliases."""
    reader = _Reader(text, _SYNTAX)
    source = reader.source
    found: MlirType | MlirMap | None = None
    while alias := source.take(_ALIAS):
        if alias in reader.aliases:
            raise reader.error(f"{alias} is defined twice", "rename one", alias.start)
        source.need("=")
        source.need("affine_map")
        found = reader.aliases[str(alias)] = reader.affine_map()
    if start := source.take("affine_map", _KIND):
        found = reader.shaped(start) if start.kind is _KIND else reader.affine_map()
    source.end()
    if found is None or (start is None and len(reader.aliases) > 1):
        fix = "write for example memref<4x8xf32, #map>"
        raise reader.error("expected a type after the maps", fix, len(text.rstrip()))
    return found


def parse_pack(text: str) -> MlirPack:
    """Parse linalg.pack, linalg.unpack, or their attributes alone."""
    return _Reader(text, _PACK_SYNTAX).pack()


def _strided(strides: tuple[int | None, ...], offset: int | None = 0) -> StridedLayout:
    """Return the layout of strides and an offset, of which an unknown one has a name."""
    numbers = (SizeExpr.named(f"S{k}") if n is None else n for k, n in enumerate(strides))
    return StridedLayout(tuple(numbers), SizeExpr.named("O") if offset is None else offset)


_STRIDES: Final = strides_rule(
    _strided, either((INT, integer), (_NEGATIVE, integer), ("?", lambda *_: None))
)


class _Reader:
    """Read values, and remember the place of each part in the text."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text, self.source = text, Source(text, syntax, LINE_COMMENTS)
        self.aliases: dict[str, MlirMap] = {}

    def error(self, what: str, fix: str, position: int, why: str = "") -> ParseError:
        reached = self.source.at  # what comes behind may be wrong, too
        return ParseError(what, why, fix, text=self.text, position=position, reached=reached)

    def affine_map(self) -> MlirMap:
        """Read an affine map behind its word."""
        source = self.source
        source.need("<")
        source.need("(")
        dims = source.series(lambda: source.need(_NAME), ")")
        symbols = source.series(lambda: source.need(_NAME), "]") if source.take("[") else []
        names: dict[str, Var] = {}
        for letter, group in (("d", dims), ("s", symbols)):
            for k, name in enumerate(group):
                if name in names:
                    raise self.error(f"{name} is declared twice", "rename one", name.start)
                names[name] = Var(f"{letter}{k}", Interval(int(letter == "s"), None))

        def variable(name: str, start: int) -> Var:
            if name not in names:
                what, why = f"{name} is not declared", "a map names its dimensions before ->"
                fix = f"write {listed([*names], 'or')}" if names else "declare it"
                raise self.error(what, fix, start, why)
            return names[name]

        source.need("->")
        source.need("(")
        reader = ExpressionReader(source, MLIR, variable)
        forms = source.series(reader.read, ")")
        source.need(">")
        sizes = tuple(f"s{k}" for k in range(len(symbols)))
        results = tuple(promote_to_sizes(form, {*sizes} | reader.sizes) for form in forms)
        return MlirMap(len(dims), results, sizes)

    def shaped(self, kind: Token) -> MlirType:
        """Read a type behind the word for its kind."""
        source = self.source
        source.need("<")
        numbers = self.dims()
        places: Places = {("element_type",): source.at}
        element = self.element()
        layout: MlirMap | StridedLayout | None = None
        space = ""
        while source.take(","):
            start = source.need("strided", "affine_map", _ALIAS, INT, _SPACE, _UNKNOWN)
            if start.kind is _UNKNOWN:
                raise self.unknown(start, kind)
            is_space = start.kind in (INT, _SPACE)
            if kind != "memref" or space or (layout and not is_space):
                part = "memory space" if is_space else "layout"
                what = f"a {kind} has no {part}" if kind != "memref" else f"an unexpected {part}"
                why = "a memref has one layout, then one memory space; other types are row-major"
                fix = "leave it out"
                if kind == "tensor" and start.kind is _ALIAS:
                    what = f"expected an encoding, got its alias {start}"
                    why, fix = "a text holds what it needs", "write what the alias stands for"
                raise self.error(what, fix, start.start, why)
            if is_space:
                space = str(start) if start[0] == '"' else "".join(start.split())
                if source.take(":"):
                    space += f" : {source.need(_TYPE)}"
            else:
                places["layout",] = start.start
                layout = self.layout(start)
        source.need(">")
        try:
            return MlirType(str(kind), numbers, element, layout, space)
        except LayoutError as error:
            raise at_part(error, self.text, places, kind.start) from None

    def unknown(self, name: Token, kind: str) -> ParseError:
        """Return the error of a dialect's attribute that is not known to move no element."""
        role = "a memory space" if kind == "memref" else "an encoding"
        words = SPACES.get(name[1:], "").replace("[0-9]+", "number").split()
        whole = f"{name}<…>" if self.text.startswith("<", self.source.at) else str(name)
        return self.error(
            f"{name}: expected {listed(words, 'or')} in <…>"
            if words
            else f"{whole} is not {role} that is known here",
            f"if it moves no element, leave {whole} out",
            name.start,
            "an attribute of a dialect may be a layout, which moves elements",
        )

    def sizes(self) -> list[Token]:
        """Read sizes with an x behind each."""
        sizes: list[Token] = []
        while size := self.source.take(_DIM):
            sizes.append(size)
        return sizes

    def dims(self) -> tuple[int | None, ...]:
        texts = [(size.rstrip("x \t\r\n"), size.start) for size in self.sizes()]
        return tuple(None if n == "?" else integer(n, self.text, start) for n, start in texts)

    def element(self) -> str:
        """Read an element type."""
        source = self.source
        opening = source.need(_COMPLEX, _VECTOR, _TYPE)
        if opening.kind is _TYPE:
            return str(opening)
        source.need("<")
        sizes = self.sizes() if opening.kind is _VECTOR else []
        name = source.need(_TYPE)
        source.need(">")
        return f"{opening}<{''.join(''.join(size.split()) for size in sizes)}{name}>"

    def layout(self, start: Token) -> MlirMap | StridedLayout:
        """Read the layout of a memref behind its first word."""
        if start.kind is _ALIAS:
            if start not in self.aliases:
                fix = f"define it before the type: {start} = affine_map<…>"
                raise self.error(f"{start} is not defined", fix, start.start)
            return self.aliases[start]
        if start == "affine_map":
            return self.affine_map()
        layout: StridedLayout = _STRIDES.read(self.source, None, True)
        return layout

    def pack(self) -> MlirPack:
        """Read the operation, or its attributes alone."""
        source = self.source
        result = source.take(_VALUE)
        if result:
            source.need("=")
        op = source.need(_OP) if result else source.take(_OP)
        has_padding = bool(op) and self.padding()
        places: Places = {}
        lists = self.attributes(places)
        types: list[Token] = []
        values: list[MlirType] = []
        if op:
            source.need("into")
            source.need(_VALUE)
        for sign in (":", "->") if op else ():
            source.need(sign)
            types.append(source.need(_KIND))
            values.append(self.shaped(types[-1]))
        source.end()
        for field in ("inner_dims_pos", "inner_tiles"):
            if field not in lists:
                end = max(places.values())
                raise self.error(f"{field} is missing", _PACK_SYNTAX.example, end)
        is_pack = op is not None and op.endswith(".pack")
        try:
            found = MlirPack(**lists, unpacked=values[not is_pack] if op else None)
        except LayoutError as error:
            raise at_part(error, self.text, places) from None
        if op:
            self.check_packed(found, values[is_pack], types[is_pack].start)
        if is_pack and not has_padding:
            self.require_full_tiles(found, places)
        return found

    def padding(self) -> bool:
        """Read the packed value, and the padding if there is one."""
        source = self.source
        source.need(_VALUE)
        if not source.take("padding_value"):
            return False
        source.need("(")
        source.need(_VALUE)
        source.need(":")
        self.element()
        source.need(")")
        return True

    def attributes(self, places: Places) -> dict[str, Any]:
        """Read the lists of a pack by name."""
        source = self.source
        lists: dict[str, Any] = {}
        name: Token | None = source.need(_LIST)
        while name:
            field = name.removeprefix("static_")
            if field in lists:
                raise self.error(f"a second {field}", "leave one out", name.start)
            places[field,] = name.start
            source.need("=")
            items: list[Token] = []
            if source.take("["):
                items = source.series(lambda: source.need(INT, _VALUE, _NAME), "]")
            else:
                for word in ("array", "<", "i64"):
                    source.need(word)
                if not source.take(">"):
                    source.need(":")
                    items = source.series(lambda: source.need(INT), ">", least=1)
            places |= {(field, k): item.start for k, item in enumerate(items)}
            lists[field] = tuple(self.item(item, field) for item in items)
            name = (
                source.need(_LIST)
                if source.take(",", optional=True)
                else source.take(_LIST, optional=True)
            )
        return lists

    def item(self, token: Token, field: str) -> Int:
        if token.kind is _VALUE:
            what = f"{token} is known only at run time"
            fix, why = "write a number, or a name such as B", "tiles are numbers or named sizes"
            raise self.error(what, fix, token.start, why)
        if token.kind is _NAME:
            if field != "inner_tiles":
                what = f"{field}: expected a dimension, got {token}"
                raise self.error(what, "write its number", token.start, "dimensions count from 0")
            return SizeExpr.named(str(token))
        return integer(token, self.text)

    def check_packed(self, found: MlirPack, given: MlirType, position: int) -> None:
        wanted = found.packed
        assert wanted is not None
        fits = len(wanted.dims) == len(given.dims) and all(
            None in pair or pair[0] == pair[1] for pair in zip(wanted.dims, given.dims, strict=True)
        )
        if not fits or replace(wanted, dims=given.dims) != given:
            what = f"the packed type: expected {wanted}, got {given}"
            why = "it has the numbers of tiles in the order of outer_dims_perm, then the tiles"
            raise self.error(what, f"write {wanted}", position, why)

    def require_full_tiles(self, found: MlirPack, places: Places) -> None:
        assert found.unpacked is not None
        for k, (dim, tile) in enumerate(zip(found.inner_dims_pos, found.inner_tiles, strict=True)):
            n = found.unpacked.dims[dim]
            if n is not None and n % tile:
                what = f"tiles of {tile} do not divide the {n} elements of dimension {dim}"
                why = "without a padding_value every tile is full"
                position = places["inner_tiles", k]
                raise self.error(what, "write padding_value(%pad : f32)", position, why)
