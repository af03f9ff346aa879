"""Operands and instructions as values, and what the vendors' families share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from morello_layouts.layout import ElementType
from morello_layouts.notations.fragments.layout import Axis, Digit, Document


class Operand(NamedTuple):
    """An operand: names and sizes of its dimensions, element type, axes, the document's formula."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    type: str
    axes: tuple[Axis, ...]
    document: Document

    @property
    def element(self) -> ElementType:
        """The element type with its width."""
        return ElementType(self.type, BITS[self.type])


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction.

    Attributes:
        name: as its vendor spells it.
        words: what it is.
        operands: gives each operand by its letter.
        default: the operand that a text without one means; None if the text must say it.
        elsewhere: for operands that are not in registers, where they are.
        remark: what a reader should know.
    """

    name: str
    words: str
    operands: Callable[[], Mapping[str, Operand]]
    default: str | None = None
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


_WIDTHS: Final = {
    1: "b1 u1",
    4: "s4 u4 e2m1 iu4",
    8: "s8 u8 e4m3 e5m2 e3m2 e2m3 i8 iu8 fp8 bf8 b8 hf8",
    16: "f16 bf16 b16 s16",
    32: "f32 tf32 s32 i32 xf32 b32",
    64: "f64",
    128: "c64",
    192: "gc64",
}

BITS: Final = {name: bits for bits, names in _WIDTHS.items() for name in names.split()}
"""The bits that an element of each type takes. ``c64`` is CuTe's complex number of two f64."""


def per_word(name: str, container: int = 0) -> int:
    """The elements of a type in a word of 32 bits, at least one."""
    return max(1, 32 // max(BITS[name], container))


def flipped(operand: Operand) -> Operand:
    """The operand with its last two dimensions exchanged: B by rows k and columns n."""

    def turned(axes: tuple[int, ...]) -> tuple[int, ...]:
        return (*axes[:-2], axes[-1], axes[-2])

    def element(thread: int, register: int) -> tuple[int, ...]:
        return turned(operand.document(thread, register))

    rank = len(operand.shape)
    moved = turned(tuple(range(rank)))
    axes = (
        Axis(name, tuple(d if d.dim is None else d._replace(dim=moved[d.dim]) for d in digits))
        for name, digits in operand.axes
    )
    *first, x, y = operand.dims
    return operand._replace(
        dims=(*first, y, x), shape=turned(operand.shape), axes=tuple(axes), document=element
    )


def unblocked(operand: Operand) -> Operand:
    """The operand without its dimension of blocks if there is one block."""
    if operand.shape[0] > 1:
        return operand

    def element(thread: int, register: int) -> tuple[int, ...]:
        return operand.document(thread, register)[1:]

    axes = tuple(
        Axis(name, tuple(Digit(dim - 1, *rest) for dim, *rest in digits if dim))
        for name, digits in operand.axes
    )
    return operand._replace(
        dims=operand.dims[1:], shape=operand.shape[1:], axes=axes, document=element
    )
