"""Read buffer assignments: where the compiler puts each value of a program, and how large it is.

XLA writes one beside each optimised program, as ``*buffer-assignment.txt``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.hlo.builder import ShapeTable
from morello_layouts.hlo.scanner import open_lines
from morello_layouts.notations.xla.reader import XlaValue

_NUMBER: Final = r"([0-9]{1,18})"
_ALLOCATION: Final = re.compile(rf"allocation {_NUMBER}: size {_NUMBER}((?:, .*)?):\s*\Z", re.ASCII)
_PARAMETER: Final = re.compile(rf"parameter {_NUMBER}\b", re.ASCII)
_COLOR: Final = re.compile(rf"color {_NUMBER}\b", re.ASCII)
_VALUE: Final = re.compile(
    rf" value: <{_NUMBER} ([^\s{{]++)((?:\{{[0-9,]*+\}})?) (\(phi\) )?@{_NUMBER}> "
    rf"\(size={_NUMBER},offset={_NUMBER}\): (.*\S)\s*\Z",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """A value of a program and its place in an allocation.

    Attributes:
        instruction: the name of the instruction that defines it.
        path: its position in the tuples of the instruction's result.
        size: the bytes that it takes.
        offset: the first byte, from the beginning of the allocation.
        shape: its type; a tuple is a table of addresses.
        is_phi: whether it joins the values that enter a loop and those that its body returns.
        allocation: the number of the allocation.
    """

    json_keys: ClassVar = ("name", "size", "offset", "shape", "allocation")

    instruction: str
    path: tuple[int, ...]
    size: int
    offset: int
    shape: XlaValue
    is_phi: bool
    allocation: int

    @property
    def name(self) -> str:
        """The instruction's name with the path, as in ``fusion.3{1}``."""
        return self.instruction + "".join(f"{{{k}}}" for k in self.path)


@dataclass(frozen=True, slots=True)
class Allocation:
    """A piece of memory that the compiler reserves.

    Attributes:
        number: its number.
        size: its bytes.
        space: the memory space, XLA's color: 0 is HBM, 1 VMEM, 2 SMEM, 5 the host.
        kind: ``parameter``, ``output``, ``temporary``, ``constant`` or ``thread-local``.
        parameter: the parameter's number, or None.
        is_live_out: whether it may hold an output: a parameter then is donated.
        values: the values that lie in it.
    """

    json_keys: ClassVar = ("number", "size", "space", "kind", "parameter", "is_live_out")

    number: int
    size: int
    space: int
    kind: str
    parameter: int | None
    is_live_out: bool
    values: tuple[PlacedValue, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BufferAssignment:
    """The allocations of a program.

    Attributes:
        allocations: in the order of the text.
        warnings: problems that a reader should know of.

    >>> text = '''BufferAssignment:
    ... allocation 0: size 512, color 1, preallocated-temp:
    ...  value: <1 add.2 @1> (size=512,offset=0): f32[3]{0:T(128)S(1)}
    ... '''
    >>> (found,) = read_assignment(text).allocations
    >>> found.kind, found.space, found.values[0].name
    ('temporary', 1, 'add.2')
    """

    allocations: tuple[Allocation, ...]
    warnings: tuple[str, ...] = ()

    @property
    def values(self) -> Iterator[PlacedValue]:
        """All values of all allocations."""
        return (value for allocation in self.allocations for value in allocation.values)

    def total(self, space: int) -> int:
        """Return the bytes of all allocations in a memory space."""
        return sum(each.size for each in self.allocations if each.space == space)

    @property
    def spaces(self) -> tuple[int, ...]:
        """The memory spaces that have allocations."""
        return tuple(sorted({each.space for each in self.allocations}))


# Words after the size, and the kind of allocation that they mean; the first one that is there.
_KINDS: Final = {
    "parameter ": "parameter",
    "constant": "constant",
    "thread-local": "thread-local",
    "preallocated-temp": "temporary",
    "output shape": "output",
    "maybe-live-out": "output",
}


def read_assignment(source: str | os.PathLike[str]) -> BufferAssignment:
    """Return the buffer assignment in a text, or in the file of a path.

    Lines of other kinds, such as the uses that XLA lists for CPUs and GPUs, are skipped.

    Raises:
        ParseError: if the text holds no allocation.
        LayoutError: if a file cannot be read.
    """
    shapes, warnings = ShapeTable(), list[str]()
    found: list[tuple[tuple[str, ...], list[PlacedValue]]] = []
    with open_lines(source, None) as lines:
        for line in lines:
            head = _ALLOCATION.match(line)
            if head is not None:
                found.append((head.groups(), []))
            elif found and (match := _VALUE.match(line)) is not None:
                try:
                    found[-1][1].append(_placed(match, int(found[-1][0][0]), shapes))
                except LayoutError as error:
                    warnings.append(f"line {lines.number} is left out: {error.what}")
    if not found:
        raise ParseError(
            "the text holds no buffer assignment",
            "it has no line 'allocation 0: size 512, …:'",
            "give the file *buffer-assignment.txt of a dump",
            text="",
            position=0,
        )
    allocations = (_allocation(head, values) for head, values in found)
    return BufferAssignment(tuple(allocations), tuple(warnings[:1]))


def _placed(match: re.Match[str], allocation: int, shapes: ShapeTable) -> PlacedValue:
    _, name, path, phi, _, size, offset, shape = match.groups()
    at = tuple(int(k) for k in path[1:-1].split(",") if k)
    return PlacedValue(name, at, int(size), int(offset), shapes[shape], phi is not None, allocation)


def _allocation(head: tuple[str, ...], values: list[PlacedValue]) -> Allocation:
    number, size, words = head
    kinds = (kind for word, kind in _KINDS.items() if f", {word}" in words)
    parameter, color = _PARAMETER.search(words), _COLOR.search(words)
    return Allocation(
        int(number),
        int(size),
        0 if color is None else int(color[1]),
        next(kinds, "temporary"),
        None if parameter is None else int(parameter[1]),
        ", maybe-live-out" in words,
        tuple(values),
    )
