"""The buffers of a program, and the bytes that they take."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple, TypeVar

from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import VERDICTS_KEPT
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.machines.tpu_layouts import Waste, buffer_waste, waste
from morello_layouts.notations.xla import XlaLayout, XlaShape, XlaTuple, XlaValue
from morello_layouts.programs.hlo import HloComputation, HloInstruction, HloModule
from morello_layouts.programs.hlo.module import number_of
from morello_layouts.programs.hlo.scanner import CALLED_BY

K = TypeVar("K", bound=Hashable)

_SPACES: Final = {0: "HBM", 1: "VMEM", 2: "SMEM", 4: "sync flags", 5: "host"}

# Opcodes whose computations have buffers of their own and return them. A fusion, a reduction or a
# sort computes values that are never stored; an asynchronous start writes its own result.
_CALLERS_WITH_BUFFERS: Final = frozenset({"while", "conditional", "call"})

_CALLS: Final = tuple(f"{attribute}=" for attribute in CALLED_BY)

# Opcodes whose results only name the bytes of other buffers.
_ALIASES: Final = _CALLERS_WITH_BUFFERS | {
    *("tuple", "get-tuple-element", "bitcast", "after-all", "add-dependency", "domain"),
    *("opt-barrier", "optimization-barrier"),
}

# Position of the operand that the tuple of an asynchronous start repeats.
_OPERAND_OF_START: Final = {
    "copy-start": 1,
    "async-start": 0,
    "all-gather-start": 0,
    "collective-permute-start": 0,
    "send": 0,
}


def space_name(space: int) -> str:
    """Return the name of a memory space of a TPU."""
    return _SPACES.get(space, f"memory space {space}")


@lru_cache(VERDICTS_KEPT)
def without_memory_space(x: XlaShape) -> XlaShape:
    """Return the array without its memory space, which does not change the order of its bytes."""
    if x.layout is None or not x.layout.memory_space:
        return x
    return replace(x, layout=replace(x.layout, memory_space=0))


class Buffer(NamedTuple):
    """An array that an instruction writes, or a parameter of the program."""

    instruction: HloInstruction  #: the instruction that defines it.
    computation: str  #: the name of the computation that holds the instruction.
    path: tuple[int, ...]  #: the array's positions in the tuples of the result.
    shape: XlaShape  #: the array.
    is_parameter: bool  #: whether it is a parameter of the program.

    @property
    def name(self) -> str:
        """The instruction's name with the path, as in ``fusion.3{1}``."""
        return self.instruction.name + "".join(f"{{{k}}}" for k in self.path)


def buffers_of(module: HloModule, fused: frozenset[str]) -> Iterator[Buffer]:
    """Return the arrays of a program that take memory.

    These are the entry's parameters and the results of instructions outside of fusions. Results
    that only name the bytes of other buffers are left out: bitcasts, tuples and their elements, the
    parameters and results of loops, the operands that an asynchronous start repeats. The text does
    not say which buffers share memory in the end.
    """
    for computation in module.computations:
        if not is_fused(computation, fused):
            for instruction in computation.instructions:
                yield from _written(instruction, computation)


def by_shape(buffers: Iterable[Buffer]) -> dict[XlaShape, list[Buffer]]:
    """Return the buffers of each type, which a dump mostly has once, so that few are compared."""
    same: dict[int, list[Buffer]] = {}
    for buffer in buffers:
        same.setdefault(id(buffer.shape), []).append(buffer)
    found: dict[XlaShape, list[Buffer]] = {}
    for group in same.values():
        found.setdefault(group[0].shape, []).extend(group)
    return found


def _written(instruction: HloInstruction, computation: HloComputation) -> Iterator[Buffer]:
    opcode, shape = instruction.opcode, instruction.shape
    is_parameter = opcode == "parameter"
    if is_parameter and not (computation.is_entry or not computation.name):
        return
    if opcode in _ALIASES or opcode.endswith(("-done", "-update")):
        return
    repeated = _OPERAND_OF_START.get(opcode)
    if repeated is None and opcode.endswith("-start") and _begins_with_tuple(shape):
        repeated = 0
    if isinstance(shape, XlaShape):
        yield Buffer(instruction, computation.name, (), shape, is_parameter)
        return
    for path, array in shape.arrays():
        if repeated is None or path[:1] != (repeated,):
            yield Buffer(instruction, computation.name, path, array, is_parameter)


def _begins_with_tuple(shape: XlaValue) -> bool:
    """Whether a shape is an asynchronous operation's: operands, results, then a context.

    Any instruction may be printed so: a slice as slice-start, slice-update and slice-done.
    """
    return isinstance(shape, XlaTuple) and isinstance(next(iter(shape.shapes), None), XlaTuple)


def fused_names(module: HloModule) -> frozenset[str]:
    """Return the names of the computations whose values are never stored."""
    found: set[str] = set()
    for instruction in module.instructions:
        text = instruction.attribute_text
        if instruction.opcode not in _CALLERS_WITH_BUFFERS and any(map(text.__contains__, _CALLS)):
            found.update(
                called if isinstance(called, str) else called.name
                for called in instruction.called_computations
            )
    return frozenset(found)


def is_fused(computation: HloComputation, fused: frozenset[str]) -> bool:
    """Whether a computation is fused; if its caller was cut off, its name tells."""
    name = computation.name
    return not computation.is_entry and (name in fused or "fused_computation" in name)


def entry_arrays(module: HloModule) -> tuple[tuple[XlaShape, ...], tuple[XlaShape, ...]]:
    """Return the parameters and the outputs of a program, from its header or its entry."""
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
        except LayoutError:  # the text is a part of a dump
            return (), ()
    return _arrays(parameters), _arrays(outputs)


def output_leaves(module: HloModule) -> frozenset[tuple[str, tuple[int, ...]]]:
    r"""Return the arrays that a program returns: instructions, and positions in their tuples.

    Of an asynchronous operation, and of what a call returns, it is all of them.
    """
    try:
        pending: list[tuple[HloInstruction, tuple[int, ...]]] = [(module.entry.root, ())]
    except LayoutError:
        return frozenset()
    found: set[tuple[str, tuple[int, ...]]] = set()
    while pending:
        at, path = pending.pop()
        if (at.name, path) in found:
            continue
        found.add((at.name, path))
        operands = [each for each in at.operands if not isinstance(each, str)]
        if at.opcode == "tuple" and path and len(operands) == len(at.operands):
            pending.append((operands[path[0]], path[1:]))
        elif at.opcode == "get-tuple-element":
            index = number_of(at.attributes.get("index"))
            pending += [(each, () if index is None else (index, *path)) for each in operands]
        elif at.opcode in _ALIASES or at.opcode.endswith("-done"):
            keeps_path = at.opcode not in ("call", "conditional") and at.opcode in _ALIASES
            pending += [(each, path if keeps_path else ()) for each in operands]
    return frozenset(found)


def _arrays(values: Iterable[XlaValue]) -> tuple[XlaShape, ...]:
    return tuple(array for value in values for _, array in value.arrays())


@frozen
class Bytes:
    """The bytes of some arrays.

    >>> (Bytes(1, 60, 96) + Bytes(1, 4, 512)).padding_bytes
    544
    """

    json_keys: ClassVar = ("*", "padding_bytes", "factor")

    arrays: int = 0  #: the number of arrays.
    data_bytes: int = 0  #: the bytes of their elements.
    reserved_bytes: int = 0  #: the bytes of their buffers.

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(
            self.arrays + other.arrays,
            self.data_bytes + other.data_bytes,
            self.reserved_bytes + other.reserved_bytes,
        )

    def __mul__(self, times: int) -> Bytes:
        """Return the bytes of ``times`` equal arrays."""
        return Bytes(self.arrays * times, self.data_bytes * times, self.reserved_bytes * times)

    @property
    def padding_bytes(self) -> int:
        """Bytes that hold no data."""
        return self.reserved_bytes - self.data_bytes

    @property
    def factor(self) -> float:
        """Reserved bytes over data bytes; 1 without data."""
        return self.reserved_bytes / self.data_bytes if self.data_bytes else 1.0


def sums(found: Iterable[tuple[K, Bytes]]) -> dict[K, Bytes]:
    """Return the sum of the bytes of each key."""
    totals: dict[K, Bytes] = {}
    for key, each in found:
        totals[key] = totals.get(key, Bytes()) + each
    return totals


_waste, _waste_on_tpu = (lru_cache(VERDICTS_KEPT)(find) for find in (waste, buffer_waste))


class WasteCache(dict[XlaShape, Waste | None]):
    """The waste of arrays, analysed once; None for tokens, and for sizes that are not numbers.

    Args:
        is_tpu: whether the program is a TPU's, whose scalars may take a whole tile.
    """

    def __init__(self, *, is_tpu: bool) -> None:
        super().__init__()
        self._waste = _waste_on_tpu if is_tpu else _waste

    def __missing__(self, shape: XlaShape) -> Waste | None:
        try:
            found = self._waste(shape)
        except UnsupportedError:
            found = None
        self[shape] = found
        return found

    def bytes_of(self, shape: XlaShape) -> Bytes:
        """Return the bytes of an array as a sum; the empty sum if it has none."""
        found = self[shape]
        return Bytes() if found is None else Bytes(1, found.data_bytes, found.reserved_bytes)

    def sum_of(self, shapes: Iterable[XlaShape]) -> Bytes:
        """Return the bytes of some arrays together."""
        return sum(map(self.bytes_of, shapes), Bytes())


@frozen
class Totals:
    """Sums over a program.

    >>> from morello_layouts.core.fields import plain
    >>> plain(Totals(1, 1, 0, Bytes(), Bytes(), Bytes(1, 60, 96)))["results"]["factor"]
    1.6
    """

    instructions: int  #: the number of instructions, those in fusions included.
    computations: int  #: the number of computations.
    fused_computations: int  #: the number of computations whose values are never stored.
    parameters: Bytes  #: the bytes of the program's parameters.
    outputs: Bytes  #: the bytes of the program's outputs.
    results: Bytes  #: the bytes that instructions outside of fusions write.


def totals_of(
    module: HloModule, fused: frozenset[str], buffers: Iterable[Buffer], cache: WasteCache
) -> Totals:
    """Return the sums over a program."""
    parameters, outputs = entry_arrays(module)
    return Totals(
        len(module),
        len(module.computations),
        sum(is_fused(computation, fused) for computation in module.computations),
        cache.sum_of(parameters),
        cache.sum_of(outputs),
        sum(
            (
                cache.bytes_of(shape) * sum(not buffer.is_parameter for buffer in group)
                for shape, group in by_shape(buffers).items()
            ),
            Bytes(),
        ),
    )


@frozen
class LayoutUse:
    """The use of one layout in any memory space.

    >>> from morello_layouts.core.fields import plain
    >>> plain(LayoutUse("{1,0:T(2,2)}", Bytes(1, 60, 96)))["layout"]
    '{1,0:T(2,2)}'
    """

    json_keys: ClassVar = ("layout", "*bytes")

    layout: str  #: the layout's text.
    bytes: Bytes  #: the bytes of the arrays that have it.


@frozen
class SpaceUse:
    """The use of one memory space.

    >>> SpaceUse(1, Bytes(1, 60, 96)).name
    'VMEM'
    """

    json_keys: ClassVar = ("space", "name", "*bytes")

    space: int  #: the space's number.
    bytes: Bytes  #: the bytes of the arrays in it.

    @property
    def name(self) -> str:
        """The name of the memory space."""
        return space_name(self.space)


@lru_cache(VERDICTS_KEPT)
def _layout_text(layout: XlaLayout) -> str:
    return str(replace(layout, memory_space=0) if layout.memory_space else layout)


def _uses(buffers: Iterable[Buffer], cache: WasteCache) -> Iterator[tuple[XlaLayout, Bytes]]:
    for shape, group in by_shape(buffers).items():
        if shape.layout is not None and (found := cache.bytes_of(shape) * len(group)).arrays:
            yield shape.layout, found


def layout_uses(buffers: Iterable[Buffer], cache: WasteCache) -> tuple[LayoutUse, ...]:
    """Return the bytes of each layout, the most bytes first."""
    layouts = sums((_layout_text(layout), found) for layout, found in _uses(buffers, cache))
    uses = (LayoutUse(text, found) for text, found in layouts.items())
    return tuple(sorted(uses, key=lambda u: (-u.bytes.reserved_bytes, -u.bytes.arrays, u.layout)))


def space_uses(buffers: Iterable[Buffer], cache: WasteCache) -> tuple[SpaceUse, ...]:
    """Return the bytes of each memory space."""
    spaces = sums((layout.memory_space, found) for layout, found in _uses(buffers, cache))
    return tuple(SpaceUse(space, spaces[space]) for space in sorted(spaces))
