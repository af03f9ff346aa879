"""From layouts, in whatever form they come, to index maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from morello_layouts import notation
from morello_layouts.api.relayouts import Relayout, named_type
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.formula import IndexMap
from morello_layouts.morello import MorelloLayout
from morello_layouts.notation.dispatch import Layout
from morello_layouts.xla import XlaLayout, XlaShape

__all__ = ["LayoutLike", "index_map", "index_maps", "relayout"]

LayoutLike: TypeAlias = "str | Layout | IndexMap"


def index_map(layout: LayoutLike, shape: Sequence[int] | None = None) -> IndexMap:
    """The index map of a layout at a shape: from coordinates to offsets in elements.

    Args:
        layout: text in Morello's or XLA's notation, a layout, or an index map (returned as is).
        shape: the sizes; XLA shapes carry their own.

    Raises:
        ParseError: where text is in no notation.
        ShapeError: where the shape is missing, or does not fit the layout.

    >>> m = index_map("[1, 0, 1 p(4)]", (6, 8))
    >>> print(m)
    (d0, d1) -> 24*(d1//4) + 4*d0 + d1%4
    >>> m(0, 5)
    25
    """
    if isinstance(layout, str):
        layout = notation.parse(layout)
    sizes = None if shape is None else _sizes(shape)
    match layout:
        case IndexMap():
            return _same_shape(layout, layout.shape, sizes)
        case XlaShape():
            m = IndexMap.of(layout.recipe(), layout.textbook, str(layout), layout.warnings)
            return _same_shape(m, layout.shape, sizes)
        case XlaLayout():
            # The element type does not matter to offsets in elements.
            return index_map(XlaShape("u8", _required(sizes, layout), layout))
        case MorelloLayout():
            sizes = _required(sizes, layout)
            source = f"{layout} at {'x'.join(map(str, sizes)) or '()'}"
            return IndexMap.of(layout.recipe(sizes), layout.textbook, source)
        case _:
            raise UnsupportedError(
                f"{layout} is not one array",
                "an index map belongs to one array",
                "ask about each array of it by itself",
            )


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    sizes: tuple[object, ...] = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    for k, n in enumerate(sizes):
        if not isinstance(n, int | np.integer) or isinstance(n, bool):
            raise ShapeError(
                f"size {k} of the shape is {n!r}",
                "sizes are integers, one for each dimension",
                "give a tuple of ints, such as (6, 8)",
            )
    return tuple(int(n) for n in sizes if isinstance(n, int | np.integer))


def _required(sizes: tuple[int, ...] | None, layout: object) -> tuple[int, ...]:
    if sizes is None:
        raise ShapeError(
            f"{layout} has no shape",
            "this notation writes the layout without the sizes of the array",
            "give the shape as well: index_map(layout, (6, 8))",
        )
    return sizes


def _same_shape(m: IndexMap, own: tuple[int, ...], given: tuple[int, ...] | None) -> IndexMap:
    if given is not None and given != own:
        raise ShapeError(
            f"the layout carries the shape {own}, {given} was given too",
            "an array has one shape",
            "leave the shape out, or give the same one",
        )
    return m


def index_maps(
    a: LayoutLike, b: LayoutLike, shape: Sequence[int] | None
) -> tuple[IndexMap, IndexMap]:
    """Index maps of two layouts at one shape, which one of them may carry for both."""
    layouts = [notation.parse(x) if isinstance(x, str) else x for x in (a, b)]
    carried = [x.shape for x in layouts if isinstance(x, IndexMap | XlaShape)]
    lent = shape if shape is not None or not carried else carried[0]
    first, second = (
        index_map(x, lent if isinstance(x, MorelloLayout | XlaLayout) else shape) for x in layouts
    )
    return first, second


def relayout(
    source: LayoutLike, target: LayoutLike, shape: Sequence[int] | None = None
) -> Relayout:
    """Where each offset of the target's buffer is found in the source's.

    A layout whose text carries no shape takes that of the other one.

    >>> print(relayout("[0, 1]", "[1, 0]", (4, 8)))
    p -> 8*(p%4) + p//4
    """
    maps = index_maps(source, target, shape)
    return Relayout(*maps, element_type=named_type(source, target))
