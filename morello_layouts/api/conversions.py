"""Convert layouts from any notation to another."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, overload

from morello_layouts.api.arguments import Assuming, Shape, sizes_of
from morello_layouts.api.layouts import LayoutLike, index_map, parsed
from morello_layouts.checks import shown
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.notations.morello import MorelloLayout
from morello_layouts.notations.xla import XlaLayout, XlaShape

Notation: TypeAlias = Literal["xla", "morello"]

NOTATIONS: Final = ("xla", "morello")
"""The notations that layouts are converted to."""


@overload
def convert(
    layout: LayoutLike,
    to: Literal["morello"],
    shape: Shape | None = None,
    element_type: None = None,
    *,
    assuming: Assuming | None = None,
) -> MorelloLayout: ...


@overload
def convert(
    layout: LayoutLike,
    to: Literal["xla"],
    shape: Shape | None = None,
    element_type: None = None,
    *,
    assuming: Assuming | None = None,
) -> XlaLayout: ...


@overload
def convert(
    layout: LayoutLike,
    to: Literal["xla"],
    shape: Shape | None,
    element_type: str,
    *,
    assuming: Assuming | None = None,
) -> XlaShape: ...


@overload
def convert(
    layout: LayoutLike,
    to: Notation,
    shape: Shape | None = None,
    element_type: str | None = None,
    *,
    assuming: Assuming | None = None,
) -> MorelloLayout | XlaLayout | XlaShape: ...


def convert(
    layout: LayoutLike,
    to: Notation,
    shape: Shape | None = None,
    element_type: str | None = None,
    *,
    assuming: Assuming | None = None,
) -> MorelloLayout | XlaLayout | XlaShape:
    """Return a layout of another notation with the same offsets, proved equal.

    To XLA: if all sizes are numbers and nothing is padded, a layout always exists, also for
    OddEven; blocks that pad the end of a dimension become tiles. Of the layouts with the fewest
    tiles the result is one whose tiles fit most other shapes, then a short one; for a layout of
    very many packs the tiles may be more than the fewest. With symbolic sizes the result holds for
    all sizes that the layout's packs divide, within the assumptions. The contiguity of a Morello
    layout (``c2``) does not change offsets, and is lost.

    To Morello: at sizes that are numbers at most one layout exists, up to lists that are equal at
    these sizes; the result is the shortest. Morello has no padding between elements. Padding after
    the last element, of ``L(n)`` or of a tile, is left out: the proof is about offsets. Element
    types, ``E(n)`` and memory spaces do not change offsets in elements.

    Args:
        layout: text in any notation, a layout, or an index map.
        to: ``"xla"`` or ``"morello"``.
        shape: the sizes, if the layout does not carry them: numbers, names or SymPy expressions.
        element_type: XLA's name of an element type; if given, the result is an XLA shape.
        assuming: assumptions about symbolic sizes, as for ``index_map``.

    Raises:
        ShapeError: if the layout does not fit the shape.
        NoTranslationError: if no such layout exists. For symbolic sizes: if none exists at some
            sizes, which the error names.
        TranslationNotFoundError: if none was found, and none was proved not to exist.

    >>> print(convert("[1, 0, 1 p(4)]", "xla", (6, 8)))
    {0,1:T(4,1)}
    >>> print(convert("[0, 1, 0 p(4), 1 p(128), 0 p(2)]", "xla", ("M", "N"), "bf16"))
    bf16[M,N]{1,0:T(8,128)(2,1)}
    >>> print(convert("bf16[64,256]{1,0:T(8,128)(2,1)}", "morello"))
    [0, 1, 0 p(4), 1 p(128), 0 p(2)]
    >>> print(convert("f32[M,N]{1,0:T(8,128)}", "morello", assuming="M % 8 == 0, N % 128 == 0"))
    [0, 1, 0 p(8), 1 p(128)]
    >>> convert("f32[3,5]{1,0:T(2,2)}", "morello")
    Traceback (most recent call last):
    morello_layouts.errors.NoTranslationError: no Morello layout has the offsets of \
f32[3,5]{1,0:T(2,2)}
    9 of 24 slots are padding, and the first, slot 9, lies between elements
    choose sizes that the tiles divide
    """
    if to not in NOTATIONS:
        raise LayoutError(
            f"to: expected {' or '.join(map(repr, NOTATIONS))}, got {shown(to)}",
            "a layout is converted to one of these notations",
            'give to="xla" or to="morello"',
        )
    value = parsed(layout)
    m = index_map(value, shape, assuming=assuming)
    if to == "morello":
        if element_type is not None:
            raise LayoutError(
                f"element_type: expected none for Morello, got {shown(element_type)}",
                "Morello's notation does not name element types",
                f'leave out element_type="{element_type}"',
            )
        from morello_layouts.translate.to_morello import morello_layout_of  # loads ISL

        return morello_layout_of(m)
    from morello_layouts.translate.to_xla import xla_layout_of

    own = value.layout if isinstance(value, XlaShape) else value
    found = own if isinstance(own, XlaLayout) else xla_layout_of(m)
    sizes = m.recipe.shape if shape is None else sizes_of(shape).sizes
    return found if element_type is None else _with_type(found, sizes, element_type)


def _with_type(layout: XlaLayout, shape: tuple[Int, ...], element_type: str) -> XlaShape:
    sizes = [n.as_atom() if isinstance(n, SizeExpr) else n for n in shape]
    dims = tuple(n for n in sizes if isinstance(n, int | str))
    if len(dims) < len(sizes):
        raise UnsupportedError(
            f"the shape ({', '.join(map(str, shape))}) cannot be written in XLA's notation",
            "a size in XLA's text is a number or a name, not an expression",
            "leave the element type out to get the layout alone",
        )
    return XlaShape(element_type, dims, layout)
