"""The text of strided layouts: ``strided<[5, 1], offset: 2>`` and ``channels_last``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import NESTED_TILES
from morello_layouts.notations.grammar import Syntax, at_part, integer, parse_tree
from morello_layouts.notations.strided.layout import MemoryFormat, StridedLayout

if TYPE_CHECKING:
    from lark import Token

_SYNTAX: Final = Syntax(
    form="a strided layout has a stride for each dimension, and an offset if it is not 0",
    example="write for example strided<[5, 1], offset: 2>",
    names={"INT": "a number", "NAME": "a name", "FORMAT": "a memory format such as channels_last"},
    hints={
        "?": "give an unknown stride a name of its own, such as LD",
        "torch": "leave torch. out",
    },
)


def parse_strided(text: str) -> StridedLayout | MemoryFormat:
    """Parse the strides of a layout, or the name of a memory format.

    Raises:
        ParseError: with a caret at the fault.

    >>> parse_strided("strided<[LD, 1], offset: 2>").offset
    2
    """
    if text.count(",") > NESTED_TILES + 1:
        raise _error(f"strides: expected at most {NESTED_TILES}, got more", text, text.rfind(","))
    children: list[Any] = parse_tree("strided/strided.lark", "strided_text", text, _SYNTAX).children
    if children and getattr(children[0], "type", "") == "FORMAT":
        return MemoryFormat(str(children[0]))
    strides = [token for token in children if hasattr(token, "type")]
    offset = next((tree.children[0] for tree in children if not hasattr(tree, "type")), None)
    numbers = tuple(_number(token, text) for token in strides)
    start = 0 if offset is None else _number(offset, text)
    try:
        return StridedLayout(numbers, start)
    except LayoutError as error:  # too many strides
        raise at_part(error, text, {}, strides[-1].start_pos or 0) from None


def _number(token: Token, text: str) -> Int:
    if re.fullmatch(r"d[0-9]+|p", token):
        what = f"expected a name such as LD, got {token}, which is a coordinate or an offset"
        raise _error(what, text, token.start_pos or 0)
    return SizeExpr.named(str(token)) if token.type == "NAME" else integer(token, text)


def _error(what: str, text: str, position: int) -> ParseError:
    return ParseError(what, _SYNTAX.form, _SYNTAX.example, text=text, position=position)
