"""What the arrays of a program take, in sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from morello_layouts.doctor.amounts import space_name
from morello_layouts.doctor.buffers import Buffer, anywhere
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.hlo import HloModule
from morello_layouts.notation.xla import XlaValue
from morello_layouts.tpu import Waste, waste
from morello_layouts.words import arrays_of
from morello_layouts.xla import XlaShape

__all__ = [
    "Bytes",
    "Costs",
    "LayoutUse",
    "SpaceUse",
    "Totals",
    "entry_arrays",
    "layout_uses",
    "totals_of",
]


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

    >>> from morello_layouts.notation import parse
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
