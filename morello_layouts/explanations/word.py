"""Which elements of an array share a 32-bit word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from morello_layouts.description import Description, Word, listed
from morello_layouts.layout import Layout
from morello_layouts.recipe.digits import Digits

_WORD: Final = 32
_SPELLED_OUT: Final = 4

Offset: TypeAlias = tuple[int, ...]


class _Run(NamedTuple):
    """Slots of a word along a dimension, None for padding, ``unit`` indices apart."""

    dim: int | None
    unit: int
    length: int


def word_of(layout: Layout, description: Description) -> Word | None:
    """Return what shares a 32-bit word, if the layout has tiles and names its element type."""
    sizes = [dim.size for dim in description.dimensions]
    is_tiled = len(description.axes) > len(sizes)
    if layout.element is None or not is_tiled or 0 in sizes:
        return None
    digits = tuple(digit for axis in description.axes for digit in axis.digits)
    return shared_word(digits, layout.element.bits, sizes)


def shared_word(buffer: Digits, bits: int, sizes: Sequence[object]) -> Word | None:
    """Return what shares a 32-bit word, if every word is filled in the same way.

    Args:
        buffer: the digits of the buffer.
        bits: bits of a stored element.
        sizes: the logical sizes.

    >>> from morello_layouts.recipe.digits import Digit
    >>> shared_word((Digit(0, 2, 2), Digit(1, 1, 4), Digit(0, 1, 2, 2)), 16, (4, 4)).text
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


def _innermost(buffer: Digits, slots: int) -> list[_Run] | None:
    """The digits that the slots of one word run through, fastest first."""
    found: list[_Run] = []
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
        found.append(_Run(None if digit.is_zero else digit.dim, digit.unit, taken))
        left //= taken
    return found if left == 1 else None


def _offset(slot: int, runs: Sequence[_Run], sizes: Sequence[object]) -> Offset | None:
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
    offsets: Sequence[Offset | None], runs: Sequence[_Run], sizes: Sequence[object]
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


def _letters(rank: int) -> list[str]:
    return [f"i{k}" for k in range(rank - 2)] + ["r", "c"][max(2 - rank, 0) :]


def _member(offset: Offset, bases: Sequence[str], changed: Sequence[bool]) -> str:
    """A coordinate such as (2r+1, c); leading indices that never change are dots."""
    first = next((k for k, moves in enumerate(changed) if moves), 0)
    first = min(first, max(len(bases) - 2, 0))
    parts = [f"{b}+{o}" if o else b for o, b in zip(offset[first:], bases[first:], strict=True)]
    inner = ", ".join(["…", *parts] if first else parts)
    return inner if len(bases) == 1 else f"({inner})"
