"""TVM's text: ``lambda n, c: (n, c//16, c%16)``, ``T.index_map(lambda …)`` and ``NCHW16c``.

Sources: TVM's ``tir.IndexMap`` and ``tir.layout`` (``tirx`` and ``slayout`` since 0.27).
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from morello_layouts.core.checks import shown
from morello_layouts.core.expr import AffineExpr, variable
from morello_layouts.core.expr.conversions import divide
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import MAP_TEXT, NESTED_TILES
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.coordinates import NAMES, ORDERS, FormulaLayout, logical_order
from morello_layouts.notations.expression import parse_function
from morello_layouts.notations.grammar import AROUND, END, Syntax, Terminal
from morello_layouts.notations.text import NUMBER, choice, field, made, many, word

_SYNTAX: Final = Syntax(
    form="a TVM layout is a capital for each dimension, and factors such as 16c, in memory order",
    example="write for example NCHW16c",
    longest=MAP_TEXT,
)

Part: TypeAlias = str | tuple[int, str]
"""A capital, or a factor: a size and a small letter."""

_FACTOR: Final = made(
    lambda size, letter: (size, letter),
    field("size", NUMBER),
    field("letter", word(Terminal("a small letter", "[a-z]"))),
)
_PARTS: Final = many(choice(word(Terminal("a capital", "[A-Z]")), _FACTOR), least=1)
_INDEX_MAP: Final = regex(r"\s*(lambda\b|[\w.]*(index_?map|IndexMap)[\w.]*\s*\()", re.ASCII)
_WORD: Final = regex(r"\s*[A-Z]?[a-z_]", re.ASCII)


def parse_tvm(text: str) -> FormulaLayout:
    if _INDEX_MAP.match(text):
        return FormulaLayout(*parse_function(text))
    try:
        layout: FormulaLayout = _LAYOUT.parse(text, _SYNTAX, AROUND)
    except ParseError as error:
        is_word = error.reached <= error.position and _WORD.match(text)
        if is_word:
            error.reached = -1  # another reader, or none, knows more
        elif text[error.position : error.position + 1].isupper():
            error.reached = error.position if text[: error.position].strip() else 0
        raise
    return layout


def _layout(parts: tuple[Part, ...]) -> FormulaLayout:
    """Return the layout of capitals and factors, in memory order."""
    letters = "".join(_capitals(parts)).lower()
    texts = tuple(part if isinstance(part, str) else f"{part[0]}{part[1]}" for part in parts)
    order, forms = tuple(logical_order(letters)), _forms(parts, letters)
    return FormulaLayout(order, forms, "".join(texts), "TVM layout", _headline(letters), texts)


def _capitals(parts: tuple[Part, ...]) -> list[str]:
    """Return the capitals, which are the dimensions, each once."""
    for k, part in enumerate(parts):
        if isinstance(part, str) and part in parts[:k]:
            raise _error(f"dimension {part} appears twice", "write it once", k)
    capitals = [part for part in parts if isinstance(part, str)]
    if len(capitals) == len(parts) and logical_order("".join(capitals).lower()) not in ORDERS:
        got = shown("".join(capitals))
        what = f"capitals alone: expected the dimensions of a known array, got {got}"
        raise _error(what, "write for example NHWC, or factors as in NCHW16c", 0)
    return capitals


def _forms(parts: tuple[Part, ...], letters: str) -> tuple[AffineExpr, ...]:
    """Return the coordinate that each capital and each factor is, over the letters."""
    inner = dict.fromkeys(letters, 1)  # elements of each dimension in the factors seen so far
    forms: dict[int, AffineExpr] = {}
    factors = [(k, part) for k, part in enumerate(parts) if not isinstance(part, str)]
    for k, (size, letter) in reversed(factors):
        if letter not in inner:
            what = f"factor {size}{letter}: the layout has no dimension {letter.upper()}"
            raise _error(what, f"write {letter.upper()} too", k, "letter")
        if size < 1:
            raise _error(f"factor {size}{letter}: expected a size from 1, got {size}", "", k)
        if len(factors) > NESTED_TILES:
            what = f"expected {NESTED_TILES} factors at most, got {len(factors)}"
            raise _error(what, "", k)
        forms[k] = divide(variable(letter), inner[letter]) % size
        inner[letter] *= size
    for k, part in enumerate(parts):
        if isinstance(part, str):
            forms[k] = divide(variable(part.lower()), inner[part.lower()])
    return tuple(forms[k] for k in range(len(parts)))


def _headline(letters: str) -> str:
    """The order of the sizes in words."""
    order = logical_order(letters)
    words = [f"{letter} {NAMES[letter]}" if letter in NAMES else letter for letter in order]
    return f"an array of {', '.join(words)}"


def _error(what: str, fix: str, *part: str | int) -> LayoutError:
    return LayoutError(what, _SYNTAX.form, fix or _SYNTAX.example, part=("parts", *part))


_LAYOUT: Final = made(_layout, field("parts", _PARTS), END)
