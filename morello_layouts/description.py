"""A layout in words: its dimensions, parts and axes, and the few ways to say numbers and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import log10
from typing import Any

from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.recipe import Recipe
from morello_layouts.recipe.digits import Digits, axes_of, axis_text


@dataclass(frozen=True, slots=True)
class MemoryAxis:
    """An axis of the array in memory.

    Attributes:
        label: the axis's coordinate as a formula of the dimensions' names.
        size: how many coordinates it has; None if that depends on a size that is not a number.
        digits: the digits that make up the coordinate.
    """

    label: str
    size: int | None
    digits: Digits


@dataclass(frozen=True, slots=True)
class Dimension:
    """A logical dimension: its name in words, its symbol in formulas, its size.

    ``size`` is an int, a name where symbolic, None where unbounded or not given; the bound where
    ``is_dynamic``.
    """

    name: str
    symbol: str
    size: int | str | None
    is_dynamic: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a layout's text, and what it means.

    ``is_implied`` where the text leaves the part out and it has its default.
    """

    text: str
    meaning: str
    is_implied: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """Which elements share a 32-bit word.

    Attributes:
        bits: the word's size.
        slots: elements that fit a word, padding included.
        offsets: for each slot from the lowest bits on the step from the word's first element
            along each dimension; None for padding.
        text: the same in words, with r and c for the last two indices.
    """

    bits: int
    slots: int
    offsets: tuple[tuple[int, ...] | None, ...]
    text: str


@dataclass(frozen=True, slots=True)
class BufferSizes:
    """How large an array is, and how large its buffer.

    Attributes:
        elements: elements of the array.
        spanned_elements: elements that the buffer spans, padding included.
        element_bits: bits of a stored element; None where the notation names no type, and then
            the three sizes in bytes are None as well.
        data_bytes: bytes of the array's elements alone.
        spanned_bytes: bytes of ``spanned_elements``.
        reserved_bytes: bytes that XLA reserves.
    """

    elements: int
    spanned_elements: int
    element_bits: int | None = None
    data_bytes: int | None = None
    spanned_bytes: int | None = None
    reserved_bytes: int | None = None

    @property
    def padding_elements(self) -> int:
        """Elements of the buffer that hold nothing."""
        return self.spanned_elements - self.elements

    @property
    def padding_bytes(self) -> int | None:
        """Bytes that XLA reserves beyond the data."""
        if self.reserved_bytes is None or self.data_bytes is None:
            return None
        return self.reserved_bytes - self.data_bytes

    @property
    def factor(self) -> float | None:
        """The buffer's size over the data's: bytes where known, else elements.

        None without data, and where it is past what a float holds.

        >>> BufferSizes(15, 24).factor
        1.6
        """
        whole, data = self.spanned_elements, self.elements
        if self.reserved_bytes is not None and self.data_bytes is not None:
            whole, data = self.reserved_bytes, self.data_bytes
        try:
            return whole / data
        except (ZeroDivisionError, OverflowError):
            return None

    def to_dict(self) -> dict[str, Any]:
        """The fields and what follows from them, as JSON takes them."""
        return asdict(self) | {
            "padding_elements": self.padding_elements,
            "padding_bytes": self.padding_bytes,
            "factor": self.factor,
        }


@dataclass(frozen=True, slots=True)
class Description:
    """A layout in words.

    Attributes:
        source: the layout's text, as it is printed.
        kind: "XLA array", "XLA layout", "Morello layout" or "no array".
        headline: the layout in a few words.
        dimensions: the logical dimensions.
        parts: each part of the text with its meaning, in the text's order.
        axes: the axes in memory, most major first; empty where they are not known.
        word: what shares a 32-bit word, where that is simple to say.
    """

    source: str
    kind: str
    headline: str
    dimensions: tuple[Dimension, ...]
    parts: tuple[Part, ...]
    axes: tuple[MemoryAxis, ...] = ()
    word: Word | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions' names."""
        return tuple(dim.name for dim in self.dimensions)


_NAMES = {1: "x", 2: "yx", 3: "zyx", 4: "pzyx"}


def dimension_names(rank: int) -> tuple[str, ...]:
    """The dimensions' names as XLA's documents give them up to rank 4, then d0, d1, ….

    >>> dimension_names(3), dimension_names(5)
    (('z', 'y', 'x'), ('d0', 'd1', 'd2', 'd3', 'd4'))
    """
    return tuple(_NAMES.get(rank, "")) or tuple(f"d{k}" for k in range(rank))


def amount(n: int) -> str:
    """A number with commas; past 30 digits only how large it is.

    >>> amount(4096), amount(2**1000)
    ('4,096', 'about 10^301')
    """
    return f"{n:,}" if n < 10**30 else f"about 10^{int(n.bit_length() * log10(2))}"


def count(n: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "tile"), count(4096, "tile")
    ('1 tile', '4,096 tiles')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """Words with commas and an 'and'.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def times(sizes: Sequence[object]) -> str:
    """Sizes with a cross between; 1 for none.

    >>> times((8, 128))
    '8 × 128'
    """
    return " × ".join("?" if n is None else str(n) for n in sizes) or "1"


def dimensions(
    sizes: Sequence[int | str | None], dynamic: Sequence[bool] = ()
) -> tuple[Dimension, ...]:
    """Return dimensions of these sizes, each with its name and its symbol.

    >>> [dim.name for dim in dimensions((8, 128))]
    ['y', 'x']
    """
    names = dimension_names(len(sizes))
    flags = dynamic or (False,) * len(sizes)
    return tuple(
        Dimension(name, f"d{k}", size, flag)
        for k, (name, size, flag) in enumerate(zip(names, sizes, flags, strict=True))
    )


def sizes_in(dims: Iterable[Dimension]) -> tuple[Int, ...]:
    """Return the sizes of dimensions; one that is not a number is symbolic.

    >>> [str(n) for n in sizes_in(dimensions((8, "N", None)))]
    ['8', 'N', 'd2']
    """
    return tuple(
        n if isinstance(n := dim.size, int) else SizeExpr.named(n or dim.symbol) for dim in dims
    )


def memory_axes(recipe: Recipe, dims: Sequence[Dimension]) -> tuple[MemoryAxis, ...]:
    """Return the axes in memory of an array of these dimensions, most major first.

    >>> from morello_layouts.recipe import Split, Transpose
    >>> tiled = Recipe((8, 6), (Split((4, None)), Transpose((0, 2, 1))))
    >>> [axis.label for axis in memory_axes(tiled, dimensions((8, 6)))]
    ['y//4', 'x', 'y%4']
    """
    return named_axes(axes_of(recipe), recipe.physical_shape, dims)


def named_axes(
    axes: Sequence[Digits], sizes: Sequence[Int], dims: Sequence[Dimension]
) -> tuple[MemoryAxis, ...]:
    """Return axes of these digits and sizes, with formulas of the dimensions' names."""
    names = [dim.name for dim in dims]
    return tuple(
        MemoryAxis(axis_text(digits, names), n if isinstance(n, int) else None, digits)
        for digits, n in zip(axes, sizes, strict=True)
    )
