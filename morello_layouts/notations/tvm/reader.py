"""TVM's text: ``lambda n, c: (n, c//16, c%16)``, ``T.index_map(lambda …)`` and ``NCHW16c``.

Sources: TVM's ``tir.IndexMap`` and ``tir.layout`` (``tirx`` and ``slayout`` since 0.27).
"""

from __future__ import annotations

import re
from typing import Any, Final

from morello_layouts.checks import shown
from morello_layouts.errors import ParseError
from morello_layouts.expr import AffineExpr, variable
from morello_layouts.expr.conversions import divide
from morello_layouts.limits import MAP_TEXT, NESTED_TILES
from morello_layouts.notations.blocks import NAMES, ORDERS, logical_order
from morello_layouts.notations.coordinates import FormulaLayout
from morello_layouts.notations.expression import parse_function
from morello_layouts.notations.grammar import AROUND, INT, Source, Syntax, Terminal, Token, integer

_SYNTAX: Final = Syntax(
    form="a TVM layout is a capital for each dimension, and factors such as 16c, in memory order",
    example="write for example NCHW16c",
    longest=MAP_TEXT,
)

_CAPITAL: Final = Terminal("a capital", "[A-Z]")
_LETTER: Final = Terminal("a small letter", "[a-z]")

_WORD: Final = re.compile(r"\s*[A-Z]?[a-z_]", re.ASCII)

_INDEX_MAP: Final = re.compile(r"\s*(lambda\b|[\w.]*(index_?map|IndexMap)[\w.]*\s*\()", re.ASCII)


def parse_tvm(text: str) -> FormulaLayout:
    """Parse an index map or a layout of TVM."""
    if _INDEX_MAP.match(text):
        return FormulaLayout(*parse_function(text))
    try:
        parts = _parts(Source(text, _SYNTAX, AROUND))
    except ParseError as error:
        if _WORD.match(text):
            error.reached = -1  # another reader, or none, knows more
        raise
    return _layout(parts, text)


def _parts(source: Source) -> list[Token | tuple[Token, Token]]:
    """Read capitals, and factors: a size and a letter each."""
    parts: list[Token | tuple[Token, Token]] = []
    while part := source.take(_CAPITAL, INT) if parts else source.need(_CAPITAL, INT):
        parts.append((part, source.need(_LETTER)) if part.kind is INT else part)
    source.end()
    return parts


def _layout(parts: list[Any], text: str) -> FormulaLayout:
    """Return the layout of capitals, and of factors: pairs of size and letter."""
    letters = "".join(_capitals(parts, text)).lower()
    texts = tuple(map("".join, parts))
    return FormulaLayout(
        tuple(logical_order(letters)),
        _forms(parts, letters, text),
        "".join(texts),
        "TVM layout",
        _headline(letters),
        texts,
    )


def _capitals(parts: list[Any], text: str) -> list[Any]:
    """Return the capitals, which are the dimensions, each once."""
    capitals: list[Any] = [part for part in parts if isinstance(part, str)]
    for k, capital in enumerate(capitals):
        if capital in capitals[:k]:
            what = f"dimension {capital} appears twice"
            error = _SYNTAX.error(what, "write it once", text, capital.start)
            error.reached = error.position  # any word in capitals begins like a layout
            raise error
    if len(capitals) == len(parts) and logical_order("".join(capitals).lower()) not in ORDERS:
        got = shown(text.strip())
        what = f"capitals alone: expected the dimensions of a known array, got {got}"
        fix = "write for example NHWC, or factors as in NCHW16c"
        error = _SYNTAX.error(what, fix, text, capitals[0].start)
        error.reached = 0
        raise error
    return capitals


def _forms(parts: list[Any], letters: str, text: str) -> tuple[AffineExpr, ...]:
    """Return the coordinate that each capital and each factor is, over the letters."""
    inner = dict.fromkeys(letters, 1)  # elements of each dimension in the factors seen so far
    forms: dict[int, AffineExpr] = {}
    factors = [k for k, part in enumerate(parts) if not isinstance(part, str)]
    for k in reversed(factors):
        size, letter = parts[k]
        if letter not in inner:
            what = f"factor {size}{letter}: the layout has no dimension {letter.upper()}"
            raise _SYNTAX.error(what, f"write {letter.upper()} too", text, letter.start)
        count = integer(size, text)
        if count < 1 or len(factors) > NESTED_TILES:
            what = f"factor {size}{letter}: expected a size from 1, got {size}"
            if count:
                what = f"expected {NESTED_TILES} factors at most, got {len(factors)}"
            raise _SYNTAX.error(what, _SYNTAX.example, text, size.start)
        forms[k] = divide(variable(letter), inner[letter]) % count
        inner[letter] *= count
    for k, part in enumerate(parts):
        if k not in forms:
            forms[k] = divide(variable(part.lower()), inner[part.lower()])
    return tuple(forms[k] for k in range(len(parts)))


def _headline(letters: str) -> str:
    """The order of the sizes in words."""
    order = logical_order(letters)
    words = [f"{letter} {NAMES[letter]}" if letter in NAMES else letter for letter in order]
    return f"an array of {', '.join(words)}"
