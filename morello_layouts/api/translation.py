"""Translate layouts between Morello's and XLA's notations."""

from __future__ import annotations

from typing import overload

from morello_layouts import notations
from morello_layouts.api.layouts import Assuming, Shape, index_map, sizes_of
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.notations.morello import MorelloLayout
from morello_layouts.notations.xla import XlaBuffer, XlaLayout, XlaShape


@overload
def to_xla(
    layout: str | MorelloLayout,
    shape: Shape,
    element_type: None = None,
    *,
    assuming: Assuming | None = None,
) -> XlaLayout: ...


@overload
def to_xla(
    layout: str | MorelloLayout,
    shape: Shape,
    element_type: str,
    *,
    assuming: Assuming | None = None,
) -> XlaShape: ...


def to_xla(
    layout: str | MorelloLayout,
    shape: Shape,
    element_type: str | None = None,
    *,
    assuming: Assuming | None = None,
) -> XlaLayout | XlaShape:
    """Return an XLA layout with the offsets of a Morello layout, proved equal.

    If all sizes are numbers, one always exists, also for OddEven. Of the layouts with the fewest
    tiles the result is one whose tiles fit most other shapes, then a short one; for a layout of
    very many packs the tiles may be more than the fewest. With symbolic sizes the result holds for
    all sizes that the layout's packs divide, within the assumptions. The contiguity of a Morello
    layout (``c2``) does not change offsets, and is lost.

    Args:
        layout: a Morello layout, or its text.
        shape: the sizes: numbers, names or SymPy expressions.
        element_type: XLA's name of an element type; if given, the result is a shape.
        assuming: assumptions about symbolic sizes, as for ``index_map``.

    Raises:
        ShapeError: if the layout does not fit the shape.
        NoTranslationError: if a size exceeds XLA's 64-bit integers.
        TranslationNotFoundError: if a symbolic size is in the way, or ISL's budget is spent.

    >>> print(to_xla("[1, 0, 1 p(4)]", (6, 8)))
    {0,1:T(4,1)}
    >>> print(to_xla("[0, 1, 0 p(4), 1 p(128), 0 p(2)]", ("M", "N"), "bf16"))
    bf16[M,N]{1,0:T(8,128)(2,1)}
    >>> print(to_xla("[0, 0 oe(16)]", (64,)))
    {0:T(2)(8,1)}
    """
    parsed = notations.parse(layout) if isinstance(layout, str) else layout
    if not isinstance(parsed, MorelloLayout):
        raise LayoutError(
            f"to_xla: expected a Morello layout, got {parsed}",
            "to_xla translates from Morello's notation to XLA's",
            "give a list such as [1, 0, 1 p(4)]; to_morello translates the other way",
        )
    from morello_layouts.translate.to_xla import xla_layout_of  # loads ISL

    found = xla_layout_of(index_map(parsed, shape, assuming=assuming))
    return found if element_type is None else _with_type(found, shape, element_type)


def _with_type(layout: XlaLayout, shape: Shape, element_type: str) -> XlaShape:
    sizes = [n.as_atom() if isinstance(n, SizeExpr) else n for n in sizes_of(shape).sizes]
    dims = tuple(n for n in sizes if isinstance(n, int | str))
    if len(dims) < len(sizes):
        raise UnsupportedError(
            f"the shape ({', '.join(map(str, sizes_of(shape).sizes))}) cannot be written in XLA's",
            "a size in XLA's text is a number or a name, not an expression",
            "leave the element type out to get the layout alone",
        )
    return XlaShape(element_type, dims, layout)


def to_morello(
    xla_shape: str | XlaShape | XlaLayout | XlaBuffer,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
) -> MorelloLayout:
    """Return the Morello layout with the offsets of an XLA layout, proved equal.

    At sizes that are numbers at most one exists, up to lists that are equal at these sizes; the
    result is the shortest. Morello has no padding between elements. Padding after the last element,
    of ``L(n)`` or of a tile, is left out: the proof is about offsets. Element types, ``E(n)`` and
    memory spaces do not change offsets in elements.

    Args:
        xla_shape: an XLA shape, a layout, or the text of one.
        shape: the sizes, if a layout alone is given.
        assuming: assumptions about symbolic sizes, as for ``index_map``.

    Raises:
        NoTranslationError: if none exists. For symbolic sizes: if none exists at some sizes, which
            the error names.
        TranslationNotFoundError: if none was found, and none was proved not to exist.

    >>> print(to_morello("bf16[64,256]{1,0:T(8,128)(2,1)}"))
    [0, 1, 0 p(4), 1 p(128), 0 p(2)]
    >>> print(to_morello("f32[M,N]{1,0:T(8,128)}", assuming="M % 8 == 0, N % 128 == 0"))
    [0, 1, 0 p(8), 1 p(128)]
    >>> to_morello("f32[3,5]{1,0:T(2,2)}")
    Traceback (most recent call last):
    morello_layouts.errors.NoTranslationError: no Morello layout has the offsets of \
f32[3,5]{1,0:T(2,2)}
    9 of 24 slots are padding, and the first, slot 9, lies between elements
    choose sizes that the tiles divide
    """
    parsed = notations.parse(xla_shape) if isinstance(xla_shape, str) else xla_shape
    if not isinstance(parsed, XlaShape | XlaLayout | XlaBuffer):
        raise LayoutError(
            f"to_morello: expected an XLA array, got {parsed}",
            "to_morello translates from XLA's notation to Morello's",
            "give a shape such as f32[16,256]{1,0:T(8,128)}; to_xla translates the other way",
        )
    from morello_layouts.translate.to_morello import morello_layout_of  # loads ISL

    return morello_layout_of(index_map(parsed, shape, assuming=assuming))
