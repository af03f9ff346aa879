"""The text of HLO as regular expressions; their repeats never give back what they took.

A pattern knows brackets in brackets to a few levels only. What nests deeper is read by the scanner,
so no pattern decides that a text is wrong.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ARRAY",
    "ATTRIBUTE",
    "CALLED_BY",
    "COMMENT",
    "INSTRUCTION",
    "NAME",
    "NAMED_OPERANDS",
    "SPACE",
    "STATEMENT",
    "STRING",
    "TABLE_ROW",
    "TYPED_OPERAND",
    "TYPE_BEGINNING",
    "VALUE",
]

_FLAGS: Final = re.ASCII | re.DOTALL


def _nested(opening: str, closing: str, other: str, levels: int) -> str:
    """Brackets of one kind around what has no quote, around strings, and around more brackets."""
    content = f"[^{other}{opening}{closing}]++"
    if other:
        content += f"|{_STRING}"
    pattern = rf"\{opening}(?:{content})*+\{closing}"
    for _ in range(levels - 1):
        pattern = rf"\{opening}(?:{content}|{pattern})*+\{closing}"
    return pattern


_NAME: Final = r"[A-Za-z_][\w.\-]*+"
_COMMENT: Final = r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/"
_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PARENTHESES: Final = _nested("(", ")", "", 5)
_BRACES: Final = _nested("{", "}", '"', 6)
_ARRAY: Final = r"[a-z]\w*+\[[^\]\[]*+\](?:\{[^{}]*+\})?+"
_TYPE: Final = rf"(?:{_ARRAY}|(?:b\s*+)?+{_PARENTHESES})"
# Square brackets and parentheses count in a value outside of braces only, as in [2,4]<=[8]T(1,0).
_WORD: Final = r"[^\s,\"(){}\[\]]++"
_VALUE: Final = rf'(?:{_STRING}|{_BRACES}|\[[^\]"{{}}]*+\]|\([^)"{{}}]*+\)|{_WORD})++'
_ATTRIBUTE: Final = rf"\s*+,\s*+({_NAME})=\s*+({_VALUE})"
_ATTRIBUTES: Final = rf"(?:\s*+,\s*+{_NAME}=\s*+{_VALUE})*+"
_FILL: Final = rf"\s*+(?:{_COMMENT}\s*+)*+"
_OPERAND: Final = rf"{_FILL}%?+{_NAME}{_FILL}"

NAME: Final = re.compile(_NAME, _FLAGS)
COMMENT: Final = re.compile(_COMMENT, _FLAGS)
STRING: Final = re.compile(_STRING, _FLAGS)
SPACE: Final = re.compile(rf"(?:\s++|//[^\n]*+|{_COMMENT})*+", _FLAGS)
ARRAY: Final = re.compile(_ARRAY, _FLAGS)
VALUE: Final = re.compile(_VALUE, _FLAGS)
ATTRIBUTE: Final = re.compile(_ATTRIBUTE, _FLAGS)

# Where a text ends after this, the type may go on.
TYPE_BEGINNING: Final = re.compile(r"[a-z]\w*+(?:\[[^\]\[]*+(?:\](?:\{[^{}]*+)?+)?+)?+\Z", _FLAGS)

# root, name, type, opcode, what stands in the parentheses, attributes
INSTRUCTION: Final = re.compile(
    rf"\s*+(ROOT\s++)?+%?+({_NAME})\s*+=\s*+({_TYPE})\s*+([a-z][\w\-]*+)"
    rf"\(((?:[^()\"]++|{_PARENTHESES})*+)\)({_ATTRIBUTES})\s*+\Z",
    _FLAGS,
)
NAMED_OPERANDS: Final = re.compile(rf"{_OPERAND}(?:,{_OPERAND})*+", _FLAGS)
TYPED_OPERAND: Final = re.compile(rf"{_FILL}(?:({_TYPE})\s*+)?+%?+({_NAME}){_FILL}(?:,|\Z)", _FLAGS)

# Number and entry: 1 "progs.py", or 1 {file_name_id=1 line=90}
TABLE_ROW: Final = re.compile(rf"\s*+([0-9]++)\s++({_STRING}|{_BRACES})", _FLAGS)

# A line that begins a statement, hence does not go on with the one before.
STATEMENT: Final = re.compile(
    rf"\s*+(?:(?:ROOT|ENTRY|HloModule)\s|\}}|%?+{_NAME}\s++=\s|%{_NAME}(?:=|\s++\()"
    rf"|{_NAME}\s++\(.*\)\s*+->.*\{{\s*+\Z)",
    _FLAGS,
)

# The attributes whose value is a computation, or a list of computations, in XLA's order.
CALLED_BY: Final = (
    "calls",
    "to_apply",
    "body",
    "condition",
    "select",
    "scatter",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
)
