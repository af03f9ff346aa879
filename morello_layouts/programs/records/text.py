"""The text of a record: what it is called, the size of a block, and a line for each field.

    q5_0[B]: 22 bytes {
      d: f16 at byte 0
      qs: u5[32] .0:4 at byte 6 as "(2 16) -> 16 2", .4:5 at byte 2
      value[k:32] = d*(qs[k] - 16)
    }

``record`` says what the parts of a place mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from morello_layouts.core.checks import shown
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.layout import Layout
from morello_layouts.core.limits import RECORD_TEXT
from morello_layouts.errors import LayoutError
from morello_layouts.notations import parse
from morello_layouts.notations.expression import parse_number
from morello_layouts.notations.grammar import END, NAME, Syntax, Terminal
from morello_layouts.notations.text import Rule, field, made, many, row, word
from morello_layouts.programs.records.block import Block, BlockValue, Field, Piece

_NUMBER: Final = r"\w+(?:\s*[-+*]\s*\w+)*"


def _matched(words: str, pattern: str, value: Callable[..., Any], write: Any = str) -> Rule:
    """Return the rule of a token, whose value is a function of the groups of its pattern."""

    def read(token: str, _: str) -> Any:
        match = re.fullmatch(pattern, token)
        return value(*match.groups()) if match else None

    return word(Terminal(words, pattern), read, write)


def _place(unit: str, number: str) -> Int:
    return parse_number(number) * (8 if unit == "byte" else 1)


def _layout(text: str) -> Layout:
    found = parse(text)
    if not isinstance(found, Layout):
        raise LayoutError(
            f"the layout of a field: expected one array, got {shown(text)}",
            "a piece of a field is one array",
            'write one layout, such as as "[1, 0]"',
        )
    return found


_SIZE: Final = _matched("a size", rf"({_NUMBER})", parse_number)
_RANGE: Final = _matched(
    "a range such as 0:4",
    rf"({_NUMBER})\s*:\s*({_NUMBER})",
    lambda lo, hi: (parse_number(lo), parse_number(hi)),
    lambda ends: "{}:{}".format(*ends),
)
_PIECE: Final = made(
    Piece,
    field("box", "[", many(_RANGE, ",", "]", least=1), default=()),
    field("bits", _matched("bits such as .0:4", r"\.([0-9]{1,3}):([0-9]{1,3})",
                           lambda lo, hi: (int(lo), int(hi))), default=None),
    field("at", _matched("a place such as at byte 4", rf"at\s+(byte|bit)\s+({_NUMBER})", _place)),
    field("unit", _matched("a unit such as by 8", rf"by\s+({_NUMBER})", parse_number),
          default=None),
    field("layout", _matched('a layout such as as "[1, 0]"', r'as\s+"([^"\n]*)"', _layout),
          default=None),
)  # fmt: skip
_FIELD: Final = made(
    Field,
    field("name", word(Terminal("the name of a field", r"(?!value\s*\[)[A-Za-z_]\w*"))),
    ":",
    field("type", word(NAME)),
    field("is_big_endian", _matched("be", r"(be)\b", lambda _: True), default=False),
    field("shape", Terminal("sizes such as [32]", r"\[(?!\s*\w+\s*:)"), many(_SIZE, ",", "]"),
          default=()),
    field("pieces", many(_PIECE, ",", least=1)),
    field("", word(";"), default=None),
)  # fmt: skip
_VALUE: Final = made(
    BlockValue,
    Terminal("a formula such as value[k:32] = …", r"value\s*\["),
    field("index", many(_matched("an index such as k:32", rf"([a-z]\w*)\s*:\s*({_NUMBER})",
                                 lambda name, n: (name, parse_number(n))), ",", "]", least=1)),
    "=",
    field("formula", _matched("a formula", r"([^;}\n]+)", str.strip)),
    field("", word(";"), default=None),
)  # fmt: skip
_SYNTAX: Final = Syntax(
    "a record is its name, the size of a block, and fields: a name, a type, and a place",
    "write for example pair[B]: 2 bytes { a: u4[2] at byte 0; b: u8 at byte 1 }",
    longest=RECORD_TEXT,
)
_BLOCKS: Final = row("[", many(_SIZE, ",", "]"))
_RECORD: Final = made(
    lambda name="", **more: Block(name, **more),  # a text may begin with the colon
    field("name", word(Terminal("a name", r"[A-Za-z_][\w.]*")), default=""),
    field("blocks", "[", many(_SIZE, ",", "]"), default=()),
    ":",
    field("size", _matched("the size of a block such as 18 bytes", rf"({_NUMBER})\s+(byte|bit)s",
                           lambda number, unit: _place(unit, number)), default=None),
    "{",
    field("fields", many(_FIELD)),
    field("value", _VALUE, default=None),
    "}",
    END,
)  # fmt: skip


def parse_record(text: str) -> Block:
    """Parse the text of a record.

    Raises:
        ParseError: with a caret at what does not fit.

    >>> parse_record("r: 1 bytes { a: u4 at bit 0; b: u4 at bit 4 }").bits
    8
    >>> parse_record("r: 1 bytes { a: u9[2] .0:4 at bit 0 }")
    Traceback (most recent call last):
    morello_layouts.errors.ParseError: a: expected places for 18 bits, got places for 8
      r: 1 bytes { a: u9[2] .0:4 at bit 0 }
                            ^
    the pieces together hold each bit of each element
    write a piece for the numbers left out
    """
    found: Block = _RECORD.parse(text, _SYNTAX)
    return found


def parse_blocks(text: str) -> tuple[Int, ...]:
    """Parse how many blocks a record has, such as ``[B, 4]``."""
    found: tuple[Int, ...] = _BLOCKS.parse(text, _SYNTAX)
    return found
