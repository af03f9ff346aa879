"""einops' text: ``(h p) w -> h w p, p=2``."""

from __future__ import annotations

from typing import Any, Final

from morello_layouts.errors import LayoutError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.einops.layout import ELLIPSIS, EinopsLayout, Entry
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree

_SYNTAX: Final = Syntax(
    form="a pattern is the array's dimensions, ->, and the same axes as they lie in memory",
    example="write for example (h p) w -> h w p, p=2",
    names={"NAME": "a name", "NUMBER": "a number", "ELLIPSIS": "'...'"},
    hints={"'": "leave the quotes out", '"': "leave the quotes out"},
    longest=MAP_TEXT,
)


def parse_einops(text: str) -> EinopsLayout:
    """Parse a pattern of einops' ``rearrange``, with sizes of axes, or their names, after commas.

    Raises:
        ParseError: with a caret at the fault.

    >>> print(parse_einops("(h  p) w->h w p , p=2"))
    (h p) w -> h w p, p=2
    """
    tree: Any = parse_tree("einops/einops.lark", "pattern", text, _SYNTAX)
    places: Places = {}
    left, right = (
        _side(side, name, places)
        for side, name in zip(tree.children, ("left", "right"), strict=False)
    )
    given: list[tuple[str, Int]] = []
    for k, (name, number) in enumerate(size.children for size in tree.children[2:]):
        places["lengths", k] = name.start_pos
        named = number.type == "NAME"
        given.append((str(name), SizeExpr.named(str(number)) if named else integer(number, text)))
    try:
        return EinopsLayout(left, right, tuple(given))
    except LayoutError as error:
        raise at_part(error, text, places) from None


def _side(tree: Any, name: str, places: Places) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for each in tree.children:
        axes = each.children if each.data == "group" else [each]
        tokens = [axis.children[0] for axis in axes]
        for k, token in enumerate(tokens):
            places[name, len(entries), k] = token.start_pos
        words = tuple(ELLIPSIS if token.type == "ELLIPSIS" else str(token) for token in tokens)
        in_parentheses = each.data == "group" and words == (ELLIPSIS,)
        entries.append((*words, "1") if in_parentheses else words)
    return tuple(entries)
