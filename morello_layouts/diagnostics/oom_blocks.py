"""Read the allocations that out-of-memory reports list, as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from morello_layouts.description import amount
from morello_layouts.limits import OOM_VALUE

_KEYS: Final = {
    "Size": "size",
    "Operator": "operator",
    "Shape": "shape",
    "Entry Parameter Subshape": "shape",
    "Unpadded size": "unpadded",
    "Extra memory due to padding": "padding",
    "XLA label": "label",
    "XLA Label": "label",
    "Allocation type": "kind",
}

# The first key of a line; the first key of a block has a number before it.
_LINE: Final = re.compile(
    rf"(?:^|(?<=\s))(?:([0-9]{{1,9}})\\?\.\s{{1,9}})?({'|'.join(_KEYS)}): ?(.*)", re.ASCII
)
_NUMBER: Final = re.compile(r"(?:^|\s)Buffer ([0-9]{1,9}):\s*$", re.ASCII)
_END: Final = re.compile(r"={10}")
_ESCAPED: Final = re.compile(r"\\n(?=\s*(?:[0-9]{1,9}\. )?(?:" + "|".join([*_KEYS, "=="]) + "))")
_HEADER: Final = re.compile(
    r"[Rr]an out of memory in memory space ([A-Za-z_]{1,20})"
    r"(?:\W{1,9}Used ([0-9.]{1,12}[KMGTPE]?B?) of ([0-9.]{1,12}[KMGTPE]?B?))?",
    re.ASCII,
)
# Colours as a terminal reads them, and as Python or JSON write them in a string.
_COLOUR: Final = re.compile(r"(?:\x1b|\\x1b|\\u001b)\[[0-9;]{0,30}[A-Za-z]")


@dataclass(slots=True)
class Block:
    """An allocation as it is written: its number, and its values by the names in ``_KEYS``.

    The compiler chose its layout, unless it is scratch, whose shape the user gives.
    """

    number: int
    line: int
    values: dict[str, str] = field(default_factory=dict)
    is_chosen: bool = True

    @property
    def is_stored(self) -> bool:
        """Whether it is an argument or output of the program, not a value inside of it."""
        kind = self.values.get("kind", "").lower()
        return "temp" not in kind and "output of" not in kind


def without_colours(text: str) -> str:
    r"""Return the text without a terminal's colours.

    >>> without_colours("\x1b[1mSize:\x1b[0m 4.00G")
    'Size: 4.00G'
    """
    return _COLOUR.sub("", text)


def header_of(text: str) -> tuple[str | None, str | None, str | None]:
    """Return a memory space, its used bytes and its capacity; None for what the text leaves out.

    >>> header_of("Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm.")
    ('hbm', '41.74G', '16.00G')
    """
    match = _HEADER.search(text)
    return (None, None, None) if match is None else (match[1], match[2], match[3])


def blocks_of(text: str) -> Iterator[Block]:
    r"""Return the allocations of a report, in the order of the text.

    >>> for block in blocks_of("E1 log.cc:7]   1. Size: 6.00G\nE1 log.cc:7]      Shape: u32[9,1]"):
    ...     print(block.number, block.values)
    1 {'size': '6.00G', 'shape': 'u32[9,1]'}
    """
    block: Block | None = None
    number = 0
    for at, line in enumerate(_lines(text), 1):
        match = _LINE.search(line)
        if match is None:
            counted = _NUMBER.search(line)
            number = number if counted is None else int(counted[1]) - 1
            if _END.search(line):
                if block is not None:
                    yield block
                block = None
            elif block is not None:
                _continue(block, line)
            continue
        name, value = _KEYS[match[2]], match[3].strip()[:OOM_VALUE]
        if name == "size":
            if block is not None:
                yield block
            number = int(match[1]) if match[1] else number + 1
            block = Block(number, at)
        if block is not None and name not in block.values:
            block.values[name] = value
    if block is not None:
        yield block


def _lines(text: str) -> Iterator[str]:
    r"""Return the lines, also of a report on one line with newlines and quotes escaped."""
    for line in text.splitlines():
        if "\\n" in line:
            is_quoted = '=\\"' in line
            parts = _ESCAPED.split(line)
            yield from (part.replace('\\"', '"') for part in parts) if is_quoted else parts
        else:
            yield line


def _continue(block: Block, line: str) -> None:
    """Append a line to a type that is broken over several lines."""
    shape = block.values.get("shape", "")
    if block.values and next(reversed(block.values)) == "shape":
        brackets = sum(map(shape.count, "([{")) - sum(map(shape.count, ")]}"))
        if brackets > 0 and len(shape) < OOM_VALUE:
            block.values["shape"] = shape + line.strip()


_UNITS: Final = "KMGTPE"


def xla_size(n: int) -> str:
    """Return a number of bytes as XLA's out-of-memory reports write it, with their rounding.

    >>> xla_size(0), xla_size(12288), xla_size(6392119296)
    ('0B', '12.0K', '5.95G')
    """
    if n < 1024:
        return f"{n}B"
    unit = 0
    while n >= 1 << 20 and unit + 1 < len(_UNITS):
        n, unit = n >> 10, unit + 1
    if n >= 1 << 100:
        return f"{amount(n >> 10)}{_UNITS[unit]}"
    return f"{n / 1024:.{2 if unit else 1}f}{_UNITS[unit]}"
