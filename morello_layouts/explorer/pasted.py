"""What people copy along with a layout: quotes, a comma, the fields of an out-of-memory message."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["unwrapped"]

_QUOTED: Final = re.compile(r"\s*([\"'`])(.*)\1[\s,;]*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"(?<=[\]})])[ \t]*[,;]\s*$")
# In such a message the shape is one field of several; a page's field joins their lines.
_FIELDS: Final = r"Size|Operator|Shape|Unpadded size|Extra memory|XLA label|Allocation type|===="
_SHAPE: Final = re.compile(
    rf"[^=]*?\b(?:Shape|XLA label):\s*+(.*?)\s*(?:\b(?:{_FIELDS})\b.*)?", re.DOTALL
)
_MESSAGE: Final = re.compile(rf"\s*(?:[0-9]+\.\s*)?(?:{_FIELDS})\b[\w ]*:")
_OPERATOR: Final = re.compile(r'Operator:\s*(?:op_name="[^"]*")?')


def unwrapped(text: str) -> str:
    """The layout, or the instruction, in a text that was copied with what stood around it.

    >>> unwrapped("Shape: f32[2,128]{1,0:T(8,128)} Unpadded size: 1.0K")
    'f32[2,128]{1,0:T(8,128)}'
    >>> unwrapped("'f32[3,5]',"), unwrapped("f32[3,5]{1,0},"), unwrapped("f32[3,")
    ('f32[3,5]', 'f32[3,5]{1,0}', 'f32[3,')
    """
    if quoted := _QUOTED.fullmatch(text):
        text = quoted[2]
    if _MESSAGE.match(text):
        found = _SHAPE.fullmatch(_OPERATOR.sub("", text))
        text = text if found is None else found[1]
    return _SEPARATOR.sub("", text)
