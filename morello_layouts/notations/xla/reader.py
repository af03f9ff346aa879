"""XLA's text: shapes with layouts, tuples, buffers, and layouts alone.

Strict where XLA's parser is lax: what its compiler refuses later is refused here, with a caret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import NESTED_TUPLES
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree
from morello_layouts.notations.xla.layout import SplitConfig, XlaLayout, rank_error
from morello_layouts.notations.xla.shape import XlaBuffer, XlaShape, XlaTuple
from morello_layouts.notations.xla.types import COMBINE, Tile

if TYPE_CHECKING:
    from lark import Token

XlaValue: TypeAlias = XlaShape | XlaTuple | XlaBuffer

_NAMES: Final = {
    "TYPE": "an element type (f32, bf16, s8, pred, …)",
    "LBRACE": "a layout '{…}'",
    "INT": "a number",
    "NEGATIVE": "a number",
    "NAME": "a name",
    "BUFFER": "'b('",
    "STAR": "'*'",
    "LEVEL": "one of D, C, S, H",
    **{letter: f"{letter}(…)" for letter in ("D", "T", "L", "E", "S", "SC", "M")},
}

# XLA's sizes are numbers; ours may also be names, but not products or sums.
_PRODUCT: Final = 'write it out, or give sizes beside the layout: "{0}", ("8*N",)'

_HINTS: Final = {
    "*": _PRODUCT,
    "+": _PRODUCT,
    "∗": _PRODUCT,
    "{}": "'{}' alone is not a layout: leave it out",
    "/*": "a comment ends with */",
}

_FORM: Final = "{minor_to_major:attributes}, attributes in the order D T L # * E S SC M"
SHAPE_SYNTAX: Final = Syntax(
    f"an XLA shape is type[sizes]{_FORM}",
    "write for example bf16[10,200]{1,0:T(8,128)(2,1)}",
    _NAMES,
    _HINTS,
)
LAYOUT_SYNTAX: Final = Syntax(
    f"an XLA layout is {_FORM}",
    "write for example {1,0:T(8,128)(2,1)}",
    _NAMES,
    _HINTS,
)

# The layout's fields that are one number or one type, by the grammar's rule.
_NUMBERS: Final = {
    "tail": "tail_padding_alignment_in_elements",
    "bits": "element_size_in_bits",
    "space": "memory_space",
    "metadata": "dynamic_shape_metadata_prefix_bytes",
}
_TYPES: Final = {"index": "index_primitive_type", "pointer": "pointer_primitive_type"}


def parse_xla(text: str) -> XlaValue:
    """Parse an XLA shape, tuple or buffer.

    Raises:
        ParseError: with a caret at the fault.

    >>> print(parse_xla("(f32[2], /*index=1*/ s32[])"))
    (f32[2]{0}, s32[])
    """
    tree = parse_tree("xla/xla.lark", "shape_text", text, SHAPE_SYNTAX)
    return _Reader(text).shape(tree.children[0])


def parse_xla_layout(text: str) -> XlaLayout:
    """Parse an XLA layout alone, in braces.

    Raises:
        ParseError: with a caret at the fault.

    >>> parse_xla_layout("{1,0:T(8,128)}").tiles
    ((8, 128),)
    """
    tree = parse_tree("xla/xla.lark", "layout_text", text, LAYOUT_SYNTAX)
    return _Reader(text).layout(tree.children[0], {})


class _Reader:
    """Turn trees into values, and remember the place of each part in the text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def shape(self, tree: Any, depth: int = 0) -> XlaValue:
        if tree.data == "array":
            return self.array(tree)
        opening, *children = tree.children
        if tree.data == "buffer":
            return XlaBuffer(self.array(children[0]))
        if depth == NESTED_TUPLES:
            raise ParseError(
                f"tuples nest deeper than {NESTED_TUPLES}",
                "no program does that, and reading it would take long",
                "read the inner shapes by themselves",
                text=self.text,
                position=opening.start_pos,
            )
        return XlaTuple(tuple(self.shape(child, depth + 1) for child in children))

    def array(self, tree: Any) -> XlaShape:
        name, *rest = tree.children
        element_type = str(name).lower() if name.isupper() else str(name)  # F32 in the document
        places: Places = {("element_type",): name.start_pos}
        layout: XlaLayout | None = None
        dims: list[int | str | None] = []
        dynamic: list[bool] = []
        for child in rest:
            if child.data == "layout":
                layout = self.layout(child, places, len(dims))
                continue
            places["dims", len(dims)] = child.children[0].start_pos
            dims.append(self.dim(child))
            dynamic.append(child.data in ("bounded", "unbounded"))
        try:
            return XlaShape(element_type, tuple(dims), layout, tuple(dynamic))
        except LayoutError as error:
            raise at_part(error, self.text, places, name.start_pos) from None

    def dim(self, tree: Any) -> int | str | None:
        (token,) = tree.children
        if tree.data == "unbounded":
            return None
        return str(token) if tree.data == "named" else integer(token, self.text)

    def layout(self, tree: Any, places: Places, rank: int | None = None) -> XlaLayout:
        brace, *parts = tree.children
        places["layout",] = places["minor_to_major",] = brace.start_pos
        order: list[int] = []
        fields: dict[str, Any] = {}
        try:
            for part in parts:
                if part.data == "order":
                    order = self.numbers("minor_to_major", part.children, places)
                else:
                    fields = dict(self.attribute(child, places) for child in part.children)
            if rank is not None and len(order) != rank:
                raise rank_error(rank, len(order))
            return XlaLayout(tuple(order), **fields)
        except ParseError:
            raise
        except LayoutError as error:
            raise at_part(error, self.text, places, brace.start_pos) from None

    def attribute(self, tree: Any, places: Places) -> tuple[str, Any]:
        """The layout's field that an attribute sets, and its value."""
        rule = str(tree.data)
        if rule == "levels":  # of sparse arrays: XLA reads and drops them
            return "tiles", ()
        if rule == "tiles":
            return "tiles", tuple(self.tile(k, t, places) for k, t in enumerate(tree.children))
        if rule == "splits":
            return "split_configs", tuple(
                self.split(k, s, places) for k, s in enumerate(tree.children)
            )
        token = tree.children[-1]
        field = _TYPES.get(rule) or _NUMBERS[rule]
        places[field,] = token.start_pos
        if rule in _TYPES:
            return field, str(token)
        value = integer(token, self.text)
        return field, max(value, 0) if rule == "metadata" else value  # XLA drops M(-1)

    def numbers(self, field: str, tokens: list[Token], places: Places) -> list[int]:
        places |= {(field, k): token.start_pos or 0 for k, token in enumerate(tokens)}
        return [integer(token, self.text) for token in tokens]

    def tile(self, k: int, tree: Any, places: Places) -> Tile:
        opening, *tokens = tree.children
        places["tiles", k] = opening.start_pos
        places |= {("tiles", k, j): token.start_pos for j, token in enumerate(tokens)}
        return tuple(COMBINE if token in ("*", "∗") else self.tile_size(token) for token in tokens)

    def tile_size(self, token: Token) -> Int:
        if token.type == "NAME":
            return SizeExpr.named(str(token))
        value = integer(token, self.text)
        if value < 0:
            raise ParseError(
                f"a tile size: expected an integer from 1, got {value}",
                "a tile holds at least one element in each dimension",
                "XLA's document writes -1 for a combined dimension; in text it is '*'",
                text=self.text,
                position=token.start_pos or 0,
            )
        return value

    def split(self, k: int, tree: Any, places: Places) -> SplitConfig:
        _, dimension, *cuts = tree.children
        places["split_configs", k] = places["dimension",] = dimension.start_pos
        indices = self.numbers("split_indices", cuts, places)
        return SplitConfig(integer(dimension, self.text), tuple(indices))
