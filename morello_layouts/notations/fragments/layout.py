"""Fragments: the operands of a matrix instruction, in its lanes and registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import REGISTER_BITS as BITS, ElementType, Layout
from morello_layouts.core.recipe import DimDigit, Recipe, known, recipe_of_axes
from morello_layouts.core.recipe.steps import Window
from morello_layouts.errors import LayoutError, ShapeError


class Axis(NamedTuple):
    """A physical axis: its name, and the digits that make up its coordinate, slowest first.

    The places between, before and behind those of its elements belong to others.
    """

    name: str
    digits: tuple[DimDigit, ...]
    step: int = 1  #: places from one element to the next.
    first: int = 0  #: the place of the first element, less than the step.

    @property
    def size(self) -> int:
        """The number of places along the axis."""
        (size,) = known([prod(digit.places for digit in self.digits)])
        return size * self.step


Document: TypeAlias = Callable[[int, int], tuple[int, ...]]
"""The coordinate of the element of a thread and a register, as the document has it.

The thread is counted through all axes before the last one. A place without an element gives ``()``.
"""


@frozen
class FragmentLayout(Layout):
    """An operand of a matrix instruction, in the lanes and registers that hold it.

    A register here is one element's place: two elements of 16 bits share a register of 32 bits.
    The offset counts the registers of the first lane, then those of the next one.

    >>> rows, columns = DimDigit(0, 1, 8), DimDigit(1, 1, 4)
    >>> one_each = Axis("lane", (rows, columns)), Axis("register", ())
    >>> print(FragmentLayout("one each", (8, 4), one_each).recipe((8, 4)))
    [8,4] → merge [32,1] (lane, register)
    """

    text: str  #: the instruction and its operand.
    shape: tuple[int, ...]  #: sizes of the operand in elements.
    axes: tuple[Axis, ...]  #: the physical axes, such as ``lane`` and ``register``, slowest first.
    type: ElementType | None = None  #: the element type; None if only places are known.
    dims: tuple[str, ...] = ("m", "k")  #: the name of each dimension.
    document: Document | None = field(default=None, compare=False)  #: the vendor's own formula.
    words: str = field(default="", compare=False)  #: the fragment in a few words.
    remarks: tuple[str, ...] = field(default=(), compare=False)  #: what a reader should know.

    def __post_init__(self) -> None:
        for dim, size in enumerate(self.shape):
            own = [d.radix for axis in self.axes for d in axis.digits if d.dim == dim]
            if (count := prod(own)) != size:
                raise LayoutError(
                    f"dimension {dim} of {size}: expected digits that make up its "
                    f"coordinates, got {count} values for {size}",
                    "each element has a place, and no place has two elements",
                    "give sizes whose product is the size of the operand",
                )
        self.recipe(self.shape)

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        self._require(shape)
        axes = [[digit for digit in axis.digits if digit.places != 1] for axis in self.axes]
        cut = {digit.dim for digits in axes for digit in digits}
        axes[-1] += [DimDigit(dim, 1, 1) for dim in range(len(self.shape)) if dim not in cut]
        found = recipe_of_axes(self.shape, axes, tuple(axis.name for axis in self.axes))
        if all(axis.step == 1 for axis in self.axes):
            return found
        places = zip(*((axis.size, axis.first, axis.step) for axis in self.axes), strict=True)
        return replace(found, steps=(*found.steps, Window(*places)))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        self._require(shape)
        offset = AffineExpr((), 0)
        for axis in self.axes:
            for digit in axis.digits:
                offset *= digit.places
                if digit.dim is not None:
                    offset += coordinates[digit.dim] // digit.unit % digit.radix
            offset = offset * axis.step + axis.first
        return offset

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return the first place whose element the document says it is, and all places."""
        if self.document is None:
            return None
        self._require(shape)
        *outer, last = (axis.size for axis in self.axes)
        return _places(self.document, prod(outer), last)[tuple(coordinate)], prod(outer) * last

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.shape

    @property
    def element(self) -> ElementType | None:
        return self.type

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        return self.remarks

    def _require(self, shape: Sequence[Int]) -> None:
        if tuple(shape) != self.shape:
            raise ShapeError(
                f"{self}: expected the shape {self.shape}, got ({', '.join(map(str, shape))})",
                "an instruction has operands of one size",
                "leave the shape out",
            )

    def names(self, rank: int) -> tuple[str, ...]:
        return tuple(self.dims)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=16)
def _places(document: Document, threads: int, registers: int) -> dict[tuple[int, ...], int]:
    """The first place of each element: its thread times the registers, plus its register."""
    found: dict[tuple[int, ...], int] = {}
    for place, (thread, register) in enumerate(product(range(threads), range(registers))):
        if at := document(thread, register):
            found.setdefault(at, place)
    return found


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
    """A matrix instruction, and which registers hold its operands."""

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
        axis._replace(
            digits=tuple(d._replace(dim=moved[d.dim]) for d in axis.digits if d.dim in moved)
        )
        for axis in operand.axes
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


def tensor_memory(paths: int, bits: int, repeats: int) -> Axes:
    """Return the axes of a load from tensor memory in words of 32 bits."""
    if paths == 32:
        return lanes([(0, 1, 32)], [(1, 1, repeats)])
    if bits == 32:
        return lanes([(1, repeats, 2), (0, 1, 16)], [(1, 1, repeats)])
    if bits == 64:
        return lanes([(0, 1, 8), (1, 1, 2), (0, 8, 2)], [(1, 2, repeats)])
    return ptx_matrix(16, bits // 32 * repeats, bits // 128)


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


def wmma12_input(bits: int, k: int, wave: int) -> Axes:
    groups = [(1, 4, 2)] if bits == 16 else [(1, k // 2, 2)]
    if wave == 64:
        groups = [(1, 8, 2), (1, 4, 2)] if bits == 16 else [(1, k // 4, 2), (1, k // 2, 2)]
    own = k // 2 ** len(groups)
    chunks = [(1, 8, 2), (1, 1, 4)] if bits == 16 and wave == 32 else [(1, 1, own)]
    return lanes([*groups, (0, 1, 16)], chunks)


def tile(rows: int, columns: int, per: int = 1) -> Axes:
    """Return the axes of a tile of Intel's AMX; ``per`` elements down lie side by side."""
    row, column = DimDigit(0, per, rows // per), (DimDigit(1, 1, columns), DimDigit(0, 1, per))
    return Axis("row", (row,)), Axis("column", column)
