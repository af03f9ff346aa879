"""A layout in words, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Final, TypeAlias

from morello_layouts.description import (
    Axis,
    BufferSizes,
    Description,
    Dimension,
    Word,
    dimension_names,
    listed,
)
from morello_layouts.maps import IndexMap
from morello_layouts.notations.morello import MorelloLayout
from morello_layouts.notations.morello import words as morello_parts
from morello_layouts.notations.xla import XlaBuffer, XlaLayout, XlaShape, XlaTuple
from morello_layouts.notations.xla import words as xla_parts
from morello_layouts.notations.xla.words import format_name
from morello_layouts.tpu.waste import data_bytes

_WORD: Final = 32
_SPELLED_OUT: Final = 4

Digit = tuple[int | None, int, int]
Offset = tuple[int, ...]


def shared_word(axes: Sequence[Axis], bits: int, sizes: Sequence[object]) -> Word | None:
    """What shares a 32-bit word, where every word is filled in the same way; else None.

    Args:
        axes: the axes in memory, most major first.
        bits: bits of a stored element.
        sizes: the logical sizes.

    >>> axes = (Axis("y", 2, (0,)).split(2)[0], Axis("x", 4, (1,)), Axis("y", 4, (0,)).split(2)[1])
    >>> shared_word(axes, 16, (4, 4)).text
    '(2r, c) and (2r+1, c) share a 32-bit word, the first in its lowest bits'
    """
    if bits >= _WORD or _WORD % bits:
        return None
    slots = _WORD // bits
    digits = _innermost(axes, slots)
    if digits is None:
        return None
    offsets = tuple(_offset(k, digits, sizes) for k in range(slots))
    text = _text(offsets, digits, sizes)
    return None if text is None else Word(_WORD, slots, offsets, text)


def _innermost(axes: Sequence[Axis], slots: int) -> list[Digit] | None:
    """Digits (dimension, stride, count) that the slots of one word run through, fastest first."""
    digits: list[Digit] = []
    left = slots
    for axis in reversed(axes):
        if left == 1:
            break
        if axis.size == 1:
            continue
        if axis.size is None or not axis.exact or len(axis.dims) > 1:
            return None
        taken = min(axis.size, left)
        if left % taken or axis.size % taken:
            return None
        digits.append((axis.dims[0] if axis.dims else None, axis.stride, taken))
        left //= taken
    return digits if left == 1 else None


def _offset(slot: int, digits: Sequence[Digit], sizes: Sequence[object]) -> Offset | None:
    """How far a slot's element lies from the first one along each dimension; None for padding."""
    offset = [0] * len(sizes)
    for dim, stride, taken in digits:
        slot, digit = divmod(slot, taken)
        if dim is not None:
            offset[dim] += digit * stride
        elif digit:
            return None
    inside = all(not isinstance(n, int) or o < n for o, n in zip(offset, sizes, strict=True))
    return tuple(offset) if inside else None


def _text(
    offsets: Sequence[Offset | None], digits: Sequence[Digit], sizes: Sequence[object]
) -> str | None:
    present = [offset for offset in offsets if offset is not None]
    missing = len(offsets) - len(present)
    padding = f"{missing} slot{'' if missing == 1 else 's'} of padding"
    if len(present) < 2:
        return f"each 32-bit word holds one element and {padding}"
    letters = _letters(len(sizes))
    bases: list[str] = []
    conditions: list[str] = []
    for dim, letter in enumerate(letters):
        own = [(stride, taken) for d, stride, taken in digits if d == dim]
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


def _letters(rank: int) -> list[str]:
    return [f"i{k}" for k in range(rank - 2)] + ["r", "c"][max(2 - rank, 0) :]


def _member(offset: Offset, bases: Sequence[str], changed: Sequence[bool]) -> str:
    """A coordinate such as (2r+1, c); leading indices that never change are dots."""
    first = next((k for k, moves in enumerate(changed) if moves), 0)
    first = min(first, max(len(bases) - 2, 0))
    parts = [f"{b}+{o}" if o else b for o, b in zip(offset[first:], bases[first:], strict=True)]
    inner = ", ".join(["…", *parts] if first else parts)
    return inner if len(bases) == 1 else f"({inner})"


Value: TypeAlias = XlaShape | XlaTuple | XlaBuffer
Path: TypeAlias = tuple[int, ...]

_MOST_NAMES = 4  # dimensions up to this rank have names of their own


def arrays_of(value: Value, path: Path = ()) -> Iterator[tuple[Path, XlaShape]]:
    """Every array of a tuple or buffer, with its positions in the tuples around it.

    >>> s = XlaShape("s32", ())
    >>> [path for path, _ in arrays_of(XlaTuple((s, XlaTuple((s, s)))))]
    [(0,), (1, 0), (1, 1)]
    """
    match value:
        case XlaTuple(shapes):
            for k, inner in enumerate(shapes):
                yield from arrays_of(inner, (*path, k))
        case XlaBuffer(shape):
            yield path, shape
        case XlaShape():
            yield path, value


def describe(
    layout: XlaShape | XlaLayout | MorelloLayout, shape: Sequence[int] | None = None
) -> Description:
    """What each part of a layout means.

    Args:
        layout: the layout; of a tuple, describe each of :func:`arrays_of`.
        shape: the sizes, for a layout that carries none; without them less can be said.

    Raises:
        ShapeError: where the shape does not fit the layout.

    >>> for part in describe(XlaShape("f32", (3, 5), XlaLayout((1, 0), ((2, 2),)))).parts[2:4]:
    ...     print(part.text, "-", part.meaning)
    {1,0} - row-major: x varies fastest, then y
    T(2,2) - 2 × 2 tiles over (y, x): 2 × 3 of them; pads y from 3 to 4 and x from 5 to 6
    """
    match layout:
        case XlaShape():
            return _explain_shape(layout)
        case XlaLayout():
            return _explain_xla_layout(layout, shape)
        case MorelloLayout():
            return _explain_morello(layout, shape)


def _explain_shape(x: XlaShape) -> Description:
    layout = x.layout or XlaLayout(())
    dims = _dimensions(x.dims, x.dynamic_dimensions)
    kind = xla_parts.type_part(x.element_type, layout)
    if x.element_type in ("token", "opaque"):
        return Description(str(x), "no array", kind.meaning, (), (kind,))
    parts = (
        kind,
        xla_parts.shape_part(dims),
        *xla_parts.layout_parts(layout, dims, x.element_type),
    )
    axes = xla_parts.memory_axes(layout, dims)
    word = shared_word(axes, x.bits, x.dims) if layout.tiles and 0 not in x.dims else None
    return Description(str(x), "XLA array", _headline(layout, dims), dims, parts, axes, word)


def _explain_xla_layout(layout: XlaLayout, shape: Sequence[int] | None) -> Description:
    if shape is not None:
        layout.physical_sizes(shape)  # raises where the ranks differ
    dims = _dimensions(shape or (None,) * len(layout.minor_to_major))
    parts = tuple(xla_parts.layout_parts(layout, dims, ""))
    axes = xla_parts.memory_axes(layout, dims)
    return Description(str(layout), "XLA layout", _headline(layout, dims), dims, parts, axes)


def _headline(layout: XlaLayout, dims: Sequence[Dimension]) -> str:
    return f"{xla_parts.order_in_words(layout, dims)}, {format_name(layout.tiles)}"


def _explain_morello(layout: MorelloLayout, shape: Sequence[int] | None) -> Description:
    sizes = None if shape is None else layout.physical_shape(shape)
    dims = _named_dimensions(layout) if shape is None else dict(enumerate(_dimensions(shape)))
    axes = morello_parts.memory_axes(layout, dims, sizes)
    parts = tuple(morello_parts.morello_parts(layout, dims, axes))
    headline = morello_parts.morello_headline(layout)
    return Description(str(layout), "Morello layout", headline, tuple(dims.values()), parts, axes)


def _named_dimensions(layout: MorelloLayout) -> dict[int, Dimension]:
    """What a layout without a shape names; numbers may be as large as one types them."""
    named = sorted({dim for dim, _ in layout.phys_dims})
    rank = max(named, default=-1) + 1
    if rank <= _MOST_NAMES:
        return dict(enumerate(_dimensions((None,) * rank)))
    return {dim: Dimension(f"d{dim}", f"d{dim}", None) for dim in named}


def _dimensions(
    sizes: Sequence[int | str | None], dynamic: Sequence[bool] = ()
) -> tuple[Dimension, ...]:
    names = dimension_names(len(sizes))
    flags = dynamic or (False,) * len(sizes)
    return tuple(
        Dimension(name, f"d{k}", size, flag)
        for k, (name, size, flag) in enumerate(zip(names, sizes, flags, strict=True))
    )


def sizes_of(m: IndexMap, shape: XlaShape | None = None) -> BufferSizes:
    """Elements of an index map and, for an XLA shape, bytes.

    Data that is stored narrower than its type is counted as stored; data that ``E(bits)`` widens
    is counted at the type's own width, so that widening counts as padding.

    >>> from morello_layouts.recipe import Recipe
    >>> sizes_of(IndexMap.of(Recipe((3, 5)), lambda d, shape: d[0])).elements
    15
    """
    elements = prod(m.shape)
    if shape is None:
        return BufferSizes(elements, m.size)
    stored = shape.bits
    spanned = m.size * stored
    return BufferSizes(
        elements, m.size, stored, data_bytes(shape), -(-spanned // 8), shape.byte_size
    )
