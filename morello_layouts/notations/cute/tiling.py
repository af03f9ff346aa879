"""CuTe's divisions and products of layouts, as its C++ computes them.

Source: CUTLASS, ``include/cute/layout.hpp``; each function has the name that it has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import CUTE_COMPARED
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.notations.cute.algebra import (
    ONE,
    LayoutLike,
    Tiler,
    as_layout,
    by_mode,
    coalesce,
    complement,
    composed,
    ignore_condition,
    joined,
)
from morello_layouts.notations.cute.layout import CuteLayout, Nested, text, times, wrap


def _each(
    f: Callable[[CuteLayout, CuteLayout], CuteLayout], name: str, layout: LayoutLike, tiler: Tiler
) -> CuteLayout:
    if tiler is None:
        return as_layout(layout)
    if isinstance(tiler, CuteLayout | str | int):
        return f(as_layout(layout), as_layout(tiler, "tiler"))
    return by_mode(lambda a, b: _each(f, name, a, b), as_layout(layout), tiler, name)


def _divided(layout: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    rest = complement(tiler, coalesce(layout).shape)
    return composed(layout, joined([tiler, rest]), ignore_condition)


def logical_divide(layout: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Cut a layout into tiles: ``(tile, rest)``; in each mode if the tiler is a tuple.

    Where a tiler does not divide the layout, the result is CuTe's: :func:`left_over` says which
    elements it leaves out, and which of its own are none.

    Raises:
        LayoutError: if CuTe refuses it.

    >>> print(logical_divide("(_12,_32):(_32,_1)", ("_4", "_8")))
    ((_4,_3),(_8,_4)):((_32,_128),(_1,_8))
    """
    return _each(_divided, "logical_divide", layout, tiler)


def _multiplied(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    rest = complement(block, times(block.size, tiler.cosize))
    return joined([block, composed(rest, tiler, ignore_condition)])


def logical_product(block: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Repeat a block as a tiler says: ``(block, repetitions)``; in each mode if it is a tuple.

    >>> print(logical_product("(_2,_2):(_1,_2)", "_3:_1"))
    ((_2,_2),_3):((_1,_2),_4)
    """
    return _each(_multiplied, "logical_product", block, tiler)


def _unzipped(t: Any, guide: Any) -> Any:
    """CuTe's ``zip2_by``: the first parts of all modes, then their second parts and the rest."""
    if not isinstance(guide, tuple | list):
        if not isinstance(t, tuple) or len(t) != 2:
            raise LayoutError(
                f"{text(t)}: expected two parts",
                "a tiler of None leaves a mode undivided, and CuTe cannot group it",
                "give a size for each mode",
            )
        return t
    pairs = [_unzipped(*pair) for pair in zip(t, guide, strict=False)]
    rest = t[len(pairs) :]
    return tuple(first for first, _ in pairs), (*(second for _, second in pairs), *rest)


def _grouped(layout: CuteLayout, tiler: Tiler, spread: Sequence[int]) -> CuteLayout:
    """Group tiles and rests; spread the modes of some of the two groups."""

    def arranged(t: Nested) -> Nested:
        groups = _unzipped(t, tiler)
        found: list[Nested] = []
        for k, group in enumerate(groups):
            # A group of one mode stays as it is: CuTe slices it by a single underscore.
            spreads = k in spread and isinstance(group, tuple) and len(group) != 1
            found += group if spreads else (group,)
        return tuple(found)

    return CuteLayout(arranged(layout.shape), arranged(layout.stride))


def zipped_divide(layout: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Return ``((tile, …), (rest, …))``.

    >>> print(zipped_divide("(_12,_32):(_32,_1)", ("_4", "_8")))
    ((_4,_8),(_3,_4)):((_32,_1),(_128,_8))
    """
    return _grouped(logical_divide(layout, tiler), tiler, ())


def tiled_divide(layout: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Return ``((tile, …), rest, …)``.

    >>> print(tiled_divide("(_12,_32):(_32,_1)", ("_4", "_8")))
    ((_4,_8),_3,_4):((_32,_1),_128,_8)
    """
    return _grouped(logical_divide(layout, tiler), tiler, (1,))


def flat_divide(layout: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Return ``(tile, …, rest, …)``.

    >>> print(flat_divide("(_12,_32):(_32,_1)", ("_4", "_8")))
    (_4,_8,_3,_4):(_32,_1,_128,_8)
    """
    return _grouped(logical_divide(layout, tiler), tiler, (0, 1))


def zipped_product(block: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Return ``((block, …), (repetitions, …))``.

    >>> print(zipped_product("(_2,_2):(_1,_2)", ("_3", "_4")))
    ((_2,_2),(_3,(_2,_2))):((_1,_2),(_2,(_1,_4)))
    """
    return _grouped(logical_product(block, tiler), tiler, ())


def tiled_product(block: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Return ``((block, …), repetitions, …)``.

    >>> print(tiled_product("(_2,_2):(_1,_2)", ("_3", "_4")))
    ((_2,_2),_3,(_2,_2)):((_1,_2),_2,(_1,_4))
    """
    return _grouped(logical_product(block, tiler), tiler, (1,))


def flat_product(block: LayoutLike, tiler: Tiler) -> CuteLayout:
    """Return ``(block, …, repetitions, …)``.

    >>> print(flat_product("(_2,_2):(_1,_2)", "_3"))
    (_2,_2,_3):(_1,_2,_4)
    """
    return _grouped(logical_product(block, tiler), tiler, (0, 1))


def _zipped_modes(block: LayoutLike, tiler: LayoutLike, inner: int) -> CuteLayout:
    """Multiply, then join each mode of the block with the same mode of the tiler."""
    block, tiler = as_layout(block), as_layout(tiler, "tiler")
    rank = max(block.rank, tiler.rank)
    padded = [joined([*x.modes, *[ONE] * (rank - x.rank)]) if x.rank < rank else x
              for x in (block, tiler)]  # fmt: skip
    both = _multiplied(*padded).modes

    one, other = both[inner], both[1 - inner]
    if isinstance(one.shape, tuple) and (
        not isinstance(other.shape, tuple) or len(one.shape) != len(other.shape)
    ):
        raise LayoutError(
            f"{text(one.shape)} and {text(other.shape)}: expected as many modes in both",
            "CuTe joins mode by mode, and a size alone has no modes",
            "write (8):(1) in place of 8:1",
        )

    def zipped(a: Nested, b: Nested) -> Nested:
        return tuple(zip(a, wrap(b), strict=True)) if isinstance(a, tuple) else ((a, b),)

    return CuteLayout(zipped(one.shape, other.shape), zipped(one.stride, other.stride))


def blocked_product(block: LayoutLike, tiler: LayoutLike) -> CuteLayout:
    """Put a copy of a block at each element of a tiler: mode k is ``(block k, tiler k)``.

    >>> print(blocked_product("(_2,_5):(_5,_1)", "(_3,_4):(_1,_3)"))
    ((_2,_3),(_5,_4)):((_5,_10),(_1,_30))
    """
    return _zipped_modes(block, tiler, 0)


def raked_product(block: LayoutLike, tiler: LayoutLike) -> CuteLayout:
    """Put copies of a block in between each other: mode k is ``(tiler k, block k)``.

    >>> print(raked_product("(_2,_5):(_5,_1)", "(_3,_4):(_1,_3)"))
    ((_3,_2),(_4,_5)):((_10,_5),(_30,_1))
    """
    return _zipped_modes(block, tiler, 1)


@frozen
class LeftOver(Displayed):
    """What a division that leaves a rest does with the elements of a layout."""

    elements: int  #: elements of the layout.
    dropped: int  #: how many of them no tile has.
    #: the first of them, counted with the first mode fastest; None if none is.
    first_dropped: int | None
    places: int  #: places in the tiles.
    outside: int  #: how many of them have an offset that is none of the layout's.
    first_outside: int | None  #: the first of them, counted in the same way; None if none is.

    def __bool__(self) -> bool:
        return bool(self.dropped or self.outside)

    def __str__(self) -> str:
        found = []
        for n, count, what, first in (
            (self.elements, self.dropped, "elements are in no tile", self.first_dropped),
            (self.places, self.outside, "places of the tiles hold no element", self.first_outside),
        ):
            found.append(f"{count} of {n} {what}" + (f", the first is {first}" if count else ""))
        return "; ".join(found)


def left_over(layout: LayoutLike, divided: LayoutLike) -> LeftOver:
    """Say which elements of a layout its tiles leave out, and which of their places are none.

    Elements are told apart by their offsets.

    Args:
        layout: the layout that was divided.
        divided: what any of the divisions gave.

    Raises:
        UnsupportedError: if there are too many elements to look at each.

    >>> divided = logical_divide("(_6,_2):(_1,_10)", "_4")
    >>> print(divided)
    (_4,(_2,_2)):(_1,(_4,_10))
    >>> print(left_over("(_6,_2):(_1,_10)", divided))
    0 of 12 elements are in no tile; 4 of 16 places of the tiles hold no element, the first is 6
    """
    one, other = (_offsets(as_layout(value)) for value in (layout, divided))
    known, reached = set(one), set(other)
    dropped = [k for k, offset in enumerate(one) if offset not in reached]
    outside = [k for k, offset in enumerate(other) if offset not in known]
    return LeftOver(
        len(one), len(dropped), next(iter(dropped), None),
        len(other), len(outside), next(iter(outside), None),
    )  # fmt: skip


def _offsets(layout: CuteLayout) -> list[Any]:
    """The offset of each element, or its coordinate."""
    if layout.size > CUTE_COMPARED:
        raise UnsupportedError(
            f"{layout}: expected at most {CUTE_COMPARED} elements, got {layout.size}",
            "the offset of each element is looked at",
            "ask about a smaller layout of the same tiles",
        )
    return [layout(k) for k in range(layout.size)]
