"""The text of strided layouts: ``strided<[5, 1], offset: 2>`` and ``channels_last``."""

from __future__ import annotations

import re
from typing import Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import NESTED_TILES
from morello_layouts.notations.grammar import (
    NAME,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)
from morello_layouts.notations.strided.layout import MemoryFormat, StridedLayout

_SYNTAX: Final = Syntax(
    form="a strided layout has a stride for each dimension, and an offset if it is not 0",
    example="write for example strided<[5, 1], offset: 2>",
    hints={
        "?": "give an unknown stride a name of its own, such as LD",
        "torch": "leave torch. out",
    },
)

INTEGER: Final = Terminal("a number", "-?[0-9]+")
_FORMAT: Final = Terminal(
    "a memory format such as channels_last", "contiguous_format|channels_last_3d|channels_last"
)


def parse_strided(text: str) -> StridedLayout | MemoryFormat:
    """Parse the strides of a layout, or the name of a memory format."""
    if text.count(",") > NESTED_TILES + 1:
        raise _error(f"strides: expected at most {NESTED_TILES}, got more", text, text.rfind(","))
    source = Source(text, _SYNTAX)
    if name := source.take(_FORMAT):
        source.end()
        return MemoryFormat(str(name))
    source.need("strided")
    strides, offset = strides_and_offset(source, INTEGER, NAME)
    source.end()
    numbers = tuple(_number(token, text) for token in strides)
    start = 0 if offset is None else _number(offset, text)
    try:
        return StridedLayout(numbers, start)
    except LayoutError as error:  # too many strides
        raise at_part(error, text, {}, strides[-1].start) from None


def strides_and_offset(source: Source, *number: Terminal | str) -> tuple[list[Token], Token | None]:
    """Read ``<[5, 1], offset: 2>`` behind its word, of numbers of these kinds."""
    source.need("<")
    source.need("[")
    strides = source.series(lambda: source.need(*number), "]")
    offset = None
    if source.take(","):
        source.need("offset")
        source.need(":")
        offset = source.need(*number)
    source.need(">")
    return strides, offset


def _number(token: Token, text: str) -> Int:
    if re.fullmatch(r"d[0-9]+|p", token):
        what = f"expected a name such as LD, got {token}, which is a coordinate or an offset"
        raise _error(what, text, token.start)
    return SizeExpr.named(str(token)) if token.kind is NAME else integer(token, text)


def _error(what: str, text: str, position: int) -> ParseError:
    return ParseError(what, _SYNTAX.form, _SYNTAX.example, text=text, position=position)
