"""Index expressions as text: integers, names, ``+ - * // %``, ``floor(a/b)``, ``Mod(a, b)``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from morello_layouts.errors import ParseError
from morello_layouts.expr import Interval, Linear
from morello_layouts.notation.grammar import Syntax, parse_tree

__all__ = ["parse_bounds", "parse_expression"]

_SYNTAX = Syntax(
    form="an expression is made of integers, names, + - * // %, floor(a/b), Mod(a, b), parentheses",
    example="write for example (32*i + j)//8",
    names={
        "INT": "a number",
        "NAME": "a name",
        "SUM_OP": "'+' or '-'",
        "PRODUCT_OP": "'*', '//' or '%'",
        "SLASH": "'/'",
        "FLOOR": "floor(…)",
        "MOD": "Mod(…)",
    },
    hints={"/": "write // for division that rounds down, or floor(a/b)", "^": "write a product"},
)

_BOUND = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(-?\d{1,19})?\s*\.\.\s*(-?\d{1,19})?\s*", re.ASCII)


def parse_expression(text: str, bounds: Mapping[str, Interval]) -> Linear:
    """An index expression as a form; names without bounds may be any integer.

    Raises:
        ParseError: with a caret at what is wrong.

    >>> print(parse_expression("floor((32*i + j)/8) % 4", {}))
    ((32*i + j)//8)%4
    """
    from morello_layouts.notation.expression_reader import read_expression

    return read_expression(parse_tree("expression", "expression", text, _SYNTAX), text, bounds)


def parse_bounds(text: str) -> dict[str, Interval]:
    """Inclusive bounds such as ``i=0..31,j=-4..4``; an end may be left out.

    >>> parse_bounds("i=0..31, n=1..")
    {'i': Interval(lo=0, hi=31), 'n': Interval(lo=1, hi=None)}
    """
    bounds: dict[str, Interval] = {}
    position = 0
    for part in text.split(",") if text.strip() else ():
        match = _BOUND.fullmatch(part)
        if match is None:
            raise ParseError(
                f"{part.strip()!r} is no bound",
                "a bound is a name and the smallest and largest value",
                "write i=0..31,j=0..31",
                text=text,
                position=position,
            )
        name, lo, hi = match.groups()
        interval = Interval(int(lo) if lo else None, int(hi) if hi else None)
        if interval.lo is not None and interval.hi is not None and interval.hi < interval.lo:
            raise ParseError(
                f"{name} has no values",
                f"{interval.lo} is above {interval.hi}",
                "write the smaller end first",
                text=text,
                position=position,
            )
        bounds[name] = interval
        position += len(part) + 1
    return bounds
