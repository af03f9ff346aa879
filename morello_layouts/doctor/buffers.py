"""Which results of a program take memory of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from morello_layouts.hlo import HloComputation, HloInstruction, HloModule
from morello_layouts.hlo.patterns import CALLED_BY
from morello_layouts.notation.xla import XlaValue
from morello_layouts.words import arrays_of
from morello_layouts.xla import XlaShape, XlaTuple

__all__ = ["Buffer", "anywhere", "buffers_of", "fused_names", "is_fused"]

# The computations that these call run with buffers of their own, and give their results. Those of
# a fusion, a reduce or a sort work on values that are never stored; that of an asynchronous start
# writes what the start gives.
_RUNNING: Final = frozenset({"while", "conditional", "call"})

_CALLS: Final = tuple(f"{attribute}=" for attribute in CALLED_BY)

# Their results are names for the bytes of others.
_NAMING: Final = frozenset(
    {"tuple", "get-tuple-element", "bitcast", "while", "conditional", "call"}
    | {"opt-barrier", "optimization-barrier", "after-all", "add-dependency", "domain"}
)

# Results that repeat the operands, by the position in the tuple.
_OPERAND_OF_START: Final = {
    "copy-start": 1,
    "async-start": 0,
    "all-gather-start": 0,
    "collective-permute-start": 0,
    "send": 0,
}


class Buffer(NamedTuple):
    """An array that an instruction writes, or that the program is given.

    Attributes:
        instruction: which it is of; computation: the name of the one that holds the instruction.
        path: its positions in the tuples of the result.
        shape: the array.
        is_parameter: whether it is a parameter of the program.
    """

    instruction: HloInstruction
    computation: str
    path: tuple[int, ...]
    shape: XlaShape
    is_parameter: bool


def buffers_of(module: HloModule, fused: frozenset[str]) -> Iterator[Buffer]:
    """The arrays of a program that take memory.

    These are the entry's parameters and what instructions write outside of fusions. Left out is
    what only names the bytes of others: bitcasts, tuples and their elements, the parameters and
    results of loops, the operands that an asynchronous start repeats. Which of them share memory in
    the end is not in the text.

    Args:
        module: the program.
        fused: its ``fused_names``.

    >>> import morello_layouts as ml
    >>> module = ml.read_hlo('''ENTRY %main (a: f32[8]) -> f32[2,4] {
    ...   %a = f32[8]{0} parameter(0)
    ...   %b = f32[8]{0} negate(%a)
    ...   ROOT %c = f32[2,4]{1,0} bitcast(%b)
    ... }''')
    >>> for buffer in buffers_of(module, fused_names(module)):
    ...     print(buffer.instruction.name, buffer.is_parameter)
    a True
    b False
    """
    for computation in module.computations:
        if is_fused(computation, fused):
            continue
        for instruction in computation.instructions:
            yield from _written(instruction, computation)


def _written(instruction: HloInstruction, computation: HloComputation) -> Iterator[Buffer]:
    opcode = instruction.opcode
    is_parameter = opcode == "parameter"
    if is_parameter and not (computation.is_entry or not computation.name):
        return
    if opcode in _NAMING or opcode.endswith(("-done", "-update")):
        return
    shape = instruction.shape
    repeated = _OPERAND_OF_START.get(opcode)
    if repeated is None and opcode.endswith("-start") and _begins_with_tuple(shape):
        repeated = 0
    if isinstance(shape, XlaShape):
        yield Buffer(instruction, computation.name, (), shape, is_parameter)
        return
    for path, array in arrays_of(shape):
        if repeated is None or path[:1] != (repeated,):
            yield Buffer(instruction, computation.name, path, array, is_parameter)


def _begins_with_tuple(shape: XlaValue) -> bool:
    """Whether it is that of an asynchronous operation: operands, results, then a context.

    Any instruction may be printed so: a slice as slice-start, slice-update and slice-done.
    """
    return isinstance(shape, XlaTuple) and isinstance(next(iter(shape.shapes), None), XlaTuple)


def anywhere(x: XlaShape) -> XlaShape:
    """The array without its memory space, which does not change the order of its bytes.

    >>> from morello_layouts.notation import parse
    >>> print(anywhere(parse("f32[8]{0:S(1)}")))
    f32[8]{0}
    """
    return x if x.layout is None else replace(x, layout=replace(x.layout, memory_space=0))


def fused_names(module: HloModule) -> frozenset[str]:
    """The computations whose values are never stored, by name."""
    found: set[str] = set()
    for instruction in module.instructions:
        text = instruction.attribute_text
        if instruction.opcode not in _RUNNING and any(call in text for call in _CALLS):
            found.update(
                called if isinstance(called, str) else called.name
                for called in instruction.called_computations
            )
    return frozenset(found)


def is_fused(computation: HloComputation, fused: frozenset[str]) -> bool:
    """Whether a computation is one of these, or, where its caller was cut off, named like one."""
    name = computation.name
    return not computation.is_entry and (name in fused or "fused_computation" in name)
