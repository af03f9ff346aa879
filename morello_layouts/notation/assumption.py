"""Assumptions about symbolic sizes as text: ``M % 8 == 0``, ``N >= 1``, ``1 <= N <= 100``."""

from __future__ import annotations

import re
from typing import Final

from morello_layouts.errors import ParseError
from morello_layouts.expr.assumption import Assumption

__all__ = ["parse_assumptions"]

_NAME: Final = r"([A-Za-z_]\w*)"
_MULTIPLE: Final = re.compile(rf"{_NAME}\s*%\s*(\d+)\s*==\s*0", re.ASCII)
_DIVIDES: Final = re.compile(rf"(\d+)\s*(?:\||divides)\s*{_NAME}", re.ASCII)
_RANGE: Final = re.compile(
    rf"(?:(\d+)\s*(<=|<|==|>=|>)\s*)?{_NAME}(?:\s*(<=|<|==|>=|>)\s*(\d+))?", re.ASCII
)
_MIRRORED: Final = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}


def parse_assumptions(text: str) -> list[Assumption]:
    """Assumptions from text, separated by commas, semicolons or ``and``.

    Raises:
        ParseError: with a caret at what is no assumption.

    >>> [str(one) for one in parse_assumptions("M % 8 == 0, 1 <= N <= 128")]
    ['8 divides M', 'N >= 1', 'N <= 128']
    """
    found: list[Assumption] = []
    position = 0
    for part in re.split(r"(\s*(?:,|;|\band\b|&)\s*)", text):
        if position == 0 or not re.fullmatch(r"\s*(?:,|;|and|&)\s*", part):
            found += _one(part, text, position)
        position += len(part)
    return found


def _one(part: str, text: str, position: int) -> list[Assumption]:
    stripped = part.strip()
    if match := _MULTIPLE.fullmatch(stripped):
        return [Assumption(match[1], divisor=_positive(int(match[2]), text, position))]
    if match := _DIVIDES.fullmatch(stripped):
        return [Assumption(match[2], divisor=_positive(int(match[1]), text, position))]
    match = _RANGE.fullmatch(stripped)
    if match is None or match[2] is match[4] is None:
        raise ParseError(
            f"{stripped!r} is no assumption",
            "one says what divides a size, or how large it is",
            "write for example M % 8 == 0, N >= 2 or 1 <= N <= 128",
            text=text,
            position=position + len(part) - len(part.lstrip()),
        )
    bounds = [(_MIRRORED[match[2]], match[1])] if match[2] else []
    bounds += [(match[4], match[5])] if match[4] else []
    return [_bound(match[3], sign, int(end), text, position) for sign, end in bounds]


def _bound(name: str, sign: str, end: int, text: str, position: int) -> Assumption:
    lo = {">=": end, ">": end + 1, "==": end}.get(sign, 1)
    hi = {"<=": end, "<": end - 1, "==": end}.get(sign)
    if hi is not None and hi < 1:
        _positive(0, text, position)
    return Assumption(name, lo=max(lo, 1), hi=hi)


def _positive(number: int, text: str, position: int) -> int:
    if number < 1:
        raise ParseError(
            "no size is as assumed",
            "symbolic sizes are at least 1, and so is what divides them",
            "write a positive number",
            text=text,
            position=position,
        )
    return number
