"""CuTe's text: ``((4,2),8):((1,16),4)``, with ``_4`` for static integers."""

from __future__ import annotations

import re
from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.limits import CUTE_LEAVES, NESTED_TUPLES
from morello_layouts.notations.cute.integers import ScaledBasis, Static
from morello_layouts.notations.cute.layout import CuteLayout
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree

_SYNTAX: Final = Syntax(
    form="a CuTe layout is sizes:strides, nested alike, as in ((4,2),8):((1,16),4)",
    example="write for example (4,2):(1,4), or (_4,_2):(_1,_4) for static integers",
    names={"INTEGER": "an integer", "MODE": "the number of a mode"},
)

_SWIZZLE: Final = re.compile(r"S(w|wizzle)?\s*<", re.IGNORECASE)


def parse_cute(text: str) -> CuteLayout:
    """Parse a layout as CuTe prints it.

    Raises:
        ParseError: with a caret at the fault.

    >>> parse_cute("((_4,2),8):((_1,16),4)").stride
    ((_1, 16), 4)
    """
    if swizzle := _SWIZZLE.search(text):
        raise ParseError(
            "a swizzle is not read as a layout",
            "a swizzle changes bits of offsets, which sizes and strides do not say",
            "give the layout behind the last o",
            text=text,
            position=swizzle.start(),
        )
    _limit(text)
    trees = parse_tree("cute/cute.lark", "layout_text", text, _SYNTAX).children
    places: Places = {
        ("shape",): len(text) - len(text.lstrip()),
        ("stride",): text.find(":") + 1,
    }
    try:
        return CuteLayout(*(_value(tree, text) for tree in trees))
    except LayoutError as error:
        raise at_part(error, text, places) from None


def _limit(text: str) -> None:
    """Refuse text that is deeper or longer than any layout, before the grammar reads it."""
    depth = commas = modes = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        commas = 0 if character == ":" else commas + (character == ",")
        modes = 0 if character == "," else modes + (character == "@")
        for count, most, what in (
            (depth, NESTED_TUPLES, "parentheses inside each other"),
            (commas, CUTE_LEAVES, "sizes or strides"),
            (modes, CUTE_LEAVES, "modes of a stride"),
        ):
            if count > most:
                raise ParseError(
                    f"expected at most {most} {what}",
                    _SYNTAX.form,
                    _SYNTAX.example,
                    text=text,
                    position=position,
                    reached=position,
                )


def _value(tree: Any, text: str) -> Any:
    """Return a tree as nested tuples of integers."""
    if tree.data == "group":
        return tuple(_value(part, text) for part in tree.children)
    static, number, *modes = tree.children if tree.children[0] == "_" else [None, *tree.children]
    value = integer(number, text)
    value = Static(value) if static else value
    path = tuple(integer(mode, text) for mode in reversed(modes))
    return ScaledBasis(value, path) if path else value
