"""Statements on several lines: which lines belong to them.

An instruction goes on where a bracket or a string is open, or a part is missing. A line that begins
a statement ends it all the same, so that one bracket too many does not swallow a dump.
"""

from __future__ import annotations

import re
from typing import Final

from morello_layouts.hlo.patterns import STATEMENT
from morello_layouts.hlo.scanner import Incomplete, Scanner
from morello_layouts.hlo.source import Lines

__all__ = ["depth_of", "join"]

_BRACKET: Final = re.compile(r"[][(){}]")
_OPENING: Final = "([{"
_MOST: Final = 200  # times that a statement grows because it is incomplete


def join(scan: Scanner, stop: Incomplete, lines: Lines, joins: int) -> None:
    """Append to a text the lines that go on with it: more than one where brackets are open.

    Args:
        scan: the text, which is not at its end.
        stop: why it is incomplete.
        lines: what follows it, one line at least.
        joins: how often lines were appended to this statement.

    Raises:
        ParseError: where the next line cannot go on with it.
    """
    text = scan.text.rstrip()
    # After these any line may come: a computation inside an attribute, a name.
    takes_all = text[-1:] == "{" or text.endswith(("ROOT", "ENTRY"))
    if joins > _MOST or not (takes_all or _goes_on(lines.peek())):
        scan.fail(f"{stop.what} before line {lines.number + 1}", stop.position)
    parts = [scan.text]
    depth = depth_of(scan.text[stop.position :])
    for part in lines:
        parts.append(part)
        depth += depth_of(part)
        is_open = depth > 0 or part.rstrip()[-1:] == ","
        if not is_open or not (takes_all or _goes_on(lines.peek())):
            break
    scan.text = "".join(parts)


def _goes_on(line: str | None) -> bool:
    """Whether a line may be the rest of a statement; where there is none, nobody knows."""
    return line is None or STATEMENT.match(line) is None


def depth_of(text: str) -> int:
    """How many more brackets open in a text than close.

    >>> depth_of("add(%a, {1, 2}"), depth_of("})")
    (1, -2)
    """
    return sum(1 if mark in _OPENING else -1 for mark in _BRACKET.findall(text))
