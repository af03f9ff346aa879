"""Arrays that take more than their data, and what would take less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.buffers import Buffer, anywhere
from morello_layouts.doctor.usage import Costs
from morello_layouts.errors import LayoutError
from morello_layouts.tpu import Suggestion, Waste, suggest, waste
from morello_layouts.xla import XlaShape

__all__ = ["Alternative", "Place", "WastefulArray", "alternative_to", "wasteful_arrays"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array is defined.

    Attributes:
        instruction: its name; with the positions in the tuples of its result, as in ``f.3{1}``.
        opcode: what the instruction does.
        computation: the name of the one that holds it.
        line: the line of the dump.
        op_name: the path of traced functions; None where the dump does not say.
        source: file and line of the program; None where the dump does not say.

    >>> Place("fusion.3{1}", "fusion", "main", 7, None, "model.py:90").text
    'main/fusion.3{1} (model.py:90)'
    """

    instruction: str
    opcode: str
    computation: str
    line: int
    op_name: str | None = None
    source: str | None = None

    @property
    def text(self) -> str:
        """Computation, instruction and source in a line."""
        name = f"{self.computation}/{self.instruction}" if self.computation else self.instruction
        return name if self.source is None else f"{name} ({self.source})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "instruction": self.instruction,
            "opcode": self.opcode,
            "computation": self.computation,
            "line": self.line,
            "op_name": self.op_name,
            "source": self.source,
        }

    @staticmethod
    def of(buffer: Buffer) -> Place:
        """The place of a buffer."""
        i, path = buffer.instruction, "".join(f"{{{k}}}" for k in buffer.path)
        said = i.metadata
        return Place(i.name + path, i.opcode, buffer.computation, i.line, said.op_name, said.source)


@dataclass(frozen=True, slots=True)
class Alternative:
    """What would take fewer bytes than an array does, or why nothing is named.

    Attributes:
        suggestion: the best order, folding and tile; None where none takes fewer.
        reason: why there is none, in words; empty where there is one.

    >>> from morello_layouts.notation import parse
    >>> print(alternative_to(parse("f32[8,128]{1,0:T(8,128)}"), "v5e"))
    no order, folding or tile takes fewer bytes
    """

    suggestion: Suggestion | None
    reason: str = ""

    def __str__(self) -> str:
        if self.suggestion is None:
            return self.reason
        return f"{self.suggestion.shape}: {self.suggestion.hint}"

    def to_dict(self) -> dict[str, Any] | None:
        """The fields as JSON takes them; None where there is no suggestion."""
        if self.suggestion is None:
            return None
        return {
            "layout": str(self.suggestion.shape),
            "changes": list(self.suggestion.changes),
            "reserved_bytes": self.suggestion.byte_size,
            "factor": self.suggestion.factor,
            "hint": self.suggestion.hint,
        }


def alternative_to(shape: XlaShape, generation: str) -> Alternative:
    """The best layout of an array on a generation, where that takes fewer bytes than it does.

    >>> from morello_layouts.notation import parse
    >>> print(alternative_to(parse("s32[1024,8,4]{2,1,0:T(8,128)}"), "v5e").suggestion.shape)
    s32[1024,8,4]{0,2,1:T(4,128)}
    """
    if any(shape.dynamic_dimensions):
        return Alternative(None, "nothing is suggested for sizes that change while a program runs")
    try:
        (best,) = suggest(shape.element_type, shape.shape, generation, limit=1)
        if best.byte_size < shape.byte_size:
            return Alternative(best)
    except LayoutError as error:
        return Alternative(None, f"nothing is suggested: {error.what}")
    return Alternative(None, "no order, folding or tile takes fewer bytes")


@dataclass(frozen=True, slots=True)
class WastefulArray:
    """A type and layout that pads, and where the program has it.

    Attributes:
        waste: its bytes, and why it takes them; the memory space is left out.
        spaces: the memory spaces that hold it, and how often.
        alternative: what would take fewer.
        places: where it is defined, in the order of the dump; the first ones only.
        count: how many places there are.

    >>> from morello_layouts import diagnose, read_hlo
    >>> found = diagnose(read_hlo("%a = f32[7,3,128]{2,1,0:T(8,128)} add(%b, %c)")).wasteful[0]
    >>> found.waste.factor, found.count, found.places[0].instruction
    (2.6666666666666665, 1, 'a')
    """

    waste: Waste
    spaces: tuple[tuple[int, int], ...]
    alternative: Alternative
    places: tuple[Place, ...]
    count: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "shape": str(self.waste.shape),
            "data_bytes": self.waste.data_bytes,
            "reserved_bytes": self.waste.reserved_bytes,
            "padding_bytes": self.waste.padding_bytes,
            "factor": self.waste.factor if self.waste.data_bytes else None,
            "reasons": [reason.text for reason in self.waste.reasons],
            "alternative": self.alternative.to_dict(),
            "count": self.count,
            "memory_spaces": [{"space": space, "count": n} for space, n in self.spaces],
            "places": [place.to_dict() for place in self.places],
        }


_MOST_PLACES = 8


def wasteful_arrays(
    buffers: Iterable[Buffer], costs: Costs, generation: str, top: int | None
) -> tuple[tuple[WastefulArray, ...], int]:
    """The arrays that pad most, each type and layout once, and how many of these there are."""
    by_cost: dict[int, tuple[Waste, list[Buffer]]] = {}
    for buffer in buffers:
        cost = costs.of(buffer.shape)
        if cost is not None and cost.padding_bytes > 0:
            by_cost.setdefault(id(cost), (cost, []))[1].append(buffer)
    groups: dict[XlaShape, list[Buffer]] = {}
    for cost, places in by_cost.values():
        groups.setdefault(anywhere(cost.shape), []).extend(places)
    found = [(waste(shape), places) for shape, places in groups.items()]
    found.sort(key=lambda pair: (-pair[0].padding_bytes, -len(pair[1])))
    arrays = (
        WastefulArray(
            cost,
            _spaces(places),
            alternative_to(cost.shape, generation),
            tuple(map(Place.of, sorted(places, key=_line)[:_MOST_PLACES])),
            len(places),
        )
        for cost, places in found[:top]
    )
    return tuple(arrays), len(found)


def _line(buffer: Buffer) -> int:
    return buffer.instruction.line


def _spaces(buffers: Iterable[Buffer]) -> tuple[tuple[int, int], ...]:
    layouts = (buffer.shape.layout for buffer in buffers)
    found = Counter(layout.memory_space for layout in layouts if layout is not None)
    return tuple(sorted(found.items()))
