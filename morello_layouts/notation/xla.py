"""XLA's text: shapes with layouts, tuples, buffers, and layouts alone.

Strict where XLA's parser is lax: what its compiler refuses later is refused here, with a caret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notation.grammar import Syntax, at_part, integer, parse_tree
from morello_layouts.xla import COMBINE, ELEMENT_BITS, SplitConfig, XlaBuffer, XlaLayout, XlaShape, XlaTuple

if TYPE_CHECKING:
    from lark import Token, Tree

__all__ = ["XlaValue", "parse_xla", "parse_xla_layout"]

XlaValue: TypeAlias = XlaShape | XlaTuple | XlaBuffer

_NAMES = {
    "TYPE": "an element type (f32, bf16, s8, pred, …)",
    "LBRACE": "a layout '{…}'",
    "INT": "a number",
    "SIGNED_INT": "a number",
    "NAME": "a name",
    "BUFFER": "'b('",
    "LEVEL": "one of D, C, S, H",
    **{letter: f"{letter}(…)" for letter in ("D", "T", "L", "E", "S", "SC", "M")},
    "__ANON_0": "'<='",
}

_HINTS = {
    "∗": "write the ASCII star: *",
    "{}": "'{}' alone is not a layout: leave it out",
    **{
        t.upper(): f"XLA writes element types in lower case: {t}"
        for t in sorted(ELEMENT_BITS, key=len, reverse=True)
    },
}

_SHAPE = Syntax(
    "an XLA shape is type[sizes]{minor_to_major:attributes}, the layout in braces optional",
    "write for example bf16[10,200]{1,0:T(8,128)(2,1)}",
    _NAMES,
    _HINTS,
)
_LAYOUT = Syntax(
    "an XLA layout is {minor_to_major:attributes}, attributes in the order D T L # * E S SC M",
    "write for example {1,0:T(8,128)(2,1)}",
    _NAMES,
    _HINTS,
)
_DEEPEST = 100  # tuples inside tuples; XLA programs have a handful

Places: TypeAlias = dict[tuple[str | int, ...], int]


def parse_xla(text: str) -> XlaValue:
    """An XLA shape, tuple or buffer.

    Raises:
        ParseError: with a caret at what is wrong.

    >>> print(parse_xla("(f32[2], /*index=1*/ s32[])"))
    (f32[2]{0}, s32[])
    """
    tree = parse_tree("xla", "shape_text", text, _SHAPE)
    return _Reader(text).shape(tree.children[0])


def parse_xla_layout(text: str) -> XlaLayout:
    """An XLA layout alone, in braces.

    >>> parse_xla_layout("{1,0:T(8,128)}").tiles
    ((8, 128),)
    """
    tree = parse_tree("xla", "layout_text", text, _LAYOUT)
    return _Reader(text).layout(tree.children[0], {})


class _Reader:
    """Trees to values, and where each part stands in the text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def shape(self, tree: Any, depth: int = 0) -> XlaValue:
        (inner,) = tree.children
        if inner.data == "tuple":
            if depth > _DEEPEST:
                raise LayoutError(
                    f"tuples nest deeper than {_DEEPEST}",
                    "no program does that, and reading it would take long",
                    "read the inner shapes by themselves",
                )
            return XlaTuple(tuple(self.shape(child, depth + 1) for child in inner.children))
        if inner.data == "buffer":
            return XlaBuffer(self.array(inner.children[1]))
        return self.array(inner)

    def array(self, tree: Any) -> XlaShape:
        name, *rest = tree.children
        places: Places = {("element_type",): name.start_pos}
        layout, dims, dynamic = None, [], []
        for child in rest:
            if child.data == "layout":
                layout = self.layout(child, places)
                continue
            places["dims", len(dims)] = child.children[0].start_pos if child.children else 0
            dims.append(self.dim(child))
            dynamic.append(child.data in ("bounded", "unbounded"))
        try:
            return XlaShape(str(name), tuple(dims), layout, tuple(dynamic))
        except LayoutError as error:
            raise at_part(error, self.text, places, name.start_pos) from None

    def dim(self, tree: Any) -> int | str | None:
        if tree.data == "unbounded":
            return None
        token = tree.children[0]
        return str(token) if tree.data == "named" else integer(token, self.text)

    def layout(self, tree: Any, places: Places) -> XlaLayout:
        brace, *rest = tree.children
        order: list[int] = []
        fields: dict[str, Any] = {}
        for child in rest:
            if child.data == "order":
                for token in child.children:
                    places["minor_to_major", len(order)] = token.start_pos
                    order.append(integer(token, self.text))
            else:
                for attribute in child.children:
                    fields |= getattr(self, attribute.data)(attribute, places)
        try:
            return XlaLayout(tuple(order), **fields)
        except LayoutError as error:
            raise at_part(error, self.text, places, brace.start_pos) from None

    def tiles(self, tree: Any, places: Places) -> dict[str, Any]:
        tiles = []
        for k, tile in enumerate(tree.children):
            opening, *children = tile.children
            places["tiles", k] = opening.start_pos
            sizes = []
            for j, size in enumerate(children):
                token = size.children[0]
                places["tiles", k, j] = token.start_pos
                sizes.append(COMBINE if token == "*" else self.tile_size(token))
            tiles.append(tuple(sizes))
        return {"tiles": tuple(tiles)}

    def tile_size(self, token: Token) -> int:
        value = integer(token, self.text)
        if value < 0:
            raise ParseError(
                f"a tile size of {value}",
                "a tile holds at least one element in each dimension",
                "XLA's document writes -1 for a combined dimension; in text it is '*'",
                text=self.text,
                position=token.start_pos or 0,
            )
        return value

    def levels(self, _tree: Any, _places: Places) -> dict[str, Any]:
        return {}  # dimension level types of sparse arrays: XLA reads and drops them

    def tail(self, tree: Any, places: Places) -> dict[str, Any]:
        return self.number("tail_padding_alignment_in_elements", tree, places)

    def bits(self, tree: Any, places: Places) -> dict[str, Any]:
        return self.number("element_size_in_bits", tree, places)

    def space(self, tree: Any, places: Places) -> dict[str, Any]:
        return self.number("memory_space", tree, places)

    def metadata(self, tree: Any, places: Places) -> dict[str, Any]:
        read = self.number("dynamic_shape_metadata_prefix_bytes", tree, places)
        return {name: max(value, 0) for name, value in read.items()}  # XLA drops negative ones

    def number(self, name: str, tree: Any, places: Places) -> dict[str, Any]:
        token = tree.children[0].children[0]
        places[(name,)] = token.start_pos
        return {name: integer(token, self.text)}

    def index(self, tree: Any, places: Places) -> dict[str, Any]:
        return self.named("index_primitive_type", tree.children[0], places)

    def pointer(self, tree: Any, places: Places) -> dict[str, Any]:
        return self.named("pointer_primitive_type", tree.children[1], places)

    def named(self, name: str, token: Token, places: Places) -> dict[str, Any]:
        places[(name,)] = token.start_pos or 0
        return {name: str(token)}

    def splits(self, tree: Any, places: Places) -> dict[str, Any]:
        configs = []
        for split in tree.children:
            dim, *cuts = split.children
            places["split_configs",] = dim.start_pos
            numbers = tuple(integer(token, self.text) for token in cuts)
            configs.append(SplitConfig(integer(dim, self.text), numbers))
        return {"split_configs": tuple(configs)}
