"""One allocation of an out-of-memory report, explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.amounts import bytes_of_text
from morello_layouts.doctor.wasteful import Alternative
from morello_layouts.notation.xla import XlaValue
from morello_layouts.tpu import Waste

__all__ = ["Difference", "OomAllocation"]


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
