"""MLIR's text: types, affine maps, linalg.pack and its attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from morello_layouts.description import listed
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr import Interval
from morello_layouts.expr.conversions import promote_to_sizes
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree
from morello_layouts.notations.mlir.layout import MlirMap, MlirType
from morello_layouts.notations.mlir.pack import MlirPack
from morello_layouts.notations.strided.layout import StridedLayout

_EXAMPLE: Final = "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>"
_NAMES: Final = {
    "KIND": "a type",
    "DIM": "a size and 'x'",
    "TYPE": "an element type",
    "NAME": "a name",
    "ALIAS": "an alias",
    "SPACE": "a memory space",
    "INT": "a number",
    "NEGATIVE": "a negative number",
    "SUM_OP": "'+' or '-'",
    "PRODUCT_OP": "'*', 'floordiv', 'ceildiv' or 'mod'",
    "OP": "linalg.pack or linalg.unpack",
    "LIST": "inner_dims_pos or another list",
    "VALUE": "a value such as %0",
}
_SYNTAX: Final = Syntax(
    form="a type has sizes and an element type; an affine map has coordinates -> coordinates",
    example=f"write for example {_EXAMPLE}",
    names=_NAMES,
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
    names=_NAMES,
    longest=MAP_TEXT,
    hints=dict.fromkeys(
        ("outer_dims", "inner_"), "write the attributes alone, without linalg.pack before them"
    ),
)


def parse_mlir(text: str) -> MlirType | MlirMap:
    """Parse a memref, tensor or vector type, or an affine map, after definitions of aliases.

    Raises:
        ParseError: with a caret at the fault.

    >>> print(parse_mlir("#t = affine_map<(i, j) -> (j, i)> memref<4x8xf32, #t>"))
    memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>
    """
    reader = _Reader(text)
    found: MlirType | MlirMap | None = None
    for tree in _parts("mlir_text", text, _SYNTAX):
        if tree.data == "definition":
            alias, of = tree.children
            if alias in reader.aliases:
                raise reader.error(f"{alias} is defined twice", "rename one", alias.start_pos)
            found = reader.aliases[str(alias)] = reader.affine_map(of)
        else:
            is_map = tree.data == "affine_map"
            return reader.affine_map(tree) if is_map else reader.shaped(tree)
    if found is None or len(reader.aliases) > 1:
        fix = "write for example memref<4x8xf32, #map>"
        raise reader.error("expected a type after the maps", fix, len(text.rstrip()))
    return found


def parse_pack(text: str) -> MlirPack:
    """Parse linalg.pack, linalg.unpack, or their attributes alone.

    Raises:
        ParseError: with a caret at the fault.

    >>> parse_pack("inner_dims_pos = [1] inner_tiles = [16]").inner_tiles
    (16,)
    """
    return _Reader(text).pack(_parts("pack_text", text, _PACK_SYNTAX))


def _parts(start: str, text: str, syntax: Syntax) -> list[Any]:
    return parse_tree("mlir/mlir.lark", start, text, syntax).children


class _Reader:
    """Turn trees into values, and remember the place of each part in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.aliases: dict[str, MlirMap] = {}

    def error(self, what: str, fix: str, position: int, why: str = "") -> ParseError:
        return ParseError(what, why, fix, text=self.text, position=position)

    def number(self, token: Any) -> int | None:
        return None if token == "?" else integer(token, self.text)

    def affine_map(self, tree: Any) -> MlirMap:
        from morello_layouts.notations.expression_reader import read_expression  # loads lark

        _, dims, *rest = tree.children
        symbols = rest.pop(0).children if rest and rest[0].data == "symbols" else []
        names: dict[str, str] = {}
        for letter, group in (("d", dims.children), ("s", symbols)):
            for k, name in enumerate(group):
                if name in names:
                    raise self.error(f"{name} is declared twice", "rename one", name.start_pos)
                names[name] = f"{letter}{k}"
        bounds = {name: Interval(int(name[0] == "s"), None) for name in names.values()}
        sizes = tuple(name for name in bounds if name[0] == "s")
        results = []
        for result in rest:
            self.rename(result, names)
            form = read_expression(result, self.text, bounds)
            results.append(promote_to_sizes(form, {*sizes}))
        return MlirMap(len(dims.children), tuple(results), sizes)

    def rename(self, tree: Any, names: dict[str, str]) -> None:
        """Give the names in an expression's tree as MLIR prints them: d0, d1, …, s0, s1, …."""
        for leaf in tree.find_data("name"):
            (name,) = leaf.children
            if name not in names:
                what, why = f"{name} is not declared", "a map names its dimensions before ->"
                fix = f"write {listed([*names], 'or')}" if names else "declare it"
                raise self.error(what, fix, name.start_pos, why)
            leaf.children = [name.update(value=names[name])]

    def shaped(self, tree: Any) -> MlirType:
        kind, dims, element, *attributes = tree.children
        places: Places = {("element_type",): _start(element)}
        layout: MlirMap | StridedLayout | None = None
        space = ""
        for attribute in attributes:
            is_space = _rule(attribute) == "space"
            if kind != "memref" or space or (layout and not is_space):
                part = "memory space" if is_space else "layout"
                what = f"a {kind} has no {part}" if kind != "memref" else f"an unexpected {part}"
                why = "a memref has one layout, then one memory space; other types are row-major"
                raise self.error(what, "leave it out", _start(attribute), why)
            if is_space:
                space = " : ".join(attribute.children)
            else:
                places["layout",] = _start(attribute)
                layout = self.layout(attribute)
        numbers = self.dims(dims)
        try:
            return MlirType(str(kind), numbers, _element(element), layout, space)
        except LayoutError as error:
            raise at_part(error, self.text, places, kind.start_pos) from None

    def dims(self, tree: Any) -> tuple[int | None, ...]:
        return tuple(
            self.number(size.update(value=size.rstrip("x \t\r\n"))) for size in tree.children
        )

    def layout(self, tree: Any) -> MlirMap | StridedLayout:
        if not _rule(tree):
            if tree not in self.aliases:
                fix = f"define it before the type: {tree} = affine_map<…>"
                raise self.error(f"{tree} is not defined", fix, tree.start_pos or 0)
            return self.aliases[tree]
        if tree.data == "affine_map":
            return self.affine_map(tree)
        _, *parts = tree.children
        strides = [part for part in parts if not _rule(part)]
        numbers = [self.known(token, f"S{k}") for k, token in enumerate(strides)]
        offsets = [self.known(part.children[0], "O") for part in parts[len(strides) :]]
        return StridedLayout(tuple(numbers), sum(offsets))

    def known(self, token: Any, name: str) -> Int:
        return SizeExpr.named(name) if token == "?" else integer(token, self.text)

    def pack(self, children: list[Any]) -> MlirPack:
        (attributes,) = (child for child in children if _rule(child) == "attributes")
        places: Places = {}
        lists: dict[str, Any] = {}
        for name, *items in (each.children for each in attributes.children):
            field = name.removeprefix("static_")
            if field in lists:
                raise self.error(f"a second {field}", "leave one out", name.start_pos)
            places[field,] = name.start_pos
            places |= {(field, k): item.start_pos for k, item in enumerate(items)}
            lists[field] = tuple(self.item(item, field) for item in items)
        for field in ("inner_dims_pos", "inner_tiles"):
            if field not in lists:
                end = max(places.values())
                raise self.error(f"{field} is missing", _PACK_SYNTAX.example, end)
        types = [child for child in children if _rule(child) == "shaped"]
        try:
            if not types:
                return MlirPack(**lists)
            values = [self.shaped(each) for each in types]
            is_pack = any(str(child).endswith(".pack") for child in children if not _rule(child))
            found = MlirPack(**lists, unpacked=values[not is_pack])
        except ParseError:
            raise
        except LayoutError as error:
            raise at_part(error, self.text, places) from None
        self.check_packed(found, values[is_pack], _start(types[is_pack]))
        if is_pack and not any(_rule(child) == "padding" for child in children):
            self.require_full_tiles(found, places)
        return found

    def item(self, token: Any, field: str) -> Int:
        if token.type == "VALUE":
            what = f"{token} is known only at run time"
            fix, why = "write a number, or a name such as B", "tiles are numbers or named sizes"
            raise self.error(what, fix, token.start_pos, why)
        if token.type == "NAME":
            if field != "inner_tiles":
                what = f"{field}: expected a dimension, got {token}"
                raise self.error(
                    what, "write its number", token.start_pos, "dimensions count from 0"
                )
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


def _rule(child: Any) -> str:
    """The rule of a tree; nothing for a token."""
    return str(getattr(child, "data", ""))


def _start(child: Any) -> int:
    """The place of the first character of a part."""
    while _rule(child):
        child = child.children[0]
    return child.start_pos or 0


def _element(child: Any) -> str:
    """The text of an element type."""
    if not _rule(child):
        return str(child)
    opening, *sizes, name = child.children
    dims = [size for each in sizes for size in each.children]
    return f"{opening}<{''.join(''.join(size.split()) for size in dims)}{name}>"
