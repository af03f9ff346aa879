"""Which arrays take the most memory, and what would take less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from morello_layouts.diagnostics.buffers import Buffer, anywhere, space_name
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.explanations.explanation import arrays_of
from morello_layouts.hlo import HloModule
from morello_layouts.notations.xla import XlaShape
from morello_layouts.notations.xla.reader import XlaValue
from morello_layouts.tpu import Suggestion, Waste, suggest, waste


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of some arrays.

    Attributes:
        arrays: how many there are.
        data_bytes: of their elements.
        reserved_bytes: of their buffers.

    >>> (Bytes(1, 60, 96) + Bytes(1, 4, 512)).padding_bytes
    544
    """

    arrays: int = 0
    data_bytes: int = 0
    reserved_bytes: int = 0

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(
            self.arrays + other.arrays,
            self.data_bytes + other.data_bytes,
            self.reserved_bytes + other.reserved_bytes,
        )

    @property
    def padding_bytes(self) -> int:
        """Bytes that hold no data."""
        return self.reserved_bytes - self.data_bytes

    @property
    def factor(self) -> float:
        """Bytes reserved over bytes of data; 1 where there are none."""
        return self.reserved_bytes / self.data_bytes if self.data_bytes else 1.0

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "arrays": self.arrays,
            "data_bytes": self.data_bytes,
            "reserved_bytes": self.reserved_bytes,
            "padding_bytes": self.padding_bytes,
            "factor": self.factor,
        }


class Costs:
    """What each array costs; of equal arrays the first is analysed, once.

    >>> from morello_layouts.notations import parse
    >>> costs = Costs()
    >>> costs.of(parse("f32[3,5]{1,0:T(2,2)}")).reserved_bytes, costs.of(parse("token[]"))
    (96, None)
    """

    def __init__(self) -> None:
        self._by_shape: dict[XlaShape, Waste | None] = {}
        self._by_id: dict[int, tuple[XlaShape, Waste | None]] = {}

    def __len__(self) -> int:
        return len(self._by_shape)

    def of(self, shape: XlaShape) -> Waste | None:
        """The bytes of an array; None where its sizes are no numbers, or it is none."""
        known = self._by_id.get(id(shape))  # a dump shares the shapes of its instructions
        if known is None:
            if shape not in self._by_shape:
                self._by_shape[shape] = _cost(shape)
            known = self._by_id[id(shape)] = (shape, self._by_shape[shape])
        return known[1]

    def bytes_of(self, shape: XlaShape) -> Bytes:
        """The same as a sum of one array; of nothing where it has no bytes."""
        cost = self.of(shape)
        return Bytes() if cost is None else Bytes(1, cost.data_bytes, cost.reserved_bytes)

    def sum_of(self, shapes: Iterable[XlaShape]) -> Bytes:
        """The bytes of some arrays together."""
        return sum(map(self.bytes_of, shapes), Bytes())


def _cost(shape: XlaShape) -> Waste | None:
    try:
        return waste(shape)
    except UnsupportedError:
        return None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a program.

    Attributes:
        instructions: how many there are, those in fusions too.
        computations: likewise.
        fused_computations: of these, whose values are never stored.
        parameters: the arrays that the program is given.
        outputs: the arrays that it gives.
        results: the arrays that instructions write, where not in a fusion.

    >>> Totals(1, 1, 0, Bytes(), Bytes(), Bytes(1, 60, 96)).to_dict()["results"]["factor"]
    1.6
    """

    instructions: int
    computations: int
    fused_computations: int
    parameters: Bytes
    outputs: Bytes
    results: Bytes

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "instructions": self.instructions,
            "computations": self.computations,
            "fused_computations": self.fused_computations,
            "parameters": self.parameters.to_dict(),
            "outputs": self.outputs.to_dict(),
            "results": self.results.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class LayoutUse:
    """A layout and the arrays that have it, whatever their memory space.

    Attributes:
        layout: its text.
        bytes: of the arrays that have it.

    >>> LayoutUse("{1,0:T(2,2)}", Bytes(1, 60, 96)).to_dict()["layout"]
    '{1,0:T(2,2)}'
    """

    layout: str
    bytes: Bytes

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {"layout": self.layout, **self.bytes.to_dict()}


@dataclass(frozen=True, slots=True)
class SpaceUse:
    """A memory space and the arrays in it.

    Attributes:
        space: the number of the memory space.
        bytes: of the arrays in it.

    >>> SpaceUse(1, Bytes(1, 60, 96)).name
    'VMEM'
    """

    space: int
    bytes: Bytes

    @property
    def name(self) -> str:
        """What it is called."""
        return space_name(self.space)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {"space": self.space, "name": self.name, **self.bytes.to_dict()}


def layout_uses(
    buffers: Iterable[Buffer], costs: Costs
) -> tuple[tuple[LayoutUse, ...], tuple[SpaceUse, ...]]:
    """Arrays by layout and by memory space, the most bytes first."""
    by_shape: dict[XlaShape, Bytes] = {}
    for buffer in buffers:
        known = by_shape.get(buffer.shape, Bytes())
        by_shape[buffer.shape] = known + costs.bytes_of(buffer.shape)
    layouts: dict[str, Bytes] = {}
    spaces: dict[int, Bytes] = {}
    for shape, size in by_shape.items():
        if shape.layout is None or not size.arrays:
            continue
        text = str(anywhere(shape).layout)
        layouts[text] = layouts.get(text, Bytes()) + size
        space = shape.layout.memory_space
        spaces[space] = spaces.get(space, Bytes()) + size
    return (
        tuple(LayoutUse(text, layouts[text]) for text in sorted(layouts, key=_most(layouts))),
        tuple(SpaceUse(space, spaces[space]) for space in sorted(spaces)),
    )


def _most(found: dict[str, Bytes]) -> Any:
    return lambda text: (-found[text].reserved_bytes, -found[text].arrays, text)


def totals_of(
    module: HloModule, fused_computations: int, buffers: Iterable[Buffer], costs: Costs
) -> Totals:
    """The sums over a program."""
    parameters, outputs = entry_arrays(module)
    return Totals(
        len(module),
        len(module.computations),
        fused_computations,
        costs.sum_of(parameters),
        costs.sum_of(outputs),
        costs.sum_of(buffer.shape for buffer in buffers if not buffer.is_parameter),
    )


def entry_arrays(module: HloModule) -> tuple[tuple[XlaShape, ...], tuple[XlaShape, ...]]:
    """What the program is given and what it gives, by the header or else by its entry."""
    parameters: Iterable[XlaValue] = ()
    outputs: Iterable[XlaValue] = ()
    shape = module.entry_computation_layout
    if shape is not None:
        parameters, outputs = shape.parameters, (shape.result,)
    else:
        try:
            entry = module.entry
            parameters = [i.shape for i in entry.instructions if i.opcode == "parameter"]
            outputs = (entry.root.shape,)
        except LayoutError:  # a part of a dump
            return (), ()
    return _arrays(parameters), _arrays(outputs)


def _arrays(values: Iterable[XlaValue]) -> tuple[XlaShape, ...]:
    return tuple(array for value in values for _, array in arrays_of(value))


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

    >>> from morello_layouts.notations import parse
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

    >>> from morello_layouts.notations import parse
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
