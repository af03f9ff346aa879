"""A layout in words: its dimensions, parts and axes; numbers and lists as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log10
from typing import ClassVar, Final, NamedTuple, TypeAlias

from morello_layouts.core.expr import AffineExpr, canonicalize, standard, variable
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.recipe import Recipe, physical_coordinates
from morello_layouts.core.recipe.digits import Digits, axes_of, axis_text, has_digits


@frozen
class MemoryAxis:
    """An axis of the array in memory."""

    label: str  #: the axis's coordinate as a formula of the dimensions' names.
    #: how many coordinates it has; None if that depends on a size that is not a number.
    size: int | None
    digits: Digits  #: the digits that make up the coordinate.

    json_keys: ClassVar[tuple[str, ...]] = ("coordinate=label", "size")


@frozen
class Dimension:
    """A logical dimension."""

    name: str  #: its name in words.
    symbol: str  #: its symbol in formulas.
    size: int | str | None  #: an int, a name if symbolic, None if unbounded or not given.
    is_dynamic: bool = False  #: whether the size is only the largest one.


@frozen
class Part:
    """A part of a layout's text, and its meaning."""

    text: str  #: the part.
    meaning: str  #: its meaning in words.
    is_implied: bool = False  #: whether the text leaves the part out, which then has its default.


@frozen
class Word:
    """Which elements share a 32-bit word."""

    bits: int  #: the word's size.
    slots: int  #: elements that fit a word, padding included.
    #: for each slot from the lowest bits on the step from the word's first element along each
    #: dimension; None for padding.
    offsets: tuple[tuple[int, ...] | None, ...]
    text: str  #: the same in words, with r and c for the last two indices.


@frozen
class BufferSizes:
    """The size of an array, and the size of its buffer."""

    elements: int  #: elements of the array.
    spanned_elements: int  #: elements that the buffer spans, padding included.
    #: bits of a stored element; None if the notation names no type, and then the three sizes in
    #: bytes are None as well.
    element_bits: int | None = None
    data_bytes: int | None = None  #: bytes of the array's elements alone.
    spanned_bytes: int | None = None  #: bytes of ``spanned_elements``.
    #: bytes that XLA reserves; in other notations those of the buffer.
    reserved_bytes: int | None = None
    #: elements that have no slot of their own, but share another one's; negative if elements have
    #: several slots: minus those past the first of each.
    shared_elements: int = 0

    json_keys: ClassVar[tuple[str, ...]] = (
        "elements", "spanned_elements", "element_bits", "data_bytes", "spanned_bytes",
        "reserved_bytes", "padding_elements", "padding_bytes", "factor",
    )  # fmt: skip

    @property
    def padding_elements(self) -> int:
        """Elements of the buffer that hold nothing."""
        return self.spanned_elements - self.elements + self.shared_elements

    @property
    def padding_bytes(self) -> int | None:
        """Bytes that XLA reserves beyond the data."""
        if self.reserved_bytes is None or self.data_bytes is None:
            return None
        return self.reserved_bytes - self.data_bytes

    @property
    def factor(self) -> float | None:
        """The buffer's size over the data's: in bytes if known, else in elements.

        None without data, and past the largest float.

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


@frozen
class Description:
    """A layout in words."""

    source: str  #: the layout's text, as it is printed.
    kind: str  #: "XLA array", "XLA layout", "Morello layout" or "no array".
    headline: str  #: the layout in a few words.
    dimensions: tuple[Dimension, ...]  #: the logical dimensions.
    parts: tuple[Part, ...]  #: each part of the text with its meaning, in the text's order.
    #: the axes in memory, most major first; empty if they are unknown.
    axes: tuple[MemoryAxis, ...] = ()
    #: the elements that share a 32-bit word, if they have a simple description.
    word: Word | None = None

    json_keys: ClassVar[tuple[str, ...]] = (
        "text=source", "kind", "headline", "dimensions", "parts", "axes", "word",
    )  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions' names."""
        return tuple(dim.name for dim in self.dimensions)

    def with_symbols(self, names: Sequence[str]) -> Description:
        """Return the description with these names in formulas, and for ``d0, d1, …`` in words.

        What a text calls d1 itself may be another dimension, and keeps its name.
        """
        dims = list(zip(standard(len(names)), self.dimensions, names, strict=True))
        own = [x if dim.name == d else d for d, dim, x in dims]
        return replace(
            self,
            headline=called(self.headline, own),
            dimensions=tuple(replace(x, name=called(x.name, own), symbol=s) for _, x, s in dims),
            parts=tuple(replace(one, meaning=called(one.meaning, own)) for one in self.parts),
            axes=tuple(replace(axis, label=called(axis.label, own)) for axis in self.axes),
            word=self.word and replace(self.word, text=called(self.word.text, own)),
        )


def called(text: str, names: Sequence[str]) -> str:
    """Return a text about ``d0, d1, …`` with other names in their place.

    >>> called("2 blocks of 4 along d0", ("y", "x"))
    '2 blocks of 4 along y'
    """
    return _NUMBERED.sub(lambda d: names[int(d[1])] if int(d[1]) < len(names) else d[0], text)


_NUMBERED: Final = regex(r"\bd([0-9]{1,3})\b")


def amount(n: object) -> str:
    """Return a number with commas; past 30 digits only its magnitude. Other values as they are.

    >>> amount(4096), amount(2**1000), amount("8*N")
    ('4,096', 'about 10^301', '8*N')
    """
    if not isinstance(n, int):
        return str(n)
    return f"{n:,}" if n < 10**30 else f"about 10^{int(n.bit_length() * log10(2))}"


def count(n: int, noun: str) -> str:
    """Return a number of things in words.

    >>> count(1, "tile"), count(4096, "tile")
    ('1 tile', '4,096 tiles')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Return words with commas, and another word before the last one."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def times(sizes: Sequence[object]) -> str:
    """Return sizes with a cross between; 1 for none."""
    return " × ".join("?" if n is None else str(n) for n in sizes) or "1"


def dimensions(
    sizes: Sequence[Int | str | None], dynamic: Sequence[bool] = (), names: Sequence[str] = ()
) -> tuple[Dimension, ...]:
    """Return dimensions of these sizes, each with its symbol, and its name if names are given."""
    names = names or standard(len(sizes))
    flags = dynamic or (False,) * len(sizes)
    return tuple(
        Dimension(name, f"d{k}", str(size) if isinstance(size, SizeExpr) else size, flag)
        for k, (name, size, flag) in enumerate(zip(names, sizes, flags, strict=False))
    )


def sizes_in(dims: Iterable[Dimension]) -> tuple[Int, ...]:
    """Return the sizes of dimensions; one that is not a number is symbolic."""
    return tuple(
        n if isinstance(n := dim.size, int) else SizeExpr.named(n or dim.symbol) for dim in dims
    )


def memory_axes(recipe: Recipe, dims: Sequence[Dimension]) -> tuple[MemoryAxis, ...]:
    """Return the axes in memory of an array of these dimensions, most major first.

    >>> from morello_layouts.core.recipe import Split, Transpose
    >>> tiled = Recipe((8, 6), (Split((4, None)), Transpose((0, 2, 1))))
    >>> [axis.label for axis in memory_axes(tiled, dimensions((8, 6)))]
    ['d0//4', 'd1', 'd0%4']
    """
    if has_digits(recipe):
        return named_axes(axes_of(recipe), recipe.physical_shape, dims)
    at = [
        variable(dim.name, 0, n - 1 if n != 0 else 0)
        for dim, n in zip(dims, recipe.shape, strict=True)
    ]
    forms = physical_coordinates(recipe, at, AffineExpr((), 0))
    return tuple(
        MemoryAxis(str(canonicalize(form)), n if isinstance(n, int) else None, ())
        for form, n in zip(forms, recipe.physical_shape, strict=True)
    )


def named_axes(
    axes: Sequence[Digits], sizes: Sequence[Int], dims: Sequence[Dimension]
) -> tuple[MemoryAxis, ...]:
    """Return axes of these digits and sizes, with formulas of the dimensions' names."""
    names = [dim.name for dim in dims]
    return tuple(
        MemoryAxis(axis_text(digits, names), n if isinstance(n, int) else None, digits)
        for digits, n in zip(axes, sizes, strict=True)
    )


def axes_in_words(axes: Sequence[MemoryAxis], dims: Sequence[Dimension]) -> tuple[str, ...]:
    """Return the meaning of each axis in memory, for any layout.

    >>> from morello_layouts.core.recipe import Pad, Split, Transpose
    >>> tiled = Recipe((8, 5), (Pad((8, 6)), Split((4, None)), Transpose((0, 2, 1))))
    >>> for meaning in axes_in_words(memory_axes(tiled, dimensions((8, 5))), dimensions((8, 5))):
    ...     print(meaning)
    slowest: 2 blocks of 4 along d0
    all of d1, 6; padded from 5 to 6
    fastest: 4 neighbours along d0
    """
    places = [""] * len(axes)
    if len(axes) > 1:
        places[0], places[-1] = "slowest: ", "fastest: "
    meanings = [_axis_in_words(axis, dims) for axis in axes]
    return tuple(place + meaning for place, meaning in zip(places, meanings, strict=True))


def _axis_in_words(axis: MemoryAxis, dims: Sequence[Dimension]) -> str:
    digits = [digit for digit in axis.digits if digit.is_exact and not digit.is_zero]
    if len(axis.digits) != 1 or not digits:
        return "one value" if axis.size == 1 else f"{axis.label}: {times([axis.size])} values"
    (digit,) = digits
    dim, size, unit = dims[digit.dim], axis.size, digit.unit
    if digit.modulus is not None:
        things = "neighbours" if unit == 1 else f"blocks of {unit}"
        return f"{times([size])} {things} along {dim.name}"
    if size is None:
        return f"all of {dim.name}" if unit == 1 else f"blocks of {unit} along {dim.name}"
    assert isinstance(dim.size, int)
    grown = "" if size * unit == dim.size else f"; padded from {dim.size:,} to {size * unit:,}"
    if unit == 1:
        return f"all of {dim.name}, {size:,}{grown}"
    return f"{count(size, 'block')} of {unit} along {dim.name}{grown}"


_WORD: Final = 32
_SPELLED_OUT: Final = 4

Offset: TypeAlias = tuple[int, ...]


class _WordRun(NamedTuple):
    """Slots of a word along a dimension, None for padding, ``unit`` indices apart."""

    dim: int | None
    unit: int
    length: int


def word_of(description: Description, bits: int | None) -> Word | None:
    """Return the elements that share a 32-bit word in a tiled layout of elements of these bits."""
    sizes = [dim.size for dim in description.dimensions]
    is_tiled = len(description.axes) > len(sizes)
    if bits is None or not is_tiled or 0 in sizes:
        return None
    digits = tuple(digit for axis in description.axes for digit in axis.digits)
    return shared_word(digits, bits, sizes)


def shared_word(buffer: Digits, bits: int, sizes: Sequence[object]) -> Word | None:
    """Return the elements that share a 32-bit word, if every word is filled in the same way.

    >>> from morello_layouts.core.recipe.digits import AxisDigit
    >>> buffer = AxisDigit(0, 2, 2), AxisDigit(1, 1, 4), AxisDigit(0, 1, 2, 2)
    >>> shared_word(buffer, 16, (4, 4)).text
    '(2r, c) and (2r+1, c) share a 32-bit word, the first in its lowest bits'
    """
    if bits >= _WORD or _WORD % bits:
        return None
    slots = _WORD // bits
    runs = _innermost(buffer, slots)
    if runs is None:
        return None
    offsets = tuple(_offset(k, runs, sizes) for k in range(slots))
    text = _text(offsets, runs, sizes)
    return None if text is None else Word(_WORD, slots, offsets, text)


def _innermost(buffer: Digits, slots: int) -> list[_WordRun] | None:
    """The digits that the slots of one word run through, fastest first."""
    found: list[_WordRun] = []
    left = slots
    for digit in reversed(buffer):
        if left == 1:
            break
        if digit.radix == 1:
            continue
        if not isinstance(digit.radix, int) or not (digit.is_exact or digit.is_zero):
            return None
        taken = min(digit.radix, left)
        if left % taken or digit.radix % taken:
            return None
        found.append(_WordRun(None if digit.is_zero else digit.dim, digit.unit, taken))
        left //= taken
    return found if left == 1 else None


def _offset(slot: int, runs: Sequence[_WordRun], sizes: Sequence[object]) -> Offset | None:
    """The steps from the first element of a word to a slot's element; None for padding."""
    offset = [0] * len(sizes)
    for run in runs:
        slot, value = divmod(slot, run.length)
        if run.dim is not None:
            offset[run.dim] += value * run.unit
        elif value:
            return None
    inside = all(not isinstance(n, int) or o < n for o, n in zip(offset, sizes, strict=True))
    return tuple(offset) if inside else None


def _text(
    offsets: Sequence[Offset | None], runs: Sequence[_WordRun], sizes: Sequence[object]
) -> str | None:
    present = [offset for offset in offsets if offset is not None]
    missing = len(offsets) - len(present)
    padding = f"{missing} slot{'' if missing == 1 else 's'} of padding"
    if len(present) < 2:
        return f"each 32-bit word holds one element and {padding}"
    letters = [f"i{k}" for k in range(len(sizes) - 2)] + ["r", "c"][max(2 - len(sizes), 0) :]
    bases: list[str] = []
    conditions: list[str] = []
    for dim, letter in enumerate(letters):
        own = [(run.unit, run.length) for run in runs if run.dim == dim]
        covered = 1
        for stride, taken in sorted(own):
            covered = covered * taken if stride == covered else 0
        if covered:
            bases.append(letter if covered == 1 else f"{covered}{letter}")
        elif len(own) == 1:
            (stride, taken) = own[0]
            bases.append(letter)
            conditions.append(f"{letter}%{stride * taken} < {stride}")
        else:
            return None
    changed = [any(offset[dim] for offset in present) for dim in range(len(sizes))]
    members = [_member(offset, bases, changed) for offset in present]
    if len(members) > _SPELLED_OUT:
        shown = f"{', '.join(members[:3])}, …, {members[-1]}"
    else:
        shown = listed(members)
    where = f", for {' and '.join(conditions)}," if conditions else ""
    with_padding = f" with {padding}" if missing else ""
    return f"{shown}{where} share a 32-bit word{with_padding}, the first in its lowest bits"


def _member(offset: Offset, bases: Sequence[str], changed: Sequence[bool]) -> str:
    """A coordinate such as (2r+1, c); leading indices that never change are dots."""
    first = next((k for k, moves in enumerate(changed) if moves), 0)
    first = min(first, max(len(bases) - 2, 0))
    parts = [f"{b}+{o}" if o else b for o, b in zip(offset[first:], bases[first:], strict=True)]
    inner = ", ".join(["…", *parts] if first else parts)
    return inner if len(bases) == 1 else f"({inner})"
