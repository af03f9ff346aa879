"""The layouts that fit a table, each compared with it before anybody sees it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from morello_layouts.core.expr import AffineExpr, variable
from morello_layouts.core.expr.sizes import SizeExpr, ceil_quotient
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.recipe.bases import inverse
from morello_layouts.core.recipe.digits import AxisDigit
from morello_layouts.errors import LayoutError
from morello_layouts.notations import parse
from morello_layouts.notations.coordinates import FormulaLayout, OffsetLayout
from morello_layouts.notations.cute import Swizzle
from morello_layouts.notations.triton import TritonLayout
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.xla import XlaLayout
from morello_layouts.outputs.recover import tables
from morello_layouts.outputs.translate.searches import best_tiling
from morello_layouts.outputs.translate.source import Writable
from morello_layouts.outputs.translate.writers import WRITERS

if TYPE_CHECKING:
    from morello_layouts.outputs.recover.tables import Numbers


@frozen(slots=False)
class Observed:
    """The offsets of all elements of an array of one shape."""

    table: Numbers  #: the offset of each element, in elements.
    size: int | None = None  #: the slots of the buffer, if they are known.
    inner: str = ""  #: what the last dimension counts, if no size says it: "bit", "copy".
    bits: int | None = None  #: the bits of a slot, if the buffer has been read bit by bit.

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the array."""
        return tuple(self.table.shape)


@frozen(slots=False)
class Known:
    """What is known of some elements of an array: their offsets, or the values that lie there."""

    shape: tuple[int, ...]  #: the sizes of the array.
    places: tuple[Numbers, ...]  #: the coordinates of the elements, an array for each dimension.
    values: Any  #: their offsets; or their values, if there is a buffer.
    buffer: Any = None  #: what holds the values.

    size: ClassVar[None] = None
    inner: ClassVar[str] = ""
    bits: ClassVar[None] = None

    def fits(self, offsets: Numbers) -> bool:
        """Whether the elements may have these offsets."""
        if self.buffer is None:
            return np.array_equal(offsets, self.values)
        inside = int(offsets.min(initial=0)) >= 0 and offsets.max(initial=0) < len(self.buffer)
        return inside and np.array_equal(self.buffer[offsets], self.values)


@frozen
class Found:
    """A layout that has the offsets of every table it was compared with."""

    layout: Layout  #: in the first notation that can say it.
    digits: int  #: the parts of its text, by which layouts are ordered.
    order: tables.Order | None = None  #: its digits, if it is one for all sizes.


def found_in(given: Sequence[Observed]) -> Iterator[Found]:
    """Yield the layouts that have the offsets of all tables, the best first."""
    for first in sorted(given, key=lambda one: -one.table.size):
        visible = _seen(first.table)
        if visible is not None:
            found = [*_of_digits(given, first, visible)]
            if len(given) > 1:  # who gives several sizes gives some that tiles do not hold
                found.sort(key=lambda one: (one.digits, _hidden(one.order or (), given)))
            yield from found
            if found:
                return
        elif len(given) == 1:
            yield from _of_bits(first)


def _hidden(order: tables.Order, given: Sequence[Observed]) -> int:
    """The dimensions that are cut into tiles of which no array has more than one."""
    return sum(
        part.modulus is None and 1 < part.unit >= max(one.shape[part.dim] for one in given)
        for part in order
    )


def _seen(table: Numbers) -> list[tables.Visible] | None:
    """The digits of a table that is the sum of its lines; None if it is none."""
    lines = tables.lines_of(table, operator.sub)
    visible = tables.visible_digits(lines)
    return visible if visible is not None and tables.is_joined(table, lines, operator.add) else None


def _of_digits(
    given: Sequence[Observed], first: Observed, visible: Sequence[tables.Visible]
) -> Iterator[Found]:
    start = int(first.table.flat[0])
    seen = [digit for digit in visible if digit.stride != 0]
    is_order = start == 0 and (seen or first.table.size == 1)
    ranked = tables.orders(seen, first.shape, first.size) if is_order else []
    least = ranked[0][:3] if ranked else (0, False, 0)
    own = (_digits(seen, first.shape) + (start != 0), False, 1)
    is_one = len(given) == 1
    layouts = (make(visible, first.shape, start) for make in (_strided, _cute, _formula))
    fits = (layout for layout in layouts if is_one and layout and has_offsets(layout, first))
    of_shape = (Found(layout, own[0]) for layout in islice(fits, 1))
    none = bool(ranked) and own > least
    if not none:
        yield from of_shape
    for one in ranked:
        if all(_has_order(each, one.order) for each in given):
            layout = layout_of(one.order, len(first.shape), given)
            if layout is not None:
                none = False
                yield Found(layout, one.digits, one.order)
    if none:
        yield from of_shape


def _digits(seen: Sequence[tables.Visible], shape: Sequence[int]) -> int:
    """The length of a text of one shape: its digits, and the gaps between them."""
    inner = sorted(seen, key=lambda digit: digit.stride)
    ends = [1, *(digit.stride * digit.radix for digit in inner)]
    gaps = sum(digit.stride != end for digit, end in zip(inner, ends, strict=False))
    return len(seen) + len(set(range(len(shape))) - {digit.dim for digit in seen}) + gaps


def _has_order(one: Observed, order: tables.Order) -> bool:
    """Whether an order has the offsets of a table; of other tables than that it was read off."""
    lines = [tables.line_of(order, one.shape, dim) for dim in range(len(one.shape))]
    own = tables.lines_of(one.table, operator.sub)
    same = all(map(np.array_equal, lines, own)) and one.table.flat[0] == 0
    fits = one.size is None or tables.size_of(order, one.shape) <= one.size
    return same and fits and tables.is_joined(one.table, lines, operator.add)


def layout_of(order: tables.Order, rank: int, given: Sequence[Observed | Known]) -> Layout | None:
    """The layout of an order: an XLA layout if there is one, else an index map."""
    for make in (_xla, _index_map):
        layout = make(order, rank)
        if layout is not None and all(has_offsets(layout, one) for one in given):
            return layout
    return None


def _xla(order: tables.Order, rank: int) -> Layout | None:
    digits = []
    opens = [part.dim for part in order if part.modulus is None]
    if sorted(opens) != [*range(rank)] or any(not x.modulus or x.within for x in order[rank:]):
        return None
    for part in order:
        size = SizeExpr.named(f"n{part.dim}")
        radix = ceil_quotient(size, part.unit) if part.modulus is None else part.modulus
        digits.append(AxisDigit(part.dim, part.unit, radix, part.modulus))
    tiling = best_tiling(tuple(digits), rank)
    if tiling is None:
        return None
    padded = next((k for k, part in enumerate(order) if part.room), len(order))
    last = tuple(part.places(0) for part in order[padded:])
    tiles = (*tiling.tiles, last) if last else tiling.tiles
    return XlaLayout(tiling.major_to_minor[::-1], tiles)


def _index_map(order: tables.Order, rank: int) -> Layout:
    names = tuple(f"d{dim}" for dim in range(rank))
    return FormulaLayout(names, tuple(part.value(variable(names[part.dim])) for part in order))


def map_at(layout: Layout, shape: Sequence[int]) -> IndexMap:
    """Return the index map of a layout at the sizes of a table."""
    return Subject(layout, tuple(shape) if layout.sizes is None else None).map()


def has_offsets(layout: Layout, one: Observed | Known) -> bool:
    """Whether a layout has the offsets of a table, every element compared."""
    try:
        m = map_at(layout, one.shape)
    except LayoutError:
        return False
    if m.recipe.shape != one.shape:
        return False
    form = m.form
    if isinstance(one, Known):
        at = {f"d{dim}": places for dim, places in enumerate(one.places)}
        return one.fits(form.evaluate(at) + 0 * one.places[0])
    names = [f"d{dim}" for dim in range(len(one.shape))]
    zeros = dict.fromkeys(names, 0)
    if all(len({var.name for var in AffineExpr(((atom, 1),), 0).variables()}) == 1
           for atom, _ in form.terms):  # fmt: skip
        # The table is the sum of its lines, and so is the form.
        start = form.evaluate(zeros)
        if start != one.table.flat[0]:
            return False
        lines = [form.evaluate({**zeros, name: np.arange(n)}) - start + np.zeros(n, int)
                 for name, n in zip(names, one.shape, strict=True)]  # fmt: skip
        own = tables.lines_of(one.table, operator.sub)
        return all(map(np.array_equal, lines, own)) and tables.is_joined(
            one.table, lines, operator.add
        )
    count = max(1, (1 << 16) * one.shape[0] // one.table.size)
    for k in range(0, one.shape[0], count):
        part = one.table[k : k + count]
        places: Any = np.indices(part.shape, sparse=True)
        values = dict(zip(names, (places[0] + k, *places[1:]), strict=True))
        if not np.array_equal(form.evaluate(values) + np.zeros_like(part), part):
            return False
    return True


# ---- layouts of one shape


def _strided(visible: Sequence[tables.Visible], shape: Sequence[int], start: int) -> Layout | None:
    if len(visible) > len({digit.dim for digit in visible}):
        return None
    strides = {digit.dim: digit.stride for digit in visible}
    numbers = ", ".join(str(strides.get(dim, 0)) for dim in range(len(shape)))
    if not start and min(strides.values(), default=0) > 0:
        return None  # CuTe says it with the sizes
    return read_layout(f"strided<[{numbers}]{f', offset: {start}' if start else ''}>", "strided")


def _cute(visible: Sequence[tables.Visible], shape: Sequence[int], start: int) -> Layout | None:
    text = _cute_text(visible, shape)
    return None if start or text is None else read_layout(text, "cute")


def _cute_text(visible: Sequence[tables.Visible], shape: Sequence[int]) -> str | None:
    modes = [[digit for digit in reversed(visible) if digit.dim == k] for k in range(len(shape))]
    sizes = [[(digit.radix, digit.stride) for digit in own] or [(shape[dim], 0)]
             for dim, own in enumerate(modes)]  # fmt: skip
    return ":".join(
        f"({','.join(_mode([str(pair[k]) for pair in own]) for own in sizes)})" for k in (0, 1)
    )


def _mode(numbers: Sequence[str]) -> str:
    return numbers[0] if len(numbers) == 1 else f"({','.join(numbers)})"


def _formula(visible: Sequence[tables.Visible], shape: Sequence[int], start: int) -> Layout:
    names = tuple(f"d{dim}" for dim in range(len(shape)))
    form = AffineExpr((), start)
    for dim, unit, radix, stride, is_top, within in visible:
        part = tables.OrderDigit(dim, unit, None if is_top else radix, within)
        form += part.value(variable(names[dim])) * stride
    return OffsetLayout(names, (form,))


def read_layout(text: str, notation: str) -> Layout | None:
    """Return the layout of a text; None if it has none."""
    with suppress(LayoutError):
        found = parse(text, notation)
        return found if isinstance(found, Layout) else None
    return None


# ---- exclusive ors


def _of_bits(one: Observed) -> Iterator[Found]:
    """Yield the layouts of exclusive ors: bases of bits, or a swizzle after digits."""
    for layout in (_bases(one), *_swizzled(one)):
        if layout is not None and has_offsets(layout, one):
            yield Found(layout, one.table.size.bit_length() - 1)
            return


def _bases(one: Observed) -> Layout | None:
    lines = tables.lines_of(one.table, operator.xor)
    powers = all(n.bit_count() == 1 for n in one.shape)
    if one.table.flat[0] or not powers or not all(map(tables.is_of_bits, lines)):
        return None
    if not tables.is_joined(one.table, lines, operator.xor):
        return None
    bits = [(dim, 1 << k) for dim, n in enumerate(one.shape) for k in range(n.bit_length() - 1)]
    places = inverse([int(lines[dim][unit]) for dim, unit in bits])
    if places is None:
        return None
    bases = []
    for chosen in places:
        at = [0] * len(one.shape)
        for k, (dim, unit) in enumerate(bits):
            at[dim] |= unit if chosen >> k & 1 else 0
        bases.append(tuple(at))
    layout = TritonLayout(Encoding("shared_linear", (("offset", tuple(bases)),)))
    return next(
        (found for to in ("cute", "triton") if (found := _as(layout, one.shape, to))), layout
    )


def _as(layout: Layout, shape: tuple[int, ...], to: str) -> Layout | None:
    with suppress(LayoutError):
        found = WRITERS[to].write(Writable(map_at(layout, shape), WRITERS[to].title))
        return read_layout(found, to) if isinstance(found, str) else found  # type: ignore[return-value]
    return None


_FEW = 1 << 14


def _swizzled(one: Observed) -> Iterator[Layout | None]:
    """Yield a swizzle of CuTe after digits, for sizes of any kind."""
    few = (slice(0, max(33, int(_FEW ** (1 / len(one.shape))))),) * len(one.shape)
    for bits in range(1, 6):
        for base in range(8):
            for shift in (k * sign for k in range(bits, 8) for sign in (1, -1)):
                swizzle = Swizzle(bits, base, shift)
                if _seen(swizzle(one.table[few])) is None:
                    continue
                table = swizzle(one.table)
                visible = _seen(table)
                if visible is None:
                    continue
                text = _cute_text(visible, one.shape)
                yield read_layout(f"{swizzle} o {int(table.flat[0])} o {text}", "cute")
