"""Which elements of an array share a 32-bit word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from morello_layouts.description import Axis, Description, Word, listed
from morello_layouts.layout import Layout

_WORD: Final = 32
_SPELLED_OUT: Final = 4

Digit = tuple[int | None, int, int]
Offset = tuple[int, ...]


def word_of(layout: Layout, description: Description) -> Word | None:
    """Return what shares a 32-bit word, if the layout has tiles and names its element type."""
    sizes = [dim.size for dim in description.dimensions]
    is_tiled = len(description.axes) > len(sizes)
    if layout.element is None or not is_tiled or 0 in sizes:
        return None
    return shared_word(description.axes, layout.element.bits, sizes)


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
