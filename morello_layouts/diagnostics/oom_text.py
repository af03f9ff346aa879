"""Read the text of out-of-memory reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from morello_layouts.diagnostics.buffers import bytes_of_text
from morello_layouts.diagnostics.usage import Alternative
from morello_layouts.notations.xla.reader import XlaValue
from morello_layouts.tpu import Waste


@dataclass(frozen=True, slots=True)
class Difference:
    """A number of the report that is not what the layout gives.

    Attributes:
        field: the report's name of the number.
        reported: as the report writes it.
        computed: from the layout.

    >>> str(Difference("Size", "8.00G", "128.00M"))
    'Size: the report says 8.00G, the layout gives 128.00M'
    """

    field: str
    reported: str
    computed: str

    def __str__(self) -> str:
        return f"{self.field}: the report says {self.reported}, the layout gives {self.computed}"

    def to_dict(self) -> dict[str, str]:
        """The fields as JSON takes them."""
        return {"field": self.field, "reported": self.reported, "computed": self.computed}


@dataclass(frozen=True, slots=True)
class OomAllocation:
    r"""One allocation of a report.

    Attributes:
        number: as the report counts.
        line: of the text, from 1.
        reported: its values as written: some of size, shape, unpadded, padding, operator, label,
            kind.
        shape: the array or tuple that it is for; None where the report says none, or it cannot be
            read.
        wastes: bytes and reasons for each array of it.
        assumed_tiles: whether the report leaves the tiles out, and they were found by its size.
        differences: where its numbers are not ours.
        alternative: what would take fewer bytes; None for a tuple, and where
            nothing is padded.
        instruction: the instruction's name; None where it does not say.
        source: file and line; None where it does not say.
        note: why nothing is explained; empty where it is.

    >>> from morello_layouts import read_oom
    >>> text = "1. Size: 4.0K\n Shape: f32[2,128]{1,0:T(8,128)}\n Unpadded size: 1.0K"
    >>> (found,) = read_oom(text).allocations
    >>> found.wastes[0].factor, found.differences
    (4.0, ())
    """

    number: int
    line: int
    reported: dict[str, str]
    shape: XlaValue | None
    wastes: tuple[Waste, ...]
    assumed_tiles: bool
    differences: tuple[Difference, ...]
    alternative: Alternative | None
    instruction: str | None
    source: str | None
    note: str = ""

    @property
    def reserved_bytes(self) -> int | None:
        """Bytes by the layout; None where it is not known."""
        return sum(w.reserved_bytes for w in self.wastes) if self.wastes else None

    @property
    def data_bytes(self) -> int | None:
        """Bytes of the elements alone."""
        return sum(w.data_bytes for w in self.wastes) if self.wastes else None

    @property
    def reported_bytes(self) -> int | None:
        """What the report says, to its precision."""
        return bytes_of_text(self.reported.get("size", ""))

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them; null for what is not known."""
        names = ("size", "shape", "unpadded", "padding", "operator", "label", "kind")
        return {
            "number": self.number,
            "line": self.line,
            "reported": {name: self.reported.get(name) for name in names},
            "shape": None if self.shape is None else str(self.shape),
            "assumed_tiles": self.assumed_tiles,
            "data_bytes": self.data_bytes,
            "reserved_bytes": self.reserved_bytes,
            "agrees": not self.differences if self.wastes else None,
            "differences": [each.to_dict() for each in self.differences],
            "reasons": [reason.text for w in self.wastes for reason in w.reasons],
            "alternative": None if self.alternative is None else self.alternative.to_dict(),
            "instruction": self.instruction,
            "source": self.source,
            "note": self.note,
        }


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

# The first key of a line; a number stands before the first of a block.
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
# Colours, as a terminal takes them, and as Python or JSON write them in a string.
_COLOUR: Final = re.compile(r"(?:\x1b|\\x1b|\\u001b)\[[0-9;]{0,30}[A-Za-z]")
_LONGEST: Final = 1 << 16  # characters of a value that are kept


@dataclass(slots=True)
class Block:
    """An allocation as it is written: its number, and the values by the names of ``_KEYS``."""

    number: int
    line: int
    values: dict[str, str] = field(default_factory=dict)


def without_colours(text: str) -> str:
    r"""The text without a terminal's colours.

    >>> without_colours("\x1b[1mSize:\x1b[0m 4.00G")
    'Size: 4.00G'
    """
    return _COLOUR.sub("", text)


def header_of(text: str) -> tuple[str | None, str | None, str | None]:
    """The memory space, what was used of it, and what it holds; None for what is not said.

    >>> header_of("Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm.")
    ('hbm', '41.74G', '16.00G')
    """
    match = _HEADER.search(text)
    return (None, None, None) if match is None else (match[1], match[2], match[3])


def blocks_of(text: str) -> Iterator[Block]:
    r"""The allocations of a report, in the order of the text.

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
        name, value = _KEYS[match[2]], match[3].strip()[:_LONGEST]
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
    r"""The lines; a text that a log has on one line with ``\n`` in it too, quotes as ``\"``."""
    for line in text.splitlines():
        if "\\n" in line:
            is_quoted = '=\\"' in line
            parts = _ESCAPED.split(line)
            yield from (part.replace('\\"', '"') for part in parts) if is_quoted else parts
        else:
            yield line


def _continue(block: Block, line: str) -> None:
    """Append a line to a type that is broken over several."""
    shape = block.values.get("shape", "")
    if block.values and next(reversed(block.values)) == "shape":
        brackets = sum(map(shape.count, "([{")) - sum(map(shape.count, ")]}"))
        if brackets > 0 and len(shape) < _LONGEST:
            block.values["shape"] = shape + line.strip()
