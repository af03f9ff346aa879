"""The buffers of a program, and amounts of bytes in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from morello_layouts.description import amount
from morello_layouts.errors import LayoutError
from morello_layouts.explanations.explanation import arrays_of
from morello_layouts.hlo import HloComputation, HloInstruction, HloModule
from morello_layouts.hlo.scanner import CALLED_BY
from morello_layouts.notations.xla import XlaShape, XlaTuple
from morello_layouts.notations.xla.reader import XlaValue
from morello_layouts.tpu import default_layout
from morello_layouts.tpu.generations import LANES, packing

_UNITS: Final = "KMGTPE"
_SIZE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([KMGTPE]?)(?:i?B)?", re.ASCII)

_SPACES: Final = {0: "HBM", 1: "VMEM", 2: "SMEM", 4: "host", 5: "host"}


def bytes_text(n: int) -> str:
    """A number of bytes, in the largest unit that it fills.

    >>> bytes_text(512), bytes_text(41943040)
    ('512 B', '40.00 MiB')
    """
    if abs(n) < 1024:
        return f"{n} B"
    power = min((abs(n).bit_length() - 1) // 10, len(_UNITS))
    if abs(n) >= 1 << 90:
        return f"{amount(n)} B"
    return f"{n / (1 << 10 * power):,.2f} {_UNITS[power - 1]}iB"


def xla_size(n: int) -> str:
    """A number of bytes as XLA's out-of-memory reports write it, with their rounding.

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


def bytes_of_text(text: str) -> int | None:
    """The bytes that such a text stands for, to its precision; None where it is no size.

    >>> bytes_of_text("1.50M"), bytes_of_text("6.00MiB"), bytes_of_text("unknown")
    (1572864, 6291456, None)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power = _UNITS.index(match[2]) + 1 if match[2] else 0
    return round(float(match[1]) * (1 << 10 * power))


def factor_text(factor: float) -> str:
    """How many times the data a buffer takes.

    >>> factor_text(1.0), factor_text(12.642)
    ('1x', '12.64x')
    """
    return "1x" if factor == 1 else f"{factor:,.2f}x"


def space_name(space: int) -> str:
    """What a memory space is called on a TPU.

    >>> space_name(1), space_name(9)
    ('VMEM', 'memory space 9')
    """
    return _SPACES.get(space, f"memory space {space}")


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

    >>> from morello_layouts.notations import parse
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


_OLD: Final = "v3"  # v2 chooses the same layouts
_NEW: Final = "v5e"  # and v4, v5p, v6e and tpu7x the same as this
_OLD_TILES: Final = ((256,),)
_NEW_TILES: Final = ((128,),)


class Generation(NamedTuple):
    """A generation that suggestions are for, and why that one.

    Attributes:
        name: such as ``v5e``.
        reason: how it is known.
    """

    name: str
    reason: str


def generation_of(
    given: str | None, shapes: Iterable[XlaShape], entry: Iterable[XlaShape] = ()
) -> Generation:
    """The generation that is given, or else what scalars and the program's own arrays tell.

    Args:
        given: its name, None where the text must tell.
        shapes: the arrays of the text; tiles of scalars tell the old generations from the new.
        entry: what the program takes and gives, whose layouts the compiler chose; asked where
            there is no such scalar.

    Raises:
        LayoutError: where there is no generation of that name.

    >>> from morello_layouts.notations import parse
    >>> generation_of(None, [parse("f32[]{:T(256)}")]).name
    'v3'
    >>> generation_of(None, [], [parse("f32[1,200]{1,0:T(2,128)}")]).name
    'v3'
    >>> generation_of("v6e", []).reason
    'as given'
    """
    if given is not None:
        packing("f32", given)  # raises where there is none
        return Generation(given, "as given")
    for shape in shapes:
        tiles = _tiles_of_short(shape)
        if tiles == _OLD_TILES:
            return Generation(_OLD, "a guess: scalars lie in T(256), as on v2 and v3")
        if tiles == _NEW_TILES:
            return Generation(_NEW, "a guess: scalars lie in T(128), as on v4 and later")
    told = {name for array in entry if (name := _chosen_by(array)) is not None}
    if told == {_OLD}:
        return Generation(_OLD, "a guess: parameters and outputs lie as v2 and v3 choose")
    if told == {_NEW}:
        return Generation(_NEW, "a guess: parameters and outputs lie as v4 and later choose")
    return Generation(_NEW, "assumed: nothing in the text tells")


def _chosen_by(x: XlaShape) -> str | None:
    """The one of an old and a new generation that chooses this layout; None for both or neither."""
    x = anywhere(x)
    try:
        chosen = {name: default_layout(x.element_type, x.shape, name) for name in (_OLD, _NEW)}
    except LayoutError:
        return None
    found = [name for name, choice in chosen.items() if choice == x]
    return found[0] if len(found) == 1 else None


def _tiles_of_short(x: XlaShape) -> tuple[tuple[int, ...], ...] | None:
    """The tiles of a 32-bit scalar, or of an array that is as short; None for others."""
    is_short = not x.dims or (len(x.dims) == 1 and isinstance(n := x.dims[0], int) and n <= LANES)
    if x.layout is None or not is_short or x.element_type not in ("f32", "s32", "u32"):
        return None
    return x.layout.tiles
