"""einops' text: ``(h p) w -> h w p, p=2``."""

from __future__ import annotations

from typing import Final

from morello_layouts.errors import LayoutError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.einops.layout import ELLIPSIS, EinopsLayout, Entry
from morello_layouts.notations.grammar import (
    NAME,
    Places,
    Source,
    Syntax,
    Terminal,
    at_part,
    integer,
)

_SYNTAX: Final = Syntax(
    form="a pattern is the array's dimensions, ->, and the same axes as they lie in memory",
    example="write for example (h p) w -> h w p, p=2",
    hints={"'": "leave the quotes out", '"': "leave the quotes out"},
    longest=MAP_TEXT,
)

_NUMBER: Final = Terminal("a number", r"[0-9]+(?![A-Za-z_])")
_ELLIPSIS: Final = Terminal("'...'", r"\.\.\.|…")
_AXIS: Final = (NAME, _NUMBER, _ELLIPSIS)


def parse_einops(text: str) -> EinopsLayout:
    """Parse a pattern of einops' ``rearrange``, with sizes of axes, or names, after commas."""
    source = Source(text, _SYNTAX)
    places: Places = {}
    left = _side(source, "left", places)
    source.need("->")
    right = _side(source, "right", places)
    given: list[tuple[str, Int]] = []
    while source.take(","):
        name = source.take(NAME)
        if name is None:
            break
        source.need("=")
        number = source.need(_NUMBER, NAME)
        places["lengths", len(given)] = name.start
        named = number.kind is NAME
        given.append((str(name), SizeExpr.named(str(number)) if named else integer(number, text)))
    source.end()
    try:
        return EinopsLayout(left, right, tuple(given))
    except LayoutError as error:
        raise at_part(error, text, places) from None


def _side(source: Source, name: str, places: Places) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    while opening := source.take(*_AXIS, "(", optional=True):
        tokens = [opening]
        if opening == "(":
            tokens = []
            while axis := source.take(*_AXIS):
                tokens.append(axis)
            source.need(")")
        places |= {(name, len(entries), k): token.start for k, token in enumerate(tokens)}
        words = tuple(ELLIPSIS if token.kind is _ELLIPSIS else str(token) for token in tokens)
        in_parentheses = opening == "(" and words == (ELLIPSIS,)
        entries.append((*words, "1") if in_parentheses else words)
    return tuple(entries)
