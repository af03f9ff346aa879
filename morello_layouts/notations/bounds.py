"""Parse the bounds of variables, as mathematics and programs write them, and values by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from morello_layouts.core.checks import shown
from morello_layouts.core.expr import Interval
from morello_layouts.core.expr.bounds import UNBOUNDED
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.lazy import regex
from morello_layouts.errors import ParseError
from morello_layouts.notations.expression import parse_number
from morello_layouts.notations.grammar import at_part

_WORD: Final = r"\s*[A-Za-z_]\w*(?:\.[xyz])?\s*"  # threadIdx.x too
_NAME: Final = regex(_WORD, re.ASCII)
_AND: Final = regex(r"[,;\n]|&&?|\band\b")
_SIGN: Final = regex(r"(<=|>=|==|<|>|≤|≥)")
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "≤": ">=", "≥": "<=", "==": "=="}
_OF_NAME: Final = regex(rf"(?P<name>{_WORD})(?:=|:|∈|\bin\b)(?P<values>.*)", re.S)
_VALUES: Final = tuple(
    regex(pattern, re.DOTALL)
    for pattern in (
        r"(?P<lo>[^=.]*)\.\.\.?=?(?P<hi>[^=]*)",
        r"\s*range\s*\((?:(?P<lo>[^,]*),)?(?P<end>[^,]*)\)\s*",
        r"\s*\[(?P<lo>[^,:]*),(?P<hi>[^,:]*)\]\s*",
        r"\s*\[(?P<lo>[^,:]*),(?P<end>[^,:]*)\)\s*",
        r"(?P<end>[^][(),:=]+)",
    )
)


def parse_bounds(text: str) -> dict[str, Interval]:
    """Parse bounds such as ``i=0..31, -4 <= j < 4, k in range(N)``; an end may be left out.

    ``i=32`` is a size, as in a shape: 32 values from 0 on. ``i<8`` has no smallest value.

    >>> parse_bounds("i=0..31, n=1..")
    {'i': Interval(lo=0, hi=31), 'n': Interval(lo=1, hi=None)}
    >>> parse_bounds("i>=0 and i<8, d1 in [0, 7], j=32")
    {'i': Interval(lo=0, hi=7), 'd1': Interval(lo=0, hi=7), 'j': Interval(lo=0, hi=31)}
    """
    bounds: dict[str, Interval] = {}
    for part, at in _parts(text) if text.strip() else ():
        name, (lo, hi) = (_compared if _SIGN.search(part) else _listed)(part, at, text)
        before = bounds.get(name, UNBOUNDED)
        lo, hi = _one_end(before.lo, lo, max), _one_end(before.hi, hi, min)
        if isinstance(lo, int) and isinstance(hi, int) and hi < lo:
            what, fix = f"{name} has no values", "write the smaller end first"
            raise ParseError(what, f"{lo} is above {hi}", fix, text=text, position=at)
        bounds[name] = Interval(lo, hi)
    return bounds


def _one_end(before: Int | None, now: Int | None, tighter: Any) -> Int | None:
    """Return the tighter of two ends; of symbolic ones the later, since both hold."""
    if isinstance(before, int) and isinstance(now, int):
        return int(tighter(before, now))
    return before if now is None else now


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """Yield the bounds with their places: the parts between commas outside of brackets."""
    start = depth = 0
    for found in re.finditer(rf"[(\[]|[)\]]|{_AND.pattern}", text):
        depth += (found[0] in "([") - (found[0] in ")]")
        if depth <= 0 and found[0] not in "()[]":
            yield text[start : found.start()], start
            start = found.end()
    yield text[start:], start


def _compared(part: str, at: int, text: str) -> tuple[str, tuple[Int | None, Int | None]]:
    """Read ``0 <= i < 8``, ``i < 8``, ``8 > i`` or ``i == 5``."""
    sides = _SIGN.split(part)
    names = [k for k in range(0, len(sides), 2) if _NAME.fullmatch(sides[k])]
    middle = 2 if len(sides) == 5 else (names or [-1])[0]
    if len(sides) > 5 or middle not in names or not all(side.strip() for side in sides):
        raise _unclear(part, at, text)
    lo: Int | None = None
    hi: Int | None = None
    for k in {middle - 1, middle + 1} & {*range(len(sides))}:
        sign, other = sides[k], 2 * k - middle
        value = _number(sides[other], at + len("".join(sides[:other])), text)
        sign = sign if k > middle else _MIRRORED[sign]
        if sign not in ("<", "<=", "≤"):
            lo = _one_end(lo, value + (sign == ">"), max)
        if sign not in (">", ">=", "≥"):
            hi = _one_end(hi, value - (sign == "<"), min)
    return sides[middle].strip(), (lo, hi)


def _listed(part: str, at: int, text: str) -> tuple[str, tuple[Int | None, Int | None]]:
    """Read ``i=0..7``, ``i in range(8)``, ``i in [0, 8)`` or ``i=8``."""
    named = _OF_NAME.fullmatch(part)
    values = named["values"] if named else ""
    match = next((found for each in _VALUES if (found := each.fullmatch(values))), None)
    if named is None or match is None:
        raise _unclear(part, at, text)
    ends: dict[str, Any] = {"lo": None if ".." in values else 0, "hi": None}
    for side, end in match.groupdict().items():
        if end and end.strip():
            ends[side] = _number(end, at + named.start("values") + match.start(side), text)
        elif side == "end":
            raise _unclear(part, at, text)
    if "end" in ends:
        ends["hi"] = ends["end"] - 1
        if isinstance(ends["hi"], int) and ends["hi"] < 0 == ends["lo"]:
            raise _unclear(part, at, text)
    return named["name"].strip(), (ends["lo"], ends["hi"])


def _number(text: str, at: int, whole: str) -> Int:
    try:
        return parse_number(text)
    except ParseError as error:
        raise at_part(error, whole, {}, at + error.position) from None


def _unclear(part: str, at: int, text: str) -> ParseError:
    return ParseError(
        f"a bound: expected a name and its values, got {shown(part.strip())}",
        "0..7 has both ends, range(8) and a size of 8 end at 7; bounds have commas between them",
        "write i=0..7, 0<=i<8, i in range(8), or the size i=8",
        text=text,
        position=at + len(part) - len(part.lstrip()),
    )


def values_by_name(
    value: str, read: Callable[[str], Any], what: str, why: str, example: str
) -> Callable[[str], dict[str, Any]]:
    """Return the reader of names with values, each name once.

    Args:
        value: a regular expression of a value's text.
        read: what makes a value of it.
        what: what a part of the text is, for errors.
        why: what a name and its value mean, for errors.
        example: a right text, for errors.

    >>> values_by_name("[0-9]+", int, "a name and a number", "…", "M=16")("M=16, N = 8")
    {'M': 16, 'N': 8}
    """
    pattern = regex(rf"\s*([A-Za-z_]\w*)\s*=\s*({value})\s*", re.ASCII)

    def reader(text: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        at = 0
        for part in text.split(","):
            where: Any = {"text": text, "position": at + len(part) - len(part.lstrip())}
            pair = pattern.fullmatch(part)
            if pair is None:
                got = f"expected {what}, got {part.strip()[:40]!r}"
                raise ParseError(got, why, f"write for example {example}", **where)
            if pair[1] in found:
                twice = f"{pair[1]} has two values: {found[pair[1]]} and {pair[2]}"
                raise ParseError(twice, "each name has one value", "leave one of them out", **where)
            found[pair[1]] = read(pair[2])
            at += len(part) + 1
        return found

    return reader
