"""CuTe's text: ``((4,2),8):((1,16),4)``, with ``_4`` for static integers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.limits import CUTE_LEAVES, NESTED_TUPLES
from morello_layouts.notations.cute.integers import ScaledBasis, Static
from morello_layouts.notations.cute.layout import CuteLayout
from morello_layouts.notations.cute.swizzle import ComposedLayout, Swizzle
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree

_SYNTAX: Final = Syntax(
    form="a CuTe layout is sizes:strides, nested alike, as in ((4,2),8):((1,16),4)",
    example="write for example (4,2):(1,4), or (_4,_2):(_1,_4) for static integers",
    names={
        "INTEGER": "an integer",
        "MODE": "the number of a mode",
        "NAME": "a name",
        "SWIZZLE": "a swizzle",
    },
)

_SWIZZLED: Final = replace(
    _SYNTAX,
    form="a swizzle stands before a layout: Sw<B,M,S> o offset o layout, in elements; or in bytes "
    "Sw<B,M,S> o smem_ptr[16b](unset) o layout",
    example="write for example Sw<3,3,3> o 0 o (8,64):(64,1)",
)

_NO_NAME: Final = re.compile(r"d[0-9]+|p")


def parse_cute(text: str) -> CuteLayout | ComposedLayout:
    """Parse a layout as CuTe prints it, with any swizzles before it.

    Names stand for dynamic integers: ``(M,K):(K,1)``.

    Raises:
        ParseError: with a caret at the fault.

    >>> parse_cute("((_4,2),8):((_1,16),4)").stride
    ((_1, 16), 4)
    >>> print(parse_cute("Sw<3,4,3> o smem_ptr[16b](unset) o (M,_64):(_64,_1)").sizes)
    (SizeExpr(M), 64)
    """
    _limit(text)
    syntax = _SWIZZLED if "<" in text else _SYNTAX
    children: list[Any] = parse_tree("cute/cute.lark", "layout_text", text, syntax).children
    *composed, layout = children
    start = _start(layout, text)
    places: Places = {("shape",): start, ("stride",): text.find(":", start) + 1}
    try:
        values = (_value(tree, text) for tree in layout.children)
        found: CuteLayout | ComposedLayout = CuteLayout(*values)
        for name, middle in zip(composed[-2::-2], composed[::-2], strict=True):
            places = {(): name.children[0].start_pos, ("bits",): _start(middle, text)}
            swizzle = Swizzle(*(integer(number, text) for number in name.children[1:]))
            if middle.data == "pointer":
                bits = integer(middle.children[0], text)
                found = ComposedLayout(swizzle, Static(0), found, bits)
            else:
                found = ComposedLayout(swizzle, _value(middle, text), found)
    except ParseError:
        raise
    except LayoutError as error:
        raise at_part(error, text, places, places.get((), 0)) from None
    return found


def _start(tree: Any, text: str) -> int:
    """Where a tree begins, with the parentheses before its first token."""
    first: int = next(tree.scan_values(lambda _: True)).start_pos
    before = text[:first].rstrip("( \t\n")
    return first - len(text[len(before) : first].lstrip())


def parse_plain(text: str) -> CuteLayout:
    """Parse a layout without a swizzle.

    Raises:
        ParseError: for any other text.
    """
    found = parse_cute(text)
    if isinstance(found, CuteLayout):
        return found
    raise ParseError(
        "expected a layout without a swizzle",
        "a swizzle changes bits of offsets, which sizes and strides do not say",
        "give the layout behind the last o",
        text=text,
        position=len(text) - len(text.lstrip()),
    )


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
    """Return a tree as nested tuples of integers and names."""
    if tree.data == "group":
        return tuple(_value(part, text) for part in tree.children)
    static, number, *modes = tree.children if tree.children[0] == "_" else [None, *tree.children]
    if number.type == "NAME":
        if _NO_NAME.fullmatch(number):
            what = f"expected a name such as M, got {number}, which is a coordinate or an offset"
            raise _SYNTAX.error(what, _SYNTAX.example, text, number.start_pos)
        return SizeExpr.named(str(number))
    value = integer(number, text)
    value = Static(value) if static else value
    path = tuple(integer(mode, text) for mode in reversed(modes))
    return ScaledBasis(value, path) if path else value
