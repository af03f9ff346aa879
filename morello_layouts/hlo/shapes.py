"""Types of a dump: each distinct text is analysed once."""

from __future__ import annotations

import re
from typing import Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.hlo.patterns import ARRAY, SPACE
from morello_layouts.hlo.scanner import Scanner
from morello_layouts.notation.xla import XlaValue, parse_xla
from morello_layouts.xla import XlaLayout, XlaShape, XlaTuple

__all__ = ["ShapeTable"]

# An array with sizes that are numbers, and a layout that has tiles, E and S at most. The grammar
# takes ten times as long over it.
_PLAIN: Final = re.compile(
    r"([a-z][a-z0-9]*+)\[([0-9,]*+)\]"
    r"\{([0-9,]*+)(?::(?:T((?:\([0-9,]++\))++))?(?:E\(([0-9]++)\))?(?:S\(([0-9]++)\))?)?\}",
    re.ASCII,
)
_LONGEST: Final = 400  # characters; what is longer is not plain
_DEEPEST: Final = 20  # tuples inside tuples; the grammar reads what nests deeper


class ShapeTable:
    """Text to shape. Values are shared: instructions of one type hold one shape.

    Attributes:
        by_text: the shapes that are known.

    >>> table = ShapeTable()
    >>> table["f32[8]{0}"] is table["f32[8]{0}"]
    True
    """

    def __init__(self) -> None:
        self.by_text: dict[str, XlaValue] = {}

    def __getitem__(self, text: str) -> XlaValue:
        """The shape that a text is.

        Raises:
            ParseError: where it is none.
        """
        known = self.by_text.get(text)
        if known is None:
            known = self._tuple(text) or _plain(text) or parse_xla(text)
            self.by_text[text] = known
        return known

    def at(self, scan: Scanner, begin: int, end: int) -> XlaValue:
        """The type between two positions, with the error, if any, at its place in the text."""
        try:
            return self[scan.text[begin:end]]
        except ParseError as error:
            scan.fail(error.what, begin + error.position, error.why, error.fix)

    def _tuple(self, text: str) -> XlaTuple | None:
        """A tuple by its elements; None where the text is no tuple, or not an easy one."""
        found = self._elements(text, 0, 0) if text[:1] == "(" else None
        return found[0] if found is not None and found[1] == len(text) else None

    def _elements(self, text: str, opening: int, depth: int) -> tuple[XlaTuple, int] | None:
        """The tuple whose parenthesis stands at a position, and where it ends.

        None where the grammar must look at it: at a buffer, at what is wrong, to say where.
        """
        shapes: list[XlaValue] = []
        position = _skip(text, opening + 1)
        if text.startswith(")", position):
            return XlaTuple(()), position + 1
        while True:
            array = ARRAY.match(text, position)
            if array is not None:
                try:
                    shapes.append(self[array[0]])
                except LayoutError:
                    return None
                end = array.end()
            elif text.startswith("(", position) and depth < _DEEPEST:
                inner = self._elements(text, position, depth + 1)
                if inner is None:
                    return None
                shapes.append(inner[0])
                end = inner[1]
            else:
                return None
            position = _skip(text, end)
            mark = text[position : position + 1]
            if mark == ")":
                return XlaTuple(tuple(shapes)), position + 1
            if mark != ",":
                return None
            position = _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    return SPACE.match(text, position).end()  # type: ignore[union-attr]


def _plain(text: str) -> XlaShape | None:
    """An array of the usual form; None where the grammar must look at the text.

    >>> print(_plain("bf16[8,1]{1,0:T(8,128)(2,1)S(1)}"), _plain("bf16[8,1]{1,0:S(1)T(8,128)}"))
    bf16[8,1]{1,0:T(8,128)(2,1)S(1)} None
    """
    match = _PLAIN.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    element_type, dims, order, tiles, bits, space = match.groups()
    try:
        layout = XlaLayout(
            _numbers(order),
            tuple(map(_numbers, tiles[1:-1].split(")("))) if tiles else (),
            element_size_in_bits=int(bits or 0),
            memory_space=int(space or 0),
        )
        return XlaShape(element_type, _numbers(dims), layout)
    except ValueError:  # LayoutError is one
        return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()
