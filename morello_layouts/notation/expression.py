"""Index expressions as text: integers, names, ``+ - * // %``, ``floor(a/b)``, ``Mod(a, b)``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from morello_layouts.errors import ParseError
from morello_layouts.expr import Interval, Linear
from morello_layouts.expr.operations import as_number
from morello_layouts.expr.size import Number
from morello_layouts.notation.grammar import Syntax, parse_tree

__all__ = ["parse_bounds", "parse_expression", "parse_number"]

_SYNTAX = Syntax(
    form="an expression is made of integers, names, + - * // %, floor(a/b), ceil(a/b), Mod(a, b)",
    example="write for example (32*i + j)//8",
    names={
        "INT": "a number",
        "NAME": "a name",
        "SUM_OP": "'+' or '-'",
        "PRODUCT_OP": "'*', '/', '//' or '%'",
        "POWER": "'**'",
        "FLOOR": "floor(…)",
        "CEIL": "ceil(…)",
        "MOD": "Mod(…)",
    },
    hints={"^": "write a product"},
)

_BOUND = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*?)\.\.(.*)", re.ASCII | re.DOTALL)


def parse_expression(text: str, bounds: Mapping[str, Interval]) -> Linear:
    """An index expression as a form; names without bounds may be any integer.

    Raises:
        ParseError: with a caret at what is wrong.

    >>> print(parse_expression("floor((32*i + j)/8) % 4", {}))
    ((32*i + j)//8)%4
    """
    from morello_layouts.notation.expression_reader import read_expression

    return read_expression(parse_tree("expression", "expression", text, _SYNTAX), text, bounds)


def parse_number(text: str) -> Number:
    """An integer or a symbolic size: a polynomial in names that stand for positive integers.

    >>> print(parse_number("8*N - 1"))
    8*N - 1
    """
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text, re.ASCII), Interval(1, None))
    number = as_number(parse_expression(text, names))
    if number is None:
        raise ParseError(
            f"{text.strip()!r} is no size",
            "a size is an integer, or made of names with +, - and *",
            "write for example 31 or N - 1",
            text=text,
            position=0,
        )
    return number


def parse_bounds(text: str) -> dict[str, Interval]:
    """Inclusive bounds such as ``i=0..31,j=-4..4,k=0..N-1``; an end may be left out.

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
        name, *ends = match.groups()
        try:
            lo, hi = (parse_number(end) if end.strip() else None for end in ends)
        except ParseError as error:
            start = position + part.index(error.text, len(name))
            raise ParseError(
                error.what, error.why, error.fix, text=text, position=start + error.position
            ) from None
        if isinstance(lo, int) and isinstance(hi, int) and hi < lo:
            raise ParseError(
                f"{name} has no values",
                f"{lo} is above {hi}",
                "write the smaller end first",
                text=text,
                position=position,
            )
        bounds[name] = Interval(lo, hi)
        position += len(part) + 1
    return bounds
