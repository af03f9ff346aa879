"""What an explanation is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from morello_layouts.words.axes import Axis

__all__ = ["Dimension", "Explanation", "Part", "Sizes", "Word"]


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
class Sizes:
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

        >>> Sizes(15, 24).factor
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
class Explanation:
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
    axes: tuple[Axis, ...] = ()
    word: Word | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions' names."""
        return tuple(dim.name for dim in self.dimensions)
