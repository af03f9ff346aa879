"""Fragments: an operand's elements in the lanes and registers of a matrix instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType, Layout
from morello_layouts.core.recipe import DimDigit, Recipe, known, recipe_of_axes
from morello_layouts.errors import LayoutError, ShapeError


class Axis(NamedTuple):
    """A physical axis: its name, and the digits that make up its coordinate, slowest first."""

    name: str
    digits: tuple[DimDigit, ...]

    @property
    def size(self) -> int:
        """The number of places along the axis."""
        (size,) = known([prod(digit.places for digit in self.digits)])
        return size


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
        axes = [[digit for digit in axis.digits if digit.radix != 1] for axis in self.axes]
        cut = {digit.dim for digits in axes for digit in digits}
        axes[-1] += [DimDigit(dim, 1, 1) for dim in range(len(self.shape)) if dim not in cut]
        return recipe_of_axes(self.shape, axes, tuple(axis.name for axis in self.axes))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        self._require(shape)
        offset = AffineExpr((), 0)
        for digit in (digit for axis in self.axes for digit in axis.digits):
            offset *= digit.places
            if digit.dim is not None:
                offset += coordinates[digit.dim] // digit.unit % digit.radix
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
