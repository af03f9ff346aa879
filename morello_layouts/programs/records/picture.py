"""A picture of a block: its bits in rows of bytes, the highest bit of a byte left."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import cycle
from string import ascii_lowercase
from typing import Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import RECORD_PICTURE
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.picture import Picture
from morello_layouts.outputs.picture.panel import Panel
from morello_layouts.programs.records.block import Block
from morello_layouts.programs.records.values import bytes_of_block, places

# The categorical colours of Okabe and Ito, which most people can tell apart.
_COLOURS: Final = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2")
_BIT, _HIGH, _ROW = 9, 22, 16  # width of a bit, height of a row, bytes in a row


@frozen(slots=False)
class RecordPicture(Picture):
    """The bits of a block of a record, a colour a field.

    In a terminal each field has a letter, which is large in every other number.

    >>> from morello_layouts import draw
    >>> print(draw("r: 2 bytes { a: u4[3] at byte 0; b: u2 at bit 12 }"))
    r: 2 bytes, bit 7 of a byte is left
       0 AAAAaaaa ··bbaaaa
    a: a, b: b, ·: unused
    """

    panels: tuple[Panel, ...]  #: none: a record has no grid of offsets.
    record: Block  #: the record.

    def svg(self) -> str:
        """Return the picture as an SVG document: a colour a field, hatched where unused."""
        return svg(self.record)

    def html(self) -> str:
        """Return the picture as a page."""
        title = escape(self.record.name)
        return f'<!DOCTYPE html>\n<meta charset="utf-8"><title>{title}</title>\n{self.svg()}\n'

    def text(self, width: int = 100) -> str:
        """Return the picture for a terminal of a width."""
        return "\n".join(_lines(self.record, max(1, (width - 5) // 9)))

    def __repr__(self) -> str:
        return f"<Picture of {self.record.name or 'a record'}>"


def _lines(record: Block, most: int) -> Iterator[str]:
    every = owners(record)
    name = record.name or "a record"
    yield f"{name}: {len(every) // 8} bytes, bit 7 of a byte is left"
    letters = dict(zip((one.name for one in record.fields), cycle(ascii_lowercase), strict=False))
    shown, is_large = list[str](), False
    for before, owner in zip([None, *every], every, strict=False):
        is_same_field = owner is not None and before is not None and owner[0] == before[0]
        is_large = is_same_field and is_large ^ (owner != before)
        letter = letters[owner[0]] if owner else "·"
        shown.append(letter.upper() if is_large else letter)
    row = 1 << min(4, most.bit_length() - 1)
    for start in range(0, len(every) // 8, row):
        numbers = range(start, min(start + row, len(every) // 8))
        yield f"{start:4} {' '.join(''.join(shown[8 * k : 8 * k + 8][::-1]) for k in numbers)}"
    legend = [f"{letter}: {field}" for field, letter in letters.items()]
    yield ", ".join([*legend, *(["·: unused"] if None in every else [])])


def owners(record: Block) -> list[tuple[str, str] | None]:
    """Return for each bit of a block the field and the element that it belongs to.

    >>> from morello_layouts import record
    >>> owners(record("r: 1 bytes { a: u4[1] at bit 0; b: u2 at bit 4 }"))[3:7]
    [('a', 'a[0]'), ('b', 'b'), ('b', 'b'), None]
    """
    size = bytes_of_block(record)
    if size > RECORD_PICTURE:
        raise UnsupportedError(
            f"a picture: expected at most {RECORD_PICTURE} bytes a block, got {size}",
            "a page shows each bit",
            "draw a record of one of its parts",
        )
    found: list[tuple[str, str] | None] = [None] * (8 * size)
    for one in record.fields:
        where = places(record, one.name)
        for at, bit in np.ndenumerate(where):
            if 0 <= bit < len(found):
                index = ",".join(map(str, at[:-1]))
                found[int(bit)] = one.name, f"{one.name}[{index}]" if index else one.name
    return found


def svg(record: Block) -> str:
    """Return the picture of a block as an SVG document.

    Raises:
        UnsupportedError: if a block has more bytes than a page shows, or a size that is a name.
    """
    every = owners(record)
    size = len(every) // 8
    rows = -(-size // _ROW)
    width, height = 60 + _ROW * (8 * _BIT + 6), 64 + rows * (_HIGH + 14)
    colours = {one.name: _COLOURS[k % len(_COLOURS)] for k, one in enumerate(record.fields)}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
        'font-family="sans-serif" font-size="9">',
        f"<title>{escape(str(record))}</title>",
        '<defs><pattern id="unused" width="6" height="6" patternUnits="userSpaceOnUse">',
        '<path d="M0,6 6,0" stroke="#888"/></pattern></defs>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="16" font-size="13">{escape(record.name)}: {size} bytes,',
        "bit 7 of a byte is left</text>",
    ]
    x = 8
    for name, colour in colours.items():
        lines.append(f'<rect x="{x}" y="26" width="12" height="12" fill="{colour}"/>'
                     f'<text x="{x + 16}" y="36" font-size="11">{escape(name)}</text>')  # fmt: skip
        x += 34 + 7 * len(name)
    for byte in range(size):
        lines += _byte(byte, every[8 * byte : 8 * byte + 8], colours)
    return "\n".join([*lines, "</svg>"])


def _byte(byte: int, bits: list[tuple[str, str] | None], colours: dict[str, str]) -> Iterator[str]:
    """Yield a byte: a box for each run of bits of one element."""
    x = 50 + byte % _ROW * (8 * _BIT + 6)
    y = 60 + byte // _ROW * (_HIGH + 14)
    if byte % _ROW == 0:
        yield f'<text x="8" y="{y + 15}" font-size="11">{byte}</text>'
    start = 0
    for bit in range(1, 9):
        if bit == 8 or bits[bit] != bits[start]:
            owner, left, wide = bits[start], x + (8 - bit) * _BIT, (bit - start) * _BIT
            fill = colours[owner[0]] if owner else "url(#unused)"
            name = owner[1] if owner else "unused"
            yield (f'<g><title>byte {byte}, bits {start} to {bit - 1}: {escape(name)}</title>'
                   f'<rect x="{left}" y="{y}" width="{wide}" height="{_HIGH}" fill="{fill}" '
                   'stroke="#333" stroke-width="0.6"/>')  # fmt: skip
            label = name.partition("[")[2].rstrip("]") if "[" in name else name
            if owner and 5 * len(label) <= wide:
                yield (f'<text x="{left + wide / 2}" y="{y + 14}" text-anchor="middle" '
                       f'font-size="8.5">{escape(label)}</text>')  # fmt: skip
            yield "</g>"
            start = bit
