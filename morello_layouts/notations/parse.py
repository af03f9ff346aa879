"""Recognize the notation of a text and parse it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.expression import parse_expression
from morello_layouts.notations.morello import MorelloLayout
from morello_layouts.notations.morello.reader import parse_morello
from morello_layouts.notations.xla import ELEMENT_BITS, XlaLayout
from morello_layouts.notations.xla.reader import XlaValue, parse_xla, parse_xla_layout
from morello_layouts.notations.xla.types import shown

ParsedLayout: TypeAlias = MorelloLayout | XlaLayout | XlaValue

_TYPES: Final = "|".join(ELEMENT_BITS)

# A text's beginning tells its notation.
_NOTATIONS: Final[tuple[tuple[re.Pattern[str], Callable[[str], ParsedLayout]], ...]] = (
    (re.compile(r"\s*(\[|\(\s*\[|[0-9]|N[A-Z])"), parse_morello),
    (re.compile(r"\s*\{"), parse_xla_layout),
    (re.compile(rf"\s*(\(|/\*|b\s*\(|[a-z_]\w*\s*\[|({_TYPES})\b)", re.IGNORECASE), parse_xla),
)

_OPERATOR: Final = re.compile(r"[-+*/%]|\bfloor\b|\bceil\b|\bMod\b")
_LONGEST_FORMULA: Final = 1000  # characters; longer ones are not read twice


def parse(text: str) -> ParsedLayout:
    """A layout, in whatever notation it is written.

    Returns:
        MorelloLayout for ``[1, 0, 1 p(4)]``, XlaLayout for ``{1,0:T(8,128)}``, XlaShape, XlaTuple
        or XlaBuffer for ``bf16[10,200]{1,0:T(8,128)(2,1)}`` and the like.

    Raises:
        ParseError: with a caret at what is wrong.
        LayoutError: where it is not text.

    >>> print(parse("bf16[10,200]"))
    bf16[10,200]{1,0}
    """
    if not isinstance(text, str):
        raise LayoutError(f"{shown(text)} is not text", "layouts are parsed from str", "give a str")
    for beginning, reader in _NOTATIONS:
        if beginning.match(text):
            return _read(reader, text)
    _refuse_formula(text)
    raise ParseError(
        "no layout begins like this",
        "a layout is written in Morello's notation, as an XLA shape, or as an XLA layout in braces",
        "write for example [1, 0, 1 p(4)], bf16[10,200]{1,0:T(8,128)(2,1)} or {1,0:T(8,128)}",
        text=text,
        position=len(text) - len(text.lstrip()),
    )


def _read(reader: Callable[[str], ParsedLayout], text: str) -> ParsedLayout:
    try:
        return reader(text)
    except ParseError:
        _refuse_formula(text)
        raise


def _refuse_formula(text: str) -> None:
    """Raise where a text that is no layout is a formula: by its own errors one would not tell."""
    if len(text) > _LONGEST_FORMULA or not _OPERATOR.search(text):
        return
    try:
        parse_expression(text, {})
    except LayoutError:
        return
    formula = " ".join(text.split())
    shown_text = formula if len(formula) <= 60 else "…"
    raise ParseError(
        "this is a formula, where a layout is wanted",
        "a layout says in which order the dimensions lie; a formula alone does not know its array",
        f'give the map of the formula: from_sympy({{"shape": …}}, "{shown_text}")',
        text=text,
        position=0,
    )
