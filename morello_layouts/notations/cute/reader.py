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
from morello_layouts.notations.grammar import (
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)

_SYNTAX: Final = Syntax(
    form="a CuTe layout is sizes:strides, nested alike, as in ((4,2),8):((1,16),4)",
    example="write for example (4,2):(1,4), or (_4,_2):(_1,_4) for static integers",
)

_SWIZZLED: Final = replace(
    _SYNTAX,
    form="a swizzle stands before a layout: Sw<B,M,S> o offset o layout, in elements; or in bytes "
    "Sw<B,M,S> o smem_ptr[16b](unset) o layout",
    example="write for example Sw<3,3,3> o 0 o (8,64):(64,1)",
)

_SWIZZLE: Final = Terminal("a swizzle", r"Swizzle|Sw|S(?=\s*<)")
_INTEGER: Final = Terminal("an integer", "-?[0-9]+")
_MODE: Final = Terminal("the number of a mode", "[0-9]+")
_NAME: Final = Terminal("a name", "[A-Za-z][A-Za-z0-9_]*")

_NO_NAME: Final = re.compile(r"d[0-9]+|p")


def parse_cute(text: str) -> CuteLayout | ComposedLayout:
    """Parse a layout as CuTe prints it, with any swizzles before it.

    Names stand for dynamic integers: ``(M,K):(K,1)``.
    """
    _limit(text)
    syntax = _SWIZZLED if "<" in text else _SYNTAX
    source = Source(text, syntax, r"\s*")
    composed = []
    while swizzle := source.take(_SWIZZLE):
        composed.append(_swizzle(source, swizzle))
    places: Places = {("shape",): source.at}
    parts = [_tuple(source)]
    if source.take(":"):
        places["stride",] = source.at
        parts.append(_tuple(source))
    source.end()
    try:
        found: CuteLayout | ComposedLayout = CuteLayout(*(_value(part, text) for part in parts))
        for start, numbers, at, middle, bits in reversed(composed):
            places = {(): start, ("bits",): at}
            swizzling = Swizzle(*(integer(number, text) for number in numbers))
            if bits is None:
                found = ComposedLayout(swizzling, _value(middle, text), found)
            else:
                found = ComposedLayout(swizzling, Static(0), found, integer(bits, text))
    except ParseError:
        raise
    except LayoutError as error:
        raise at_part(error, text, places, places.get((), 0)) from None
    return found


def _swizzle(source: Source, name: Token) -> tuple[int, list[Token], int, Any, Token | None]:
    """Read a swizzle up to its layout: its numbers, and the offset or pointer with its bits."""
    source.need("<")
    numbers = [source.need(_INTEGER)]
    for _ in range(2):
        source.need(",")
        numbers.append(source.need(_INTEGER))
    source.need(">")
    source.need("o")
    at, bits = source.at, None
    offset: Any = None
    if source.take("smem_ptr"):
        source.need("[")
        bits = source.need(_INTEGER)
        at = bits.start
        for word in ("b", "]", "(", "unset", ")"):
            source.need(word)
    else:
        static = source.take("_")
        offset = (static, source.need(_INTEGER), [])
    source.need("o")
    return name.start, numbers, at, offset, bits


def _tuple(source: Source) -> Any:
    """Read a nested tuple as lists; a leaf is a sign of static integers, a token and its modes."""
    if source.take("("):
        return source.series(lambda: _tuple(source), ")", least=1, trailing=True)
    static = source.take("_")
    leaf = source.need(_INTEGER) if static else source.need(_INTEGER, _NAME)
    modes = []
    while leaf.kind is _INTEGER and source.take("@", optional=True):
        modes.append(source.need(_MODE))
    return static, leaf, modes


def parse_plain(text: str) -> CuteLayout:
    """Parse a layout without a swizzle."""
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


def _value(part: Any, text: str) -> Any:
    """Return what was read as nested tuples of integers and names."""
    if isinstance(part, list):
        return tuple(_value(each, text) for each in part)
    static, number, modes = part
    if number.kind is _NAME:
        if _NO_NAME.fullmatch(number):
            what = f"expected a name such as M, got {number}, which is a coordinate or an offset"
            raise _SYNTAX.error(what, _SYNTAX.example, text, number.start)
        return SizeExpr.named(str(number))
    value = integer(number, text)
    value = Static(value) if static else value
    path = tuple(integer(mode, text) for mode in reversed(modes))
    return ScaledBasis(value, path) if path else value
