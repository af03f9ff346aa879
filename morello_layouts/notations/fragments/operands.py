"""Operands and instructions as values, and the rules that the vendors' families share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import NamedTuple, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import REGISTER_BITS as BITS, ElementType
from morello_layouts.core.recipe import DimDigit
from morello_layouts.notations.fragments.layout import Axis, Document


class Operand(NamedTuple):
    """An operand: names and sizes of its dimensions, element type, axes, the document's formula."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    type: str
    axes: tuple[Axis, ...]
    document: Document

    @property
    def element(self) -> ElementType:
        return ElementType(self.type, BITS[self.type])


@frozen
class Instruction:
    """An instruction."""

    name: str  #: as its vendor spells it.
    words: str  #: what it is.
    operands: Callable[[], Mapping[str, Operand]]  #: gives each operand by its letter.
    #: the operand that a text without one means; None if the text must say it.
    default: str | None = None
    #: where operands are that are not in registers.
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""  #: what a reader should know.


def per_word(name: str, container: int = 0) -> int:
    """The elements of a type in a word of 32 bits, at least one."""
    return max(1, 32 // max(BITS[name], container))


def flipped(operand: Operand) -> Operand:
    """The operand with its last two dimensions exchanged: B by rows k and columns n."""
    rank = len(operand.shape)
    return _of_dims(operand, (*range(rank - 2), rank - 1, rank - 2))


def unblocked(operand: Operand) -> Operand:
    """The operand without its dimension of blocks if there is one block."""
    rank = len(operand.shape)
    return operand if operand.shape[0] > 1 else _of_dims(operand, tuple(range(1, rank)))


def _of_dims(operand: Operand, kept: tuple[int, ...]) -> Operand:
    """The operand with some of its dimensions, in another order; the others have one element."""
    moved = {None: None} | {dim: k for k, dim in enumerate(kept)}
    axes = (
        Axis(name, tuple(d._replace(dim=moved[d.dim]) for d in digits if d.dim in moved))
        for name, digits in operand.axes
    )
    return operand._replace(
        dims=tuple(operand.dims[k] for k in kept),
        shape=tuple(operand.shape[k] for k in kept),
        axes=tuple(axes),
        document=partial(_element, operand.document, kept),
    )


def _element(
    document: Document, kept: tuple[int, ...], thread: int, register: int
) -> tuple[int, ...]:
    at = document(thread, register)
    return tuple(at[k] for k in kept) if at else at


Axes: TypeAlias = tuple[Axis, ...]

Parts: TypeAlias = Sequence[tuple[int | None, int, int] | tuple[int | None, int, int, int]]


def lanes(lane: Parts, register: Parts, warp: Parts = ()) -> Axes:
    """Return the axes of digits, each given by its fields, the slowest first."""
    named = [("lane", lane), ("register", register)]
    if warp:
        named.insert(0, ("warp", warp))
    return tuple(Axis(name, tuple(DimDigit(*part) for part in parts)) for name, parts in named)


def ptx_matrix(rows: int, columns: int, per: int, warps: int = 1) -> Axes:
    """Return the axes of NVIDIA's tiles of 8 rows and 4 words: a lane holds ``per`` in a row.

    Registers count the elements of a word, then tiles down, then tiles to the right. Warps lie
    one below the other.
    """
    own = rows // warps
    register = (1, 4 * per, columns // (4 * per)), (0, 8, own // 8), (1, 1, per)
    warp = [(0, own, warps)] if warps > 1 else []
    return lanes([(0, 1, 8), (1, per, 4)], register, warp)


def volta_rows(columns: int) -> Axes:
    """Return the axes of Volta's m8n8k4 if a thread holds a row.

    The threads of a quad pair are lanes 0 to 3 and 16 to 19.
    """
    return lanes([(0, 4, 2), (0, 1, 4, 16)], [(1, 1, columns)])


def volta_columns() -> Axes:
    return lanes([(0, 4, 2), (1, 1, 4, 16)], [(0, 1, 4)])


def volta_f32() -> Axes:
    return lanes([(0, 4, 2), (1, 2, 2, 8), (0, 1, 2)], [(1, 4, 2), (0, 2, 2), (1, 1, 2)])


def transposed_matrices(bits: int, count: int) -> Axes:
    halves = [(1, 8, 2)] if bits == 8 else []
    return lanes([(1, 1, 8), (0, 2, 4)], [(0, 8, count), *halves, (0, 1, 2)])


def address_rows(rows: int, columns: int, interleaved: bool) -> Axes:
    """Return the axes of the rows whose addresses lanes give; lanes beyond them repeat the rows."""
    order = (
        [(0, 16, rows // 16), (0, 2, 4), (0, 8, 2), (0, 1, 2)] if interleaved else [(0, 1, rows)]
    )
    return lanes([(None, 1, 32 // rows), *order], [(1, 1, columns)])


def tensor_memory(paths: int, bits: int, repeats: int) -> Axes:
    """Return the axes of a load from tensor memory in words of 32 bits."""
    if paths == 32:
        return lanes([(0, 1, 32)], [(1, 1, repeats)])
    if bits == 32:
        return lanes([(1, repeats, 2), (0, 1, 16)], [(1, 1, repeats)])
    if bits == 64:
        return lanes([(0, 1, 8), (1, 1, 2), (0, 8, 2)], [(1, 2, repeats)])
    return ptx_matrix(16, bits // 32 * repeats, bits // 128)


def broadcast(rows: int, columns: int) -> Axes:
    """Return the axes of memory that all 32 lanes see whole."""
    return lanes([(None, 1, 32)], [(0, 1, rows), (1, 1, columns)])


def shuffled(mask: int) -> Axes:
    """Return the axes after 2 by 2 transposes between lanes ``mask`` apart."""
    high = (0, 2 * mask, 16 // mask)
    return lanes([high, (1, 1, 2), (0, 1, mask)], [(0, mask, 2)])


def mfma_input(m: int, k: int, blocks: int) -> Axes:
    groups = 64 // (m * blocks)
    return lanes([(2, k // groups, groups), (0, 1, blocks), (1, 1, m)], [(2, 1, k // groups)])


def mfma_output(m: int, blocks: int, bits: int) -> Axes:
    height = 1 if bits == 64 else 4
    groups = min(64 // m, m // height)
    inner = 64 // (m * groups)
    lane = (1, height, groups), (0, 1, inner), (2, 1, m)
    rows = (1, height * groups, m // (height * groups)), (1, 1, height)
    return lanes(lane, [(0, inner, blocks // inner), *rows])


def wmma11_input(wave: int, k: int) -> Axes:
    return lanes([(None, 1, wave // 16), (0, 1, 16)], [(1, 1, k)])


def wmma11_output(wave: int) -> Axes:
    groups = wave // 16
    return lanes([(0, 1, groups), (1, 1, 16)], [(0, groups, 16 // groups)])


def wmma12_input(bits: int, k: int, wave: int) -> Axes:
    groups = [(1, 4, 2)] if bits == 16 else [(1, k // 2, 2)]
    if wave == 64:
        groups = [(1, 8, 2), (1, 4, 2)] if bits == 16 else [(1, k // 4, 2), (1, k // 2, 2)]
    own = k // 2 ** len(groups)
    chunks = [(1, 8, 2), (1, 1, 4)] if bits == 16 and wave == 32 else [(1, 1, own)]
    return lanes([*groups, (0, 1, 16)], chunks)


def wmma12_output(wave: int) -> Axes:
    quarters = [(0, 4, 2)] if wave == 64 else []
    return lanes([*quarters, (0, 8, 2), (1, 1, 16)], [(0, 1, 256 // wave)])


def tile(rows: int, columns: int, per: int = 1) -> Axes:
    """Return the axes of a tile of Intel's AMX; ``per`` elements down lie side by side."""
    row, column = DimDigit(0, per, rows // per), (DimDigit(1, 1, columns), DimDigit(0, 1, per))
    return Axis("row", (row,)), Axis("column", column)
