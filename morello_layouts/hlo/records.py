"""Records such as ``{op_name="jit(f)/add" source_line=3}``, and the strings and numbers in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from morello_layouts.hlo.patterns import STRING

__all__ = ["fields_of", "number_of", "unquoted"]

_FIELD: Final = re.compile(rf'(\w+)=({STRING.pattern}|\{{[^{{}}"]*+\}}|[^\s{{}}",]++)', re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_LONGEST: Final = 18  # digits of a line or an identifier


def fields_of(text: str) -> Iterator[tuple[str, str]]:
    """Fields of a record such as ``{op_name="a" source_line=3}``."""
    return ((match[1], match[2]) for match in _FIELD.finditer(text))


def number_of(text: str | None) -> int | None:
    """The number that a text is; None where it is none, or too large to be a line or a row."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > _LONGEST:
        return None
    return int(text)


def unquoted(text: str) -> str:
    r"""What a string stands for; bytes written as escapes are UTF-8.

    >>> unquoted(r'"a \"b\" \303\274"')
    'a "b" ü'
    """
    inner = text[1:-1] if text[:1] == '"' else text
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_byte, inner.encode("utf-8", "replace")).decode("utf-8", "replace")


def _byte(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, other = match.groups()
    if octal:
        return bytes([int(octal, 8) & 255])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    return _LETTERS.get(other, other)
