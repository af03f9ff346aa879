"""The table of notations: recognize the notation of a text, parse it, describe a layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from morello_layouts.checks import shown
from morello_layouts.description import Description, Part, dimensions, memory_axes
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.layout import Arrays, Layout
from morello_layouts.notations.expression import parse_expression
from morello_layouts.notations.morello import MorelloLayout
from morello_layouts.notations.morello import words as morello_words
from morello_layouts.notations.morello.reader import parse_morello
from morello_layouts.notations.xla import ELEMENT_BITS, XlaLayout, XlaShape
from morello_layouts.notations.xla import words as xla_words
from morello_layouts.notations.xla.reader import parse_xla, parse_xla_layout


@dataclass(frozen=True)
class Notation:
    """A notation, as everything outside of its folder knows it.

    Attributes:
        name: the short name, such as ``xla``.
        begins: matches the beginning of a text in this notation.
        parse: reads a text, with a caret in its errors.
        types: the types of its layouts.
        describe: says what each part of a layout means, given the array's sizes if they are known.
        example: a text.
    """

    name: str
    begins: re.Pattern[str]
    parse: Callable[[str], Arrays]
    types: tuple[type[Layout], ...]
    describe: Callable[[Any, Any], Description]
    example: str


_TYPES: Final = "|".join(ELEMENT_BITS)

NOTATIONS: Final = (
    Notation(
        "morello",
        re.compile(r"\s*(\[|\(\s*\[|[0-9]|N[A-Z])"),
        parse_morello,
        (MorelloLayout,),
        morello_words.describe,
        "[1, 0, 1 p(4)]",
    ),
    Notation(
        "xla layout",
        re.compile(r"\s*\{"),
        parse_xla_layout,
        (XlaLayout,),
        xla_words.describe,
        "{1,0:T(8,128)}",
    ),
    Notation(
        "xla",
        re.compile(rf"\s*(\(|/\*|b\s*\(|[a-z_]\w*\s*\[|({_TYPES})\b)", re.IGNORECASE),
        parse_xla,
        (XlaShape,),
        xla_words.describe,
        "bf16[10,200]{1,0:T(8,128)(2,1)}",
    ),
)
"""All notations, in the order in which a text's beginning is tried."""

_OPERATOR: Final = re.compile(r"[-+*/%]|\bfloor\b|\bceil\b|\bMod\b")
_LONGEST_FORMULA: Final = 1000  # characters; longer ones are not read twice


def parse(text: str) -> Arrays:
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
    for notation in NOTATIONS:
        if notation.begins.match(text):
            return _read(notation.parse, text)
    _refuse_formula(text)
    raise ParseError(
        "no layout begins like this",
        "a layout is written in Morello's notation, as an XLA shape, or as an XLA layout in braces",
        "write for example [1, 0, 1 p(4)], bf16[10,200]{1,0:T(8,128)(2,1)} or {1,0:T(8,128)}",
        text=text,
        position=len(text) - len(text.lstrip()),
    )


def _read(reader: Callable[[str], Arrays], text: str) -> Arrays:
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


def describe(layout: Layout, sizes: Sequence[int] | None = None) -> Description:
    """Say what each part of a layout's text means.

    Args:
        layout: the layout of one array.
        sizes: the sizes of the array if the layout carries none; without them less can be said.

    Raises:
        ShapeError: if the sizes do not fit the layout.

    >>> for part in describe(parse("[1, 0]"), (6, 8)).parts:
    ...     print(part.text, "-", part.meaning)
    1 - slowest: all of x, 8
    0 - fastest: all of y, 6
    """
    for notation in NOTATIONS:
        if isinstance(layout, notation.types):
            return notation.describe(layout, sizes)
    text = str(layout)
    kind = f"{type(layout).__name__} layout"
    dims = dimensions(sizes or ())
    axes = () if sizes is None else memory_axes(layout.recipe(sizes), dims)
    return Description(text, kind, text, dims, (Part(text, kind),), axes)
