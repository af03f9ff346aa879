"""XLA's text: shapes with layouts, tuples, buffers, and layouts alone.

Strict where XLA's parser is lax: what its compiler refuses later is refused here, with a caret.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import NESTED_TUPLES
from morello_layouts.notations.grammar import (
    INT,
    NAME,
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)
from morello_layouts.notations.xla.layout import SplitConfig, XlaLayout, rank_error
from morello_layouts.notations.xla.shape import XlaBuffer, XlaShape, XlaTuple
from morello_layouts.notations.xla.types import COMBINE, Tile

XlaValue: TypeAlias = XlaShape | XlaTuple | XlaBuffer

_TYPE: Final = Terminal("an element type (f32, bf16, s8, pred, …)", "[A-Za-z_][A-Za-z0-9_]*")
_BUFFER: Final = Terminal("'b('", r"b\s*\(")
# A brace opens a layout only before a number or a colon; that after a computation does not.
_BRACE: Final = Terminal("a layout '{…}'", r"\{(?=\s*[0-9:])")
_LEVEL: Final = Terminal("one of D, C, S, H", r"[DCSH]\+?~?")
_STAR: Final = Terminal("'*'", "[*∗]")  # the document also has an operator's star
_NUMBER: Final = Terminal("a number", "-?[0-9]+")
_SKIP: Final = r"(?:[ \t\r\n]+|/\*(?:[^*]|\*(?!/))*\*/)*"

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
    _HINTS,
)
LAYOUT_SYNTAX: Final = Syntax(
    f"an XLA layout is {_FORM}", "write for example {1,0:T(8,128)(2,1)}", _HINTS
)

# The attributes of a layout in their order: the sign, and the field that it sets.
_ATTRIBUTES: Final = (
    (Terminal("D(…)", "D"), "levels"),
    (Terminal("T(…)", "T"), "tiles"),
    (Terminal("L(…)", "L"), "tail_padding_alignment_in_elements"),
    ("#", "index_primitive_type"),
    (_STAR, "pointer_primitive_type"),
    (Terminal("E(…)", "E"), "element_size_in_bits"),
    (Terminal("S(…)", "S(?!C)"), "memory_space"),
    (Terminal("SC(…)", "SC"), "split_configs"),
    (Terminal("M(…)", "M"), "dynamic_shape_metadata_prefix_bytes"),
)


def parse_xla(text: str) -> XlaValue:
    """Parse an XLA shape, tuple or buffer."""
    reader = _Reader(text, SHAPE_SYNTAX)
    found = reader.shape()
    reader.source.end()
    return found


def parse_xla_layout(text: str) -> XlaLayout:
    """Parse an XLA layout alone, in braces."""
    reader = _Reader(text, LAYOUT_SYNTAX)
    found = reader.layout(reader.source.need(_BRACE), {})
    reader.source.end()
    return found


class _Reader:
    """Read values, and remember the place of each part in the text."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text, self.source = text, Source(text, syntax, _SKIP)

    def shape(self, depth: int = 0) -> XlaValue:
        source = self.source
        if source.take(_BUFFER):
            inner = self.array(source.need(_TYPE))
            source.need(")")
            return XlaBuffer(inner)
        opening = source.take("(")
        if opening is None:
            return self.array(source.need(_TYPE))
        if depth == NESTED_TUPLES:
            raise ParseError(
                f"tuples nest deeper than {NESTED_TUPLES}",
                "no program does that, and reading it would take long",
                "read the inner shapes by themselves",
                text=self.text,
                position=opening.start,
            )
        return XlaTuple(tuple(source.series(lambda: self.shape(depth + 1), ")")))

    def array(self, name: Token) -> XlaShape:
        element_type = str(name).lower() if name.isupper() else str(name)  # F32 in the document
        places: Places = {("element_type",): name.start}
        self.source.need("[")
        tokens = self.source.series(self.dim, "]")
        places |= {("dims", k): sizes[-1].start for k, sizes in enumerate(tokens)}
        dims = tuple(self.size(sizes[-1]) for sizes in tokens)
        dynamic = tuple(str(sizes[0]) in ("<=", "?") for sizes in tokens)
        brace = self.source.take(_BRACE, optional=True)
        layout = self.layout(brace, places, len(dims)) if brace else None
        try:
            return XlaShape(element_type, dims, layout, dynamic)
        except LayoutError as error:
            raise at_part(error, self.text, places, name.start) from None

    def dim(self) -> tuple[Token, ...]:
        first = self.source.need(INT, "<=", "?", NAME)
        return (first, self.source.need(INT)) if first == "<=" else (first,)

    def size(self, token: Token) -> int | str | None:
        if token.kind is INT:
            return integer(token, self.text)
        return None if token == "?" else str(token)

    def layout(self, brace: Token, places: Places, rank: int | None = None) -> XlaLayout:
        """Read a layout behind its brace."""
        places["layout",] = places["minor_to_major",] = brace.start
        source = self.source
        fields: dict[str, Any] = {}
        try:
            tokens: list[Token] = []
            while token := source.need(INT) if tokens else source.take(INT):
                tokens.append(token)
                if not source.take(","):
                    break
            order = self.numbers("minor_to_major", tokens, places)
            for sign, field in _ATTRIBUTES if source.take(":") else ():
                if source.take(sign):
                    self.attribute(field, fields, places)
            source.need("}")
            if rank is not None and len(order) != rank:
                raise rank_error(rank, len(order))
            return XlaLayout(tuple(order), **fields)
        except ParseError:
            raise
        except LayoutError as error:
            raise at_part(error, self.text, places, brace.start) from None

    def attribute(self, field: str, fields: dict[str, Any], places: Places) -> None:
        """Read an attribute of a layout behind its sign."""
        source = self.source
        opening: Token | None = source.need("(")
        if field == "levels":  # of sparse arrays: XLA reads and drops them
            source.series(lambda: source.need(_LEVEL), ")", least=1)
        elif field in ("tiles", "split_configs"):
            read: Any = self.tile if field == "tiles" else self.split
            found: list[Any] = []
            while opening:
                found.append(read(len(found), opening, places))
                opening = source.take("(")
            fields[field] = tuple(found)
        else:
            token = source.need(_TYPE if field.endswith("type") else _NUMBER)
            places[field,] = token.start
            source.need(")")
            value = str(token) if token.kind is _TYPE else integer(token, self.text)
            if field == "dynamic_shape_metadata_prefix_bytes" and token[0] == "-":
                value = 0  # XLA drops M(-1)
            fields[field] = value

    def numbers(self, field: str, tokens: list[Token], places: Places) -> list[int]:
        places |= {(field, k): token.start for k, token in enumerate(tokens)}
        return [integer(token, self.text) for token in tokens]

    def tile(self, k: int, opening: Token, places: Places) -> Tile:
        tokens = self.source.series(lambda: self.source.need(_NUMBER, _STAR, NAME), ")")
        places["tiles", k] = opening.start
        places |= {("tiles", k, j): token.start for j, token in enumerate(tokens)}
        return tuple(map(self.tile_size, tokens))

    def tile_size(self, token: Token) -> Int:
        if token.kind is _STAR:
            return COMBINE
        if token.kind is NAME:
            return SizeExpr.named(str(token))
        value = integer(token, self.text)
        if value < 0:
            raise ParseError(
                f"a tile size: expected an integer from 1, got {value}",
                "a tile holds at least one element in each dimension",
                "XLA's document writes -1 for a combined dimension; in text it is '*'",
                text=self.text,
                position=token.start,
            )
        return value

    def split(self, k: int, _: Token, places: Places) -> SplitConfig:
        source = self.source
        dimension = source.need(INT)
        places["split_configs", k] = places["dimension",] = dimension.start
        source.need(":")
        cuts = source.series(lambda: source.need(INT), ")")
        indices = self.numbers("split_indices", cuts, places)
        return SplitConfig(integer(dimension, self.text), tuple(indices))
